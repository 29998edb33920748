"""Benchmark scripts and the in-process federation that tests and benchmarks run on."""
