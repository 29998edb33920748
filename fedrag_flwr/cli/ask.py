"""`fedrag ask`: a question to a device, through its service where one runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fedrag_flwr.answering.isolate import settled
from fedrag_flwr.cli.console import (
    JsonFlag,
    QuestionArgument,
    SetOption,
    err,
    out,
    print_json,
    question_of,
    with_errors,
)
from fedrag_flwr.cli.device import NameOption, StoreOption, open_as_configured, print_path
from fedrag_flwr.errors import ServiceAbsentError
from fedrag_flwr.naming import new_id
from fedrag_flwr.records import Question
from fedrag_flwr.service.answers import GivenAnswer, given, read_answer
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.config import config_of


@with_errors
def ask(
    question: QuestionArgument = "-",
    name: NameOption = "here",
    store: StoreOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Let it wait for a federation's help where home is not sure.")
    ] = False,
    no_service: Annotated[bool, typer.Option("--no-service", help="Load the models here.")] = False,
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask a device; shows the path, the evidence with its documents, and what the answer cost.

    A running service of the device answers, unless --no-service, --store or --set ask for something else.
    """
    question = question_of(question)
    here = no_service or store is not None or bool(changes)
    answer = None if here else _by_service(question, name, wait)
    if answer is None:
        answer = _in_process(question, name, store, wait, changes)
    if as_json:
        print_json(answer)
    else:
        _show(answer)
    if wait and not answer.waiting:
        err.print("[dim]it does not wait: home is sure, or this device has no outbox (serving.outbox) or a full one[/]")


def _by_service(question: str, name: str, wait: bool) -> GivenAnswer | None:
    try:
        with ServiceClient(config_of(name).socket) as service:
            return read_answer(service.ask(question, help=wait))
    except ServiceAbsentError:
        return None


def _in_process(question: str, name: str, store: Path | None, wait: bool, changes: list[str] | None) -> GivenAnswer:
    asked = Question(new_id(), question, name)
    with open_as_configured(name, store, changes) as device:
        answer, waits = settled(lambda: device.ask_or_wait(asked) if wait else (device.ask_at_home(asked), False))
        return given(asked.id, question, answer, device.trace(answer), time.time(), waiting=waits)


def _show(answer: GivenAnswer) -> None:
    out.print(f"[bold]{escape(answer.answer or 'I do not know.')}[/]", highlight=False)
    out.print(
        f"[dim]{answer.path}, score {answer.score:.2f}, {answer.seconds * 1000:.0f} ms, {answer.llm_calls} LLM calls; "
        f"{escape(answer.explanation)}[/]",
        highlight=False,
    )
    if answer.waiting:
        out.print(f"[dim]it waits for help as {answer.id}; see `fedrag inspect delivered` later[/]", highlight=False)
    for one in dict.fromkeys((one.document, one.title, one.passage, one.text) for one in answer.evidence):
        document, title, passage, text = one
        shown = f"  {document}{f' ({title})' if title else ''}, {passage}: {text}"
        out.print(shown, highlight=False, markup=False)
    for path in answer.paths:
        print_path(path)
