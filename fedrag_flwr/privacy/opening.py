"""Opens a device's export filter as the settings ask."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from fedrag_flwr.errors import SettingError
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.policy import make_export_filter
from fedrag_flwr.privacy.vocabulary import EntityPartition, load_partition
from fedrag_flwr.settings import PrivacySettings
from fedrag_flwr.text.base import Pipeline


def open_export_filter(
    settings: PrivacySettings,
    encoder: Encoder,
    pipeline: Pipeline,
    opaque: Callable[[str], str],
    device: str,
    folder: Path,
    names: Path | None = None,
    generator: Callable[[], Generator] | None = None,
) -> ExportFilter:
    """Open the export filter of one device.

    Parameters
    ----------
    settings
        What leaves in which form.
    encoder, pipeline, opaque, device
        As `ExportFilter` takes them.
    folder
        Where surrogates and the budget ledger are kept; it outlives the store, or budgets would start anew.
    names
        The file of the names that were found private; it may go with the store, which finds them again.
    generator
        Gives the model that masks or writes summaries, where the settings ask for that.

    Raises
    ------
    SettingError
        The list of public names or the partition cannot be read, or its groups are too small.
    StoreError
        The partition's file is torn, or surrogates, ledger or names cannot be opened.
    """
    partition = read_partition(settings) if settings.export == "ldp" else None
    return make_export_filter(
        settings.export,
        encoder=encoder,
        pipeline=pipeline,
        opaque=opaque,
        device=device,
        public_names=read_names(settings.public_names),
        partition=partition,
        folder=folder,
        names=names,
        epsilon=settings.epsilon,
        group_size=settings.group_size,
        budget_limit=settings.budget,
        epoch=settings.epoch,
        share_documents=settings.share_documents,
        further=settings.further,
        erasure_keep=settings.erasure_keep,
        generator=generator,
    )


def read_partition(settings: PrivacySettings) -> EntityPartition:
    """Load the public partition that the settings name.

    Raises
    ------
    SettingError
        There is no such file, or it cannot be read.
    StoreCorruptError
        The file is not a whole partition.
    """
    return load_partition(_shipped().get(settings.partition) or Path(settings.partition).expanduser())


def policy_digest(settings: PrivacySettings) -> str:
    """SHA-256 over all that decides what the filter lets pass: the settings, the public names and the partition."""
    partition = read_partition(settings).digest if settings.export == "ldp" else ""
    parts = (
        settings.model_dump_json(exclude={"answers", "lookup"}),
        partition,
        *sorted(read_names(settings.public_names)),
    )
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def read_names(source: str) -> list[str]:
    """Read public names: "demo", a JSON list, a text file with one name a line (``#`` starts a comment), or ""."""
    if not source:
        return []
    path = _demo_names() if source == "demo" else Path(source).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        names = (
            json.loads(text) if path.suffix == ".json" else [line.split("#")[0].strip() for line in text.splitlines()]
        )
    except (OSError, ValueError):
        raise SettingError(
            "the list of public names cannot be read",
            where="privacy.public-names",
            fix="name a JSON list or a text file with one name a line",
        ) from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingError("the file is no list of names", where="privacy.public-names", fix="write a JSON list")
    return [name for name in names if name]


def _shipped() -> dict[str, Path]:
    from fedrag_flwr.demo import PARTITION, PARTITION_STRONG

    return {"demo": PARTITION, "demo-strong": PARTITION_STRONG}


def _demo_names() -> Path:
    from fedrag_flwr.demo import PUBLIC_NAMES

    return PUBLIC_NAMES
