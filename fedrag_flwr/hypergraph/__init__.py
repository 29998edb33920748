"""Semantic hypergraph learning: units gathered into hyperedges by projected gradient on the simplex."""
