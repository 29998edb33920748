"""k-ary randomised response over the whole group of an entity (FD-RAG eq. 16, Proposition 2)."""

from __future__ import annotations

import hashlib
import math
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import BudgetError, SettingError
from fedrag_flwr.privacy.ledger import MEMO, BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.vocabulary import EntityPartition

Origin = Literal["group", "mask", "refused"]
_MOST_EPSILON = 50.0


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


def respond(index: int, size: int, epsilon: float, source: random.Random) -> int:
    """Draw the member that is reported for the true one (eq. 16)."""
    if source.random() < keep_probability(size, epsilon):
        return index
    other = source.randrange(size - 1)
    return other + (other >= index)


def entity_digest(name: str) -> str:
    """Digest under which memo and ledger know an entity: its name in normal form, whatever type it was given."""
    return hashlib.sha256(f"entity\0{normal_name(name)}".encode()).hexdigest()


class RandomisedResponse:
    """Draws, remembers and pays for the surrogates of entities; raises SettingError where epsilon is not within (0,
    50], or the epoch is negative.

    Within a group the mechanism is epsilon-LDP; an entity's type and group are disclosed. An entity outside the
    vocabulary is masked.

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
    epoch
        Surrogates are drawn anew, and paid for, in each epoch.
    source
        Draws; the operating system's by default. A seeded one is for experiments that must repeat.
    """

    def __init__(
        self,
        partition: EntityPartition,
        epsilon: float,
        memo: SurrogateMemo,
        *,
        ledger: BudgetLedger | None = None,
        epoch: int = 0,
        source: random.Random | None = None,
    ) -> None:
        if not 0.0 < epsilon <= _MOST_EPSILON:
            raise SettingError(f"it must be above 0 and at most {_MOST_EPSILON:g}", where="epsilon")
        if epoch < 0:
            raise SettingError("it must be 0 or more", where="epoch")
        self.partition = partition
        self.epsilon = epsilon
        self._memo = memo
        self._ledger = ledger
        self._epoch = epoch
        self._source = secrets.SystemRandom() if source is None else source

    def perturb(self, entities: Sequence[tuple[str, str]]) -> list[Surrogate]:
        """Give the surrogate of each (type, name), durably remembered and paid before this returns; raises BudgetError
        where surrogates that were paid for are gone, and their entities have nothing left for others.

        An entity in no group comes back ``"mask"``, one whose budget is spent ``"refused"``.
        """
        distinct = {entity_digest(entity[1]): entity for entity in reversed(entities)}
        places = {digest: place for digest, entity in distinct.items() if (place := self.partition.find(*entity))}
        version = f"{self.partition.digest}:{self.epsilon!r}"
        remembered = self._memo.get(list(places), version, self._epoch)
        refused: set[str] = set()
        if len(remembered) < len(places):
            with self._memo.alone():
                remembered = self._memo.get(list(places), version, self._epoch)  # another process may have drawn
                new = {digest: place for digest, place in places.items() if digest not in remembered}
                refused = self._refused(list(new), version)
                drawn = {digest: self._draw(*place) for digest, place in new.items() if digest not in refused}
                remembered |= self._memo.keep(drawn, version, self._epoch)
        self._book(list(places))
        return [_surrogate(entity_digest(entity[1]), remembered, refused) for entity in entities]

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
            self._ledger.book(draws)

    def _draw(self, group: int, index: int) -> str:
        members = self.partition.groups[group].members
        return members[respond(index, len(members), self.epsilon, self._source)]


def _surrogate(digest: str, remembered: Mapping[str, str], refused: set[str]) -> Surrogate:
    if digest in refused:
        return Surrogate("", "refused")
    return Surrogate(remembered[digest], "group") if digest in remembered else Surrogate("", "mask")
