"""Multi-hop memories without a model: one memory's answer is described inside another memory's question.

FD-RAG's items with more than one supporting hyperedge (eq. 10, |S_r| > 1) are made from two items that meet in a name
and that may come from two devices: "Which spacecraft found plumes on Enceladus?" (Cassini) and "Which rocket launched
Cassini?" (Titan IV) give "Which rocket launched the spacecraft that found plumes on Enceladus?" (Titan IV).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, zip_longest
from typing import TypeVar

import numpy as np

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.describe import describe
from fedrag_flwr.memory.generate.verify import says, unsound
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.lexicon import words
from fedrag_flwr.text.segment import document_of

Owners = Callable[[MemoryItem], Collection[str]]  # the devices that stand behind a memory
Key = TypeVar("Key", bound=Hashable)

_TOKEN = re.compile(r"[^\W_]+(?:[-–'’/.][^\W_]+)*")
_NO_BRIDGE = frozenset(("DATE", "YEAR", "CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL", "TIME", "YESNO"))
_COMMON = words(
    "a an and at by did do does for from had has have in is it of on or than that the to was were what when where "
    "which who with"
)
_PLAIN = frozenset(("single", "set"))
_LONGEST = 6  # words of a bridge
_MAX_WORDS = 30
_MOST_CONTENT = 11
_WORDINGS = 2  # hosts kept for each name and answer
_LEAST_COMMON = 60
_COMMON_SHARE = 0.02  # names in a larger share of the questions are no bridges


@dataclass(frozen=True, slots=True)
class Composite:
    """A multi-hop question made from two items.

    Parameters
    ----------
    question, answer, answer_type
        The pair; the answer is the second item's.
    parts
        Ids of the item that the description comes from and of the item whose question holds it.
    bridge
        The name that both share and that the question does not say.
    hyperedges
        Of the item that answers and of the other in turn, so that no cut leaves out either's owners.
    anchors, origins
        Of both together, sorted.
    """

    question: str
    answer: str
    answer_type: str
    parts: tuple[str, str]
    bridge: str
    hyperedges: tuple[str, ...]
    anchors: tuple[str, ...]
    origins: tuple[str, ...]
    kind: str = "multi-hop"


@dataclass(frozen=True, slots=True)
class Composed:
    """What was composed, and how many compositions were rejected for which reason."""

    composites: tuple[Composite, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Described:
    """An item whose answer is a name, with the noun phrase that stands for that name."""

    item: MemoryItem
    text: str
    words: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True)
class _Host:
    """An item whose question holds a name, and where."""

    item: MemoryItem
    start: int
    end: int
    weight: float


def _origin(item: MemoryItem) -> Collection[str]:
    return (item.origin,)


def compose(
    items: Sequence[MemoryItem],
    limit_per_item: int,
    rng: np.random.Generator,
    *,
    limit: int = 20_000,
    owners: Owners = _origin,
) -> Composed:
    """Compose multi-hop questions from items that share a name, the most specific and plain ones first.

    Each must pass what a candidate must pass by itself (`verify.unsound`), and rest on two items of which neither tells
    the other's part. Rejected ones are counted as ``one-hop`` (both items tell of one hyperedge or document),
    ``names-bridge``, ``answer-in-bridge``, ``repeats`` (both ask in the same words), or as a candidate's are.

    Parameters
    ----------
    items
        Memories of one or several devices; those that are composed already are left alone.
    limit_per_item
        Most descriptions that are put into one item's question.
    rng
        Orders composites of equal weight where there are more than `limit`.
    limit
        Most composites in all; of more, those of each set of origins in turn.
    owners
        The devices that stand behind an item, each of which counts once.
    """
    single = [item for item in items if item.kind in _PLAIN]
    answers = agreed_answers(single, _key, owners)
    described = _by_bridge(single, answers)
    hosts = _by_name([one for one in single if answers[one.question.lower()] in (None, _key(one.answer))], described)
    too_common = max(_LEAST_COMMON, _COMMON_SHARE * len(single))
    found: list[tuple[float, Composite]] = []
    rejected: Counter[str] = Counter()
    seen: set[str] = set()
    for key in sorted(hosts):
        kept = uncommon([host.item for host in hosts[key]], too_common, owners)  # nobody would describe "Earth"
        for host in _best_hosts(list(compress(hosts[key], kept))):
            for weight, composite in _into(host, key, described[key], limit_per_item, rejected):
                if composite.question.lower() not in seen:
                    seen.add(composite.question.lower())
                    found.append((weight, composite))
    if len(found) > limit:
        noise = rng.random(len(found)) * 1e-3
        order = sorted(range(len(found)), key=lambda index: -(found[index][0] + noise[index]))
        order = in_turns(order, [composite.origins for _, composite in found])[:limit]
        found = [found[index] for index in sorted(order)]
    return Composed(tuple(composite for _, composite in found), dict(sorted(rejected.items())))


def _words(text: str) -> list[str]:
    return [word.lower().removesuffix("'s").removesuffix("’s") for word in _TOKEN.findall(text)]


def _key(text: str) -> tuple[str, ...]:
    words = _words(text)
    return tuple(words[1:] if words[:1] == ["the"] else words)


def _is_bridge(item: MemoryItem) -> bool:
    answer = item.answer
    if item.answer_type in _NO_BRIDGE or item.kind != "single":
        return False
    key = _key(answer)
    if not 1 <= len(key) <= _LONGEST or "," in answer or " and " in answer:
        return False
    return answer[:1].isupper() and len("".join(key)) >= 2 and answer[:1].isalpha()


def _by_bridge(
    items: Sequence[MemoryItem], answers: Mapping[str, tuple[str, ...] | None]
) -> dict[tuple[str, ...], list[_Described]]:
    """Collect descriptions by the name that they stand for, the best of each supporting hyperedge set."""
    table: dict[tuple[str, ...], dict[object, _Described]] = defaultdict(dict)
    for item in items:
        key = _key(item.answer)
        if not _is_bridge(item) or answers[item.question.lower()] != key:
            continue
        text = describe(item.question, item.answer_type)
        words = _words(text)
        content = frozenset(word for word in words if word not in _COMMON)
        if not text or _contains(words, key) or not _specific(text) or not 2 <= len(content) <= _MOST_CONTENT:
            continue
        weight = min(len(content), 6) - (1.0 if re.match(r"the (?:place|thing|one|person)\b", text) else 0.0)
        entry = _Described(item, text, content, weight)
        group: object = item.support or item.hyperedges or item.id
        best = table[key].get(group)
        if best is None or (entry.weight, entry.text) > (best.weight, best.text):
            table[key][group] = entry
    return {
        key: sorted(groups.values(), key=lambda entry: (-entry.weight, entry.text, entry.item.id))
        for key, groups in table.items()
    }


def _specific(text: str) -> bool:
    """Whether a description names something, or singles one out."""
    if re.search(r"\b[A-Z0-9]", text):
        return True
    return re.search(r"\b(?:first|only|last|\w+est|most)\b", text) is not None


def _contains(words: Sequence[str], key: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(key)]) == tuple(key) for at in range(len(words) - len(key) + 1))


def _by_name(
    items: Sequence[MemoryItem], described: dict[tuple[str, ...], list[_Described]]
) -> dict[tuple[str, ...], list[_Host]]:
    """Collect the items whose questions hold a name that can be described."""
    hosts: dict[tuple[str, ...], list[_Host]] = defaultdict(list)
    for item in items:
        matches, words = list(_TOKEN.finditer(item.question)), _words(item.question)
        weight = (1.0 if item.answer_type else 0.0) - 0.05 * abs(len(words) - 9)
        for size in range(min(_LONGEST, len(words)), 0, -1):
            for at in range(1, len(words) - size + 1):
                key = tuple(words[at : at + size])
                if key in described and _whole(item.question, matches, at, size):
                    hosts[key].append(_Host(item, matches[at].start(), matches[at + size - 1].end(), weight))
    return hosts


def _best_hosts(hosts: Sequence[_Host]) -> list[_Host]:
    """Keep two wordings for each answer."""
    kept: list[_Host] = []
    count: dict[tuple[str, ...], int] = defaultdict(int)
    for host in sorted(hosts, key=lambda host: (-host.weight, host.item.question, host.item.id)):
        answer = _key(host.item.answer)
        if count[answer] < _WORDINGS:
            count[answer] += 1
            kept.append(host)
    return kept


def _into(
    host: _Host, key: tuple[str, ...], entries: Sequence[_Described], limit: int, rejected: Counter[str]
) -> Iterator[tuple[float, Composite]]:
    chosen: list[_Described] = []
    for entry in entries:
        if len(chosen) >= limit:
            return
        if any(len(entry.words ^ other.words) <= 2 for other in chosen):
            continue
        question = _replace(host.item.question, host.start, host.end, entry.text)
        if reason := _unfit(question, host.item, entry, key):
            rejected[reason] += 1
            continue
        chosen.append(entry)
        yield host.weight + entry.weight - 0.5 * len(chosen), _composite(question, host.item, entry)


def _whole(question: str, matches: Sequence[re.Match[str]], at: int, size: int) -> bool:
    """Whether a name stands alone in a question: not within a longer name, and not possessive."""
    start, end = matches[at].start(), matches[at + size - 1].end()
    if not question[start].isupper() and not question[start].isdigit():
        return False
    if question[start:end].endswith(("'s", "’s")) or question[end : end + 1] in ("'", "’", "-", "–"):
        return False
    after = matches[at + size] if at + size < len(matches) else None
    if after is not None and question[end : after.start()] == " " and not after[0].islower():
        return False
    before = matches[at - 1]
    if at > 2 and before[0] == "of" and not matches[at - 2][0].islower():
        return False
    return not (at > 1 and before[0][:1].isupper() and question[before.end() : start] == " ")


def _replace(question: str, start: int, end: int, text: str) -> str:
    """Put a description in a name's place; an article and a class noun before the name go with it."""
    head = re.sub(r"\b[Tt]he (?:[a-z-]+ )?$", "", question[:start])
    return head + text + question[end:]


def _unfit(question: str, item: MemoryItem, entry: _Described, key: tuple[str, ...]) -> str | None:
    """Why a composition is rejected; None where it may be kept."""
    other = entry.item
    if other.id == item.id or set(other.hyperedges) & set(item.hyperedges) or _same_document(other, item):
        return "one-hop"
    words = _words(question)
    answer = _key(item.answer)
    if not answer:
        return "empty"
    if _contains(words, answer):
        return "gives-away"
    if _contains(words, key) or says(question, other.answer):
        return "names-bridge"
    if len(words) > _MAX_WORDS:
        return "length"
    if _contains(_words(other.answer), answer):
        return "answer-in-bridge"
    if len(entry.words & set(_words(item.question)) - _COMMON) > 1:
        return "repeats"
    return unsound(Candidate(question, item.answer, "multi-hop", item.answer_type, (other.id, item.id)))


def _same_document(first: MemoryItem, second: MemoryItem) -> bool:
    if first.origin != second.origin:
        return False
    return bool(set(map(document_of, first.support)) & set(map(document_of, second.support)))


def _composite(question: str, item: MemoryItem, entry: _Described) -> Composite:
    other = entry.item
    return Composite(
        question,
        item.answer,
        item.answer_type,
        (other.id, item.id),
        other.answer,
        tuple(dict.fromkeys(edge for pair in zip_longest(item.hyperedges, other.hyperedges) for edge in pair if edge)),
        tuple(sorted({*item.anchors, *other.anchors})),
        tuple(sorted({item.origin, other.origin})),
    )


# --- what no device alone decides ---------------------------------------------------------------


def agreed_answers(items: Sequence[MemoryItem], key: Callable[[str], Key], owners: Owners) -> dict[str, Key | None]:
    """The answer that more devices than any other give to a question in lower case; None where as many say otherwise.

    A device that gives several answers says that there are several, and counts for none of them.

    Parameters
    ----------
    items
        What devices say.
    key
        The form in which answers compare.
    owners
        The devices that stand behind an item.
    """
    answers: dict[str, dict[str, Key | None]] = defaultdict(dict)
    for item in items:
        said, answer = answers[item.question.lower()], key(item.answer)
        for owner in owners(item):
            said[owner] = answer if said.get(owner, answer) == answer else None
    found: dict[str, Key | None] = {}
    for question, said in answers.items():
        (first, most), *others = Counter(said.values()).most_common(2)
        found[question] = None if others and others[0][1] == most else first
    return found


def uncommon(items: Sequence[MemoryItem], most: float, owners: Owners) -> list[bool]:
    """Which of the items that say one name are kept: not those of a device alone that says it in more than `most`.

    None where all say it too often even without the device that says it most: none makes it too common for others.
    """
    counts = Counter(owner for item in items for owner in owners(item))
    loudest = max(counts, key=lambda name: (counts[name], name), default="")
    kept = [any(counts[owner] <= most for owner in owners(item)) for item in items]
    others = sum(keep and set(owners(item)) != {loudest} for keep, item in zip(kept, items, strict=True))
    return kept if others <= most else [False] * len(items)


def in_turns(order: Sequence[int], origins: Sequence[tuple[str, ...]]) -> list[int]:
    """The rows in an order in which the first of all origins stand before the second of any, so that all have room."""
    seen: Counter[tuple[str, ...]] = Counter()
    turns = {}
    for row in order:
        turns[row] = seen[origins[row]]
        seen[origins[row]] += 1
    return sorted(order, key=turns.__getitem__)
