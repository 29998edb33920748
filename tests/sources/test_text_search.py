"""Text search: both pools count, words weigh less where the vectors are sure, and the index follows the files."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SourceError
from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import Reading, make_document
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.sources.source_search import SearchTools
from fedrag_flwr.sources.text_search import (
    TextCandidates,
    TextSearch,
    TextSearchSettings,
    WordMatch,
    held_share,
    word_weight,
)
from simulations.benchmarks.sources import EQUATION_1, tfidf_cosine
from tests.sources.wards import HOSTILE

TEXTS = {
    "tarn.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924.\n",
    "port.md": "# Port Ferren\n\nPort Ferren is a harbour. It was founded by Jonas Keel and exports salt.\n",
    "cat.md": "# Cats\n\n" + "A cat sleeps most of the day. " * 60 + "\n\nThe serval ZX-81 hunts hares at night.\n",
}
SEARCHED = [(TextSearchSettings(), held_share), (EQUATION_1, tfidf_cosine)]
TICK = 0.02  # seconds, longer than between two ticks of a file system's clock


@dataclass(frozen=True, slots=True)
class Listed:
    """Documents as a source."""

    documents: tuple[Document, ...]
    id: str = "listed"

    def read(self) -> Reading:
        """Give them."""
        return Reading(self.documents, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module", params=SEARCHED, ids=["default", "equation 1"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: SearchTools) -> TextSearch:
    """A search over two short texts that no test changes."""
    folder = tmp_path_factory.mktemp("kept")
    for name in ("tarn.md", "port.md"):
        (folder / name).write_text(TEXTS[name], encoding="utf-8")
    return TextSearch(FolderSource(folder), tools, *request.param)


ASKED = [
    (0.0, "Where are ships unloaded?", "port"),  # no word in common: the vectors find it
    (1.0, "zx-81", "cat"),  # a code, deep in a long document
    (0.8, "Who designed the bridge?", "tarn"),
]


@pytest.mark.parametrize(("alpha", "question", "best"), ASKED)
@pytest.mark.parametrize(("settings", "match"), SEARCHED, ids=["default", "equation 1"])
def test_each_pool_finds_its_own(
    folder: Path,
    tools: SearchTools,
    settings: TextSearchSettings,
    match: Callable[[Sequence[Document]], WordMatch],
    alpha: float,
    question: str,
    best: str,
) -> None:
    search = TextSearch(FolderSource(folder), tools, replace(settings, alpha=alpha), match)
    assert search.search(question, 1)[0].document_id == best


def test_a_hit_tells_the_part_that_answers(folder: Path, tools: SearchTools) -> None:
    [hit] = TextSearch(FolderSource(folder), tools).search("What does the serval hunt at night?", 1)
    assert "hares" in hit.text
    assert len(hit.text) < len(TEXTS["cat.md"]) / 2


def test_the_index_follows_the_files(folder: Path, tools: SearchTools) -> None:
    search = TextSearch(FolderSource(folder), tools)
    before = search.version()
    assert search.version() == before
    (folder / "port.md").unlink()
    after = search.version()
    assert after != before
    assert "port" not in {hit.document_id for hit in search.search("Who founded the harbour?", 5)}
    (folder / "port.md").write_text(TEXTS["port.md"], encoding="utf-8")
    assert search.version() == before


def test_a_folder_without_texts_has_no_hits_and_no_error(tmp_path: Path, tools: SearchTools) -> None:
    search = TextSearch(FolderSource(tmp_path), tools)
    assert search.search("Who designed Tarn Bridge?", 5) == ()
    before = search.version()
    (tmp_path / "tarn.md").write_text(TEXTS["tarn.md"], encoding="utf-8")
    assert search.version() != before
    (tmp_path / "tarn.md").write_bytes(b"\xff\xfe\x00")  # what cannot be read is not nothing
    with pytest.raises(SourceError):
        search.version()


def test_a_stamp_changes_with_size_time_and_name(folder: Path) -> None:
    source = FolderSource(folder)
    seen = {source.stamp()}
    os.utime(folder / "tarn.md", (1, 1))
    seen.add(source.stamp())
    (folder / "tarn.md").write_text("longer " * 99, encoding="utf-8")
    seen.add(source.stamp())
    (folder / "tarn.md").rename(folder / "tarn2.md")
    seen.add(source.stamp())
    assert len(seen) == 4
    assert source.stamp() in seen


def test_a_file_replaced_under_its_size_and_time_is_read_anew(folder: Path, tools: SearchTools) -> None:
    search, file = TextSearch(FolderSource(folder), tools), folder / "tarn.md"
    before, kept = search.version(), file.stat()
    time.sleep(TICK)
    file.write_text(TEXTS["tarn.md"].replace("1924", "1942"), encoding="utf-8")
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (kept.st_size, kept.st_mtime_ns)
    assert search.version() != before


def test_a_stamp_changes_with_permissions(folder: Path) -> None:
    """A file may have become readable."""
    source = FolderSource(folder)
    before = source.stamp()
    time.sleep(TICK)
    (folder / "tarn.md").chmod(0o400)
    assert source.stamp() != before


def test_a_file_that_goes_during_listing_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, real = FolderSource(folder), os.lstat

    def lstat(path: str) -> os.stat_result:
        (folder / "tarn.md").unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert source.stamp() == source.stamp()


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_question_is_only_words(kept: TextSearch, question: str) -> None:
    before = kept.version()
    assert len(kept.search(question, 2)) <= 2
    assert kept.version() == before


@pytest.mark.parametrize("question", ["Who was it that is?", "of the", "zzzz"])
def test_without_a_known_word_the_vectors_alone_decide(folder: Path, tools: SearchTools, question: str) -> None:
    held = TextSearch(FolderSource(folder), tools)  # TF-IDF counts function words, too
    found = held.candidates(question)
    assert not found.lexical.any()
    nearest = [found.documents[row].id for row in np.argsort(-found.semantic)]
    assert [hit.document_id for hit in held.search(question, len(TEXTS))] == nearest


def test_the_order_of_documents_changes_nothing(tools: SearchTools) -> None:
    documents = [make_document(name, name.partition(".")[0], text) for name, text in TEXTS.items()]
    questions = ("Who founded the harbour?", "Tarn Bridge 1924", "of the", "hares")
    forward, backward = (
        TextSearch(Listed(tuple(order)), tools) for order in (documents, sorted(documents, key=lambda one: one.id))
    )
    for question in questions:
        expected, found = forward.search(question, 3), backward.search(question, 3)
        assert [hit.document_id for hit in found] == [hit.document_id for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-6)


unit = st.floats(0, 1, width=32)
costs = st.floats(0, 100)


@given(st.lists(unit, max_size=8), unit, costs, st.randoms(use_true_random=False))
def test_words_weigh_less_beside_a_lead(semantic: list[float], alpha: float, lead_cost: float, draw: Random) -> None:
    weight = word_weight(np.array(semantic), alpha, lead_cost)
    assert 0.0 <= weight <= alpha
    shuffled = draw.sample(semantic, len(semantic))
    assert word_weight(np.array(shuffled), alpha, lead_cost) == weight
    if semantic:
        ahead = np.array([*semantic, min(1.0, max(semantic) * 1.5)])
        level = np.array([*semantic, max(semantic)])
        assert word_weight(ahead, alpha, lead_cost) <= word_weight(level, alpha, lead_cost) == alpha


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=8), unit, costs, st.integers(1, 8))
def test_order_changes_no_ranking(scores: list[tuple[float, float]], alpha: float, lead_cost: float, k: int) -> None:
    documents = tuple(Document(str(place), "", "x", "") for place in range(len(scores)))
    lexical, semantic = np.array(scores).T
    blocks = ("x",) * len(scores)
    there = TextCandidates(documents, blocks, lexical, semantic).order(alpha, lead_cost, k)
    back = TextCandidates(documents[::-1], blocks, lexical[::-1], semantic[::-1]).order(alpha, lead_cost, k)
    assert there == back


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=8), unit, st.integers(1, 8))
def test_equation_1(scores: list[tuple[float, float]], alpha: float, k: int) -> None:
    documents = tuple(Document(str(place), "", "x", "") for place in range(len(scores)))
    lexical, semantic = np.array(scores).T
    found = TextCandidates(documents, ("x",) * len(scores), lexical, semantic)
    ranking = found.order(alpha, EQUATION_1.lead_cost, k)
    expected = {str(place): alpha * a + (1 - alpha) * b for place, (a, b) in enumerate(scores)}
    assert [one.score for one in ranking] == pytest.approx(sorted(expected.values(), reverse=True)[:k])
    assert all(one.score == pytest.approx(expected[one.passage_id]) for one in ranking)
