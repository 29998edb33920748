"""Memories of parsed documents: by templates, then by the model where facts are not covered yet (FD-RAG 4.1).

Every candidate is checked by itself, against its evidence and by round trip. What templates make is a matter of the
documents that there are, not of the order in which they came: what is kept already is filtered again where a change
concerns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, Kept
from fedrag_flwr.memory.generate.model import LEAST_TOKENS, EdgeContext, ModelGenerator
from fedrag_flwr.memory.generate.round_trip import RoundTripFilter, round_trip_model
from fedrag_flwr.memory.generate.rules import RuleGenerator
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Cost, Fact, Hyperedge, Passage, Progress, Sentence
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title

Rejects = Counter[tuple[str, str]]  # by kind of candidate and reason

ASKING_SHARE = 0.25  # of the model's output tokens, kept for asking its own candidates back
NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as generation takes it: its passages, the templates' candidates, and its number of tokens.

    Its parse, by far the largest part (3 KB a token), is not kept. A document that is not in English has no candidates.
    """

    passages: tuple[Passage, ...]
    candidates: tuple[Candidate, ...] = ()
    tokens: int = 0
    english: bool = True


@dataclass(frozen=True, slots=True)
class Generated:
    """Verified candidates that are memories from now on, with their questions' vectors, and what making them cost.

    `vectors` is (memories, dimension); `by_model` are the places of those that the model wrote. `held` are candidates
    that the round-trip filter rejects now, and `withdrawn` those on which it decided otherwise until now. `rejected`
    counts candidates that were not kept, by kind and reason.
    """

    memories: tuple[Candidate, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    rejected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    corpus_tokens: int = 0
    by_model: range = range(0)
    held: Candidates = field(default_factory=Candidates)
    withdrawn: tuple[Candidate, ...] = ()

    @property
    def rejects(self) -> dict[str, int]:
        """How many candidates were not kept for which reason."""
        counts: Counter[str] = Counter()
        for (_, reason), count in self.rejected.items():
            counts[reason] += count
        return dict(counts)


class MemoryGenerator:
    """Makes memories of the documents that are new to a device.

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
        self.rules = RuleGenerator()

    def prepare(self, parsed: Sequence[ParsedPassage]) -> Prepared:
        """Let the templates read one document's parsed passages."""
        passages = tuple(part.passage for part in parsed)
        return Prepared(passages, tuple(self.rules.candidates(parsed)), sum(len(part.doc) for part in parsed))

    def generate(
        self,
        documents: Sequence[Prepared],
        sentences: Units,
        hyperedges: Sequence[Hyperedge],
        progress: Progress,
        kept: Kept = NOTHING_KEPT,
    ) -> Generated:
        """Make the memories of documents.

        Of templates, a device that grew has the memories of one that is built anew. The model composes over what is
        new, within a budget, and what it made stays until a document that it rests on changes.

        Parameters
        ----------
        documents
            The new documents.
        sentences
            The device's sentences with their vectors, the new ones among them.
        hyperedges
            The device's hyperedges; the model composes over those that hold new units.
        progress
            Told how far it is.
        kept
            What the device holds and made already.
        """
        new = _Units.of(passage for document in documents for passage in document.passages)
        rejected: Rejects = Counter()
        progress("verify", 0, 1)
        made = [candidate for document in documents for candidate in document.candidates]
        sound = self._encoded(_sound(made, new, rejected))
        filtered = self._filter(new, sentences, kept).filter(sound, kept.candidates, kept.gone_questions)
        progress("verify", 1, 1)
        rejected.update(filtered.rejected)
        corpus_tokens = sum(document.tokens for document in documents)
        changed = filtered.changed
        ruled = changed.at(np.flatnonzero(changed.kept))
        composed, cost = self._by_model(hyperedges, new, ruled.items, corpus_tokens, rejected, progress)
        memories = ruled + self._encoded(composed)
        return Generated(
            memories.items,
            memories.vectors,
            rejected,
            cost,
            corpus_tokens,
            by_model=range(len(ruled), len(memories)),
            held=changed.at(np.flatnonzero(~changed.kept)),
            withdrawn=filtered.withdrawn,
        )

    def _filter(self, new: _Units, vectors_of: Units, kept: Kept) -> RoundTripFilter:
        rows = {unit_id: row for row, unit_id in enumerate(vectors_of.ids)}
        came = vectors_of.vectors[[rows[sentence.id] for sentence in new.sentences]]
        changed = np.concatenate([came, kept.gone]) if len(kept.gone) else came
        sentences = [*new.sentences, *(s for passage in kept.passages for s in passage.sentences)]
        ordered = vectors_of.vectors[[rows[sentence.id] for sentence in sentences]]
        return RoundTripFilter(sentences, ordered, None if kept.stale else changed)

    def _encoded(self, candidates: Sequence[Candidate]) -> Candidates:
        """Candidates with their questions' vectors."""
        vectors = self.encoder.encode([candidate.question for candidate in candidates])
        return Candidates(tuple(candidates), vectors, np.zeros(len(candidates), dtype=np.bool_))

    def _by_model(
        self,
        hyperedges: Sequence[Hyperedge],
        units: _Units,
        covered: Sequence[Candidate],
        corpus_tokens: int,
        rejected: Rejects,
        progress: Progress,
    ) -> tuple[list[Candidate], Cost]:
        """Compositional candidates by the model, within the budget, each filtered."""
        asking = int(ASKING_SHARE * self.tokens_per_kilotoken)
        if (self.tokens_per_kilotoken - asking) * corpus_tokens // 1000 < LEAST_TOKENS:
            return [], Cost()  # a small change must not load the model for nothing
        contexts = [context for edge in hyperedges if (context := units.context(edge)) is not None]
        if not contexts:
            return [], Cost()
        progress("synthesise", 0, 1)
        generator = self.generator()
        writer = ModelGenerator(generator, self.tokens_per_kilotoken - asking)
        made = writer.candidates(contexts, corpus_tokens, [one.answer for one in covered], seed=self.seed)
        progress("synthesise", 1, 1)
        rejected.update(made.rejects)
        sound = _sound(made.candidates, units, rejected)
        progress("ask-back", 0, 1)
        asked = round_trip_model(
            sound,
            [[units.texts[unit] for unit in candidate.support] for candidate in sound],
            generator,
            token_budget=self.tokens_per_kilotoken * corpus_tokens // 1000 - made.cost.tokens_out,
            seed=self.seed,
        )
        progress("ask-back", 1, 1)
        rejected.update((sound[index].kind, reason) for index, reason in asked.reasons.items())
        return [sound[index] for index in asked.kept], made.cost + asked.cost


@dataclass(frozen=True, slots=True)
class _Units:
    """Passages, with each unit's text under its title and its facts by unit id, and all sentences."""

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

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences of all passages, in reading order."""
        return [sentence for passage in self.passages for sentence in passage.sentences]

    def context(self, edge: Hyperedge) -> EdgeContext | None:
        """What the model sees of a hyperedge; None where none of its units is new."""
        new = tuple(member for member in edge.members if member in self.texts)
        if not new:
            return None
        return EdgeContext(new, tuple(self.texts[unit] for unit in new), tuple(self.facts[unit] for unit in new))


def _sound(candidates: Sequence[Candidate], units: _Units, rejected: Rejects) -> list[Candidate]:
    sound = []
    for candidate in candidates:
        reason = verify(candidate, [units.texts[unit] for unit in candidate.support])
        if reason:
            rejected[candidate.kind, reason] += 1
        else:
            sound.append(candidate)
    return sound
