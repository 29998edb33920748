"""`fedrag build`, `inspect` and `source`: one device's memory at the command line, without a federation."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from textwrap import indent, shorten
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from fedrag_flwr.cli.console import (
    JsonFlag,
    QuestionArgument,
    SetOption,
    changed,
    err,
    out,
    print_json,
    progress_bar,
    question_of,
    settings_from,
    typed,
    with_errors,
)
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.views import MemoryLine, view_document, view_hyperedge
from fedrag_flwr.device_files import DeviceFiles
from fedrag_flwr.errors import EmptySourceError, NotFoundError, SettingError, SourceError, StoreError
from fedrag_flwr.home_paths import fedrag_home
from fedrag_flwr.loaded_models import load_models, refuse_unknown
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.models.registry import MULTILINGUAL
from fedrag_flwr.records import BuildReport, ChosenPath
from fedrag_flwr.service.config import DeviceConfig, config_of
from fedrag_flwr.service.protocol import CONFIG
from fedrag_flwr.sources.folder import mode_of

inspect = typer.Typer(help="Look into a device's memory.", no_args_is_help=True)
source = typer.Typer(help="Databases and graphs as sources.", no_args_is_help=True)

_BEGINNING = 90  # letters of a passage that are shown
HERE = "here"  # the device that is meant where none is named
NameOption = Annotated[str, typer.Option("--name", help="The device's name; `here` without it, or the store's.")]
StoreOption = Annotated[Path | None, typer.Option("--store", help="The store's directory; by default one a name.")]

EmptyFlag = Annotated[
    bool, typer.Option("--empty", help="Sources that hold nothing are meant to: forget all that was read of them.")
]


@with_errors
def build(
    folder: Annotated[Path | None, typer.Argument(help="The documents: text, office files, PDF, sheets, mail.")] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="URL_OR_FILE", help="A database, a graph or a mapping file; repeatable."),
    ] = None,
    name: NameOption = "",
    store: StoreOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Forget the old memory first; waiting questions and answers stay.")
    ] = False,
    empty: EmptyFlag = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name what was skipped or has no memory.")] = False,
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Build a device's memory from a folder, databases and graphs; unchanged documents cost nothing.

    Documents that could not be read, or that yield no memory, are told each time, and the exit code stays 0: the
    memory of all others is whole, and to build again would not help these.
    """
    from fedrag_flwr.device.builds import forget_memory
    from fedrag_flwr.sources.open_source import SourceSet

    if folder is not None and not stat.S_ISDIR(mode_of(folder.expanduser())):
        raise SourceError("there is no such folder", where=str(folder), fix="name the folder of the documents")
    name = name or HERE
    root = store or config_of(name).root
    settings = settings_from(changes)
    refuse_unknown(settings.models)
    if rebuild:  # what would stop the build is told before anything goes
        read = SourceSet(folder, sources or (), load_models(settings.models, fedrag_home(settings.home)))
        forget_memory(root, read, empty=empty)
    is_new = not root.exists()
    try:
        with open_device(name, folder, root, changes, sources or ()) as device, progress_bar() as progress:
            report = device.build(empty=empty, progress=progress)
            english = not device.settings.models.encoder
            masked = device.settings.privacy.keeps_other_languages
    except EmptySourceError:
        if is_new and root.exists():  # nothing was read: there is no such device
            shutil.rmtree(root)
        raise
    if as_json:
        print_json(report)
    else:
        show_report(report, verbose=verbose, english=english, masked=masked)


@inspect.command("items")
@with_errors
def show_items(name: NameOption = "", store: StoreOption = None, limit: int = 20, as_json: JsonFlag = False) -> None:
    """List memory items."""
    with _reading(name, store) as memory:
        items = memory.items()[: limit or None]
    if as_json:
        print_json(items)
        return
    table = Table("id", "question", "answer", "kind", "origin")
    for item in items:
        table.add_row(*map(escape, (item.id[:12], item.question, item.answer, item.kind, item.origin)))
    out.print(table)


@inspect.command("delivered")
@with_errors
def show_delivered(
    name: NameOption = "",
    store: StoreOption = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """Show what a server answered for this device, the newest first."""
    from fedrag_flwr.memory.store.outbox import DeliveredAnswers

    name, root = device_at(name, store)
    MemoryStore.open(root, {}, create=False).close()  # whoever has no device has no answers
    with closing(DeliveredAnswers(config_of(name).home / "privacy" / name)) as delivered:
        answers = list(delivered.all().values())[:limit]
    if as_json:
        print_json(answers)
        return
    table = Table("question", "answer", "how", "sources")
    for one in answers:
        table.add_row(*map(escape, (one.question_id, one.text or "-", one.explanation, ", ".join(one.sources))))
    out.print(table)


@inspect.command("hyperedge")
@with_errors
def show_hyperedge(
    hyperedge_id: str, name: NameOption = "", store: StoreOption = None, as_json: JsonFlag = False
) -> None:
    """Show a hyperedge: the units that it links, and the memories that rest on it."""
    with _reading(name, store) as memory:
        view = view_hyperedge(memory, hyperedge_id)
    if as_json:
        print_json(view)
        return
    tree = Tree(f"hyperedge {view.id} ({view.granularity})")
    units = tree.add("units")
    for member in view.members:
        units.add(escape(f"{member.weight:.2f}  {member.id}: {member.text}"))
    _add_memories(tree, view.memories)
    out.print(tree)


@inspect.command("paths")
@with_errors
def show_paths(
    question: QuestionArgument = "-",
    name: NameOption = "",
    store: StoreOption = None,
    limit: Annotated[int, typer.Option(min=1, help="How many passages.")] = 5,
    changes: SetOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the passages that the controller puts first for a question, and the answer path to each."""
    with open_as_configured(name, store, changes) as device:
        chosen = device.order.choose(question_of(question), limit)
    if as_json:
        print_json(chosen)
        return
    out.print("[dim]\\[mentioned by the question]  (bridge)  ▼ from head to tail[/]", highlight=False)
    for place, one in enumerate(chosen, 1):
        heading = f"{place}. {one.passage_id}{f' ({one.title})' if one.title else ''}, log-odds {one.score:+.2f}"
        out.print(f"[bold]{escape(heading)}[/]", highlight=False)
        print_path(one.path)


@inspect.command("document")
@with_errors
def show_document(
    document_id: Annotated[str, typer.Argument(help="The document's id; - to type it, as it may name somebody.")],
    name: NameOption = "",
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a document brought: passages, sentences, hyperedges and memories."""
    document_id = typed(document_id, "document").strip()
    with _reading(name, store) as memory:
        brought, view = memory.contribution(document_id), view_document(memory, document_id)
    if as_json:
        print_json(brought)
        return
    tree = Tree(escape(f"document {document_id}"))
    texts = {one.id: shorten(one.text, _BEGINNING, placeholder="...") for one in view.passages}
    for kind, ids in (
        ("passages", brought.passages),
        ("sentences", brought.sentences),
        ("hyperedges", brought.hyperedges),
    ):
        branch = tree.add(f"{len(ids)} {kind}")
        for unit_id in ids:
            branch.add(escape(f"{unit_id}  {texts[unit_id]}" if unit_id in texts else unit_id))
    _add_memories(tree, view.memories)
    out.print(tree)


def _add_memories(tree: Tree, memories: Sequence[MemoryLine]) -> None:
    branch = tree.add(f"{len(memories)} memories")
    for memory in memories:
        branch.add(escape(f"{memory.question} -> {memory.answer}"))


def print_path(path: ChosenPath | None, console: Console = out) -> None:
    """Show an answer path as a chain."""
    if path is None:
        console.print("   no answer path leads here", highlight=False)
        return
    from fedrag_flwr.path_drawing import drawn

    console.print(f"   answer path of weight {path.weight:.2f}, score {path.score:.3f}", highlight=False)
    console.print(indent(drawn(path), "     "), highlight=False, markup=False)


def open_as_configured(name: str, store: Path | None, changes: list[str] | None) -> EdgeDevice:
    """The device under its own config, where it has one and no other store is named."""
    name, root = device_at(name, store)
    if store is not None or not DeviceFiles.of(name).config.exists():
        return open_device(name, None, root, changes)
    from fedrag_flwr.nodes import Node

    told = config_of(name).under(changed(changes))
    return Node(told.own, told.settings).device()


def open_device(
    name: str, folder: Path | None, root: Path, changes: list[str] | None, sources: Sequence[str] = ()
) -> EdgeDevice:
    """Open a device with the settings that the command line changes."""
    settings = settings_from(changes)
    models = load_models(settings.models, fedrag_home(settings.home))
    return EdgeDevice(name, folder, root, settings, models, sources)


def device_at(name: str, store: Path | None) -> tuple[str, Path]:
    """The name of a device, and the directory of its store.

    Where a store is named and no device, it is the store's: of that directory, or of the only one in it.

    Raises NotFoundError where there is no such device, or no store in that directory; StoreError where the device has
    no memory yet; SettingError where several devices have their stores there.
    """
    if store is None:
        name = name or HERE
        config = config_of(name)
        if not is_store(config.root):
            require_device(name, config)
            raise StoreError("this device has no memory yet", where=name, fix=f"fedrag build FOLDER --name {name}")
        return name, config.root
    place = store.expanduser()
    roots = [place] if is_store(place) else sorted(filter(is_store, place.glob(f"{name or '*'}")))
    if not roots:
        raise NotFoundError("no device has its store there", where=str(store), fix="fedrag build FOLDER --store STORE")
    if len(roots) > 1:
        names = ", ".join(one.name for one in roots)
        raise SettingError("several devices have their stores there", where=str(store), fix=f"--name one of {names}")
    return name or _owner_of(roots[0]), roots[0]


def is_store(root: Path) -> bool:
    """Whether a device has its store in a directory."""
    return stat.S_ISREG(mode_of(root / FILE))


def require_device(name: str, config: DeviceConfig) -> None:
    """Refuse a device that was neither set up nor built here; raises NotFoundError."""
    if is_store(config.root) or DeviceFiles.of(name).config.exists():
        return
    known = sorted(one.name for one in config.root.parent.glob("*") if is_store(one) or (one / CONFIG).exists())
    fix = f"fedrag build FOLDER --name {name}" + (f", or name one of {', '.join(known)}" if known else "")
    raise NotFoundError("there is no such device", where=name, fix=fix)


def _owner_of(root: Path) -> str:
    with MemoryStore.open(root, {}, create=False) as memory:
        return memory.identity["device"]


def _reading(name: str, store: Path | None) -> MemoryStore:
    return MemoryStore.open(device_at(name, store)[1], {}, create=False)


_WHY = {  # why a question and its answer became no memory, as people are told it
    "ambiguous": "the question fits several answers",
    "dangling": "the question points to something outside it",
    "duplicate": "another memory says the same",
    "elsewhere": "the question leads to another sentence",
    "empty": "question or answer is empty",
    "gives-away": "the question holds its answer",
    "length": "question or answer is too short or too long",
    "no-question": "it is no question",
    "not-in-evidence": "its sentence does not say the answer",
    "round-trip": "asked again, it got another answer",
    "stop-words": "nothing but small words",
    "type-mismatch": "the answer is not of the kind asked for",
    "unsure": "the model was not sure of the question",
    "unspecific": "the question says too little of what it is about",
}


def show_report(report: BuildReport, *, verbose: bool = False, english: bool = False, masked: bool = False) -> None:
    """Print what a build brought and cost.

    `verbose` names what was skipped, and what has no memory; `english`: the encoder finds little in other languages,
    `masked`: nothing in them is shared.
    """
    from fedrag_flwr.records import NO_MEMORY, NOT_ENGLISH, has_no_memory

    table = Table("what", "count")
    for what in ("documents", "added", "changed", "removed", "passages", "sentences", "hyperedges", "orphans", "items"):
        table.add_row(_COUNTS.get(what, what), f"{getattr(report, what):,}")
    out.print(table)
    out.print(f"{report.cost.seconds:.1f} s, {report.cost.llm_calls} LLM calls, {report.cost.tokens_out} output tokens")
    if report.rejects:
        out.print("questions and answers that were made and not kept:")
    for count, reason in sorted(map(_rejection, report.rejects), reverse=True):
        out.print(f"{count:>6,}  {reason}", highlight=False, markup=False)
    if report.graph:
        out.print("graph: " + ", ".join(report.graph))
    unread = [told for told in report.failed if not has_no_memory(told)]
    _show_files(report, len(unread))
    for failure in unread:
        err.print(f"[yellow]not read:[/] {escape(failure)}")
    for name in report.skipped if verbose else ():
        err.print(f"[dim]skipped:[/] {escape(name)}", highlight=False)
    for reason in (NO_MEMORY, NOT_ENGLISH):
        without = [name for name, _, told in (one.rpartition(": ") for one in report.failed) if told == reason]
        named = ", ".join(without) if verbose or len(without) <= _MOST_NAMED else f"{len(without):,} documents"
        if without:
            shared = ", not shared with others" if masked and reason == NOT_ENGLISH else ""
            err.print(f"[yellow]{reason}:[/] {escape(named)}; searched all the same{shared}", soft_wrap=True)
        if without and english and reason == NOT_ENGLISH:
            fix = f"build with --rebuild, and then ask, with --set models.encoder={MULTILINGUAL}"
            err.print(f"[dim]to find more in them, {fix}[/]", soft_wrap=True)


def _show_files(report: BuildReport, failed: int) -> None:
    """Account for the files of the folder: read, failed and skipped, with the reasons."""
    skips = [told.rpartition("=") for told in report.skip_counts]
    if not report.files and not skips:  # no folder is among the sources
        return
    reasons = ", ".join(f"{count} {reason}" for reason, _, count in skips)
    skipped = sum(int(count) for _, _, count in skips)
    told = f"files: {report.files:,} read, {failed:,} not readable, {skipped:,} skipped"
    out.print(f"{told} ({reasons})" if reasons else told, highlight=False, markup=False)


_MOST_NAMED = 3  # documents without a memory; `--verbose` and `--json` name all
_COUNTS = {"items": "memories", "orphans": "units in no hyperedge"}


def _rejection(told: str) -> tuple[int, str]:
    """How many, and why in words."""
    reason, _, count = told.rpartition("=")
    return int(count), _WHY.get(reason, reason.replace("-", " "))


# --- sources --------------------------------------------------------------------------------------


@source.callback()
def _source() -> None:
    """Databases and graphs as sources."""


@source.command("inspect")
@with_errors
def inspect_source(
    url: Annotated[
        str, typer.Argument(help="sqlite:///records.db, postgresql://..., ladybug:///graph.lbug, or a file.")
    ],
) -> None:
    """Propose a mapping file: read it, leave out what should not be read, and give it to `fedrag build --source`."""
    from fedrag_flwr.sources.mapping import mapping_toml, without_password
    from fedrag_flwr.sources.open_source import filled_url, proposed_mapping, url_of

    mapping = proposed_mapping(filled_url(url) or url)
    mapping = mapping.model_copy(update={"url": without_password(url_of(url) or url)})
    typer.echo(mapping_toml(mapping), nl=False)  # as it is: it goes into a file
