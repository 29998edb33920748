"""Chat prompts as token pieces: only the template's own marks become control tokens, never what a text says."""

from __future__ import annotations

import codecs
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.base import Heard, Prompt


class Turns:
    """Who holds a model, and who comes next.

    A plain lock may be taken again by the thread that has just given it back: a build that encodes batch after batch
    would keep everybody else waiting until it is done.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False
        self._since = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """For how long it was held, in all."""
        return self._seconds

    def __enter__(self) -> None:
        with self._guard:
            mine = self._ticket() if self._held else None
            self._held = True
        if mine is not None:
            try:
                mine.acquire()  # opened by whoever had the turn before
            except BaseException:  # an interrupt
                self._leave(mine)
                raise
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds += time.perf_counter() - self._since
        with self._guard:
            self._hand_on()

    def _leave(self, ticket: threading.Lock) -> None:
        """Wait no longer; a turn that has come meanwhile goes to the next."""
        with self._guard:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            else:
                self._hand_on()

    def _hand_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._held = False

    def _ticket(self) -> threading.Lock:
        ticket = threading.Lock()
        ticket.acquire()
        self._waiting.append(ticket)
        return ticket


class Spoken:
    """Tells a text as it grows: whole characters only, and no space before or after all of it.

    The pieces joined are the text that its bytes make, without the space around it. `heard` is told each new piece.
    """

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._begun = False
        self._space = ""  # told when something follows it

    def add_bytes(self, piece: bytes) -> None:
        """Go on by the bytes of a token, which may end within a character."""
        self.add(self._decoder.decode(piece))

    def add(self, piece: str) -> None:
        """Go on by a piece of text."""
        text = self._space + piece if self._begun else piece.lstrip()
        told = text.rstrip()
        self._space = text[len(told) :]
        if told:
            self._begun = True
            self._heard(told)


Turn = tuple[str, str]  # role, content


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of prompt text; `control` says that control tokens are read in it."""

    text: str
    control: bool


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """How a model writes turns down, from its own file."""

    source: str  # the Jinja template of the model file; ChatML is recognised and written by hand
    # bos, eos: the model's begin and end tokens, as the template may name them.
    bos: str = ""
    eos: str = ""

    def pieces(self, prompt: Prompt) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Split a prompt into the pieces of its fixed prefix and of its variable tail; raises ModelError where the
        template refuses a plain conversation.
        """
        turns = [("system", prompt.system)] if prompt.system else []
        for user, assistant in prompt.examples:
            turns += [("user", user), ("assistant", assistant)]
        if "<|im_start|>" in self.source:
            tail = (*_chatml([("user", prompt.user)]), Piece("<|im_start|>assistant\n", control=True))
            return tuple(_chatml(turns)), tail
        return self._rendered(turns, prompt.user)

    def _rendered(self, turns: list[Turn], user: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Render numbered marks instead of the contents, and cut the result at the marks."""
        contents = [content for _, content in turns] + [user]
        marks = [f"\ue000{number}\ue001" for number in range(len(contents))]
        marked = [(role, mark) for (role, _), mark in zip([*turns, ("user", user)], marks, strict=True)]
        whole = self._render(marked, reply=True)
        prefix = self._prefix(marked[:-1])
        if not whole.startswith(prefix):
            prefix = ""
        return _cut(prefix, marks, contents), _cut(whole[len(prefix) :], marks, contents)

    def _prefix(self, turns: Sequence[Turn]) -> str:
        """What comes before the user's turn; nothing where the template cannot write that alone, as a system's text."""
        try:
            return self._render(turns, reply=False) if turns else ""
        except ModelError:
            return ""

    def _render(self, turns: Sequence[Turn], *, reply: bool) -> str:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        for attempt in (turns, _without_system(turns)):
            messages = [{"role": role, "content": content} for role, content in attempt]
            try:
                return environment.from_string(self.source).render(
                    messages=messages, add_generation_prompt=reply, bos_token=self.bos, eos_token=self.eos
                )
            except TemplateError as error:
                reason = type(error).__name__
        raise ModelError(
            f"the model's chat template cannot be used ({reason})", fix="choose an instruction-tuned model"
        )


def _chatml(turns: Sequence[Turn]) -> list[Piece]:
    pieces = []
    for role, content in turns:
        pieces += [
            Piece(f"<|im_start|>{role}\n", control=True),
            Piece(content, control=False),
            Piece("<|im_end|>\n", control=True),
        ]
    return pieces


def _without_system(turns: Sequence[Turn]) -> list[Turn]:
    """Put the system's text before the first user's, for templates that know no system."""
    if len(turns) < 2 or turns[0][0] != "system":
        return list(turns)
    return [("user", f"{turns[0][1]}\n\n{turns[1][1]}"), *turns[2:]]


def _cut(text: str, marks: Sequence[str], contents: Sequence[str]) -> tuple[Piece, ...]:
    pieces = []
    for mark, content in zip(marks, contents, strict=True):
        before, found, after = text.partition(mark)
        if found:
            pieces += [Piece(before, control=True), Piece(content, control=False)]
            text = after
    return tuple(piece for piece in [*pieces, Piece(text, control=True)] if piece.text)


def _refuse(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)
