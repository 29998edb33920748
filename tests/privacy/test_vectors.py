"""The vector of several sentences is of what the operators leave of them, and of too few there is none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.vectors import FEWEST, Content, mean_vectors
from tests.privacy.conftest import ExportMaker

PLAIN = ("The ferry leaves at noon.", "Salt is mined in the hills.", "The mill stands by the river.", "Copper is sold.")
NAMED = "Maria Lopez visited the clinic in the spring."


def content(texts: tuple[str, ...], seed: int = 0) -> Content:
    """Sentences with vectors that no encoder made, so that a kept one and a new one differ."""
    rows = np.random.default_rng(seed).normal(size=(len(texts), 8)).astype(np.float32)
    return Content(texts, rows / np.linalg.norm(rows, axis=1, keepdims=True))


def encode(texts: list[str]) -> NDArray[np.float32]:
    return np.eye(8, dtype=np.float32)[[len(text) % 8 for text in texts]]


def operate(bundles: list[Bundle]) -> list[Bundle]:
    """Masks one name, and refuses what is secret."""
    return [
        replace(one, prose=(one.prose[0].replace("Lopez", "[PERSON]"),), refusal="secret" * ("secret" in one.prose[0]))
        for one in bundles
    ]


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.linalg.norm(vector)


def test_what_stays_counts_as_kept_and_what_is_rewritten_anew() -> None:
    told = content((*PLAIN, NAMED, "It is secret."))
    mean = mean_vectors({"told": told}, operate, encode)["told"]
    expected = np.vstack([told.vectors[:4], encode([NAMED.replace("Lopez", "[PERSON]")])]).mean(axis=0)
    assert np.allclose(mean, unit(expected), atol=1e-6)


@given(st.lists(st.integers(0, 7), max_size=4), st.integers(0, 3))
def test_each_content_has_a_mean_of_its_own_or_none(sizes: list[int], secret: int) -> None:
    hidden = tuple(f"It is secret {n}." for n in range(secret))
    contents = {
        str(seed): content((*hidden, *(f"Sentence {n}." for n in range(size))), seed) for seed, size in enumerate(sizes)
    }
    means = mean_vectors(contents, operate, encode)
    assert list(means) == [str(seed) for seed, size in enumerate(sizes) if size >= FEWEST]
    for name, mean in means.items():
        assert np.allclose(mean, unit(contents[name].vectors[secret:].mean(axis=0)), atol=1e-6)


@pytest.fixture(scope="module")
def sentences(encoder: Encoder) -> Content:
    texts = (*PLAIN[:3], NAMED)
    return Content(texts, encoder.encode(texts))


def test_a_masked_name_is_in_no_vector(export_of: ExportMaker, encoder: Encoder, sentences: Content) -> None:
    export = export_of("type-masking", device="a")
    (shown,) = export.release_summaries({"community-1": "Subjects: Harbours."}, {"community-1": sentences}).items
    masked = encoder.encode([*PLAIN[:3], NAMED.replace("Maria Lopez", "[PERSON]")])
    assert np.allclose(shown.vector, unit(masked.mean(axis=0)), atol=2e-3)
    assert not np.allclose(shown.vector, unit(sentences.vectors.mean(axis=0)), atol=2e-3)


def test_of_few_sentences_it_is_the_text_s(export_of: ExportMaker, encoder: Encoder, sentences: Content) -> None:
    export = export_of("type-masking", device="a")
    few = Content(sentences.texts[: FEWEST - 1], sentences.vectors[: FEWEST - 1])
    (shown,) = export.release_summaries({"community-1": "Subjects: Harbours."}, {"community-1": few}).items
    assert np.allclose(shown.vector, encoder.encode(["Subjects: Harbours."])[0], atol=2e-3)


def test_what_is_kept_back_counts_in_no_vector_of_passages(export_of: ExportMaker, encoder: Encoder) -> None:
    passages = content((PLAIN[0], "Maria Lopez.", NAMED, "Salt. " * 4_000, PLAIN[1]))
    passages = Content(passages.texts, encoder.encode(list(passages.texts)))
    masking = export_of("type-masking", device="a")
    masked = encoder.encode([NAMED.replace("Maria Lopez", "[PERSON]")])
    expected = np.vstack([passages.vectors[:1], masked, passages.vectors[4:]])
    assert np.allclose(masking.shown_vectors(passages), expected, atol=1e-5)
    plain = export_of("none", device="a")
    assert np.array_equal(plain.shown_vectors(passages), passages.vectors[[0, 1, 2, 4]])
    assert plain.shown_vectors(Content((), passages.vectors[:0])).shape == (0, encoder.dimension)
