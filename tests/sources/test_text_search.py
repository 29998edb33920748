"""Text search: both pools count, the weight decides, and the index follows the files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import SourceError
from fedrag_flwr.records import Document
from fedrag_flwr.sources import FolderSource
from fedrag_flwr.sources.searching import SearchTools
from fedrag_flwr.sources.text_search import TextCandidates, TextSearch, TextSearchSettings
from tests.sources.wards import HOSTILE

TEXTS = {
    "tarn.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924.\n",
    "port.md": "# Port Ferren\n\nPort Ferren is a harbour. It was founded by Jonas Keel and exports salt.\n",
    "cat.md": "# Cats\n\n" + "A cat sleeps most of the day. " * 60 + "\n\nThe serval ZX-81 hunts hares at night.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, tools: SearchTools) -> TextSearch:
    """A search over two short texts that no test changes."""
    folder = tmp_path_factory.mktemp("kept")
    for name in ("tarn.md", "port.md"):
        (folder / name).write_text(TEXTS[name], encoding="utf-8")
    return TextSearch(FolderSource(folder), tools)


ASKED = [
    (0.0, "Where are ships unloaded?", "port"),  # no word in common: the vectors find it
    (1.0, "zx-81", "cat"),  # a code, deep in a long document
    (0.8, "Who designed the bridge?", "tarn"),
]


@pytest.mark.parametrize(("alpha", "question", "best"), ASKED)
def test_each_pool_finds_its_own(folder: Path, tools: SearchTools, alpha: float, question: str, best: str) -> None:
    search = TextSearch(FolderSource(folder), tools, TextSearchSettings(alpha=alpha))
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


def test_an_absent_folder_is_a_source_error(tmp_path: Path, tools: SearchTools) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        TextSearch(FolderSource(tmp_path / "no"), tools).search("x", 1)


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_question_is_only_words(kept: TextSearch, question: str) -> None:
    before = kept.version()
    assert len(kept.search(question, 2)) <= 2
    assert kept.version() == before


unit = st.floats(0, 1, width=32)


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=8), unit, st.integers(1, 8))
def test_equation_1(scores: list[tuple[float, float]], alpha: float, k: int) -> None:
    documents = tuple(Document(str(place), "", "x", "") for place in range(len(scores)))
    lexical, semantic = np.array(scores).T
    ranking = TextCandidates(documents, ("x",) * len(scores), lexical, semantic).order(alpha, k)
    expected = {str(place): alpha * a + (1 - alpha) * b for place, (a, b) in enumerate(scores)}
    assert [one.score for one in ranking] == pytest.approx(sorted(expected.values(), reverse=True)[:k])
    assert all(one.score == pytest.approx(expected[one.passage_id]) for one in ranking)
