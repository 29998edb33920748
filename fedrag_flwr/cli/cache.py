"""`fedrag cache`: what the caches on this machine hold and how they serve."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer
from rich.table import Table

from fedrag_flwr.caching import find_tiers
from fedrag_flwr.cli.console import JsonFlag, out, print_json, with_errors
from fedrag_flwr.settings import fedrag_home

app = typer.Typer(help="What the caches hold and how they serve.", no_args_is_help=True)


@app.callback()
def cache() -> None:
    """What the caches hold and how they serve."""


@app.command()
@with_errors
def stats(as_json: JsonFlag = False) -> None:
    """Entries, bytes and hits of every cache under the home directory."""
    home = fedrag_home()
    found = [(_owner(path.relative_to(home)), told) for path, told in find_tiers(home)]
    if as_json:
        print_json([{"owner": owner, **asdict(told)} for owner, told in found])
        return
    table = Table("owner", "tier", "entries", "MB", "limit, MB", "hits", "misses", "hit rate")
    for owner, told in found:
        sizes = (f"{told.bytes / 1e6:.1f}", f"{told.limit / 1e6:.0f}")
        counts = (str(told.hits), str(told.misses), f"{100 * told.hit_rate:.0f} %")
        table.add_row(owner, told.name, "torn" if told.torn else str(told.entries), *sizes, *counts)
    out.print(table)


def _owner(path: Path) -> str:
    """The server, or the device, with its set of documents: `devices/demo/worlds/caches/summaries`."""
    return "/".join(part for part in path.parts[:-1] if part not in ("devices", "caches", "fusion")) + (
        " (server)" if path.parts[0] == "fusion" else ""
    )
