"""A home of the tests' own, and the federation after its first run."""

from tests.strategies.conftest import first, own_home

__all__ = ["first", "own_home"]
