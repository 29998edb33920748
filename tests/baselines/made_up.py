"""The tests' made-up documents as one device's substrate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedrag_flwr.models.base import Completion, Generator, Prompt, Scores
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Answer, Document
from fedrag_flwr.retrieval.dense import QuestionVectors
from fedrag_flwr.text.segment import under_title
from simulations.baselines import BASELINES, Limits, Substrate
from tests.strategies.federation import DOCUMENTS, anew, small_models

SINGLE = "Who designed Tarn Bridge?"
MULTI_HOP = "Where was the designer of Tarn Bridge born?"
ASKED = [*((name, SINGLE) for name in BASELINES), ("iterative", MULTI_HOP), ("filter-requery", MULTI_HOP)]
LIMITS = Limits(passages=2, words=70, rounds=2, answer_tokens=8, tokens_per_kilotoken=250)
TEXTS: Mapping[str, tuple[str, str]] = {
    name.removesuffix(".md"): (text.partition("\n")[0].removeprefix("# "), text.partition("\n\n")[2].strip())
    for documents in DOCUMENTS.values()
    for name, text in documents.items()
}


@dataclass
class Counting:
    """The real model, and what it was asked and gave."""

    prompts: list[Prompt] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)

    def __call__(self) -> Generator:
        return self

    @property
    def id(self) -> str:
        return small_models().generator().id

    def complete(self, prompt: Prompt, **how: Any) -> list[Completion]:
        model = small_models().generator()
        with anew():  # its seconds are measured
            done = model.complete(prompt, **how)
        self.prompts.append(prompt)
        self.completions += done
        return done

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        return small_models().generator().score(prompt, continuations)

    def count_tokens(self, text: str) -> int:
        return small_models().generator().count_tokens(text)

    def mark(self) -> int:
        """Where the counting stands."""
        return len(self.prompts)

    def since(self, mark: int) -> Counting:
        """What was asked and given after a mark."""
        return Counting(self.prompts[mark:], self.completions[mark:])


@dataclass
class Parrot(Counting):
    """Says one thing whatever it is asked, under the real model's id: for what is read, not what is made of it."""

    word: str = "unknown"

    def complete(self, prompt: Prompt, *, n: int = 1, **how: Any) -> list[Completion]:
        self.prompts.append(prompt)
        return [Completion(self.word, 1, 1, 0.0)] * n


def made_up(
    model: Counting, texts: Mapping[str, tuple[str, str]] = TEXTS, limits: Limits = LIMITS, **changes: int
) -> Substrate:
    """Documents of (title, text) by id on one device, read and encoded as a device does."""
    documents = [Document(name, title, text, name) for name, (title, text) in texts.items()]
    passages = tuple(part.passage for parsed in small_models().pipeline.parse(documents) for part in parsed)
    encoder = load_encoder()
    sentences = [under_title(passage.title, sentence.text) for passage in passages for sentence in passage.sentences]
    return Substrate(
        device="all",
        documents=tuple(documents),
        passages=passages,
        passage_vectors=encoder.encode([under_title(passage.title, passage.text) for passage in passages]),
        sentence_vectors=encoder.encode(sentences),
        questions=QuestionVectors(encoder),
        pipeline=small_models().pipeline,
        generator=model,
        limits=replace(limits, **changes),
    )


def assert_alike(answers: Sequence[Answer]) -> None:
    """The same words from the same units, which score alike but for the last bits.

    Whoever set torch's threads between two encodings may have moved those.
    """
    told = {(one.text, tuple(replace(unit, score=0.0) for unit in one.evidence), one.sources) for one in answers}
    assert len(told) == 1
    scores = [[unit.score for unit in one.evidence] for one in answers]
    np.testing.assert_allclose(scores, scores[:1] * len(scores), atol=1e-6)
