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
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

P = TypeVar("P", bound=Hashable)
WalkKind = Literal["topic", "sketch", "random", "flooding"]


@dataclass(frozen=True, slots=True)
class WalkRules:
    """How far and how wide a question goes.

    Parameters
    ----------
    kind
        ``flooding``: to all neighbours that were not queried, breadth first. ``random``: to one, drawn anew at each
        hop among all neighbours and the peer itself. ``topic``: to the `fanout` best of those that were not
        queried, breadth first (Algorithm 1). ``sketch``: the same, but the best peer of all that wait comes first.
    max_hops
        Hops at which a walk ends (H_max).
    fanout
        Neighbours to which a peer passes a question on (k).
    """

    kind: WalkKind = "topic"
    max_hops: int = 6
    fanout: int = 4


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
class WalkCount:
    """What a walk took: hops, peers queried, messages between peers, and whether anybody answered."""

    hops: int
    queried: int
    wire: int
    hit: bool


class Walk(Generic[P]):
    """One question's walk: `next` says whom to query, `miss` or `hit` tells what came of it; of a silent peer nothing.

    Parameters
    ----------
    home
        Where the question is asked.
    rules
        How it walks.
    """

    def __init__(self, home: P, rules: WalkRules) -> None:
        self.home = home
        self.rules = rules
        self.found: Visit[P] | None = None
        self._seen = {home}
        self._queue: list[tuple[float, int, Visit[P]]] = [(0.0, 0, Visit(home, 0))]
        self._queued, self._queried, self._wire = 1, 0, 0

    def next(self) -> Visit[P] | None:
        """The peer to query next; None where the walk is over."""
        while self._queue and self.found is None:
            visit = heapq.heappop(self._queue)[2]
            if visit.hops < self.rules.max_hops:
                self._queried += 1
                self._wire += visit.peer != self._origin(visit)
                return visit
        return None

    def candidates(self, visit: Visit[P], neighbours: Sequence[P]) -> list[P]:
        """To whom a peer may pass the question on."""
        if self.rules.kind == "random":
            return [*neighbours, visit.peer]
        return [peer for peer in neighbours if peer not in self._seen]

    def miss(self, visit: Visit[P], ranked: Sequence[tuple[P, float]]) -> None:
        """A peer does not know: it names candidates with their scores, best first.

        Names that are none of its candidates' are the caller's to drop; one that was named before is passed over here.
        """
        self._wire += visit.peer != self._origin(visit)
        kind = self.rules.kind
        most = {"random": 1, "flooding": len(ranked)}.get(kind, self.rules.fanout)
        for peer, score in ranked[:most]:
            if kind != "random" and peer in self._seen:
                continue
            self._seen.add(peer)
            urgency = -score if kind == "sketch" else 0.0
            heapq.heappush(self._queue, (urgency, self._queued, Visit(peer, visit.hops + 1, visit)))
            self._queued += 1

    def hit(self, visit: Visit[P]) -> None:
        """A peer knows: the walk is over."""
        self._wire += visit.peer != self._origin(visit)
        self.found = visit

    @property
    def count(self) -> WalkCount:
        """What the walk has taken so far."""
        hops = self.rules.max_hops if self.found is None else self.found.hops
        return WalkCount(hops, self._queried, self._wire, self.found is not None)

    @staticmethod
    def _origin(visit: Visit[P]) -> P:
        """By whom a peer was named; home names itself."""
        return visit.peer if visit.origin is None else visit.origin.peer


def run_walk(
    walk: Walk[P],
    neighbours: Callable[[P], Sequence[P]],
    knows: Callable[[Visit[P]], bool | None],
    rank: Callable[[Visit[P], list[P]], Sequence[tuple[P, float]]],
) -> WalkCount:
    """Walk to the end.

    Parameters
    ----------
    walk
        At its beginning.
    neighbours
        Of a peer.
    knows
        Whether a peer knows enough; None where it is silent.
    rank
        A peer's candidates with their scores, best first.
    """
    while (visit := walk.next()) is not None:
        known = knows(visit)
        if known:
            walk.hit(visit)
        elif known is not None:
            walk.miss(visit, rank(visit, walk.candidates(visit, neighbours(visit.peer))))
    return walk.count
