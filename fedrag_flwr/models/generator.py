"""The local language model: prompts with a fixed prefix in, checked and counted completions out."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.caching.tier import Tier
from fedrag_flwr.errors import ModelError, PromptError
from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores
from fedrag_flwr.models.chat import ChatTemplate, Piece, Spoken, Turns
from fedrag_flwr.models.files import file_sha256
from fedrag_flwr.models.llama import LlamaEngine, State
from fedrag_flwr.models.sampling import Chooser, log_probability

TEMPERATURE = 0.7  # of the draw where several completions are asked for
SAMPLES_AT_ONCE = 8
_SCORED_AT_ONCE = 64  # rows of logits held at a time
_KEPT_PREFIXES = 8
_KEPT_GRAMMARS = 32

_log = logging.getLogger(__name__)

Tokens = tuple[int, ...]


class GenerationCache:
    """Completions by the hash of what they were made from; several processes may share one; raises StoreError where the
    folder cannot be made or opened.

    A file that is torn is made anew, and one that cannot be written keeps nothing: the cache only saves time.

    Parameters
    ----------
    folder
        The cache's own; its owner alone can read it, for it holds generated text.
    limit_bytes
        Most bytes on disk; beyond it the least recently used completions go.
    """

    def __init__(self, folder: str | Path, *, limit_bytes: int = 256 << 20) -> None:
        self._kept = Tier(Path(folder), limit_bytes)

    def key(
        self,
        generator_id: str,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        n: int,
        seed: int,
        temperature: float,
    ) -> str:
        """Hash everything that a completion depends on; the seed and temperature only where something is drawn."""
        drawn = None if n == 1 else (seed, temperature)
        parts = (generator_id, prompt.system, prompt.examples, prompt.user, grammar, max_tokens, n, drawn)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def get(self, key: str) -> list[Completion] | None:
        """Give the completions of a key, marked as cached and with the seconds they once took; None if unknown."""
        content = self._kept.get(key, {})
        try:
            return None if content is None else [Completion(**fields) for fields in json.loads(content)]
        except (ValueError, TypeError) as error:
            _log.warning("a kept completion cannot be read: %s", type(error).__name__)
            return None

    def put(self, key: str, completions: list[Completion]) -> None:
        """Keep the completions of a key."""
        kept = [asdict(replace(made, cached=True, setup=0.0)) for made in completions]
        self._kept.put(key, json.dumps(kept).encode(), {})

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._kept.close()


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
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context_tokens: int = 4096,
        threads: int = 1,
        gpu_layers: int = 0,
        cache: GenerationCache | None = None,
    ) -> None:
        self._path = Path(path)
        self._context_tokens = context_tokens
        self._threads = threads
        self._gpu_layers = gpu_layers
        self._cache = cache
        self._turns = Turns()
        self._session: Session | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """File name and the first 12 hex digits of the weights' SHA-256; raises ModelError where the file cannot be
        read.
        """
        if not self._id:
            try:
                self._id = f"{self._path.name}@{file_sha256(self._path)[:12]}"
            except OSError as error:
                raise ModelError(f"the model file cannot be read: {error.strerror}", where=self._path.name) from error
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
        """Complete a prompt n times; n = 1 decodes greedily, more are drawn with the seed over one prompt state; raises
        ModelError where the model cannot be loaded, the grammar does not parse, or the prompt with `max_tokens` does
        not fit.

        `tokens_in` counts the whole prompt, also what was reused, in each completion. `seconds` of n completions add
        up to the time of the call; `setup`, the first evaluation of a prefix and loading the model, is not part of it.
        `heard` is told each new piece of a single completion as it is written, while the model is held: it must not
        wait. A replayed text is one piece.
        """
        if max_tokens < 1 or n < 1:
            raise ModelError("max_tokens and n are at least 1", where=self._path.name)
        if heard is not None and n > 1:
            raise ModelError("only one completion can be heard", where=self._path.name)
        key = ""
        if self._cache is not None:
            key = self._cache.key(self.id, prompt, grammar, max_tokens, n, seed, TEMPERATURE)
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
                for completion in session.complete(prompt, grammar, max_tokens, n, seed, heard)
            ]
        if self._cache is not None:
            self._cache.put(key, completions)
        return completions

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """How likely each continuation is after the prompt, which is evaluated once; never replayed from the cache;
        raises ModelError where the model cannot be loaded, or the prompt with a continuation does not fit.
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


@dataclass(slots=True)
class _Text:
    """One text while it is generated in its sequence."""

    sequence: int
    chooser: Chooser
    spoken: Spoken | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False


class Session:
    """A loaded model and what its key-value cache holds: `_live` are the tokens of sequence 0."""

    def __init__(self, engine: LlamaEngine, template: ChatTemplate) -> None:
        self.engine = engine
        self._template = template
        self._live: Tokens = ()
        self._live_logits: NDArray[np.float32] | None = None
        self._prefixes: OrderedDict[Tokens, State] = OrderedDict()
        self._rules = lru_cache(_KEPT_GRAMMARS)(engine.grammar)  # compiled once; texts go on from clones
        self._prefix_tokens = lru_cache(_KEPT_PREFIXES)(self._tokenize)

    def complete(
        self,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        n: int,
        seed: int,
        heard: Heard | None = None,
    ) -> list[Completion]:
        """Complete a prompt n times, as `LlamaGenerator.complete`."""
        prefix, tail = self._tokens(prompt)
        setup = self._prepare(prefix)
        start = time.perf_counter()
        length = len(prefix) + len(tail)
        self._fits(length, max_tokens)
        rules = self._rules(grammar) if grammar else None
        logits = self._evaluate(prefix, tail)
        room = (self.engine.context_tokens - length) // max_tokens
        together = min(SAMPLES_AT_ONCE, room) if self.engine.on_gpu else 1  # on a CPU one by one is faster
        texts = []
        for first in range(0, n, together):
            group = [
                _Text(
                    sequence=place + 1,
                    chooser=Chooser(
                        rules.clone() if rules else None,
                        0.0 if n == 1 else TEMPERATURE,
                        np.random.default_rng((seed, number)),
                    ),
                    spoken=Spoken(heard) if heard else None,
                )
                for place, number in enumerate(range(first, min(first + together, n)))
            ]
            self._generate(group, logits, length, max_tokens)
            texts += group
        seconds = (time.perf_counter() - start) / n
        return [
            Completion(
                text=self.engine.text(text.tokens).strip(),
                tokens_in=length,
                tokens_out=len(text.tokens),
                seconds=seconds,
                logprob=sum(text.logprobs) / len(text.logprobs) if text.logprobs else math.nan,
                least=min(text.logprobs, default=math.nan),
                setup=setup,
            )
            for text in texts
        ]

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """How likely each continuation is."""
        prefix, tail = self._tokens(prompt)
        setup = self._prepare(prefix)
        start = time.perf_counter()
        length = len(prefix) + len(tail)
        texts = [self.engine.tokenize(text) for text in continuations]
        self._fits(length, max(map(len, texts), default=0))
        logits = self._evaluate(prefix, tail)
        scores = [self._log_probability(tokens, logits, length) for tokens in texts]
        return Scores(np.array(scores), length + sum(map(len, texts)), time.perf_counter() - start, setup)

    def forget_prompt(self) -> None:
        """Evaluate the next prompt's tail even if it is the last one's; prefixes are kept."""
        self._live_logits = None

    def _log_probability(self, tokens: Sequence[int], logits: NDArray[np.float32], length: int) -> float:
        """The log-probability of a continuation's tokens after the prompt of this length, which has these logits."""
        if not tokens:
            return 0.0
        total = log_probability(logits, tokens[0])
        with self._branches([1]):
            for first in range(0, len(tokens) - 1, _SCORED_AT_ONCE):
                block = tokens[first : min(first + _SCORED_AT_ONCE, len(tokens) - 1)]
                positions = range(length + first, length + first + len(block))
                rows = self.engine.step(block, positions, [1] * len(block))
                total += sum(map(log_probability, rows, tokens[first + 1 :]))
        return total

    def _generate(self, texts: Sequence[_Text], logits: NDArray[np.float32], length: int, max_tokens: int) -> None:
        """Grow some texts side by side, each in a sequence that forks from the prompt."""
        rows = [logits] * len(texts)
        growing = list(texts)
        with self._branches([text.sequence for text in texts]):
            for position in range(length, length + max_tokens):
                for text, row in zip(growing, rows, strict=True):
                    self._grow(text, row)
                growing = [text for text in growing if not text.ended]
                if not growing or position == length + max_tokens - 1:
                    return
                rows = list(
                    self.engine.step(
                        [text.tokens[-1] for text in growing],
                        [position] * len(growing),
                        [text.sequence for text in growing],
                    )
                )

    def _grow(self, text: _Text, logits: NDArray[np.float32]) -> None:
        token = text.chooser.choose(logits)
        if self.engine.ends(token):
            text.ended = True
            return
        text.chooser.accept(token)
        text.tokens.append(token)
        if text.spoken is not None:
            text.spoken.add_bytes(self.engine.piece(token))
        text.logprobs.append(log_probability(logits, token))

    def _prepare(self, prefix: Tokens) -> float:
        """Evaluate a prefix that was not seen before, and give the seconds that it took."""
        if prefix in self._prefixes or not prefix:
            return 0.0
        start = time.perf_counter()
        self._live, self._live_logits = (), None
        self._load_prefix(prefix)
        self._live = prefix
        return time.perf_counter() - start

    def _evaluate(self, prefix: Tokens, tail: Tokens) -> NDArray[np.float32]:
        """Bring the prompt into sequence 0 and give the logits after it.

        Prefix and tail are always evaluated apart and from the same place, so reuse changes no bit of the result.
        """
        if self._live == prefix + tail and self._live_logits is not None:
            return self._live_logits
        reusable = bool(prefix) and self._live[: len(prefix)] == prefix and self.engine.truncate(len(prefix))
        self._live, self._live_logits = (), None
        if not reusable:
            self._load_prefix(prefix)
        logits = self.engine.extend(tail, len(prefix))
        self._live, self._live_logits = prefix + tail, logits
        return logits

    def _load_prefix(self, prefix: Tokens) -> None:
        state = self._prefixes.pop(prefix, None)
        if state is None or not self.engine.restore(state):
            self.engine.clear()
            if not prefix:
                return
            self.engine.extend(prefix, 0)
            state = self.engine.save()
        self._prefixes[prefix] = state
        while len(self._prefixes) > _KEPT_PREFIXES:
            self._prefixes.popitem(last=False)

    @contextmanager
    def _branches(self, sequences: Collection[int]) -> Iterator[None]:
        """Let sequences grow from the prompt; after a failure nothing of the cache is trusted."""
        try:
            for sequence in sequences:
                self.engine.fork(sequence)
            yield
        except BaseException:
            self._live, self._live_logits = (), None
            raise
        finally:
            for sequence in sequences:
                self.engine.drop(sequence)

    def _tokens(self, prompt: Prompt) -> tuple[Tokens, Tokens]:
        head, tail = self._template.pieces(prompt)
        return self._prefix_tokens(head), self._tokenize(tail)

    def _tokenize(self, pieces: tuple[Piece, ...]) -> Tokens:
        return tuple(token for piece in pieces for token in self.engine.tokenize(piece.text, control=piece.control))

    def _fits(self, prompt: int, more: int) -> None:
        if prompt + more > self.engine.context_tokens:
            raise PromptError(
                f"a prompt of {prompt} tokens with {more} more does not fit the context of "
                f"{self.engine.context_tokens} tokens",
                fix="hand over less evidence or raise context-tokens",
            )
