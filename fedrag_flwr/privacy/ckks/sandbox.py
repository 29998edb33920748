"""Where all is done that touches ciphertexts: a process with a memory limit and a deadline, anew after a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from fedrag_flwr.errors import CipherError, ProcessError
from fedrag_flwr.processes import Child

MEMORY = 2**30
_WORKER = "fedrag_flwr.privacy.ckks.worker"
_SECONDS = 60.0
_MOST_REPLY = 2**28


class Sandbox:
    """Asks the worker.

    Parameters
    ----------
    memory
        Bytes of address space that the worker may take.
    timeout
        Seconds that one operation may take.
    """

    def __init__(self, memory: int = MEMORY, timeout: float = _SECONDS) -> None:
        self.worker = Child(_WORKER, [str(memory)], timeout, _MOST_REPLY)

    def call(self, operation: str, blobs: Sequence[bytes] = (), **told: str) -> list[bytes]:
        """Let the worker do one of its operations; raises CipherError where the worker refused what it was given, or
        died of it.
        """
        header = json.dumps({"operation": operation, **told}).encode()
        try:
            error, *found = self.worker.call([header, *blobs])
        except ProcessError as failure:
            raise CipherError("the process that was given it died, or took too long", where=operation) from failure
        if error:
            raise CipherError(error[:200].decode(errors="replace"), where=operation)
        return found

    def close(self) -> None:
        """End the worker."""
        self.worker.close()


@cache
def shared_sandbox() -> Sandbox:
    """The sandbox of this process, for who needs no other limits; its worker starts when it is first asked."""
    return Sandbox()
