"""The Flower ClientApp: thin handlers, one for each message type."""
