"""Benchmarks: a file each, run by ``fedrag bench NAME``."""
