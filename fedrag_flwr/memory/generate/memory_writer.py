"""Memories by a language model of what a store holds: hyperedge by hyperedge, within a budget (FD-RAG 4.1, Table 6).

It goes through sentences that were not asked about yet, and keeps what it has after every few. So it may be stopped at
any moment, and goes on where it stopped. What it made stays until a document beneath it changes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, memory_of
from fedrag_flwr.memory.generate.model import Asking, ModelGenerator, askings
from fedrag_flwr.memory.generate.round_trip import round_trip
from fedrag_flwr.memory.generate.verify import normalise, verify
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Cost, Hyperedge, Passage, Progress, Sentence, silent
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.text.segment import under_title

_AT_ONCE = 8  # sentences between two savings
_TOKEN = re.compile(r"\w+|[^\w\s]")
PHASE = "write"


@dataclass(frozen=True, slots=True)
class Written:
    """What the model added: memories, rejected candidates by reason, what it cost, and whether there is more to ask."""

    memories: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    left: int = 0


class MemoryWriter:
    """Lets a model write memories of a device's sentences.

    Parameters
    ----------
    device
        The device's name.
    store
        Holds sentences, hyperedges and memories.
    encoder, pipeline
        Read the questions.
    generator
        Gives the model; called when there is something to ask.
    seed
        Handed to the model.
    """

    def __init__(
        self,
        device: str,
        store: MemoryStore,
        encoder: Encoder,
        pipeline: Pipeline,
        generator: Callable[[], Generator],
        seed: int,
    ) -> None:
        self._device = device
        self._store = store
        self._encoder = encoder
        self._pipeline = pipeline
        self._generator = generator
        self._seed = seed

    def write(
        self,
        tokens_per_kilotoken: int,
        progress: Progress = silent,
        *,
        but: Collection[str] = (),
        stop: Callable[[], bool] = lambda: False,
    ) -> Written:
        """Write memories until the budget is spent, everything was asked about, or it is told to stop.

        Parameters
        ----------
        tokens_per_kilotoken
            Output tokens of the model for each 1,000 tokens of the passages, over all calls of this.
        progress
            Told how many of the sentences that the budget may reach are done.
        but
            Ids of documents about which nothing is asked.
        stop
            Asked after every few sentences.
        """
        asked = self._store.asked()
        passages = [one for one in self._store.passages() if one.document_id not in but]
        corpus = sum(len(_TOKEN.findall(passage.text)) for passage in passages)
        budget = tokens_per_kilotoken * corpus // 1000 - sum(asked.values())
        open_: defaultdict[str, list[Asking]] = defaultdict(list)
        for asking in chain.from_iterable(map(askings, passages)):
            if asking.sentence.id not in asked:
                open_[asking.sentence.id].append(asking)
        if budget <= 0 or not open_:
            return Written(left=len(open_))
        order = in_turns(self._store.hyperedges(), passages, open_)
        model = ModelGenerator(self._generator(), self._seed)
        work = _Work(model, self._checker())
        for done, sentence in enumerate(order):
            if model.cost.tokens_out >= budget or stop():
                break
            work.ask(sentence, open_[sentence])
            if len(work.tokens) == _AT_ONCE:
                self._save(work)
            share = max(model.cost.tokens_out / budget, (done + 1) / len(order))
            progress(PHASE, done + 1, max(done + 1, round((done + 1) / share)))
        self._save(work)
        return Written(work.memories, dict(work.rejected), model.cost, len(order) - work.done)

    def _checker(self) -> _Checker:
        units = self._store.units("sentence")
        known = {normalise(item.question) for item in self._store.items(self._device)}
        return _Checker(self._encoder, self._store.sentences(units.ids), units.vectors, known)

    def _save(self, work: _Work) -> None:
        """Keep what was made since the last time."""
        made, vectors = work.take()
        analyses = self._pipeline.questions([candidate.question for candidate in made])
        items = tuple(memory_of(self._device, *one, by_model=True) for one in zip(made, vectors, analyses, strict=True))
        self._store.apply(Change(items=items, by_model=tuple(item.id for item in items), asked=work.tokens))
        work.tokens = {}


@dataclass(slots=True)
class _Checker:
    """Compares questions with the device's sentences and their vectors, (n, dimension), and with what memories ask."""

    encoder: Encoder
    sentences: Sequence[Sentence]
    vectors: NDArray[np.float32]
    known: set[str]

    def apart(self, candidates: Sequence[Candidate], rejected: Counter[str]) -> Candidates:
        """Those whose question no memory asks, no two the same, and to which no other sentence is the answer."""
        fresh: dict[str, Candidate] = {}
        for candidate in candidates:
            question = normalise(candidate.question)
            if question in self.known or question in fresh:
                rejected["duplicate"] += 1
            else:
                fresh[question] = candidate
        self.known.update(fresh)
        asked = tuple(fresh.values())
        vectors = self.encoder.encode([candidate.question for candidate in asked])
        found = round_trip(asked, vectors, self.sentences, self.vectors)
        rejected.update(found.reasons.values())
        return Candidates(asked, vectors, np.ones(len(asked), dtype=np.bool_)).at(found.kept)


@dataclass(slots=True)
class _Work:
    """What was made since the last saving, `tokens` by sentence, and the counts of all."""

    model: ModelGenerator
    checker: _Checker
    made: list[Candidate] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    done: int = 0

    def ask(self, sentence: str, facts: Iterable[Asking]) -> None:
        """Ask about a sentence, and hold what comes back."""
        before = self.model.cost.tokens_out
        for asking in facts:
            if (candidate := self.model.write(asking)) is None:
                self.rejected["unsure"] += 1
            elif reason := verify(candidate, [under_title(asking.passage.title, asking.sentence.text)]):
                self.rejected[reason] += 1
            elif self.model.returns(candidate, asking.passage):
                self.made.append(candidate)
            else:
                self.rejected["round-trip"] += 1
        self.tokens[sentence] = self.model.cost.tokens_out - before
        self.done += 1

    def take(self) -> tuple[tuple[Candidate, ...], NDArray[np.float32]]:
        """What is held and passes the last check, with its vectors, (n, dimension); nothing is held afterwards."""
        found = self.checker.apart(self.made, self.rejected)
        self.made = []
        self.memories += len(found)
        return found.items, found.vectors


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
