"""Who uses the network meanwhile."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def watched() -> Iterator[list[str]]:
    """The events of sockets, look-ups of names among them; what watches stays with the process, but sees no more."""
    events: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event.startswith("socket."):
            events.append(event)

    sys.addaudithook(watch)
    try:
        yield events
    finally:
        watching = False
