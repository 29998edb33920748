"""Models of a process: who asks for the same one gets the same object, also while it is being made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fedrag_flwr.models import load_encoder, load_token_encoder

ASKING, ROUNDS = 8, 50


@pytest.mark.parametrize("load", [load_encoder, load_token_encoder])
def test_those_who_ask_together_get_one_model(load: Callable[[str], object], tmp_path: Path) -> None:
    ready = threading.Barrier(ASKING)

    def ask(folder: Path) -> object:
        ready.wait()
        return load(str(folder))

    with ThreadPoolExecutor(ASKING) as pool:
        for number in range(ROUNDS):
            (folder := tmp_path / str(number)).mkdir()
            assert len(set(pool.map(ask, [folder] * ASKING))) == 1
