"""The reader of spans: an answer's own words are found in a passage, and that a passage tells none shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.registry import DEFAULT_ENCODER
from fedrag_flwr.models.span_network import SpanNetwork
from fedrag_flwr.models.spans import SHIPPED, SpanReader
from simulations.fits.spans import changes_of, low_rank, write_changes

PASSAGE = (
    "Harrow Lane Library. The library was opened by Maud Ellery on 4 May 1931. It has 14,000 books and is closed on "
    "Mondays. A new reading room was built in 1988 by the Corran brothers."
)
READER = SpanReader()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who opened the Harrow Lane Library?", "Maud Ellery"),
        ("When was the Harrow Lane Library opened?", "1931"),
        ("who built the new reading room", "Corran"),
    ],
)
def test_the_words_that_answer_are_found(question: str, answer: str) -> None:
    [span] = READER.read(question, [PASSAGE])
    assert answer in span.text
    assert span.text in PASSAGE
    assert span.score > 0


def test_what_a_passage_does_not_tell_scores_less() -> None:
    [told] = READER.read("Who opened the Harrow Lane Library?", [PASSAGE])
    [other] = READER.read("Who manages the Tarn Street swimming pool?", [PASSAGE])
    assert other.score < told.score
    assert other.told < told.told


def test_an_answer_far_down_a_long_passage_is_found() -> None:
    long = " ".join(f"Shelf {number} holds books about gardens and rivers." for number in range(120))
    [span] = READER.read("Who opened the Harrow Lane Library?", [f"{long} {PASSAGE}"])
    assert "Maud Ellery" in span.text


def test_each_text_has_its_span_in_their_order() -> None:
    texts = ["", PASSAGE, "The pool is heated.", PASSAGE * 8]
    alone = [READER.read("When was the library opened?", [text])[0] for text in texts]
    together = READER.read("When was the library opened?", texts)
    assert [one.text for one in together] == [one.text for one in alone]
    assert together[0].text == ""


def test_weights_that_are_torn_are_told(tmp_path: Path) -> None:
    torn = tmp_path / "spans.json"
    torn.write_bytes(SHIPPED.read_bytes()[:5_000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        SpanReader(torn).read("Who?", [PASSAGE])


def test_what_a_fit_changed_is_kept_and_added_again(tmp_path: Path) -> None:
    base = resolve(DEFAULT_ENCODER).parent
    network = SpanNetwork(base).eval()
    matrix = dict(network.named_parameters())["encoder.encoder.layer.5.output.dense.weight"]
    with torch.no_grad():
        matrix.add_(torch.outer(torch.randn(matrix.shape[0]), torch.randn(matrix.shape[1])), alpha=0.01)
    write_changes(tmp_path / "kept.json", dict(changes_of(network, base, 4)), "a change")
    again = SpanNetwork.load(base, tmp_path / "kept.json")
    windows = network.windows("Who opened it?", PASSAGE)
    with torch.inference_mode():
        for before, after in zip(network(windows), again(windows), strict=True):
            torch.testing.assert_close(before, after, rtol=0.02, atol=0.02)


def test_a_change_of_low_rank_is_kept_whole() -> None:
    before = torch.randn(12, 8)
    after = before + torch.outer(torch.randn(12), torch.randn(8))
    up, down = low_rank(before, after, 2)
    torch.testing.assert_close(before + up @ down, after)
