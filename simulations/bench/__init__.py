"""One benchmark for all systems: the same partition, models, prompts, evidence budget and threads (FD-RAG 5.1)."""
