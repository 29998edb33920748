"""What the system asks of a model: small protocols, prompts and completions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol

import numpy as np
from numpy.typing import NDArray

Grammar = NewType("Grammar", str)  # GBNF
Heard = Callable[[str], None]  # is told a text while it is written


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat prompt: a fixed prefix, whose model state is kept, and a variable tail."""

    system: str  # the instruction
    user: str  # the variable tail: this question with its evidence
    # Worked (user, assistant) turns; with `system` they form the fixed prefix.
    examples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One generated text with its counts.

    `seconds` is the time that generation took when it was measured; `cached` says that this text was replayed.
    `setup` are the seconds before it in which the model was loaded and the fixed prefix evaluated, once in a process.
    `logprob` is the mean log-probability of the generated tokens, `least` the lowest (nan where the model does not
    report them).
    """

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    cached: bool = False
    logprob: float = float("nan")
    least: float = float("nan")
    setup: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """How likely a prompt makes some continuations.

    `logprobs` are their total log-probabilities, shape (n,). `tokens_in` counts the prompt, also what was reused of it,
    and all continuations; `seconds` and `setup` are a `Completion`'s.
    """

    logprobs: NDArray[np.float64]
    tokens_in: int
    seconds: float
    setup: float = 0.0


class Encoder(Protocol):
    """Maps texts to unit vectors."""

    @property
    def id(self) -> str:
        """Name and content hash; stored with every vector it made."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to an (n, dimension) array with unit rows."""
        ...


class TextEncoder(Encoder, Protocol):
    """An encoder of texts that gives the vectors of their tokens too."""

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of passages, or with `asked` of questions, unit rows."""
        ...


class Generator(Protocol):
    """A language model, in this process or behind an address."""

    @property
    def id(self) -> str:
        """Name and SHA-256 of the weights, or name and host."""
        ...

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
        """Complete a prompt n times; n = 1 decodes greedily.

        `heard` is told each new piece of a single completion as it is written; the pieces joined are its text.
        """
        ...

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """How likely each continuation is after the prompt."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        ...
