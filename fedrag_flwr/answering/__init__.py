"""What happens to a question at one device: recall, retrieve, read, judge, explain."""
