"""Paths among settings: what runs later works in a folder of its own, so it is told them in full."""

from __future__ import annotations

import functools
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fedrag_flwr.errors import FedragError, SettingError
from fedrag_flwr.models.registry import REGISTRY
from fedrag_flwr.records import Progress as ProgressTeller
from fedrag_flwr.settings import AUTO, OWN, Plain, Settings
from fedrag_flwr.text.words import question_line

P = ParamSpec("P")
R = TypeVar("R")

out = Console(width=None if sys.stdout.isatty() else 120, emoji=False)  # ":a:" in a name or an address stays
err = Console(stderr=True, emoji=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, such as memory.delta=0.75; repeatable."),
]
QuestionArgument = Annotated[
    str, typer.Argument(help="The question; without one, or with -, it is read: what the line holds, others may see.")
]
_NOT_YOURS = "run it as the user whose files these are (on a device: sudo -u fedrag), or check their permissions"


def with_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Print our own errors, and those of the file system, as one line and exit with status 1."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except FedragError as error:
            _print_error(error)
        except ConnectionError:
            raise  # a broken pipe, too: whoever read this has left, and Click ends quietly
        except OSError as error:
            if error.errno is None:  # a library's own
                raise
            name = Path(str(error.filename)).name if error.filename else ""
            fix = _NOT_YOURS if isinstance(error, PermissionError) else "free some space, or check the path"
            _print_error(FedragError(f"cannot be used ({error.strerror})", where=name, fix=fix))
        raise typer.Exit(1)

    return run


def _print_error(error: FedragError) -> None:
    where = f"{error.where}: " if error.where else ""
    err.print(f"[bold red]error:[/] {escape(where + error.what)}", highlight=False, soft_wrap=True)
    if error.fix:
        err.print(f"[dim]what to do:[/] {escape(error.fix)}", highlight=False, soft_wrap=True)


def settings_from(options: Sequence[str] | None) -> Settings:
    """Settings with the changes of `--set`."""
    return Settings.from_config(changed(options))


def question_of(argument: str) -> str:
    """The question that a command line holds, or names with - as what stands on standard input or is typed there;
    raises SettingError where there is none.

    Command lines are in the system's log and its list of processes.
    """
    return question_line(typed(argument, "question"))


def questions_of(argument: str) -> list[str]:
    """As `question_of`, where each line of standard input is a question; raises SettingError where there is none."""
    lines = [line for line in typed(argument, "question").splitlines() if line.strip()]
    return [question_line(line) for line in lines or [""]]


def typed(argument: str, what: str) -> str:
    """An argument, or where it is - what stands on standard input or is typed there."""
    if argument != "-":
        return argument
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        return str(typer.prompt(what.capitalize(), err=True))
    return sys.stdin.buffer.read().decode(errors="replace")


def changed(options: Sequence[str] | None) -> dict[str, bool | int | float | str]:
    """The changes of `--set`; values are read as TOML, and as plain text where that fails."""
    config: dict[str, bool | int | float | str] = {}
    for option in options or ():
        key, equals, value = option.partition("=")
        if not equals:
            raise SettingError(f"'{option}' has no value", where="--set", fix="write KEY=VALUE")
        config[key.strip()] = toml_value(value.strip())
    return config


def toml_value(text: str) -> bool | int | float | str:
    """Read a TOML scalar; anything else is plain text."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def print_json(value: object) -> None:
    """Print a record, or plain values, as JSON on standard output."""
    sys.stdout.write(json_of(value) + "\n")


def json_of(value: object) -> str:
    """Records, arrays, paths and what holds them as JSON; numbers of arrays to six digits."""
    return json.dumps(value, default=_plain, ensure_ascii=False, indent=1)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, np.ndarray):
        return np.round(value.astype(float), 6).tolist()
    return value.item() if isinstance(value, np.generic) else str(value)


@contextmanager
def progress_bar() -> Iterator[ProgressTeller]:
    """A progress bar on standard error, one line a phase."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=False) as bar:
        tasks: dict[str, Any] = {}

        def tell(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total)
            bar.update(tasks[phase], completed=done, total=total)

        yield tell


PATH_SETTINGS = frozenset(
    {
        "home",
        "models.encoder",
        "models.generator",
        "models.pipeline",
        "server.generator",
        "privacy.partition",
        "privacy.public-names",
        "retrieval.weights",
        "overlay.topology",
        "overlay.topics",
        "data.root",
        "data.questions",
    }
)
_PATHS = (
    PATH_SETTINGS
    | {key for key, setting in OWN.items() if setting in PATH_SETTINGS}
    | {"data-path", "training-questions"}
)
# what else may stand there
_WORDS = frozenset({"", AUTO, "demo", "demo-strong", "shipped", "trained", "learnt", *REGISTRY})


def in_full(config: Mapping[str, Plain]) -> dict[str, Plain]:
    """A run's or a device's config, its relative paths in full where they name something in the working directory."""
    return {key: _full(value) if key in _PATHS and isinstance(value, str) else value for key, value in config.items()}


def _full(value: str) -> str:
    here = Path.cwd() / value
    relative = value not in _WORDS and not Path(value).is_absolute()
    return str(here.resolve()) if relative and os.path.exists(here) else value
