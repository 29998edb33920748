"""A device closes each of its parts, also where another cannot be closed."""

import pytest

from fedrag_flwr.errors import StoreError, StoreFullError
from fedrag_flwr.sources.open_source import SourceSet
from tests.strategies.federation import shared_federation


class Stuck(SourceSet):
    """Sources that cannot be closed."""

    def close(self) -> None:
        """Say that the disk is full."""
        raise StoreFullError("the disk is full")


def test_a_part_that_does_not_close_keeps_no_other_open(tmp_path_factory: pytest.TempPathFactory) -> None:
    device = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("closing")).device("rivers")
    notes = device.walks.notes
    assert notes.all("answer") == {}
    device.sources = Stuck(device.documents, (), device.models)
    with pytest.raises(StoreFullError):
        device.close()
    with pytest.raises(StoreError):
        _ = device.store.version
    with pytest.raises(StoreError):
        notes.all("answer")
