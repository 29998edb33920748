"""Peers that pass questions on: who is whose neighbour, how questions walk, and what peers learn of each other."""
