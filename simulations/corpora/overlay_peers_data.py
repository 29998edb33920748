"""MedQuAD's collections and HuffPost's categories as the documents of 20 peers, and questions about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import make_document
from simulations.corpora.domain_data import DomainQuestion, split_of
from simulations.corpora.sentences import json_lines

PEERS = 20


@dataclass(frozen=True, slots=True)
class Peers:
    """Documents by peer and questions about all of them; `topic` names each peer's collection or category."""

    documents: Mapping[str, tuple[Document, ...]]
    topic: Mapping[str, str]
    questions: tuple[DomainQuestion, ...]

    def asked(self, split: str, count: int, seed: int) -> list[tuple[DomainQuestion, str]]:
        """So many questions of a split, drawn, each with the peer where it is asked."""
        rng = np.random.default_rng(seed)
        pool = [one for one in self.questions if one.split == split]
        names = sorted(self.documents)
        rows = rng.choice(len(pool), min(count, len(pool)), replace=False)
        return [(pool[row], names[int(rng.integers(len(names)))]) for row in rows]

    def some(self, share: float, by_topic: bool, seed: int) -> list[Document]:
        """The documents of a central store that holds a share of all samples, or of all topics (DRAG figure 2)."""
        rng = np.random.default_rng(seed)
        if by_topic:
            topics = sorted(set(self.topic.values()))
            kept = {topics[row] for row in rng.permutation(len(topics))[: round(share * len(topics))]}
            return [one for peer, own in sorted(self.documents.items()) if self.topic[peer] in kept for one in own]
        every = [one for _, own in sorted(self.documents.items()) for one in own]
        return [every[row] for row in rng.permutation(len(every))[: round(share * len(every))]]


def read_peers(name: str, data: Path, most: int) -> Peers:
    """Read ``medquad`` or ``huffpost`` from the folder of evaluation data, with so many documents of a peer.

    A topic is a collection or a category; the largest are cut into parts until there are 20, one for each peer.
    """
    documents, questions = {"medquad": _medquad, "huffpost": _huffpost}[name](data)
    parts = _parts(documents)
    held = {f"peer-{place:02d}": tuple(part[:most]) for place, (_, part) in enumerate(parts)}
    owner = {one.id: peer for peer, own in held.items() for one in own}
    asked = [
        DomainQuestion(key, text, answer, owner[document], document, split_of(key))
        for key, text, answer, document in questions
        if document in owner
    ]
    return Peers(held, {f"peer-{place:02d}": topic for place, (topic, _) in enumerate(parts)}, tuple(asked))


def _parts(documents: Mapping[str, Sequence[Document]]) -> list[tuple[str, Sequence[Document]]]:
    parts = sorted(documents.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:PEERS]
    while len(parts) < PEERS:
        parts.sort(key=lambda pair: (-len(pair[1]), pair[0]))
        topic, whole = parts.pop(0)
        parts += [(topic, whole[::2]), (topic, whole[1::2])]
    return sorted(parts, key=lambda pair: pair[0])


Asked = tuple[str, str, str, str]  # id, question, answer, document


def _medquad(data: Path) -> tuple[dict[str, list[Document]], list[Asked]]:
    """A document holds the first two answers about one focus; gold is an answer's first sentence."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    questions: list[Asked] = []
    for row in json_lines(data / "medquad.jsonl.gz"):
        name, answers = row["doc_id"].replace("/", "-"), []
        for one in row["qa"][:2]:
            words = " ".join(one["answer"].split()).split(" ")[:200]
            answers.append(" ".join(words))
            first = answers[-1].split(". ")[0]
            questions.append((f"{name}-{one['qid']}", one["question"], first, name))
        documents[row["collection"]].append(make_document(name, row["focus"], "\n\n".join(answers)))
    return documents, questions


def _huffpost(data: Path) -> tuple[dict[str, list[Document]], list[Asked]]:
    """A document says who wrote an article; the question gives its headline (DRAG 4.1)."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    questions: list[Asked] = []
    for place, row in enumerate(json_lines(data / "huffpost_news.jsonl.gz")):
        headline, authors = " ".join(row["headline"].split()), " ".join(row["authors"].split())
        if not headline or not authors:
            continue
        name = f"article-{place}"
        text = f'The article "{headline}" was written by {authors}. {row["short_description"]}'
        documents[row["category"]].append(make_document(name, headline, text))
        questions.append((name, f'Who wrote the article "{headline}"?', authors, name))
    return documents, questions
