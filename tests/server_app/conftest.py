"""The federation after its first run."""

from tests.strategies.conftest import first

__all__ = ["first"]
