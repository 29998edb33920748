"""Carries records to devices and replies back: deadlines, validation, traffic, and who is missing and why."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from logging import WARNING
from typing import TypeVar

from flwr.app import Message
from flwr.common import log
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr import wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.evaluation.traffic import Traffic
from fedrag_flwr.records import Progress, silent

R = TypeVar("R")
P = TypeVar("P")
POLL = 0.1  # most seconds between two looks for replies; a round begins with the shortest pause, which doubles
_SHORTEST = 0.001
MOST_BYTES = 2**32  # payload that one device may send in the run of one system; then it is left out
_MALFORMED = (AttributeError, TypeError, ValueError, LookupError, EOFError, AssertionError, DecodeError)
_TRANSIENT = frozenset(
    (
        ErrorCode.MESSAGE_UNAVAILABLE,
        ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
        ErrorCode.NODE_UNAVAILABLE,
        ErrorCode.CLIENT_APP_CRASHED,
    )
)  # of these a later try may know nothing; the others come again each time
MOST_UNASKED = 64  # replies that nobody waits for; a few come when a message was sent again


def fitting(sizes: Sequence[int], room: int) -> tuple[list[int], list[int]]:
    """The places of as many parts as fit into so much room together, and of the others, which are the largest."""
    kept: list[int] = []
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        room -= sizes[place]
        if room < 0:
            break
        kept.append(place)
    return sorted(kept), sorted(set(range(len(sizes))).difference(kept))


def steps(clock: Callable[[], float] = time.time) -> Iterator[int]:
    """Give ever higher numbers: the present in microseconds, or one more than the last where that is higher.

    So two series of one run may take turns, and a server that starts anew goes on above what it used; a clock that is
    set back changes nothing within a series. The clock gives seconds since the epoch.
    """
    last = 0
    while True:
        last = max(last + 1, int(clock() * 1e6))
        yield last


@dataclass(slots=True)
class ByteQuota:
    """Counts what each node sends."""

    most_bytes: int = MOST_BYTES  # payload bytes of one node in the run of one system
    _bytes: Counter[int] = field(default_factory=Counter)
    _unasked: Counter[int] = field(default_factory=Counter)

    def take(self, node_id: int, size: int) -> None:
        """Count a reply's payload, in bytes."""
        self._bytes[node_id] += size

    def take_unasked(self, node_id: int) -> None:
        """Count a reply that nobody waits for."""
        self._unasked[node_id] += 1

    def spent(self, node_id: int) -> str:
        """Why a node is left out, or "" where it is not."""
        if self._bytes[node_id] > self.most_bytes:
            return f"it sent more than {self.most_bytes} bytes"
        if self._unasked[node_id] > MOST_UNASKED:
            return f"it sent more than {MOST_UNASKED} replies that nobody waited for"
        return ""


@dataclass(frozen=True, slots=True)
class Request:
    """A record for one node."""

    node_id: int
    record: object


@dataclass(slots=True)
class _Pending:
    """A message on its way to its node: until when it is awaited, how often it was sent, and when it is due again.

    `ends` is when it dies: later it is not awaited, whatever else arrives.
    """

    message: Message
    until: float
    ends: float
    tries: int = 0
    due: float = 0.0

    @property
    def node_id(self) -> int:
        return int(self.message.metadata.dst_node_id)


@dataclass(slots=True)
class Transport:
    """Sends a round of records and brings back what decodes.

    A message that a device lost, because it was away or its app died, is sent again under the same number, with a
    pause that doubles, within the round's time. A device that fails, lags or replies nonsense is named in
    `traffic.missing`, and the round goes on; of two replies to one message the first counts.
    """

    grid: Grid  # flower's grid
    run: str  # the run's id; replies of another run are refused
    # Seconds after which a round goes on without those who are silent. Each reply begins them anew for the others, who
    # may have had to wait for a processor.
    timeout: float
    # retries, pause: how often a message is sent again, and the seconds before the first time. A device for which that
    # did not help gets one try a round until it replies.
    retries: int = 0
    pause: float = 1.0
    # Device names by node id, for reports; filled by the describe step.
    names: dict[int, str] = field(default_factory=dict)
    asked: dict[str, Message] = field(default_factory=dict)  # the messages of the present round by their ids
    # Numbers for requests, ever higher; one series for all systems of a run.
    steps: Iterator[int] = field(default_factory=steps)
    quota: ByteQuota = field(default_factory=ByteQuota)  # what a device may send
    progress: Progress = silent  # told of each reply
    traffic: Traffic = field(default_factory=Traffic)
    delays: dict[int, float] = field(default_factory=dict)  # seconds that the latest reply of each node took
    waited: float = 0.0  # seconds that went into sending and waiting, of all rounds
    silent: frozenset[int] = frozenset()  # the nodes that did not reply to the last message in time
    posing: frozenset[int] = frozenset()  # the nodes that replied to the last message in another device's name
    clock: Callable[[], float] = time.monotonic
    _away: set[int] = field(default_factory=set)  # nodes that no retry reached
    _singly: bool = False  # whether replies are pulled one by one

    def name(self, node_id: int) -> str:
        """A node's device name, or its id before it has told its name."""
        return self.names.get(node_id, f"node {node_id}")

    def messages(self, outgoing: Iterable[Request], message_type: str, timeout: float | None = None) -> list[Message]:
        """Encode requests as Flower messages, at most one a node.

        They live as long as replies may take one after the other, or for so many seconds.
        """
        requests = list(outgoing)
        messages, ttl = [], timeout or self.timeout * max(len(requests), 1)
        for sending in requests:
            if reason := self.quota.spent(sending.node_id):
                self.miss(sending.node_id, reason)
                continue
            try:
                content = wire.encode(sending.record, run=self.run, step=next(self.steps))
            except WireError as error:  # what another device gave may make a request too large
                self.miss(sending.node_id, f"{message_type} could not be sent: {error}")
                continue
            messages.append(Message(content, sending.node_id, message_type, ttl=ttl, group_id=self.run))
        return messages

    def deliver(self, messages: Iterable[Message]) -> list[Message]:
        """Push messages and pull replies until all are here or their time is up; one reply a message, the first.

        Nobody waits for the reply to a message that is dead; while others are awaited it still counts.
        """
        start = self.clock()
        waiting = [
            _Pending(message, start + min(message.metadata.ttl, self.timeout), start + message.metadata.ttl)
            for message in messages
        ]
        if not waiting:
            return []
        phase, total = waiting[0].message.metadata.message_type, len(waiting)
        awaited: dict[str, _Pending] = {}
        self.asked.clear()
        replies: list[Message] = []
        poll = _SHORTEST
        self.progress(phase, 0, total)
        while self.clock() < max((pending.until for pending in (*awaited.values(), *waiting)), default=start):
            now = self.clock()
            due, waiting = [e for e in waiting if e.due <= now], [e for e in waiting if e.due > now]
            waiting += self._push(due, awaited)
            arrived, lost = self._pull(awaited)
            waiting += lost
            for reply in arrived:
                pending = awaited.pop(reply.metadata.reply_to_message_id, None)
                if pending is None:
                    self.quota.take_unasked(reply.metadata.src_node_id)
                elif reply.has_error() and reply.error.code in _TRANSIENT and self._again(pending):
                    waiting.append(pending)
                else:
                    self.delays[pending.node_id] = self.clock() - start
                    replies.append(reply)
                    self.progress(phase, len(replies), total)
            if arrived:
                for pending in (*awaited.values(), *waiting):
                    pending.until = max(pending.until, min(self.clock() + self.timeout, pending.ends))
            elif waiting or awaited:
                time.sleep(poll)
                poll = min(2 * poll, POLL)
        took = self.clock() - start
        self.waited += took
        self.traffic = self.traffic.waited(phase, took)
        self.silent = frozenset(pending.node_id for pending in (*awaited.values(), *waiting))
        for pending in (*awaited.values(), *waiting):
            patience = min(pending.message.metadata.ttl, self.timeout)
            self.miss(pending.node_id, f"no reply to {phase} within {patience:g} s")
        return replies

    def pause_for_nodes(self) -> None:
        """Wait a moment for devices to connect."""
        time.sleep(POLL)
        self.waited += POLL

    def _pull(self, awaited: dict[str, _Pending]) -> tuple[list[Message], list[_Pending]]:
        """The replies that are here, and what is to be sent again.

        Flower unpacks what it pulls, and a reply that does not unpack fails all that come with it. From then on each is
        pulled by itself, so that the one who sent it is known.
        """
        if not awaited:
            return [], []
        if not self._singly:
            try:
                return list(self.grid.pull_messages(list(awaited))), []
            except _MALFORMED as error:
                log(WARNING, "a reply cannot be unpacked (%s); they are taken one by one now", type(error).__name__)
                self._singly = True
                all_pending = list(awaited.values())
                awaited.clear()  # Flower holds what came with it for delivered
                return [], [pending for pending in all_pending if self._again(pending) or self._lose(pending)]
        arrived: list[Message] = []
        for message_id, pending in list(awaited.items()):
            try:
                arrived += self.grid.pull_messages([message_id])
            except _MALFORMED as error:
                del awaited[message_id]
                self.miss(pending.node_id, f"a reply that cannot be unpacked ({type(error).__name__})")
        return arrived, []

    def _lose(self, pending: _Pending) -> bool:
        self.miss(pending.node_id, "a reply that was lost with another's")
        return False

    def _push(self, due: list[_Pending], awaited: dict[str, _Pending]) -> list[_Pending]:
        """Send what is due, and give what was not accepted but may be tried again."""
        if not due:
            return []
        messages = [pending.message if not pending.tries else self._anew(pending) for pending in due]
        ids = list(self.grid.push_messages(messages))
        refused = []
        for pending, message, message_id in itertools.zip_longest(
            due, messages, ids
        ):  # no ids where all were too large
            pending.tries += 1
            if message_id:
                awaited[message_id], self.asked[message_id] = pending, message
                sent = wire.size_of(message.content)
                self.traffic = self.traffic.add(message.metadata.message_type, bytes_down=sent)
            elif self._again(pending):
                refused.append(pending)
            else:
                self.miss(pending.node_id, "the message was not accepted")
        return refused

    def _again(self, pending: _Pending) -> bool:
        """Whether a message that was lost is to be sent once more, and when."""
        if pending.tries > self.retries or pending.node_id in self._away:
            self._away.add(pending.node_id)
            return False
        pending.due = self.clock() + self.pause * 2 ** (pending.tries - 1)
        return True

    def _anew(self, pending: _Pending) -> Message:
        """The same content, and so the same number, in a new message that lives as long as the one before."""
        told = pending.message.metadata
        left = max(pending.ends - self.clock(), 1.0)
        return Message(pending.message.content, told.dst_node_id, told.message_type, ttl=left, group_id=self.run)

    def open(self, replies: Iterable[Message], kind: type[R]) -> dict[int, R]:
        """Decode replies by the node that was asked; what does not decode is refused and its device named.

        A reply belongs to the node that its message went to: an error reply for a dead node names another source.

        One that a device gives in another's name, or of another origin, is refused, too.
        """
        opened: dict[int, R] = {}
        self.posing = frozenset()
        for reply in replies:
            told = self.asked.get(reply.metadata.reply_to_message_id)
            node_id = told.metadata.dst_node_id if told else reply.metadata.src_node_id
            phase = (told or reply).metadata.message_type
            if reply.has_error():
                self.miss(node_id, f"{phase} failed with code {reply.error.code}")
                continue
            self._away.discard(node_id)
            size = wire.size_of(reply.content)
            self.traffic = self.traffic.add(phase, bytes_up=size)
            self.quota.take(node_id, size)
            if reason := self.quota.spent(node_id):
                self.miss(node_id, reason)
                continue
            try:
                if wire.kind_of(reply.content) == wire.Failure.__name__:
                    failure = wire.decode(reply.content, wire.Failure, run=self.run)
                    self.miss(node_id, f"{phase}: {failure.error}: {failure.what}")
                    continue
                said = wire.decode(reply.content, kind, run=self.run)
            except WireError as error:
                self.miss(node_id, f"{phase}: {error}")
                continue
            told_by = getattr(said, "device", getattr(said, "origin", self.name(node_id)))
            if told_by == self.name(node_id):
                opened[node_id] = said
            else:
                self.miss(node_id, f"{phase}: it replied in another device's name")
                self.posing |= {node_id}
        return opened

    def fit(
        self, parts: Sequence[P], size: Callable[[P], int], room: int, giver: Callable[[P], int | None], reason: str
    ) -> list[P]:
        """As many parts as go into so many bytes together, in order; the nodes that gave the others are named."""
        kept, out = fitting([size(part) for part in parts], room)
        for place in out:
            if (node_id := giver(parts[place])) is not None:
                self.miss(node_id, reason)
        return [parts[place] for place in kept]

    def exchange(
        self, outgoing: Iterable[Request], message_type: str, kind: type[R], timeout: float | None = None
    ) -> dict[int, R]:
        """One round: send, wait as long as a round may take or so many seconds, decode."""
        return self.open(self.deliver(self.messages(outgoing, message_type, timeout)), kind)

    def worked(self, seconds: float) -> float:
        """Seconds that a device says it worked for a reply, at most those that it may take for one."""
        return min(seconds, self.timeout)

    def miss(self, node_id: int, reason: str) -> None:
        """Name a device that this run goes on without."""
        name = self.name(node_id)
        self.traffic = self.traffic.lose(name, reason)
        log(WARNING, "%s is missing: %s", name, reason)
