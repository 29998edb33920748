"""The command line: `fedrag`."""

from fedrag_flwr.cli.main import app

__all__ = ["app"]
