"""Evidence tuples in a store: they come back as they were, count for their rules and text alone, and go with it."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.memory.store.tuple_store import TupleStore
from fedrag_flwr.records import EvidenceTuple
from tests.memory.store.samples import new_document, open_store

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
SHARES = st.floats(0.0, 1.0)
TUPLES = st.lists(
    st.builds(EvidenceTuple, TEXTS, TEXTS, TEXTS, st.just("d1/0"), SHARES, SHARES, SHARES, SHARES), max_size=4
)
ADA = EvidenceTuple("Ada", "met", "Bell", "d1/0")


@given(TUPLES)
def test_tuples_come_back(tuples: list[EvidenceTuple]) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "device") as store:
        store.apply(Change(documents=(new_document("d1"), new_document("d2"))))
        held = TupleStore(store.database, "rules")
        assert held.known(["d1", "d2"]) == {}
        one = ("d1", store.digests()["d1"])
        held.put({one: tuples})
        assert held.known(["d1", "d2"]) == {one: tuples}
        assert held.known(["d2"]) == replace(held, rules="other").known(["d1"]) == {}
        assert store.version == 1
        store.verify()


@pytest.mark.parametrize("change", [Change(removed=("d1",)), Change(documents=(new_document("d1", edition=1),))])
def test_tuples_go_with_their_text_and_do_not_come_to_another(tmp_path: Path, change: Change) -> None:
    with open_store(tmp_path / "device") as store:
        store.apply(Change(documents=(new_document("d1"),)))
        held, before = TupleStore(store.database, "rules"), ("d1", store.digests()["d1"])
        held.put({before: [ADA]})
        store.apply(change)
        assert held.known(["d1"]) == {}
        held.put({before: [ADA]})  # as one who has read it before
        assert held.known(["d1"]) == {}
        assert not any(b"Bell" in file.read_bytes() for file in (tmp_path / "device").iterdir())


def test_what_is_torn_counts_as_not_found(tmp_path: Path) -> None:
    with open_store(tmp_path / "device") as store:
        store.apply(Change(documents=(new_document("d1"),)))
        held = TupleStore(store.database, "rules")
        held.put({("d1", store.digests()["d1"]): [ADA]})
        with store.database.writing() as connection:
            connection.execute("UPDATE evidence_tuples SET tuples = replace(tuples, 'Bell', 'Bull')")
        assert held.known(["d1"]) == {}
