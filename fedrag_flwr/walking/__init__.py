"""A device's part in walks over the overlay: answers, gossip, and what it keeps of both between messages."""
