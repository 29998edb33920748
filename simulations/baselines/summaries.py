"""Summaries of groups of texts, and a tree of them over the passages (RAPTOR; Sarthi et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrag_flwr.hypergraph.neighbours import nearest, seed_prototypes
from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import Cost, EvidenceUnit
from fedrag_flwr.text.segment import under_title
from simulations.baselines.reading import Construction, Finder, Meter
from simulations.baselines.substrate import Floats, Substrate

_READ_WORDS = 150  # of a group's most central texts that the model reads
_EXTRACT_WORDS = 45  # of them that stand for the group where the model is not asked
_MOST_TOKENS = 56
_LEAST_TOKENS = 24  # with fewer left no summary is begun
_ONE_LINE = Grammar(r"root ::= [^\n]+")

_SYSTEM = (
    "You sum up notes in one or two short sentences. Keep the names, places, dates and numbers that several notes "
    "share or that join them, and say nothing that the notes do not say."
)
_EXAMPLES = (
    (
        "Notes:\n"
        "- Red Kite. The film was directed by Tomas Hale and shown first in 1988.\n"
        "- Tomas Hale. Hale was born in the port of Sandmouth in 1952.\n"
        "- Sandmouth. The town exports salt and lies on the river Orm.",
        "Tomas Hale, born in 1952 in Sandmouth, a salt port on the river Orm, directed the film Red Kite of 1988.",
    ),
)


class Summarizer:
    """Summarises groups of a device's texts.

    The budget is `tokens_per_kilotoken` of the run's limits, over the passages' tokens as the model counts them. What
    it was not enough for is extracted: the texts nearest to their group's mean.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        share, generator = substrate.limits.tokens_per_kilotoken, substrate.generator
        texts = [passage.text for passage in substrate.passages] if share else []  # else the model is not loaded
        self._left = share * sum(generator().count_tokens(text) for text in texts) // 1000
        self.cost = Cost()
        self.by_model = 0
        self.extracted = 0

    @property
    def counts(self) -> tuple[str, ...]:
        """How many summaries were made how."""
        return (f"summaries-by-model={self.by_model}", f"summaries-extracted={self.extracted}")

    def summarize(self, texts: Sequence[str], vectors: Floats) -> str:
        """Summarise texts, at least one, with their vectors of shape (n, dimension)."""
        if self._left >= _LEAST_TOKENS and len(texts) > 1 and (text := self._written(texts, vectors)):
            self.by_model += 1
            return text
        self.extracted += 1
        return " ".join(central(texts, vectors, _EXTRACT_WORDS))

    def _written(self, texts: Sequence[str], vectors: Floats) -> str:
        notes = "\n".join(f"- {note}" for note in central(texts, vectors, _READ_WORDS))
        prompt = Prompt(_SYSTEM, f"Notes:\n{notes}", _EXAMPLES)
        done = self._substrate.complete_kept(prompt, _ONE_LINE, min(_MOST_TOKENS, self._left))
        self._left -= done.tokens_out
        self.cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
        return whole_sentences(done.text)


def central(texts: Sequence[str], vectors: Floats, words: int) -> list[str]:
    """The texts nearest to the mean of all, in their own order, that hold at most so many words; at least one."""
    nearness = vectors @ vectors.mean(axis=0)
    chosen: list[int] = []
    left = words
    for place in np.argsort(-nearness, kind="stable").tolist():
        length = len(texts[place].split())
        if chosen and length > left:
            break
        chosen.append(place)
        left -= length
    return [" ".join(texts[place].split()[:words]) for place in sorted(chosen)]


def whole_sentences(text: str) -> str:
    """A text without a last sentence that was cut short, unless that is all there is."""
    text = text.strip()
    end = max(text.rfind(mark) for mark in (". ", "! ", "? "))
    return text if end < 0 or text.endswith((".", "!", "?")) else text[: end + 1]


_CHILDREN = 6  # of a node on average; RAPTOR reports 6.7
_MOST_LAYERS = 3
_NODES = 24  # candidates of a question, of which the budget keeps the first


@dataclass(frozen=True, slots=True)
class Node:
    """A passage or a summary: the texts that its parent is made of, their vectors, and the passages below it."""

    id: str
    texts: tuple[str, ...]
    text_vectors: Floats
    passages: tuple[str, ...]


class SummaryTree(Finder):
    """Ranks passages and summaries of all layers together by cosine (the collapsed tree)."""

    def __init__(self, substrate: Substrate) -> None:
        super().__init__(substrate)
        summarizer = Summarizer(substrate)
        rng = np.random.default_rng(substrate.seed)
        layer, vectors = _leaves(substrate), substrate.passage_vectors
        nodes: list[Node] = []
        all_vectors = [vectors]
        for depth in range(1, _MOST_LAYERS + 1):
            if len(layer) <= _CHILDREN:
                break
            clusters = [[layer[row] for row in rows] for rows in _clusters(vectors, rng)]
            texts = [_summary(summarizer, own) for own in clusters]
            vectors = substrate.encode_kept(texts)
            below = [tuple(name for node in own for name in node.passages) for own in clusters]
            parts = enumerate(zip(texts, vectors[:, None], below, strict=True))
            layer = [Node(f"summary-{depth}-{row}", (text,), vector, own) for row, (text, vector, own) in parts]
            nodes += layer
            all_vectors.append(vectors)
        self._summaries = {node.id: node.texts[0] for node in nodes}
        self._ids = [*(passage.id for passage in substrate.passages), *self._summaries]
        self._vectors = np.concatenate(all_vectors)
        self.below = {node.id: node.passages for node in nodes}
        self.construction = Construction(summarizer.cost, summarizer.counts)

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the nearest passages and summaries."""
        scores = self._vectors @ self._substrate.questions.whole(question)
        best = [int(row) for row in np.argsort(-scores, kind="stable")[:_NODES]]
        return [self._unit(self._ids[row], float(scores[row])) for row in best]

    def _unit(self, name: str, score: float) -> EvidenceUnit:
        if name in self._summaries:
            return self._substrate.unit(name, self._summaries[name], score)
        passage = self._substrate.by_id[name]
        return self._substrate.unit(name, passage.text, score, passage.title)


def _leaves(substrate: Substrate) -> list[Node]:
    leaves = []
    for passage in substrate.passages:
        rows = [substrate.places[sentence.id] for sentence in passage.sentences]
        texts = tuple(under_title(passage.title, sentence.text) for sentence in passage.sentences)
        leaves.append(Node(passage.id, texts, substrate.sentence_vectors[rows], (passage.id,)))
    return leaves


def _clusters(vectors: Floats, rng: np.random.Generator) -> list[list[int]]:
    """Rows by their nearest seed, the largest cluster first, so that the model's share of them covers most."""
    seeds = seed_prototypes(vectors, -(-len(vectors) // _CHILDREN), rng)
    cluster_of = nearest(vectors, seeds, 1)[:, 0]
    clusters = [np.flatnonzero(cluster_of == cluster).tolist() for cluster in range(len(seeds))]
    return sorted((rows for rows in clusters if rows), key=lambda rows: (-len(rows), rows))


def _summary(summarizer: Summarizer, nodes: Sequence[Node]) -> str:
    texts = [text for node in nodes for text in node.texts]
    return summarizer.summarize(texts, np.concatenate([node.text_vectors for node in nodes]))
