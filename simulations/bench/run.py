"""Runs a plan: systems take turns question by question, so that a noisy machine hits all alike."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fedrag_flwr.errors import StoreLockedError
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.records import Question
from fedrag_flwr.settings import fedrag_home
from simulations.bench.fixture import Fixture, make_fixture
from simulations.bench.kept_rows import this_code
from simulations.bench.plan import BenchPlan
from simulations.bench.rows import Rows
from simulations.bench.systems import WALKS, System, make_system, order_of, refuse_clashes

Tell = Callable[[str], None]


def run_plan(plan: BenchPlan, out: Path, tell: Tell) -> tuple[Fixture, Rows]:
    """Ask every system every question that it was not asked yet, and give the devices and all rows.

    `plan`: what to run; `out`: the results folder; rows of an earlier, stopped run of the same plan and code are kept;
    `tell`: told of each step.
    Raises SettingError: a system cannot run under the plan's settings. Raises StoreLockedError: another process is at
    work on the folder.
    """
    refuse_clashes(plan.systems, plan.base(), plan.changes)
    with _alone(out):
        base = plan.base()
        models = load_models(base.models, fedrag_home(base.home))
        rows = Rows(out / "rows.jsonl", this_code(plan.digest, models.generator_id))
        fixture = make_fixture(plan, out)
        _run(plan.systems, fixture, rows, tell)
    return fixture, rows


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep others off a results folder; ends with the process, however that ends."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "lock", timeout=0):
            yield
    except Timeout:
        raise StoreLockedError(
            "another benchmark is at work there", where=out.name, fix="wait for it, or choose another --out"
        ) from None


def _run(names: Sequence[str], fixture: Fixture, rows: Rows, tell: Tell) -> None:
    waiting = {
        name: left
        for name in names
        if (left := {gold.question_id for gold in fixture.gold if (name, gold.question_id) not in rows})
    }
    total, done = sum(map(len, waiting.values())), 0
    tell(f"{fixture.name}: {total} answers to come, {len(fixture.gold)} questions")
    for name in waiting:
        if name in WALKS and not rows.of(name):
            fixture.forget_walks(name)
    if not waiting:  # a finished run is told once more
        return
    with ExitStack() as opened:
        systems = {name: _prepared(name, fixture, rows, tell, opened) for name in waiting}
        start = time.monotonic()
        for turn, gold in enumerate(fixture.gold):
            question = Question(gold.question_id, gold.text, gold.home)
            for name in order_of(list(systems), turn):
                if gold.question_id in waiting[name]:
                    fixture.forget()
                    rows.add(systems[name].ask(question))
                    done += 1
                    minutes = (time.monotonic() - start) / done * (total - done) / 60
                    tell(f"{fixture.name}: {done}/{total}, {minutes:.0f} min left, {name}")


def _prepared(name: str, fixture: Fixture, rows: Rows, tell: Tell, opened: ExitStack) -> System:
    """A system ready to be asked, closed in the end; what its first preparation cost is kept."""
    start = time.perf_counter()
    system = make_system(name, fixture)
    opened.callback(system.close)
    prepared = system.prepare()
    if (name, "") not in rows:
        rows.add(prepared)
    tell(f"{fixture.name}: {name} is ready after {time.perf_counter() - start:.0f} s")
    return system
