"""Finding an answer's words in passages, in a tenth of a second, by a small network that ships with the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.chat import Turns
from fedrag_flwr.models.encoder import has_bfloat16, in_own_thread
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.registry import DEFAULT_ENCODER

if TYPE_CHECKING:
    from torch import Tensor

    from fedrag_flwr.models.span_network import SpanNetwork

SHIPPED = Path(__file__).with_name("spans.json")
LONGEST = 16  # tokens of an answer
NO_SPAN = -1e4  # log-odds of what cannot be an answer
_BATCH = 8  # windows in one forward pass


@dataclass(frozen=True, slots=True)
class Span:
    """An answer's words in a passage."""

    text: str  # the words, as they stand there
    score: float  # log-odds of these words against none in the passage
    told: float  # log-odds that the passage tells an answer at all


class SpanReader:
    """Finds the likeliest answer in each passage; loaded on first use, from the default encoder and its adapter."""

    def __init__(self, adapter: Path = SHIPPED) -> None:
        self._adapter = adapter
        self._turns = Turns()
        self._network: SpanNetwork | None = None

    def read(self, question: str, texts: Sequence[str]) -> list[Span]:
        """The likeliest answer in each of the texts; raises ModelError where the network cannot be loaded."""
        with self._turns:
            network = self._network = self._network or self._load()
            return in_own_thread(lambda: _read(network, question, texts), has_bfloat16())

    def _load(self) -> SpanNetwork:
        try:
            import torch

            from fedrag_flwr.models.span_network import SpanNetwork

            network = SpanNetwork.load(resolve(DEFAULT_ENCODER).parent, self._adapter)
        except Exception as error:  # whatever the libraries below make of a broken file
            raise ModelError(
                f"the reader of spans cannot be loaded ({type(error).__name__})",
                where=self._adapter.name,
                fix="install the program anew",
            ) from error
        return network.to(torch.bfloat16) if has_bfloat16() else network


def _read(network: SpanNetwork, question: str, texts: Sequence[str]) -> list[Span]:
    """The likeliest span of each text, of all its windows."""
    import torch

    windows = [(place, one) for place, text in enumerate(texts) for one in network.windows(question, text)]
    windows.sort(key=lambda found: len(found[1].tokens))
    best: dict[int, Span] = {}
    for first in range(0, len(windows), _BATCH):
        batch = windows[first : first + _BATCH]
        with torch.inference_mode():
            spans, told = network([one for _, one in batch])
        for row, (place, window) in enumerate(batch):
            begin, end, score = _best(spans[row], window.head, len(window.offsets))
            said = texts[place][window.offsets[begin][0] : window.offsets[end][1]] if window.offsets else ""
            if place not in best or score > best[place].score:
                best[place] = Span(said, score, float(told[row]))
    return [best[place] for place in range(len(texts))]


def _best(spans: Tensor, head: int, tokens: int) -> tuple[int, int, float]:
    """The likeliest first and last token of a window's passage, and their log-odds against "not told here"."""
    import torch

    none = spans[0].sum()
    if not tokens:
        return 0, 0, 2 * NO_SPAN
    odds = spans[head : head + tokens, 0, None] + spans[None, head : head + tokens, 1]
    allowed = torch.ones_like(odds).triu().tril(LONGEST - 1).bool()
    odds = odds.masked_fill(~allowed, float("-inf"))
    begin, end = divmod(int(odds.argmax()), tokens)
    return begin, end, float(odds[begin, end] - none)
