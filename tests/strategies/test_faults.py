"""Devices that fail, lag, lie or send nonsense: the run goes on, and says who was missing and why."""

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.errors import FederationError, WireError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    BuildReport,
    Delta,
    DescribeRequest,
    DeviceCard,
    Evidence,
    EvidenceBatch,
    EvidenceUnit,
    ImportReport,
    MemoryItem,
    Question,
    because,
)
from fedrag_flwr.wire_columns import RAW
from strategies import MemoryFusion, ServerTools, make_strategy
from strategies.outcome import RunOutcome
from strategies.transport import Request, Transport
from tests.strategies.federation import DEVICES, NODES, Federation, FirstRun, Tamper, of

RUN = "1"
CANARY = "Heliotrope-77"
ASKED = ("f1", "f2", "f3", "f4", "f5")
OPEN = Question("open", "Which vessel did the admiral from Brackwater steer over the sea?", "harbours")
ANSWERS = {"f1": "Odile Varro", "f2": "1702", "f3": "640", "f4": "Lindmoor", "f5": "Mount Cairl"}


@pytest.fixture(scope="module")
def built(first: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    copied = first.files.copy_to(tmp_path_factory.mktemp("faults"))
    return copied.with_changes(baselines="", federation__round_timeout=120.0)


def ask(files: Federation, grid: LocalGrid, *more: Question) -> RunOutcome:
    """Run memory-fusion with one question a device, which memory answers, and more."""
    questions = [question for question in files.questions if question.id in ASKED]
    return MemoryFusion(files.settings, [*questions, *more], ServerTools(files.settings)).run(grid, RUN)


def content(make: Callable[[RecordDict], RecordDict]) -> Tamper:
    def change(reply: Message) -> Message:
        reply.content = make(reply.content)
        return reply

    return change


def told(said: object, run: str = RUN) -> Tamper:
    return content(lambda _: wire.encode(said, run=run))


def record(kind: type[Any], spoil: Callable[[Any], Any]) -> Tamper:
    """Replace what a device says by something else that is well formed."""
    return content(lambda sent: wire.encode(spoil(wire.decode(sent, kind, run=RUN)), run=RUN))


def envelope(**values: Any) -> Tamper:
    def make(sent: RecordDict) -> RecordDict:
        first = sent["envelope"]
        assert isinstance(first, ConfigRecord)
        first.update(values)
        return sent

    return content(make)


def memory(origin: str, **changes: Any) -> MemoryItem:
    vector = np.zeros(384, np.float32)
    vector[0] = 1.0
    whole = MemoryItem("0" * 32, f"Where is {CANARY}?", "Nowhere", "single", "LOC", (), (), vector, origin)
    return replace(whole, **changes)


def with_vectors(values: np.ndarray[Any, Any]) -> Tamper:
    """A delta of one memory whose vector is this."""

    def make(_: RecordDict) -> RecordDict:
        sent = wire.encode(Delta("rivers", 0, 9, (memory("rivers"),), ()), run=RUN)
        raw = values.astype(np.float16)
        packed = Array(dtype="float16", shape=raw.shape, stype=RAW, data=raw.tobytes())
        sent["vectors"] = ArrayRecord({"items.embedding": packed})
        return sent

    return content(make)


def oversized(sent: RecordDict) -> RecordDict:
    sent["columns"] = ConfigRecord({"fill": [CANARY * 100] * 13_000})
    return sent


GARBAGE: dict[str, Tamper] = {
    "nothing": content(lambda _: RecordDict()),
    "bytes": content(lambda _: RecordDict({"x": ConfigRecord({"x": CANARY.encode() * 9})})),
    "three empty parts": content(
        lambda _: RecordDict({"envelope": ConfigRecord(), "columns": ConfigRecord(), "vectors": ArrayRecord({})})
    ),
    "another version": envelope(schema=99),
    "another run": envelope(run=CANARY),
    "another kind": envelope(kind=CANARY),
    "a failure that is none": envelope(kind="Failure"),
    "a card": told(DeviceCard("rivers", (), "e", 384, "g", 1, 1, 1, "", 0)),
    "oversized": content(oversized),
}  # fmt: skip


@pytest.mark.parametrize(("case", "phase"), [*((case, "query.answer") for case in GARBAGE), ("bytes", "train.build")])
def test_garbage_costs_the_run_one_device(case: str, phase: str, built: Federation) -> None:
    outcome = ask(built, built.grid(of("rivers", phase, GARBAGE[case])))
    _only_missing(outcome, "rivers", phase)


def _only_missing(outcome: RunOutcome, device: str, reason: str, *, lost: str = "f5") -> None:
    """One device is missing for a reason, all others answered rightly, and nothing was quoted."""
    assert list(outcome.traffic.missing) == [device]
    assert reason in outcome.traffic.missing[device]
    assert CANARY not in str(outcome.traffic.missing)
    expected = {q: text for q, text in ANSWERS.items() if q != lost}
    assert {answer.question_id: answer.text for answer in outcome.answers} == expected


SHARED: dict[str, tuple[Tamper, str]] = {
    "NaN": (with_vectors(np.full((1, 384), math.nan)), "not finite"),
    "infinity": (with_vectors(np.full((1, 384), math.inf)), "not finite"),
    "vectors too long": (with_vectors(np.ones((1, 384))), "unit length"),
    "too many vectors": (with_vectors(np.eye(2, 384)), "shape"),
    "another origin": (record(Delta, lambda sent: replace(sent, origin="people")), "another device's name"),
    "the shared memory's name": (record(Delta, lambda sent: replace(sent, origin="fusion")), "another device's name"),
    "another version": (envelope(schema=wire.SCHEMA + 1), "protocol version"),
    "an answer instead": (told(AnswerBatch("rivers", (), (), 1.0)), "another kind"),
}


@pytest.mark.parametrize("case", SHARED)
def test_a_spoilt_delta_is_refused_and_the_device_still_answers(case: str, built: Federation) -> None:
    change, reason = SHARED[case]
    tools = ServerTools(built.settings)
    before = {item.id for item in tools.shared_memory.items()}
    outcome = ask(built, built.grid(of("rivers", "query.share", change)))
    _only_missing(outcome, "rivers", reason, lost="")
    assert {item.id for item in tools.shared_memory.items()} == before


def test_memories_in_anothers_name_are_not_taken(
    built: Federation, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    stolen = (memory("people"), memory("fusion", id="1" * 32), memory("rivers", id="2" * 32, embedding=np.eye(1, 7)[0]))
    tools = ServerTools(built.settings)
    before = {item.id for item in tools.shared_memory.items()}
    with pytest.raises(WireError):
        wire.encode(Delta("rivers", 0, 1, stolen, ()), run=RUN)  # vectors of two lengths do not even travel
    change = record(Delta, lambda sent: replace(sent, items=stolen[:2]))
    outcome = ask(built, built.grid(of("rivers", "query.share", change)))
    assert {answer.question_id: answer.text for answer in outcome.answers} == ANSWERS
    assert {item.id for item in tools.shared_memory.items()} == before
    assert "the server refused memories of rivers: wrong-origin=2" in caplog.messages


def answering(question_id: str) -> Tamper:
    """Answer one more question, in words that nobody may quote."""
    more = Answer(question_id, CANARY, "memorizer", 1.0, decisions=(because("memory", CANARY),))
    return record(AnswerBatch, lambda sent: replace(sent, answers=(*sent.answers, more)))


SAID: list[tuple[str, Tamper, str, str]] = [  # phase, what is changed, reason, question lost
    ("query.answer", record(AnswerBatch, lambda sent: replace(sent, device="people")), "another device's", "f5"),
    ("query.answer", answering("f4"), "not asked", ""),
    ("query.answer", answering("f99"), "not asked", ""),
    ("train.build", record(BuildReport, lambda sent: replace(sent, device="people")), "another device's name", "f5"),
    (
        "query.import",
        told(wire.Failure("rivers", "StoreFullError", "the disk is full")),
        "StoreFullError",
        "",
    ),
    ("query.import", told(ImportReport("rivers", 0, 0, (), 2**40), run="2"), "another run", ""),
]


@pytest.mark.parametrize(("phase", "change", "reason", "lost"), SAID)
def test_a_device_speaks_for_itself_alone_and_is_named_for_what_it_says_wrongly(
    phase: str, change: Tamper, reason: str, lost: str, built: Federation
) -> None:
    outcome = ask(built, built.grid(of("rivers", phase, change)))
    _only_missing(outcome, "rivers", reason, lost=lost)
    assert ("rivers" in {report.device for report in outcome.builds}) == (phase != "train.build")


def batch(*units: EvidenceUnit, question: str = "open", device: str = "people") -> Tamper:
    return told(EvidenceBatch(device, (Evidence(question, units),), 0.1))


def unit(origin: str, number: int = 0) -> EvidenceUnit:
    return EvidenceUnit(f"{number:032x}", f"The admiral of {CANARY} steered the frigate Windhover.", origin, 1.0)


EVIDENCE: dict[str, tuple[Tamper, str]] = {
    "in another's name": (batch(unit("rivers")), "in another's name"),
    "in home's name": (batch(unit("harbours")), "in another's name"),
    "for another question": (batch(unit("people"), question="f1"), "not asked for"),
    "more than asked for": (batch(*(unit("people", number) for number in range(9))), "not asked for"),
    "too near to be true": (content(lambda _: _boasting()), "outside [-1.001, 1.001]"),
}


def _boasting() -> RecordDict:
    sent = wire.encode(EvidenceBatch("people", (Evidence("open", (unit("people"),)),), 0.1), run=RUN)
    columns = sent["columns"]
    assert isinstance(columns, ConfigRecord)
    columns["evidence.units.score"] = [1e9]
    return sent


@pytest.mark.parametrize("case", EVIDENCE)
def test_bad_evidence_is_not_handed_on(case: str, built: Federation) -> None:
    change, reason = EVIDENCE[case]
    files = built.with_changes(inference__abstain_below=1.0)  # whatever comes, the model need not be asked
    grid = files.grid(of("people", "query.retrieve", change))
    outcome = ask(files, grid, OPEN)
    assert reason in outcome.traffic.missing["people"]
    assert {answer.question_id for answer in outcome.answers} == {*ASKED, "open"}
    closed = next(answer for answer in outcome.answers if answer.question_id == "open")
    assert not any(source.endswith(unit("people").id) for source in closed.sources)
    finish = [data for data in grid.sent if b"query.finish" in data]
    assert finish
    assert not any(CANARY.encode() in data for data in finish)


def test_evidence_beyond_a_message_names_its_owner(built: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    def filled(batch: EvidenceBatch) -> EvidenceBatch:
        parts = [replace(one, units=tuple(replace(u, text="x" * 20_000) for u in one.units)) for one in batch.evidence]
        return replace(batch, evidence=tuple(parts))

    monkeypatch.setattr("strategies.help._ROOM", 15_000)
    files = built.with_changes(inference__abstain_below=1.0)
    outcome = ask(files, files.grid(of("people", "query.retrieve", record(EvidenceBatch, filled))), OPEN)
    assert "more evidence than goes into one message" in outcome.traffic.missing["people"]
    assert {answer.question_id for answer in outcome.answers} == {*ASKED, "open"}


def test_honest_evidence_arrives(built: Federation) -> None:
    grid = built.grid()
    outcome = ask(built, grid, OPEN)
    assert outcome.traffic.missing == {}
    assert {"query.retrieve", "query.finish"} <= outcome.traffic.by_phase.keys()
    assert all(phase.seconds > 0 for phase in outcome.traffic.by_phase.values())
    closed = next(answer for answer in outcome.answers if answer.question_id == "open")
    [help_given] = [one.said for one in closed.decisions if one.step == "help"]
    assert "people" in help_given


class Misbehaving(LocalGrid):
    """A grid on which one node's phase goes wrong in a way that a changed reply cannot show."""

    def __init__(self, files: Federation, device: str, phase: str, how: str) -> None:
        super().__init__(app, files.nodes, files.config)
        self.target = (NODES[device], phase)
        self.how = how

    def _handle(self, message: Message) -> Message:
        if self.how == "raises" and self._hit(message.metadata.dst_node_id, message):
            return Message(Error(code=2, reason=f"KeyError: {CANARY}"), reply_to=message)
        reply = super()._handle(message)
        if self.how in ("posing", "dead") and self._hit(message.metadata.dst_node_id, message):
            if self.how == "dead":  # Flower's error reply for a dead node names another source
                reply = Message(Error(code=5, reason="node unavailable"), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = NODES["people"] if self.how == "posing" else 1
        return reply

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        replies = super().pull_messages(message_ids)
        if self.how == "twice":
            seconds = [reply for reply in replies if self._hit(reply.metadata.src_node_id, reply)]
            for second in seconds:
                spoilt = self._travel(second)
                spoilt.content = wire.encode(AnswerBatch("rivers", (), (), 1.0), run=RUN)
                replies.append(spoilt)
        return replies

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        ids = []
        for message in messages:
            refused = self.how == "refused" and self._hit(message.metadata.dst_node_id, message)
            ids += [""] if refused else super().push_messages([message])
        return ids

    def _hit(self, node_id: int, message: Message) -> bool:
        return (node_id, message.metadata.message_type) == self.target


GRIDS: list[tuple[str, str, str, str]] = [  # how, phase, reason, question lost
    ("raises", "query.answer", "query.answer failed with code 2", "f5"),
    ("raises", "train.build", "train.build failed with code 2", "f5"),
    ("dead", "query.answer", "query.answer failed with code 5", "f5"),
    ("refused", "query.answer", "was not accepted", "f5"),
]


@pytest.mark.parametrize(("how", "phase", "reason", "lost"), GRIDS)
def test_a_device_that_fails_is_named(how: str, phase: str, reason: str, lost: str, built: Federation) -> None:
    _only_missing(ask(built, Misbehaving(built, "rivers", phase, how)), "rivers", reason, lost=lost)


@pytest.mark.parametrize("how", ["twice", "posing"])
def test_of_two_answers_the_first_counts_and_a_reply_belongs_to_who_was_asked(how: str, built: Federation) -> None:
    outcome = ask(built, Misbehaving(built, "rivers", "query.answer", how))
    assert outcome.traffic.missing == {}
    assert {answer.question_id: answer.text for answer in outcome.answers} == ANSWERS


def test_a_device_that_never_describes_itself_is_named_by_its_node(built: Federation) -> None:
    outcome = ask(built, Misbehaving(built, "rivers", "query.describe", "raises"))
    _only_missing(outcome, f"node {NODES['rivers']}", "query.describe failed")


def test_a_device_that_never_answers_is_waited_for_so_long_and_named(built: Federation) -> None:
    """Only describing is asked of it: with a short time-out, a slow machine must not lose another device."""
    transport = Transport(built.grid(of("rivers", "query.describe", lambda _: None)), RUN, timeout=2.0)
    outgoing = [Request(node_id, DescribeRequest()) for node_id in NODES.values()]
    cards = transport.exchange(outgoing, "query.describe", DeviceCard)
    assert {card.name for card in cards.values()} == set(DEVICES) - {"rivers"}
    assert transport.traffic.missing == {f"node {NODES['rivers']}": "no reply to query.describe within 2 s"}


def test_a_spare_node_takes_no_part_and_does_not_count(built: Federation) -> None:
    files = built.with_changes(federation__quorum=1.0)
    grid = files.grid(nodes=[*files.nodes, {"partition-id": 5}, {"partition-id": 6}])
    outcome = ask(files, grid)
    assert outcome.traffic.missing == {}
    assert {card.name for card in outcome.cards} == set(DEVICES)
    assert {answer.question_id: answer.text for answer in outcome.answers} == ANSWERS


def test_devices_of_one_name_are_told_and_neither_speaks_for_it(built: Federation) -> None:
    outcome = ask(built, built.grid(nodes=[*built.nodes, {"partition-id": 4}]))
    assert set(outcome.traffic.missing) == {"node 104", "node 105"}
    assert all("2 devices call themselves rivers" in reason for reason in outcome.traffic.missing.values())
    assert "f5" not in {answer.question_id for answer in outcome.answers}
    assert len(outcome.answers) == 4


@pytest.mark.parametrize("name", ["../../rivers", "fusion", "shared-memory-7", "*", "", "a" * 65])
def test_a_device_of_no_possible_name_takes_no_part(name: str, built: Federation) -> None:
    settings = built.with_changes(strategy="no-rag").settings
    change = record(DeviceCard, lambda sent: replace(sent, name=name))
    strategy = make_strategy("no-rag", settings, [], ServerTools(settings))
    outcome = strategy.run(built.grid(of("rivers", "query.describe", change)), RUN)
    assert outcome.traffic.missing == {f"node {NODES['rivers']}": "it calls itself what no device may be called"}
    assert {card.name for card in outcome.cards} == set(DEVICES) - {"rivers"}


def test_devices_that_never_connected_are_named(built: Federation) -> None:
    files = built.with_changes(federation__devices=6, federation__round_timeout=2.0)
    strategy = MemoryFusion(files.settings, [], ServerTools(files.settings))
    outcome = strategy.run(files.grid(), RUN)
    assert outcome.traffic.missing["device 6 of 6"] == "it never connected"


def test_without_a_quorum_the_run_ends_and_says_why(built: Federation) -> None:
    files = built.with_changes(federation__quorum=0.9)
    grid = Misbehaving(files, "rivers", "train.build", "raises")
    with pytest.raises(FederationError, match=r"4 devices took part, 5 are needed") as ended:
        ask(files, grid)
    assert "rivers: train.build failed with code 2" in str(ended.value)
    assert ended.value.where == "build"
    assert "quorum" in ended.value.fix
    assert CANARY not in str(ended.value)


def test_even_without_a_quorum_nobody_is_too_few(built: Federation) -> None:
    files = built.with_changes(federation__quorum=0.0)
    grid = files.grid(content(lambda _: RecordDict()))
    with pytest.raises(FederationError, match="0 devices took part, 1 are needed") as ended:
        ask(files, grid)
    assert all(f"node {node_id}" in str(ended.value) for node_id in NODES.values())
