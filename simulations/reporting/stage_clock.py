"""Where a build's seconds go: the stages that it reports, and within them encoding and the model."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.models.base import Completion, Encoder, Generator, Grammar, Heard, Prompt, Scores

STAGES = {  # phases of a build by the stage that they belong to
    "read": "text pipeline",
    "anchor": "text pipeline",
    "learn": "hypergraph",
    "distil": "rules",
    "verify": "verification",
    "synthesise": "model synthesis",
    "ask-back": "model verification",
    "store": "store",
}
ENCODING = "encoding"


class StageClock:
    """Counts the processor's seconds of each stage; give it to a build as its progress.

    What the generation cache replays counts with the seconds that it took when it was generated.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._last = clock()
        self._stage = ""
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def __call__(self, phase: str, done: int, total: int) -> None:
        """A phase is so far: what passed since the last word belongs to the stage before."""
        self.turn("" if done >= total else STAGES[phase])

    def turn(self, stage: str) -> str:
        """Go over to another stage and give the one before; "" is between stages."""
        now = self._clock()
        self.seconds[self._stage] += now - self._last
        before, self._stage, self._last = self._stage, stage, now
        return before

    def add(self, seconds: float) -> None:
        """Count seconds of the present stage that were spent in an earlier run."""
        self.seconds[self._stage] += seconds


class TimedEncoder:
    """An encoder whose seconds are a stage of their own."""

    def __init__(self, inner: Encoder, clock: StageClock) -> None:
        self._inner, self._clock = inner, clock

    @property
    def id(self) -> str:
        """The encoder's."""
        return self._inner.id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._inner.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to (n, dimension), unit rows."""
        before = self._clock.turn(ENCODING)
        try:
            return self._inner.encode(texts)
        finally:
            self._clock.turn(before)


class TimedGenerator:
    """A generator whose replayed completions count with the seconds that they took once."""

    def __init__(self, inner: Generator, clock: StageClock) -> None:
        self._inner, self._clock = inner, clock
        self.id = inner.id

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
        """Complete a prompt n times."""
        completions = self._inner.complete(prompt, grammar=grammar, max_tokens=max_tokens, n=n, seed=seed, heard=heard)
        self._clock.add(sum(completion.seconds for completion in completions if completion.cached))
        return completions

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """How likely continuations are."""
        return self._inner.score(prompt, continuations)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        return self._inner.count_tokens(text)
