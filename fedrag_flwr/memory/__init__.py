"""Question-answer memories: synthesis, verification, the durable store, matching and fusion."""
