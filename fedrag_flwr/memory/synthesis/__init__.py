"""From the parse of documents to verified question-answer drafts: by rules, by composition, and by a local model."""
