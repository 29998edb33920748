"""The interface for Python: devices and federations in this process."""
