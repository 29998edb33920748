"""Who is whose neighbour: a drawn network, one of measured delays, or an edge list; and who is away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fedrag_flwr.errors import SettingError

TOPOLOGIES = ("barabasi-albert", "measured")  # beside a list of edges
_QUICKEST = 1e-3  # seconds below which delays do not differ


class Overlay:
    """The neighbours of each peer, in the order in which they became neighbours; raises SettingError where an edge
    leads from a peer to itself.

    A pair of peers that comes twice counts once; `peers` may have no edge.
    """

    def __init__(self, edges: Iterable[tuple[int, int]] = (), peers: Iterable[int] = ()) -> None:
        self._near: dict[int, dict[int, None]] = {peer: {} for peer in peers}
        self.away: set[int] = set()
        for one, other in edges:
            if one == other:
                raise SettingError("a peer cannot be its own neighbour", where="overlay", fix="mend the edge list")
            self._near.setdefault(one, {})[other] = None
            self._near.setdefault(other, {})[one] = None

    @property
    def peers(self) -> tuple[int, ...]:
        """The peers that are present."""
        return tuple(peer for peer in self._near if peer not in self.away)

    def neighbours(self, peer: int) -> Sequence[int]:
        """The present neighbours of a peer; where all of them are away, one of theirs or anybody stands in."""
        own = self._near.get(peer, {})
        near = [other for other in own if other not in self.away]
        if near or not own:
            return near
        others = (other for gone in own for other in self._near[gone])
        stand_in = next((one for one in (*others, *self._near) if one != peer and one not in self.away), None)
        return [] if stand_in is None else [stand_in]


def make_overlay(peers: int, connectivity: int, rng: np.random.Generator) -> Overlay:
    """Draw a Barabasi-Albert network of peers 0, 1, 2, ... as networkx does (DRAG 4.1).

    A new peer has `connectivity` edges, fewer where there are too few peers.
    """
    import networkx

    if peers <= 2:
        return Overlay([(0, 1)] if peers == 2 else (), range(peers))
    seed = int(rng.integers(2**31))
    drawn = networkx.barabasi_albert_graph(peers, min(connectivity, peers - 1), seed=seed)
    return Overlay(drawn.edges(), range(peers))


def measured_overlay(delays: Mapping[int, float], connectivity: int, rng: np.random.Generator) -> Overlay:
    """Grow a network in which quick peers get many neighbours: each new one draws by the reciprocal of delays.

    Delays are the seconds that each peer takes to reply; a new peer takes `connectivity` neighbours.
    """
    order = sorted(delays, key=lambda one: (delays[one], one))
    quick = 1 / np.maximum([delays[peer] for peer in order], _QUICKEST)
    edges = []
    for place in range(1, len(order)):
        share = quick[:place] / quick[:place].sum()
        chosen = rng.choice(place, min(connectivity, place), replace=False, p=share)
        edges += [(order[place], order[row]) for row in chosen]
    return Overlay(edges, order)
