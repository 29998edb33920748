"""First stages and structured retrieval: what ranks a corpus' passages for a question."""
