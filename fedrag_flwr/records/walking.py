"""What peers of an overlay exchange: hops of questions, what came of them, and sketches of what peers reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fedrag_flwr.records.answers import EvidenceUnit
from fedrag_flwr.records.base import Bound, Cosine, Name, Seconds, Vector, Weight

WalkKind = Literal["topic", "sketch", "random", "flooding"]
Outcome = Literal["good", "junk", "miss"]  # an answer that home took, one that it refused or nobody gave, none yet
Topic = Annotated[int, Bound(low=0, high=65_535)]
Level = Annotated[int, Bound(low=0, high=255)]
Portion = Annotated[float, Bound(low=0.0, high=1.0)]


@dataclass(frozen=True, slots=True)
class TopicWeight:
    """One of a question's topics and its weight; those of a question sum to 1."""

    topic: Topic
    weight: Portion


Topics = Annotated[tuple[TopicWeight, ...], Bound(items=64)]


@dataclass(frozen=True, slots=True)
class Hop:
    """A question at a peer: does it know, and if not, which of the candidates are to be asked next?"""

    question_id: Name
    vector: Vector  # (dimension,), unit norm
    topics: Topics
    candidates: Annotated[tuple[Name, ...], Bound(items=100_000)]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of passing a question on to a neighbour, so many hops before the peer that answered."""

    question_id: Name
    neighbour: Name
    topics: Topics
    distance: Annotated[int, Bound(low=0, high=1_000)]
    outcome: Outcome
    home: bool  # whether the question was asked at the peer that learns


@dataclass(frozen=True, slots=True)
class WalkRequest:
    """All hops of one round to one peer, and what it may learn of rounds before."""

    kind: WalkKind
    hops: Annotated[tuple[Hop, ...], Bound(items=10_000)]
    lessons: Annotated[tuple[Lesson, ...], Bound(items=100_000)] = ()


@dataclass(frozen=True, slots=True)
class RankedPeer:
    """A candidate as a peer rates it."""

    peer: Name
    score: Weight


@dataclass(frozen=True, slots=True)
class HopReply:
    """What a peer says to a hop: evidence through its export filter where it knows, else candidates, best first."""

    question_id: Name
    relevance: Cosine
    units: Annotated[tuple[EvidenceUnit, ...], Bound(items=64)]
    ranked: Annotated[tuple[RankedPeer, ...], Bound(items=1_000)]


@dataclass(frozen=True, slots=True)
class WalkReply:
    """A peer's replies to one round."""

    device: Name
    replies: Annotated[tuple[HopReply, ...], Bound(items=10_000)]
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Told:
    """A sketch, a level for each topic, that goes to or comes from a neighbour."""

    neighbour: Name
    levels: Annotated[tuple[Level, ...], Bound(items=4_096)]


@dataclass(frozen=True, slots=True)
class GossipRequest:
    """Asks a peer what it tells each of its neighbours, and brings what they told it."""

    neighbours: Annotated[tuple[Name, ...], Bound(items=10_000)]
    told: Annotated[tuple[Told, ...], Bound(items=10_000)]


@dataclass(frozen=True, slots=True)
class GossipReply:
    """What a peer tells each neighbour."""

    device: Name
    told: Annotated[tuple[Told, ...], Bound(items=10_000)]
