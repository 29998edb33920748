"""Fact-level and compositional question-answer drafts: by rules over the parse, and by a local model."""
