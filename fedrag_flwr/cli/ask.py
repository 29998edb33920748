"""`fedrag ask`: a question to a device, through its service where one runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fedrag_flwr.cli.console import JsonFlag, SetOption, out, print_json, with_errors
from fedrag_flwr.cli.device import NameOption, StoreOption, existing_store, open_device, print_path
from fedrag_flwr.errors import ServiceAbsentError
from fedrag_flwr.places import fedrag_home
from fedrag_flwr.records import Question
from fedrag_flwr.service.answers import GivenAnswer, given, read_answer
from fedrag_flwr.service.client import ServiceClient
from fedrag_flwr.service.protocol import default_socket


@with_errors
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    name: NameOption = "here",
    store: StoreOption = None,
    help_wanted: Annotated[
        bool, typer.Option("--help-wanted", help="Let the federation help where home is not sure (service only).")
    ] = False,
    no_service: Annotated[bool, typer.Option("--no-service", help="Load the models here.")] = False,
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask a device; shows the path, the evidence with its documents, and what the answer cost.

    A running service of the device answers, unless --no-service, --store or --set ask for something else.
    """
    here = no_service or store is not None or bool(changes)
    answer = None if here else _by_service(question, name, help_wanted)
    if answer is None:
        answer = _in_process(question, name, existing_store(name, store), changes)
    if as_json:
        print_json(answer)
    else:
        _show(answer)


def _by_service(question: str, name: str, help_wanted: bool) -> GivenAnswer | None:
    try:
        with ServiceClient(default_socket(fedrag_home(), name)) as service:
            return read_answer(service.ask(question, help=help_wanted))
    except ServiceAbsentError:
        return None


def _in_process(question: str, name: str, root: Path, changes: list[str] | None) -> GivenAnswer:
    with open_device(name, None, root, changes) as device:
        answer = device.ask_at_home(Question("asked-here", question, name))
        return given("asked-here", question, answer, device.trace(answer), time.time())


def _show(answer: GivenAnswer) -> None:
    out.print(f"[bold]{escape(answer.answer or 'I do not know.')}[/]", highlight=False)
    out.print(
        f"[dim]{answer.path}, score {answer.score:.2f}, {answer.seconds * 1000:.0f} ms, {answer.llm_calls} LLM calls; "
        f"{escape(answer.explanation)}[/]",
        highlight=False,
    )
    if answer.waiting:
        out.print("[dim]waits for the federation's help[/]")
    for one in dict.fromkeys((one.document, one.title, one.passage, one.text) for one in answer.evidence):
        document, title, passage, text = one
        shown = f"  {document}{f' ({title})' if title else ''}, {passage}: {text}"
        out.print(shown, highlight=False, markup=False)
    for path in answer.paths:
        print_path(path)
