"""Runs a plan: systems take turns question by question, so that a noisy machine hits all alike; it can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from fedrag_flwr.errors import StoreLockedError
from fedrag_flwr.evaluation.manifest import collect_manifest
from fedrag_flwr.evaluation.results import check_run_id, writing
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.llama import instructions
from fedrag_flwr.records import Question
from fedrag_flwr.settings import fedrag_home
from simulations.baselines import BASELINES, Construction
from simulations.bench.construction import READING
from simulations.bench.plan import BenchPlan, dataset_of
from simulations.bench.rows import LOCK, Row, Rows, Session
from simulations.bench.systems import WALKS, System, make_system, order_of
from simulations.bench.world import World, make_world

Tell = Callable[[str], None]


def run_plan(plan: BenchPlan, out: Path, tell: Tell) -> tuple[list[World], Rows]:
    """Ask every system every question that it was not asked yet, and give the worlds and all rows.

    Parameters
    ----------
    plan
        What to run.
    out
        The results folder; rows of an earlier, stopped run of the same plan are kept.
    tell
        Told of each step.

    Raises
    ------
    SettingError
        The folder, or one of several datasets, has a name that results cannot have.
    StoreMismatchError
        The folder holds rows of another plan.
    StoreLockedError
        Another process is at work on the folder.
    StoreFullError, StoreError
        The disk is full, or nothing can be written there.
    """
    _check_names(plan, out)
    with _alone(out):
        base = plan.base()
        models = load_models(base.models, fedrag_home(base.home))
        rows = Rows(out, plan.digest, plan.told(), this_session(models, plan.seed))
        worlds = [make_world(plan, path, out) for path in plan.data]
        for world in worlds:
            _run_world(plan.systems, world, rows, tell)
    return worlds, rows


def this_session(models: Models, seed: int) -> Session:
    """This process, with what decides its answers and its seconds."""
    ids = {"encoder": models.encoder.id, "generator": models.generator_id, "pipeline": models.pipeline.id}
    made = collect_manifest({}, seed=seed, models=ids)
    machine = {name: told for name, told in made.machine.items() if name != "load"}  # each row has its own
    return Session(
        made.versions["code"],
        made.models["generator"],
        time.time(),
        tuple(made.versions.items()),
        tuple(made.models.items()),
        (*machine.items(), ("llama.cpp", instructions())),
    )


def _check_names(plan: BenchPlan, out: Path) -> None:
    """Refuse before the first question what could not be written after the last."""
    check_run_id(out.resolve().name, "--out")
    if len(plan.data) > 1:
        for path in plan.data:
            check_run_id(dataset_of(path), "--data")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep others off a results folder; ends with the process, however that ends."""
    lock = FileLock(out / LOCK, timeout=0)
    with writing(out.name):
        out.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            raise StoreLockedError(
                "another benchmark is at work there", where=out.name, fix="wait for it, or choose another --out"
            ) from None
    try:
        yield
    finally:
        lock.release()


def _run_world(names: Sequence[str], world: World, rows: Rows, tell: Tell) -> None:
    left = {
        name: [gold.question_id for gold in world.gold if not rows.answered(world.name, name, gold.question_id)]
        for name in names
    }
    waiting = {name: frozenset(ids) for name, ids in left.items() if ids}
    tell(f"{world.name}: {sum(map(len, waiting.values()))} answers to come, {len(world.gold)} questions")
    for name in waiting:
        if name in WALKS and not rows.of(world.name, name):
            world.forget_walks(name)
    if any(name in BASELINES for name in waiting):
        _read(world, rows)
    with ExitStack() as opened:
        systems = {name: _prepared(name, world, rows, tell, opened) for name in waiting}
        _ask_in_turn(systems, waiting, world, rows, tell)


def _ask_in_turn(
    systems: Mapping[str, System], waiting: Mapping[str, frozenset[str]], world: World, rows: Rows, tell: Tell
) -> None:
    pace = _Pace(sum(map(len, waiting.values())))
    for turn, gold in enumerate(world.gold):
        question = Question(gold.question_id, gold.text, gold.home)
        for name in order_of(list(systems), turn) if systems else ():
            if gold.question_id not in waiting[name]:
                continue
            world.forget()
            asked = systems[name].ask(question)
            rows.add(
                Row(
                    world.name,
                    name,
                    gold.question_id,
                    asked.answer,
                    asked.traffic,
                    server_seconds=asked.server_seconds,
                )
            )
            tell(f"{world.name}: {pace.step()}, {name}")


def _read(world: World, rows: Rows) -> None:
    """Read the documents before any system does, so that what that costs hangs on no order; the first time is kept."""
    made = tuple(Construction(report.cost, (f"documents={report.added}",)) for report in world.read())
    if (world.name, READING, "") not in rows:
        rows.add(Row(world.name, READING, constructions=made))


def _prepared(name: str, world: World, rows: Rows, tell: Tell, opened: ExitStack) -> System:
    """A system ready to be asked, closed in the end; what its first preparation cost is kept."""
    start = time.perf_counter()
    system = make_system(name, world)
    opened.callback(system.close)
    prepared = system.prepare()
    if (world.name, name, "") not in rows:
        rows.add(
            Row(
                world.name,
                name,
                traffic=prepared.traffic,
                builds=prepared.builds,
                peak_rss_mb=prepared.peak_rss_mb,
                constructions=prepared.constructions,
                server_seconds=prepared.server_seconds,
            )
        )
    tell(f"{world.name}: {name} is ready after {time.perf_counter() - start:.0f} s")
    return system


@dataclass(slots=True)
class _Pace:
    """How far, and how long still."""

    total: int
    done: int = 0
    start: float = 0.0

    def step(self) -> str:
        """Count one answer."""
        self.start = self.start or time.monotonic()
        self.done += 1
        left = (time.monotonic() - self.start) / self.done * (self.total - self.done)
        return f"{self.done}/{self.total}, {left / 60:.0f} min left"
