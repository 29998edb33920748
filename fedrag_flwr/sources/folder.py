"""A folder of files as a source."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn, TypeVar

from fedrag_flwr.errors import DocumentError, EmptySourceError, FedragError, SourceError
from fedrag_flwr.files import replace_file
from fedrag_flwr.records import Document, SharedDocument
from fedrag_flwr.sources.base import MEANT_EMPTY, Failure, Reading, Skipped, make_document
from fedrag_flwr.sources.conversion import Converter
from fedrag_flwr.sources.formats import ENDINGS, FOREIGN, JSON_LINES, READERS, TEXTS, stem_of, why_unread
from fedrag_flwr.sources.readers import in_utf8, read_json_lines
from fedrag_flwr.text.words import normalise_line

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})

T = TypeVar("T")


def looked_at(path: Path, look: Callable[[Path], T], absent: T, kind: type[FedragError] = SourceError) -> T:
    """Give what a look at a path tells, and `absent` where nothing is there; raises SourceError where nobody may look:
    a folder above it may not be entered, or the disk fails. Another `kind` of error where one is given.
    """
    try:
        return look(path)
    except ValueError:  # nothing can be called so
        return absent
    except OSError as error:
        if error.errno in _ABSENT:
            return absent
        raise kind(
            f"cannot be looked at ({error.strerror})",
            where=path.name,
            fix="let this user into the folders above it (for a unit: BindReadOnlyPaths=), then restart its service",
        ) from None


def mode_of(path: Path, kind: type[FedragError] = SourceError) -> int:
    """Give the mode of what a path leads to, 0 where nothing is there; raises as `looked_at`."""
    return looked_at(path, lambda one: one.stat().st_mode, 0, kind)


_LOG = logging.getLogger(__name__)
MAX_BYTES = 20 * 2**20
_DOCUMENTS_PER_FILE = 2_000
MAPPING_FILES = "*.source.toml"  # beside a folder's texts; each is a source of its own
_KNOWN = frozenset(ENDINGS)


class FolderSource:
    """The files under a folder whose endings `formats` knows, in sorted order.

    A document's id is its path below the folder (`stem_of`); in JSON lines it is the line's ``id``, else path and line
    number. A title is one that the document states, never the file's name: that may name a patient, and titles may
    leave. Each file is read, skipped or failed: hidden ones are skipped, and links that leave the folder.

    Parameters
    ----------
    max_bytes
        Largest file that is read, in bytes.
    converter
        Makes what reads foreign formats; anew for each reading, as it holds a process.
    """

    def __init__(
        self, path: str | Path, max_bytes: int = MAX_BYTES, converter: Callable[[], Converter] = Converter
    ) -> None:
        self.path = Path(path)
        self.max_bytes = max_bytes
        self._converter = converter

    @property
    def id(self) -> str:
        """Kind and name of the folder."""
        return f"folder:{self.path.name}"

    def stamp(self) -> str:
        """Give a digest over the files' names, sizes and states: while it stays, nothing needs to be read again."""
        digest = hashlib.sha256()
        for place, folders, files in os.walk(self.path):
            folders.sort()
            for file in sorted(files):
                try:
                    found = os.lstat(os.path.join(place, file))
                except OSError:  # gone since it was listed
                    continue
                # the change time tells of a file made readable again, and of one replaced under its old size and time
                state = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
                digest.update(f"{place}\x1f{file}\x1f{state}\n".encode("utf-8", "replace"))
        return digest.hexdigest()

    def read(self) -> Reading:
        """Read all documents; what cannot be read is a failure and does not stop the rest.

        Raises SourceError where the folder is missing, or it or one in it cannot be listed, or a JSON-lines file not be
        opened (what they hold would count as removed), and EmptySourceError where nothing in the folder can be read.
        """
        if not stat.S_ISDIR(mode_of(self.path)):
            raise SourceError(
                "the folder of documents does not exist",
                where=self.path.name,
                fix="name one that does: --documents FOLDER",
            )
        documents: dict[str, Document] = {}
        failures: list[Failure] = []
        skipped: list[Skipped] = []
        files = 0
        with closing(self._converter()) as converter:  # its process starts with the first file that needs it
            for file in self._files(skipped):
                before = len(documents)
                for name, outcome in self._read_file(file, converter):
                    if isinstance(outcome, Failure):
                        failures.append(outcome)
                    elif outcome.id in documents:
                        failures.append(Failure(name, "another document has the same id (rename one of them)"))
                    else:
                        documents[outcome.id] = outcome
                files += len(documents) > before
        if not documents:
            raise EmptySourceError(
                _why_empty(failures, skipped),
                where=_first(self.path.name, failures),
                fix="put readable files into it" + (f", {MEANT_EMPTY}" if not failures else ""),
                bare=not failures,
            )
        return Reading(tuple(documents.values()), tuple(failures), tuple(skipped), files=files)

    def may_hold_texts(self) -> bool:
        """Say whether there are files to read; a folder that cannot be listed may have some, and `read` tells of it."""
        try:
            return any(file.suffix.lower() in _KNOWN for file in self._listed([]))
        except SourceError:
            return True

    def _files(self, skipped: list[Skipped]) -> Iterator[Path]:
        """List the files to be read, in sorted order, and tell of those that are not."""
        root = self.path.resolve()
        for file in sorted(self._listed(skipped), key=lambda path: path.relative_to(self.path).parts):
            if _leaves(file, root):
                skipped.append(Skipped(self._name(file), "a link that leaves the folder"))
            elif os.path.isdir(file):
                skipped.append(Skipped(self._name(file), "a link to a folder inside this one"))
            elif fnmatchcase(file.name, MAPPING_FILES):
                skipped.append(Skipped(self._name(file), "a mapping file, which is a source of its own"))
            elif file.suffix.lower() not in _KNOWN:
                skipped.append(Skipped(self._name(file), why_unread(file.suffix.lower())))
            else:
                yield file  # what may not be looked at fails when it is opened

    def _listed(self, skipped: list[Skipped]) -> Iterator[Path]:
        """List the files inside the folder and its links, without hidden ones."""

        def refused(error: OSError) -> NoReturn:
            name = Path(error.filename).name if isinstance(error.filename, str) else self.path.name
            raise SourceError(
                f"a folder cannot be listed ({error.strerror}): all in it would count as removed",
                where=_safe(name),
                fix="check its permissions and that it is mounted",
            )

        for place, folders, files in os.walk(self.path, onerror=refused):
            hidden = sorted(name for name in (*folders, *files) if name.startswith("."))
            skipped += (Skipped(self._name(Path(place) / name), "hidden") for name in hidden)
            folders[:] = [name for name in folders if not name.startswith(".")]
            links = [name for name in folders if os.path.islink(os.path.join(place, name))]
            yield from (Path(place) / name for name in [*files, *links] if not name.startswith("."))

    def _name(self, file: Path) -> str:
        return _safe(file.relative_to(self.path).as_posix())

    def _read_file(self, file: Path, converter: Converter) -> Iterator[tuple[str, Document | Failure]]:
        """Yield (name, document or failure) for each document of a file."""
        name = self._name(file)
        stem = stem_of(name)
        try:
            raw = self._bytes(file)
            if file.suffix.lower() != JSON_LINES:
                title, text = _parsed(name, file.suffix.lower(), raw, converter)
                named_after_file = title.strip() == file.stem and title not in text
                yield name, _document(name, stem, "" if named_after_file else title, text)
                return
        except DocumentError as error:
            if file.suffix.lower() == JSON_LINES:  # which documents it holds is not known
                told = f"{error.what}, and the documents that it held would count as removed"
                raise SourceError(told, where=name, fix=error.fix) from None
            yield name, _failure(name, error, normalise_line(stem))
            return
        for line in read_json_lines(raw):
            place, document_id = f"{name}:{line.number}", line.id or f"{stem}:{line.number}"
            if line.error is not None:
                yield place, _failure(place, line.error, normalise_line(document_id), guessed=line.id is None)
            else:
                yield place, _document(place, document_id, line.title, line.text)

    def _bytes(self, file: Path) -> bytes:
        try:
            if not stat.S_ISREG(file.stat().st_mode):
                raise DocumentError("not a regular file", fix="remove it")
            with file.open("rb") as handle:
                raw = handle.read(self.max_bytes + 1)
        except OSError as error:
            raise DocumentError(f"cannot be opened ({error.strerror})", fix="check its permissions") from None
        if len(raw) > self.max_bytes:
            raise DocumentError(f"larger than {self.max_bytes} bytes", fix="split it, or raise the limit")
        return raw


def _leaves(file: Path, root: Path) -> bool:
    """Say whether a file is a link that leaves the folder; one that leads round in a circle fails when it is opened."""
    try:
        return file.is_symlink() and not file.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a circle is a RuntimeError before Python 3.13
        return False


def _safe(name: str) -> str:
    """Make a file name that may hold undecodable bytes printable."""
    return name.encode("utf-8", "backslashreplace").decode()


def _parsed(name: str, suffix: str, raw: bytes, converter: Converter) -> tuple[str, str]:
    if suffix in TEXTS:
        raw, code = in_utf8(raw)
        if code:
            _LOG.warning("%s: it is not UTF-8, and is read as %s", name, code)
    if suffix in FOREIGN:
        return converter.read(name, suffix, raw)
    try:
        return READERS[suffix](raw)
    except DocumentError:
        raise
    except Exception as error:  # foreign bytes make parsers raise kinds beyond their own
        raise DocumentError(f"it cannot be read ({type(error).__name__})", fix="export it again") from None


def _document(name: str, document_id: str, title: str, text: str) -> Document | Failure:
    """A document, or why what was read is none: then nothing of it is to be remembered either."""
    try:
        return make_document(document_id, title, text)
    except DocumentError as error:
        return _failure(name, error)


def _failure(name: str, error: DocumentError, document_id: str = "", guessed: bool = False) -> Failure:
    return Failure(name, error.what + (f" ({error.fix})" if error.fix else ""), document_id, guessed)


def _why_empty(failures: list[Failure], skipped: list[Skipped]) -> str:
    if not failures and not skipped:
        return "the folder holds no files"
    first = f", the first: {failures[0].reason}" if failures else ""
    return f"no file could be read: {len(failures)} failed and {len(skipped)} are not read{first}"


def _first(folder: str, failures: list[Failure]) -> str:
    """The folder, with the first file that could not be read: `what` may leave the device, a file's name may not."""
    return f"{folder}/{failures[0].name}" if failures else folder


def write_documents(folder: Path, documents: Sequence[Document | SharedDocument], mode: int = 0o600) -> list[Path]:
    """Write documents as ``<folder>/<n>.jsonl``, as `FolderSource` reads them; give these files.

    Their mode is the owner's alone unless they are public.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, start in enumerate(range(0, len(documents), _DOCUMENTS_PER_FILE)):
        rows = [
            json.dumps({"id": one.id, "title": one.title, "text": one.text}, ensure_ascii=False)
            for one in documents[start : start + _DOCUMENTS_PER_FILE]
        ]
        written.append(write_lines(folder / f"{number}.jsonl", rows, mode))
    return written


def write_lines(path: Path, rows: Sequence[str], mode: int) -> Path:
    """Write lines to a file, which stays as it is where it holds them already; give the file."""
    body = "".join(f"{row}\n" for row in rows).encode()
    if not path.is_file() or path.read_bytes() != body:
        replace_file(path, body, mode)
    return path
