"""Memories by a language model of what a store holds: hyperedge by hyperedge, within a budget (FD-RAG 4.1, Table 6).

It goes through sentences that were not asked about yet, a few at a time: it may be stopped at any moment, and goes on
where it stopped. Where the model turns out to be sure of too little, it asks no more. What it made stays until a
document beneath it changes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

import numpy as np

from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, memory_of
from fedrag_flwr.memory.generate.model import AnswerCandidate, ModelGenerator, answer_candidates
from fedrag_flwr.memory.generate.round_trip import round_trip
from fedrag_flwr.memory.generate.verify import normalise, verify
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Cost, Hyperedge, Passage
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import document_of, under_title

_AT_ONCE = 4  # sentences a call
_TRIAL, _YIELD = 40, 0.2  # sentences after which there have to be so many memories for each
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Written:
    """What the model added: memories, rejected candidates by reason, what it cost, of how many sentences.

    `left` is about how many sentences the budget still reaches.
    """

    memories: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    sentences: int = 0
    left: int = 0

    def __add__(self, later: Written) -> Written:
        rejected = dict(Counter(self.rejected) + Counter(later.rejected))
        memories, sentences = self.memories + later.memories, self.sentences + later.sentences
        return Written(memories, rejected, self.cost + later.cost, sentences, later.left)


@dataclass(frozen=True, slots=True)
class MemoryWriter:
    """Lets a model write memories of a device's sentences."""

    device: str  # the device's name
    store: MemoryStore  # holds sentences, hyperedges and memories
    # encoder, pipeline: read the questions.
    encoder: Encoder
    pipeline: Pipeline
    generator: Callable[[], Generator]  # gives the model; called when there is something to ask
    seed: int  # handed to the model

    def write(
        self,
        tokens_per_kilotoken: int,
        *,
        first: Collection[str] = (),
        but: Collection[str] = (),
        stop: Callable[[], bool] = lambda: False,
    ) -> Written:
        """Ask about a few sentences, unless the budget is spent, and keep what comes back.

        Parameters
        ----------
        tokens_per_kilotoken
            Output tokens of the model for each 1,000 tokens of the passages, over all calls of this.
        first
            Ids of documents that come before all others.
        but
            Ids of documents about which nothing is asked.
        stop
            Asked after every sentence.
        """
        asked = self.store.asked()
        passages = [one for one in self.store.passages() if one.document_id not in but]
        corpus = sum(len(_TOKEN.findall(passage.text)) for passage in passages)
        budget = tokens_per_kilotoken * corpus // 1000 - sum(asked.values())
        wanted = self._open(passages, asked)
        if budget <= 0 or not wanted or self._yields_little(len(asked)):
            return Written()
        model, made, rejected = ModelGenerator(self.generator(), self.seed), list[Candidate](), Counter[str]()
        tokens: dict[str, int] = {}
        order = in_turns(self.store.hyperedges(), passages, wanted)
        order.sort(key=lambda sentence: document_of(sentence) not in first)
        for sentence in order[:_AT_ONCE]:
            before = model.cost.tokens_out
            made += _asked(wanted[sentence], model, rejected)
            tokens[sentence] = model.cost.tokens_out - before
            if model.cost.tokens_out >= budget or stop():
                break
        memories = self._keep(self._apart(made, rejected), tokens)
        left = len(wanted) - len(tokens)
        if spent := model.cost.tokens_out:
            left = min(left, len(tokens) * max(budget - spent, 0) // spent)
        return Written(memories, dict(rejected), model.cost, len(tokens), left)

    def _open(self, passages: Iterable[Passage], asked: Collection[str]) -> dict[str, list[AnswerCandidate]]:
        """The facts of sentences that were not asked about, by sentence, but for those that a memory of it tells."""
        told = {(unit, normalise(item.answer)) for item in self.store.items(self.device) for unit in item.support}
        found: defaultdict[str, list[AnswerCandidate]] = defaultdict(list)
        for one in chain.from_iterable(map(answer_candidates, passages)):
            if one.sentence.id not in asked and (one.sentence.id, normalise(one.fact.text)) not in told:
                found[one.sentence.id].append(one)
        return dict(found)

    def _yields_little(self, asked: int) -> bool:
        return asked >= _TRIAL and len(self.store.written_by_model()) < _YIELD * asked

    def _apart(self, candidates: Sequence[Candidate], rejected: Counter[str]) -> Candidates:
        """Those whose question no memory asks, no two the same, and to which no other sentence is the answer."""
        known = {normalise(item.question) for item in self.store.items(self.device)}
        fresh: dict[str, Candidate] = {}
        for candidate in candidates:
            question = normalise(candidate.question)
            if question in known or question in fresh:
                rejected["duplicate"] += 1
            else:
                fresh[question] = candidate
        asked = tuple(fresh.values())
        vectors = self.encoder.encode([candidate.question for candidate in asked])
        units = self.store.units("sentence")
        reasons = round_trip(asked, vectors, self.store.sentences(units.ids), units.vectors)
        rejected.update(reasons.values())
        kept = [row for row in range(len(asked)) if row not in reasons]
        return Candidates(asked, vectors, np.ones(len(asked), dtype=np.bool_)).at(kept)

    def _keep(self, made: Candidates, tokens: Mapping[str, int]) -> int:
        """Put candidates into the store as memories, with the sentences that were asked about; give their number."""
        analyses = self.pipeline.questions([candidate.question for candidate in made.items])
        each = zip(made.items, made.vectors, analyses, strict=True)
        items = tuple(memory_of(self.device, *one, by_model=True) for one in each)
        self.store.apply(Change(items=items, by_model=tuple(item.id for item in items), asked=tokens))
        return len(items)


def _asked(facts: Iterable[AnswerCandidate], model: ModelGenerator, rejected: Counter[str]) -> Iterator[Candidate]:
    """Questions for facts of one sentence that come back with their answers; the others are counted by reason."""
    for answer in facts:
        texts = [under_title(answer.passage.title, answer.sentence.text)]
        if (candidate := model.write(answer)) is None:
            rejected["unsure"] += 1
        elif reason := verify(candidate, texts):
            rejected[reason] += 1
        elif (whole := model.returned(candidate, answer)) is None:
            rejected["round-trip"] += 1
        elif reason := verify(whole, texts):
            rejected[reason] += 1
        else:
            yield whole


def in_turns(hyperedges: Iterable[Hyperedge], passages: Iterable[Passage], wanted: Collection[str]) -> list[str]:
    """Sentences in the order in which they are asked about: of each hyperedge in turn the one that weighs most.

    Parameters
    ----------
    hyperedges
        Those with most units come first; a passage among them stands for its sentences.
    passages
        Tell which sentences a passage has.
    wanted
        Ids of the sentences to order; those in no hyperedge come last.
    """
    inside = {passage.id: [sentence.id for sentence in passage.sentences] for passage in passages}
    queues = []
    for edge in sorted(hyperedges, key=lambda edge: (-len(edge.members), edge.id)):
        ranked = sorted(zip(edge.weights, edge.members, strict=True), key=lambda pair: (-pair[0], pair[1]))
        queues.append([one for _, unit in ranked for one in inside.get(unit, [unit]) if one in wanted])
    return list(dict.fromkeys(one for one in chain(chain.from_iterable(zip_longest(*queues)), wanted) if one))
