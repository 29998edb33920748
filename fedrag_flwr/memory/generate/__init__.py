"""Memories made of documents: candidates by templates and by a model, their checks, and composition."""
