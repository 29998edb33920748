"""What to ask the model for next: over which units, of which type, where facts are not covered yet (FD-RAG 4.1)."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from fedrag_flwr.memory.synthesis.grounding import normalise
from fedrag_flwr.records import Fact

KINDS = ("set", "comparison", "aggregation", "multi-hop", "post-processing", "false-premise")
_NUMERIC = frozenset(("DATE", "YEAR", "CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL", "TIME"))
_MOST_WORDS = 90  # of text in one request: the model reads more slowly than it writes so few words


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """One hyperedge as the model may see it: its units' ids, their texts, each with its title, and each one's facts."""

    unit_ids: tuple[str, ...]
    texts: tuple[str, ...]
    facts: tuple[tuple[Fact, ...], ...]

    def of(self, places: Sequence[int]) -> EdgeContext:
        """The same with some of the units only."""
        return EdgeContext(
            tuple(self.unit_ids[place] for place in places),
            tuple(self.texts[place] for place in places),
            tuple(self.facts[place] for place in places),
        )

    @property
    def telling(self) -> tuple[Fact, ...]:
        """The facts that an answer may be, of all units."""
        return tuple(fact for facts in self.facts for fact in facts if fact.type != "CONCEPT")


@dataclass(frozen=True, slots=True)
class Request:
    """One item to ask for.

    Parameters
    ----------
    kind
        One of `KINDS`.
    context
        The units that the model reads.
    bridge
        multi-hop: the name that two hyperedges share and that the question must not say; else "".
    """

    kind: str
    context: EdgeContext
    bridge: str = ""


class Planner:
    """Chooses requests greedily: the hyperedge with most facts that no item covers yet comes first.

    Parameters
    ----------
    edges
        The hyperedges.
    covered
        Answers that items give already.
    """

    def __init__(self, edges: Sequence[EdgeContext], covered: Collection[str]) -> None:
        self._edges = edges
        self._covered = {normalise(answer) for answer in covered}
        self._used: Counter[str] = Counter()
        self._holders: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, edge in enumerate(edges):
            for place, facts in enumerate(edge.facts):
                for anchor in {fact.anchor for fact in facts if _is_name(fact)}:
                    self._holders[anchor].append((index, place))

    def requests(self) -> Iterator[Request]:
        """Give a request for each hyperedge whose facts allow one; what it shows counts as covered afterwards."""
        heap = [(-self._open(edge.telling), edge.unit_ids, index) for index, edge in enumerate(self._edges)]
        heapq.heapify(heap)
        while heap:
            known, ids, index = heapq.heappop(heap)
            now = -self._open(self._edges[index].telling)
            if heap and now > heap[0][0] and now != known:
                heapq.heappush(heap, (now, ids, index))  # others' requests covered some of it meanwhile
                continue
            request = self._request(index)
            if request is not None:
                self._used[request.kind] += 1
                self._covered.update(normalise(fact.text) for fact in request.context.telling)
                yield request

    def _open(self, facts: Sequence[Fact]) -> int:
        return len({normalise(fact.text) for fact in facts} - self._covered)

    def _request(self, index: int) -> Request | None:
        shown = self._focus(self._edges[index])
        joined = self._joined(index)
        possible = [*_possible(shown), *(["multi-hop"] if joined else [])]
        if not possible:
            return None
        kind = min(possible, key=lambda name: (self._used[name], KINDS.index(name)))
        return joined if joined and kind == "multi-hop" else Request(kind, shown)

    def _focus(self, edge: EdgeContext) -> EdgeContext:
        """The units with most open facts, as many as one request may show, in the hyperedge's order."""
        order = sorted(range(len(edge.unit_ids)), key=lambda place: (-self._open(edge.facts[place]), place))
        chosen, words = order[:1], len(edge.texts[order[0]].split())
        for place in order[1:]:
            words += len(edge.texts[place].split())
            if words <= _MOST_WORDS:
                chosen.append(place)
        return edge.of(sorted(chosen))

    def _joined(self, index: int) -> Request | None:
        """Two units, one of this and one of another hyperedge, that share the rarest of this one's names."""
        edge = self._edges[index]
        names = {fact.anchor: fact for facts in edge.facts for fact in facts if _is_name(fact)}
        for anchor in sorted(names, key=lambda anchor: (len(self._holders[anchor]), anchor)):
            here = next(place for owner, place in self._holders[anchor] if owner == index)
            for other, there in self._holders[anchor]:
                unit = self._edges[other].unit_ids[there]
                if unit not in edge.unit_ids and not _overlap(unit, edge.unit_ids[here]):
                    first, second = edge.of([here]), self._edges[other].of([there])
                    both = EdgeContext(
                        first.unit_ids + second.unit_ids, first.texts + second.texts, first.facts + second.facts
                    )
                    if sum(len(text.split()) for text in both.texts) <= _MOST_WORDS:
                        return Request("multi-hop", both, names[anchor].text)
        return None


def _is_name(fact: Fact) -> bool:
    return fact.type not in _NUMERIC and fact.type != "CONCEPT"


def _overlap(first: str, second: str) -> bool:
    """Whether one of two units is a sentence of the other."""
    return first.startswith(f"{second}.") or second.startswith(f"{first}.")


def _possible(edge: EdgeContext) -> list[str]:
    """The types, but for multi-hop, that the facts of some units allow."""
    facts = edge.telling
    names = {fact.anchor for fact in facts if _is_name(fact)}
    numbers = [fact for fact in facts if fact.type in _NUMERIC]
    dates = {fact.anchor for fact in numbers if fact.type in ("DATE", "YEAR")}
    allowed = {
        "set": len(names) >= 3,
        "comparison": len(names) >= 2 and len(numbers) >= 2,
        "aggregation": len(names) >= 3,
        "post-processing": len(dates) >= 2,
        "false-premise": bool(names),
    }
    return [kind for kind, possible in allowed.items() if possible]
