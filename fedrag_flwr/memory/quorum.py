"""Whom to believe where devices' memories contradict each other: each owner counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fedrag_flwr.memory.fusion.merge import FusionRules, owners
from fedrag_flwr.memory.fusion.statement_key import holds
from fedrag_flwr.records import Match
from fedrag_flwr.text.negation import denials
from fedrag_flwr.text.words import told_words

EACH = FusionRules().quota  # memories of another device among those that are looked at: as many as may ask the same
MOST = 4_096  # memories that are looked through for those of others behind one device's
Top = Callable[[int], list[Match]]  # the best so many memories


@dataclass(slots=True)
class _Claim:
    """One answer, the match that stands for it, and the devices behind it."""

    match: Match
    owners: set[str] = field(default_factory=set)

    def joined(self, match: Match, new: frozenset[str], home: str) -> None:
        """Take in a match that agrees: home speaks for itself, else whoever says least, which all others say, too."""
        self.owners |= new
        fits = match.item.origin == home or _length(match) < _length(self.match)
        if new and fits and self.match.item.origin != home:
            self.match = match


@dataclass(frozen=True, slots=True)
class Quorum:
    """How many devices must tell what is believed."""

    home: str  # the device where questions are asked
    least: int = 0  # devices that must tell what home's own documents do not; 0: none

    def heard(self, top: Top, least_score: float, places: int) -> list[Match]:
        """The memories that are near enough, best first, of which no other device can take all places.

        Where even the first `MOST` leave other devices no room, home alone is heard.
        """
        count, found = places, top(places)
        while self._is_filled(found, count, least_score, places):
            if count >= MOST:
                return [match for match in found[:places] if match.item.origin == self.home]
            count *= 2
            found = top(count)
        return [match for match in self._few_of_each(found) if match.score >= least_score]

    def agreed(self, matches: Sequence[Match]) -> Match | None:
        """The match for the answer that most devices give; None where as many give another, or too few give this.

        A device's best match counts, and once. Where devices are equal in number, the one where the question is asked
        believes its own documents. Answers of which one holds the other's words in their order are the same where both
        deny or neither does: then home's is given, or else the one that the others hold.
        """
        claims: list[_Claim] = []
        heard: set[str] = set()
        for match in matches:
            new = owners(match.item) - heard
            same = next((one for one in claims if _agree(match.item.answer, one.match.item.answer)), None)
            if same is not None:
                same.joined(match, new, self.home)
            elif new or not claims:
                claims.append(_Claim(match, set(new)))
            heard |= new

        def weight(claim: _Claim) -> tuple[int, bool]:
            return len(claim.owners), self.home in claim.owners

        ranked = sorted(claims, key=weight, reverse=True)
        if not ranked or (len(ranked) > 1 and weight(ranked[0]) == weight(ranked[1])):
            return None
        first = ranked[0]
        return None if self.home not in first.owners and len(first.owners) < self.least else first.match

    def _is_filled(self, found: Sequence[Match], asked: int, least_score: float, places: int) -> bool:
        """Whether others than those that take too many places may be near enough behind them."""
        if len(found) < asked or found[-1].score < least_score:
            return False
        return len(self._few_of_each(found)) < places

    def _few_of_each(self, matches: Sequence[Match]) -> list[Match]:
        """All of home's matches, and the first few of each other device."""
        counts: Counter[str] = Counter()
        few = []
        for match in matches:
            of = owners(match.item)
            if self.home in of or any(counts[name] < EACH for name in of):
                few.append(match)
            counts.update(of)
        return few


def _agree(one: str, other: str) -> bool:
    """Whether both say something, and one says what the other does and does not deny it."""
    here, there = told_words(one), told_words(other)
    if not (here and there) or denials(here) != denials(there):
        return False
    return holds(one, other) or holds(other, one)


def _length(match: Match) -> int:
    return len(set(told_words(match.item.answer)))
