"""What is heard of an answer while the model writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from fedrag_flwr.answering.read import Reader
from fedrag_flwr.models.base import Completion, Generator, Grammar, Heard, Prompt, Scores
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.records import EvidenceUnit

UNITS = [EvidenceUnit("u", "Tarn Bridge was designed by the engineer Odile Varro.", "desk", 0.8, "Tarn Bridge")]


def test_all_of_the_answer_so_far_is_heard() -> None:
    generator = LlamaGenerator(resolve("smollm2-135m"), context_tokens=512)
    texts: list[str] = []
    reader = Reader(lambda: generator, 16)
    draft = reader.read("Who designed Tarn Bridge, and what was he?", UNITS, texts.append)
    assert len(texts) > 2
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert draft.text.startswith(texts[-1].strip('" ').rstrip("."))
    assert draft.text == reader.read("Who designed Tarn Bridge, and what was he?", UNITS).text
    generator.close()


@dataclass(frozen=True)
class Speaking:
    """A model that says some pieces, whatever it is asked."""

    pieces: Sequence[str]
    id: str = "speaking"

    def complete(
        self,
        prompt: Prompt,
        *,
        grammar: Grammar | None = None,
        max_tokens: int = 64,
        n: int = 1,
        seed: int = 0,
        heard: Heard | None = None,
    ) -> list[Completion]:
        if heard is not None:
            for piece in self.pieces:
                heard(piece)
        return [Completion("".join(self.pieces), 1, 1, 0.0)] * n

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        return Scores(np.zeros(len(continuations)), 1, 0.0)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (("unk", "nown"), []),
        (("Un", "known", " Pleasures"), ["Unknown Pleasures"]),
        (("I do", " not", " know", "."), ["I do"]),
        (("19", "24"), ["19", "1924"]),
    ],
)
def test_that_it_does_not_know_is_not_heard(pieces: Sequence[str], heard: list[str]) -> None:
    generator: Generator = Speaking(pieces)
    texts: list[str] = []
    Reader(lambda: generator, 8).read("What is it?", UNITS, texts.append)
    assert texts == heard
