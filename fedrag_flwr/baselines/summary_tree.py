"""A tree of summaries over the passages, searched as one flat collection (RAPTOR's idea; Sarthi et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedrag_flwr.baselines.reading import Construction, Meter, Reading
from fedrag_flwr.baselines.substrate import Floats, Substrate
from fedrag_flwr.baselines.summaries import Summarizer
from fedrag_flwr.hypergraph.neighbours import nearest, seed_prototypes
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.text.segment import under_title

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


class SummaryTree:
    """Ranks passages and summaries of all layers together by cosine (the collapsed tree).

    Parameters
    ----------
    substrate
        The device's documents and model.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        summarizer = Summarizer(substrate)
        rng = np.random.default_rng(substrate.seed)
        layer, vectors = _leaves(substrate), substrate.passage_vectors
        nodes: list[Node] = []
        all_vectors = [vectors]
        for depth in range(1, _MOST_LAYERS + 1):
            if len(layer) <= _CHILDREN:
                break
            layer, vectors = _parents(substrate, summarizer, depth, layer, vectors, rng)
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


def summary_tree(substrate: Substrate) -> Reading:
    """Passages and summaries of several layers, whatever is nearest."""
    tree = SummaryTree(substrate)
    return Reading(substrate, tree, tree.below)


def _leaves(substrate: Substrate) -> list[Node]:
    leaves = []
    for passage in substrate.passages:
        rows = [substrate.places[sentence.id] for sentence in passage.sentences]
        texts = tuple(under_title(passage.title, sentence.text) for sentence in passage.sentences)
        leaves.append(Node(passage.id, texts, substrate.sentence_vectors[rows], (passage.id,)))
    return leaves


def _parents(
    substrate: Substrate,
    summarizer: Summarizer,
    depth: int,
    layer: list[Node],
    vectors: Floats,
    rng: np.random.Generator,
) -> tuple[list[Node], Floats]:
    """Summarise clusters of a layer, the largest first, so that the model's share of them covers most."""
    seeds = seed_prototypes(vectors, -(-len(layer) // _CHILDREN), rng)
    cluster_of = nearest(vectors, seeds, 1)[:, 0]
    clusters = [np.flatnonzero(cluster_of == cluster).tolist() for cluster in range(len(seeds))]
    order = sorted((members for members in clusters if members), key=lambda members: (-len(members), members))
    texts = []
    for members in order:
        own = [text for row in members for text in layer[row].texts]
        texts.append(summarizer.summarize(own, np.concatenate([layer[row].text_vectors for row in members])))
    encoded = substrate.encode_kept(texts)
    parents = [
        Node(
            f"summary-{depth}-{number}",
            (text,),
            encoded[number : number + 1],
            tuple(name for row in members for name in layer[row].passages),
        )
        for number, (members, text) in enumerate(zip(order, texts, strict=True))
    ]
    return parents, encoded
