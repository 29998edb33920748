"""The real model as tests hold it: it can only say one thing, or keeps what it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Counting:
    """The real model, and what it was asked."""

    real: Generator
    prompts: list[Prompt] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def complete(self, prompt: Prompt, **how: Any) -> list[Completion]:
        self.prompts.append(prompt)
        return self.real.complete(prompt, **how)
