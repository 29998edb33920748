"""One device: what it builds from its documents, how it answers, and what it gives to others, behind one face."""

from fedrag_flwr.device.edge import EdgeDevice

__all__ = ["EdgeDevice"]
