"""Devices, servers, liars and broken inputs that the scripts set up."""
