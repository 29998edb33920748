"""Which settings are paths."""

from __future__ import annotations

from fedrag_flwr.cli.console import PATH_SETTINGS
from fedrag_flwr.settings import Settings


def test_what_is_taken_for_a_path_is_a_setting() -> None:
    assert Settings().flat().keys() >= PATH_SETTINGS  # one that was renamed would be resolved no more
