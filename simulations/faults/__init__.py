"""Faults on purpose: bad input, kills, full disks, torn files, and spoilt messages."""
