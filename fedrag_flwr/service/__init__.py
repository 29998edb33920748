"""A device's resident service: models and memory stay loaded, for the people there and for Flower's messages."""
