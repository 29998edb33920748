"""Encoder, generator and reranker behind small protocols, and the files they load."""
