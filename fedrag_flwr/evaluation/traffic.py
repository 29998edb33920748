"""What a run sent over the network and how long it took, by phase, and which devices it lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import add, sub


@dataclass(frozen=True, slots=True)
class PhaseTraffic:
    """Messages (requests and replies), payload bytes and the server's seconds of waiting of one phase.

    Up is device to server. Seconds run from the first request to the last reply of each round.
    """

    messages: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    seconds: float = 0.0

    def __add__(self, other: PhaseTraffic) -> PhaseTraffic:
        return PhaseTraffic(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: PhaseTraffic) -> PhaseTraffic:
        return PhaseTraffic(*map(sub, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one system's whole run."""

    # Messages, bytes and seconds by phase of the run (describe, build, share, answer, ...).
    by_phase: Mapping[str, PhaseTraffic] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # devices that were lost, each with the reason

    @property
    def messages(self) -> int:
        """Requests and replies together."""
        return sum(phase.messages for phase in self.by_phase.values())

    @property
    def bytes_up(self) -> int:
        """Payload bytes from devices to the server."""
        return sum(phase.bytes_up for phase in self.by_phase.values())

    @property
    def bytes_down(self) -> int:
        """Payload bytes from the server to devices."""
        return sum(phase.bytes_down for phase in self.by_phase.values())

    def add(self, phase: str, *, messages: int = 1, bytes_up: int = 0, bytes_down: int = 0) -> Traffic:
        """Return the traffic with messages of a phase added."""
        return self + Traffic({phase: PhaseTraffic(messages, bytes_up, bytes_down)})

    def waited(self, phase: str, seconds: float) -> Traffic:
        """Return the traffic with a round's seconds of a phase added."""
        return self + Traffic({phase: PhaseTraffic(seconds=seconds)})

    def lose(self, device: str, reason: str) -> Traffic:
        """Return the traffic with a device marked as missing; the first reason stands."""
        return replace(self, missing={device: reason, **self.missing})

    def since(self, before: Traffic) -> Traffic:
        """What came after an earlier state of the same run: phases without anything new are left out."""
        phases = {name: now - before.by_phase.get(name, PhaseTraffic()) for name, now in self.by_phase.items()}
        return Traffic(
            {name: phase for name, phase in phases.items() if phase != PhaseTraffic()},
            {device: reason for device, reason in self.missing.items() if device not in before.missing},
        )

    def __add__(self, other: Traffic) -> Traffic:
        phases = dict(self.by_phase)
        for phase, traffic in other.by_phase.items():
            phases[phase] = phases.get(phase, PhaseTraffic()) + traffic
        return Traffic(phases, {**other.missing, **self.missing})
