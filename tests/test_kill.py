"""A device that is killed while it builds or imports leaves a store that is whole and goes on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import load_models
from simulations.faults.moments import device_killed
from simulations.faults.small_device import SETTINGS, assert_whole, build_edition, open_device


@pytest.mark.slow
def test_a_killed_device_leaves_a_whole_store_and_goes_on(tmp_path: Path) -> None:
    tally = device_killed(tmp_path, 4, np.random.default_rng(3))
    assert tally.crashes == {}
    assert tally.right == 8
    assert tally.seen["in a build"] >= 2
    assert tally.seen["in an import"] >= 1


def _drop_a_sentence(device: EdgeDevice) -> str:
    return "DELETE FROM units WHERE number = (SELECT max(number) FROM units WHERE granularity = 'sentence')"


def _drop_support(device: EdgeDevice) -> str:
    return f"DELETE FROM support WHERE item = (SELECT number FROM items WHERE id = '{device.store.items()[0].id}')"


def _drop_members(device: EdgeDevice) -> str:
    return "DELETE FROM members WHERE hyperedge = (SELECT min(number) FROM hyperedges)"


@pytest.mark.parametrize("harm", [_drop_a_sentence, _drop_support, _drop_members])
def test_what_is_half_there_would_be_noticed(tmp_path: Path, harm: Callable[[EdgeDevice], str]) -> None:
    with open_device(tmp_path, load_models(SETTINGS.models, tmp_path)) as device:
        build_edition(device, 1)
        assert_whole(device.store)
        statement = harm(device)
        with device.store._database.writing() as connection:
            connection.execute(statement)
        with pytest.raises(AssertionError):
            assert_whole(device.store)
