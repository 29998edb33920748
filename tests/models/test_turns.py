"""Turns at a model: who is interrupted while it waits keeps nobody else waiting."""

import signal
import threading
from collections.abc import Callable

import pytest

from fedrag_flwr.models.chat import Turns

PATIENCE = 5.0  # seconds


class Held:
    """Turns that another thread has until it is told to go."""

    def __init__(self) -> None:
        self.turns = Turns()
        self._had, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        assert self._had.wait(PATIENCE)

    def _hold(self) -> None:
        with self.turns:
            self._had.set()
            self._go.wait(PATIENCE)

    def leave(self) -> None:
        self._go.set()
        self._thread.join(PATIENCE)


def taken(turns: Turns) -> threading.Event:
    """Another thread asks for its turn; tells when it has had it."""
    done = threading.Event()

    def take() -> None:
        with turns:
            done.set()

    threading.Thread(target=take, daemon=True).start()
    return done


@pytest.mark.parametrize("before", [lambda held: None, Held.leave], ids=["it waits", "its turn has come"])
def test_a_wait_that_is_interrupted_locks_nobody_out(before: Callable[[Held], None]) -> None:
    held, others = Held(), list[threading.Event]()

    def interrupt(*_: object) -> None:
        others.append(taken(held.turns))
        while len(held.turns._waiting) < 2:
            threading.Event().wait(0.001)
        before(held)
        raise KeyboardInterrupt

    def strike() -> None:
        while not held.turns._waiting:
            threading.Event().wait(0.001)
        threading.Event().wait(0.05)  # for its turn, by then
        signal.pthread_kill(main, signal.SIGINT)

    main, usual = threading.get_ident(), signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=strike, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt), held.turns:
            pass
    finally:
        signal.signal(signal.SIGINT, usual)
    held.leave()
    assert others[0].wait(PATIENCE)
    assert taken(held.turns).wait(PATIENCE)
