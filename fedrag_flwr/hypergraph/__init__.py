"""Semantic hypergraph learning by projected gradient on the simplex, and key spaces over evidence tuples."""
