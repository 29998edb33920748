"""Tests of hypergraph learning."""
