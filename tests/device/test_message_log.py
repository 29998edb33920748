"""A message that comes twice is handled once, and one that is older than what was handled is refused."""

from pathlib import Path

import pytest

from fedrag_flwr import wire
from fedrag_flwr.device.message_log import MOST_REPLY, MOST_RUNS, MessageLog
from fedrag_flwr.errors import StaleMessageError, StoreLockedError
from fedrag_flwr.records import BuildRequest
from fedrag_flwr.wire_bytes import from_bytes, to_bytes


class Handler:
    """Counts how often it acts, and replies with the count."""

    def __init__(self) -> None:
        self.acts = 0

    def __call__(self) -> bytes:
        self.acts += 1
        return f"reply {self.acts}".encode()


@pytest.fixture
def log(tmp_path: Path) -> MessageLog:
    return MessageLog(tmp_path / "messages.sqlite")


def test_what_comes_twice_gets_the_same_reply_also_after_a_restart(log: MessageLog, tmp_path: Path) -> None:
    act = Handler()
    first = log.once("7", 3, act)
    assert log.once("7", 3, act) == first
    log.close()
    again = MessageLog(tmp_path / "messages.sqlite")
    assert again.once("7", 3, act) == first
    assert act.acts == 1


def test_what_is_older_is_refused_and_what_is_newer_is_not(log: MessageLog) -> None:
    act = Handler()
    for step in (5, 6, 9):
        log.once("7", step, act)
    for step in (1, 5, 8):
        with pytest.raises(StaleMessageError):
            log.once("7", step, act)
    log.once("8", 1, act)  # another run has numbers of its own
    assert act.acts == 4


@pytest.mark.parametrize("damage", ["zeroed", "cut", "header", "middle"])
def test_a_torn_log_begins_anew(log: MessageLog, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    act, file = Handler(), tmp_path / "messages.sqlite"
    for step in range(1, 40):
        log.once(str(step), step, act)
    log.close()
    whole = file.read_bytes()
    file.write_bytes(
        {
            "zeroed": bytes(len(whole)),
            "cut": whole[: len(whole) // 2 - 7],
            "header": whole[:40] + b"\xa5" * 20 + whole[60:],
            "middle": whole[:4096] + b"\xa5" * (len(whole) - 4096),
        }[damage]
    )
    again = MessageLog(file)
    again.forget()
    assert again.once("7", 50, act) == b"reply 40"
    assert again.once("7", 50, act) == b"reply 40"
    with pytest.raises(StaleMessageError):
        again.once("7", 49, act)
    assert "torn and is made anew" in caplog.text


def test_without_a_place_each_is_handled(log: MessageLog, tmp_path: Path) -> None:
    act = Handler()
    log.once("7", 0, act)
    log.once("7", 0, act)
    assert act.acts == 2
    assert not (tmp_path / "messages.sqlite").exists()


def test_what_failed_may_be_tried_again(log: MessageLog) -> None:
    def fail() -> bytes:
        raise StoreLockedError("another process is writing", where="store")

    act = Handler()
    with pytest.raises(StoreLockedError):
        log.once("7", 3, fail)
    log.once("7", 3, act)
    assert act.acts == 1


def test_large_replies_and_old_runs_are_not_kept(log: MessageLog, tmp_path: Path) -> None:
    act = Handler()
    fitting = log.once("7", 1, act)
    large = b"x" * (MOST_REPLY + 1)
    acts = []

    def reply() -> bytes:
        acts.append(1)
        return large

    for run in range(2 * MOST_RUNS):
        for _ in range(2):
            log.once(f"large {run}", 1, reply)
    assert len(acts) == 4 * MOST_RUNS
    log.close()
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < MOST_REPLY
    assert log.once("7", 1, act) != fitting  # its run was forgotten
    assert act.acts == 2


def test_of_what_was_told_only_the_last_reply_stays(log: MessageLog, tmp_path: Path) -> None:
    for step in range(1, 40):
        log.once("7", step, lambda: b"heliotrope" * 9)
    log.once("8", 1, lambda: b"nothing")
    log.close()
    assert b"heliotrope" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_two_at_work_end_in_any_order(log: MessageLog) -> None:
    def slow() -> bytes:
        log.once("7", 4, lambda: b"later")
        return b"earlier"

    log.once("7", 3, slow)
    assert log.once("7", 4, lambda: b"again") == b"later"
    with pytest.raises(StaleMessageError):
        log.once("7", 3, lambda: b"again")


def test_a_place_travels_and_is_read() -> None:
    assert wire.step_of(wire.encode(BuildRequest(True), run="1", step=12)) == 12
    assert wire.step_of(wire.encode(BuildRequest(True), run="1")) == 0
    assert wire.step_of(from_bytes(to_bytes(wire.encode(BuildRequest(True), run="1", step=2**60)), "message")) == 2**60
