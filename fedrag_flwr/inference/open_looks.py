"""What a device found for questions that stay open, kept until they are finished."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from fedrag_flwr.inference.leads import Lead
from fedrag_flwr.inference.reading import Candidate
from fedrag_flwr.records import Question

_MOST = 64  # each holds some 150 kB, the sentences of ten passages


@dataclass(frozen=True, slots=True)
class Look:
    """What memory says to a question, and home's sentences among which evidence is chosen; None: not gathered yet."""

    lead: Lead
    home: Sequence[Candidate] | None = None


class OpenLooks:
    """The looks of open questions over one version of memory: of the last `most`, each until it is taken."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Look] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, question: Question, look: Look) -> None:
        """Keep what was found until the question is finished."""
        with self._lock:
            self._kept[_key(question)] = look
            self._kept.move_to_end(_key(question))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def see(self, question: Question) -> Look | None:
        """What is kept for a question; it stays."""
        return self._kept.get(_key(question))

    def take(self, question: Question) -> Look | None:
        """What is kept for a question; it is forgotten."""
        with self._lock:
            return self._kept.pop(_key(question), None)


def _key(question: Question) -> tuple[str, str]:
    return question.id, question.text
