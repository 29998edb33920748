"""The front door: devices and federations for Python, in this process."""
