"""Question-answer memories: generation, verification, the durable store, matching and fusion."""
