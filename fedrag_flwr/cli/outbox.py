"""`fedrag outbox`: the questions of this device that wait for a federation's help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from fedrag_flwr.cli.console import JsonFlag, out, print_json, with_errors
from fedrag_flwr.cli.device import NameOption, StoreOption, existing_store
from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.outbox import Outbox
from fedrag_flwr.service.config import config_of
from fedrag_flwr.settings import Settings

app = typer.Typer(help="Questions that wait for a federation's help.", no_args_is_help=True)


@app.command("list")
@with_errors
def show(name: NameOption = "here", store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """List the waiting questions, the newest first."""
    with _outbox(name, store) as outbox:
        waiting = outbox.waiting()
    if as_json:
        print_json(waiting)
        return
    table = Table("id", "question", "asked", "tries")
    for one in waiting:
        asked = datetime.fromtimestamp(one.asked).astimezone().isoformat(" ", "minutes")
        table.add_row(one.id, escape(one.text), asked, str(one.tries))
    out.print(table)


@app.command()
@with_errors
def withdraw(
    question: Annotated[str, typer.Argument(help="Its id.")], name: NameOption = "here", store: StoreOption = None
) -> None:
    """Withdraw a question: no run takes it up any more."""
    with _outbox(name, store) as outbox:
        if not outbox.withdraw(question):
            raise NotFoundError("no such question waits", where=name, fix="see `fedrag outbox list`")
    out.print("withdrawn")


@contextmanager
def _outbox(name: str, store: StoreOption) -> Iterator[Outbox]:
    with MemoryStore.open(existing_store(name, store), {}, create=False) as memory:
        retry = Settings().serving.retry_seconds
        yield Outbox(memory.database, config_of(name).home / "privacy" / name, retry)
