"""What is heard of an answer while the model writes it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fedrag_flwr.answering.read import Reader
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.records import EvidenceUnit
from tests.scripted import Scripted

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


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (("unk", "nown"), []),
        (("Un", "known", " Pleasures"), ["Unknown Pleasures"]),
        (("I do", " not", " know", "."), ["I do"]),
        (("19", "24"), ["19", "1924"]),
    ],
)
def test_that_it_does_not_know_is_not_heard(pieces: tuple[str, ...], heard: list[str]) -> None:
    texts: list[str] = []
    Reader(Scripted(pieces), 8).read("What is it?", UNITS, texts.append)
    assert texts == heard
