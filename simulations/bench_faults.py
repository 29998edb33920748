"""Faults at random moments: processes killed, disks full, files torn, messages lost, late, twice and out of order.

``python -m simulations.bench_faults --moments 20 --out faults`` injects each fault at so many moments that are drawn,
sees each time that nothing is lost and nothing half-written, and prints a table. Stopped at any time, the same command
goes on with the next fault.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from fedrag_flwr.errors import FedragError, StoreFullError
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.settings import Plain, Settings
from server_app.journal import FILE as JOURNAL
from simulations.fixtures.fault_world import FaultWorld, LossyGrid, RestlessGrid, SlowGrid, in_child, nodes, skewed_app
from simulations.fixtures.fuzz_world import DEVICES
from simulations.fixtures.kill_world import SETTINGS, build_edition, contents, import_edition, open_device
from simulations.kill_store import kill_rounds
from simulations.reporting.kept_rows import RowFile, this_code

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One fault at all its moments; every one of them ended as it must, or the script would have stopped.

    Parameters
    ----------
    fault, moments
        What went wrong, and how often.
    met
        Moments at which it changed what happened: a process that had not ended, a file that was needed.
    notes
        What followed, with counts.
    seconds
        For all of them.
    """

    fault: str
    moments: int
    met: int
    notes: dict[str, int]
    seconds: float


Found = tuple[int, Mapping[str, int]]  # moments that met something, and notes


# --- processes that are killed ------------------------------------------------------------------------


def device_killed(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """kill -9 of a device, by turns in a build and in an import; its store equals that of an undisturbed twin."""
    report = kill_rounds(root, 2 * moments, int(rng.integers(2**31)))
    notes = {"in a build": report.in_build, "in an import": report.in_import, "after the commit": report.kept}
    return report.kills, notes


def server_killed(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """kill -9 of the process in which the ServerApp and all devices run; the same run again ends as in peace.

    In peace there are two runs: in the second the filter knows names that it learnt from what the first released, so a
    memory may be masked where it was not before. A run in two parts may answer as either.
    """
    world = FaultWorld(root)
    settings = world.settings(resume=True, baselines="local-rag")
    world.ask(world.settings(), world.grid(world.settings()))  # loads the models, which forks then have
    world.forget()
    start = time.monotonic()
    assert in_child(lambda: world.run_all(settings)) == 0
    lasts, expected = time.monotonic() - start, world.results()
    assert in_child(lambda: world.run_all(settings)) == 0
    allowed = [set(each) for each in zip(expected, world.results(), strict=True)]
    tally: Counter[str] = Counter()
    for _ in range(moments):
        world.forget()
        code = in_child(lambda: world.run_all(settings), float(rng.uniform(0.05, 1.0)) * lasts)
        tally["before its end"] += code == -signal.SIGKILL and not (world.home / "results").exists()
        journals = list((world.home / "runs").glob(f"*/{JOURNAL}"))
        tally["answers that stood"] += sum(file.read_bytes().count(b"\n") for file in journals)
        assert in_child(lambda: world.run_all(settings)) == 0, "the run did not go on"
        told = world.results()
        assert len(told) == len(expected), "answers were lost"
        assert all(row in each for row, each in zip(told, allowed, strict=True)), "another answer than in peace"
        assert not list((world.home / "runs").glob(f"*/{JOURNAL}")), "the journal was left"
        world.check_stores(settings)
    return tally.pop("before its end"), dict(tally)


# --- files ----------------------------------------------------------------------------------------------


def disk_full(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """No file may grow beyond a drawn size while a device builds and imports; then it may, and the device goes on."""
    models = load_models(SETTINGS.models, root)
    tally: Counter[str] = Counter()
    with open_device(root / "peace", models) as peace, open_device(root / "device", models) as device:
        for each in (peace, device):
            build_edition(each, 1)
            import_edition(each, 1)
    for edition in range(2, moments + 2):
        store = root / "device" / "store"
        held = max(file.stat().st_size for file in store.iterdir())
        room = int(held * rng.uniform(0.1, 1.2))

        def grow(edition: int = edition, room: int = room) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                with open_device(root / "device", models) as device:
                    build_edition(device, edition)
                    import_edition(device, edition)
            except StoreFullError:
                os._exit(3)
            except FedragError:
                os._exit(4)

        code = in_child(grow)
        assert code in (0, 3, 4), f"a full disk ended the process with {code}"
        tally[{0: "had room", 3: "said StoreFullError", 4: "said another error of ours"}[code]] += 1
        with open_device(root / "device", models) as device, open_device(root / "peace", models) as peace:
            device.store.verify()
            for each in (device, peace):
                build_edition(each, edition)
                import_edition(each, edition)
            assert contents(device.store) == contents(peace.store), "another store than in peace"
    return moments - tally["had room"], dict(tally)


def file_torn(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """A file of the devices or of the server is cut at a drawn place; a run says so, or answers as in peace.

    Then the file is put back, as from a backup, and the answers are those of peace.
    """
    world = FaultWorld(root)
    settings = world.settings()
    expected = _built(world)
    world.keep()
    names = sorted(file.relative_to(world.home) for file in world.home.rglob("*") if _is_kept(file))
    tally: Counter[str] = Counter()
    for _ in range(moments):
        world.put_back()
        torn = world.home / names[int(rng.integers(len(names)))]
        os.truncate(torn, int(torn.stat().st_size * rng.uniform(0, 1)))
        try:
            told, missing = world.ask(settings, world.grid(settings))
        except FedragError as error:
            tally[f"the run said {type(error).__name__}"] += 1
        else:
            assert not missing or all("Error" in why for why in missing.values()), missing
            lost = {question for question, _ in expected} - {question for question, _ in told}
            wrong = [one for one in told if one not in expected]
            assert missing or not (wrong or lost), f"another answer, and nobody said why: {torn.name}"
            tally["a device said so" if missing else "no answer changed"] += 1
        world.put_back()
        assert world.ask(settings, world.grid(settings))[0] == expected
    return moments - tally["no answer changed"], dict(tally)


def _is_kept(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0 and file.suffix not in (".lock",) and "models" not in file.parts


# --- messages -------------------------------------------------------------------------------------------


def messages_repeated(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """Messages come in any order, some twice, and old ones again."""
    return _over_messages(root, moments, lambda settings: RestlessGrid(settings, rng))


def messages_lost(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """Every tenth message and every tenth reply is lost: Flower says that the device was away, or its app crashed."""
    return _over_messages(root, moments, lambda settings: LossyGrid(settings, rng), **{"federation.retries": 10})


def _over_messages(
    root: Path, moments: int, grid_of: Callable[[Settings], RestlessGrid | LossyGrid], **changes: Plain
) -> Found:
    world = FaultWorld(root)
    settings = world.settings(**changes)
    expected = _built(world)
    tally: Counter[str] = Counter()
    for _ in range(moments):
        grid = grid_of(settings)
        told, missing = world.ask(settings, grid)
        assert (told, missing) == (expected, {}), f"another run than in peace: {missing}"
        tally["messages hurt"] += grid.hurt
        tally["runs hurt"] += grid.hurt > 0
    world.check_stores(settings)
    return tally.pop("runs hurt"), dict(tally)


def slow_link(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """Replies are late, and one device's reply of one phase beyond the round: it is named, and catches up."""
    world = FaultWorld(root)
    patient, hasty = world.settings(), world.settings(**{"federation.round-timeout": 6.0})
    expected = _built(world)
    tally: Counter[str] = Counter()
    phases = ("query.share", "query.import", "query.answer", "query.retrieve", "train.build")
    for _ in range(moments):
        place = int(rng.integers(len(DEVICES)))
        silent = (100 + place, phases[int(rng.integers(len(phases)))])
        told, missing = world.ask(hasty, SlowGrid(hasty, rng, 0.1, silent))
        assert set(missing) <= {DEVICES[place]}, missing
        assert missing or told == expected
        tally["named, and the others' answers stood"] += bool(missing)
        assert world.ask(patient, world.grid(patient)) == (expected, {}), "it did not catch up"
    return tally["named, and the others' answers stood"], dict(tally)


def clock_off(root: Path, moments: int, rng: np.random.Generator) -> Found:
    """One device's clock is off by up to two days, in runs whose devices keep answers for a day."""
    world = FaultWorld(root)
    settings = world.settings(strategy="flooding")
    expected, _ = world.ask(settings, world.grid(settings))
    tally: Counter[str] = Counter()
    for _ in range(moments):
        skew = float(rng.uniform(-2 * DAY, 2 * DAY))
        grid = LocalGrid(skewed_app(100 + int(rng.integers(len(DEVICES))), skew), nodes(), settings.flat())
        assert world.ask(settings, grid) == (expected, {}), f"another answer with a clock off by {skew:.0f} s"
        tally["ahead" if skew > 0 else "behind"] += 1
    return moments, dict(tally)


def _built(world: FaultWorld) -> list[tuple[str, str]]:
    """Build in peace, and give the answers of a second run, as all that follow are."""
    settings = world.settings()
    world.ask(settings, world.grid(settings))
    told, missing = world.ask(settings, world.grid(settings))
    assert told
    assert not missing
    return told


# --- the table ------------------------------------------------------------------------------------------

FAULTS: Mapping[str, Callable[[Path, int, np.random.Generator], Found]] = {
    "the server is killed (kill -9), and run again": server_killed,
    "the disk is full": disk_full,
    "a file is torn": file_torn,
    "messages come twice, late and in any order": messages_repeated,
    "messages and replies are lost": messages_lost,
    "the link is slow": slow_link,
    "a clock is off by up to two days": clock_off,
    "a device is killed (kill -9), in a build and in an import": device_killed,
}


def run_all(out: Path, moments: int, seed: int, only: str) -> list[FaultReport]:
    """All faults, or those whose names hold a word; what a run before has done stands."""
    out.mkdir(parents=True, exist_ok=True)
    done = RowFile(out / "reports.jsonl", this_code(f"seed={seed}"))
    reports = [FaultReport(**one) for one in done.rows()]
    for number, (fault, inject) in enumerate(FAULTS.items()):
        if only not in fault or any((one.fault, one.moments) == (fault, moments) for one in reports):
            continue
        start = time.monotonic()
        met, notes = inject(out / f"world-{number}", moments, np.random.default_rng([seed, number]))
        report = FaultReport(fault, moments, met, dict(notes), time.monotonic() - start)
        done.add(asdict(report))
        reports.append(report)
        print(report, flush=True)
    return reports


def table_of(reports: Sequence[FaultReport]) -> Table:
    """The reports as a table."""
    table = Table("fault", "moments", "met", "what followed", "lost or half-written", "seconds")
    for one in reports:
        notes = ", ".join(f"{name} {count}" for name, count in one.notes.items())
        table.add_row(one.fault, str(one.moments), str(one.met), notes, "0", f"{one.seconds:.0f}")
    return table


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20, help="of each fault")
    parser.add_argument("--only", default="", help="a word in the names of the faults to inject")
    parser.add_argument("--seed", type=int, default=7, help="draws the moments")
    parser.add_argument("--out", type=Path, default=Path("faults"), help="folder for what is done")
    chosen = parser.parse_args()
    logging.getLogger("flwr").setLevel(logging.ERROR)
    Console(width=180).print(table_of(run_all(chosen.out, chosen.moments, chosen.seed, chosen.only)))


if __name__ == "__main__":
    main()
