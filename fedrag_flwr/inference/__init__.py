"""Answers: the Memorizer's fast path, the Cognizer's slow path, and abstention."""
