"""A run that stays: it takes the questions that wait at devices, closes them by its strategy, and sends them home."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from logging import INFO, WARNING

from flwr.common import log
from flwr.serverapp import Grid

from fedrag_flwr.device.pending import MOST_AT_ONCE
from fedrag_flwr.errors import FedragError, SettingError
from fedrag_flwr.records import Clock, Question, WaitingBatch, WaitingRequest
from fedrag_flwr.settings import Settings
from server_app.run import served
from strategies import ServerTools
from strategies.base import FederatedRag
from strategies.transport import Request

_MOST_OFFERED = 10_000  # questions of one device that are remembered as its own, the latest
_POLL_SECONDS = 10.0  # between two looks for waiting questions
_REFRESH_SECONDS = 900.0  # between two updates of what devices share
_PATIENCE = 60.0  # seconds in which a device must say who it is, and what waits; neither is work


@dataclass(slots=True)
class Serving:
    """Keeps one strategy ready for questions of the people at devices.

    Devices come and go: as soon as others are connected than before, and after `_REFRESH_SECONDS`, the strategy
    describes, builds and shares anew, which costs little where nothing has changed. No question and no answer is in
    its log, and none is kept at the server but by a strategy with caches of its own (`hybrid-fusion`).
    """

    grid: Grid  # flower's grid
    run_id: str  # bound into every message
    strategy: FederatedRag  # closes the questions
    settings: Settings  # of the run
    # clock, sleep: seconds for intervals, and what passes them.
    clock: Clock = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _nodes: frozenset[int] = frozenset()
    _due: float = field(default=float("-inf"))
    _homes: dict[str, str] = field(default_factory=dict)  # by question, of those that were offered since the run began
    _offered: defaultdict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))  # by home, in order

    def run(self) -> None:
        """Look for waiting questions until the run is stopped, or `serving.polls` times."""
        most, polls = self.settings.serving.polls, 0
        while True:
            if self._refreshed():
                self._round()
            polls += 1
            if most and polls >= most:
                return
            self.sleep(_POLL_SECONDS)

    def _refreshed(self) -> bool:
        """Bring the strategy up to date where that is due; False while devices or room lack, or a store is busy."""
        present = frozenset(self.grid.get_node_ids())
        if present == self._nodes and self.clock() < self._due:
            return True
        try:
            self.strategy.prepare(self.grid, self.run_id, _PATIENCE)
        except SettingError:
            raise  # nothing heals it
        except FedragError as error:
            log(WARNING, "waiting for devices or a store: %s", error)
            self._due = float("-inf")  # what was begun is no state to serve from
            return False
        self._nodes, self._due = present, self.clock() + _REFRESH_SECONDS
        log(INFO, "%s serves %d devices", self.strategy.name, len(self.strategy.cards))
        return True

    def _round(self) -> None:
        questions = self._waiting()
        if not questions:
            return
        start = self.clock()
        try:
            self.strategy.ask_all(questions)
        except FedragError as error:  # they wait at home, and are asked again
            log(WARNING, "a round failed: %s", error)
            self.strategy.forget()
            return
        closed = [self.strategy.answers.get(question.id) for question in questions]
        helped = sum(answer is not None and answer.path != "abstained" for answer in closed)  # their texts stay at home
        log(INFO, "%d questions, %d answered, in %.1f s", len(questions), helped, self.clock() - start)
        self.strategy.forget()

    def _waiting(self) -> list[Question]:
        """What waits at the devices; a device that brings another's question, or too many, is named.

        A question is that of the device which offered it first: others learn of it no sooner than when it is taken up.
        """
        transport = self.strategy.transport
        request = WaitingRequest(self.strategy.reads_questions, MOST_AT_ONCE, self.strategy.uses_enclave)
        ready = [node_id for node_id in self.strategy.builds if node_id in self._nodes]
        outgoing = [Request(node_id, request) for node_id in ready]
        found: dict[str, Question] = {}
        batches = transport.exchange(outgoing, "query.waiting", WaitingBatch, timeout=_PATIENCE)
        for node_id, batch in batches.items():
            home = transport.name(node_id)
            honest = all(question.home == home for question in batch.questions)
            if not honest or len(batch.questions) > MOST_AT_ONCE:
                transport.miss(node_id, "it brought questions in another device's name, or too many")
                continue
            for question in batch.questions:
                if self._first_offered_by(question.id, home) == home:
                    found[question.id] = question
                else:
                    transport.miss(node_id, "it brought a question that another device had offered before")
        return list(found.values())

    def _first_offered_by(self, question: str, home: str) -> str:
        """The device that offered a question first, which this one may be; of each the latest are remembered."""
        if question not in self._homes:
            self._homes[question] = home
            own = self._offered[home]
            own.append(question)
            if len(own) > _MOST_OFFERED:
                del self._homes[own.popleft()]
        return self._homes[question]


def serve(grid: Grid, run_id: str, settings: Settings) -> None:
    """Serve with the settings' strategy until the run is stopped; raises SettingError where it is not one that can."""
    tools = ServerTools(settings)
    strategy = served(settings, tools)
    strategy.patience = 0.0  # who comes later is taken in then
    try:
        Serving(grid, run_id, strategy, settings).run()
    finally:
        strategy.close()
        tools.close()
