"""How a question walks from peer to peer (DRAG Algorithm 1): one walk for strategies and simulator alike.

What is counted, everywhere in this project:

- A peer is *queried* when it looks for the question in its own knowledge; the peer where the question is asked counts,
  and a peer that a random walk meets again counts again. DRAG's "# Messages" is this.
- *Hops* are those to the peer that answered, 0 at home; `max_hops` where nobody did.
- *Wire* counts what passes between peers: a request to each queried peer but home, and its reply.

Peers are queried one after the other until the first that knows. A peer is queried at less than `max_hops` hops only.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fedrag_flwr.records import Outcome, WalkKind

P = TypeVar("P", bound=Hashable)
_LEARNING = ("topic", "sketch")


@dataclass(frozen=True, slots=True)
class WalkRules:
    """How far and how wide a question goes."""

    # ``flooding``: to all neighbours that were not queried, breadth first. ``random``: to one, drawn anew at each hop
    # among all neighbours and the peer itself. ``topic``: to the `fanout` best of those that were not queried, breadth
    # first (Algorithm 1). ``sketch``: the same, but the best peer of all that wait comes first.
    kind: WalkKind = "topic"
    max_hops: int = 6  # hops at which a walk ends (H_max)
    fanout: int = 4  # neighbours to which a peer passes a question on (k)

    @classmethod
    def of(cls, kind: WalkKind) -> WalkRules:
        """The rules by which devices walk: best first takes more neighbours, of which few are queried."""
        return cls(kind, fanout=8 if kind == "sketch" else 4)


@dataclass(frozen=True, slots=True)
class Visit(Generic[P]):
    """A peer to query: how many hops from home, and by whom it was named."""

    peer: P
    hops: int
    origin: Visit[P] | None = None

    @property
    def path(self) -> tuple[P, ...]:
        """The peers from home to this one."""
        before = self.origin.path if self.origin is not None else ()
        return (*before, self.peer)


@dataclass(frozen=True, slots=True)
class WalkLesson(Generic[P]):
    """What a peer may learn: what came of passing a question on to a neighbour, `distance` hops before the answer."""

    peer: P
    neighbour: P
    distance: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class WalkCount:
    """What a walk took: hops, peers queried, messages between peers, and whether anybody answered."""

    hops: int
    queried: int
    wire: int
    hit: bool


class Walk(Generic[P]):
    """One question's walk: `next` says whom to query, `miss` or `hit` what came of it; a silent peer has neither."""

    def __init__(self, home: P, rules: WalkRules) -> None:
        self.home = home
        self.rules = rules
        self.found: Visit[P] | None = None
        self._hops = {home: 0}  # at which a peer was named first, or nearer to home than before
        self._asked: set[P] = set()
        self._visits: list[Visit[P]] = []
        self._queue: list[tuple[float, int, Visit[P]]] = [(0.0, 0, Visit(home, 0))]
        self._queued, self._wire = 1, 0

    def next(self) -> Visit[P] | None:
        """The peer to query next; None where the walk is over."""
        while self._queue and self.found is None:
            visit = heapq.heappop(self._queue)[2]
            if self.rules.kind == "random" or visit.peer not in self._asked:
                self._asked.add(visit.peer)
                self._visits.append(visit)
                self._wire += visit.peer != self._origin(visit)
                return visit
        return None

    def candidates(self, visit: Visit[P], neighbours: Sequence[P]) -> list[P]:
        """To whom a peer may pass the question on: nobody at the last hop, and nobody who was named as near to home.

        Breadth first those are the peers that were named before, Algorithm 1's V. Best first, a peer that waits far
        from home may turn out to be nearer, and then reach farther.
        """
        hops = visit.hops + 1
        if hops >= self.rules.max_hops:
            return []
        if self.rules.kind == "random":
            return [*neighbours, visit.peer]
        return [peer for peer in neighbours if peer not in self._asked and hops < self._hops.get(peer, math.inf)]

    def miss(self, visit: Visit[P], ranked: Sequence[tuple[P, float]]) -> None:
        """A peer does not know: it names candidates with their scores, best first.

        Who is none of its candidates is passed over.
        """
        self._wire += visit.peer != self._origin(visit)
        kind = self.rules.kind
        most = {"random": 1, "flooding": len(ranked)}.get(kind, self.rules.fanout)
        named = ranked[:most]
        allowed = set(self.candidates(visit, [peer for peer, _ in named]))
        for peer, score in named:
            if peer in allowed:
                allowed.remove(peer)
                self._hops[peer] = visit.hops + 1
                urgency = -score if kind == "sketch" else 0.0
                heapq.heappush(self._queue, (urgency, self._queued, Visit(peer, visit.hops + 1, visit)))
                self._queued += 1

    def hit(self, visit: Visit[P]) -> None:
        """A peer knows: the walk is over."""
        self._wire += visit.peer != self._origin(visit)
        self.found = visit

    def refuse(self) -> list[WalkLesson[P]]:
        """What was found is no answer: the walk goes on with the others that wait, and its path learns that."""
        lessons = self._along("junk")
        self.found = None
        return lessons

    def silence(self, visit: Visit[P]) -> list[WalkLesson[P]]:
        """A peer said nothing: who named it learns that."""
        if visit.origin is None or self.rules.kind not in _LEARNING:
            return []
        return [WalkLesson(visit.origin.peer, visit.peer, 0, "junk")]

    def lessons(self) -> list[WalkLesson[P]]:
        """What peers learn of a good answer: of the path that led to it, and of those queried beside it in vain."""
        if self.found is None or self.rules.kind not in _LEARNING:
            return []
        path = set(self.found.path)
        beside = (one for one in self._visits if one.peer not in path and one.origin is not None)
        return self._along("good") + [WalkLesson(self._origin(one), one.peer, 0, "miss") for one in beside]

    def _along(self, outcome: Outcome) -> list[WalkLesson[P]]:
        if self.found is None or self.rules.kind not in _LEARNING:
            return []
        path = self.found.path
        pairs = enumerate(itertools.pairwise(path))
        return [WalkLesson(one, other, len(path) - 2 - place, outcome) for place, (one, other) in pairs]

    @property
    def count(self) -> WalkCount:
        """What the walk has taken so far."""
        hops = self.rules.max_hops if self.found is None else self.found.hops
        return WalkCount(hops, len(self._visits), self._wire, self.found is not None)

    @staticmethod
    def _origin(visit: Visit[P]) -> P:
        """By whom a peer was named; home names itself."""
        return visit.peer if visit.origin is None else visit.origin.peer
