"""A device's knowledge graph, its communities, and the summaries of them that others may see (DGRAG)."""
