"""The network that finds an answer in a passage: the default encoder's layers, adapted, under two linear heads.

It reads a question and a passage together, as extractive readers do (Devlin et al., BERT, 4.2 and 4.3): one head gives
each token's odds to begin and to end the answer, with the first token standing for "not told here"; the other the
odds that the passage tells an answer at all.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import load
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from fedrag_flwr.models.spans import NO_SPAN

MOST_TOKENS = 256  # of question and passage together
MOST_ASKED = 56  # of a question; what is behind goes
OVERLAP = 48  # tokens that two windows of a long passage share


@dataclass(frozen=True, slots=True)
class Window:
    """A question with a stretch of a passage, as tokens; `offsets` are the passage's characters of its tokens."""

    tokens: tuple[int, ...]
    head: int  # tokens before the passage's
    offsets: tuple[tuple[int, int], ...]


class SpanNetwork(nn.Module):
    """Gives, for a batch of b windows of n tokens, spans of shape (b, n, 2) and whether they tell of shape (b,)."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(  # type: ignore[no-untyped-call]
            str(base), local_files_only=True
        )
        self.encoder = AutoModel.from_pretrained(str(base), local_files_only=True)
        width = self.encoder.config.hidden_size
        self.span, self.told = nn.Linear(width, 2), nn.Linear(width, 1)

    @classmethod
    def load(cls, base: Path, adapter: Path) -> Self:
        """The network with what a fit changed in it: low-rank changes of matrices, and whole vectors and heads."""
        network = cls(base)
        own = network.state_dict()
        changes = read_changes(adapter)
        for name in sorted({name.removesuffix(".down").removesuffix(".up") for name in changes}):
            if f"{name}.up" in changes:
                own[name] += changes[f"{name}.up"].float() @ changes[f"{name}.down"].float()
            else:
                own[name].copy_(changes[name].float())
        return network.eval()

    def windows(self, question: str, text: str) -> list[Window]:
        """The windows that hold a whole passage."""
        asked = self.tokenizer(question, truncation=True, max_length=MOST_ASKED, add_special_tokens=False)["input_ids"]
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        own, offsets = found["input_ids"], found["offset_mapping"]
        first, mark = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        head, room = [first, *asked, mark], MOST_TOKENS - len(asked) - 3
        starts = range(0, max(len(own) - OVERLAP, 1), room - OVERLAP)
        return [
            Window((*head, *own[at : at + room], mark), len(head), tuple(map(tuple, offsets[at : at + room])))
            for at in starts
        ]

    def forward(self, windows: Sequence[Window]) -> tuple[Tensor, Tensor]:
        """Read windows together; tokens that are not the passage's can neither begin nor end a span."""
        longest = max(len(one.tokens) for one in windows)
        tokens = torch.zeros((len(windows), longest), dtype=torch.long)
        kinds, there, passage = torch.zeros_like(tokens), torch.zeros_like(tokens), torch.zeros_like(tokens)
        for row, one in enumerate(windows):
            tokens[row, : len(one.tokens)] = torch.tensor(one.tokens)
            there[row, : len(one.tokens)] = 1
            kinds[row, one.head : len(one.tokens)] = 1
            passage[row, [0, *range(one.head, one.head + len(one.offsets))]] = 1
        hidden = self.encoder(input_ids=tokens, token_type_ids=kinds, attention_mask=there).last_hidden_state
        weights = there.unsqueeze(-1).to(hidden.dtype)
        pooled = hidden[:, 0] + (hidden * weights).sum(1) / weights.sum(1)
        spans = self.span(hidden).float().masked_fill(~passage.bool().unsqueeze(-1), NO_SPAN)
        return spans, self.told(pooled).squeeze(-1).float()


def read_changes(path: Path) -> dict[str, Tensor]:
    """What a fit changed, by name; where the file is torn, the libraries that read it raise errors of their own."""
    return load(base64.b64decode(json.loads(path.read_text())["safetensors"], validate=True))
