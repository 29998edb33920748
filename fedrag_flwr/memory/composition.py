"""Multi-hop memories without a model: one memory's answer is described inside another memory's question.

FD-RAG's items with more than one supporting hyperedge (eq. 10, |S_r| > 1), made from two items that meet in a name, which
may come from two devices: "Which spacecraft found plumes on Enceladus?" (Cassini) and "Which rocket launched Cassini?"
(Titan IV) give "Which rocket launched the spacecraft that found plumes on Enceladus?" (Titan IV).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.memory.descriptions import describe
from fedrag_flwr.memory.synthesis_lexicon import words_of
from fedrag_flwr.records import MemoryItem

_TOKEN = re.compile(r"[^\W_]+(?:[-–'’/.][^\W_]+)*")
_NO_BRIDGE = frozenset(("DATE", "YEAR", "CARDINAL", "QUANTITY", "MONEY", "PERCENT", "ORDINAL", "TIME", "YESNO"))
_COMMON = words_of(
    "a an and at by did do does for from had has have in is it of on or than that the to was were what when where "
    "which who with"
)
_LONGEST = 6
_MAX_WORDS = 30


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
    hyperedges, anchors, origins
        Of both parts together, sorted.
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
class _Described:
    item: MemoryItem
    text: str
    words: frozenset[str]
    weight: float


def compose(
    items: Sequence[MemoryItem], limit_per_item: int, rng: np.random.Generator, *, limit: int = 20_000
) -> list[Composite]:
    """Compose multi-hop questions from items that share a name.

    Parameters
    ----------
    items
        Memories of one or several devices; multi-hop items among them are left alone.
    limit_per_item
        Most descriptions that are put into one item's question.
    rng
        Chooses among more composites than `limit`.
    limit
        Most composites in all.
    """
    single = [item for item in items if item.kind != "multi-hop"]
    described = _by_bridge(single)
    found = [composite for item in single for composite in _into(item, described, limit_per_item)]
    seen: set[str] = set()
    distinct = [c for c in found if not (c.question.lower() in seen or seen.add(c.question.lower()))]  # type: ignore[func-returns-value]
    if len(distinct) > limit:
        chosen = np.sort(rng.choice(len(distinct), size=limit, replace=False))
        distinct = [distinct[int(index)] for index in chosen]
    return distinct


def _words(text: str) -> list[str]:
    return [word.lower().removesuffix("'s").removesuffix("’s") for word in _TOKEN.findall(text)]


def _key(text: str) -> tuple[str, ...]:
    words = _words(text)
    return tuple(words[1:] if words[:1] == ["the"] else words)


def _is_bridge(item: MemoryItem) -> bool:
    answer = item.answer
    if item.answer_type in _NO_BRIDGE or item.kind not in ("single", "post-processing"):
        return False
    key = _key(answer)
    if not 1 <= len(key) <= _LONGEST or "," in answer or " and " in answer:
        return False
    return answer[:1].isupper() and len("".join(key)) >= 2 and (answer[:1].isalpha())


def _by_bridge(items: Sequence[MemoryItem]) -> dict[tuple[str, ...], list[_Described]]:
    answers: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for item in items:
        answers[item.question.lower()].add(_key(item.answer))
    table: dict[tuple[str, ...], list[_Described]] = defaultdict(list)
    for item in items:
        if not _is_bridge(item) or len(answers[item.question.lower()]) > 1:
            continue
        text = describe(item.question, item.answer_type)
        if not text:
            continue
        key, words = _key(item.answer), _words(text)
        if _contains(words, key) or not _specific(text):
            continue
        content = [word for word in words if word not in _COMMON]
        weight = min(len(content), 7) - 0.5 * max(0, len(content) - 9) + (0.5 if text.startswith("the ") else 0.0)
        if len(content) >= 2:
            table[key].append(_Described(item, text, frozenset(content), weight))
    for entries in table.values():
        entries.sort(key=lambda entry: (-entry.weight, entry.text, entry.item.id))
    return dict(table)


def _specific(text: str) -> bool:
    """Whether a description names something, or singles one out."""
    return (
        re.search(r"\b[A-Z0-9]", text) is not None
        or re.search(r"\b(?:first|only|last|\w+est|most)\b", text) is not None
    )


def _contains(words: Sequence[str], key: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(key)]) == tuple(key) for at in range(len(words) - len(key) + 1))


def _into(item: MemoryItem, described: dict[tuple[str, ...], list[_Described]], limit: int) -> Iterator[Composite]:
    matches = list(_TOKEN.finditer(item.question))
    words = _words(item.question)
    taken = 0
    for size in range(min(_LONGEST, len(words)), 0, -1):
        for at in range(1, len(words) - size + 1):
            key = tuple(words[at : at + size])
            entries = described.get(key)
            if entries is None or taken >= limit or not _whole(item.question, matches, at, size):
                continue
            chosen: list[_Described] = []
            for entry in entries:
                if len(chosen) + taken >= limit:
                    break
                if any(len(entry.words ^ other.words) <= 2 for other in chosen):
                    continue
                question = _replace(item.question, matches[at].start(), matches[at + size - 1].end(), entry.text)
                if _acceptable(question, item, entry, key):
                    chosen.append(entry)
                    yield _composite(question, item, entry)
            taken += len(chosen)


def _whole(question: str, matches: Sequence[re.Match[str]], at: int, size: int) -> bool:
    """Whether a name stands alone in a question: not within a longer name, and not possessive."""
    start, end = matches[at].start(), matches[at + size - 1].end()
    if not question[start].isupper() and not question[start].isdigit():
        return False
    if question[start:end].endswith(("'s", "’s")) or question[end : end + 1] in ("'", "’", "-", "–"):
        return False
    after = matches[at + size] if at + size < len(matches) else None
    if (
        after is not None
        and question[end : after.start()] == " "
        and (after[0][:1].isupper() or after[0][:1].isdigit())
    ):
        return False
    before = matches[at - 1]
    return not (at > 1 and before[0][:1].isupper() and question[before.end() : start] == " ")


def _replace(question: str, start: int, end: int, text: str) -> str:
    head = question[:start]
    head = re.sub(r"\b[Tt]he $", "", head)
    # "the astronomer Edwin Hubble": the class noun before the name goes with it
    head = re.sub(r"\b[Tt]he [a-z-]+ $", "", head)
    return head + text + question[end:]


def _acceptable(question: str, item: MemoryItem, entry: _Described, key: tuple[str, ...]) -> bool:
    other = entry.item
    if other.id == item.id or set(other.hyperedges) & set(item.hyperedges) or _same_document(other, item):
        return False
    words = _words(question)
    answer = _key(item.answer)
    if not answer or _contains(words, answer) or _contains(words, key) or len(words) > _MAX_WORDS:
        return False
    return not _contains(_words(other.answer), answer) and not any(char in question[:-1] for char in "?")


def _same_document(first: MemoryItem, second: MemoryItem) -> bool:
    if first.origin != second.origin:
        return False
    return bool({unit.split("#")[0] for unit in first.support} & {unit.split("#")[0] for unit in second.support})


def _composite(question: str, item: MemoryItem, entry: _Described) -> Composite:
    other = entry.item
    return Composite(
        question,
        item.answer,
        item.answer_type,
        (other.id, item.id),
        other.answer,
        tuple(sorted({*item.hyperedges, *other.hyperedges})),
        tuple(sorted({*item.anchors, *other.anchors})),
        tuple(sorted({item.origin, other.origin})),
    )
