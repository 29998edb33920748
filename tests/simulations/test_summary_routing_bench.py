"""Routing's benchmark over two tiny domains: variants, stopped runs, seconds by phase, multiple choice."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fedrag_flwr.settings import Plain
from simulations.bench_summary_routing import Row, Spent, answers, in_turn, phases, table
from simulations.corpora.domain_data import DomainQuestion, split_of
from simulations.fixtures.summary_world import SummaryWorld
from simulations.reporting.row_file import RowFile, this_code
from tests.strategies.federation import DOCUMENTS

SMALL: dict[str, Plain] = {
    "models.generator": "smollm2-135m",
    "models.generation-cache": False,
    "models.context-tokens": 2048,
    "inference.max-answer-tokens": 4,
    "graph.community-most": 8,
    "graph.community-least": 2,
}
ASKED = {
    "bridges": ("tarn-bridge", "Who designed Tarn Bridge?", "Odile Varro", ["Odile Varro", "Jonas Keel"]),
    "rivers": ("mount-cairl", "How high is Mount Cairl?", "2,144 metres", None),
}


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SummaryWorld:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    passages, questions = [], []
    for domain, (document, question, answer, choices) in ASKED.items():
        for name, text in DOCUMENTS[domain].items():
            title, _, body = text.removeprefix("# ").partition("\n\n")
            told = {"domain": domain, "module": name.removesuffix(".md"), "title": title, "section": None}
            passages.append({**told, "text": body.strip()})
        dev = [name for name in map(str, range(40)) if split_of(name + domain) == "dev"]
        for number in dev[:2]:
            kind = "multiple_choice" if choices else "free"
            row = {"id": number + domain, "question": question, "answer": answer, "domain": domain, "kind": kind}
            questions.append({**row, "gold_module": document, "choices": choices})
    write(tmp_path / "openstax_passages.jsonl.gz", passages)
    write(tmp_path / "openstax_qa.jsonl.gz", questions)
    return SummaryWorld("openstax", 0, tmp_path, SMALL)


def test_each_device_is_asked_about_its_own_domain_and_the_others(made: SummaryWorld) -> None:
    dealt = made.domains.dealt("dev", 2, 1, 7)
    domains = {device: sorted(one.domain for one in asked) for device, asked in dealt.items()}
    assert domains == {"bridges": ["bridges", "bridges", "rivers"], "rivers": ["bridges", "rivers", "rivers"]}
    assert dealt == made.domains.dealt("dev", 2, 1, 7)


def test_variants_answer_and_a_stopped_run_goes_on(made: SummaryWorld) -> None:
    dealt = made.domains.dealt("dev", 1, 1, 7)
    names = ("summary-routing", "summary-routing-one-candidate")
    found = {name: answers(made, name, dealt, "home") for name in names}
    assert [len(rows) for rows in found.values()] == [4, 4]
    assert len(table(found)) == 2 + 2 * len(names)
    [kept] = made.home.glob("answers-openstax-0-summary-routing-home-*.jsonl")
    lines = kept.read_text(encoding="utf-8").splitlines()
    kept.write_text(f"{lines[0]}\n", encoding="utf-8")
    again = answers(made, names[0], dealt, "home")
    assert again[0] == found[names[0]][0]
    assert [row.id for row in again] == [row.id for row in found[names[0]]]
    spent = [Spent(**row) for row in RowFile(kept.with_suffix(".phases"), this_code(made.models.generator_id)).rows()]
    assert [one.asked for one in spent] == [0, 4, 0, 3]
    assert any(one.seconds["query.answer"] > 0 for one in spent if one.asked)
    assert not list(made.home.glob("answers-openstax-0-summary-routing-server-*.jsonl"))


def test_phases_are_means_over_questions() -> None:
    spent = [
        Spent(0, {"build": 9.0}),
        Spent(4, {"build": 0.0, "ask": 8.0}),
        Spent(0, {"build": 1.0}),
        Spent(1, {"ask": 4.5}),
    ]
    assert phases("x", spent) == ["| x | build | 9.0 | 0.00 |", "| x | ask | 0.0 | 2.50 |"]


def test_judged_pairs_are_taken_from_all_devices_in_turn() -> None:
    def answer(name: str, system: str) -> Row:
        return Row(name, system, name[:-1], True, "", "cognizer", False, 0.0, 0, 0.0, 0.0, None)

    names = ("cancer1", "cancer2", "cancer3", "health1", "nerves1", "nerves2")  # as they stand, device by device
    found = in_turn((answer(name, "one"), answer(name, "other")) for name in names)
    assert [a.id for a, _ in found] == ["cancer1", "health1", "nerves1", "cancer2", "nerves2", "cancer3"]
    assert all(a.id == b.id and (a.system, b.system) == ("one", "other") for a, b in found)


@pytest.mark.parametrize(("text", "right"), [("It was Odile Varro.", 1.0), ("Jonas Keel", 0.0), ("salt", 0.0)])
def test_of_options_the_one_that_is_most_like_the_answer_counts(text: str, right: float) -> None:
    from simulations.bench_summary_routing import _option

    asked = DomainQuestion("q", "Who?", "Odile Varro", "bridges", "d", "dev", ("Jonas Keel", "Odile Varro"))
    assert _option(text, asked) == right
    assert _option(text, DomainQuestion("q", "Who?", "Odile Varro", "bridges", "d", "dev")) is None
