"""`fedrag device` and `serve`: what makes a folder of documents a device of a federation, and keeps it at work."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fedrag_flwr.cli.console import (
    JsonFlag,
    SetOption,
    changed,
    err,
    in_full,
    out,
    print_json,
    progress_bar,
    with_errors,
)
from fedrag_flwr.cli.memory import EmptyFlag, require_device, show_report
from fedrag_flwr.device_files import DeviceFiles, Link, public_half, supernode_command
from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.nodes import Node, sources_of
from fedrag_flwr.settings import Plain
from fedrag_flwr.sources.folder import mode_of
from fedrag_flwr.sources.mapping import file_beside, without_password

device = typer.Typer(help="Set up this machine as a device of a federation.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="The device's name.")]


@device.command("init")
@with_errors
def init(
    name: NameArgument,
    documents: Annotated[Path | None, typer.Option(help="The folder of documents.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="URL_OR_FILE", help="A database, a graph or a mapping file; repeatable."),
    ] = None,
    superlink: Annotated[str, typer.Option(metavar="HOST:PORT", help="The federation's server.")] = "127.0.0.1:8000",
    root_certificates: Annotated[
        Path | None, typer.Option(help="The federation's authority (ca.crt); without it, the system's authorities.")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The SuperNode's own port on 127.0.0.1.")] = 9094,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A further setting, such as export=ldp; repeatable."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain-i-know", help="No TLS and no key: everyone on the way reads and joins.")
    ] = False,
) -> None:
    """Write a device's settings and its key pair, and say how it joins; nothing that is there is overwritten."""
    config: dict[str, Plain] = {"device-name": name}
    if documents is not None:
        config["data-path"] = str(_there(documents, "--documents"))
    if source:
        config["sources"] = shlex.join(map(_in_full, source))
    further = changed(changes)
    if again := further.keys() & config.keys():
        raise SettingError(f"'{min(again)}' is no further setting", where="--set", fix="use the option for it")
    config |= further
    certificates = None if root_certificates is None else _there(root_certificates, "--root-certificates")
    link = Link(superlink, certificates, port, plain)
    files = DeviceFiles.of(name)
    files.create(in_full(config), link)
    _print_lines("settings, for you alone to read:", str(files.config))
    if plain:
        err.print("[bold yellow]without TLS and keys:[/] whoever is on the network reads, changes and joins")
    else:
        _print_registration(files.key, name)
    _print_lines("this device joins with:", shlex.join(supernode_command(files, link)))


@device.command("build")
@with_errors
def build(name: NameArgument, empty: EmptyFlag = False, as_json: JsonFlag = False) -> None:
    """Build the device's memory under its own settings, before any run asks; unchanged documents cost nothing.

    As in `fedrag build`, documents that yield nothing are named, and the exit code stays 0.
    """
    config = DeviceFiles.of(name).read()
    with Node(config.own, config.settings).device() as opened, progress_bar() as progress:
        report = opened.build(empty=empty, progress=progress)
    if as_json:
        print_json(report)
    else:
        show_report(report)


@device.command("show")
@with_errors
def show(name: NameArgument, as_json: JsonFlag = False) -> None:
    """Show a device's settings and its public key; never the private one, nor a source's password."""
    files = DeviceFiles.of(name)
    config = _without_passwords(files.read().own)
    public = public_half(files.key).read_text(encoding="ascii").strip()
    if as_json:
        print_json({"config": config, "public-key": public, "rotating": files.next_key.exists()})
        return
    _print_lines(f"{files.config}:", *(f"{key} = {value}" for key, value in config.items()))
    _print_lines("public key:", public)
    if files.next_key.exists():
        _print_lines("a next key waits to be registered:", str(public_half(files.next_key)))


@device.command("rotate-key")
@with_errors
def rotate_key(
    name: NameArgument,
    finish: Annotated[bool, typer.Option("--finish", help="Take the next key into use.")] = False,
) -> None:
    """Make the device's next key; with --finish, once it is registered, take it into use."""
    files = DeviceFiles.of(name)
    if finish:
        files.finish_rotation()
        out.print("taken into use: restart the SuperNode, then unregister the old one: flwr supernode unregister ID")
    else:
        files.begin_rotation()
        _print_registration(files.next_key, name)
        _print_lines("then:", f"fedrag device rotate-key {name} --finish")


def _in_full(source: str) -> str:
    """A source as it is named from any folder: the device's processes run in one of their own."""
    return file_beside(source, Path.cwd()) if "://" in source else str(_there(Path(source), "--source"))


def _there(path: Path, where: str) -> Path:
    full = path.expanduser().resolve()
    if not mode_of(full, SettingError):
        raise SettingError("is not there", where=f"{where} {path}", fix="name what exists")
    return full


def _without_passwords(config: Mapping[str, Plain]) -> dict[str, Plain]:
    sources = sources_of(config)
    hidden = [without_password(source) for source in sources]
    return {**config} if hidden == sources else {**config, "sources": shlex.join(hidden)}


def _print_registration(key: Path, name: str) -> None:
    _print_lines("public key, for the federation's operator:", public_half(key).read_text(encoding="ascii").strip())
    _print_lines("who registers it with:", f"flwr supernode register {public_half(key).name} FEDERATION --name {name}")


def _print_lines(heading: str, *lines: str) -> None:
    out.print(f"[bold]{escape(heading)}[/]", highlight=False, soft_wrap=True)
    for line in lines:
        out.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)


# --- the service ------------------------------------------------------------------------------------


@with_errors
def serve(
    name: Annotated[str, typer.Argument(help="The device's name.")] = "",
    config: Annotated[Path | None, typer.Option("--config", help="The device's config file.")] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Listen on 127.0.0.1, too; callers there need the token.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Read its documents now, and whenever they change.")] = False,
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Their folder, where its config names none.")
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
    if config is None:
        require_device(name, told)
    told = told.under(changed(changes))
    if documents is not None:
        if not (folder := documents.expanduser().resolve()).is_dir():
            raise SourceError("there is no such folder", where=str(documents), fix="name a folder of documents")
        told = replace(told, own={**told.own, "data-path": str(folder)})
    if (watch or told.service.watch) and "data-path" not in told.own:
        raise SettingError("there is no folder to watch", where="fedrag serve", fix="add --documents FOLDER")
    limits = {"watch": watch or told.service.watch} | ({} if port is None else {"port": port})
    told = replace(told, service=told.service.model_copy(update=limits))
    if told.service.port:
        place = told.root / TOKEN
        err.print(f"http://127.0.0.1:{told.service.port}/ with the token in {place}", highlight=False, soft_wrap=True)
    run(told)
