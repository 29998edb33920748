"""Federated retrieval-augmented generation on the edge: the library behind the Flower app."""

__version__ = "0.1.0"
