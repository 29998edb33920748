"""Walks over five tiny devices: who is asked, who answers, what is learnt, and what faults cost."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from fedrag_flwr.errors import NotFoundError, SettingError
from fedrag_flwr.evaluation.results import read_answers
from fedrag_flwr.overlay.device_sketches import BUDGET, SKETCHES, document_vectors
from fedrag_flwr.overlay.topics import Topics
from fedrag_flwr.overlay.walks import WalkRules
from fedrag_flwr.privacy.ledger import BudgetLedger
from fedrag_flwr.records import (
    AnswerBatch,
    EvidenceUnit,
    GossipReply,
    GossipRequest,
    Hop,
    HopReply,
    Lesson,
    OpenQuestion,
    Question,
    RankedPeer,
    Told,
    TopicWeight,
    WalkKind,
    WalkReply,
    WalkRequest,
)
from fedrag_flwr.settings import Plain
from server_app.run import run_systems
from strategies import STRATEGIES
from strategies.overlay_walk import GOSSIP_ROUNDS, OverlayWalk
from tests.strategies.federation import DEVICES, NODES, Federation, FirstRun, Tamper, run_strategy, tampering

FOREIGN = Question("f7", "How high is Mount Cairl?", "bridges")
HOME = Question("f1", "Who designed Tarn Bridge?", "bridges")
LINE = "bridges\tharbours\nharbours\tmuseums\nmuseums\tpeople\npeople\trivers\n"


@pytest.fixture(scope="module")
def built(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The built federation as a line of five devices, `rivers` farthest from `bridges`."""
    root = tmp_path_factory.mktemp("overlay")
    (root / "line.tsv").write_text(LINE)
    return first.files.copy_to(root).with_changes(
        baselines="",
        strategy="flooding",
        overlay__topology=str(root / "line.tsv"),
        overlay__threshold=0.7,
        overlay__cache_similarity=1.1,
    )


@pytest.fixture
def fresh(built: Federation, tmp_path: Path) -> Federation:
    """The same with stores of its own."""
    return built.copy_to(tmp_path)


def run(files: Federation, *questions: Question, tamper: Tamper | None = None) -> tuple[OverlayWalk, list[bytes]]:
    kind = STRATEGIES[files.settings.strategy]
    assert issubclass(kind, OverlayWalk)
    return run_strategy(kind, files, *(questions or (HOME, FOREIGN)), tamper=tamper)


def said(device: str, change: Callable[[WalkReply], WalkReply | None]) -> Tamper:
    """Change what one device says to hops; None: it says nothing."""
    return tampering(WalkReply, change, device)


def junk(device: str, text: str = "Seven spoons sang.") -> Tamper:
    """A device that claims to know everything."""
    unit = EvidenceUnit("x", text, device, 0.99, "")
    return said(device, lambda reply: replace(reply, replies=tuple(replace(r, units=(unit,)) for r in reply.replies)))


def walk_messages(sent: list[bytes]) -> int:
    return sum(b"query.walk" in data for data in sent)


def test_what_home_knows_does_not_walk(built: Federation) -> None:
    strategy, sent = run(built, HOME)
    assert all(source.startswith("bridges/") for source in strategy.answers["f1"].sources)
    assert walk_messages(sent) == 0
    assert strategy.counts["walk-queried"] == strategy.counts["walk-hits"] == 1


@pytest.mark.parametrize(
    "changes", [{}, {"strategy": "topic-walk"}, {"strategy": "topic-walk", "overlay__walk": "sketch"}]
)
def test_a_question_walks_to_who_knows(fresh: Federation, changes: dict[str, Plain]) -> None:
    strategy, sent = run(fresh.with_changes(**changes), FOREIGN)
    answer = strategy.answers["f7"]
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert "walked bridges > harbours > museums > people > rivers" in answer.explanation
    counted = {name: strategy.counts[f"walk-{name}"] for name in ("hops", "queried", "wire", "hits", "rounds")}
    assert counted == {"hops": 4, "queried": 5, "wire": 8, "hits": 1, "rounds": 5}
    assert not any(FOREIGN.text.encode() in data for data in sent if b"query.walk" in data)


def test_all_questions_at_a_device_are_one_message_a_round(built: Federation) -> None:
    questions = [replace(FOREIGN, id=f"q{number}") for number in range(4)]
    strategy, sent = run(built, *questions)
    assert set(strategy.answers) == {"q0", "q1", "q2", "q3"}
    assert walk_messages(sent) == 2 * 5


def test_a_walk_ends_at_its_last_hop(built: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WalkRules, "of", lambda kind: WalkRules(kind, max_hops=3))
    strategy, _ = run(built, FOREIGN)
    assert strategy.counts["walk-hits"] == 0
    assert strategy.counts["walk-hops"] == strategy.counts["walk-queried"] == 3
    assert not any(source.startswith("rivers/") for source in strategy.answers["f7"].sources)


def test_random_walks_stay_within_their_hops(built: Federation) -> None:
    questions = [replace(FOREIGN, id=f"q{number}") for number in range(6)]
    strategy, _ = run(built.with_changes(strategy="random-walk"), *questions)
    assert strategy.counts["walk-questions"] == 6
    assert 6 < strategy.counts["walk-queried"] <= 6 * 6


@pytest.mark.parametrize("text", ["bridges harbours\n", "bridges\tharbours\trivers\n"])
def test_a_list_of_edges_that_is_none_is_refused(built: Federation, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.tsv").write_text(text)
    with pytest.raises(SettingError, match=r"overlay\.topology"):
        run(built.with_changes(overlay__topology=str(tmp_path / "bad.tsv")), HOME)


def test_a_measured_overlay_connects_all_devices(built: Federation) -> None:
    strategy, _ = run(built.with_changes(overlay__topology="measured"), FOREIGN)
    assert strategy.counts["walk-hits"] == 1


def test_peers_learn_along_the_way_and_ask_there_first(fresh: Federation, tmp_path: Path) -> None:
    (tmp_path / "star.tsv").write_text("".join(f"bridges\t{name}\n" for name in DEVICES[1:]))
    files = fresh.with_changes(strategy="topic-walk", overlay__topology=str(tmp_path / "star.tsv"))
    run(files, FOREIGN)
    again, _ = run(files, replace(FOREIGN, id="again", text="What is the height of Mount Cairl?"))
    assert again.counts["walk-queried"] == 2
    with files.device("bridges") as home:
        assert home.walks.expertise.reputation("rivers") == 1.0
        assert home.walks.expertise._credit


def test_sketches_lead_the_first_question(fresh: Federation, tmp_path: Path) -> None:
    (tmp_path / "star.tsv").write_text("".join(f"bridges\t{name}\n" for name in DEVICES[1:]))
    files = fresh.with_changes(
        strategy="topic-walk",
        overlay__walk="sketch",
        overlay__epsilon=10.0,  # two documents are not seen at less
        overlay__topology=str(tmp_path / "star.tsv"),
    )
    strategy, sent = run(files, FOREIGN)
    assert strategy.counts["walk-queried"] == 2
    assert sum(b"query.gossip" in data for data in sent) == 2 * len(DEVICES) * (GOSSIP_ROUNDS + 1)
    with files.device("rivers") as owner:
        first = owner.walks.sketches.own()
        assert (owner.walks.sketches.own() == first).all()  # drawn once
        assert first.any()


def test_counts_that_return_are_drawn_and_paid_anew(fresh: Federation) -> None:
    with fresh.with_changes(overlay__epsilon=8.0, privacy__budget=24.0).device("rivers") as owner:
        paid = []
        for epsilon in (8.0, 7.0, 8.0, 8.0):  # as documents that come and go, another epsilon makes another sketch due
            overlay = owner.settings.overlay.model_copy(update={"epsilon": epsilon})
            sketches = replace(owner.walks.sketches, settings=owner.settings.model_copy(update={"overlay": overlay}))
            sketches.own()
            ledger = BudgetLedger(sketches.kept / BUDGET, 24.0)
            paid.append(ledger.spent("any document"))
            ledger.close()
    assert paid == [8.0, 15.0, 23.0, 23.0]


def test_topics_that_take_turns_keep_a_sketch_each(fresh: Federation) -> None:
    with fresh.with_changes(overlay__epsilon=8.0, privacy__budget=64.0).device("rivers") as owner:
        headings = owner.walks.topics
        drawn = owner.walks.sketches.own()
        learnt = Topics(("one", "other"), headings.centroids[:2])
        told = owner.walks._sketches_by(learnt).own()
        assert (owner.walks.sketches.own() == drawn).all()
        assert (owner.walks._sketches_by(learnt).own() == told).all()
        assert drawn.any()
        assert told.any()
        ledger = BudgetLedger(owner.walks.sketches.kept / BUDGET, 64.0)
        assert ledger.spent("any document") == 16.0  # a draw for each: at this epsilon another draw may look the same
        ledger.close()


def test_beyond_the_budget_the_last_sketch_stays(fresh: Federation) -> None:
    with fresh.with_changes(overlay__epsilon=2.0, privacy__budget=1.0).device("rivers") as owner:
        assert not owner.walks.sketches.own().any()
    with fresh.with_changes(overlay__epsilon=8.0).device("rivers") as owner:
        drawn = owner.walks.sketches.own()
        assert drawn.any()
    with fresh.with_changes(overlay__epsilon=7.0).device("rivers") as owner:
        assert (owner.walks.sketches.own() == drawn).all()


def test_beyond_the_budget_a_sketch_is_told_under_its_own_topics_alone(fresh: Federation) -> None:
    files = fresh.with_changes(overlay__epsilon=8.0, privacy__budget=16.0)
    with files.device("rivers") as owner:
        headings, drawn = owner.walks.topics, owner.walks.sketches.own()
        learnt, later = (Topics((f"{name}.0", f"{name}.1"), headings.centroids[:2]) for name in ("one", "other"))
        assert owner.walks._sketches_by(learnt).own().any()
        assert not owner.walks._sketches_by(later).own().any()
    for document in (files.root / "data" / "rivers").iterdir():
        document.write_text("# Kettles\n\nA kettle boils water for tea.\n")
    with files.device("rivers") as owner:
        before = owner.walks.topics.counts(document_vectors(owner.store, headings.centroids.shape[1]))
        owner.build()
        assert (owner.walks.topics.counts(document_vectors(owner.store, headings.centroids.shape[1])) != before).any()
        assert (owner.walks.sketches.own() == drawn).all()


def test_a_lost_sketch_is_not_drawn_anew_for_free(fresh: Federation) -> None:
    with fresh.with_changes(overlay__epsilon=8.0, privacy__budget=8.0).device("rivers") as owner:
        assert owner.walks.sketches.own().any()
        (owner.walks.sketches.kept / SKETCHES).unlink()
        assert not owner.walks.sketches.own().any()


@pytest.mark.parametrize(
    ("strategy", "about", "falls_on"), [("topic-walk", "f7", "harbours"), ("flooding", "again", "noted")]
)
def test_an_answer_that_was_called_bad_is_not_given_again(
    fresh: Federation, strategy: str, about: str, falls_on: str
) -> None:
    """It may be the first one, or that which came of it."""
    files = fresh.with_changes(strategy=strategy, overlay__cache_similarity=0.95)
    run(files, FOREIGN)
    again, sent = run(files, replace(FOREIGN, id="again"))
    assert again.answers["again"].path == "cache"
    assert walk_messages(sent) == 0
    with files.device("bridges") as home:
        assert falls_on in home.walks.feedback(about, good=False)
        assert (home.walks.expertise.reputation("harbours") < 1) == (strategy == "topic-walk")
        with pytest.raises(NotFoundError):
            home.walks.feedback("nothing", good=True)
    walked, sent = run(files, replace(FOREIGN, id="walks"))
    assert walked.answers["walks"].path != "cache"
    assert walk_messages(sent) > 0


def test_walks_that_would_give_each_others_answers_are_not_compared(built: Federation) -> None:
    both = built.with_changes(baselines="random-walk", overlay__cache_similarity=0.95)
    with pytest.raises(SettingError, match="each other's answers"):
        run_systems(both.grid(), "1", both.settings)


@pytest.mark.parametrize(("strategy", "baselines"), [("topic-walk", "fedrag"), ("fedrag", "topic-walk")])
def test_systems_of_one_run_answer_each_by_itself(fresh: Federation, strategy: str, baselines: str) -> None:
    asked = {"id": FOREIGN.id, "question": FOREIGN.text, "answer": "2,144 metres", "home": FOREIGN.home}
    (fresh.root / "foreign.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    files = fresh.with_changes(
        strategy=strategy,
        baselines=baselines,
        overlay__cache_similarity=0.95,
        memory__delta=1.0,
        fedrag__without="memories, reading",  # so that others must help here, too
        graph__community_most=8,
        data__questions=str(fresh.root / "foreign.jsonl"),
        data__split="",
    )
    rows = read_answers(run_systems(files.grid(), "1", files.settings))
    assert {row.system for row in rows} == {strategy, baselines}
    assert "cache" not in {row.path for row in rows}
    with files.device(FOREIGN.home) as home:
        assert home.walks.notes.all("answer")


def test_what_is_learnt_meanwhile_stays_learnt(fresh: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device is open for a run, and for its people, whose feedback comes while it replies."""
    files, topics = fresh.with_changes(strategy="topic-walk"), (TopicWeight(0, 1.0),)
    with files.device("bridges") as running, files.device("bridges") as people:
        running.walks.walk(WalkRequest("topic", (), (Lesson("q", "harbours", topics, 0, "good", True),)))
        ranked = running.walks._ranked

        def slowly(kind: WalkKind, hop: Hop) -> tuple[RankedPeer, ...]:
            people.walks.feedback("q", good=False)
            return ranked(kind, hop)

        monkeypatch.setattr(running.walks, "_ranked", slowly)
        vector = running.models.encoder.encode(["What did the Duke of Pell eat?"])[0]
        before = running.walks.expertise.now
        running.walks.walk(WalkRequest("topic", (Hop("p", vector, topics, ("harbours",)),)))
        running.walks._recollect()
        assert running.walks.expertise.reputation("harbours") < 1.0
        assert running.walks.expertise.now == before + 1


def test_junk_is_refused_at_home_and_the_walk_goes_on(fresh: Federation) -> None:
    (fresh.root / "forked.tsv").write_text("bridges\tharbours\nbridges\tmuseums\nmuseums\trivers\n")
    files = fresh.with_changes(strategy="topic-walk", overlay__topology=str(fresh.root / "forked.tsv"))
    strategy, _ = run(files, FOREIGN, tamper=junk("harbours"))
    assert any(source.startswith("rivers/") for source in strategy.answers["f7"].sources)
    with files.device("bridges") as home:
        assert home.walks.expertise.reputation("harbours") < 1.0
        assert home.walks.expertise.reputation("rivers") == 1.0


def test_a_silent_peer_is_left_out_and_the_run_ends(built: Federation) -> None:
    files = built.with_changes(federation__round_timeout=1.0)
    strategy, _ = run(files, FOREIGN, replace(FOREIGN, id="two"), tamper=said("museums", lambda _: None))
    assert strategy.counts["walk-hits"] == 0
    assert "museums" in strategy.outcome().traffic.missing
    assert set(strategy.answers) == {"f7", "two"}


def test_nothing_is_learnt_of_evidence_that_home_never_took(fresh: Federation) -> None:
    files = fresh.with_changes(strategy="topic-walk", federation__round_timeout=1.0)

    def mute(reply: Message) -> Message | None:
        finished = reply.metadata.message_type == "query.finish"
        return None if finished and reply.metadata.src_node_id == NODES["bridges"] else reply

    for tamper, taken in ((mute, False), (None, True)):
        strategy, sent = run(files, FOREIGN, tamper=tamper)
        assert ("f7" in strategy.answers) == taken
        assert any(b"query.walk" in data and b"good" in data for data in sent) == taken


def test_who_was_never_asked_is_no_hit(fresh: Federation) -> None:
    strategy, _ = run(fresh, HOME, replace(HOME, id="f0", home="elsewhere"))
    assert (strategy.counts["walk-questions"], strategy.counts["walk-hits"]) == (2, 1)


def test_a_sketch_of_other_topics_costs_what_others_told_nothing(fresh: Federation) -> None:
    with fresh.with_changes(overlay__walk="sketch").device("bridges") as device:
        topics = len(device.walks.sketches.topics)
        told = (Told("people", (1,)), Told("harbours", tuple([3] * topics)))
        reply = device.walks.sketches.gossip(GossipRequest(("people", "harbours"), told))
        assert [one.neighbour for one in reply.told] == ["people", "harbours"]
        assert set(device.walks.sketches.notes.all("told")) == {"harbours"}


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, vector=np.array([0.0, 0.0, 1.0], dtype=np.float32)),
        lambda one: replace(one, topics=(TopicWeight(65_535, 1.0),)),
        lambda one: replace(one, topics=(TopicWeight(0, 0.0),)),
    ],
    ids=["vector", "topic", "weight"],
)
def test_a_home_s_bad_question_is_its_own(fresh: Federation, change: Callable[[OpenQuestion], OpenQuestion]) -> None:
    tamper = tampering(AnswerBatch, lambda batch: replace(batch, open=tuple(map(change, batch.open))), "museums")
    files = fresh.with_changes(strategy="topic-walk")
    bad = replace(FOREIGN, id="bad", home="museums")
    strategy, _ = run(files, FOREIGN, bad, tamper=tamper)
    assert any(source.startswith("rivers/") for source in strategy.answers["f7"].sources)
    assert set(strategy.outcome().traffic.missing) <= {"museums"}
    assert "bad" in strategy.answers
    alone, _ = run(files, bad, tamper=tamper)
    assert "bad" in alone.answers


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, replies=()),
        lambda r: replace(r, replies=r.replies * 2),
        lambda r: replace(r, replies=tuple(replace(one, question_id="other") for one in r.replies)),
        lambda r: replace(r, replies=tuple(replace(o, ranked=(RankedPeer("bridges", 9.0),) * 9) for o in r.replies)),
        lambda r: replace(r, replies=tuple(replace(o, units=(_unit("rivers"),)) for o in r.replies)),
        lambda r: replace(r, replies=tuple(replace(o, units=(_unit("harbours"),) * 64) for o in r.replies)),
        lambda r: replace(r, device="rivers"),
    ],
    ids=["nothing", "twice", "another question", "back and forth", "another's name", "too much", "another device"],
)
def test_what_a_peer_says_wrongly_ends_no_run(built: Federation, change: Callable[[WalkReply], WalkReply]) -> None:
    strategy, _ = run(built, FOREIGN, tamper=said("harbours", change))
    assert "f7" in strategy.answers
    assert strategy.counts["walk-queried"] <= len(DEVICES)
    assert not any(unit in str(strategy.answers["f7"].sources) for unit in ("rivers/x", "harbours/x"))


def _unit(origin: str) -> EvidenceUnit:
    return EvidenceUnit("x", "Mount Cairl is 3 metres high.", origin, 0.9, "")


def test_sketches_in_another_s_name_are_dropped(fresh: Federation) -> None:
    lie = tampering(GossipReply, lambda _: GossipReply("people", (Told("bridges", (255,) * 3),)), "people")
    files = fresh.with_changes(strategy="topic-walk", overlay__walk="sketch")
    strategy, _ = run(files, FOREIGN, tamper=lie)
    assert "people" in strategy.outcome().traffic.missing
    assert "f7" in strategy.answers


def test_homes_first_look_counts(built: Federation) -> None:
    def slow(batch: AnswerBatch) -> AnswerBatch:
        return replace(batch, open=tuple(replace(one, seconds=1_000.0) for one in batch.open))

    strategy, _ = run(built, FOREIGN, tamper=tampering(AnswerBatch, slow))
    assert 1_000.0 < strategy.answers[FOREIGN.id].cost.seconds < 1_900.0


def test_hop_replies_do_not_tell_how_near_a_peer_was(built: Federation) -> None:
    heard: list[HopReply] = []

    def listen(reply: WalkReply) -> WalkReply:
        heard.extend(reply.replies)
        return reply

    run(built, FOREIGN, tamper=tampering(WalkReply, listen))
    assert [one.relevance > 0 for one in heard] == [False, False, False, False, True]
