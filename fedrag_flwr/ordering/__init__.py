"""The order in which a device's passages become evidence, and its part in fitting the controller that decides it."""
