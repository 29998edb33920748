"""Federated strategies: what devices share, where a question goes, and who answers it."""
