"""Distilling parsed documents into verified drafts: by rules, then by the model where facts are not covered yet.

Every draft is checked alone and asked back before anything is derived from it, and what is derived is checked alike.
What the rules make is a matter of the documents that there are, not of the order in which they came: what stands
already is asked back again where a change concerns it (`standing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.synthesis.derivation import derive
from fedrag_flwr.memory.synthesis.judging import Judge, Judged
from fedrag_flwr.memory.synthesis.model import LEAST_TOKENS, ModelSynthesizer
from fedrag_flwr.memory.synthesis.plan import EdgeContext
from fedrag_flwr.memory.synthesis.rules import Draft, RuleSynthesizer
from fedrag_flwr.memory.synthesis.standing import Drafts, Standing
from fedrag_flwr.memory.synthesis.verify import round_trip_model, verify
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Cost, Fact, Hyperedge, Passage, Progress, Sentence
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import document_of, under_title

Rejects = Counter[tuple[str, str]]  # by kind of draft and reason

ASKING_SHARE = 0.25  # of the model's output tokens, kept for asking its own items back
FACT_KINDS = frozenset(("single", "set"))  # of the drafts that a sentence yields; the others are derived from these
NOTHING_STANDING = Standing()


@dataclass(frozen=True, slots=True)
class Drafted:
    """What distilling needs of a document: its passages, the rules' drafts, and how many tokens they were made of.

    Its parse, by far the largest part (3 KB a token), is not kept.
    """

    passages: tuple[Passage, ...]
    drafts: tuple[Draft, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Distilled:
    """Verified drafts that are memories from now on, with their questions' vectors, and what making them cost.

    `vectors` is (drafts, dimension); `by_model` are the places of the drafts that the model wrote. `held` are drafts
    that did not come back now, and `withdrawn` those that stood otherwise until now or no longer follow. `rejected`
    counts drafts that were not kept, by kind and reason.
    """

    drafts: tuple[Draft, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    rejected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    corpus_tokens: int = 0
    by_model: range = range(0)
    held: Drafts = field(default_factory=Drafts)
    withdrawn: tuple[Draft, ...] = ()

    @property
    def rejects(self) -> dict[str, int]:
        """How many drafts were not kept for which reason."""
        counts: Counter[str] = Counter()
        for (_, reason), count in self.rejected.items():
            counts[reason] += count
        return dict(counts)


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

    def draft(self, parsed: Sequence[ParsedPassage]) -> Drafted:
        """Let the rules read one document's parsed passages."""
        passages = tuple(part.passage for part in parsed)
        return Drafted(passages, tuple(self.rules.drafts(parsed)), sum(len(part.doc) for part in parsed))

    def distil(
        self,
        documents: Sequence[Drafted],
        sentences: Units,
        hyperedges: Sequence[Hyperedge],
        progress: Progress,
        standing: Standing = NOTHING_STANDING,
    ) -> Distilled:
        """Distil documents.

        Of the rules, a device that grew has the memories of one that is built anew. The model composes over what is
        new, within a budget, and what it made stays until a document that it rests on changes.

        Parameters
        ----------
        documents
            The new documents, each drafted.
        sentences
            The device's sentences with their vectors, the new ones among them.
        hyperedges
            The device's hyperedges; the model composes over those that hold new units.
        progress
            Told how far it is.
        standing
            What the device holds and made already.
        """
        drafts = [draft for document in documents for draft in document.drafts]
        new = _Units.of(passage for document in documents for passage in document.passages)
        units = _Units.of((*new.passages, *standing.passages))
        judge = self._judge(units, new, sentences, standing)
        rejected: Rejects = Counter()
        progress("verify", 0, 2)
        stood = standing.drafts.where(lambda draft: draft.kind in FACT_KINDS)
        facts = judge.judge(self._sound(drafts, units, rejected), stood, standing.gone_questions)
        progress("verify", 1, 2)
        derived = self._derived(facts, judge, units, standing, rejected)
        progress("verify", 2, 2)
        rejected.update(facts.rejected)
        rejected.update(derived.rejected)
        corpus_tokens = sum(document.tokens for document in documents)
        changed = facts.changed + derived.changed
        ruled = changed.at(np.flatnonzero(changed.kept))
        composed, cost = self._composed(hyperedges, new, ruled.drafts, corpus_tokens, rejected, progress)
        made = ruled + self._asked(composed)
        return Distilled(
            made.drafts,
            made.vectors,
            rejected,
            cost,
            corpus_tokens,
            by_model=range(len(ruled), len(made)),
            held=changed.at(np.flatnonzero(~changed.kept)),
            withdrawn=(*facts.withdrawn, *derived.withdrawn),
        )

    def _judge(self, units: _Units, new: _Units, vectors_of: Units, standing: Standing) -> Judge:
        rows = {unit_id: row for row, unit_id in enumerate(vectors_of.ids)}
        came = vectors_of.vectors[[rows[sentence.id] for sentence in new.sentences]]
        changed = np.concatenate([came, standing.gone]) if len(standing.gone) else came
        ordered = vectors_of.vectors[[rows[sentence.id] for sentence in units.sentences]]
        return Judge(units.sentences, ordered, None if standing.stale else changed)

    def _derived(self, facts: Judged, judge: Judge, units: _Units, standing: Standing, rejected: Rejects) -> Judged:
        """What follows from the facts, judged; what stands and no longer follows is withdrawn."""
        touched = {document_of(draft.support[0]) for draft in (*facts.changed.drafts, *facts.withdrawn)}
        said = {(draft.question, draft.answer, draft.support) for draft in facts.kept}
        derived = derive(facts.kept, units.texts, units.facts, touched)
        following = [draft for draft in derived if (draft.question, draft.answer, draft.support) not in said]
        there = frozenset(following)

        def lapses(draft: Draft) -> bool:
            within = draft.kind == "comparison" or document_of(draft.support[0]) in touched
            return within and draft not in there

        stood = standing.drafts.where(lambda draft: draft.kind not in FACT_KINDS)
        lapsed, known = stood.where(lapses).drafts, frozenset(stood.drafts)
        new = self._sound([draft for draft in following if draft not in known], units, rejected)
        gone = [*standing.gone_questions, *(draft.question for draft in lapsed)]
        judged = judge.judge(new, stood.where(lambda draft: not lapses(draft)), gone)
        return replace(judged, withdrawn=(*judged.withdrawn, *lapsed))

    def _sound(self, drafts: Sequence[Draft], units: _Units, rejected: Rejects) -> Drafts:
        return self._asked(_sound(drafts, units, rejected))

    def _asked(self, drafts: Sequence[Draft]) -> Drafts:
        """Drafts with their questions' vectors."""
        vectors = self.encoder.encode([draft.question for draft in drafts])
        return Drafts(tuple(drafts), vectors, np.zeros(len(drafts), dtype=np.bool_))

    def _composed(
        self,
        hyperedges: Sequence[Hyperedge],
        units: _Units,
        covered: Sequence[Draft],
        corpus_tokens: int,
        rejected: Rejects,
        progress: Progress,
    ) -> tuple[list[Draft], Cost]:
        """Compositional items by the model, within the budget, each asked back."""
        asking = int(ASKING_SHARE * self.tokens_per_kilotoken)
        if (self.tokens_per_kilotoken - asking) * corpus_tokens // 1000 < LEAST_TOKENS:
            return [], Cost()  # a small change must not load the model for nothing
        contexts = [context for edge in hyperedges if (context := units.context(edge)) is not None]
        if not contexts:
            return [], Cost()
        progress("synthesise", 0, 1)
        generator = self.generator()
        synthesizer = ModelSynthesizer(generator, self.tokens_per_kilotoken - asking)
        made = synthesizer.drafts(contexts, corpus_tokens, [draft.answer for draft in covered], seed=self.seed)
        progress("synthesise", 1, 1)
        rejected.update(made.rejects)
        sound = _sound(made.drafts, units, rejected)
        progress("ask-back", 0, 1)
        asked = round_trip_model(
            sound,
            [[units.texts[unit] for unit in draft.support] for draft in sound],
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


def _sound(drafts: Sequence[Draft], units: _Units, rejected: Rejects) -> list[Draft]:
    sound = []
    for draft in drafts:
        reason = verify(draft, [units.texts[unit] for unit in draft.support])
        if reason:
            rejected[draft.kind, reason] += 1
        else:
            sound.append(draft)
    return sound
