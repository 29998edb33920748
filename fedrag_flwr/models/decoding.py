"""Choosing the next token from logits: greedy or sampled, within a grammar."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.engine import GrammarState

TOP_TOKENS = 40
_SHORTLIST = 512

Logits = NDArray[np.float32]


def log_probability(logits: Logits, token: int) -> float:
    """Log-probability of a token under logits of shape (vocabulary,)."""
    top = logits.max()
    return float(logits[token] - top - np.log(np.exp(logits - top).sum(dtype=np.float64)))


class Chooser:
    """Chooses the tokens of one text.

    Parameters
    ----------
    grammar
        Where the text stands in its grammar, if it has one.
    temperature
        0: the likeliest token that the grammar allows; else tokens are drawn from the `TOP_TOKENS` likeliest.
    rng
        Randomness of the draw.
    """

    def __init__(self, grammar: GrammarState | None, temperature: float, rng: np.random.Generator) -> None:
        self._grammar = grammar
        self._temperature = temperature
        self._rng = rng

    def choose(self, logits: Logits) -> int:
        """Choose the next token.

        A token is drawn freely first and kept if the grammar allows it; only otherwise is the grammar asked about many
        tokens, which is slow. This draws from the same distribution as masking first.
        """
        token = self._draw(_likeliest(logits, TOP_TOKENS), logits)
        if self._grammar is None or self._grammar.allowed(np.array([token], dtype=np.int32))[0]:
            return token
        for count in (_SHORTLIST, len(logits)):
            tokens = _likeliest(logits, count)
            allowed = tokens[self._grammar.allowed(tokens)]
            if len(allowed):
                return self._draw(allowed[:TOP_TOKENS], logits)
        return token

    def accept(self, token: int) -> None:
        """Go on past a chosen token."""
        if self._grammar is not None:
            self._grammar.accept(token)

    def _draw(self, tokens: NDArray[np.int32], logits: Logits) -> int:
        if self._temperature <= 0 or len(tokens) == 1:
            return int(tokens[0])
        scaled = logits[tokens].astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max())
        return int(self._rng.choice(tokens, p=weights / weights.sum()))


def _likeliest(logits: Logits, count: int) -> NDArray[np.int32]:
    """The likeliest tokens, best first; equal ones in the order of their ids."""
    if count < len(logits):
        tokens = np.argpartition(-logits, count)[:count]
        tokens.sort()
    else:
        tokens = np.arange(len(logits))
    return tokens[np.argsort(-logits[tokens], kind="stable")].astype(np.int32)
