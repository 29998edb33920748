"""A device's resident service, for the people at it and for Flower's messages: models and memory stay loaded."""
