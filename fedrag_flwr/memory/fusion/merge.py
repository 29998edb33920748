"""Fusing devices' memories: what says the same becomes one with all its owners; what floods is cut (FD-RAG eq. 18).

A memory's *statement* is its question with its answer. Statements of different wording are the same where they have one
key (the answers' words in their order, and what the questions turn on) and the questions come near. Statements that
contradict each other stay apart, each with its owners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.store.change import fused_id
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.asking import item_anchors
from fedrag_flwr.text.base import QuestionAnalysis

FUSION = "fusion"  # the origin of memories that fusion made
MOST_EDGES = 16
_LONGEST = 200  # characters of a reference, as the wire allows them
_BLOCK = 512
_SLACK = 1e-6  # a product of float32 vectors depends that much on the order of its sums
_LEAST_TRUTH = 0.99  # cosine of an embedding with that of its own words
_EQUAL = 1 - 1e-3  # of two vectors of equal words; what speaks for others has to pass as true wherever it is read


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of questions say, whatever the devices send along with them."""

    encode: Callable[[Sequence[str]], NDArray[np.float32]]  # gives the vectors of questions, unit rows
    analyse: Callable[[Sequence[str]], Sequence[QuestionAnalysis]]  # gives their analyses, of which anchors are made


@dataclass(frozen=True, slots=True)
class FusionRules:
    """When memories say the same, and how often one device may say it."""

    near: float = 0.95  # cosine from which two questions ask the same
    quota: int = 4  # most memories of one device whose questions ask the same, whatever they answer


def owners(item: MemoryItem) -> frozenset[str]:
    """The devices that stand behind a memory: its origin, or all owners of a merged one."""
    if item.origin != FUSION:
        return frozenset((item.origin,))
    return frozenset(name for owner, _, *others in map(_parts, item.hyperedges) for name in (owner, *others))


def references(item: MemoryItem) -> list[tuple[str, str]]:
    """Owner and id of each hyperedge of a memory; the id is "" for an owner of a merged one that named none.

    Those of `FUSION` are named as ``owner/id``, and where a merged memory has more owners than places for them, as
    ``owner/id/other/other``; all others are the origin's. No device's name holds a slash, so whatever ids a device
    gives its hyperedges, it speaks for itself alone.
    """
    if item.origin != FUSION:
        return [(item.origin, edge) for edge in item.hyperedges]
    return [(owner, edge) for owner, edge, *_ in map(_parts, item.hyperedges)]


def _parts(reference: str) -> list[str]:
    return reference.split("/") if "/" in reference else [reference, ""]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of (n, d) at length one: a device's own may be a hundredth off it."""
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def _near_products(vectors: NDArray[np.float32], others: NDArray[np.float32], near: float) -> NDArray[np.bool_]:
    """Which of (n, d) and (m, d) unit vectors are near, (n, m)."""
    return np.asarray(vectors @ others.T >= near - _SLACK)


def stacked(items: Sequence[MemoryItem]) -> NDArray[np.float32]:
    """The vectors of memories, (n, d), unit rows."""
    return unit(np.stack([item.embedding for item in items]).astype(np.float32, copy=False))


def sparse(vectors: NDArray[np.float32], rules: FusionRules) -> NDArray[np.bool_]:
    """Which of one device's questions, (n, d), stay: those before which fewer than the quota stay that are near.

    They are in the order of their ids.
    """
    stays = np.ones(len(vectors), dtype=np.bool_)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        before = _near_products(block, vectors[:start][stays[:start]], rules.near).sum(axis=1)
        near, here = _near_products(block, block, rules.near), stays[start : start + _BLOCK]
        for place in np.flatnonzero(before + near.sum(axis=1) > rules.quota):  # itself is among them
            here[place] = before[place] + np.count_nonzero(near[place, :place] & here[:place]) < rules.quota
    return stays


def same_statements(items: Sequence[MemoryItem], near: float) -> list[list[MemoryItem]]:
    """Group memories whose statements have one key: each goes, by id, to the first of another device that comes near.

    So a group has one centre and is no chain.
    """
    order = sorted(items, key=lambda item: item.id)
    if len({item.origin for item in order}) <= 1:
        return [[item] for item in order]
    vectors = stacked(order)
    group_of = np.full(len(order), -1)
    for start in range(0, len(order), _BLOCK):
        close = _near_products(vectors[start : start + _BLOCK], vectors, near)
        for place in range(len(close)):
            centre = start + place
            if group_of[centre] >= 0:
                continue
            own = order[centre].origin
            joining = np.flatnonzero(close[place] & (group_of < 0)).tolist()
            group_of[[centre, *(row for row in joining if order[row].origin != own)]] = centre
    groups: defaultdict[int, list[MemoryItem]] = defaultdict(list)
    for item, centre in zip(order, group_of.tolist(), strict=True):
        groups[centre].append(item)
    return list(groups.values())


def mergeable(group: Sequence[MemoryItem], near: float, words: Words) -> list[list[MemoryItem]]:
    """Split what says the same by kind and type of answer, and take out what is worded otherwise than its vector says.

    For one of them speaks for all in the end: a device that sends others' vectors under words of its own, or their
    words with another vector, would silence them. Those that are left are grouped again, for their centre may be gone.
    """
    if len(group) == 1:
        return [list(group)]
    parts: defaultdict[tuple[str, str], list[MemoryItem]] = defaultdict(list)
    for item in group:
        parts[item.kind, item.answer_type].append(item)
    split = []
    for members in parts.values():
        honest = _are_as_worded(members, words)
        split += [[item] for item, fits in zip(members, honest, strict=True) if not fits]
        split += same_statements(list(compress(members, honest)), near)
    return split


def _are_as_worded(items: Sequence[MemoryItem], words: Words) -> list[bool]:
    """Whose vectors are those of their words; equal words with one vector, all true or all false, are not encoded."""
    questions, vectors = list(dict.fromkeys(item.question for item in items)), stacked(items)
    if len(questions) == 1 and np.all(vectors @ vectors[0] >= _EQUAL):
        return [True] * len(items)
    true = dict(zip(questions, words.encode(questions), strict=True))
    return [float(true[item.question] @ vector) >= _EQUAL for item, vector in zip(items, vectors, strict=True)]


def is_as_worded(item: MemoryItem, vector: NDArray[np.float32]) -> bool:
    """Whether a memory's embedding is the vector of its question, as far as half precision tells."""
    return float(vector @ item.embedding) >= _LEAST_TRUTH * float(np.linalg.norm(item.embedding))


def one_of(members: Sequence[MemoryItem], words: Words) -> MemoryItem:
    """One memory for several: the shortest question speaks, and the hyperedges of all support it, owners in turn.

    Owners without a hyperedge are named, too, and those beyond the bound as far as the references have room for them.
    Anchors on which the members differ are made of the question: false ones would hide what the others say.
    """
    if len(members) == 1:
        return members[0]
    speaker = min(members, key=lambda item: (len(item.question), item.id))
    by_owner: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item in sorted(members, key=lambda item: item.id):
        named = (f"{owner}/{edge}" for owner, edge in references(item) if edge and "/" not in edge)
        by_owner[item.origin] |= dict.fromkeys(named)  # each names one owner; ids with a slash go
    names = sorted(by_owner)
    lists = [list(by_owner[name]) or [f"{name}/"] for name in names]
    turns = [edges[turn] for turn in range(MOST_EDGES) for edges in lists if turn < len(edges)]
    anchors = speaker.anchors
    if any(item.anchors != anchors for item in members):
        [analysis] = words.analyse([speaker.question])
        anchors = item_anchors(analysis, speaker.answer_type)
    return replace(
        speaker,
        id=fused_id(*sorted(item.id for item in members)),
        origin=FUSION,
        hyperedges=_naming(names[MOST_EDGES:], turns[:MOST_EDGES]),
        anchors=anchors,
    )


def _naming(others: Sequence[str], references: Sequence[str]) -> tuple[str, ...]:
    """References that also name other owners, each where there is room for it."""
    named = list(references)
    for name in others:
        place = min(range(len(named)), key=lambda place: len(named[place]))
        if len(named[place]) + 1 + len(name) <= _LONGEST:
            named[place] += f"/{name}"
    return tuple(named)
