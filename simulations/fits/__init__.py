"""What is fitted on training rows: a file each, run by ``fedrag bench fit NAME``."""
