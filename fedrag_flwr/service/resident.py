"""One device for as long as a process lives: models and memory loaded, questions answered, messages handled."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal

from fedrag_flwr.controlling import TrainingQuestion
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.handling import respond
from fedrag_flwr.models.base import Generator
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import Clock, Question
from fedrag_flwr.service.answers import GivenAnswer, RecentAnswers, given
from fedrag_flwr.service.config import DeviceConfig
from fedrag_flwr.service.keeping import OpenDevices
from fedrag_flwr.service.protocol import Plain
from fedrag_flwr.settings import ModelSettings, Settings
from fedrag_flwr.toolbox import Toolbox, load_toolbox
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

Verdict = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Where a message arrives: the device that is open already, under what its own settings and a run's say."""

    node: Node
    kept: OpenDevices

    def name(self) -> str:
        return self.node.name()

    def device(self) -> AbstractContextManager[EdgeDevice]:
        return self.kept.device(self.node.settings)

    def training_questions(self) -> list[TrainingQuestion]:
        return self.node.training_questions()


class Resident:
    """A device that stays.

    Threads may share it: any number of them ask, while one at a time writes and one at a time handles what else a
    federation sends (`lanes` in `application`).

    Parameters
    ----------
    config
        The device's own settings.
    clock
        Seconds since the epoch.
    """

    def __init__(self, config: DeviceConfig, clock: Clock = time.time) -> None:
        self.config = config
        self.name = config.name
        self.answers = RecentAnswers()
        self.generators: list[Generator] = []
        self._clock = clock
        self._toolboxes: dict[ModelSettings, Toolbox] = {}
        self._node = Node(config.own, config.settings)
        self._open = OpenDevices(config.root, self._opened, config.service.open_devices)
        with self.device():
            pass  # what is wrong with the settings or the store shows at once

    def device(self) -> AbstractContextManager[EdgeDevice]:
        """The device under its own settings, for the people at it."""
        return self._open.device(self._node.settings)

    def ask(self, question: str, *, help: bool = False) -> GivenAnswer:
        """Answer one question at home, with what the answer rests on."""
        asked = Question(uuid.uuid4().hex, question, self.name)
        with self.device() as device:
            answer = device.ask_at_home(asked)
            told = given(asked.id, question, answer, device.trace(answer), self._clock())
        self.answers.put(told)
        return told

    def message(self, message_type: str, run: str, config: Mapping[str, Plain], content: bytes) -> bytes:
        """Handle a Flower message: its content as bytes in, the reply's out.

        Raises
        ------
        WireError
            The bytes hold no content. What else goes wrong is the reply.
        """
        node = Node(self.config.own, config)
        visitor = _Visitor(node, self._open)
        return to_bytes(respond(visitor, message_type, from_bytes(content, message_type), run))

    def feedback(self, id: str, verdict: Verdict) -> str:
        """Take in what somebody thinks of an answer, and say what follows from it.

        Raises
        ------
        NotFoundError
            There is no such answer.
        """
        known = any(one.id == id for one in self.answers.all())
        if known:
            self.answers.judge(id, verdict)
        try:
            with self.device() as device:
                return device.walks.feedback(id, good=verdict == "good")
        except NotFoundError:
            if not known:
                raise
            return "noted; only answers that walked teach the device whom to ask"

    def close(self) -> None:
        """Close the device."""
        self._open.close()

    def _opened(self, settings: Settings) -> EdgeDevice:
        models = settings.models
        if models not in self._toolboxes:
            toolbox = load_toolbox(models, self.config.home)
            self._toolboxes[models] = replace(toolbox, generator=lambda: self._noted(toolbox))
        return self._node.opened(settings, self._toolboxes[models])

    def _noted(self, toolbox: Toolbox) -> Generator:
        generator = toolbox.generator()
        if generator not in self.generators:
            self.generators.append(generator)
        return generator
