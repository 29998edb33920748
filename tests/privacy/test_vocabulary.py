"""The public partition: balanced, complete, repeatable and checked on loading."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SettingError, StoreCorruptError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.vocabulary import EntityPartition, Group, _split, build_partition, load_partition
from tests.privacy.conftest import PUBLIC


def test_every_name_is_in_one_group_of_its_type(partition: EntityPartition) -> None:
    for kind, names in PUBLIC.items():
        members = [name for group in partition.groups if group.type == kind for name in group.members]
        assert sorted(members) == sorted(names.split(", "))
    assert all(len(group.members) >= 5 for group in partition.groups)
    assert partition.find("PERSON", "the  marie CURIE") is None
    assert partition.find("PERSON", "marie  CURIE's") == partition.find("ORG", "Marie Curie")


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 3))
def test_splits_are_balanced_and_lose_nothing(count: int, c: int, seed: int) -> None:
    parts = max(1, count // c)
    vectors = np.random.default_rng(seed).standard_normal((count, 4)).astype(np.float32)
    split = _split(vectors, np.arange(count), parts, np.random.default_rng(seed))
    sizes = [len(part) for part in split]
    assert len(split) == parts
    assert sorted(np.concatenate(split).tolist()) == list(range(count))
    assert max(sizes) - min(sizes) <= 1
    assert count < c or min(sizes) >= c


def test_the_same_list_gives_the_same_version(encoder: Encoder, partition: EntityPartition) -> None:
    pairs = [(kind, name) for kind, names in PUBLIC.items() for name in names.split(", ")]
    assert build_partition(reversed(pairs), encoder, 5, 7).digest == partition.digest
    assert build_partition([*pairs, ("GPE", "Zagreb")], encoder, 5, 7).digest != partition.digest


def test_groups_are_of_like_meaning(encoder: Encoder) -> None:
    rivers = ["Rhine", "Danube", "Thames", "Loire", "Elbe", "Tagus"]
    composers = ["Mozart", "Bach", "Haydn", "Chopin", "Brahms", "Liszt"]
    names = [f"the river {name}" for name in rivers] + [f"the composer {name}" for name in composers]
    built = build_partition([("X", name) for name in names], encoder, 6)
    assert {frozenset(name.split()[1] for name in group.members) for group in built.groups} == {
        frozenset({"river"}),
        frozenset({"composer"}),
    }


def test_it_survives_the_disk(partition: EntityPartition, tmp_path: Path) -> None:
    partition.save(tmp_path / "partition.jsonl")
    assert load_partition(tmp_path / "partition.jsonl") == partition


def _header(**other: object) -> str:
    header = {"schema": 1, "digest": "0", "minimum": 2, "encoder": "e", "seed": 0} | other
    return json.dumps(header) + "\n"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json\n",
        "[1]\n",
        _header(schema=9),
        _header(),
        _header() + '{"type": "X", "members": ["a", "b"]}\n',  # wrong digest
        _header() + '{"type": "X", "members": ["a"]}\n',  # too small
        _header() + '{"type": "X", "members": "ab"}\n',
        _header() + '{"type": "X"}\n',
        _header(minimum="many") + '{"type": "X", "members": ["a", "b"]}\n',
    ],
)
def test_a_changed_or_malformed_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "partition.jsonl"
    path.write_text(content)
    with pytest.raises(StoreCorruptError):
        load_partition(path)


def test_a_missing_file_and_a_small_type_are_told(encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no such file"):
        load_partition(tmp_path / "none.jsonl")
    with pytest.raises(SettingError, match="GPE has 2 names"):
        build_partition([("GPE", "Oslo"), ("GPE", "Rome"), ("GPE", "rome")], encoder, 5)


@pytest.mark.parametrize(
    ("groups", "minimum"),
    [
        ((), 2),
        ((Group("X", ("a",)),), 2),
        ((Group("X", ("a", "b")), Group("X", ("B", "c"))), 2),
        ((Group("X", ("a", " ")),), 2),
        ((Group("X", ("a", "b" * 300)),), 2),
        ((Group("X", ("a", "b")),), 1),
    ],
)
def test_broken_partitions_are_refused(groups: tuple[Group, ...], minimum: int) -> None:
    with pytest.raises(SettingError, match="partition"):
        EntityPartition(groups, minimum, "e", 0)
