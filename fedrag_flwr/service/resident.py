"""One device for as long as a process lives: models and memory loaded, questions answered, messages handled."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError, NotFoundError, WireError
from fedrag_flwr.handling import HANDLERS, respond
from fedrag_flwr.home_paths import new_id
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.memory.generate.memory_writer import Written
from fedrag_flwr.memory.store.outbox import WaitingQuestion
from fedrag_flwr.models.base import Generator, Heard
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import Answer, BuildReport, Question
from fedrag_flwr.records.isolate import settled
from fedrag_flwr.service.answers import GivenAnswer, RecentAnswers, given
from fedrag_flwr.service.config import DeviceConfig
from fedrag_flwr.service.keeping import OpenDevices
from fedrag_flwr.service.protocol import Plain
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

Verdict = Literal["good", "bad"]
_UNVERSIONED = frozenset(  # no change of the memory
    {"train.controller", "query.overview", "query.rounded_overview", "query.seal_summaries", "query.sealed_overview"}
)
TOKENS, IDLE_TOKENS = "memory.tokens-per-kilotoken", 58  # of a device that says nothing of it (FD-RAG Table 6)
_WARMING = "What is here?"  # a question that makes what the next ones need
_MOST_UNASKED = 100  # answers of the federation that are listed though this process was not asked


class Resident:
    """A device that stays.

    Threads may share it: any number of them may ask. Of messages one thread may handle those that only read, and
    another those that write.

    The models are the device's own, whatever a run asks for: they are loaded once, and memory is what a device has
    least of.
    """

    def __init__(self, config: DeviceConfig) -> None:
        self.config = config
        self.name = config.name
        self.answers = RecentAnswers()
        self._node = Node({TOKENS: IDLE_TOKENS, **config.own}, config.settings)
        self._settings = self._node.settings
        self._used: LlamaGenerator | None = None
        self._own_models = load_models(self._settings.models, config.home)
        self._models = replace(self._own_models, generator=self._generator)
        self._home = OpenDevices(config.root, self._opened, 1)
        self._runs = OpenDevices(config.root, self._opened, config.service.open_devices)
        self.warm()  # what is wrong with the settings, the models or the store shows at once

    def device(self) -> AbstractContextManager[EdgeDevice]:
        """The device under its own settings, for the people at it."""
        return self._home.device(self._settings)

    def warm(self) -> None:
        """Make now what the first question over a new version of the memory would wait for."""
        with self.device() as device:
            if (order := device.engine.order) is not None:
                order.rank(_WARMING, 1)
            _ = device.export  # what is wrong with its settings shows, too

    # --- the people at the device -------------------------------------------------------------------

    def ask(self, question: str, *, help: bool = False, heard: Heard | None = None) -> GivenAnswer:
        """Answer one question at home, with what the answer rests on.

        With `help` a question that home is not sure of waits for a federation, where the device has an outbox. `heard`
        is told all of what the model writes so far, each time that it grows.
        """
        asked = Question(new_id(), question, self.name)
        return settled(lambda: self._answered(asked, help, heard))

    def recent(self) -> list[GivenAnswer]:
        """What was answered lately, the newest first, and with it what came later from the federation."""
        with self.device() as device:
            later = device.delivered.all()
            asked = [joined(device, one, later.pop(one.id, None)) for one in self.answers.all()]
            unasked = itertools.islice(later.items(), _MOST_UNASKED)
            return asked + [given(name, "", one, device.trace(one), 0.0) for name, one in unasked]

    def recalled(self, id: str) -> GivenAnswer:
        """One answer as `recent` gives it; raises NotFoundError."""
        first = next((one for one in self.answers.all() if one.id == id), None)
        with self.device() as device:
            later = device.delivered.get(id)
            if first is not None:
                return joined(device, first, later)
            if later is not None:
                return given(id, "", later, device.trace(later), 0.0)
        raise NotFoundError("no such answer is kept", where="answers", fix="GET /v1/answers lists them")

    def feedback(self, id: str, verdict: Verdict) -> str:
        """Take in what somebody thinks of an answer, and say what follows from it; raises NotFoundError where there is
        no such answer.
        """
        known = self.answers.judge(id, verdict)
        try:
            with self.device() as device:
                return device.walks.feedback(id, good=verdict == "good")
        except NotFoundError:
            if not known:
                raise
            return "noted; only answers that walked teach the device whom to ask"

    def waiting(self) -> list[WaitingQuestion]:
        """The questions that wait for a federation, the newest first."""
        with self.device() as device:
            return device.waiting.outbox.waiting()

    def withdraw(self, id: str) -> None:
        """Let a question wait no longer; raises NotFoundError."""
        with self.device() as device:
            if not device.waiting.outbox.withdraw(id):
                raise NotFoundError("no such question waits", where="outbox", fix="GET /v1/outbox lists them")

    # --- the federation -----------------------------------------------------------------------------

    def message(self, message_type: str, run: str, config: Mapping[str, Plain], content: bytes) -> bytes:
        """Handle a Flower message: its content as bytes in, the reply's out; raises WireError where there is no such
        type, or the bytes hold no content. What else goes wrong is the reply.

        One that writes finds the device as it is on the disk, and after it all open ones read that anew.
        """
        handler = HANDLERS.get(message_type)
        if handler is None:
            raise WireError("no such message type", where="message", fix="run the same version on all devices")
        node, made = Node(self.config.own, config), self._opened if handler.writes else self._runs.device
        reply = respond(node, lambda: made(node.settings), message_type, from_bytes(content, message_type), run)
        if handler.writes:
            self._retire(home=message_type in _UNVERSIONED)
        return to_bytes(reply)

    # --- its documents ------------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """The folder of its documents, where it has one."""
        told = self.config.own.get("data-path")
        return None if told is None else Path(str(told)).expanduser()

    def build(self) -> BuildReport:
        """Bring the memory up to date with the documents; raises as `EdgeDevice.build`."""
        with self._opened(self._settings) as device:
            report = device.build()
        self._retire()
        return report

    @property
    def writes_memories(self) -> bool:
        """Whether its model writes memories, which it does when there is time for it."""
        return self._settings.memory.tokens_per_kilotoken > 0

    def write_memories(self, stop: Callable[[], bool]) -> Written:
        """Let the model write memories until there is a reason to stop: of what people asked about lately, then others.

        As `EdgeDevice.write_memories`.
        """
        asked = {shown.document for answer in self.answers.all() for shown in (*answer.evidence, *answer.near)}
        with self._opened(self._settings) as device:
            written = device.write_memories(stop=stop, first=asked)
        if written.memories:
            self._retire()
        return written

    # --- its state ----------------------------------------------------------------------------------

    def generator_seconds(self) -> float:
        """For how long the model was at work, in all."""
        return self._used.busy_seconds if self._used else 0.0

    def store_state(self) -> tuple[int, dict[str, int]]:
        """The memory's version, and what it holds by kind."""
        with self.device() as device:
            return device.store.version, asdict(device.store.counts())

    def waiting_count(self) -> int:
        """How many questions wait for a federation."""
        with self.device() as device:
            return len(device.waiting.outbox)

    def close(self) -> None:
        """Close the device."""
        self._runs.close()
        self._home.close()

    # --- parts --------------------------------------------------------------------------------------

    def _answered(self, asked: Question, help: bool, heard: Heard | None) -> GivenAnswer:
        with self.device() as device:
            answer, waits = device.ask_at_home(asked, heard, help=help)
            told = given(asked.id, asked.text, answer, device.trace(answer), time.time(), waiting=waits)
        self.answers.put(told)
        return told

    def _retire(self, *, home: bool = False) -> None:
        """Read anew what was written; `home`: also where people's device would not see it by the memory's version."""
        self._runs.retire()
        if home:
            self._home.retire()
        with suppress(FedragError):  # then the next question says what is wrong
            self.warm()

    def _opened(self, settings: Settings) -> EdgeDevice:
        device = self._node.opened(settings, self._models)
        device.writes_later = True
        return device

    def _generator(self) -> Generator:
        generator = self._own_models.generator()
        if isinstance(generator, LlamaGenerator):
            self._used = generator  # for who asks how busy it is, without loading it
        return generator


def joined(device: EdgeDevice, first: GivenAnswer, later: Answer | None) -> GivenAnswer:
    """What is shown of an answer to people here, and of what a run brought for the same question later."""
    waits = first.waiting and device.waiting.outbox.holds(first.id)  # it may be tried again
    if later is None:
        return replace(first, waiting=waits)
    if not later.text:  # nobody could help: home's own answer stands
        return replace(first, waiting=waits).decided(*later.decisions)
    told = given(first.id, first.question, later, device.trace(later), first.asked)
    return replace(told, first=first.answer, verdict=first.verdict)
