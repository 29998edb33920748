"""FederatedRag: the phases that every strategy runs; what differs between systems is a few small decisions."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from logging import INFO
from typing import get_args

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fedrag_flwr.errors import FederationError
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerMode,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    Cost,
    DescribeRequest,
    DeviceCard,
    DocumentState,
    Exchange,
    ImportReport,
    OpenQuestion,
    Progress,
    Question,
    failed,
    silent,
)
from fedrag_flwr.settings import Settings
from strategies.discovery import admit, require_quorum, wait_for_nodes
from strategies.outcome import RunOutcome, metrics_of_answers, metrics_of_builds
from strategies.server_tools import ServerTools
from strategies.transport import Request, Transport

_OF_ONE_HOME = 128  # a device has `federation.round-timeout` for them: seven seconds for each, unless it is set
_AT_ONCE = 4_096  # all of them may go to one owner, in one message with a vector for each
Note = Callable[[Iterable[Answer]], None]
EVERY_EXCHANGE: frozenset[Exchange] = frozenset(get_args(Exchange))  # of strategies that show no question on its way


class FederatedRag(Strategy):
    """Describe, build, share and fuse, answer, report.

    A subclass chooses `mode` (how a device answers), `memories` (whether devices generate memories), `graph` (whether
    they build knowledge graphs), `exchanges` (under which it shows no question to who should not see it),
    `uses_enclave` (whether their texts go into an enclave), `serves` (whether homes are told their answers), `patience`
    (seconds to wait for devices to connect), `retries` (how often a message is sent again that a device lost) and
    `pause` (seconds before the first time, then twice as long each time), and overrides `share` (what is exchanged
    before questions) and `resolve` (who helps with open questions). Questions are asked at the devices that they name
    as home; `progress` is told of each reply.
    """

    name: str = ""
    mode: AnswerMode = "passages"
    memories: bool = False
    graph: bool = False
    exchanges: frozenset[Exchange] = frozenset({"plain"})
    uses_enclave: bool = False
    serves: bool = True
    patience: float = 120.0
    retries: int = 3
    pause: float = 2.0

    def __init__(
        self, settings: Settings, questions: Sequence[Question], tools: ServerTools, progress: Progress = silent
    ) -> None:
        self.settings = settings.model_copy(update={"exchange": settings.exchange_for(self.mode)})
        self.tools = tools
        self.questions = {question.id: question for question in questions}
        self.asking: tuple[Question, ...] = ()
        self.progress = progress
        self.cards: dict[int, DeviceCard] = {}
        self.builds: dict[int, BuildReport] = {}
        self.answers: dict[str, Answer] = {}
        self.open: dict[str, OpenQuestion] = {}
        self.peak_rss_mb: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.note: Note | None = None  # told of all answers after each phase that closes questions
        self._transport: Transport | None = None
        self._started = 0.0
        self._worked = 0.0
        self._haste: float | None = None
        self._late: frozenset[int] = frozenset()  # nodes that gave no sign of their own at the last build

    # --- the run ----------------------------------------------------------------------------------

    def run(self, grid: Grid, run: str) -> RunOutcome:
        """Run all phases on a grid, ask all questions, and return what that brought; raises FederationError where fewer
        devices than the quorum took part.
        """
        self.prepare(grid, run)
        left = tuple(question for question in self.questions.values() if question.id not in self.answers)
        if left or not self.questions:
            self.ask_all(left)
        return self.outcome()

    def resume(self, answers: Mapping[str, Answer], note: Note) -> None:
        """Let answers of a run that was cut stand, by question, and tell `note` of those that come.

        Those that only an error kept from being given are asked again. Costs stand with the answers; traffic and counts
        are those of the present run alone.
        """
        kept = {name: answer for name, answer in answers.items() if not failed(answer)}
        self.answers.update(kept)
        self.note = note
        if kept:
            self.counts["resumed"] = len(kept)

    def prepare(self, grid: Grid, run: str, haste: float | None = None) -> None:
        """Describe, build and share: what comes before questions; raises as :meth:`run`.

        `haste` are the seconds that devices have to say who they are, and to build where they were silent at the last
        build; without it all have a round's time.
        """
        self._started, self._haste = time.monotonic(), haste
        federation = self.settings.federation
        self._transport = Transport(
            grid,
            run,
            federation.round_timeout,
            self.retries,
            self.pause,
            steps=self.tools.steps,
            progress=self.progress,
        )
        with self._working():
            self.describe()
            replies = self.transport.deliver(self.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
            self._late = self.transport.silent
            self.aggregate_train(1, replies)
            self.share()

    @property
    def there(self) -> list[int]:
        """The nodes that take part, and those that said that their build failed.

        Such a one may have withdrawn something before, and others may have what it holds.
        """
        return [node_id for node_id in self.cards if node_id in self.builds or node_id not in self._late]

    def forget(self) -> None:
        """Drop the questions that were asked, and their answers."""
        self.questions, self.answers, self.open, self.asking = {}, {}, {}, ()

    def ask_all(self, questions: Sequence[Question]) -> None:
        """Ask any number of questions, part by part; what a part brought stands whatever comes of the others."""
        for part in in_parts(questions):
            self.ask(part)
            self._note_answers()

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask questions of one part at their homes and close those that stay open; it may be called again."""
        self.questions.update({question.id: question for question in questions})
        self.asking, self.open = tuple(questions), {}
        with self._working():
            messages = self.configure_evaluate(1, ArrayRecord(), ConfigRecord(), self.transport.grid)
            self.aggregate_evaluate(1, self.transport.deliver(messages))
            self._note_answers()
            self.resolve()

    def close(self) -> None:
        """End what the strategy has started beside the run; there is nothing here."""

    def outcome(self) -> RunOutcome:
        """What the run has brought so far."""
        return RunOutcome(
            strategy=self.name,
            answers=tuple(self.answers.values()),
            builds=tuple(self.builds.values()),
            cards=tuple(self.cards.values()),
            traffic=self.transport.traffic,
            peak_rss_mb=self.peak_rss_mb,
            seconds=time.monotonic() - self._started,
            counts=self.counts,
            server_seconds=self._worked,
        )

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,
        num_rounds: int = 1,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run as Flower's strategies do; `run` gives the answers as well."""
        self.summary()
        outcome = self.run(grid, str(grid.run.run_id))
        result = Result()
        result.train_metrics_clientapp[1] = metrics_of_builds(outcome.builds)
        result.evaluate_metrics_clientapp[1] = metrics_of_answers(outcome.answers)
        return result

    def describe(self) -> None:
        """Wait for the devices, ask each who it is, and name it."""
        transport = self.transport
        node_ids = wait_for_nodes(transport, self.settings.federation.devices, self.patience)
        outgoing = [Request(node_id, DescribeRequest()) for node_id in node_ids]
        cards = transport.exchange(outgoing, "query.describe", DeviceCard, self._haste)
        self.cards = admit(cards, transport, self.tools.name_keys)
        without = sum(not card.sources for card in cards.values())
        self._require_quorum(len(self.cards), len(node_ids) - without, "describe")

    # --- Flower's four methods --------------------------------------------------------------------

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every device to bring its memory up to date."""
        request = BuildRequest(memories=self.memories, graph=self.graph)
        hurried = dict.fromkeys(self._late, self._haste)
        rest = [Request(node_id, request) for node_id in self.cards if not hurried.get(node_id)]
        late = [Request(node_id, request) for node_id in self.cards if hurried.get(node_id)]
        told = self.transport.messages
        return [*told(rest, "train.build"), *(told(late, "train.build", self._haste) if late else ())]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Take the build reports."""
        self.builds = self.transport.open(replies, BuildReport)
        self._late |= self.transport.posing
        self._require_quorum(len(self.builds), len(self.cards), "build")
        for report in self.builds.values():
            self._remember_peak(report.device, report.peak_rss_mb)
        return None, metrics_of_builds(self.builds.values())

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask each device the questions that are asked there, all in one message."""
        outgoing = []
        again = self.mode in ("walk", "assisted")  # an answer from before may do
        states = tuple(DocumentState(told.device, told.state) for told in self.builds.values()) if again else ()
        for node_id, card in self.cards.items():
            asked = tuple(question for question in self.asking if question.home == card.name)
            if asked and node_id in self.builds:
                outgoing.append(Request(node_id, AnswerRequest(self.mode, asked, states)))
        return self.transport.messages(outgoing, "query.answer")

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Take the answers and the questions that are still open."""
        for node_id, batch in self.transport.open(replies, AnswerBatch).items():
            self.take(node_id, batch)
        return metrics_of_answers(self.answers.values())

    def summary(self) -> None:
        """Log what this strategy does."""
        log(INFO, "%s: %d questions, mode %s", self.name, len(self.questions), self.mode)

    # --- what subclasses decide ---------------------------------------------------------------------

    @property
    def reads_questions(self) -> bool:
        """Whether anyone but a question's home must read it; else it may come without its text."""
        return False

    def share(self) -> None:
        """Exchange knowledge before questions are asked; nothing by default."""

    def resolve(self) -> None:
        """Close the open questions; by default there are none."""

    # --- helpers for subclasses -----------------------------------------------------------------------

    def take(self, node_id: int, batch: AnswerBatch) -> None:
        """Keep a device's answers to its own questions; anything else it says is dropped and the device named."""
        home = self.transport.name(node_id)
        self._remember_peak(home, batch.peak_rss_mb)
        for answer in batch.answers:
            if self._asked_at(answer.question_id, home):
                self.answers[answer.question_id] = answer
                self.open.pop(answer.question_id, None)
            else:
                self.transport.miss(node_id, "it answered a question that it was not asked")
        for question in batch.open:
            if self._asked_at(question.question_id, home):
                self.open[question.question_id] = question

    def deliver(self, answers: Iterable[Answer]) -> None:
        """Send answers to the homes of their questions."""
        batches: dict[int, list[Answer]] = defaultdict(list)
        for answer in answers:
            if (home := self.node_of(self.questions[answer.question_id].home)) is not None:
                batches[home].append(answer)
        name = self.transport.name
        outgoing = [Request(n, AnswerBatch(name(n), tuple(own), (), 0.0)) for n, own in batches.items()]
        self.transport.exchange(outgoing, "query.deliver", ImportReport)

    def charge(self, question_id: str, seconds: float) -> None:
        """Add seconds that other devices spent on a question to its answer."""
        if (answer := self.answers.get(question_id)) is not None:
            self.answers[question_id] = replace(answer, cost=answer.cost + Cost(seconds=seconds))

    def tally(self, found: Mapping[str, int]) -> None:
        """Add counts of some questions to those of others."""
        self.counts |= {name: self.counts.get(name, 0) + count for name, count in found.items()}

    def node_of(self, device: str) -> int | None:
        """The node of a device that takes part, by its name."""
        return next((node_id for node_id, card in self.cards.items() if card.name == device), None)

    @property
    def transport(self) -> Transport:
        """What carries its messages, once it has begun."""
        if self._transport is None:
            raise FederationError("the strategy has not been started", where=self.name, fix="call run() first")
        return self._transport

    @contextmanager
    def _working(self) -> Iterator[None]:
        start = time.monotonic() - self.transport.waited
        yield
        self._worked += time.monotonic() - self.transport.waited - start

    def _note_answers(self) -> None:
        if self.note is not None:
            self.note(self.answers.values())

    def _asked_at(self, question_id: str, home: str) -> bool:
        question = self.questions.get(question_id)
        return question is not None and question.home == home

    def _remember_peak(self, device: str, peak: float) -> None:
        self.peak_rss_mb[device] = max(peak, self.peak_rss_mb.get(device, 0.0))

    def _require_quorum(self, present: int, asked: int, phase: str) -> None:
        require_quorum(self.transport, self.settings.federation, present, asked, phase)


def in_parts(questions: Sequence[Question]) -> list[tuple[Question, ...]]:
    """Divide questions so that every home works on its share of a part at the same time as the others.

    Those of a part keep their order. Without any there is one part, which is empty.
    """
    parts: defaultdict[int, list[Question]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for question in questions:
        parts[seen[question.home] // _OF_ONE_HOME].append(question)
        seen[question.home] += 1
    return [
        tuple(part[start : start + _AT_ONCE]) for part in parts.values() for start in range(0, len(part), _AT_ONCE)
    ] or [()]
