"""Distilling parsed documents into verified drafts: by rules, then by the model where facts are not covered yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.synthesis import Draft, RuleSynthesizer
from fedrag_flwr.memory.synthesis_model import LEAST_TOKENS, EdgeContext, ModelSynthesizer
from fedrag_flwr.memory.verify import round_trip, round_trip_model, verify
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Cost, Fact, Hyperedge, Passage, Progress
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title

ASKING_SHARE = 0.25  # of the model's output tokens, kept for asking its own items back


@dataclass(frozen=True, slots=True)
class Distilled:
    """Verified drafts with their questions' vectors, how many were rejected for which reason, and the model's cost.

    `vectors` is (drafts, dimension).
    """

    drafts: tuple[Draft, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    rejects: Mapping[str, int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    corpus_tokens: int = 0


class Distiller:
    """Makes memories of the documents that are new to a device (FD-RAG 4.1).

    Parameters
    ----------
    encoder
        Encodes questions and units.
    generator
        Gives the local model; called only where its budget is above 0.
    tokens_per_kilotoken
        Output tokens of the model for each 1,000 corpus tokens, asking back included.
    seed
        Handed to the model.
    """

    def __init__(
        self, encoder: Encoder, generator: Callable[[], Generator], tokens_per_kilotoken: int, seed: int
    ) -> None:
        self.encoder = encoder
        self.generator = generator
        self.tokens_per_kilotoken = tokens_per_kilotoken
        self.seed = seed
        self.rules = RuleSynthesizer()

    def distil(
        self,
        documents: Sequence[Sequence[ParsedPassage]],
        sentences: Units,
        hyperedges: Sequence[Hyperedge],
        progress: Progress,
    ) -> Distilled:
        """Distil documents.

        Parameters
        ----------
        documents
            The parsed passages of each new document.
        sentences
            The device's sentences with their vectors, the new ones among them.
        hyperedges
            The device's hyperedges; the model composes over those that hold new units.
        progress
            Told how far it is.
        """
        known = self.rules.classes(part for passages in documents for part in passages)
        drafts: list[Draft] = []
        for done, parsed in enumerate(documents):
            progress("distil", done, len(documents))
            drafts += self.rules.drafts(parsed, known)
        progress("distil", len(documents), len(documents))
        units = _Units.of(part.passage for parsed in documents for part in parsed)
        rejects: Counter[str] = Counter()
        kept, vectors = self._asked_back(_sound(drafts, units, rejects), units, sentences, rejects)
        corpus_tokens = sum(len(part.doc) for parsed in documents for part in parsed)
        composed, cost = self._composed(hyperedges, units, kept, corpus_tokens, rejects)
        if composed:
            vectors = np.concatenate([vectors, self.encoder.encode([draft.question for draft in composed])])
        return Distilled((*kept, *composed), vectors, rejects, cost, corpus_tokens)

    def _asked_back(
        self, drafts: Sequence[Draft], units: _Units, vectors_of: Units, rejects: Counter[str]
    ) -> tuple[list[Draft], NDArray[np.float32]]:
        vectors = self.encoder.encode([draft.question for draft in drafts])
        if not drafts:
            return [], vectors
        sentences = [sentence for passage in units.passages for sentence in passage.sentences]
        rows = {unit_id: row for row, unit_id in enumerate(vectors_of.ids)}
        sentence_vectors = vectors_of.vectors[[rows[sentence.id] for sentence in sentences]]
        asked = round_trip(drafts, vectors, sentences, sentence_vectors)
        rejects.update(asked.rejects)
        return [drafts[index] for index in asked.kept], vectors[list(asked.kept)]

    def _composed(
        self,
        hyperedges: Sequence[Hyperedge],
        units: _Units,
        covered: Sequence[Draft],
        corpus_tokens: int,
        rejects: Counter[str],
    ) -> tuple[list[Draft], Cost]:
        """Compositional items by the model, within the budget, each asked back."""
        asking = int(ASKING_SHARE * self.tokens_per_kilotoken)
        if (self.tokens_per_kilotoken - asking) * corpus_tokens // 1000 < LEAST_TOKENS:
            return [], Cost()  # a small change must not load the model for nothing
        contexts = [context for edge in hyperedges if (context := units.context(edge)) is not None]
        if not contexts:
            return [], Cost()
        generator = self.generator()
        synthesizer = ModelSynthesizer(generator, self.tokens_per_kilotoken - asking)
        made = synthesizer.drafts(contexts, corpus_tokens, [draft.answer for draft in covered], seed=self.seed)
        rejects.update(made.rejects)
        sound = _sound(made.drafts, units, rejects)
        asked = round_trip_model(
            sound,
            [[units.texts[unit] for unit in draft.support] for draft in sound],
            generator,
            token_budget=asking * corpus_tokens // 1000,
            seed=self.seed,
        )
        rejects.update(asked.rejects)
        return [sound[index] for index in asked.kept], made.cost + asked.cost


@dataclass(frozen=True, slots=True)
class _Units:
    """New passages, with each unit's text under its title and its facts by unit id."""

    passages: tuple[Passage, ...]
    texts: Mapping[str, str]
    facts: Mapping[str, tuple[Fact, ...]]

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> _Units:
        kept = tuple(passages)
        texts = {p.id: under_title(p.title, p.text) for p in kept}
        facts = {p.id: p.facts for p in kept}
        for passage in kept:
            texts |= {s.id: under_title(passage.title, s.text) for s in passage.sentences}
            facts |= {s.id: s.facts for s in passage.sentences}
        return cls(kept, texts, facts)

    def context(self, edge: Hyperedge) -> EdgeContext | None:
        """What the model sees of a hyperedge; None where none of its units is new."""
        new = tuple(member for member in edge.members if member in self.texts)
        if not new:
            return None
        facts = tuple(fact for unit in new for fact in self.facts[unit])
        return EdgeContext(new, tuple(self.texts[unit] for unit in new), facts)


def _sound(drafts: Sequence[Draft], units: _Units, rejects: Counter[str]) -> list[Draft]:
    sound = []
    for draft in drafts:
        reason = verify(draft, [units.texts[unit] for unit in draft.support])
        if reason:
            rejects[reason] += 1
        else:
            sound.append(draft)
    return sound
