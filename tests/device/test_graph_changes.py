"""A graph that changes: a commit between the reads of it, and settings that say otherwise what of it leaves."""

from collections.abc import Callable, Iterator
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import TypeVar

import pytest

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.knowledge_graph.statements import End, Statement
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.records import SummaryRequest
from tests.device.test_graphing import built, device_at, tables, write
from tests.memory.store.samples import new_document, unit_vector

T = TypeVar("T")
READS = 5  # of units and passages, for a retriever
ENDS = (End("ferry", "ferry", "CONCEPT"), End("harbour", "harbour", "CONCEPT"))


class Growing:
    """A device with one document, of which others commit larger and larger editions."""

    def __init__(self, root: Path) -> None:
        self.device = device_at(root)
        self.edition = 0

    def grow(self) -> None:
        self.edition += 1
        store, size = self.device.store, self.edition + 1
        made = new_document("d", self.edition, passages=size, sentences=size, dimension=store.dimension)
        store.apply(Change(documents=(made,)))
        lines = [line for passage in made.passages for line in passage.sentences]
        told = [Statement(ENDS[0], "joins", ENDS[1], "d", line.passage_id, line.id, 1.0) for line in lines]
        tables(self.device).put_statements(["d"], told, "tests")

    def grow_between(self, reads: Iterator[bool], patch: pytest.MonkeyPatch) -> None:
        """Grow after those of the store's reads that are true."""
        for name in ("units", "passages"):
            patch.setattr(self.device.store, name, self._followed(getattr(self.device.store, name), reads))

    def _followed(self, read: Callable[..., T], reads: Iterator[bool]) -> Callable[..., T]:
        def reading(*asked: object) -> T:
            found = read(*asked)
            if next(reads):
                self.grow()
            return found

        return reading


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    made = Growing(tmp_path)
    made.grow()
    with made.device:
        yield made


def found(device: EdgeDevice) -> set[str]:
    return {unit.id for unit in device.graph.retrieve(unit_vector("asked", device.store.dimension), 100)}


@pytest.mark.parametrize("place", range(READS))
def test_a_commit_between_reads_is_read_again(growing: Growing, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    growing.grow_between(chain([False] * place, [True], repeat(False)), monkeypatch)
    assert found(growing.device) == {sentence.id for sentence in growing.device.store.sentences()}
    assert growing.edition == 2


def test_documents_that_keep_changing_are_an_error_of_ours(growing: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    growing.grow_between(cycle([True]), monkeypatch)
    with pytest.raises(NotFoundError):
        found(growing.device)


@pytest.mark.parametrize(("before", "after"), [("text", "vector"), ("vector", "text")])
def test_summaries_of_which_otherwise_much_may_leave_are_released_anew(tmp_path: Path, before: str, after: str) -> None:
    write(tmp_path)
    with device_at(tmp_path, **{"graph.share": before}) as device:
        built(device)
        first = device.giving.summaries(SummaryRequest("", (), "download"))
    known = tuple(one.id for one in first.summaries)
    with device_at(tmp_path, **{"graph.share": after}) as device:
        later = device.giving.summaries(SummaryRequest(first.generation, known, "download"))
    assert later.generation != first.generation
    assert {one.id for one in later.summaries} == set(known)
    assert {bool(one.text) for one in first.summaries} == {before == "text"}
    assert {bool(one.text) for one in later.summaries} == {after == "text"}
