"""k-ary randomised response over the whole group of an entity (FD-RAG eq. 16, Proposition 2)."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import BudgetError, SettingError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ledger import MEMO, BudgetLedger, Draw, SurrogateMemo
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.vocabulary import EntityPartition, centroids, nearest_group

OutOfVocabulary = Literal["nearest", "mask"]
Origin = Literal["group", "nearest", "mask", "refused"]
_MOST_EPSILON = 50.0


@dataclass(frozen=True, slots=True)
class Preset:
    """A published choice of epsilon and of the least group size c."""

    epsilon: float
    candidates: int


PRESETS = {"paper": Preset(1.0, 5), "strong": Preset(1.0, 26)}


class Randomness(Protocol):
    """Where draws come from: `secrets.SystemRandom` in use."""

    def random(self) -> float:
        """Draw a number of [0, 1)."""
        ...

    def randrange(self, stop: int, /) -> int:
        """Draw a whole number of [0, stop)."""
        ...


class SeededRandomness:
    """A numpy Generator as a source of draws, for experiments that must repeat. Never for a real upload."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def random(self) -> float:
        """Draw a number of [0, 1)."""
        return float(self._rng.random())

    def randrange(self, stop: int, /) -> int:
        """Draw a whole number of [0, stop)."""
        return int(self._rng.integers(stop))


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What stands for an entity: a name, or none where it is masked or refused; `origin` says how it came about."""

    name: str
    origin: Origin


def keep_probability(size: int, epsilon: float) -> float:
    """Probability that the true entity stays in a group of a size (eq. 16)."""
    return 1.0 / (1.0 + (size - 1) * math.exp(-epsilon))


def probabilities(size: int, index: int, epsilon: float) -> NDArray[np.float64]:
    """Distribution of the output over a group, given the true member's index, shape (size,) (eq. 16)."""
    found = np.full(size, math.exp(-epsilon) * keep_probability(size, epsilon))
    found[index] = keep_probability(size, epsilon)
    return found


def respond(index: int, size: int, epsilon: float, source: Randomness) -> int:
    """Draw the member that is reported for the true one (eq. 16)."""
    if source.random() < keep_probability(size, epsilon):
        return index
    other = source.randrange(size - 1)
    return other + (other >= index)


def entity_digest(name: str) -> str:
    """Digest under which memo and ledger know an entity: its name in normal form, whatever type it was given."""
    return hashlib.sha256(f"entity\0{normal_name(name)}".encode()).hexdigest()


class RandomisedResponse:
    """Draws, remembers and pays for the surrogates of entities.

    Within a group the mechanism is epsilon-LDP; an entity's type and group are disclosed. An entity outside the
    vocabulary is drawn uniformly from the nearest group of its type (which costs nothing, as the draw depends on the
    group alone), or masked.

    Memo and ledger hold each other to what was spent: each draw has an id and is paid under it, after it is in the memo
    and before it is handed out. A draw that the memo lost is no longer there to be read again, so the next one is
    another and costs its own; a ledger that lost what it knew is told again by the memo.

    Parameters
    ----------
    partition
        The federation's public partition.
    epsilon
        Budget of one draw.
    memo
        The device's surrogates; written before anything is handed out.
    ledger
        Epsilon spent per entity; without one nothing is refused.
    encoder
        Finds the nearest group of unknown names; needed for ``"nearest"``.
    out_of_vocabulary
        What becomes of unknown names.
    epoch
        Surrogates are drawn anew, and paid for, in each epoch.
    source
        Draws; the operating system's by default.

    Raises
    ------
    SettingError
        If epsilon is not within (0, 50], the epoch is negative, or the encoder is missing or not the partition's.
    """

    def __init__(
        self,
        partition: EntityPartition,
        epsilon: float,
        memo: SurrogateMemo,
        *,
        ledger: BudgetLedger | None = None,
        encoder: Encoder | None = None,
        out_of_vocabulary: OutOfVocabulary = "mask",
        epoch: int = 0,
        source: Randomness | None = None,
    ) -> None:
        if not 0.0 < epsilon <= _MOST_EPSILON:
            raise SettingError(f"it must be above 0 and at most {_MOST_EPSILON:g}", where="epsilon")
        if epoch < 0:
            raise SettingError("it must be 0 or more", where="epoch")
        if out_of_vocabulary == "nearest" and encoder is None:
            raise SettingError("the nearest group needs an encoder", where="out-of-vocabulary")
        if encoder is not None and encoder.id != partition.encoder_id:
            raise SettingError(
                "it was built with another encoder", where="partition", fix="build it with this device's"
            )
        self.partition = partition
        self.epsilon = epsilon
        self._memo = memo
        self._ledger = ledger
        self._encoder = encoder
        self._unknown = out_of_vocabulary
        self._epoch = epoch
        self._source: Randomness = secrets.SystemRandom() if source is None else source
        self._means: NDArray[np.float32] | None = None

    def perturb(self, entities: Sequence[tuple[str, str]]) -> list[Surrogate]:
        """Give the surrogate of each (type, name), durably remembered and paid before this returns.

        An entity whose budget is spent comes back ``"refused"``.

        Raises
        ------
        BudgetError
            If surrogates that were paid for are gone, and their entities have nothing left for others.
        """
        distinct = {entity_digest(entity[1]): entity for entity in reversed(entities)}
        version = _version(self.partition, self.epsilon)
        remembered = self._memo.get(list(distinct), version, self._epoch)
        places = {digest: self.partition.find(*entity) for digest, entity in distinct.items()}
        grouped = {digest: place for digest, place in places.items() if place is not None}
        new = {digest: entity for digest, entity in distinct.items() if digest not in remembered}
        refused: set[str] = set()
        if new:
            near = {digest: self._draw_near(*entity) for digest, entity in new.items() if places[digest] is None}
            with self._memo.alone():
                remembered |= self._memo.get(list(new), version, self._epoch)  # another process may have drawn
                paying = {digest: place for digest, place in grouped.items() if digest not in remembered}
                refused = self._refused(list(paying), version)
                drawn = {digest: self._draw(place) for digest, place in paying.items() if digest not in refused}
                drawn |= {digest: surrogate for digest, surrogate in near.items() if surrogate}
                remembered |= self._memo.keep(drawn, version, self._epoch, free=near)
        self._book(list(grouped))
        return [self._surrogate(entity_digest(entity[1]), remembered, refused, places) for entity in entities]

    def _refused(self, entities: Sequence[str], version: str) -> set[str]:
        """Those of some entities without a surrogate that cannot pay for one."""
        if self._ledger is None:
            return set()
        self._book(entities)
        refused = self._ledger.beyond(entities, self.epsilon)
        if self._ledger.paid(refused, f"{version}:{self._epoch}"):
            raise BudgetError(
                "surrogates that were paid for are gone, and the budget of their names is spent",
                where=MEMO,
                fix="restore the file from a backup, or raise privacy.budget knowingly",
            )
        return refused

    def _book(self, entities: Sequence[str]) -> None:
        """Have the ledger know of every draw for these entities that the memo shows."""
        if self._ledger is not None and (draws := self._memo.draws(entities)):
            self._ledger.book([_spending(draw) for draw in draws])

    def _surrogate(
        self,
        digest: str,
        remembered: dict[str, str],
        refused: set[str],
        places: dict[str, tuple[int, int] | None],
    ) -> Surrogate:
        if digest in refused:
            return Surrogate("", "refused")
        if digest not in remembered:
            return Surrogate("", "mask")
        return Surrogate(remembered[digest], "nearest" if places[digest] is None else "group")

    def _draw(self, place: tuple[int, int]) -> str:
        """Draw from the entity's own group."""
        members = self.partition.groups[place[0]].members
        return members[respond(place[1], len(members), self.epsilon, self._source)]

    def _draw_near(self, kind: str, name: str) -> str:
        """Draw uniformly from the nearest group; empty where the entity is to be masked."""
        number = self._nearest(kind, name)
        if number is None:
            return ""
        members = self.partition.groups[number].members
        return members[self._source.randrange(len(members))]

    def _nearest(self, kind: str, name: str) -> int | None:
        if self._unknown == "mask" or self._encoder is None or kind not in self.partition.types:
            return None
        if self._means is None:
            self._means = centroids(self.partition, self._encoder)
        return nearest_group(self.partition, self._means, kind, self._encoder.encode([name])[0])


def _version(partition: EntityPartition, epsilon: float) -> str:
    return f"{partition.digest}:{epsilon!r}"


def _spending(draw: Draw) -> tuple[str, str, float]:
    """What a draw cost, as the ledger takes it; those of earlier releases were paid without an id."""
    purpose = f"{draw.partition}:{draw.epoch}" + (f":{draw.id}" if draw.id else "")
    return draw.entity, purpose, float(draw.partition.rpartition(":")[2])
