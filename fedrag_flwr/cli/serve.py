"""`fedrag serve`: a device's resident service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fedrag_flwr.cli.console import SetOption, changed, err, with_errors
from fedrag_flwr.errors import SettingError


@with_errors
def serve(
    name: Annotated[str, typer.Argument(help="The device's name.")] = "",
    config: Annotated[Path | None, typer.Option("--config", help="The device's config file.")] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Listen on 127.0.0.1, too; callers there need the token.")
    ] = None,
    changes: SetOption = None,
) -> None:
    """Keep a device's models and memory loaded, and answer: people at the device, and Flower's messages."""
    from fedrag_flwr.service.config import config_of, read_config
    from fedrag_flwr.service.protocol import TOKEN
    from fedrag_flwr.service.run import serve as run

    if bool(name) == (config is not None):
        raise SettingError("name a device, or its config file", where="fedrag serve", fix="fedrag serve NAME")
    told = read_config(config) if config is not None else config_of(name)
    told = replace(told, settings={**told.settings, **changed(changes)})
    if port is not None:
        told = replace(told, service=told.service.model_copy(update={"port": port}))
    if told.service.port:
        place = told.root / TOKEN
        err.print(f"http://127.0.0.1:{told.service.port}/ with the token in {place}", highlight=False, soft_wrap=True)
    run(told)
