"""What a device or a server remembers, in SQLite files with search indexes beside them that are never trusted alone."""

from fedrag_flwr.memory.store.store import MemoryStore

__all__ = ["MemoryStore"]
