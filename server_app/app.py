"""The ServerApp: validate the settings, run the systems, write the results."""

from __future__ import annotations

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedrag_flwr.settings import Settings
from server_app.run import run_systems
from server_app.serving import serve

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run what the run config asks for; a FedragError ends the run as failed, with its text in the log."""
    settings = Settings.from_config(context.run_config)
    if settings.mode == "serve":
        serve(grid, str(context.run_id), settings)
    else:
        run_systems(grid, str(context.run_id), settings)
