"""Messages that get lost on their way are sent again; devices that flood are left out."""

import itertools
from collections.abc import Callable, Iterable

import pytest
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import DescribeRequest, DeviceCard
from strategies.transport import MOST_UNASKED, ByteQuota, Request, Transport, steps

RUN = "1"
CARD = DeviceCard("mill", ("text",), "e", 4, "g", 1, 1, 1, "", 0)
DESCRIBE = [Request(100, DescribeRequest())]


def describing(heard: list[int]) -> ClientApp:
    """A device that describes itself, and keeps the numbers of what it heard."""
    app = ClientApp()

    @app.query("describe")
    def describe(message: Message, context: Context) -> Message:
        heard.append(wire.step_of(message.content))
        return Message(wire.encode(CARD, run=RUN), reply_to=message)

    return app


class Unsteady(LocalGrid):
    """A grid that loses what it is told to: `fate` gives for each try an error code, "refused", or None."""

    def __init__(self, fate: Iterable[int | str | None]) -> None:
        self.heard: list[int] = []
        super().__init__(describing(self.heard), [{}], {})
        self._fate = itertools.chain(fate, itertools.repeat(None))
        self._next: int | str | None = None

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        self._next = next(self._fate)
        return ["" for _ in messages] if self._next == "refused" else super().push_messages(messages)

    def _handle(self, message: Message) -> Message:
        reply = super()._handle(message)  # a reply may be lost after the device did what was asked
        return Message(Error(self._next, "lost"), reply_to=message) if isinstance(self._next, int) else reply


class Chatty(LocalGrid):
    """A grid that brings every reply many times."""

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [reply for reply in super().pull_messages(message_ids) for _ in range(MOST_UNASKED + 2)]


def transport(grid: LocalGrid, retries: int = 3, clock: Callable[[], float] | None = None) -> Transport:
    made = Transport(grid, RUN, timeout=30.0, retries=retries, pause=0.001)
    made.clock = clock or made.clock
    return made


@pytest.mark.parametrize("lost", [3, 4, 5, 8, "refused"])
def test_what_was_lost_is_sent_again_under_its_number(lost: int | str) -> None:
    grid = Unsteady([lost, lost])
    link = transport(grid)
    assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {100: CARD}
    assert link.traffic.missing == {}
    assert len(set(grid.heard)) == 1
    assert link.traffic.messages == 2 + 2 * (lost != "refused")


@pytest.mark.parametrize("code", [1, 2, 6, 7])
def test_what_would_fail_again_is_not_sent_again(code: int) -> None:
    grid = Unsteady([code])
    link = transport(grid)
    assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {}
    assert link.traffic.missing == {"node 100": f"query.describe failed with code {code}"}
    assert len(grid.heard) == 1


def test_a_device_that_stays_away_is_tried_once_a_round_until_it_replies() -> None:
    grid = Unsteady([5] * 5 + [None] + [5])
    link = transport(grid)
    tries = []
    for _ in range(4):
        before = len(grid.heard)
        link.exchange(DESCRIBE, "query.describe", DeviceCard)
        tries.append(len(grid.heard) - before)
    assert tries == [4, 1, 1, 2]


def test_the_pauses_double_and_end_with_the_round() -> None:
    now = itertools.count()
    grid = Unsteady([5] * 100)
    link = transport(grid, retries=99, clock=lambda: float(next(now)))
    link.pause = 1.0
    assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {}
    assert link.traffic.missing == {"node 100": "no reply to query.describe within 30 s"}
    assert 2 <= len(grid.heard) <= 5


def test_nobody_waits_for_the_reply_to_a_message_that_is_dead() -> None:
    grid = LocalGrid(
        describing([]), [{}, {}], {}, tamper=lambda reply: reply if reply.metadata.src_node_id == 100 else None
    )
    link = transport(grid)
    messages = [
        *link.messages([Request(101, DescribeRequest())], "query.describe", 0.05),
        *link.messages(DESCRIBE, "query.describe"),
    ]
    assert link.open(link.deliver(messages), DeviceCard) == {100: CARD}
    assert link.traffic.missing == {"node 101": "no reply to query.describe within 0.05 s"}
    assert link.silent == {101}
    assert link.waited < 20.0


def test_a_device_that_waits_for_others_is_not_silent() -> None:
    """Three devices work one after the other, each for most of a round's time."""
    clock = [0.0]

    def slow(reply: Message) -> Message:
        clock[0] += 20.0
        return reply

    link = transport(LocalGrid(describing([]), [{}] * 3, {}, tamper=slow), clock=lambda: clock[0])
    outgoing = [Request(node, DescribeRequest()) for node in (100, 101, 102)]
    assert len(link.exchange(outgoing, "query.describe", DeviceCard)) == 3
    assert link.traffic.missing == {}
    assert clock[0] > link.timeout


def test_numbers_go_up_also_where_series_take_turns_and_a_clock_is_set_back() -> None:
    times = [5.0, 5.0, 5.0, 5.1, 5.2, 4.0, 5.3]
    clock = iter(times)
    one, other = steps(lambda: next(clock)), steps(lambda: next(clock))
    turns = [next(one), next(one), next(one), next(other), next(one)]
    assert turns == sorted(set(turns))
    assert next(one) == turns[-1] + 1  # set back
    assert next(other) > turns[-1]
    assert next(steps(lambda: 6.0)) > turns[-1]  # a server that starts anew


def test_a_device_that_sends_too_much_is_named_and_asked_no_more() -> None:
    grid = Unsteady([])
    link = transport(grid)
    link.quota = ByteQuota(most_bytes=10)
    assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {}
    assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {}
    assert link.traffic.missing == {"node 100": "it sent more than 10 bytes"}
    assert len(grid.heard) == 1


def test_a_device_that_replies_without_end_is_named_and_asked_no_more() -> None:
    link = transport(Chatty(describing([]), [{}], {}))
    for _ in range(2):
        assert link.exchange(DESCRIBE, "query.describe", DeviceCard) == {}
    assert link.traffic.messages == 2
    assert "that nobody waited for" in link.traffic.missing["node 100"]


class Torn(LocalGrid):
    """A grid on which some nodes' replies do not unpack, and fail what is pulled with them, as Flower's does."""

    def __init__(self, torn: set[int]) -> None:
        super().__init__(describing([]), [{}] * 3, {})
        self._torn = torn

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        replies = [reply for one in message_ids for reply in super(Torn, self).pull_messages([one])]
        if any(reply.metadata.src_node_id in self._torn for reply in replies):
            raise AttributeError("'NoneType' object has no attribute 'endswith'")
        return replies


@pytest.mark.parametrize("torn", [{101}, {100, 101, 102}])
def test_a_reply_that_does_not_unpack_costs_its_sender_alone(torn: set[int]) -> None:
    link = transport(Torn(torn))
    outgoing = [Request(node, DescribeRequest()) for node in (100, 101, 102)]
    assert link.exchange(outgoing, "query.describe", DeviceCard).keys() == {100, 101, 102} - torn
    assert len(link.traffic.missing) == len(torn)
    assert all("cannot be unpacked" in reason for reason in link.traffic.missing.values())
    assert link.exchange(outgoing[:1], "query.describe", DeviceCard).keys() == {100} - torn
