"""What goes wrong with one question costs no other question its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from fedrag_flwr.errors import FedragError
from fedrag_flwr.records import Answer, failure

Outcome = TypeVar("Outcome")
_LOG = logging.getLogger(__name__)


def isolated(question_id: str, act: Callable[[], Outcome]) -> Outcome | Answer:
    """What comes of one question, or an abstention that names the error which stood in its way."""
    try:
        return act()
    except FedragError as error:
        _LOG.error("question %s: %s", question_id, error.abroad)
        return failure(question_id, type(error).__name__)
