"""Who is whose neighbour: made networks, edge lists and measured delays; peers that join, leave and return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from fedrag_flwr.errors import SettingError

Topology = Literal["barabasi-albert", "watts-strogatz", "random-regular", "measured"]
_QUICKEST = 1e-3  # seconds below which delays do not differ
_REWIRED = 0.1  # share of a ring's edges that Watts-Strogatz rewires


class Overlay:
    """The neighbours of each peer, in the order in which they became neighbours.

    Parameters
    ----------
    edges
        Pairs of peers; a pair that comes twice counts once.
    peers
        Peers that may have no edge.

    Raises
    ------
    SettingError
        An edge leads from a peer to itself.
    """

    def __init__(self, edges: Iterable[tuple[int, int]] = (), peers: Iterable[int] = ()) -> None:
        self._neighbours: dict[int, list[int]] = {peer: [] for peer in peers}
        self._away: dict[int, list[int]] = {}
        for one, other in edges:
            self.connect(one, other)

    @property
    def peers(self) -> tuple[int, ...]:
        """The peers that are present."""
        return tuple(self._neighbours)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Each edge once, the smaller peer first."""
        return [(one, other) for one, near in self._neighbours.items() for other in near if one < other]

    def neighbours(self, peer: int) -> Sequence[int]:
        """The neighbours of a peer; nobody's where it is not present."""
        return self._neighbours.get(peer, ())

    def add(self, peer: int) -> None:
        """Let a peer be there, as yet without neighbours."""
        self._neighbours.setdefault(peer, [])

    def connect(self, one: int, other: int) -> None:
        """Make two peers neighbours; raises SettingError if they are one."""
        if one == other:
            raise SettingError("a peer cannot be its own neighbour", where="overlay", fix="mend the edge list")
        near, far = self._neighbours.setdefault(one, []), self._neighbours.setdefault(other, [])
        known = other in near if len(near) < len(far) else one in far  # a hub's list is long
        if not known:
            near.append(other)
            far.append(one)

    def join(self, peer: int, connectivity: int, rng: np.random.Generator) -> None:
        """Let a new peer in: it becomes neighbour of present ones, more likely of those with many neighbours."""
        present = [other for other in self._neighbours if other != peer]
        self.add(peer)
        if not present:
            return
        degrees = np.array([len(self._neighbours[other]) + 1.0 for other in present])
        chosen = rng.choice(len(present), min(connectivity, len(present)), replace=False, p=degrees / degrees.sum())
        for row in chosen:
            self.connect(peer, present[row])

    def leave(self, peer: int) -> None:
        """Let a peer go: whom it leaves without any neighbour is linked to another that it leaves, or to anybody.

        Who is away already and was its neighbour is so again once both are back.
        """
        near = self._neighbours.pop(peer, [])
        self._away[peer] = [*near, *(other for other, old in self._away.items() if peer in old)]
        for other in near:
            self._neighbours[other].remove(peer)
        for other in near:
            if not self._neighbours[other] and len(self._neighbours) > 1:
                self.connect(other, next(one for one in (*near, *self._neighbours) if one != other))

    def come_back(self, peer: int, connectivity: int, rng: np.random.Generator) -> None:
        """Let a peer that left return to those of its neighbours that are still here, or join anew without any."""
        present = [other for other in self._away.pop(peer, []) if other in self._neighbours]
        for other in present:
            self.connect(peer, other)
        if not present:
            self.join(peer, connectivity, rng)


def make_overlay(kind: Topology, peers: int, connectivity: int, rng: np.random.Generator) -> Overlay:
    """Make a network of peers 0, 1, 2, ... as networkx does.

    Parameters
    ----------
    kind
        Barabasi-Albert is DRAG's (4.1).
    peers
        How many.
    connectivity
        Edges of a new peer (Barabasi-Albert), or neighbours of every peer; fewer where there are too few peers.
    rng
        Draws the edges.

    Raises
    ------
    SettingError
        The kind cannot be drawn.
    """
    import networkx

    if peers <= 2:
        return Overlay([(0, 1)] if peers == 2 else (), range(peers))
    seed, most = int(rng.integers(2**31)), min(connectivity, peers - 1)
    if kind == "barabasi-albert":
        drawn = networkx.barabasi_albert_graph(peers, most, seed=seed)
    elif kind == "watts-strogatz":
        drawn = networkx.connected_watts_strogatz_graph(peers, max(2, most), _REWIRED, seed=seed)
    elif kind == "random-regular":
        drawn = networkx.random_regular_graph(most - (most * peers) % 2, peers, seed=seed)
    else:
        raise SettingError(f"'{kind}' is not drawn at random", where="overlay.topology", fix="give delays instead")
    return Overlay(drawn.edges(), range(peers))


def measured_overlay(delays: Mapping[int, float], connectivity: int, rng: np.random.Generator) -> Overlay:
    """Grow a network in which quick peers get many neighbours: each new one draws by the reciprocal of delays.

    Parameters
    ----------
    delays
        Seconds that each peer takes to reply.
    connectivity
        Neighbours that a new peer takes.
    rng
        Draws them.
    """
    overlay = Overlay()
    for peer in sorted(delays, key=lambda one: (delays[one], one)):
        present = overlay.peers
        overlay.add(peer)
        if present:
            quick = 1 / np.maximum([delays[other] for other in present], _QUICKEST)
            chosen = rng.choice(len(present), min(connectivity, len(present)), replace=False, p=quick / quick.sum())
            for row in chosen:
                overlay.connect(peer, present[row])
    return overlay
