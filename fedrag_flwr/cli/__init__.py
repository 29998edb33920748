"""The command line: a command's module is imported when it is named."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

import click
import typer
from typer.core import TyperGroup

_OWN = {
    "doctor": "fedrag_flwr.cli.machine:doctor",
    "models": "fedrag_flwr.cli.machine:models",
    "cache": "fedrag_flwr.cli.machine:cache",
    "build": "fedrag_flwr.cli.memory:build",
    "source": "fedrag_flwr.cli.memory:source",
    "inspect": "fedrag_flwr.cli.memory:inspect",
    "ask": "fedrag_flwr.cli.ask:ask",
    "feedback": "fedrag_flwr.cli.ask:feedback",
    "outbox": "fedrag_flwr.cli.ask:outbox",
    "simulate": "fedrag_flwr.cli.simulate:simulate",
    "device": "fedrag_flwr.cli.deployment:device",
    "serve": "fedrag_flwr.cli.deployment:serve",
}


class _Commands(TyperGroup):
    """The commands, and those that what stands above the library adds by the entry point `fedrag.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all."""
        return [*_OWN, *(entry.name for entry in entry_points(group="fedrag.commands"))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One by its name."""
        if place := _OWN.get(cmd_name):
            module, _, name = place.partition(":")
            return _made(cmd_name, getattr(import_module(module), name))
        for entry in entry_points(group="fedrag.commands", name=cmd_name):
            return _made(cmd_name, entry.load())
        return None


def _made(name: str, command: object) -> click.Command:
    if isinstance(command, typer.Typer):
        group = typer.main.get_command(command)
        group.name = name
        return group
    one = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
    one.command(name)(command)  # type: ignore[type-var]
    return typer.main.get_command(one)


app = typer.Typer(
    cls=_Commands,
    name="fedrag",
    help="Federated retrieval-augmented generation on the edge.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    callback=lambda: None,
)

__all__ = ["app"]
