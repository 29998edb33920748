"""Faults at random moments: processes killed, disks full, files torn, messages lost, late, twice and out of order.

Each function injects one fault at so many moments that are drawn, under a directory of its own, and counts after how
many of them all was as if nothing had happened, or an error of ours told of it.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from client_app.app import app
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError, StoreFullError
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.service.protocol import MESSAGE_TYPES
from fedrag_flwr.settings import Settings
from server_app.journal import FILE as JOURNAL
from simulations.faults.small_device import (
    SETTINGS,
    assert_whole,
    build_edition,
    contents,
    import_edition,
    open_device,
)
from simulations.faults.small_federation import DEVICES, RUN, SmallFederation, Told, nodes
from simulations.faults.tally import Tally, in_child
from simulations.fixtures.kept_devices import OpenHost

DAY = 86_400.0
Step = Callable[[EdgeDevice, int], None]
STEPS: Sequence[Step] = (build_edition, import_edition)


@dataclass(frozen=True, slots=True)
class Twins:
    """A device that suffers, and a twin that takes the same steps undisturbed."""

    root: Path
    models: Models

    @classmethod
    def of(cls, root: Path) -> Twins:
        """Both with the first edition of their documents."""
        made = cls(root, load_models(SETTINGS.models, root))
        made.models.encoder.encode(["warm"])  # loads the models, which forks then have
        made.go_on(1, STEPS)
        return made

    @contextmanager
    def both(self) -> Iterator[tuple[EdgeDevice, EdgeDevice]]:
        """The device and its twin, open."""
        with open_device(self.root / "device", self.models) as device:
            device.store.verify()
            with open_device(self.root / "peace", self.models) as peace:
                yield device, peace

    def suffer(self, edition: int, steps: Sequence[Step]) -> None:
        """Take steps with the device: what a child does."""
        with open_device(self.root / "device", self.models) as device:
            for step in steps:
                step(device, edition)

    def go_on(self, edition: int, steps: Sequence[Step], *, whole: bool = True) -> bool:
        """Take steps with both, and see that they are equal; tells whether the device had taken them.

        Not `whole`: the device may have taken some of the steps.
        """
        with self.both() as (device, peace):
            assert_whole(device.store)
            before = contents(device.store) == contents(peace.store)
            for step in steps:
                step(peace, edition)
            assert before or not whole or contents(device.store) == contents(peace.store), "a step is half done"
            for step in steps:
                step(device, edition)
            assert contents(device.store) == contents(peace.store), "another store than the twin's"
            device.store.verify()
            return not before


def device_killed(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """kill -9 of a device, by turns in a build and in an import; its store equals that of an undisturbed twin."""
    tally, twins = Tally(), Twins.of(root)
    lasts: dict[Step, float] = {}
    for step in STEPS:
        start = time.monotonic()
        assert in_child(lambda step=step: twins.suffer(2, [step])) == 0  # type: ignore[misc]
        lasts[step] = time.monotonic() - start
        twins.go_on(2, [step])
    for number in range(2 * moments):
        edition, step = 3 + number // 2, STEPS[number % 2]

        def kill(edition: int = edition, step: Step = step) -> None:
            in_child(lambda: twins.suffer(edition, [step]), float(rng.uniform(0.0, 1.1)) * lasts[step])
            done = twins.go_on(edition, [step])
            tally.seen["after the commit" if done else "in a build" if step is build_edition else "in an import"] += 1

        tally.attempt(kill)
    return tally


def disk_full(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """No file may grow beyond a drawn size while a device builds and imports; then it may, and the device goes on."""
    tally, twins = Tally(), Twins.of(root)

    def grow(edition: int, room: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            twins.suffer(edition, STEPS)
        except StoreFullError:
            os._exit(3)
        except FedragError:
            os._exit(4)

    for edition in range(2, moments + 2):
        held = max(file.stat().st_size for file in (root / "device" / "store").iterdir())
        room = int(held * rng.uniform(0.1, 1.2))

        def fill(edition: int = edition, room: int = room) -> str:
            said = {0: "", 3: "StoreFullError", 4: "another error"}.get(in_child(lambda: grow(edition, room)))
            assert said is not None, "a full disk ended the process"
            twins.go_on(edition, STEPS, whole=False)
            return said

        tally.attempt(fill)
    return tally


def server_killed(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """kill -9 of the process in which the ServerApp and all devices run; the same run again ends as undisturbed.

    There are two undisturbed runs: in the second the filter knows names that it learnt from what the first released,
    so a memory may be masked where it was not before. A run in two parts may answer as either.
    """
    tally, federation = Tally(), _federation(root)
    settings = federation.answering(resume=True, baselines="local-rag")
    federation.ask(federation.answering())  # loads the models, which forks then have
    federation.forget()
    start, runs = time.monotonic(), []
    for _ in range(2):
        assert in_child(lambda: federation.run_all(settings)) == 0
        runs.append((time.monotonic() - start, federation.results()))
    allowed = [set(each) for each in zip(*(told for _, told in runs), strict=True)]

    def journals() -> list[Path]:
        return list((federation.home / "runs").glob(f"*/{JOURNAL}"))

    def kill() -> None:
        federation.forget()
        code = in_child(lambda: federation.run_all(settings), float(rng.uniform(0.05, 1.0)) * runs[0][0])
        tally.seen["before its end"] += code == -signal.SIGKILL and not (federation.home / "results").exists()
        tally.seen["answers that stood"] += sum(file.read_bytes().count(b"\n") for file in journals())
        assert in_child(lambda: federation.run_all(settings)) == 0, "the run did not go on"
        told = federation.results()
        assert len(told) == len(allowed), "answers were lost"
        assert all(row in each for row, each in zip(told, allowed, strict=True)), "another answer"
        assert not journals(), "the journal was left"
        federation.check_stores(settings)

    return tally.attempts(moments, kill)


def file_torn(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """A file of the devices or of the server is cut at a drawn place; a run says so, or answers as before.

    Then the file is put back, as from a backup, and the answers are those of before.
    """
    tally, federation = Tally(), _federation(root)
    settings, expected = federation.answering(), _built(federation)
    federation.keep()

    def kept(file: Path) -> bool:
        return file.is_file() and file.stat().st_size > 0 and file.suffix != ".lock" and "models" not in file.parts

    names = sorted(file.relative_to(federation.home) for file in federation.home.rglob("*") if kept(file))

    def tear() -> str:
        federation.put_back()
        torn = federation.home / names[int(rng.integers(len(names)))]
        os.truncate(torn, int(torn.stat().st_size * rng.uniform(0, 1)))
        said = ""
        try:
            told, missing = federation.ask(settings)
        except FedragError as error:
            said = type(error).__name__
        else:
            assert not missing or all("Error" in why for why in missing.values()), str(missing)
            assert missing or told == expected, f"another answer, and nobody said why: {torn.name}"
            said = "a device said so" if missing else ""
        federation.put_back()
        assert federation.ask(settings)[0] == expected
        return said

    return tally.attempts(moments, tear)


def messages_repeated(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """Messages come in any order, some twice, and old ones again."""
    return _over_messages(root, moments, lambda settings: RestlessGrid(settings, rng))


def messages_lost(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """Every tenth message and every tenth reply is lost."""
    return _over_messages(root, moments, lambda settings: LossyGrid(settings, rng), retries=10)


def _over_messages(root: Path, moments: int, grid_of: Callable[[Settings], HurtGrid], retries: int = 3) -> Tally:
    tally, federation = Tally(), _federation(root)
    settings, expected = federation.answering(), _built(federation)

    def hurt() -> None:
        grid = grid_of(settings)
        assert federation.ask(settings, grid, retries) == (expected, {}), "another run than an undisturbed one"
        tally.seen["messages hurt"] += grid.hurt

    tally.attempts(moments, hurt)
    federation.check_stores(settings)
    return tally


def slow_link(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """Replies are late, and one device's reply of one phase beyond the round: it is named, and catches up."""
    tally, federation = Tally(), _federation(root)
    patient, hasty = federation.answering(), federation.answering(**{"federation.round-timeout": 6.0})
    expected = _built(federation)
    phases = ("query.share", "query.import", "query.answer", "query.retrieve", "train.build")

    def delay() -> str:
        place = int(rng.integers(len(DEVICES)))
        silent = (100 + place, phases[int(rng.integers(len(phases)))])
        told, missing = federation.ask(hasty, SlowGrid(hasty, rng, 0.1, silent))
        assert set(missing) <= {DEVICES[place]}, str(missing)
        assert missing or told == expected
        assert federation.ask(patient) == (expected, {}), "it did not catch up"
        return "the device was named" if missing else ""

    return tally.attempts(moments, delay)


def clock_off(root: Path, moments: int, rng: np.random.Generator) -> Tally:
    """One device's clock is off by up to two days, in runs whose devices keep answers for a day."""
    tally, federation = Tally(), _federation(root)
    settings = federation.answering(strategy="flooding")
    expected, _ = federation.ask(settings)

    def skew() -> None:
        seconds = float(rng.uniform(-2 * DAY, 2 * DAY))
        grid = skewed_grid(settings, 100 + int(rng.integers(len(DEVICES))), seconds)
        assert federation.ask(settings, grid) == (expected, {}), f"another answer with a clock off by {seconds:.0f} s"
        tally.seen["ahead" if seconds > 0 else "behind"] += 1

    return tally.attempts(moments, skew)


def _federation(root: Path) -> SmallFederation:
    federation = SmallFederation(root)
    federation.forget()
    federation.write()
    return federation


def _built(federation: SmallFederation) -> Told:
    """Build undisturbed, and give the answers of a second run, as all that follow are."""
    federation.ask(federation.answering())
    told, missing = federation.ask(federation.answering())
    assert told
    assert not missing
    return told


_CRASHED, _AWAY = 8, 5  # Flower's error codes


class HurtGrid(LocalGrid):
    """A grid that draws what it does to messages, and counts it."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(app, nodes(), settings.flat())
        self.rng = rng
        self.hurt = 0


class RestlessGrid(HurtGrid):
    """Handles messages in any order, some of them twice, and old ones again."""

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        super().__init__(settings, rng)
        self._old: list[Message] = []

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Handle one of the waiting messages, and let others come again."""
        mixed = list(message_ids)
        self.rng.shuffle(mixed)
        return super().pull_messages(mixed)

    def _handle(self, message: Message) -> Message:
        reply = super()._handle(message)
        self._old.append(message)
        for again in (message, self._old[int(self.rng.integers(len(self._old)))]):
            if self.rng.random() < 0.3:
                self.hurt += 1
                super()._handle(again)
        return reply


class LossyGrid(HurtGrid):
    """Loses every tenth message before it arrives, and every tenth reply: the device was away, or its app crashed."""

    def _handle(self, message: Message) -> Message:
        drawn = self.rng.random()
        reply = super()._handle(message) if drawn > 0.1 else None
        if drawn > 0.2 and reply is not None:
            return reply
        self.hurt += 1
        code = (_AWAY, _CRASHED)[int(self.rng.integers(2))]
        return Message(Error(code, "lost"), reply_to=message)


class SlowGrid(HurtGrid):
    """Brings replies late: by up to `most` seconds, those of one node and type beyond any round."""

    def __init__(self, settings: Settings, rng: np.random.Generator, most: float, silent: tuple[int, str]) -> None:
        super().__init__(settings, rng)
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


def skewed_grid(settings: Settings, node_id: int, seconds: float) -> LocalGrid:
    """A grid of which one node's clock is off by so many seconds."""
    skewed = ClientApp()

    def handler(kind: str) -> Callable[[Message, Context], Message]:
        def handle(message: Message, context: Context) -> Message:
            node = Node(context.node_config, context.run_config)
            with node.device() as device:
                if context.node_id == node_id:
                    device.walks.clock = lambda: time.time() + seconds
                content = OpenHost(node, device).respond(kind, message.content, RUN)
            return Message(content, reply_to=message)

        return handle

    for kind in MESSAGE_TYPES:
        category, _, action = kind.partition(".")
        {"query": skewed.query, "train": skewed.train}[category](action)(handler(kind))
    return LocalGrid(skewed, nodes(), settings.flat())
