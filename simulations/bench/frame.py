"""The frame of every benchmark: its arguments, its data, and the rows, tables and charts that it leaves.

A benchmark is a file of `simulations.benchmarks`, a fit one of `simulations.fits`. The first line of its docstring is
the question that it answers. Its function ``run(bench, ...)`` answers it; further parameters become options.
"""

import ast
import inspect
import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from pandas import DataFrame

from fedrag_flwr.cli.console import SetOption, changed, err, out, settings_from, with_errors
from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.settings import Plain, Settings
from simulations.bench.kept_rows import KeptRows, this_code
from simulations.bench.tables import line_chart, markdown
from simulations.corpora.multihop import data_root

T = TypeVar("T")

BENCHMARKS, FITS = "simulations.benchmarks", "simulations.fits"

# Settings of a quick run, whose figures mean nothing.
QUICK: Mapping[str, Plain] = {
    "hybrid.records": 1,
    "models.generator": "smollm2-135m",
    "inference.max-answer-tokens": 4,
}

ALL = "all"  # benchmarks, one after the other in one process
APART = {"deployment"}  # needs ports and processes of its own

# What makes all tables and figures of a paper that are repeated here.
PAPERS = {
    "fd-rag": ("federation", "hypergraph", "matching", "fusion", "build", "memories"),
    "hkvm-rag": ("retrieval", "controller"),
    "hyfedrag": ("sources", "masking", "privacy", "caches", "encryption"),
    "dgrag": ("communities", "routing"),
    "drag": ("overlay", "walks"),
}


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of a benchmark."""

    name: str  # the benchmark's
    out: Path  # its folder of results; a stopped run goes on there
    quick: bool  # whether a small run is enough to see that it works
    changes: Mapping[str, Plain] = field(default_factory=dict)  # settings that differ from the product's
    root: Path | None = None  # the folder of evaluation data; None: there is none

    @property
    def settings(self) -> Settings:
        """The product's, with the changes."""
        return Settings.from_config(self.changes)

    def data(self) -> Path:
        """Give the folder of evaluation data; in a quick run one in small.

        Raises SourceError: there is none.
        """
        if self.root is None or not self.root.is_dir():
            raise SourceError("there is no data", where="--data", fix="name the data folder, or set FEDRAG_DATA")
        if self.quick:
            from simulations.corpora.small_data import small_data

            return small_data(self.root, self.out / "data")
        return self.root

    def sized(self, full: T, quick: T) -> T:
        """Choose by the size of the run."""
        return quick if self.quick else full

    def apart(self, measure: Callable[..., T], *given: object) -> T:
        """Measure in a process of its own, for peak memory belongs to a process; in a quick run in this one."""
        if self.quick:
            return measure(*given)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            return process.submit(measure, *given).result()

    def tell(self, line: str) -> None:
        """Say how far the run is, on standard error."""
        err.print(line, highlight=False, markup=False)

    def rows(self, name: str = "rows", *used: str) -> KeptRows:
        """Open ``NAME.jsonl``; rows of other code, or of other models and settings as in `used`, are measured anew."""
        return KeptRows(self.out / f"{name}.jsonl", this_code(*used))

    def table(self, name: str, frame: DataFrame, caption: str = "") -> None:
        """Write a table as ``NAME.csv``, and print it as Markdown."""
        frame.to_csv(self.out / f"{name}.csv", index=False)
        told = f"{caption}\n\n{markdown(frame)}" if caption else markdown(frame)
        out.print(f"{told}\n", highlight=False, markup=False, soft_wrap=True)

    def chart(self, name: str, lines: DataFrame, x: str, y: str) -> None:
        """Draw each column over the frame's index as ``NAME.svg``; `x` and `y` say what the axes show."""
        line_chart(lines, x, y, self.out / f"{name}.svg")


def known(package: str) -> dict[str, str]:
    """The benchmarks or fits: by name the question of each, read without importing it."""
    spec = find_spec(package)
    folder = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    return {path.stem.replace("_", "-"): _question(path) for path in files}


def _question(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def run_one(package: str, name: str, bench: Bench, **options: object) -> None:
    """Run one by its name."""
    bench.out.mkdir(parents=True, exist_ok=True)
    _run_of(package, name)(bench, **options)


def run_paper(paper: str, bench: Bench) -> None:
    """Run all that a paper's tables and figures need, or all there is, each in a folder of its own."""
    for name in PAPERS.get(paper) or [name for name in known(BENCHMARKS) if name not in APART]:
        bench.tell(f"{paper}: {name}")
        run_one(BENCHMARKS, name, Bench(name, bench.out / name, bench.quick, bench.changes, bench.root))


def command_of(package: str, name: str) -> Callable[..., None]:
    """One as a function that typer makes a command of: its own options, and those that all have."""
    own = _run_of(package, name)
    return _with_options(name, lambda bench, **options: run_one(package, name, bench, **options), own)


def paper_command(paper: str) -> Callable[..., None]:
    """A paper as a function that typer makes a command of."""
    return _with_options(paper, lambda bench: run_paper(paper, bench), lambda bench: None)


def _run_of(package: str, name: str) -> Callable[..., None]:
    if name not in known(package):
        raise SettingError("is not known", where=name, fix=f"known: {', '.join(known(package))}")
    run: Callable[..., None] = import_module(f"{package}.{name.replace('-', '_')}").run
    return run


def _with_options(name: str, run: Callable[..., None], own: Callable[..., Any]) -> Callable[..., None]:
    """A command with the options of `own` beside those that all have."""

    def command(
        quick: Annotated[bool, typer.Option("--quick", help="A small run that shows that it works.")] = False,
        data: Annotated[Path | None, typer.Option(help="The folder of evaluation data; else $FEDRAG_DATA.")] = None,
        results: Annotated[Path | None, typer.Option("--out", help="Results; a stopped run goes on there.")] = None,
        changes: SetOption = None,
        **options: object,
    ) -> None:
        folder = results or Path("results") / "bench" / name
        folder.mkdir(parents=True, exist_ok=True)
        settings_from(changes)  # refuses what is wrong
        chosen = {**(QUICK if quick else {}), **changed(changes)}
        run(Bench(name, folder.resolve(), quick, chosen, data or data_root()), **options)
        out.print(f"results: {folder}", highlight=False)

    shared = list(inspect.signature(command).parameters.values())[:-1]
    special = list(inspect.signature(own).parameters.values())[1:]
    hints = get_type_hints(command, include_extras=True) | get_type_hints(own, include_extras=True)
    every = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in special + shared]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in every}
    command.__doc__ = inspect.getdoc(own)
    return with_errors(command)
