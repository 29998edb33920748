"""Benchmark files are read whole and dealt to devices disjointly, evenly and repeatably."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import DocumentError, SettingError, SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion, read_gold
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.sources.folder import FolderSource, write_documents
from simulations.corpora.multihop import Benchmark, data_root, read_multihop
from simulations.corpora.partition import Partition, partition_documents, write_partition


def _row(number: int, **changes: Any) -> dict[str, Any]:
    paragraphs = [
        {"title": "Shared", "text": "A shared paragraph.", "is_supporting": True},
        {"title": f"Own {number}", "text": f"Paragraph {number}.", "is_supporting": True},
        {"title": "Noise", "text": "Nothing.", "is_supporting": False},
    ]
    row = {"id": f"q{number}", "question": "Who?", "answer": "A", "aliases": ["B"], "type": "bridge", "split": "dev"}
    return {**row, "paragraphs": paragraphs, **changes}


def _file(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))
    return path


def test_rows_are_filtered_and_documents_unique(tmp_path: Path) -> None:
    rows = [_row(0), _row(1, split="train"), _row(2, setting="fullwiki"), _row(3, setting="distractor"), _row(4)]
    benchmark = read_multihop(_file(tmp_path / "x.jsonl.gz", rows), limit=2)
    assert [question.question_id for question in benchmark.questions] == ["q0", "q3"]
    assert [document.title for document in benchmark.documents] == ["Shared", "Own 0", "Noise", "Own 3"]
    first = benchmark.questions[0]
    assert first.documents == (benchmark.documents[0].id, benchmark.documents[1].id)
    assert (first.answer, first.aliases, first.kind, first.split, first.home) == ("A", ("B",), "bridge", "dev", "")
    assert len(read_multihop(tmp_path / "x.jsonl.gz", split=None, setting=None).questions) == 5


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.jsonl"):
        read_multihop(tmp_path / "gone.jsonl")
    with pytest.raises(SourceError, match="no row"):
        read_multihop(_file(tmp_path / "x.jsonl.gz", [_row(0)]), split="train")
    with pytest.raises(DocumentError, match=r"y\.jsonl\.gz:1"):
        read_multihop(_file(tmp_path / "y.jsonl.gz", [_row(0, paragraphs=[{"title": "T"}])]))
    (tmp_path / "z.jsonl.gz").write_bytes((tmp_path / "x.jsonl.gz").read_bytes()[:-12])
    with pytest.raises(SourceError, match="torn"):
        read_multihop(tmp_path / "z.jsonl.gz")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"id": 5}, "field id"),
        ({"id": "q0"}, "not unique"),
        ({"id": "q" * 201}, "id has more than"),
        ({"question": " "}, "field question"),
        ({"question": None}, "field question"),
        ({"answer": 1924}, "field answer"),
        ({"aliases": [1924]}, "field aliases"),
        ({"aliases": "B"}, "field aliases"),
        ({"aliases": ["B", "half \ud800"]}, "aliases holds half a character"),
        ({"type": 2}, "field kind"),
        ({"paragraphs": [{"title": 5, "text": "T.", "is_supporting": True}]}, "another type"),
        ({"paragraphs": [{"title": "T", "text": 5, "is_supporting": True}]}, "another type"),
        ({"paragraphs": 5}, "another type"),
    ],
)
def test_a_row_of_other_types_is_named_at_once(tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    path = _file(tmp_path / "x.jsonl.gz", [_row(0), _row(1, **changes)])
    with pytest.raises(DocumentError, match=rf"x\.jsonl\.gz:2.*{match}"):
        read_multihop(path)


@st.composite
def benchmarks(draw: st.DrawFn) -> Benchmark:
    """Draw a benchmark of up to 30 documents and 10 questions over them."""
    documents = tuple(make_document(f"d{i}", f"T{i}", f"text {i}") for i in range(draw(st.integers(1, 30))))
    ids = [document.id for document in documents]
    gold = draw(st.lists(st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True), max_size=10))
    return Benchmark(tuple(GoldQuestion(f"q{i}", "?", "a", documents=tuple(g)) for i, g in enumerate(gold)), documents)


@given(benchmarks(), st.integers(1, 6), st.integers(0, 9), st.sampled_from([None, 0.0, 0.3, 1.0]))
def test_a_partition_is_even_and_repeatable(benchmark: Benchmark, devices: int, seed: int, share: float | None) -> None:
    partition = partition_documents(benchmark, devices, seed, share)
    held = {name: {document.id for document in documents} for name, documents in partition.documents.items()}
    sizes = [len(ids) for ids in held.values()]
    assert list(held) == [f"device-{i}" for i in range(devices)]
    assert sum(sizes) == len(set().union(*held.values())) == len(benchmark.documents)
    assert max(sizes) - min(sizes) <= 1
    for question in partition.questions:
        assert question.documents[0] in held[question.home]
        assert (set(question.documents) <= held[question.home]) == (question.question_id in partition.local)
    assert partition == partition_documents(benchmark, devices, seed, share)


def test_the_share_of_cross_silo_questions_is_kept_where_it_can_be() -> None:
    documents = tuple(make_document(f"d{i}", "", f"text {i}") for i in range(100))
    questions = tuple(GoldQuestion(f"q{i}", "?", "a", documents=(f"d{2 * i}", f"d{2 * i + 1}")) for i in range(20))
    benchmark = Benchmark(questions, documents)
    for share, local in ((0.0, 20), (0.5, 10), (1.0, 0)):
        assert len(partition_documents(benchmark, 5, 3, share).local) == local
    assert partition_documents(benchmark, 5, 3) != partition_documents(benchmark, 5, 4)


@pytest.mark.parametrize(("devices", "share"), [(0, None), (2, -0.1), (2, 1.5), (2, float("nan"))])
def test_settings_out_of_range(devices: int, share: float | None) -> None:
    with pytest.raises(SettingError):
        partition_documents(Benchmark((), ()), devices, 0, share)


def test_a_written_partition_reads_back(tmp_path: Path) -> None:
    benchmark = read_multihop(_file(tmp_path / "x.jsonl.gz", [_row(i) for i in range(9)]))
    root = tmp_path / "silos"
    write_partition(root, partition_documents(benchmark, 5, 0))
    assert (root / "questions.jsonl").stat().st_mode & 0o777 == 0o644
    [handed_over] = write_documents(tmp_path / "centre", benchmark.documents)
    assert handed_over.stat().st_mode & 0o777 == 0o600  # nobody else's, unless they are public
    partition = partition_documents(benchmark, 2, 1)
    write_partition(root, partition)
    _same(root, partition)
    assert not list((root / "device-4").iterdir())


def test_a_partition_that_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    """Someone may be reading it."""
    root, rows = tmp_path / "silos", [_row(i) for i in range(9)]
    partition = partition_documents(read_multihop(_file(tmp_path / "x.jsonl.gz", rows)), 2, 0)
    write_partition(root, partition)
    before = FolderSource(root).stamp()
    write_partition(root, partition)
    assert FolderSource(root).stamp() == before


def _same(root: Path, partition: Partition) -> None:
    for device, documents in partition.documents.items():
        assert FolderSource(root / device).read().documents == documents
    assert tuple(read_gold(root / "questions.jsonl")) == partition.questions


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (["{"], "gold.jsonl:1"),
        (["[]"], "not an object"),
        (['{"id": "1", "question": "?"}'], "answer"),
        (['{"id": "1", "question": "?", "answer": "a", "aliases": "b"}'], "aliases"),
        (['{"id": "1", "question": "?", "answer": "a"}'] * 2, "gold.jsonl:2.*unique"),
        ([""], "no question"),
    ],
)
def test_bad_gold(tmp_path: Path, lines: list[str], match: str) -> None:
    (tmp_path / "gold.jsonl").write_text("\n".join(lines))
    with pytest.raises(SourceError, match=match):
        read_gold(tmp_path / "gold.jsonl")


def test_data_root_must_be_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_DATA", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.setenv("FEDRAG_DATA", str(tmp_path / "gone"))
    with pytest.raises(SourceError, match="FEDRAG_DATA"):
        data_root()


@pytest.mark.parametrize("name", ["hotpotqa", "2wikimultihopqa", "musique"])
def test_the_real_files(tmp_path: Path, name: str) -> None:
    root = data_root()
    if root is None:
        pytest.skip("the evaluation data is not here (set FEDRAG_DATA)")
    benchmark = read_multihop(root / f"{name}.jsonl.gz", limit=50)
    assert len(benchmark.questions) == 50
    assert all(len(question.documents) >= 2 for question in benchmark.questions)
    partition = partition_documents(benchmark, 5, 0)
    write_partition(tmp_path, partition)
    _same(tmp_path, partition)
