"""`fedrag source`: what a database or a graph holds, as a mapping file to start from."""

from __future__ import annotations

from typing import Annotated

import typer

from fedrag_flwr.cli.console import with_errors
from fedrag_flwr.sources.graph.mapping import graph_toml
from fedrag_flwr.sources.mapping import without_password
from fedrag_flwr.sources.open_source import filled_url, proposed_mapping, url_of
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
    mapping = proposed_mapping(filled_url(url) or url)
    mapping = mapping.model_copy(update={"url": without_password(url_of(url) or url)})
    text = sql_toml(mapping) if isinstance(mapping, SqlMapping) else graph_toml(mapping)
    typer.echo(text, nl=False)  # as it is: it goes into a file
