"""A real model that can only say one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedrag_flwr.models.base import Completion, Generator, Grammar, Prompt


@dataclass(frozen=True, slots=True)
class OneWord:
    """The real model, which can only say one thing: that it does not know, or another word."""

    real: Generator
    word: str = "unknown"

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def complete(self, prompt: Prompt, **how: Any) -> list[Completion]:
        return self.real.complete(prompt, **how | {"grammar": Grammar(f'root ::= "{self.word}"')})
