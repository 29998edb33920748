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
from fedrag_flwr.text.segment import document_of

SCHEMA = 3


@dataclass(frozen=True, slots=True)
class TupleManifest:
    """What a file of tuples was made by and of."""

    schema: int  # version of the file's form
    extractor: str  # the extractor's id; it names the model where one extracts
    pipeline: str  # id of the text pipeline
    settings: Mapping[str, str]  # whatever else the tuples depend on
    # SHA-256 of each text, by the id of the passage, or of the document whose passages it holds.
    passages: Mapping[str, str]
    # tuples, silent: how many tuples there are, and texts without one.
    tuples: int
    silent: int
    dropped: Mapping[str, int]  # tuples that the extractor found and did not keep, by reason
    sha256: str  # of the JSON lines


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

    `passages` are ids and texts; a tuple's passage is one of the ids, or belongs to one as ``ID#...``. The file is in
    place before its manifest: a process killed between the two leaves a mismatch, which `read_unchanged` refuses.
    """
    body = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in tuples).encode()
    texts = _digests(passages)
    spoken = {_owner(one, texts) for one in tuples}
    manifest = TupleManifest(
        SCHEMA,
        extractor,
        pipeline,
        dict(settings or {}),
        texts,
        len(tuples),
        len(texts.keys() - spoken),
        dict(dropped or {}),
        hashlib.sha256(body).hexdigest(),
    )
    replace_file(path, body)
    replace_file(_beside(path), (json.dumps(asdict(manifest), indent=1) + "\n").encode())
    return manifest


def read_unchanged(
    path: Path,
    passages: Sequence[tuple[str, str]],
    *,
    extractor: str,
    pipeline: str = "",
    settings: Mapping[str, str] | None = None,
) -> tuple[list[EvidenceTuple], TupleManifest]:
    """Read the frozen tuples of those passages that are as they were; the manifest tells of all that were frozen.

    Raises StoreCorruptError where the file or its manifest is missing, torn or changed, and StoreMismatchError, which
    names what differs, where another extractor, pipeline or settings made it.
    """
    tuples, manifest = _frozen(path)
    wanted = {"schema": SCHEMA, "extractor": extractor, "pipeline": pipeline, "settings": dict(settings or {})}
    for name, value in wanted.items():
        if getattr(manifest, name) != value:
            raise StoreMismatchError(f"the tuples have another {name}", where=path.name, fix="extract them anew")
    stay = unchanged(manifest, passages)
    return [one for one in tuples if _owner(one, manifest.passages) in stay], manifest


def unchanged(manifest: TupleManifest, passages: Sequence[tuple[str, str]]) -> set[str]:
    """The ids of passages whose text is the one that tuples were frozen of."""
    return {name for name, digest in _digests(passages).items() if manifest.passages.get(name) == digest}


def drop_changed(path: Path, passages: Sequence[tuple[str, str]]) -> None:
    """Take out of a file what was frozen of passages that are gone or have changed; a torn file goes as a whole."""
    try:
        tuples, manifest = _frozen(path)
    except StoreCorruptError:
        for one in tuple_files(path):
            one.unlink(missing_ok=True)
        return
    stay = unchanged(manifest, passages)
    if stay == manifest.passages.keys():
        return
    write_tuples(
        path,
        [one for one in tuples if _owner(one, manifest.passages) in stay],
        [(name, text) for name, text in passages if name in stay],
        extractor=manifest.extractor,
        pipeline=manifest.pipeline,
        settings=manifest.settings,
        dropped=manifest.dropped,
    )


def _frozen(path: Path) -> tuple[list[EvidenceTuple], TupleManifest]:
    manifest, body = _manifest(path)
    try:
        tuples = [EvidenceTuple(**json.loads(line)) for line in body.decode().split("\n")[:-1]]
    except (ValueError, TypeError):
        raise StoreCorruptError("a line is no tuple", where=path.name, fix="extract them anew") from None
    if len(tuples) != manifest.tuples:
        raise StoreCorruptError("the manifest counts other tuples", where=path.name, fix="extract them anew")
    return tuples, manifest


def _digests(passages: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in passages}


def _owner(one: EvidenceTuple, known: Mapping[str, str]) -> str:
    """Which of the known ids a tuple belongs to: its passage, or else the document of its passage."""
    return one.passage_id if one.passage_id in known else document_of(one.passage_id)


def _manifest(path: Path) -> tuple[TupleManifest, bytes]:
    try:
        body = path.read_bytes()
        read = json.loads(_beside(path).read_bytes())
        manifest = TupleManifest(**read)
    except OSError:
        raise StoreCorruptError("the tuples or their manifest cannot be read", where=path.name) from None
    except (ValueError, TypeError):
        raise StoreCorruptError("the manifest is torn", where=path.name, fix="extract them anew") from None
    if set(read) != {field.name for field in fields(TupleManifest)} or not isinstance(manifest.passages, dict):
        raise StoreCorruptError("the manifest is torn", where=path.name, fix="extract them anew")
    if hashlib.sha256(body).hexdigest() != manifest.sha256:
        raise StoreCorruptError("the tuples were changed", where=path.name, fix="extract them anew")
    return manifest, body


def tuple_files(path: Path) -> tuple[Path, Path]:
    """The file of tuples at a path, and its manifest."""
    return path, _beside(path)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")
