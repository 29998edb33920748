"""Peers over a network, without messages: what the benchmark of walks runs on."""
