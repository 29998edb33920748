"""Send devices and the server thousands of spoilt messages of each type: only errors of our own, no crash, no growth.

``python -m simulations.fuzz_messages --messages 10000 --out fuzz`` starts from the messages of real small runs, spoils
them at random, and prints a table. Stopped at any time, the same command goes on with the next type. With
``--types a,b`` only some types are taken.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from flwr.app import Message, RecordDict
from rich.console import Console
from rich.table import Table

from fedrag_flwr import errors, wire
from fedrag_flwr.errors import WireError
from fedrag_flwr.handling import respond
from fedrag_flwr.local_grid import LocalGrid, assume_identity
from fedrag_flwr.service.protocol import MESSAGE_TYPES
from fedrag_flwr.wire_bytes import from_bytes
from simulations.fixtures.fuzz_world import RUN, FuzzWorld, OpenHost, Samples, open_host, settings_for
from simulations.fixtures.mutations import mutated
from simulations.reporting.kept_rows import RowFile, this_code
from strategies.transport import Transport

NODE = 100
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UNEXPECTED = re.compile(r"an unexpected error at (\S+)")


@dataclass(frozen=True, slots=True)
class FuzzReport:
    """What became of the messages of one type on one side.

    Parameters
    ----------
    side, kind
        "device" or "server", and the type of message.
    messages, taken, refused
        How many were sent, passed for valid, and were refused with an error of our own.
    findings
        What was no error of our own: kind and place, with a count.
    seconds
        For all of them.
    growth_mb, store_growth_kb
        Of the process, and of the device's files, in the second half.
    """

    side: str
    kind: str
    messages: int
    taken: int
    refused: int
    findings: dict[str, int]
    seconds: float
    growth_mb: float
    store_growth_kb: float


S = TypeVar("S")
Acts = dict[tuple[str, str], Callable[[], "FuzzReport"]]  # by side and type
Verdict = tuple[str, str]  # "taken", "refused" or "finding", and what was found


def to_device(host: OpenHost, kind: str, content: RecordDict) -> Verdict:
    """Let a device handle a content; what it replies tells what became of it."""
    reply = respond(host, kind, content, RUN)
    if wire.kind_of(reply) != wire.Failure.__name__:
        return "taken", ""
    failure = wire.decode(reply, wire.Failure, run=RUN)
    if found := _UNEXPECTED.search(failure.what):
        return "finding", f"{failure.error} at {found.group(1)}"
    if not issubclass(getattr(errors, failure.error, Exception), errors.FedragError):
        return "finding", failure.error
    return "refused", failure.error


def to_server(transport: Transport, kind: str, reply_kind: type, content: RecordDict) -> Verdict:
    """Let the server's transport open a content as the reply of a device."""
    asked = Message(RecordDict(), NODE, kind, group_id=RUN)
    asked.metadata.__dict__["_message_id"] = "asked"
    reply = Message(content, reply_to=asked)
    transport.asked = {"asked": asked}
    transport.traffic = type(transport.traffic)()
    opened: dict[int, object] = transport.open([reply], reply_kind)
    if not opened and not transport.traffic.missing:
        return "finding", "neither taken nor refused"
    return ("taken", "") if opened else ("refused", "")


def reply_kind_of(samples: Sequence[bytes], kind: str) -> type:
    """The record that a type's replies hold."""
    names = Counter(wire.kind_of(from_bytes(one, kind)) for one in samples)
    names.pop(wire.Failure.__name__, None)
    return {one.__name__: one for one in wire.LIMITS}[names.most_common(1)[0][0]]


def fuzz(
    side: str,
    kind: str,
    samples: Sequence[bytes],
    judge: Callable[[S], Verdict],
    count: int,
    seed: int,
    folder: Path | None = None,
    *,
    spoil: Callable[[bytes, np.random.Generator], S],
) -> FuzzReport:
    """Send so many spoilt messages, and count what became of them.

    Parameters
    ----------
    samples
        Valid contents to start from.
    judge
        Handles a content, and says what came of it.
    folder
        The device's files, whose growth is measured.
    spoil
        Makes of a valid content what is sent.
    """
    rng = np.random.default_rng([seed, *kind.encode(), len(side)])
    tally: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    start, half = time.perf_counter(), (0, 0)
    for number in range(count):
        if number == count // 2:
            half = (_resident(), _bytes_under(folder))
        try:
            verdict, what = judge(spoil(samples[int(rng.integers(len(samples)))], rng))
        except WireError:
            verdict, what = "refused", ""  # flipped bytes that hold no content, which Flower would not have handed on
        except Exception as error:
            verdict, what = "finding", f"{type(error).__name__} out of {judge.__name__}"
        tally[verdict] += 1
        if verdict == "finding":
            findings[what] += 1
    grown = (_resident() - half[0], _bytes_under(folder) - half[1])
    seconds = time.perf_counter() - start
    told = (dict(findings), seconds, grown[0] / 1e6, grown[1] / 1e3)
    return FuzzReport(side, kind, count, tally["taken"], tally["refused"], *told)


def fuzz_device(world: FuzzWorld, kind: str, samples: Samples, count: int, seed: int) -> FuzzReport:
    """Spoilt requests of one type to a device."""
    settings = settings_for(world, kind)
    with open_host(settings) as host:

        def judge(content: RecordDict) -> Verdict:
            return to_device(host, kind, content)

        return fuzz("device", kind, samples.requests, judge, count, seed, world.root / "home", spoil=mutated)


def fuzz_server(kind: str, samples: Samples, count: int, seed: int) -> FuzzReport:
    """Spoilt replies of one type to the server's transport."""
    assume_identity(int(RUN))
    transport = Transport(LocalGrid(lambda message, context: message, [{}], {}), RUN, 1.0, 0.01)  # type: ignore[arg-type]
    reply_kind = reply_kind_of(samples.replies, kind)

    def judge(content: RecordDict) -> Verdict:
        return to_server(transport, kind, reply_kind, content)

    return fuzz("server", kind, samples.replies, judge, count, seed, spoil=mutated)


def run_all(out: Path, count: int, seed: int, sides: str, types: Sequence[str]) -> list[FuzzReport]:
    """Some types on one side or both; what a run before has done stands."""
    world, samples = FuzzWorld(out / "world"), samples_of(out)
    acts: Acts = {}
    for kind in types:
        acts["server", kind] = partial(fuzz_server, kind, samples[kind], count, seed)
        acts["device", kind] = partial(fuzz_device, world, kind, samples[kind], count, seed)
    return go_on(out / "reports.jsonl", {key: act for key, act in acts.items() if sides in ("both", key[0])}, count)


def go_on(done: Path, acts: Acts, count: int) -> list[FuzzReport]:
    """Take those steps that a file of reports does not hold yet, and add theirs."""
    kept = RowFile(done, this_code())
    reports = [one for one in (FuzzReport(**one) for one in kept.rows()) if one.messages == count]
    for (side, kind), act in acts.items():
        if any((one.side, one.kind) == (side, kind) for one in reports):
            continue
        report = act()
        kept.add(asdict(report))
        reports.append(report)
        print(f"{side} {kind}: {report.seconds:.0f} s, {report.findings or 'no finding'}", flush=True)
    return reports


def table_of(reports: Sequence[FuzzReport]) -> Table:
    """The reports as a table."""
    heads = ("side", "type", "messages", "taken", "refused", "other", "ms each", "MB grown", "store KB grown")
    table = Table(*heads)
    for one in sorted(reports, key=lambda report: (report.side, report.kind)):
        other = sum(one.findings.values())
        each = 1000 * one.seconds / one.messages
        sizes = (f"{each:.2f}", f"{one.growth_mb:.1f}", f"{one.store_growth_kb:.0f}")
        table.add_row(one.side, one.kind, *map(str, (one.messages, one.taken, one.refused, other)), *sizes)
    return table


def samples_of(out: Path) -> dict[str, Samples]:
    """Valid messages, from runs that are made once."""
    file = out / "samples.json"
    if not file.exists():
        out.mkdir(parents=True, exist_ok=True)
        world = FuzzWorld(out / "world")
        world.write()
        made = world.samples()
        told = {kind: [[b.hex() for b in side] for side in (one.requests, one.replies)] for kind, one in made.items()}
        file.write_text(json.dumps(told))
    read = json.loads(file.read_text())
    return {kind: Samples(*(tuple(map(bytes.fromhex, side)) for side in sides)) for kind, sides in read.items()}


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def _bytes_under(folder: Path | None) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder else 0


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="of each type on each side")
    parser.add_argument("--side", choices=("both", "device", "server"), default="both", help="who gets them")
    parser.add_argument("--seed", type=int, default=7, help="draws what is spoilt")
    parser.add_argument("--types", help="of messages, with commas between; all by default")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="folder for what is done")
    chosen = parser.parse_args()
    types = chosen.types.split(",") if chosen.types else MESSAGE_TYPES
    if unknown := set(types) - set(MESSAGE_TYPES):
        parser.error(f"no such type: {', '.join(sorted(unknown))}; there are {', '.join(MESSAGE_TYPES)}")
    for name in ("flwr", "fedrag_flwr"):  # each refusal has its line
        logging.getLogger(name).setLevel(logging.ERROR)
    Console(width=160).print(table_of(run_all(chosen.out, chosen.messages, chosen.seed, chosen.side, types)))


if __name__ == "__main__":
    main()
