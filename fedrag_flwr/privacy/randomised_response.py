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

from fedrag_flwr.errors import SettingError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ledger import BudgetLedger
from fedrag_flwr.privacy.memo import SurrogateMemo
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
        """Give the surrogate of each (type, name), durably remembered before this returns.

        An entity whose budget is spent comes back ``"refused"``.
        """
        distinct = {entity_digest(entity[1]): entity for entity in reversed(entities)}
        version = f"{self.partition.digest}:{self.epsilon!r}"
        remembered = self._memo.get(list(distinct), version, self._epoch)
        places = {digest: self.partition.find(*entity) for digest, entity in distinct.items()}
        new = {digest: entity for digest, entity in distinct.items() if digest not in remembered}
        paying = [digest for digest in new if places[digest] is not None]
        refused: set[str] = set()
        if self._ledger is not None and paying:
            refused = self._ledger.spend_all(paying, f"{version}:{self._epoch}", self.epsilon)
        drawn = {}
        for digest, entity in new.items():
            surrogate = "" if digest in refused else self._draw(entity, places[digest])
            if surrogate:
                drawn[digest] = surrogate
        if drawn:
            remembered |= self._memo.keep(drawn, version, self._epoch)
        return [self._surrogate(entity_digest(entity[1]), remembered, refused, places) for entity in entities]

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

    def _draw(self, entity: tuple[str, str], place: tuple[int, int] | None) -> str:
        """Draw from the entity's own group, or uniformly from the nearest one; empty where it is to be masked."""
        if place is not None:
            members = self.partition.groups[place[0]].members
            return members[respond(place[1], len(members), self.epsilon, self._source)]
        number = self._nearest(*entity)
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
