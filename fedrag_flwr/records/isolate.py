"""What goes wrong with one question costs no other question its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from fedrag_flwr.errors import FedragError, NotFoundError
from fedrag_flwr.records import Answer, failure

Outcome = TypeVar("Outcome")
_TRIES = 3
_LOG = logging.getLogger(__name__)


def settled(act: Callable[[], Outcome]) -> Outcome:
    """What comes of an act over a store; again, some times, where a writer took away what had just been found."""
    for _ in range(_TRIES - 1):
        with suppress(NotFoundError):
            return act()
    return act()


def isolated(question_id: str, act: Callable[[], Outcome]) -> Outcome | Answer:
    """What comes of one question, or an abstention that names the error which stood in its way."""
    try:
        return settled(act)
    except FedragError as error:
        _LOG.error("question %s: %s", question_id, error.abroad)
        return failure(question_id, type(error).__name__)
