"""Fitted models in JSON files: what is torn, or was fitted for something else, is refused by the file's name."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fedrag_flwr.answering import gate, judge, sentences
from fedrag_flwr.errors import StoreCorruptError
from fedrag_flwr.retrieval import source_router

LOADERS: dict[str, tuple[Callable[[Path], object], Path]] = {
    "judge": (judge.Judge.load, judge.SHIPPED),
    "sentences": (sentences.read_scorer, sentences.SHIPPED),
    "gate": (gate.GateModel.load, gate.ALONE),
    "router": (source_router.SourceRouter.load, source_router.SHIPPED),
}
RECALL = json.loads(judge.SHIPPED.read_text())["recall"]
TORN: list[bytes | None] = [None, b"", b"{", b"[]", b"{}", b'"text"', b"null", b"\x00", b"\xff\xfe\xfa"]
CHANGES: dict[str, list[dict[str, object]]] = {
    "judge": [
        {"recall": None},
        {"recall": RECALL | {"weights": RECALL["weights"][1:]}},
        {"recall": RECALL | {"weights": [float("nan")] * 3}},
        {"recall": RECALL | {"bias": "high"}},
        {"recall": RECALL | {"features": ["mood", *RECALL["features"][1:]]}},
        {"reading": [RECALL]},
        {"reading": RECALL},
    ],
    "sentences": [
        {"features": ["mood"]},
        {"weights": [1.0]},
        {"weights": ["high"] * len(sentences.FEATURES)},
        {"weights": None},
    ],
    "gate": [{"features": ["mood"]}, {"features": None}, {"weights": [1.0]}, {"mood": 1.0}],
    "router": [{"features": ["mood"]}, {"hidden": "high"}, {"threshold": None}],
}


def contents() -> Iterator[tuple[str, bytes | None]]:
    for name, (_, shipped) in LOADERS.items():
        whole = shipped.read_bytes()
        changed = [json.dumps(json.loads(whole) | change).encode() for change in CHANGES[name]]
        yield from ((name, content) for content in [*TORN, whole[:-20], *changed])


@pytest.mark.parametrize(("name", "content"), list(contents()))
def test_what_holds_no_such_model_is_refused(name: str, content: bytes | None, tmp_path: Path) -> None:
    load, shipped = LOADERS[name]
    assert load(shipped)
    if content is not None:
        (tmp_path / "torn.json").write_bytes(content)
    with pytest.raises(StoreCorruptError, match=r"torn\.json"):
        load(tmp_path / "torn.json")
