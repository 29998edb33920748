"""The words that all rooms share: their names are pinned, they are frozen, and what travels is bounded."""

import dataclasses
import pickle
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr import errors, records, wire
from fedrag_flwr.records import MOST_DECISIONS, MOST_LINE, Answer, Bound, Cost, Fact, Passage, Sentence, because

PUBLIC = (
    "Answer AnswerBatch AnswerRequest AskedQuestion Bound BuildReport BuildRequest Centroid CentroidBatch "
    "CentroidRequest ChosenPassage ChosenPath Citation ControllerRequest "
    "ControllerUpdate Cost Cursor Decision Delta DescribeRequest DeviceCard Document DocumentBatch DocumentState "
    "DocumentsRequest EnclaveQuestion EnclaveRequest EncryptRequest EncryptedQuestion EncryptedQuestions "
    "EncryptedScores Evidence EvidenceBatch "
    "EvidenceRequest EvidenceTuple EvidenceUnit Explained Fact FinishRequest GossipReply GossipRequest GroupRequest "
    "HiddenRequest HitSummary HitsBatch HitsRequest Hop HopReply Hyperedge ImportReport Lesson Match MemoryItem "
    "OpenQuestion OwnedRows Passage PathStep PeerKey Pending Question RankedPeer RetrieveRequest RoundedOverview "
    "RouteRequest SealRequest SealedFinish SealedMessage SealedMessages SealedOverview SealedSummaries Sentence "
    "ShareRequest SharedDocument SubgraphSummary SumTerm SummaryBatch SummaryOverview SummaryRequest Told TopicRequest "
    "TopicUpdate TopicWeight WaitingBatch WaitingRequest WalkReply WalkRequest Want"
)
AT_HOME = {
    *("ChosenPassage", "ChosenPath", "Citation", "PathStep", "Document", "EvidenceTuple", "Fact", "Sentence"),
    *("Passage", "Hyperedge", "Match", "Bound"),
}


def dataclasses_of_records() -> dict[str, type[Any]]:
    return {
        name: kind
        for name, kind in vars(records).items()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__.startswith(records.__name__)
    }


def test_public_names() -> None:
    assert " ".join(sorted(dataclasses_of_records())) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC.split())
def test_records_are_frozen_and_slotted(name: str) -> None:
    kind = dataclasses_of_records()[name]
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)


def travelling_fields() -> list[tuple[str, Any]]:
    """Every field of every record that is reached from a travelling one."""
    found: dict[str, Any] = {}
    waiting: list[type[Any]] = [*wire.LIMITS, wire.Failure]
    while waiting:
        kind = waiting.pop()
        hints = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            name = f"{kind.__name__}.{field.name}"
            if field.metadata.get("local") or name in found:
                continue
            found[name] = hints[field.name]
            plain = get_args(found[name])[0] if get_origin(found[name]) is Annotated else found[name]
            inner = get_args(plain)[0] if get_origin(plain) is tuple else plain
            if dataclasses.is_dataclass(inner) and isinstance(inner, type):
                waiting.append(inner)
    return sorted(found.items())


ALWAYS_EMPTY = {"BuildReport.skipped"}  # on its way: names of files, which stay on the device


def test_nothing_that_stays_at_home_travels() -> None:
    assert {name.partition(".")[0] for name, _ in travelling_fields()} & AT_HOME == set()


@pytest.mark.parametrize(("name", "hint"), travelling_fields())
def test_every_travelling_text_and_sequence_is_bounded(name: str, hint: Any) -> None:
    if name in ALWAYS_EMPTY:
        return
    plain, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    bound = next((extra for extra in extras if isinstance(extra, Bound)), Bound())
    if plain is str:
        assert 0 < bound.chars <= 20_000
    elif get_origin(plain) is tuple:
        assert 0 < bound.items <= 1_000_000
    elif plain is int:
        assert bound.high > 0
    elif plain is bytes:
        assert 0 < bound.size <= 2**26
    else:
        assert plain in (bool, float) or dataclasses.is_dataclass(plain) or get_origin(plain) is not None


costs = st.builds(
    Cost, st.integers(0, 1000).map(float), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.booleans()
)


@given(costs, costs, costs)
def test_costs_add_up_in_any_order(one: Cost, two: Cost, three: Cost) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Cost() == one
    assert (one + two).replayed == (one.replayed or two.replayed)


def test_a_passage_has_the_facts_of_its_sentences_in_reading_order() -> None:
    facts = [Fact(name, "NAME", name) for name in "abc"]
    sentences = (Sentence("s1", "p", "", (facts[1],)), Sentence("s2", "p", ""), Sentence("s3", "p", "", tuple(facts)))
    assert [fact.text for fact in Passage("p", "d", "t", "", sentences).facts] == ["b", "a", "b", "c"]


ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FedragError)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_errors_say_what_where_and_the_fix(kind: type[errors.FedragError]) -> None:
    error = kind("it is torn", where="store.sqlite", fix="build it again")
    assert str(error) == "store.sqlite: it is torn (build it again)"
    assert str(kind("it is torn")) == "it is torn"
    again = pickle.loads(pickle.dumps(error))  # between processes of one machine
    assert (type(again), again.what, again.where, again.fix) == (kind, error.what, error.where, error.fix)


def test_vectors_are_single_precision() -> None:
    assert get_args(get_args(records.Vector)[1])[0] is np.float32


def test_decisions_are_told_in_one_line_and_bounded() -> None:
    first = Answer("q", "", "abstained", 0.0, decisions=(because("gate", "mistrusted"), because("evidence", "")))
    later = first.decided(because("confidence", "too little", 0.2, 0.5)).after(because("routing", "asked nobody"))
    assert [one.step for one in later.decisions] == ["routing", "gate", "evidence", "confidence"]
    assert later.explanation == "asked nobody; mistrusted; too little"
    long = because("evidence", "x" * 3_000)
    assert len(first.decided(*(long,) * 20).decisions) == len(first.after(*(long,) * 20).decisions) == MOST_DECISIONS
    assert len(first.decided(long, long).explanation) == len(long.said) == MOST_LINE
