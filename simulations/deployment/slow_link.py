"""A slow and lossy cable: every Ethernet frame waits, and some get lost, on their way between two TAP interfaces.

    python -m simulations.deployment.slow_link NEAR FAR SECONDS LOSS [SEED]

What ``tc netem`` does within the kernel, for kernels without it. Both interfaces are made when it starts and go when it
ends; either may be moved into a network namespace. Losses are drawn, so that TCP sends again as on a bad line.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

import numpy as np

_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
_LONGEST_FRAME = 65_600
_LONGEST_QUEUE = 10_000  # frames; a real line's buffer is bounded, too


def tap(name: str) -> int:
    """Make a TAP interface; gives its file descriptor, through which its frames pass."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER))
    return descriptor


def relay(near: int, far: int, delay: float, loss: float, rng: np.random.Generator) -> None:
    """Carry frames both ways, until an end is closed.

    Parameters
    ----------
    near, far
        Descriptors of the two ends.
    delay
        Seconds that each frame is under way.
    loss
        The share of frames that never arrive, in [0, 1].
    rng
        Draws which.
    """
    under_way: deque[tuple[float, int, bytes]] = deque()
    while True:
        wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for source in select.select([near, far], [], [], wait)[0]:
            frame = os.read(source, _LONGEST_FRAME)
            if not frame:
                return
            if rng.random() >= loss and len(under_way) < _LONGEST_QUEUE:
                under_way.append((time.monotonic() + delay, far if source == near else near, frame))
        while under_way and under_way[0][0] <= time.monotonic():
            _, target, frame = under_way.popleft()
            try:
                os.write(target, frame)
            except OSError:  # that end is down: the cable is pulled
                continue


def main() -> None:
    """Make the ends and relay."""
    near, far, delay, loss = sys.argv[1:5]
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 7
    relay(tap(near), tap(far), float(delay), float(loss), np.random.default_rng(seed))


if __name__ == "__main__":
    main()
