"""`fedrag ask`, `feedback` and `outbox`: a question to a device, what people think of the answer, and what waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedrag_flwr.answering.explain import marked
from fedrag_flwr.cli.console import (
    JsonFlag,
    QuestionArgument,
    SetOption,
    err,
    out,
    print_json,
    questions_of,
    with_errors,
)
from fedrag_flwr.cli.memory import HERE, NameOption, StoreOption, device_at, open_as_configured, print_path
from fedrag_flwr.errors import NotFoundError, ServiceAbsentError
from fedrag_flwr.home_paths import new_id
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.outbox import Outbox
from fedrag_flwr.models.base import Heard
from fedrag_flwr.records import Question
from fedrag_flwr.records.isolate import settled
from fedrag_flwr.service.answers import GivenAnswer, given, read_answer
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.config import config_of

_MARK = "bold reverse"


@with_errors
def ask(
    question: QuestionArgument = "-",
    name: NameOption = "",
    store: StoreOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Let it wait for a federation's help where home is not sure.")
    ] = False,
    no_service: Annotated[bool, typer.Option("--no-service", help="Load the models here.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show cost, decisions and their numbers.")] = False,
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask a device; shows the answer, where it comes from, and the passage that bears it.

    Without a question each line of standard input is one. On a terminal the answer shows while it is written. A running
    service of the device answers, unless --no-service, --store or --set ask for something else.
    """
    questions = questions_of(question)
    here = no_service or store is not None or bool(changes)
    answers = []
    with _asked_at(name, store, changes, here=here) as ask_one:
        for number, one in enumerate(questions):
            if len(questions) > 1 and not as_json:
                out.print(Text(f"\n{one}" if number else one, "italic"), highlight=False)
            with as_it_comes(out, aloud=not as_json) as heard:
                answer = ask_one(one, wait, heard)
            answers.append(answer)
            if not as_json:
                show(out, answer, verbose=verbose)
            if wait and not answer.waiting:
                err.print(
                    "[dim]it does not wait: home is sure, or the device has no outbox (serving.outbox) or a full one[/]"
                )
    if as_json:
        print_json(answers if len(questions) > 1 else answers[0])


AskOne = Callable[[str, bool, Heard | None], GivenAnswer]


@contextmanager
def _asked_at(name: str, store: Path | None, changes: list[str] | None, *, here: bool) -> Iterator[AskOne]:
    """Gives what asks a device: its service where one runs and may answer, else the device opened in this process."""
    if not here:
        with ServiceClient(config_of(name or HERE).socket) as service:
            if _runs(service):
                yield lambda question, wait, heard: read_answer(service.ask(question, help=wait, heard=heard))
                return
    with open_as_configured(name, store, changes) as device:

        def ask_one(question: str, wait: bool, heard: Heard | None) -> GivenAnswer:
            asked = Question(new_id(), question, device.name)
            answer, waits = settled(lambda: device.ask_at_home(asked, heard, help=wait))
            return given(asked.id, question, answer, device.trace(answer), time.time(), waiting=waits)

        yield ask_one


def _runs(service: ServiceClient) -> bool:
    try:
        service.health()
    except ServiceAbsentError:
        return False
    return True


@contextmanager
def as_it_comes(console: Console, *, aloud: bool) -> Iterator[Heard | None]:
    """Show an answer while it is written, and take it away in the end; gives None where nobody reads a terminal."""
    if not (aloud and console.is_terminal):
        yield None
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield lambda text: live.update(Text(text, "dim"), refresh=True)


def show(console: Console, answer: GivenAnswer, *, verbose: bool = False) -> None:
    """Print an answer for people."""
    console.print(_said(answer), highlight=False)
    console.print(_origin(answer), highlight=False)
    for number, place in {one.number: one.place for one in answer.citations}.items():
        console.print(Text(f"[{number}] {place}"), highlight=False)
    if answer.waiting:
        console.print(
            Text(f"It waits for help as {answer.id}; see `fedrag inspect delivered` later.", "dim"), highlight=False
        )
    texts = answer.evidence or answer.near
    first = max(len({one.number for one in answer.citations}), 1) if answer.answer else 0
    count = len(texts) if verbose else first
    for rank, one in enumerate(texts[:count]):
        bears = rank == 0 and bool(answer.answer)
        source = one.document or one.origin
        place = one.place if one.place == source else f"{one.place} ({source})"
        console.print(Text(f"\n{place}", "" if bears else "dim"), highlight=False)
        text = _marked(one.text, answer.answer) if bears else Text(one.text, "dim")
        console.print(Padding(text, (0, 0, 0, 2), expand=False), highlight=False)
    if more := len(texts[count:]):
        told = "more that came near" if count else "that came near"
        console.print(Text(f"\n--verbose shows {more} {told}", "dim"), highlight=False)
    if verbose:
        _show_numbers(console, answer)


def _said(answer: GivenAnswer) -> Text:
    if not answer.citations:
        return Text(answer.answer or "I do not know.", "bold")
    said = Text()
    for one in answer.citations:
        said.append(f"{one.sentence} ", "bold").append(f"[{one.number}] ")
    return said


def _origin(answer: GivenAnswer) -> Text:
    if not answer.answer:
        return Text(answer.why)
    told = answer.told
    parts = [(told.lead, ""), (told.name, "italic"), (f"({told.sure})" if told.sure else "", "")]
    return Text(" ").join(Text(text, style) for text, style in parts if text)


def _marked(text: str, answer: str) -> Text:
    shown = Text()
    for place, part in enumerate(marked(text, answer)):
        shown.append(part, _MARK if place % 2 else "")
    return shown


def _show_numbers(console: Console, answer: GivenAnswer) -> None:
    cost = f"{answer.seconds * 1000:.0f} ms, {answer.llm_calls} calls of the model"
    console.print(Text(f"\n{answer.path}, confidence {answer.score:.2f}, {cost}", "dim"), highlight=False)
    for one in answer.decisions:
        console.print(Text(f"{one.step}: {one.said}", "dim"), highlight=False)
    if not answer.answer and any(one.step == "confidence" for one in answer.decisions):
        console.print(Text("inference.abstain-below sets the confidence from which it answers", "dim"), highlight=False)
    for path in answer.paths:
        print_path(path, console)


# --- what people think of answers, and what waits ---------------------------------------------------


class Verdict(StrEnum):
    """What somebody thinks of an answer."""

    GOOD = "good"
    BAD = "bad"


@with_errors
def feedback(
    answer: Annotated[str, typer.Argument(help="The id of the question that it answers.")],
    verdict: Annotated[Verdict, typer.Argument(help="What you think of it.")],
    name: NameOption = "",
    store: StoreOption = None,
    changes: SetOption = None,
) -> None:
    """Judge an answer that other devices helped with: yours learns whom to ask, and gives a bad one never again."""
    with open_as_configured(name, store, changes) as device:
        out.print(escape(device.walks.feedback(answer, good=verdict is Verdict.GOOD)), highlight=False)


outbox = typer.Typer(help="Questions that wait for a federation's help.", no_args_is_help=True)


@outbox.command("list")
@with_errors
def show_waiting(name: NameOption = "", store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """List the waiting questions, the newest first."""
    with _outbox(name, store) as waiting_room:
        waiting = waiting_room.waiting()
    if as_json:
        print_json(waiting)
        return
    table = Table("id", "question", "asked", "tries")
    for one in waiting:
        asked = datetime.fromtimestamp(one.asked).astimezone().isoformat(" ", "minutes")
        table.add_row(one.id, escape(one.text), asked, str(one.tries))
    out.print(table)


@outbox.command()
@with_errors
def withdraw(
    question: Annotated[str, typer.Argument(help="Its id.")], name: NameOption = "", store: StoreOption = None
) -> None:
    """Withdraw a question: no run takes it up any more."""
    with _outbox(name, store) as waiting_room:
        if not waiting_room.withdraw(question):
            raise NotFoundError("no such question waits", where=name, fix="see `fedrag outbox list`")
    out.print("withdrawn")


@contextmanager
def _outbox(name: str, store: StoreOption) -> Iterator[Outbox]:
    name, root = device_at(name, store)
    MemoryStore.open(root, {}, create=False).close()  # whoever has no device has no outbox
    with closing(Outbox(config_of(name).home / "privacy" / name)) as found:
        yield found
