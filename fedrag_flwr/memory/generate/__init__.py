"""Memories made of documents: candidates by templates and by a model, and their checks."""
