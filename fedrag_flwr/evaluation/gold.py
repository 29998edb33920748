"""Gold questions: what a benchmark knows about a question and no device ever sees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A benchmark question with its gold answer and the documents that support it.

    Parameters
    ----------
    question_id, text
        The question as it is asked.
    answer, aliases
        The gold answer and other spellings of it; `answer` is empty for an unanswerable question.
    kind
        What the question asks for, for instance ``bridge``, ``comparison`` or ``unanswerable``.
    documents
        Ids of the documents that hold the answer.
    home
        The device at which it is asked.
    split
        ``train`` (settings may be fitted on it) or ``dev``.
    """

    question_id: str
    text: str
    answer: str
    aliases: tuple[str, ...]
    kind: str
    documents: tuple[str, ...]
    home: str
    split: str
