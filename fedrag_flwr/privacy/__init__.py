"""What may leave a device and in which form."""
