"""The wire: what travels arrives as it was, and bounds hold on both sides."""

import dataclasses
import math
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from flwr.common.serde import recorddict_to_proto
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedrag_flwr import wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.privacy.seals import SealingKey, seal
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerRequest,
    AskedQuestion,
    Bound,
    BuildRequest,
    Citation,
    Cost,
    Decision,
    Delta,
    EnclaveQuestion,
    EnclaveRequest,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    EvidenceUnit,
    HiddenRequest,
    HitsBatch,
    HitsRequest,
    HitSummary,
    ImportReport,
    OpenQuestion,
    Question,
    RetrieveRequest,
    ShareRequest,
    SubgraphSummary,
    SummaryOverview,
    SumTerm,
    TopicRequest,
    TopicUpdate,
    Want,
    because,
)
from tests.wire_samples import DIMENSION, RUN, SECRET, answer, array, delta, item, travel, unit

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (*wire.LIMITS, wire.Failure)}


ANY = st.characters(codec="utf-8")
PRINTED = st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" ")


def values_of(hint: Any, bound: Bound = Bound()) -> st.SearchStrategy[Any]:  # noqa: B008
    """Values of a travelling field within its bound, small enough for a test."""
    if get_origin(hint) is Annotated:
        plain, *extras = get_args(hint)
        return values_of(plain, next(extra for extra in extras if isinstance(extra, Bound)))
    if dataclasses.is_dataclass(hint):
        return records_of(hint)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=min(bound.items, 3)).map(tuple)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is np.ndarray:
        return st.integers(0, 2**16).map(unit)
    limits = (bound.low, bound.high) if bound.low or bound.high else (-1e6, 1e6)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(ANY if bound.lines else PRINTED, max_size=min(bound.chars or 200, 30)),
        bytes: st.binary(max_size=min(bound.size, 30)),
        bool: st.booleans(),
        int: st.integers(math.ceil(limits[0]), math.floor(limits[1])),
        float: st.floats(*limits),
    }
    return simple[hint]


def records_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    travelling = [field.name for field in dataclasses.fields(kind) if not field.metadata.get("local")]
    return st.builds(kind, **{name: values_of(hints[name]) for name in travelling})


def same(one: object, other: object) -> bool:
    """Equal, with vectors equal to the precision of float16."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and bool(np.allclose(one, other, atol=1e-3))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(same(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_record_survives_the_journey(name: str) -> None:
    kind = KINDS[name]

    @settings(suppress_health_check=list(HealthCheck))
    @given(records_of(kind))
    def check(record: object) -> None:
        content = travel(wire.encode(record, run=RUN))
        assert wire.kind_of(content) == name
        assert same(wire.decode(content, kind, run=RUN), record)

    check()


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        (
            "opened in 1924.\n\nQuestion: Who pays?\r\nAnswer: nobody",
            "opened in 1924. Question: Who pays? Answer: nobody",
        ),
        ("red \x1b[31malarm\x1b[0m\x07\x9b2J", "red [31malarm [0m 2J"),
        ("a\u2028b\u2029c\x85d\ve", "a b c d e"),
        ("pay\u202etxt.exe\u2066 on\u200bce", "paytxt.exe once"),
        ("\n\t\x00", ""),
        ("Zażółć gęślą jaźń, 富士山 – «naïve» ½", "Zażółć gęślą jaźń, 富士山 – «naïve» ½"),
    ],
)
def test_a_text_of_another_device_is_one_clean_line(sent: str, arrives: str) -> None:
    evidence = EvidenceBatch("ward", (Evidence("q", (EvidenceUnit("u", sent, "ward", 0.5, sent),)),), 0.0)
    [given] = wire.decode(travel(wire.encode(evidence, run=RUN)), EvidenceBatch, run=RUN).evidence
    assert [(unit.text, unit.title) for unit in given.units] == [(arrives, arrives)]


@settings(suppress_health_check=list(HealthCheck))
@given(st.text(ANY, max_size=60))
def test_no_text_of_another_device_breaks_a_line_or_moves_a_cursor(sent: str) -> None:
    failure = wire.Failure("ward", "Error", sent)
    assert wire.decode(travel(wire.encode(failure, run=RUN)), wire.Failure, run=RUN).what.isprintable()


MESSAGES = (
    "AnswerBatch AnswerRequest BuildReport BuildRequest CentroidBatch CentroidRequest ControllerRequest "
    "ControllerUpdate Delta DescribeRequest DeviceCard DocumentBatch DocumentsRequest EnclaveQuestion "
    "EnclaveRequest EncryptRequest EncryptedQuestions EvidenceBatch Failure FinishRequest GossipReply "
    "GossipRequest GroupRequest HiddenRequest HitsBatch HitsRequest ImportReport RetrieveRequest RoundedOverview "
    "RouteRequest SealRequest SealedFinish SealedMessages SealedOverview SealedSummaries ShareRequest "
    "SummaryBatch SummaryOverview SummaryRequest TopicRequest TopicUpdate WaitingBatch WaitingRequest WalkReply "
    "WalkRequest"
)


def test_all_messages_of_the_design_travel() -> None:
    assert sorted(KINDS) == MESSAGES.split()


def test_what_is_sealed_is_a_record_of_one_kind() -> None:
    asked = HiddenRequest(b"k" * 32, "graph", EvidenceRequest("q", unit(1), (), 4))
    data = wire.pack(asked, run=RUN)
    assert same(wire.unpack(data, HiddenRequest, run=RUN), asked)
    for wrong, kind, run in (
        (data, EnclaveQuestion, RUN),
        (data, HiddenRequest, "4712"),
        (data[:-5], HiddenRequest, RUN),
        (b"", HiddenRequest, RUN),
        (data + bytes(2**18), HiddenRequest, RUN),
        (b"\xff" * 100, HiddenRequest, RUN),
    ):
        with pytest.raises(WireError):
            wire.unpack(wrong, kind, run=run)


LONGEST = "\U0001f309"  # a character of four bytes
LARGEST: dict[str, tuple[object, dict[str, int]]] = {
    "a question": (EnclaveQuestion(Question(LONGEST * 200, LONGEST * 2_000, LONGEST * 200), bytes(32)), {}),
    "evidence": (
        EvidenceBatch(
            LONGEST * 200,
            (
                Evidence(
                    LONGEST * 200,
                    (EvidenceUnit(LONGEST * 200, LONGEST * 20_000, LONGEST * 200, -1.0, LONGEST * 2_000),) * 4,
                ),
            ),
            1e7,
        ),
        {"evidence": 1, "units": 4},
    ),
    "a request": (
        HiddenRequest(bytes(32), "hyperedges", EvidenceRequest(LONGEST * 200, unit(1), (LONGEST * 200,) * 64, 64)),
        {"dimension": DIMENSION},
    ),
}


@pytest.mark.parametrize("case", LARGEST)
def test_the_most_bytes_of_a_sealed_message_are_those_of_the_largest_record(case: str) -> None:
    record, within = LARGEST[case]
    sealed = seal(wire.pack(record, run=RUN), SealingKey.fresh().public, "context")
    most = wire.most_bytes(type(record), **within)
    assert 0.6 * most < len(sealed) <= most


def test_a_vector_is_left_out_only_where_it_may_be() -> None:
    hidden = OpenQuestion("q", np.zeros(0, dtype=np.float32), ())
    content = travel(wire.encode(AnswerBatch("a", (), (hidden,), 1.0), run=RUN))
    [found] = wire.decode(content, AnswerBatch, run=RUN).open
    assert found.vector.shape == (0,)
    request = RetrieveRequest((EvidenceRequest("q", hidden.vector, (), 4),))
    with pytest.raises(WireError, match="unit length"):
        wire.decode(travel(wire.encode(request, run=RUN)), RetrieveRequest, run=RUN)


@pytest.mark.parametrize("length", [0.91, 1.0, 1.09])
def test_of_a_vector_its_direction_alone_arrives(length: float) -> None:
    told = SummaryOverview((SubgraphSummary("s", "", length * unit(7, 384), "mallory"),))
    [found] = wire.decode(travel(wire.encode(told, run=RUN)), SummaryOverview, run=RUN).summaries
    assert found.vector.dtype == np.float32
    assert np.linalg.norm(found.vector) == pytest.approx(1.0, abs=1e-6)
    assert found.vector @ unit(7, 384) == pytest.approx(1.0, abs=1e-4)


def test_a_vector_that_is_handed_on_stays_as_it_is() -> None:
    once = wire.decode(wire.encode(delta(50, 384), run=RUN), Delta, run=RUN)
    twice = wire.decode(wire.encode(once, run=RUN), Delta, run=RUN)
    for one, other in zip(once.items, twice.items, strict=True):
        assert np.array_equal(one.embedding, other.embedding)


def test_bytes_are_bounded_at_the_sender() -> None:
    with pytest.raises(WireError, match="33 bytes, at most 32"):
        wire.encode(EnclaveRequest((), b"k" * 33), run=RUN)


def test_an_int_stands_for_a_float() -> None:
    batch = wire.decode(travel(wire.encode(AnswerBatch("a", (), (), 3), run=RUN)), AnswerBatch, run=RUN)
    assert isinstance(batch.peak_rss_mb, float)


def test_evidence_of_an_answer_stays_at_home() -> None:
    """So do the sentences that it cites, and the question of the memory that was recalled."""
    kept = EvidenceUnit("s1", f"The {SECRET} sails at dawn.", "ferries", 0.9, "Ferries")
    answer = Answer(
        "q1",
        "dawn",
        "cognizer",
        0.9,
        ("ferries/s1",),
        Cost(1.0),
        (kept,),
        decisions=(because("evidence", "read"),),
        citations=(Citation(kept.text, "ferries/s1"),),
        recalled=f"When does the {SECRET} sail?",
    )
    content = wire.encode(AnswerBatch("ferries", (answer,), (), 1.0), run=RUN)
    assert SECRET.encode() not in recorddict_to_proto(content).SerializeToString()
    left = dataclasses.replace(answer, evidence=(), citations=(), recalled="")
    assert wire.decode(content, AnswerBatch, run=RUN).answers[0] == left


@pytest.mark.parametrize("count", [200, 2_000])
def test_a_delta_costs_little_more_than_its_texts_and_vectors(count: int) -> None:
    sent = delta(count, 384)
    texts = sum(
        len(text.encode())
        for i in sent.items
        for text in (i.id, i.question, i.answer, i.kind, i.answer_type, i.origin, *i.hyperedges, *i.anchors)
    )
    raw = texts + count * 384 * 2
    content = wire.encode(sent, run=RUN)
    assert raw < wire.size_of(content) <= 1.6 * raw
    assert len(recorddict_to_proto(content).SerializeToString()) <= 1.6 * raw


VECTOR = unit(1)
COST = Cost()


def evidence(**changes: Any) -> EvidenceBatch:
    whole: dict[str, Any] = {"id": "u", "text": "t", "origin": "a", "score": 0.5, "title": "t"}
    return EvidenceBatch("a", (Evidence("q", (EvidenceUnit(**(whole | changes)),)),), 0.1)


def sharing(**changes: Any) -> Delta:
    return Delta("ferries", 0, 1, (dataclasses.replace(item(1), **changes),), ())


def asking(**changes: Any) -> RetrieveRequest:
    whole: dict[str, Any] = {"question_id": "q", "vector": VECTOR, "hyperedges": ("e",), "budget": 4}
    return RetrieveRequest((EvidenceRequest(**(whole | changes)),))


def opened(**changes: Any) -> AnswerBatch:
    whole: dict[str, Any] = {"question_id": "q", "vector": VECTOR, "wants": ()}
    return AnswerBatch("a", (), (OpenQuestion(**(whole | changes)),), 1.0)


def term(parts: tuple[bytes, ...], made: bytes = b"") -> TopicUpdate:
    return TopicUpdate("a", "", SumTerm(parts, made))


ONE_TOO_MANY: dict[str, tuple[object, object]] = {  # just within a bound, and just beyond it
    "decisions": (answer(decisions=(because("memory", "e"),) * 16), answer(decisions=(because("memory", "e"),) * 17)),
    "what was decided": (
        answer(decisions=(Decision("memory", "x" * 2_000),)),
        answer(decisions=(Decision("memory", "x" * 2_001),)),
    ),
    "measured": (
        answer(decisions=(because("memory", "e", 1e6, -1e6),)),
        answer(decisions=(because("memory", "e", 1.1e6),)),
    ),
    "name": (wire.Failure("x" * 200, "e", "w"), wire.Failure("x" * 201, "e", "w")),
    "line": (sharing(question="x" * 2_000), sharing(question="x" * 2_001)),
    "anchor": (sharing(anchors=("x" * 2_000,)), sharing(anchors=("x" * 2_001,))),
    "anchors": (sharing(anchors=("x",) * 64), sharing(anchors=("x",) * 65)),
    "hyperedges": (sharing(hyperedges=("x",) * 16), sharing(hyperedges=("x",) * 17)),
    "support": (sharing(support=("x",) * 16), sharing(support=("x",) * 17)),
    "refused": (ImportReport("a", 0, 0, ("x",) * 64, 0), ImportReport("a", 0, 0, ("x",) * 65, 0)),
    "count": (ShareRequest(2**40), ShareRequest(2**40 + 1)),
    "negative count": (ShareRequest(0), ShareRequest(-1)),
    "budget": (asking(budget=64), asking(budget=65)),
    "least budget": (asking(budget=1), asking(budget=0)),
    "edges asked about": (asking(hyperedges=("x",) * 64), asking(hyperedges=("x",) * 65)),
    "paragraph": (evidence(text="x" * 20_000), evidence(text="x" * 20_001)),
    "cosine": (evidence(score=1.0), evidence(score=1.1)),
    "negative cosine": (evidence(score=-1.0), evidence(score=-1.1)),
    "sources": (answer(sources=("x",) * 64), answer(sources=("x",) * 65)),
    "seconds": (answer(cost=Cost(1e7)), answer(cost=Cost(1.1e7))),
    "negative seconds": (answer(cost=Cost(0.0)), answer(cost=Cost(-0.1))),
    "wants": (opened(wants=(Want("q", "b", ()),) * 64), opened(wants=(Want("q", "b", ()),) * 65)),
    "questions": (
        AnswerRequest("memory", (Question("q", "t", "h"),) * 10_000),
        AnswerRequest("memory", (Question("q", "t", "h"),) * 10_001),
    ),
    "records for a question": (HitsRequest((), 64), HitsRequest((), 65)),
    "questions to all": (
        HitsRequest((AskedQuestion("q", "t"),) * 10_000),
        HitsRequest((AskedQuestion("q", "t"),) * 10_001),
    ),
    "hits": (
        HitsBatch(
            "a", "1", (HitSummary("q", (EvidenceUnit("u", "t", "a", 0.1),) * 64, ("PERSON=2",), ("t",)),), 0, 0.1
        ),
        HitsBatch("a", "1", (HitSummary("q", (EvidenceUnit("u", "t", "a", 0.1),) * 65),), 0, 0.1),
    ),
    "parts of a sum": (TopicRequest("move", total=(b"x",) * 64), TopicRequest("move", total=(b"x",) * 65)),
    "parts of a term": (term((b"x",) * 64), term((b"x",) * 65)),
    "a ciphertext": (term((b"x" * 96 * 2**10,)), term((b"x" * (96 * 2**10 + 1),))),
    "a tag": (term((), b"x" * 32), term((), b"x" * 33)),
    "evidence units": (
        EvidenceBatch("a", (Evidence("q", (EvidenceUnit("u", "t", "a", 0.1),) * 256),), 0.1),
        EvidenceBatch("a", (Evidence("q", (EvidenceUnit("u", "t", "a", 0.1),) * 257),), 0.1),
    ),
}


@pytest.mark.parametrize("case", ONE_TOO_MANY)
def test_bounds_hold_on_both_sides(case: str) -> None:
    within, beyond = ONE_TOO_MANY[case]
    assert same(wire.decode(wire.encode(within, run=RUN), type(within), run=RUN), within)
    with pytest.raises(WireError):
        wire.encode(beyond, run=RUN)
    with pytest.raises(WireError):  # from a sender who does not keep the bounds
        wire.decode(travel(loose(beyond)), type(beyond), run=RUN)


@pytest.mark.parametrize("case", ONE_TOO_MANY)
def test_the_layout_is_that_of_an_independent_writer(case: str) -> None:
    within, _ = ONE_TOO_MANY[case]
    assert same(wire.decode(travel(loose(within)), type(within), run=RUN), within)


def loose(record: object) -> RecordDict:
    """What a sender who keeps no bounds would send."""
    columns: dict[str, list[Any]] = {}
    arrays: dict[str, Array] = {}

    def put(prefix: str, values: list[Any], hint: Any) -> None:
        plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        if dataclasses.is_dataclass(plain):
            hints = get_type_hints(plain, include_extras=True)
            for field in dataclasses.fields(plain):
                if not field.metadata.get("local"):
                    name = f"{prefix}.{field.name}".lstrip(".")
                    put(name, [getattr(value, field.name) for value in values], hints[field.name])
        elif get_origin(plain) is tuple:
            columns[f"{prefix}#"] = [len(value) for value in values]
            put(prefix, [element for value in values for element in value], get_args(plain)[0])
        elif get_origin(plain) is np.ndarray:
            rows = np.array(values, dtype=np.float16).reshape(len(values), -1) if values else np.zeros((0, 0))
            arrays[prefix] = array(rows.shape, rows.astype(np.float16).tobytes())
        else:
            columns[prefix] = values

    put("", [record], type(record))
    return RecordDict(
        {
            "envelope": ConfigRecord({"schema": wire.SCHEMA, "kind": type(record).__name__, "run": RUN, "step": 0}),
            "columns": ConfigRecord({name: column for name, column in columns.items() if column}),
            "vectors": ArrayRecord(arrays),
        }
    )


UNFIT: dict[str, object] = {
    "word that is no choice": answer(path="telepathy"),
    "step that is no choice": answer(decisions=(Decision("telepathy", "e"),)),  # type: ignore[arg-type]
    "measure that is no number": answer(decisions=(because("memory", "e", math.nan),)),
    "mode that is no choice": AnswerRequest("guess", ()),  # type: ignore[arg-type]
    "number for a text": wire.Failure(7, "e", "w"),  # type: ignore[arg-type]
    "text for a number": ShareRequest("7"),  # type: ignore[arg-type]
    "truth for a number": ShareRequest(True),
    "number for a truth": BuildRequest(1),  # type: ignore[arg-type]
    "float for an integer": ShareRequest(1.5),  # type: ignore[arg-type]
    "not a number": answer(score=math.nan),
    "infinite number": answer(score=math.inf),
    "lone surrogate": answer(text="\ud800"),
    "NaN in a vector": sharing(embedding=np.full(DIMENSION, np.nan, np.float32)),
    "vector beyond float16": sharing(embedding=np.full(DIMENSION, 1e6, np.float32)),
    "matrix for a vector": sharing(embedding=np.eye(3, dtype=np.float32)),
    "vectors of two lengths": Delta("a", 0, 1, (item(1, 4), item(2, 5)), ()),
    "field that cannot travel": Cost,
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("case", UNFIT)
def test_the_sender_refuses(case: str) -> None:
    if case == "field that cannot travel":
        record: object = dataclasses.make_dataclass("Odd", [("thing", object)])(object())
    else:
        record = UNFIT[case]
    with pytest.raises(WireError):
        wire.encode(record, run=RUN)


def test_a_message_over_its_limit_is_not_sent() -> None:
    huge = AnswerRequest("memory", tuple(Question(f"q{i}", "x" * 1_900, "home") for i in range(9_000)))
    with pytest.raises(WireError, match="smaller parts"):
        wire.encode(huge, run=RUN)
