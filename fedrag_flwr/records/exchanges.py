"""What single strategies exchange beyond that: summaries, documents, and what trains a controller or topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fedrag_flwr.records.answers import EvidenceUnit
from fedrag_flwr.records.base import (
    Body,
    Bound,
    ControllerStage,
    Cosine,
    Count,
    Exchange,
    Key,
    Line,
    Name,
    Seconds,
    SumParts,
    TopicStage,
    Vector,
    Weight,
)
from fedrag_flwr.records.confidential import NO_TERM, SumTerm


@dataclass(frozen=True, slots=True)
class SubgraphSummary:
    """What a part of a device's knowledge graph is about (DGRAG 3.2); `text` is empty where the vector is enough.

    The id is opaque and stands for the content: what is about something else has another.
    """

    id: Name
    text: Line
    vector: Vector  # (dimension,), unit norm
    origin: Name


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """Asks a device for the summaries beyond those that the asking side knows by id, of one generation.

    `exchange` is that of the run, which decides who gets to see their vectors.
    """

    generation: Name
    known: Annotated[tuple[Name, ...], Bound(items=1_000_000)]
    exchange: Exchange = "plain"


@dataclass(frozen=True, slots=True)
class SummaryBatch:
    """Summaries that are new, ids that are no longer true, and whether there are more to ask for.

    Where the generation is another than was asked for, everything that the asking side knows of the device is void.
    """

    device: Name
    generation: Name
    version: Count
    summaries: Annotated[tuple[SubgraphSummary, ...], Bound(items=100_000)]
    retracted: Annotated[tuple[Name, ...], Bound(items=1_000_000)]
    more: bool = False


@dataclass(frozen=True, slots=True)
class SummaryOverview:
    """The vectors of all devices' summaries, without texts, by which a device sees whether others know more."""

    summaries: Annotated[tuple[SubgraphSummary, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class DocumentsRequest:
    """Asks a device for its whole documents; only the centralised reference does, and only who allows it complies."""


@dataclass(frozen=True, slots=True)
class SharedDocument:
    """A whole document under an opaque id; its text in parts, one after the other."""

    id: Name
    title: Line
    parts: Annotated[tuple[Body, ...], Bound(items=10_000)]

    @property
    def text(self) -> str:
        """The parts together."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """A device's whole documents."""

    device: Name
    documents: Annotated[tuple[SharedDocument, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class CentroidRequest:
    """Asks a device for the centroids of what it holds."""

    most: Annotated[int, Bound(low=1, high=1_024)]


@dataclass(frozen=True, slots=True)
class Centroid:
    """The direction of a group of passages, about how many they are, and about their mean cosine to it."""

    vector: Vector
    passages: Count
    closeness: Cosine


@dataclass(frozen=True, slots=True)
class CentroidBatch:
    """A device's centroids, through the export filter."""

    device: Name
    centroids: Annotated[tuple[Centroid, ...], Bound(items=1_024)]


@dataclass(frozen=True, slots=True)
class ControllerRequest:
    """One step of training a controller together.

    `moments` asks for the moments of the features, `fit` for weights after some epochs over own questions, and `keep`
    hands out the weights that came of it. `weights` end with the bias; `features` names the features.
    """

    stage: ControllerStage
    features: Name
    round: Count = 0
    devices: Count = 0  # that train
    epochs: Annotated[int, Bound(low=1, high=10_000)] = 1
    mean: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()
    deviation: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()
    weights: Annotated[tuple[Weight, ...], Bound(items=1_024)] = ()
    encrypted: bool = False  # mean, deviation and weights are in the sums below then, and the update is encrypted
    moments_sum: SumParts = ()
    weights_sum: SumParts = ()
    server: Key = b""  # by which terms of sums are tagged

    @property
    def step(self) -> str:
        """Names the step, so that a term belongs to it alone."""
        return f"train.controller {self.stage} {self.round}"


@dataclass(frozen=True, slots=True)
class ControllerUpdate:
    """What a device gives to a controller: numbers, and how many examples they rest on; 0 where it has none.

    A term of an encrypted sum holds the values times the number of examples, and that number; `examples` is 1 then.
    """

    device: Name
    examples: Annotated[int, Bound(low=0, high=1_000_000)]
    values: Annotated[tuple[Weight, ...], Bound(items=1_024)]
    term: SumTerm = NO_TERM


@dataclass(frozen=True, slots=True)
class TopicRequest:
    """One step of learning topics together.

    `known` asks by which topics a device files. `sketch` asks for how many documents it has on each public heading.
    Then round by round `count` asks for the number of its documents by topic, and `move` for the sums of their vectors,
    by which topics move before the next step. These come as terms of encrypted sums, and each step brings the `total`
    of the one before. `keep` moves topics for the last time, and files by them from then on.
    """

    stage: TopicStage
    number: Count = 0
    devices: Count = 0  # that give terms
    total: SumParts = ()
    server: Key = b""  # by which terms are tagged

    @property
    def step(self) -> str:
        """Names the step, so that a term belongs to it alone."""
        return f"train.topics {self.stage} {self.number}"


@dataclass(frozen=True, slots=True)
class TopicUpdate:
    """A device's term; and a name that stands for the topics by which it files, the same wherever they are the same."""

    device: Name
    topics: Name
    term: SumTerm = NO_TERM


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as it is put to all devices: without who asks it."""

    id: Name
    text: Line


@dataclass(frozen=True, slots=True)
class HitsRequest:
    """Asks a device what its sources hold on questions; without any, only which version they are of.

    `records` is the most records for each question, `related` the most titles of what may be asked next.
    """

    questions: Annotated[tuple[AskedQuestion, ...], Bound(items=10_000)]
    records: Annotated[int, Bound(low=1, high=64)] = 1
    related: Annotated[int, Bound(low=0, high=64)] = 0


@dataclass(frozen=True, slots=True)
class HitSummary:
    """What a device's sources hold on one question, de-identified, and what was removed: types and counts, no text."""

    question_id: Name
    units: Annotated[tuple[EvidenceUnit, ...], Bound(items=64)]
    removed: Annotated[tuple[Name, ...], Bound(items=64)] = ()  # "TYPE=count"
    related: Annotated[tuple[Line, ...], Bound(items=64)] = ()


@dataclass(frozen=True, slots=True)
class HitsBatch:
    """A device's summaries for one round; `version` changes with its records and with what its filter lets pass."""

    device: Name
    version: Name
    summaries: Annotated[tuple[HitSummary, ...], Bound(items=10_000)]
    reused: Count  # summaries that its cache had
    seconds: Seconds
