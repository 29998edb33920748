"""A language model behind an address: llama.cpp's server, Ollama, vLLM, or what else speaks OpenAI's chat protocol."""

from __future__ import annotations

import ipaddress
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast
from urllib.parse import SplitResult, urlsplit

import numpy as np

from fedrag_flwr.errors import ModelError, PromptError
from fedrag_flwr.models.base import Completion, Grammar, Heard, Prompt, Scores
from fedrag_flwr.models.chat import Spoken

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, OpenAI, Stream
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam
    from openai.types.chat.chat_completion import ChoiceLogprobs
    from openai.types.chat.chat_completion_chunk import ChoiceLogprobs as ChunkLogprobs

KEYS = ("FEDRAG_GENERATOR_KEY", "OPENAI_API_KEY")  # environment variables that may hold the key, in this order
TEMPERATURE = 0.7
_SECONDS = 60.0
_RETRIES = 2
_LETTERS_PER_TOKEN = 4  # of English, in the vocabularies of common models
_UNLIKELY = -20.0  # a choice that was not made; finite, so that two of them can be compared
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}  # OpenAI's word and llama.cpp's
_LOOK = "look at the server's log"
_OWN = tuple(
    ipaddress.ip_network(block)
    for block in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    )
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a server replied, and what it told of that: the log-probabilities of tokens, and their counts."""

    text: str
    logprobs: list[float]
    used: CompletionUsage | None


class EndpointGenerator:
    """A model that a server holds; safe to call from several threads, which the server then serves as it can; raises
    ModelError where the address is not one, or is plain HTTP to a host that is not on a network of one's own.

    What is asked goes to that server, evidence included. Redirections are not followed, and over plain HTTP no proxy of
    the environment is used, so that it goes nowhere else. Completions are not cached: the server may change its model.

    Parameters
    ----------
    address
        Where the protocol begins, such as ``http://192.168.1.20:8080/v1``.
    seconds
        How long one reply may take.
    """

    def __init__(self, address: str, name: str, *, seconds: float = _SECONDS) -> None:
        self._host = _checked(address).netloc
        self._address = address.rstrip("/")
        self._name = name
        self._seconds = seconds

    @property
    def id(self) -> str:
        """The model's name with the server's host and port."""
        return f"{self._name}@{self._host}"

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
        """Complete a prompt n times; n = 1 decodes greedily, more are drawn with seeds that follow each other.

        The grammar holds where the server is llama.cpp's own; others are trusted to follow the prompt's examples.
        `heard` is told each new piece of a single completion as the server sends it.

        Raises PromptError where the prompt does not fit the model's context and ModelError where the server does not
        answer, refuses, or answers something else.
        """
        if max_tokens < 1 or n < 1:
            raise ModelError("max_tokens and n are at least 1", where=self._host)
        if heard is not None and n > 1:
            raise ModelError("only one completion can be heard", where=self._host)
        temperature = 0.0 if n == 1 else TEMPERATURE
        return [self._one(prompt, grammar, max_tokens, temperature, seed + number, heard) for number in range(n)]

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        """Which continuation the model chooses, as log-probabilities: near 0 for that one, very low for all others;
        raises as `complete`.

        The chat protocol tells nothing of texts that the model did not write, so it is shown them and chooses once.
        Where it names none of them they are equally likely. One alone has nothing to be chosen from: nan, unasked.
        """
        if len(continuations) < 2:
            return Scores(np.full(len(continuations), math.nan), 0, 0.0)
        listed = "\n".join(f"- {text}" for text in continuations)
        asked = replace(prompt, user=f"{prompt.user}\nReply with one of these, word for word:\n{listed}")
        room = 2 * max(map(self.count_tokens, continuations)) + 8
        [said] = self.complete(asked, grammar=_one_of(continuations), max_tokens=room)
        logprobs = np.full(len(continuations), -math.log(len(continuations)))
        if (chosen := _named(said.text, continuations)) is not None:
            logprobs[:] = _UNLIKELY
            logprobs[chosen] = 0.0
        return Scores(logprobs, said.tokens_in + said.tokens_out, said.seconds)

    def count_tokens(self, text: str) -> int:
        """Estimate the tokens of a text by its length; the server is not asked."""
        return math.ceil(len(text) / _LETTERS_PER_TOKEN)

    def _one(
        self,
        prompt: Prompt,
        grammar: Grammar | None,
        max_tokens: int,
        temperature: float,
        seed: int,
        heard: Heard | None,
    ) -> Completion:
        messages = _messages(prompt)
        begun = time.perf_counter()
        with self._told():
            client, extra = self._client, self._extra(grammar, stream=heard is not None)
            start = time.perf_counter()
            create = partial(
                client.chat.completions.create,
                model=self._name,
                messages=messages,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=seed,
                extra_body=extra,
            )
            if heard is None:
                said = _whole(create())
            else:
                said = self._as_it_comes(cast("Stream[ChatCompletionChunk]", create(stream=True)), heard, start)
            seconds = time.perf_counter() - start
        used = said.used
        return Completion(
            text=said.text,
            tokens_in=used.prompt_tokens if used else sum(self.count_tokens(str(one["content"])) for one in messages),
            tokens_out=used.completion_tokens if used else self.count_tokens(said.text),
            seconds=seconds,
            logprob=sum(said.logprobs) / len(said.logprobs) if said.logprobs else math.nan,
            least=min(said.logprobs, default=math.nan),
            setup=start - begun,
        )

    def _as_it_comes(self, stream: Stream[ChatCompletionChunk], heard: Heard, start: float) -> _Said:
        """Read a reply that comes in pieces; all of it has the time that one reply may take."""
        pieces: list[str] = []
        logprobs: list[float] = []
        used: CompletionUsage | None = None
        came, spoken = False, Spoken(heard)
        with stream:
            for chunk in stream:
                came, used = True, chunk.usage or used
                for choice in chunk.choices[:1]:  # the last chunk of some servers has none
                    pieces.append(choice.delta.content or "")
                    logprobs += _logprobs(choice.logprobs)
                    spoken.add(pieces[-1])
                if time.perf_counter() - start > self._seconds:
                    raise self._late()
        if not came:
            raise ValueError("a reply without pieces")
        return _Said("".join(pieces).strip(), logprobs, used)

    def _extra(self, grammar: Grammar | None, *, stream: bool) -> dict[str, object]:
        """What only llama.cpp's server is asked for; others refuse what they do not know."""
        if not self._is_llama_cpp:
            return {}
        asked: dict[str, object] = {"logprobs": True, "top_logprobs": 1}
        if grammar:
            asked["grammar"] = grammar
        if stream:
            asked["stream_options"] = {"include_usage": True}
        return asked

    @cached_property
    def _client(self) -> OpenAI:
        try:
            from openai import DefaultHttpxClient, OpenAI
        except ImportError as error:
            raise ModelError("openai is not installed", where=self._host, fix="pip install openai") from error
        # passages go to the host that was named: not where it redirects to, nor in the clear through a proxy
        encrypted = self._address.startswith("https://")
        return OpenAI(
            api_key=next((key for key in map(os.environ.get, KEYS) if key), "none"),
            base_url=self._address,
            timeout=self._seconds,
            max_retries=_RETRIES,
            http_client=DefaultHttpxClient(follow_redirects=False, trust_env=encrypted),
        )

    @cached_property
    def _is_llama_cpp(self) -> bool:
        """Whether the server tells its properties as llama.cpp's does, beside the protocol."""
        from openai import APIStatusError

        try:
            told = self._client.get(f"{self._address.removesuffix('/v1')}/props", cast_to=object)
        except APIStatusError as error:
            if error.status_code >= 500:  # it is not ready: ask again the next time
                raise
            return False
        return isinstance(told, dict) and "default_generation_settings" in told

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Give the protocol's errors as ours: a server's own words may repeat the prompt, so they are left out."""
        from httpx import HTTPError, TimeoutException
        from openai import APIConnectionError, APIError, APIResponseValidationError, APIStatusError, APITimeoutError

        try:
            yield
        except (APITimeoutError, TimeoutException):
            raise self._late() from None
        except (APIConnectionError, HTTPError):  # the second where a reply breaks off
            fix = "start the server there, or correct the generator's address"
            raise ModelError("the server cannot be reached", where=self._host, fix=fix) from None
        except APIStatusError as error:
            raise self._refused(error) from None
        except (APIResponseValidationError, ValueError, LookupError, AttributeError, TypeError):
            # replies come unchecked, even as HTML
            raise ModelError(
                "the reply is not of OpenAI's chat protocol", where=self._host, fix="let the address end in /v1"
            ) from None
        except APIError as error:  # in the place of a piece
            if _is_too_long(error):
                raise self._too_long() from None
            raise ModelError("the server failed while it replied", where=self._host, fix=_LOOK) from None

    def _refused(self, error: APIStatusError) -> ModelError:
        status = error.status_code
        if status == 400 and _is_too_long(error):
            return self._too_long()
        fix = {
            401: f"put the server's key into {KEYS[0]}",
            403: f"put the server's key into {KEYS[0]}",
            404: "correct the model's name there; the address ends in /v1 mostly",
        }.get(status, _LOOK)
        return ModelError(f"the server refused with status {status}", where=self._host, fix=fix)

    def _too_long(self) -> PromptError:
        fix = "hand over less evidence or give the server a larger context"
        return PromptError("the prompt does not fit the model's context", where=self._host, fix=fix)

    def _late(self) -> ModelError:
        fix = "choose a smaller model there, or a quicker machine"
        return ModelError(f"no answer within {self._seconds:g} s", where=self._host, fix=fix)


def _checked(address: str) -> SplitResult:
    """The parts of an address to which passages may go."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    # what libraries read in different ways names no host for certain
    doubtful = not address.isprintable() or any(sign in address for sign in " \\@?#")
    if not host or doubtful or parts.scheme not in ("http", "https"):
        raise ModelError("the generator's address is not one", fix=f"http://HOST:PORT/v1; a key goes into {KEYS[0]}")
    if parts.scheme == "http" and not _is_own(host):
        fix = "use https://, or the address of a host on your own network (such as 192.168.1.20 or name.local)"
        raise ModelError("passages would cross the internet in the clear", where=parts.netloc, fix=fix)
    return parts


def _is_own(host: str) -> bool:
    """Whether a host is this one or on a network of one's own, by its name alone: what a resolver says may change."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".local")
    return any(address in block for block in _OWN)


def _messages(prompt: Prompt) -> list[ChatCompletionMessageParam]:
    messages: list[ChatCompletionMessageParam] = []
    if prompt.system:
        messages.append({"role": "system", "content": prompt.system})
    for user, assistant in prompt.examples:
        messages += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
    return [*messages, {"role": "user", "content": prompt.user}]


def _whole(reply: ChatCompletion) -> _Said:
    [choice, *_] = reply.choices
    return _Said((choice.message.content or "").strip(), _logprobs(choice.logprobs), reply.usage)


def _logprobs(told: ChoiceLogprobs | ChunkLogprobs | None) -> list[float]:
    return [token.logprob for token in (told.content if told is not None else None) or ()]


def _is_too_long(error: APIError) -> bool:
    return bool({error.code, error.type} & _TOO_LONG) or "context length" in error.message


def _one_of(texts: Sequence[str]) -> Grammar:
    """Exactly one of some texts."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for text in texts)
    return Grammar("root ::= " + " | ".join(f'"{text}"' for text in quoted))


def _named(reply: str, texts: Sequence[str]) -> int | None:
    """Which text a reply names: the longest that it holds, of equals the one that comes first there."""
    places = [reply.casefold().find(text.casefold()) for text in texts]
    held = [i for i, place in enumerate(places) if place >= 0 and texts[i]]
    return max(held, key=lambda i: (len(texts[i]), -places[i]), default=None)
