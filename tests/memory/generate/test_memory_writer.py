"""A model writes memories of what a device has read: within its budget, hyperedge by hyperedge, and it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.memory.generate import model
from fedrag_flwr.memory.generate.memory_writer import in_turns
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.records import Hyperedge, Passage, Sentence
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.text.segment import document_of, under_title
from tests.strategies.federation import small_models

TEXTS = {  # of these sentences the templates make nothing
    "parking": "# Parking\n\nTo park for a day, members pay 15 euros at the north gate. Lost permits go to Greta Holm, "
    "for a new one on Monday.\n",
    "mill": "# Old Mill\n\nAt the Old Mill, work stopped in 1931 after the fire. Of the Old Mill, only 9 walls are "
    "left.\n",
    "german": "# Der Alte Hafen\n\nDer alte Hafen wurde im Jahr 1871 von Greta Holm eröffnet. Er liegt an der Mündung "
    "des Flusses Ossel. Heute legen dort zwölf Fischerboote an.\n",
}
ALL = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("device")
    (root / "documents").mkdir()
    for name, text in TEXTS.items():
        (root / "documents" / f"{name}.md").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(root / "home"))
        patch.setattr(model, "SURE_OF_ANSWER", -1.0)
        patch.setattr(model, "SURE", -1.0)  # the tests' model is small, and never sure
        yield root


def opened(folder: Path, store: Path, tokens: int) -> EdgeDevice:
    config: dict[str, Plain] = {"home": str(folder / "home"), "memory.tokens-per-kilotoken": tokens}
    return EdgeDevice("pier", folder / "documents", store, Settings.from_config(config), small_models())


def test_every_sentence_is_asked_about_once_and_each_memory_passes_every_check(folder: Path, tmp_path: Path) -> None:
    with opened(folder, tmp_path, ALL) as device:
        report = device.build()
        store = device.store
        asked, written = store.asked(), store.written_by_model()
        assert report.cost.llm_calls > 0
        assert report.cost.tokens_out == sum(asked.values())
        assert report.items == len(store.items())
        passages = {sentence.id: passage for passage in store.passages() for sentence in passage.sentences}
        assert {passages[one].document_id for one in asked} == {"parking", "mill"}  # German gets none
        made = [item for item in store.items() if item.id in written]
        assert {item.answer for item in made} >= {"15 euros", "1931"}
        for item in made:
            [unit] = store.sentences(item.support)
            assert verify(item, [under_title(passages[unit.id].title, unit.text)]) is None  # type: ignore[arg-type]
        assert device.write_memories().cost.llm_calls == 0
        (device.documents / "parking.md").touch()  # type: ignore[operator]
        assert device.build().cost.llm_calls == 0


def test_a_budget_ends_the_work_and_a_later_call_goes_on(folder: Path, tmp_path: Path) -> None:
    with opened(folder, tmp_path / "whole", ALL) as device:
        device.build()
        whole = {(item.question, item.answer) for item in device.store.items()}
    with opened(folder, tmp_path / "parts", 0) as device:
        assert device.build().cost.llm_calls == 0
    with opened(folder, tmp_path / "parts", 400) as device:
        first = device.write_memories()
        assert first.cost.llm_calls > 0
        assert device.write_memories().cost.llm_calls == 0  # the budget is spent
    turns = chain([False], repeat(True))
    with opened(folder, tmp_path / "parts", ALL) as device:
        stopped = device.write_memories(stop=lambda: next(turns))
        assert stopped.sentences == 1
        assert device.write_memories().sentences > 0
        assert {(item.question, item.answer) for item in device.store.items()} == whole


def test_a_changed_document_is_asked_about_anew_and_no_other(folder: Path, tmp_path: Path) -> None:
    with opened(folder, tmp_path, ALL) as device:
        device.build()
        file = folder / "documents" / "mill.md"
        file.write_text(TEXTS["mill"].replace("1931", "1944"), encoding="utf-8")
        try:
            report = device.build()
        finally:
            file.write_text(TEXTS["mill"], encoding="utf-8")
        assert 0 < report.cost.tokens_out < sum(device.store.asked().values())
        assert not any(item.answer == "1931" for item in device.store.items())


def test_a_device_that_writes_later_builds_without_the_model(folder: Path, tmp_path: Path) -> None:
    with opened(folder, tmp_path, ALL) as device:
        device.writes_later = True
        assert device.build().cost.llm_calls == 0
        assert device.write_memories().memories > 0


def test_documents_that_people_ask_about_come_first(folder: Path, tmp_path: Path) -> None:
    for first in ("mill", "parking"):
        with opened(folder, tmp_path / first, 0) as device:
            device.build()
        with opened(folder, tmp_path / first, ALL) as device:
            turns = chain([False], repeat(True))
            assert device.write_memories(stop=lambda turns=turns: next(turns), first=[first]).sentences == 1  # type: ignore[misc]
            assert [document_of(sentence) for sentence in device.store.asked()] == [first]


_NAMES = [f"d#0.{place}" for place in range(6)]
_EDGES = st.lists(
    st.lists(st.sampled_from([*_NAMES, "d#0"]), unique=True, min_size=1, max_size=5).flatmap(
        lambda units: st.tuples(st.just(units), st.lists(st.floats(0.1, 1), min_size=len(units), max_size=len(units)))
    ),
    max_size=5,
)


@given(_EDGES, st.lists(st.sampled_from(_NAMES), unique=True))
def test_sentences_come_in_turns_each_wanted_one_once(
    edges: list[tuple[list[str], list[float]]], wanted: list[str]
) -> None:
    sentences = tuple(Sentence(name, "d#0", "Text.", ()) for name in _NAMES)
    passage = Passage("d#0", "d", "", "Text.", sentences)
    made = [
        Hyperedge(f"e{place}", "sentence", tuple(units), tuple(weights), np.zeros(2, dtype=np.float32))
        for place, (units, weights) in enumerate(edges)
    ]
    order = in_turns(made, [passage], wanted)
    assert sorted(order) == sorted(wanted)
    if edges and (first := max(made, key=lambda edge: (len(edge.members), -int(edge.id[1:])))):
        weights = dict(zip(first.members, first.weights, strict=True))
        heaviest = max((one for one in wanted if one in weights), key=lambda one: weights[one], default=None)
        if heaviest is not None and "d#0" not in weights:
            assert weights[order[0]] == weights[heaviest]
