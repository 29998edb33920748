"""Frozen tuples: they come back as they were, and a file that does not fit its manifest is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.records import EvidenceTuple
from fedrag_flwr.text.tuple_cache import drop_changed, read_unchanged, write_tuples

PASSAGES = [("p0", "Ada met Bell."), ("p1", "Nothing.")]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
SHARES = st.floats(0.0, 1.0)
TUPLES = st.lists(
    st.builds(EvidenceTuple, TEXTS, TEXTS, TEXTS, st.sampled_from(["p0", "p1"]), SHARES, SHARES, SHARES, SHARES)
)


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    path = tmp_path / "tuples.jsonl"
    write_tuples(path, [EvidenceTuple("Ada", "met", "Bell", "p0")], PASSAGES, extractor="rules", settings={"most": "5"})
    return path


@given(TUPLES)
@settings(deadline=None)
def test_tuples_come_back(tmp_path_factory: pytest.TempPathFactory, tuples: list[EvidenceTuple]) -> None:
    path = tmp_path_factory.mktemp("cache") / "tuples.jsonl"
    written = write_tuples(path, tuples, PASSAGES, extractor="rules")
    assert read_unchanged(path, PASSAGES, extractor="rules") == (tuples, written)
    assert (written.tuples, written.silent) == (len(tuples), 2 - len({one.passage_id for one in tuples}))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"extractor": "model"}, "extractor"),
        ({"pipeline": "other"}, "pipeline"),
        ({"settings": {"most": "6"}}, "settings"),
    ],
)
def test_what_was_made_otherwise_is_refused(frozen: Path, changed: dict[str, object], named: str) -> None:
    asked: dict[str, object] = {"passages": PASSAGES, "extractor": "rules", "settings": {"most": "5"}, **changed}
    with pytest.raises(StoreMismatchError, match=named):
        read_unchanged(frozen, **asked)  # type: ignore[arg-type]


def test_what_changed_alone_is_left_out_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "tuples.jsonl"
    before = [("one", "a"), ("two", "b"), ("three", "c"), ("mute", "d")]
    kept = EvidenceTuple("Ada", "met", "Bell", "one#0")
    gone = [EvidenceTuple("Cole", "met", "Dunn", "two#0"), EvidenceTuple("Eve", "met", "Finn", "three#1")]
    written = write_tuples(path, [kept, *gone], before, extractor="rules", dropped={"cut": 2})
    assert written.silent == 1
    now = [("one", "a"), ("two", "other"), ("mute", "d"), ("new", "e")]
    assert read_unchanged(path, now, extractor="rules") == ([kept], written)
    with pytest.raises(StoreMismatchError, match="extractor"):
        read_unchanged(path, now, extractor="model")
    drop_changed(path, now)
    stay = [("one", "a"), ("mute", "d")]
    tuples, manifest = read_unchanged(path, stay, extractor="rules")
    assert (tuples, manifest.silent, manifest.dropped) == ([kept], 1, {"cut": 2})
    assert not any(name in path.read_text() for name in ("Cole", "Dunn", "Eve", "Finn"))
    path.write_bytes(path.read_bytes()[:-3])
    drop_changed(path, now)
    assert list(tmp_path.iterdir()) == []


def _edit_manifest(path: Path, **changes: object) -> None:
    beside = path.with_name(f"{path.name}.manifest.json")
    beside.write_text(json.dumps(json.loads(beside.read_text()) | changes))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.with_name(f"{path.name}.manifest.json").unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"Bell", b"Bull")),
        lambda path: path.with_name(f"{path.name}.manifest.json").write_text("{}"),
        lambda path: path.with_name(f"{path.name}.manifest.json").write_text("[1]"),
        lambda path: _edit_manifest(path, tuples=2),
        lambda path: _edit_manifest(path, more=1),
        lambda path: _edit_manifest(path, passages="of an earlier schema"),
    ],
)
def test_a_spoilt_file_is_refused(frozen: Path, spoil: Callable[[Path], object]) -> None:
    spoil(frozen)
    with pytest.raises(StoreCorruptError) as caught:
        read_unchanged(frozen, PASSAGES, extractor="rules", settings={"most": "5"})
    assert "Bell" not in str(caught.value)
