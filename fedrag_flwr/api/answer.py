"""An answer as Python code and people read it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

from fedrag_flwr.answering.explain import marked
from fedrag_flwr.models.base import Heard
from fedrag_flwr.service.answers import GivenAnswer


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that an answer rests on.

    Parameters
    ----------
    document
        The document's id; empty where another device keeps it to itself.
    title
        Of the document, with the heading below which the passage stands.
    text
        The passage.
    device
        Whose it is.
    """

    document: str
    title: str
    text: str
    device: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with what it rests on.

    Parameters
    ----------
    question
        As it was asked.
    text
        The answer; empty where it was declined.
    path
        How it came about: ``memorizer``, ``cognizer``, ``remote``, ``cache`` or ``abstained``.
    confidence
        The probability in [0, 1] that it is right.
    origin
        In words: where it comes from and how sure it is, or why there is none.
    evidence
        The passages, the one that bears the answer first.
    citations
        The sentences of a long answer, each with the title of the passage that bears it.
    seconds, llm_calls
        What it cost.
    """

    question: str
    text: str
    path: str
    confidence: float
    origin: str
    evidence: tuple[Passage, ...] = ()
    citations: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    llm_calls: int = 0

    def __str__(self) -> str:
        return f"{self.text}\n{self.origin}" if self.text else self.origin

    def __bool__(self) -> bool:
        return bool(self.text)

    def _repr_html_(self) -> str:
        """For notebooks: the answer, where it comes from, and the passage that bears it with the answer marked."""
        said = Markup("<p><b>{}</b><br><i>{}</i></p>").format(self.text or "I do not know.", self.origin)
        if not self.evidence:
            return said
        first = self.evidence[0]
        pieces = enumerate(marked(first.text, self.text))
        text = Markup("").join(Markup("<mark>{}</mark>").format(one) if at % 2 else escape(one) for at, one in pieces)
        return said + Markup("<blockquote>{}<br><small>{}</small></blockquote>").format(text, first.title)


def answer_of(given: GivenAnswer) -> Answer:
    """An answer out of what the device tells its people."""
    return Answer(
        question=given.question,
        text=given.answer,
        path=given.path,
        confidence=given.score,
        origin=str(given.told) if given.answer else given.why,
        evidence=tuple(Passage(one.document, one.place, one.text, one.origin) for one in given.evidence),
        citations=tuple((one.sentence, one.place) for one in given.citations),
        seconds=given.seconds,
        llm_calls=given.llm_calls,
    )


class AnswerStream:
    """An answer while it is written: iterate over the text so far, which grows; then read `answer`.

    Parameters
    ----------
    ask
        Asks, and tells the text so far to what it is given.
    """

    def __init__(self, ask: Callable[[Heard], Answer]) -> None:
        self._texts: queue.Queue[str | None] = queue.Queue()
        self._ask = ask
        self._answer: Answer | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[str]:
        while (text := self._texts.get()) is not None:
            yield text
        self._texts.put(None)  # whoever iterates again comes to the end at once

    @property
    def answer(self) -> Answer:
        """The whole answer; waits for it.

        Raises
        ------
        FedragError
            What went wrong while it was asked.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._ask(self._texts.put)
        except BaseException as error:  # told to whoever reads the answer
            self._error = error
        finally:
            self._texts.put(None)
