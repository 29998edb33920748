"""Evaluation data as the scripts read it; none of it is part of the project."""
