"""Which memories answer a question, exactly, without scoring every one (FD-RAG eq. 11 to 13)."""
