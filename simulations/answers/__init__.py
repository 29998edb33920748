"""How well questions are answered, on seven sets of documents and questions."""
