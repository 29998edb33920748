"""`fedrag models`: fetch, list and verify model files."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from fedrag_flwr.cli.console import JsonFlag, err, out, print_json, progress_bar, with_errors
from fedrag_flwr.errors import ModelHashError
from fedrag_flwr.models.choose import form_for_machine
from fedrag_flwr.models.files import list_models
from fedrag_flwr.models.files import pull as pull_file
from fedrag_flwr.models.files import verify as verify_file
from fedrag_flwr.models.registry import DEFAULT_GENERATOR
from fedrag_flwr.settings import AUTO

app = typer.Typer(help="Fetch, list and verify model files.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="A known model; see `fedrag models list`.")]


@app.command()
@with_errors
def pull(name: NameArgument = AUTO) -> None:
    """Fetch a model file if it is absent, and check its SHA-256; "auto": the default, in the form that fits here."""
    with progress_bar() as progress:
        if name == AUTO:
            pull_file(DEFAULT_GENERATOR, progress)
            name = form_for_machine(DEFAULT_GENERATOR, progress)
        path = pull_file(name, progress)
    err.print(f"{name} is ready: {path.name}")


@app.command("list")
@with_errors
def show(as_json: JsonFlag = False) -> None:
    """List the known models and which of them are here."""
    models = list_models()
    if as_json:
        print_json(models)
        return
    table = Table("model", "size", "here", "sha256")
    for status in models:
        here = "no" if status.path is None else {True: "yes", False: "damaged", None: "yes"}[status.verified]
        table.add_row(
            status.model.name,
            f"{status.model.size / 1e6:,.0f} MB",
            here,
            status.model.sha256[:12],
        )
    out.print(table)


@app.command()
@with_errors
def verify(name: NameArgument = DEFAULT_GENERATOR) -> None:
    """Hash a model file again and compare it with what it must be."""
    if not verify_file(name):
        raise ModelHashError("the file's SHA-256 is not the expected one", where=name, fix=f"fedrag models pull {name}")
    err.print(f"{name}: the SHA-256 is right")
