"""Evidence tuples on disk, frozen: JSON lines with a manifest that must fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fedrag_flwr.errors import StoreCorruptError, StoreMismatchError
from fedrag_flwr.files import replace_file
from fedrag_flwr.records import EvidenceTuple

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class TupleManifest:
    """What a file of tuples was made by and of.

    Parameters
    ----------
    schema
        Version of the file's form.
    extractor
        The extractor's id; it names the model where one extracts.
    pipeline
        Id of the text pipeline.
    settings
        Whatever else the tuples depend on.
    passages
        SHA-256 over the passages' ids and texts, see `passages_digest`.
    tuples, silent
        How many tuples there are, and passages without one.
    dropped
        Tuples that the extractor found and did not keep, by reason.
    sha256
        Of the JSON lines.
    """

    schema: int
    extractor: str
    pipeline: str
    settings: Mapping[str, str]
    passages: str
    tuples: int
    silent: int
    dropped: Mapping[str, int]
    sha256: str


def passages_digest(passages: Sequence[tuple[str, str]]) -> str:
    """SHA-256 over the (id, text) of passages in their order."""
    return hashlib.sha256(json.dumps(list(passages)).encode()).hexdigest()


def write_tuples(
    path: Path,
    tuples: Sequence[EvidenceTuple],
    passages: Sequence[tuple[str, str]],
    *,
    extractor: str,
    pipeline: str = "",
    settings: Mapping[str, str] | None = None,
    dropped: Mapping[str, int] | None = None,
) -> TupleManifest:
    """Freeze tuples in a file, with the manifest beside it (``.manifest.json``).

    The file is in place before its manifest: a process killed between the two leaves a mismatch, which `read_tuples`
    refuses.
    """
    body = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in tuples).encode()
    spoken = {one.passage_id for one in tuples}
    manifest = TupleManifest(
        SCHEMA,
        extractor,
        pipeline,
        dict(settings or {}),
        passages_digest(passages),
        len(tuples),
        sum(name not in spoken for name, _ in passages),
        dict(dropped or {}),
        hashlib.sha256(body).hexdigest(),
    )
    replace_file(path, body)
    replace_file(_beside(path), (json.dumps(asdict(manifest), indent=1) + "\n").encode())
    return manifest


def read_tuples(
    path: Path,
    passages: Sequence[tuple[str, str]],
    *,
    extractor: str,
    pipeline: str = "",
    settings: Mapping[str, str] | None = None,
) -> tuple[list[EvidenceTuple], TupleManifest]:
    """Read frozen tuples of these passages, made by this extractor.

    Raises
    ------
    StoreCorruptError
        The file or its manifest is missing, torn or changed.
    StoreMismatchError
        It was made by another extractor, pipeline or settings, or of other passages; the error names which.
    """
    manifest, body = _manifest(path)
    wanted = {
        "schema": SCHEMA,
        "extractor": extractor,
        "pipeline": pipeline,
        "settings": dict(settings or {}),
        "passages": passages_digest(passages),
    }
    for name, value in wanted.items():
        if getattr(manifest, name) != value:
            raise StoreMismatchError(f"the tuples have another {name}", where=path.name, fix="extract them anew")
    try:
        tuples = [EvidenceTuple(**json.loads(line)) for line in body.decode().split("\n")[:-1]]
    except (ValueError, TypeError):
        raise StoreCorruptError("a line is no tuple", where=path.name, fix="extract them anew") from None
    if len(tuples) != manifest.tuples:
        raise StoreCorruptError("the manifest counts other tuples", where=path.name, fix="extract them anew")
    return tuples, manifest


def _manifest(path: Path) -> tuple[TupleManifest, bytes]:
    try:
        body = path.read_bytes()
        read = json.loads(_beside(path).read_bytes())
        manifest = TupleManifest(**read)
    except OSError:
        raise StoreCorruptError("the tuples or their manifest cannot be read", where=path.name) from None
    except (ValueError, TypeError):
        raise StoreCorruptError("the manifest is torn", where=path.name, fix="extract them anew") from None
    if set(read) != {field.name for field in fields(TupleManifest)}:
        raise StoreCorruptError("the manifest is torn", where=path.name, fix="extract them anew")
    if hashlib.sha256(body).hexdigest() != manifest.sha256:
        raise StoreCorruptError("the tuples were changed", where=path.name, fix="extract them anew")
    return manifest, body


def tuple_files(path: Path) -> tuple[Path, Path]:
    """The file of tuples at a path, and its manifest."""
    return path, _beside(path)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")
