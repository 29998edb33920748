"""Compositional candidates over a hyperedge, by a local language model within a budget (FD-RAG 4.1, Table 9)."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.verify import NUMBERS, is_of_kind, normalise
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, Fact

DEFAULT_TOKENS_PER_KILOTOKEN = 58  # FD-RAG Table 6
_ITEM_TOKENS = 56  # most output tokens of one item
LEAST_TOKENS = 24  # with fewer left, no item is begun
_MOST_FACTS = 12

_SHAPES = {  # how a question of each type begins, and what its answer looks like
    "set": ("Which |What are |Who were |Who are ", "phrase"),
    "comparison": ("Which |Was |Is |Did ", "phrase"),
    "aggregation": ("How many ", "number"),
    "multi-hop": ("Who |Which |When |Where |What ", "phrase"),
    "post-processing": ("How many years |How long |How old |How much ", "number"),
    "false-premise": ("Was |Is |Did |Does |Were ", "denial"),
}
_RULES = r"""
clause ::= [^?\n]{12,140}
phrase ::= [A-Za-z0-9$€£] [^\n?.]{0,60}
number ::= ([0-9] [0-9,.]{0,8} | word) (" " [a-z]{2,14})?
word ::= "two" | "three" | "four" | "five" | "six" | "seven" | "eight" | "nine" | "ten"
denial ::= "No" """


def _grammar(starts: str, answer: str) -> Grammar:
    choices = " | ".join(f'"{start}"' for start in starts.split("|"))
    return Grammar(f'root ::= "Question: " ({choices}) clause "?\\nAnswer: " {answer} "\\n"{_RULES}')


_GRAMMARS = {kind: _grammar(*shape) for kind, shape in _SHAPES.items()}
_SYSTEM = (
    "You write one question with its short answer from a text and its facts. Use only what the text says. Name people, "
    "places and things in full, never with 'it', 'this' or 'the text'. The answer is a few words copied from the text, "
    "or a count, or yes or no. The line Type says which question to write. set: asks for all members of a group. "
    "comparison: compares two things. aggregation: counts or sums. multi-hop: joins two facts, the thing that joins "
    "them is described; the line Type says which name not to say. post-processing: needs a small step such as years "
    "between two dates. false-premise: asks whether something slightly wrong is so; the answer is no."
)
_EXAMPLE_TEXT = (
    "Facts: Lake Vessa | Mirren | 1931 | Orla Brandt | 1874 | 212 metres\n"
    "Text: Lake Vessa is 212 metres deep and lies north of Mirren. Orla Brandt, born in 1874, mapped the lake in 1931. "
    "Trout and perch live in it."
)
_EXAMPLES = (
    (f"Type: set\n{_EXAMPLE_TEXT}", "Question: Which fish live in Lake Vessa?\nAnswer: Trout and perch\n"),
    (
        f"Type: multi-hop, without the name Lake Vessa\n{_EXAMPLE_TEXT}",
        "Question: When was the person born who mapped the lake north of Mirren?\nAnswer: 1874\n",
    ),
    (
        f"Type: comparison\n{_EXAMPLE_TEXT}",
        "Question: Was the birth of Orla Brandt or the mapping of Lake Vessa earlier?\n"
        "Answer: the birth of Orla Brandt\n",
    ),
    (f"Type: aggregation\n{_EXAMPLE_TEXT}", "Question: How many kinds of fish live in Lake Vessa?\nAnswer: two\n"),
    (
        f"Type: post-processing\n{_EXAMPLE_TEXT}",
        "Question: How old was Orla Brandt when she mapped Lake Vessa?\nAnswer: 57\n",
    ),
    (f"Type: false-premise\n{_EXAMPLE_TEXT}", "Question: Does Lake Vessa lie south of Mirren?\nAnswer: No\n"),
)
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_LINES = re.compile(r"^Question:\s*(?P<question>[^\n]+)\nAnswer:\s*(?P<answer>[^\n]+)", re.MULTILINE)


KINDS = ("set", "comparison", "aggregation", "multi-hop", "post-processing", "false-premise")
_NUMERIC = frozenset(("DATE", "YEAR", "CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL", "TIME"))
_MOST_WORDS = 90  # of text in one request: the model reads more slowly than it writes so few words


@dataclass(frozen=True, slots=True)
class Written:
    """Candidates, how many completions gave none, by the type asked for and the reason, and what they cost."""

    candidates: tuple[Candidate, ...]
    rejects: Mapping[tuple[str, str], int]
    cost: Cost


class ModelGenerator:
    """Makes compositional candidates of the six types with a language model, within a budget of output tokens.

    Parameters
    ----------
    generator
        The local model.
    budget
        Output tokens for each 1,000 tokens of the corpus; the paper's figure is 58.

    Raises
    ------
    SettingError
        The budget is negative.
    """

    def __init__(self, generator: Generator, budget: int = DEFAULT_TOKENS_PER_KILOTOKEN) -> None:
        if budget < 0:
            raise SettingError("is not negative", where="memory.tokens-per-kilotoken", fix="use 0 for no model items")
        self.generator = generator
        self.budget = budget

    @property
    def id(self) -> str:
        """Name and version of the prompt, and the model."""
        return f"model-2/{self.generator.id}"

    def candidates(
        self, edges: Sequence[EdgeContext], corpus_tokens: int, covered: Collection[str] = (), *, seed: int = 0
    ) -> Written:
        """Ask the model for items over hyperedges, those with most uncovered facts first, until the budget is spent.

        Parameters
        ----------
        edges
            The hyperedges' contexts.
        corpus_tokens
            Tokens of the corpus that the budget refers to.
        covered
            Answers that other candidates give already.
        seed
            Handed to the generator.
        """
        left = self.budget * corpus_tokens // 1000
        rejects: Counter[tuple[str, str]] = Counter()
        cost = Cost()
        candidates: list[Candidate] = []
        seen: set[str] = set()
        for request in Planner(edges, covered).requests():
            if left < LEAST_TOKENS:
                break
            prompt = Prompt(_SYSTEM, _tail(request), _EXAMPLES)
            limit = min(_ITEM_TOKENS, left)
            done = self.generator.complete(prompt, grammar=_GRAMMARS[request.kind], max_tokens=limit, seed=seed)[0]
            cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
            left -= done.tokens_out
            candidate = _candidate(done.text, request)
            if isinstance(candidate, str):
                rejects[request.kind, candidate] += 1
            elif candidate.question.lower() in seen:
                rejects[request.kind, "duplicate"] += 1
            else:
                seen.add(candidate.question.lower())
                candidates.append(candidate)
        return Written(tuple(candidates), dict(rejects), cost)


def _tail(request: Request) -> str:
    facts = list(dict.fromkeys(fact.text for fact in request.context.telling))[:_MOST_FACTS]
    without = f", without the name {request.bridge}" if request.bridge else ""
    return f"Type: {request.kind}{without}\nFacts: {' | '.join(facts)}\nText: {' '.join(request.context.texts)}"


def _candidate(text: str, request: Request) -> Candidate | str:
    match = _LINES.search(text)
    if match is None:
        return "cut-short"
    question = " ".join(match["question"].split())
    answer = match["answer"].strip().rstrip(".").strip()
    if not question.endswith("?"):
        return "cut-short"
    support = support_of(question, answer, request.context)
    if not support:
        return "no-support"
    kind, bridge = request.kind, normalise(request.bridge)
    if bridge:
        support = request.context.unit_ids
        if f" {bridge} " in f" {normalise(question)} " or normalise(answer) == bridge:
            return "names-bridge"
    candidate = Candidate(question, answer, kind, _type_of(answer, request.context.telling), support)
    return candidate if is_of_kind(candidate) else replace(candidate, kind="single")


def support_of(question: str, answer: str, edge: EdgeContext) -> tuple[str, ...]:
    """Give the units that hold the answer and most of the question; for a derived answer, two that share most words."""
    wanted = normalise(answer)
    texts = [normalise(text) for text in edge.texts]
    if not wanted:
        return ()
    words = set(normalise(question).split()) | set(wanted.split())
    shared = [len(words & set(text.split())) for text in texts]
    holding = [index for index, text in enumerate(texts) if f" {wanted} " in f" {text} "]
    if holding:  # another may hold the answer by chance: the memory would go with a document that does not tell it
        most = max(shared[index] for index in holding)
        return tuple(edge.unit_ids[index] for index in holding if shared[index] == most)[:4]
    best = sorted(range(len(texts)), key=lambda index: (-shared[index], index))[:2]
    return tuple(edge.unit_ids[index] for index in best if shared[index] >= 2)


def _type_of(answer: str, facts: Sequence[Fact]) -> str:
    wanted = normalise(answer)
    if wanted in ("yes", "no"):
        return "YESNO"
    for fact in facts:
        if fact.type != "CONCEPT" and normalise(fact.text) == wanted:
            return fact.type
    if _YEAR.fullmatch(wanted):
        return "YEAR"
    first, _, unit = wanted.partition(" ")
    if first.replace(".", "", 1).isdigit() and unit:
        return "QUANTITY"
    return "CARDINAL" if wanted.replace(".", "", 1).isdigit() or wanted in NUMBERS else ""


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
