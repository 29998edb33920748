"""`fedrag source`: what a database or a graph holds, as a mapping file to start from."""

from __future__ import annotations

from typing import Annotated

import typer

from fedrag_flwr.cli.console import out, with_errors
from fedrag_flwr.sources.graph.mapping import graph_toml
from fedrag_flwr.sources.mapping import without_password
from fedrag_flwr.sources.opening import proposed_mapping, url_of
from fedrag_flwr.sources.sql.mapping import SqlMapping, sql_toml

app = typer.Typer(help="Databases and graphs as sources.", no_args_is_help=True)


@app.callback()
def source() -> None:
    """Databases and graphs as sources."""


@app.command("inspect")
@with_errors
def inspect(
    url: Annotated[
        str, typer.Argument(help="sqlite:///records.db, postgresql://..., ladybug:///graph.lbug, or a file.")
    ],
) -> None:
    """Propose a mapping file: read it, leave out what should not be read, and give it to `fedrag build --source`."""
    mapping = proposed_mapping(url_of(url) or url)
    mapping = mapping.model_copy(update={"url": without_password(mapping.url)})
    text = sql_toml(mapping) if isinstance(mapping, SqlMapping) else graph_toml(mapping)
    out.print(text, markup=False, highlight=False, soft_wrap=True, end="")
