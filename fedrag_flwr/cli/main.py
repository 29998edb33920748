"""The commands and their help; each group lives in its own file."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from fedrag_flwr.cli import (
    ask,
    cache,
    device,
    device_setup,
    doctor,
    feedback,
    models,
    outbox,
    serve,
    simulate,
    source,
)

app = typer.Typer(
    name="fedrag",
    help="Federated retrieval-augmented generation on the edge.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.add_typer(models.app, name="models")
app.add_typer(cache.app, name="cache")
app.add_typer(outbox.app, name="outbox")
app.command("doctor")(doctor.doctor)
app.command("simulate")(simulate.simulate)
app.command("build")(device.build)
app.command("ask")(ask.ask)
app.command("serve")(serve.serve)
app.add_typer(source.app, name="source")
app.command("feedback")(feedback.feedback)
app.add_typer(device.inspect_app, name="inspect")
app.add_typer(device_setup.app, name="device")
for entry in entry_points(group="fedrag.commands"):  # what stands above the library adds its own commands
    command = entry.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=entry.name)
    else:
        app.command(entry.name)(command)
