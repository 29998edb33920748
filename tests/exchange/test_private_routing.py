"""Routing at home: the same owners as the server would choose, and vectors in bytes that keep their directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.errors import WireError
from fedrag_flwr.exchange.routing import restored, rounded
from fedrag_flwr.knowledge_graph.routing import SummaryIndex, choose_owners
from fedrag_flwr.records import OwnedRows

DIMENSION = 16


def vectors(count: int, seed: int) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


@given(st.integers(0, 40), st.integers(1, 8), st.integers(1, 4), st.integers(0, 4), st.integers(0, 2**16))
def test_home_chooses_the_owners_that_the_server_would(count: int, m: int, k: int, hidden: int, seed: int) -> None:
    matrix, [question] = vectors(count, seed), vectors(1, seed + 1)
    owners = sorted(f"device-{row % 4}" for row in range(count))
    index = SummaryIndex([f"s{row:03d}" for row in range(count)], owners, matrix)
    without = {f"device-{number}" for number in range(hidden)}
    assert choose_owners(matrix @ question, owners, m, k, without) == index.route(question, m, k, without).owners


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**16))
def test_vectors_in_bytes_keep_their_directions_and_owners(sizes: list[int], seed: int) -> None:
    matrix = vectors(sum(sizes), seed)
    told = rounded([OwnedRows(f"d{number}", rows) for number, rows in enumerate(sizes)], matrix)
    found = restored(told)
    owners = [f"d{number}" for number, rows in enumerate(sizes) for _ in range(rows)]
    assert [one.origin for one in found] == owners
    assert len(told.codes) == matrix.size
    cosines = (np.stack([one.vector for one in found]) * matrix).sum(axis=1)
    assert cosines.min() > 0.999
    with pytest.raises(WireError, match="another number"):
        restored(replace(told, codes=told.codes[:-1]))
    with pytest.raises(WireError, match="another length"):
        restored(told, DIMENSION + 1)
    with pytest.raises(WireError, match="more than"):
        restored(told, DIMENSION, sum(sizes) - 1)
    assert len(restored(told, DIMENSION, sum(sizes))) == len(owners)
    with pytest.raises(WireError, match="without direction"):
        restored(replace(told, codes=bytes(len(told.codes))))
