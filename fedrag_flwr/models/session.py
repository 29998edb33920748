"""A loaded model at work: prompts evaluated once, completions and scores branching off them."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError, PromptError
from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores
from fedrag_flwr.models.chat import ChatTemplate, Piece, Spoken
from fedrag_flwr.models.engine import GrammarState, LlamaEngine, State

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
        tokens, which takes longer.

        Raises
        ------
        ModelError
            The grammar allows no token of the vocabulary here.
        """
        token = self._draw(logits, _likeliest(logits, 1 if self._temperature <= 0 else TOP_TOKENS))
        if self._grammar is None or self._grammar.allowed(np.array([token], dtype=np.int32))[0]:
            return token
        for tokens in (_likeliest(logits, _SHORTLIST), np.arange(len(logits), dtype=np.int32)):
            allowed = tokens[self._grammar.allowed(tokens)]
            if len(allowed):
                return self._draw(logits, allowed[_likeliest(logits[allowed], TOP_TOKENS)])
        raise ModelError("the grammar allows no token here", fix="check the GBNF rules")

    def accept(self, token: int) -> None:
        """Go on past a chosen token."""
        if self._grammar is not None:
            self._grammar.accept(token)

    def _draw(self, logits: Logits, tokens: NDArray[np.int32]) -> int:
        """Draw one of some tokens, given best first."""
        if self._temperature <= 0 or len(tokens) == 1:
            return int(tokens[0])
        scaled = logits[tokens].astype(np.float64) / self._temperature
        weights = np.exp(scaled - scaled.max())
        return int(self._rng.choice(tokens, p=weights / weights.sum()))


def _likeliest(logits: Logits, count: int) -> NDArray[np.int32]:
    """Indices of the largest logits, best first."""
    if count == 1:
        return np.array([logits.argmax()], dtype=np.int32)
    best = np.argpartition(-logits, count)[:count] if count < len(logits) else np.arange(len(logits))
    return best[np.argsort(-logits[best], kind="stable")].astype(np.int32)


SAMPLES_AT_ONCE = 8
_SCORED_AT_ONCE = 64  # rows of logits held at a time
_KEPT_PREFIXES = 8
_KEPT_GRAMMARS = 32

Tokens = tuple[int, ...]


@dataclass(slots=True)
class _Draft:
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
        self._grammars: OrderedDict[Grammar, GrammarState] = OrderedDict()
        self._tokenized: OrderedDict[tuple[Piece, ...], Tokens] = OrderedDict()

    def complete(
        self,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        temperature: float,
        n: int,
        seed: int,
        heard: Heard | None = None,
    ) -> list[Completion]:
        """Complete a prompt n times; a temperature of 0 is greedy. `heard` is told the pieces of a single one."""
        prefix, tail = self._tokens(prompt)
        setup = self._prepare(prefix)
        start = time.perf_counter()
        length = len(prefix) + len(tail)
        self._fits(length, max_tokens)
        rules = self._rules(grammar) if grammar else None
        logits = self._evaluate(prefix, tail)
        room = (self.engine.context_tokens - length) // max_tokens
        together = min(SAMPLES_AT_ONCE, room) if self.engine.on_gpu else 1  # on a CPU one by one is faster
        drafts = []
        for first in range(0, n, together):
            group = [
                _Draft(
                    sequence=place + 1,
                    chooser=Chooser(
                        rules.clone() if rules else None, temperature, np.random.default_rng((seed, number))
                    ),
                    spoken=Spoken(heard) if heard else None,
                )
                for place, number in enumerate(range(first, min(first + together, n)))
            ]
            self._generate(group, logits, length, max_tokens)
            drafts += group
        seconds = (time.perf_counter() - start) / n
        return [
            Completion(
                text=self.engine.text(draft.tokens).strip(),
                tokens_in=length,
                tokens_out=len(draft.tokens),
                seconds=seconds,
                logprob=sum(draft.logprobs) / len(draft.logprobs) if draft.logprobs else math.nan,
                least=min(draft.logprobs, default=math.nan),
                setup=setup,
            )
            for draft in drafts
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
        scores = np.array([log_probability(logits, tokens[0]) if tokens else 0.0 for tokens in texts])
        for group in _groups([len(tokens) for tokens in texts], self.engine.context_tokens - length):
            self._score_group(group, texts, length, scores)
        return Scores(scores, length + sum(map(len, texts)), time.perf_counter() - start, setup)

    def forget_prompt(self) -> None:
        """Evaluate the next prompt's tail even if it is the last one's; prefixes are kept."""
        self._live_logits = None

    def _score_group(
        self, group: Sequence[int], texts: Sequence[Sequence[int]], length: int, scores: NDArray[np.float64]
    ) -> None:
        """Add the log-probabilities of the tokens after the first, several texts in one pass."""
        sequence_of = {i: place for place, i in enumerate(group, start=1)}
        rows = [(i, at) for i in group for at in range(len(texts[i]) - 1)]
        with self._branches(sequence_of.values()):
            for first in range(0, len(rows), _SCORED_AT_ONCE):
                block = rows[first : first + _SCORED_AT_ONCE]
                logits = self.engine.step(
                    [texts[i][at] for i, at in block],
                    [length + at for _, at in block],
                    [sequence_of[i] for i, _ in block],
                )
                for row, (i, at) in zip(logits, block, strict=True):
                    scores[i] += log_probability(row, texts[i][at + 1])

    def _generate(self, drafts: Sequence[_Draft], logits: NDArray[np.float32], length: int, max_tokens: int) -> None:
        """Grow some texts side by side, each in a sequence that forks from the prompt."""
        rows = [logits] * len(drafts)
        growing = list(drafts)
        with self._branches([draft.sequence for draft in drafts]):
            for position in range(length, length + max_tokens):
                for draft, row in zip(growing, rows, strict=True):
                    self._grow(draft, row)
                growing = [draft for draft in growing if not draft.ended]
                if not growing or position == length + max_tokens - 1:
                    return
                rows = list(
                    self.engine.step(
                        [draft.tokens[-1] for draft in growing],
                        [position] * len(growing),
                        [draft.sequence for draft in growing],
                    )
                )

    def _grow(self, draft: _Draft, logits: NDArray[np.float32]) -> None:
        token = draft.chooser.choose(logits)
        if self.engine.ends(token):
            draft.ended = True
            return
        draft.chooser.accept(token)
        draft.tokens.append(token)
        if draft.spoken is not None:
            draft.spoken.add_bytes(self.engine.piece(token))
        draft.logprobs.append(log_probability(logits, token))

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
        known = self._tokenized.pop(head, None)
        prefix = self._tokenize(head) if known is None else known
        self._tokenized[head] = prefix
        while len(self._tokenized) > _KEPT_PREFIXES:
            self._tokenized.popitem(last=False)
        return prefix, self._tokenize(tail)

    def _tokenize(self, pieces: Sequence[Piece]) -> Tokens:
        return tuple(token for piece in pieces for token in self.engine.tokenize(piece.text, control=piece.control))

    def _rules(self, grammar: Grammar) -> GrammarState:
        """Compile a grammar once; texts go on from clones of it."""
        rules = self._grammars.pop(grammar, None) or self.engine.grammar(grammar)
        self._grammars[grammar] = rules
        while len(self._grammars) > _KEPT_GRAMMARS:
            self._grammars.popitem(last=False)
        return rules

    def _fits(self, prompt: int, more: int) -> None:
        if prompt + more > self.engine.context_tokens:
            raise PromptError(
                f"a prompt of {prompt} tokens with {more} more does not fit the context of "
                f"{self.engine.context_tokens} tokens",
                fix="hand over less evidence or raise context-tokens",
            )


def _groups(lengths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Group texts of more than one token, so that each group has sequences and cells enough."""
    group: list[int] = []
    used = 0
    for i, length in enumerate(lengths):
        if length < 2:
            continue
        if group and (len(group) == SAMPLES_AT_ONCE or used + length > room):
            yield group
            group, used = [], 0
        group.append(i)
        used += length
    if group:
        yield group
