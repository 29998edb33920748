"""What goes wrong with one question costs no other question its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from fedrag_flwr.errors import FedragError
from fedrag_flwr.records import Answer, declined

Outcome = TypeVar("Outcome")
_FAILED = "failed: "
_LOG = logging.getLogger(__name__)


def isolated(question_id: str, act: Callable[[], Outcome]) -> Outcome | Answer:
    """What comes of one question, or an abstention that names the error which stood in its way."""
    try:
        return act()
    except FedragError as error:
        _LOG.error("question %s: %s", question_id, error.abroad)
        return failure(question_id, type(error).__name__)


def failure(question_id: str, said: str) -> Answer:
    """The abstention that stands in an answer's place where an error kept it from being given."""
    return declined(question_id, f"{_FAILED}{said}")


def failed(answer: Answer) -> bool:
    """Whether an answer is the abstention that stands in an error's place."""
    return answer.path == "abstained" and any(one.said.startswith(_FAILED) for one in answer.decisions)
