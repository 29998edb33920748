"""What the fault table is measured on: a small federation, its answers in peace, and grids on which messages suffer."""

from __future__ import annotations

import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from client_app.app import app
from fedrag_flwr.evaluation.results import read_answers
from fedrag_flwr.handling import respond
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import Answer, Question
from fedrag_flwr.service.protocol import MESSAGE_TYPES
from fedrag_flwr.settings import Plain, Settings
from server_app.run import run_systems
from simulations.worlds.fuzz_world import DEVICES, QUESTIONS, RUN, FuzzWorld, OpenHost
from strategies import ServerTools, make_strategy

Told = list[tuple[str, str]]  # question and answer
_CRASHED, _AWAY = 8, 5  # Flower's error codes


@dataclass(slots=True)
class FaultWorld:
    """A federation under one directory, whose devices can be put back to how they were built."""

    files: FuzzWorld

    def __init__(self, root: Path) -> None:
        self.files = FuzzWorld(root)
        self.files.write()

    @property
    def home(self) -> Path:
        """Stores, bank and journals."""
        return self.files.root / "home"

    def settings(self, **changes: Plain) -> Settings:
        """The settings of a run in which memory and model both answer."""
        usual: dict[str, Plain] = {
            "inference.abstain-below": 0.0,
            "inference.max-answer-tokens": 6,
            "federation.retry-seconds": 0.01,
            "overlay.threshold": 0.7,
        }
        return self.files.settings(**(usual | changes))

    def grid(self, settings: Settings) -> LocalGrid:
        """A grid on which nothing goes wrong."""
        return LocalGrid(app, nodes(), settings.flat())

    def ask(self, settings: Settings, grid: LocalGrid) -> tuple[Told, dict[str, str]]:
        """Run a strategy: its answers, and which devices were missing."""
        tools = ServerTools(settings)
        asked = [Question(name, text, home) for name, text, home, _ in QUESTIONS]
        outcome = make_strategy(settings.strategy, settings, asked, tools).run(grid, RUN)
        tools.close()
        return _told(outcome.answers), dict(outcome.traffic.missing)

    def run_all(self, settings: Settings) -> None:
        """A whole run with its results, as the ServerApp does it."""
        run_systems(self.grid(settings), RUN, settings)

    def results(self) -> list[tuple[str, str, str | None]]:
        """What the last whole run answered: system, question, answer."""
        return [(row.system, row.question_id, row.answer) for row in read_answers(self.home / "results" / RUN)]

    def forget(self) -> None:
        """Drop everything but the documents."""
        shutil.rmtree(self.home, ignore_errors=True)

    def keep(self) -> None:
        """Remember the home as it is."""
        shutil.rmtree(self.home.with_name("kept"), ignore_errors=True)
        shutil.copytree(self.home, self.home.with_name("kept"))

    def put_back(self) -> None:
        """Make the home as it was kept."""
        self.forget()
        shutil.copytree(self.home.with_name("kept"), self.home)

    def check_stores(self, settings: Settings) -> None:
        """See that every device opens, verifies and is whole."""
        for number in range(len(DEVICES)):
            with Node({"partition-id": number}, settings.flat()).device() as device:
                device.store.verify()
                for document_id in device.store.digests():
                    device.store.document(document_id)


def nodes() -> list[dict[str, Plain]]:
    """The node config of each device."""
    return [{"partition-id": number} for number in range(len(DEVICES))]


def _told(answers: Sequence[Answer]) -> Told:
    return sorted((answer.question_id, answer.text) for answer in answers)


# --- grids ------------------------------------------------------------------------------------------


class RestlessGrid(LocalGrid):
    """A grid that handles messages in any order, some of them twice, and old ones again."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(app, nodes(), settings.flat())
        self.rng = rng
        self.hurt = 0
        self._old: list[Message] = []

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Handle one of the waiting messages, and let others come again."""
        mixed = list(message_ids)
        self.rng.shuffle(mixed)
        return super().pull_messages(mixed)

    def _handle(self, message: Message) -> Message:
        reply = super()._handle(message)
        if self.rng.random() < 0.3:
            self.hurt += 1
            super()._handle(message)
        if self._old and self.rng.random() < 0.3:
            self.hurt += 1
            super()._handle(self._old[int(self.rng.integers(len(self._old)))])
        self._old.append(message)
        return reply


class LossyGrid(LocalGrid):
    """A grid on which messages are lost before they arrive, or their replies after."""

    def __init__(self, settings: Settings, rng: np.random.Generator, share: float = 0.2) -> None:
        super().__init__(app, nodes(), settings.flat())
        self.rng = rng
        self.share = share
        self.hurt = 0

    def _handle(self, message: Message) -> Message:
        drawn = self.rng.random()
        reply = super()._handle(message) if drawn > self.share / 2 else None
        if drawn > self.share and reply is not None:
            return reply
        self.hurt += 1
        code = (_AWAY, _CRASHED)[int(self.rng.integers(2))]
        return Message(Error(code, "lost"), reply_to=message)


class SlowGrid(LocalGrid):
    """A grid on which replies are late: by up to `most` seconds, those of one device beyond any round."""

    def __init__(self, settings: Settings, rng: np.random.Generator, most: float, silent: tuple[int, str]) -> None:
        super().__init__(app, nodes(), settings.flat())
        self.rng = rng
        self.most = most
        self.silent = silent
        self._held: list[tuple[float, Message]] = []

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """What is due by now."""
        now = time.monotonic()
        for reply in super().pull_messages(message_ids):
            node_id, kind = reply.metadata.src_node_id, reply.metadata.message_type
            late = 3600.0 if (node_id, kind) == self.silent else float(self.rng.uniform(0, self.most))
            self._held.append((now + late, reply))
        due = [reply for at, reply in self._held if at <= now]
        self._held = [(at, reply) for at, reply in self._held if at > now]
        return due


def skewed_app(node: int, seconds: float) -> ClientApp:
    """A ClientApp of which one node's clock is off by so many seconds."""
    skewed = ClientApp()

    def handler(kind: str) -> Callable[[Message, Context], Message]:
        def handle(message: Message, context: Context) -> Message:
            found = Node(context.node_config, context.run_config)
            with found.device() as device:
                if context.node_id == node:
                    device.walks.clock = lambda: time.time() + seconds
                content = respond(OpenHost(found, device), kind, message.content, RUN)
            return Message(content, reply_to=message)

        return handle

    for kind in MESSAGE_TYPES:
        category, _, action = kind.partition(".")
        {"query": skewed.query, "train": skewed.train}[category](action)(handler(kind))
    return skewed


# --- processes ----------------------------------------------------------------------------------------


def in_child(act: Callable[[], None], kill_after: float | None = None) -> int:
    """Do something in a fork of this process, and give its exit code; negative where it was killed.

    The models that are loaded here are loaded there.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
