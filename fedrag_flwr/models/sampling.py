"""The choice of a text's next token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.llama import GrammarState

TOP_TOKENS = 40
_SHORTLIST = 512

Logits = NDArray[np.float32]


def log_probability(logits: Logits, token: int) -> float:
    """Log-probability of a token under logits of shape (vocabulary,)."""
    top = logits.max()
    return float(logits[token] - top - np.log(np.exp(logits - top).sum(dtype=np.float64)))


@dataclass(frozen=True, slots=True, eq=False)
class Chooser:
    """Chooses the tokens of one text."""

    grammar: GrammarState | None  # where the text stands in its grammar, if it has one
    # 0: the likeliest token that the grammar allows; else one is drawn from the `TOP_TOKENS` likeliest
    temperature: float
    rng: np.random.Generator  # of the draw

    def choose(self, logits: Logits) -> int:
        """Choose the next token; raises ModelError where the grammar allows no token of the vocabulary here.

        A token is drawn freely first and kept if the grammar allows it; only otherwise is the grammar asked about many
        tokens, which takes longer.
        """
        token = self._draw(logits, _likeliest(logits, 1 if self.temperature <= 0 else TOP_TOKENS))
        if self.grammar is None or self.grammar.allowed(np.array([token], dtype=np.int32))[0]:
            return token
        for tokens in (_likeliest(logits, _SHORTLIST), np.arange(len(logits), dtype=np.int32)):
            allowed = tokens[self.grammar.allowed(tokens)]
            if len(allowed):
                return self._draw(logits, allowed[_likeliest(logits[allowed], TOP_TOKENS)])
        raise ModelError("the grammar allows no token here", fix="check the GBNF rules")

    def accept(self, token: int) -> None:
        """Go on past a chosen token."""
        if self.grammar is not None:
            self.grammar.accept(token)

    def _draw(self, logits: Logits, tokens: NDArray[np.int32]) -> int:
        """Draw one of some tokens, given best first."""
        if self.temperature <= 0 or len(tokens) == 1:
            return int(tokens[0])
        scaled = logits[tokens].astype(np.float64) / self.temperature
        weights = np.exp(scaled - scaled.max())
        return int(self.rng.choice(tokens, p=weights / weights.sum()))


def _likeliest(logits: Logits, count: int) -> NDArray[np.int32]:
    """Indices of the largest logits, best first."""
    if count == 1:
        return np.array([logits.argmax()], dtype=np.int32)
    best = np.argpartition(-logits, count)[:count] if count < len(logits) else np.arange(len(logits))
    return best[np.argsort(-logits[best], kind="stable")].astype(np.int32)
