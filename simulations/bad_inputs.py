"""Every bad input that exists by now, each with the error that it gives.

Run as ``python -m simulations.bad_inputs``: it makes small fictional devices under a temporary directory, does one
wrong thing after the other to them, and prints what a person would read.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fedrag_flwr.loaded_models import load_models
from simulations import bad_stores
from simulations.fixtures import bad_replies, bad_sources
from simulations.fixtures.bad_input_world import SETTINGS, Bench, Case

CASES: tuple[tuple[str, str, Case], ...] = (
    ("a source without files", "EmptySourceError", bad_sources.empty_folder),
    ("a source that is not there", "SourceError", bad_sources.missing_folder),
    ("a source in a wrong encoding", "EmptySourceError", bad_sources.wrong_encoding_only),
    ("a source that cannot be opened", "EmptySourceError", bad_sources.unreadable_file_only),
    ("bad documents among good ones", "BuildReport.failed", bad_sources.one_bad_document),
    ("a model file that is missing", "ModelMissingError", bad_sources.model_missing),
    ("an encoder that is missing", "ModelMissingError", bad_sources.model_unknown_encoder),
    ("a model file with a wrong hash", "ModelHashError", bad_sources.model_wrong_hash),
    ("a model file that is no model", "ModelError", bad_sources.model_is_no_model),
    ("a setting out of range", "SettingError", bad_sources.setting_out_of_range),
    ("a setting of a wrong type", "SettingError", bad_sources.setting_of_wrong_type),
    ("an unknown setting", "SettingError", bad_sources.setting_unknown),
    ("an unknown strategy", "SettingError", bad_sources.strategy_unknown),
    ("a reply that does not decode", "WireError", bad_replies.reply_that_does_not_decode),
    ("a reply that lacks a part", "WireError", bad_replies.reply_with_a_lost_column),
    ("a reply of another version", "SchemaVersionError", bad_replies.reply_of_another_version),
    ("a reply of another run", "WireError", bad_replies.reply_of_another_run),
    ("a reply of a wrong shape", "WireError", bad_replies.reply_of_wrong_shape),
    ("a reply with NaN", "WireError", bad_replies.reply_with_nan),
    ("a reply that is too large", "WireError", bad_replies.reply_too_large),
    ("a reply with a text that is too long", "WireError", bad_replies.reply_with_a_long_text),
    ("a device that never answers", "Traffic.missing", bad_replies.silent_device),
    ("a device that dies", "Traffic.missing", bad_replies.device_that_dies),
    ("a device that replies nonsense", "Traffic.missing", bad_replies.device_that_replies_nonsense),
    ("a device in another's name", "Traffic.missing", bad_replies.device_in_another_name),
    ("a device that answers twice", "Traffic.missing", bad_replies.device_that_answers_twice),
    ("a store that is torn", "StoreCorruptError", bad_stores.torn_store),
    ("a store that is something else", "StoreCorruptError", bad_stores.store_that_is_none),
    ("a store whose secret is lost", "StoreCorruptError", bad_stores.lost_secret),
    ("a store of an older schema", "StoreMismatchError", bad_stores.older_schema),
    ("a store of another encoder", "StoreMismatchError", bad_stores.other_encoder),
    ("two processes on one store", "StoreLockedError", bad_stores.two_processes),
    ("a full disk", "StoreFullError", bad_stores.full_disk),
)


def show(directory: Path) -> Table:
    """Do every wrong thing once, each in its own folder, and tabulate what a person is told."""
    models = load_models(SETTINGS.models, directory)
    table = Table("bad input", "error", "where", "what went wrong", "what to do", box=box.SIMPLE, show_lines=True)
    for number, (label, _, case) in enumerate(CASES):
        shown = case(Bench(directory / str(number), models))
        table.add_row(label, shown.error, *map(escape, (shown.where, shown.what, shown.fix)))
    return table


def main() -> None:
    """Read the command line and run."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Console(width=200).print(show(Path(directory)))


if __name__ == "__main__":
    main()
