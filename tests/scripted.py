"""A model that says what a script has for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores

Said = str | tuple[str, ...] | Completion  # several texts are pieces of one


@dataclass(slots=True)
class Scripted:
    """Says one thing, or what the script has for a prompt, and keeps what it was asked; called, it gives itself.

    `likely` gives the logarithm of the likelihood of so many continuations of a prompt, shape (n,).
    """

    script: Said | Callable[[Prompt], Said]
    likely: Callable[[Prompt, int], NDArray[np.float64]] = lambda _, count: np.zeros(count)
    asked: list[Prompt] = field(default_factory=list)
    id: str = "scripted"

    def __call__(self) -> Scripted:
        return self

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
        self.asked.append(prompt)
        said = self.script(prompt) if callable(self.script) else self.script
        pieces = (said.text,) if isinstance(said, Completion) else (said,) if isinstance(said, str) else said
        if heard is not None:
            for piece in pieces:
                heard(piece)
        return [said if isinstance(said, Completion) else Completion("".join(pieces), 1, 1, 0.0)] * n

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        return Scores(self.likely(prompt, len(continuations)), 1, 0.0)

    def count_tokens(self, text: str) -> int:
        return len(text.split())
