"""Child processes: frames come back as they were sent; one that dies, hangs or babbles is replaced."""

import io
import signal
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import ProcessError
from fedrag_flwr.processes import Child, read_frames, write_frames


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child("tests.child_module", [], timeout=3.0, most_bytes=1_000)
    yield made
    made.close()


@given(st.lists(st.binary(max_size=64), max_size=8))
def test_frames_come_back_as_they_were_written(frames: list[bytes]) -> None:
    stream = io.BytesIO()
    write_frames(stream, frames)
    assert read_frames(io.BytesIO(stream.getvalue()), 1_000) == frames


@given(st.lists(st.binary(max_size=64), min_size=1, max_size=8), st.data())
def test_torn_or_too_long_frames_are_refused(frames: list[bytes], data: st.DataObject) -> None:
    stream = io.BytesIO()
    write_frames(stream, frames)
    whole = stream.getvalue()
    with pytest.raises(EOFError):
        read_frames(io.BytesIO(whole[: data.draw(st.integers(0, len(whole) - 1))]), 1_000)
    if most := sum(map(len, frames)):
        with pytest.raises(ValueError, match="too long"):
            read_frames(io.BytesIO(whole), most - 1)


@pytest.mark.parametrize("fault", [b"die", b"babble", b"sleep"])
def test_a_child_that_fails_is_replaced(child: Child, fault: bytes) -> None:
    assert child.call([b"echo", b"one", b""]) == [b"one", b""]
    child.call([b"print"])  # what a library prints is not taken for a reply
    with pytest.raises(ProcessError, match="died, or took too long"):
        child.call([fault])
    assert child.pid == 0
    assert child.call([b"echo", b"two"]) == [b"two"]
    assert child.starts == 2


def test_a_call_that_is_interrupted_leaves_no_reply_for_the_next(child: Child) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # another test's Flower may have set its own
    assert child.call([b"echo", b"one"]) == [b"one"]
    interrupt = threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            child.call([b"sleep"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.call([b"echo", b"two"]) == [b"two"]
    assert child.starts == 2
