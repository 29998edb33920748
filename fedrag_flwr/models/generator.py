"""The local language model: prompts with a fixed prefix in, checked and counted completions out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores
from fedrag_flwr.models.cache import GenerationCache
from fedrag_flwr.models.chat import ChatTemplate, Turns
from fedrag_flwr.models.engine import LlamaEngine
from fedrag_flwr.models.files import file_sha256
from fedrag_flwr.models.session import SAMPLES_AT_ONCE, Session

TEMPERATURE = 0.7


def weights_sha256(path: Path) -> str:
    """The SHA-256 of a model file, in hex.

    Raises
    ------
    ModelError
        The file cannot be read.
    """
    try:
        return file_sha256(path)
    except OSError as error:
        raise ModelError(f"the model file cannot be read: {error.strerror}", where=path.name) from error


class LlamaGenerator:
    """A GGUF model through llama.cpp, loaded on first use; safe to call from several threads, one at a time.

    The state of a prompt's fixed prefix is kept: a second prompt with the same prefix evaluates only its tail, and
    gives the same text as if all of it had been evaluated.

    Parameters
    ----------
    path
        The GGUF file; it must hold a chat template.
    context_tokens
        Most tokens of a prompt with its completions; at most what the model was trained for.
    threads
        Threads for prompts and for generation.
    gpu_layers
        Layers on the GPU; -1: all.
    cache
        Completions made before; None: always generate.
    temperature
        Of the draw when several completions are asked for.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context_tokens: int = 4096,
        threads: int = 1,
        gpu_layers: int = 0,
        cache: GenerationCache | None = None,
        temperature: float = TEMPERATURE,
    ) -> None:
        self._path = Path(path)
        self._context_tokens = context_tokens
        self._threads = threads
        self._gpu_layers = gpu_layers
        self._cache = cache
        self._temperature = temperature
        self._turns = Turns()
        self._session: Session | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """File name and the first 12 hex digits of the weights' SHA-256.

        Raises
        ------
        ModelError
            The file cannot be read.
        """
        if not self._id:
            self._id = f"{self._path.name}@{weights_sha256(self._path)[:12]}"
        return self._id

    @property
    def busy_seconds(self) -> float:
        """For how long the model was at work, in all."""
        return self._turns.seconds

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
        """Complete a prompt n times; n = 1 decodes greedily, more are drawn with the seed over one prompt state.

        `tokens_in` counts the whole prompt, also what was reused, in each completion. `seconds` of n completions add
        up to the time of the call; `setup`, the first evaluation of a prefix and loading the model, is not part of it.
        `heard` is told each new piece of a single completion as it is written, while the model is held: it must not
        wait. A replayed text is one piece.

        Raises
        ------
        ModelError
            The model cannot be loaded, the grammar does not parse, or the prompt with `max_tokens` does not fit.
        """
        if max_tokens < 1 or n < 1:
            raise ModelError("max_tokens and n are at least 1", where=self._path.name)
        if heard is not None and n > 1:
            raise ModelError("only one completion can be heard", where=self._path.name)
        key = ""
        if self._cache is not None:
            key = self._cache.key(self.id, prompt, grammar, max_tokens, n, seed, self._temperature)
            if (known := self._cache.get(key)) is not None:
                if heard is not None:
                    heard(known[0].text)
                return known
        with self._turns:
            start = time.perf_counter()
            session = self._loaded()
            loading = time.perf_counter() - start
            completions = [
                replace(completion, setup=completion.setup + loading)
                for completion in session.complete(
                    prompt, grammar, max_tokens, 0.0 if n == 1 else self._temperature, n, seed, heard
                )
            ]
        if self._cache is not None:
            self._cache.put(key, completions)
        return completions

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """How likely each continuation is after the prompt, which is evaluated once; never replayed from the cache.

        Raises
        ------
        ModelError
            The model cannot be loaded, or the prompt with a continuation does not fit.
        """
        with self._turns:
            start = time.perf_counter()
            session = self._loaded()
            loading = time.perf_counter() - start
            scores = session.score(prompt, continuations)
        return replace(scores, setup=scores.setup + loading)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text."""
        with self._turns:
            return len(self._loaded().engine.tokenize(text))

    def forget_prompt(self) -> None:
        """Evaluate the next prompt even if it is the last one again, for who compares seconds; prefixes are kept."""
        with self._turns:
            if self._session is not None:
                self._session.forget_prompt()

    def close(self) -> None:
        """Free the model; the next use loads it again."""
        with self._turns:
            if self._session is not None:
                self._session.engine.close()
            self._session = None

    def _loaded(self) -> Session:
        if self._session is None:
            engine = LlamaEngine(
                self._path,
                context_tokens=self._context_tokens,
                threads=self._threads,
                gpu_layers=self._gpu_layers,
                sequences=SAMPLES_AT_ONCE + 1,
            )
            source = engine.metadata("tokenizer.chat_template")
            if not source:
                engine.close()
                raise ModelError(
                    "the model has no chat template", where=self._path.name, fix="choose an instruction-tuned model"
                )
            template = ChatTemplate(source, engine.special_text("bos"), engine.special_text("eos"))
            self._session = Session(engine, template)
        return self._session
