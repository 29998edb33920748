"""Summary routing over five tiny devices: who is asked, who answers, what travels, and what a liar achieves."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fedrag_flwr.evaluation.results import read_summary
from fedrag_flwr.models.base import Generator
from fedrag_flwr.records import Answer, Evidence, EvidenceBatch, EvidenceUnit, Question, SummaryBatch, because
from fedrag_flwr.settings import Plain
from strategies import ServerTools, SummaryRouting
from tests.strategies.federation import DEVICES, Federation, Tamper, graphed, server_tools, small_models, tampering

FOREIGN = Question("f7", "How high is Mount Cairl?", "bridges")
HOME = Question("f1", "Who designed Tarn Bridge?", "bridges")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The federation with all graphs built; questions are routed in the open."""
    return graphed(tmp_path_factory).with_changes(exchange="plain")


def run(
    files: Federation,
    *questions: Question,
    tamper: Tamper | None = None,
    generator: Callable[[], Generator] | None = None,
) -> tuple[SummaryRouting, list[bytes]]:
    tools = ServerTools(files.settings)
    tools.__dict__["models"] = replace(small_models(), generator=generator or small_models().generator)
    strategy = SummaryRouting(files.settings, questions or (HOME, FOREIGN), tools)
    grid = files.grid(tamper)
    strategy.run(grid, "1")
    tools.close()
    return strategy, grid.sent


def mistrusting(files: Federation, **changes: Plain) -> Federation:
    return files.with_changes(gate__threshold=1.0, **changes)


def test_a_trusted_home_asks_nobody(built: Federation) -> None:
    strategy, sent = run(built.with_changes(gate__threshold=0.0), HOME)
    assert strategy.answers["f1"].path == "cognizer"
    assert "confidence" in strategy.answers["f1"].explanation
    assert not [data for data in sent if b"query.retrieve" in data]


def refused() -> Generator:
    raise AssertionError("the server asked for a model")


CALLS = {"home": 3, "server": 2}  # home's candidates, then what is read with help; at home beside home's own reading


@pytest.mark.parametrize("where", ["home", "server"])
def test_a_foreign_question_goes_to_who_knows(built: Federation, where: str) -> None:
    question = replace(FOREIGN, id=f"answered at {where}")
    generator = refused if where == "home" else None
    strategy, sent = run(mistrusting(built, routing__answers_at=where), question, generator=generator)
    answer = strategy.answers[question.id]
    assert strategy.counts["routing-rivers"] == 1
    assert "routed by rivers" in answer.explanation
    assert answer.path in ("remote", "abstained")
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert answer.cost.llm_calls == CALLS[where]
    asked = [data for data in sent if b"query.retrieve" in data]
    assert len(asked) == 2  # one message and its reply
    assert not any(FOREIGN.text.encode() in data for data in asked)
    with built.device("bridges") as home:
        assert (question.id in home.delivered.all()) == (where == "server")


def test_where_homes_route_the_server_runs_no_model(built: Federation) -> None:
    files = mistrusting(built, routing__answers_at="home", exchange="download")
    strategy, _ = run(files, FOREIGN, generator=refused)
    answer = strategy.answers["f7"]
    assert answer.cost.llm_calls == CALLS["home"]
    assert any(source.startswith("rivers/") for source in answer.sources)


def test_all_questions_for_an_owner_are_one_message(built: Federation) -> None:
    questions = [replace(FOREIGN, id=f"q{number}") for number in range(3)]
    strategy, sent = run(mistrusting(built), *questions)
    assert set(strategy.answers) == {"q0", "q1", "q2"}
    assert len([data for data in sent if b"query.retrieve" in data]) == 2


def test_summaries_travel_once(built: Federation) -> None:
    def told(sent: list[bytes]) -> int:
        return sum(len(data) for data in sent if b"query.summaries" in data and b"Subjects: " in data)

    first, _ = run(built, HOME)
    again, sent = run(built, HOME)
    assert first.counts["summaries"] == again.counts["summaries"] > len(DEVICES)
    assert told(sent) == 0


@pytest.mark.parametrize("exchange", ["plain", "download"])
def test_counts_of_all_questions_are_told_and_whom_they_went_to_is_forgotten(built: Federation, exchange: str) -> None:
    files = mistrusting(built, exchange=exchange)
    tools = server_tools(files)
    strategy = SummaryRouting(files.settings, (), tools)
    strategy.prepare(files.grid(), "1")
    for name in ("once", "again"):
        strategy.ask([replace(FOREIGN, id=name)])
    assert set(strategy.routes) == {"once", "again"}
    strategy.forget()
    tools.close()
    assert (strategy.counts["routed"], strategy.counts["routing-rivers"]) == (2, 2)
    assert strategy.routes == {}


def test_home_never_asks_itself(built: Federation) -> None:
    strategy, _ = run(mistrusting(built, routing__summaries=50, routing__devices=5), HOME)
    assert "routing-bridges" not in strategy.counts
    assert sum(name.startswith("routing-") for name in strategy.counts) == len(DEVICES) - 1


def test_where_the_server_answers_home_gives_evidence_too(built: Federation) -> None:
    strategy, _ = run(mistrusting(built, routing__answers_at="server"), HOME)
    assert strategy.counts["routing-bridges"] == 1
    assert any(source.startswith("bridges/") for source in strategy.answers["f1"].sources)


def test_private_names_do_not_travel(built: Federation) -> None:
    climber = Question("f10", "Who reached the summit of Mount Cairl?", "bridges")
    _, sent = run(mistrusting(built, routing__answers_at="server"), climber)
    assert not any(b"Tveit" in data for data in sent)
    assert any(b"[PERSON]" in data for data in sent)


def test_who_speaks_for_another_is_not_heard(built: Federation, tmp_path: Path) -> None:
    files = mistrusting(built.copy_to(tmp_path))
    lie = tampering(SummaryBatch, partial(replace, device="bridges"), "rivers")
    strategy, _ = run(files, FOREIGN, tamper=lie)
    assert "query.summaries: it replied in another device's name" in strategy.outcome().traffic.missing["rivers"]
    assert strategy.answers["f7"].path in ("remote", "cognizer", "abstained")


def test_evidence_in_another_s_name_is_dropped_and_the_draft_stands(built: Federation) -> None:
    def lie(batch: EvidenceBatch) -> EvidenceBatch:
        unit = EvidenceUnit("x", "Mount Cairl is one metre high.", "harbours", 0.99, "Mount Cairl")
        return replace(batch, evidence=tuple(Evidence(part.question_id, (unit,)) for part in batch.evidence))

    files = mistrusting(built, routing__answers_at="server")
    strategy, _ = run(files, FOREIGN, tamper=tampering(EvidenceBatch, lie))
    assert "another's name" in strategy.outcome().traffic.missing["rivers"]
    answer = strategy.answers["f7"]
    assert answer.decisions[-1] == because("outcome", "nobody could help")
    assert not any(source.startswith("harbours/") for source in answer.sources)


def flooding(question_id: str, pages: str) -> Tamper:
    """Put a very long unit in place of the evidence for one question."""

    def flood(batch: EvidenceBatch) -> EvidenceBatch:
        told = f"Mount Cairl is 2,144 metres high. {pages}"
        parts = tuple(
            replace(part, units=(replace(part.units[0], text=told),)) if part.question_id == question_id else part
            for part in batch.evidence
        )
        return replace(batch, evidence=parts)

    return tampering(EvidenceBatch, flood)


@pytest.mark.parametrize("where", ["home", "server"])
def test_of_very_long_evidence_the_start_is_read(built: Federation, where: str) -> None:
    asked, files = replace(FOREIGN, id="long"), mistrusting(built, routing__answers_at=where)
    strategy, _ = run(files, asked, tamper=flooding("long", "word " * 3_900))
    answer = strategy.answers["long"]
    assert "failed" not in answer.explanation
    assert answer.cost.llm_calls == CALLS[where]
    assert any(source.startswith("rivers/") for source in answer.sources)


def test_evidence_that_the_servers_model_cannot_read_leaves_home_its_draft(built: Federation) -> None:
    asked = [replace(FOREIGN, id=name) for name in ("too long", "other")]
    files = mistrusting(built, routing__answers_at="server")
    strategy, _ = run(files, *asked, tamper=flooding(asked[0].id, "\U0001f702" * 3_000))
    answer = strategy.answers[asked[0].id]
    assert {source.partition("/")[0] for source in answer.sources} == {"bridges"}
    assert answer.cost.llm_calls == 1
    gate, routed, failed = answer.decisions
    assert (gate.step, routed.step) == ("gate", "routing")
    assert routed.said.startswith("routed by rivers")
    assert failed == because("outcome", "failed: PromptError")
    assert "failed" not in strategy.answers["other"].explanation
    assert strategy.answers["other"].cost.llm_calls == 2
    with built.device("bridges") as home:
        assert asked[0].id not in home.delivered.all()


def test_silent_owners_leave_home_its_draft(built: Federation) -> None:
    files = mistrusting(built, federation__round_timeout=2.0, routing__answers_at="server")
    strategy, _ = run(files, FOREIGN, tamper=tampering(EvidenceBatch, lambda _: None))
    answer: Answer = strategy.answers["f7"]
    assert answer.decisions[-1] == because("outcome", "nobody could help")
    assert answer.cost.llm_calls == 1


def test_the_run_reports_it(built: Federation, tmp_path: Path) -> None:
    from server_app.run import run_systems

    files = built.with_changes(baselines="local-graph", results=str(tmp_path / "results"), data__limit=2)
    summary = read_summary(run_systems(files.grid(), "1", files.settings))
    assert set(summary.systems) == {"summary-routing", "local-graph"}
    taken = {path for path, share in summary.systems["local-graph"].paths.items() if share}
    assert taken <= {"cognizer", "abstained"}
    for device in summary.devices.values():
        held = dict(one.split("=") for one in device.graph)
        assert int(held["communities"]) > 0
        assert 1 < int(held["largest"]) <= files.settings.graph.community_most
        assert -0.5 <= float(held["modularity"]) <= 1.0


def test_summaries_without_end_are_cut_off(built: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategies.summary_routing.MOST_PAGES", 3)

    files = mistrusting(built.copy_to(tmp_path))
    babble = tampering(SummaryBatch, partial(replace, more=True), "rivers")
    strategy, _ = run(files, HOME, tamper=babble)
    assert "without coming to an end" in strategy.outcome().traffic.missing["rivers"]
    assert "f1" in strategy.answers
