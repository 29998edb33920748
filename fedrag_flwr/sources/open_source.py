"""From what an operator names to sources, and all sources of a device as one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fedrag_flwr.errors import EmptySourceError, SettingError, SourceError
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.retrieval.base import ranked
from fedrag_flwr.sources.base import MEANT_EMPTY, Reading, SearchableSource, SourceHit
from fedrag_flwr.sources.folder import MAPPING_FILES, FolderSource, looked_at, mode_of
from fedrag_flwr.sources.graph.mapping import GraphMapping
from fedrag_flwr.sources.graph.proposal import propose_mapping as propose_graph
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.mapping import expand_url, parse_mapping, table_of, without_password
from fedrag_flwr.sources.source_search import SearchTools, bounded
from fedrag_flwr.sources.sql.mapping import SqlMapping
from fedrag_flwr.sources.sql.proposal import propose_mapping as propose_sql
from fedrag_flwr.sources.sql.source import SqlSource
from fedrag_flwr.sources.text_search import TextSearch

if TYPE_CHECKING:
    from fedrag_flwr.loaded_models import Models

_FOLDERS = 64  # whose texts a process holds, with their vectors
_SQL = ("sqlite", "mariadb", "mysql", "postgresql")
_GRAPHS = ("ladybug", "neo4j", "bolt")
_FILES = {".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".lbug": "ladybug"}
_KNOWN = "name a folder, a mapping file (.toml), an SQLite file (.db, .sqlite), a Ladybug file (.lbug) or a URL"


def _never(_: str) -> bool:
    return False


def proposed_mapping(url: str) -> SqlMapping | GraphMapping:
    """Propose a mapping for a database's or a graph's URL, named after its file or database; raises SourceError where
    the URL is of no kind that is known, cannot be reached, or holds nothing that can be mapped.
    """
    scheme, name = _scheme(url), source_name(url)
    if scheme in _SQL:
        return propose_sql(url, name)
    if scheme in _GRAPHS:
        return propose_graph(url, name)
    raise SourceError("sources of this kind are not known", where=scheme, fix=_KNOWN)


def source_name(url: str) -> str:
    """Name a source after its URL's file or database, else its kind; user, password and host are left out."""
    path = urlsplit(without_password(url)).path  # a password may hold signs that would end the host
    name = re.sub(r"[^\w.-]+", "-", Path(path).stem, flags=re.ASCII).strip("-._")
    return name[:64] or _scheme(url)


def url_of(named: str) -> str:
    """Give a URL as it is, and that of a database's or graph's file by its suffix; "" for anything else."""
    if "://" in named:
        return named
    path = Path(named).expanduser()
    return f"{_FILES[path.suffix]}:///{path.resolve()}" if path.suffix in _FILES else ""


def filled_url(named: str) -> str:
    """Give what `url_of` gives, with ``${NAME}`` in a URL filled from the environment; raises SourceError where a
    variable is not set.
    """
    return expand_url(named, Path.cwd()) if "://" in named else url_of(named)


def read_mapping_file(path: Path) -> SqlMapping | GraphMapping:
    """Read a mapping file of either kind, its URL filled and found; raises SourceError where it is missing or wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise SourceError(
            f"the mapping file cannot be read ({reason})",
            where=path.name,
            fix="check its path and permissions, and save it as UTF-8",
        ) from None
    kind = table_of(text, path.name).get("kind")
    if kind not in ("sql", "graph"):
        raise SourceError("the mapping file has no kind", where=path.name, fix='write kind = "sql" or "graph"')
    mapping: SqlMapping | GraphMapping
    if kind == "sql":
        mapping = parse_mapping(SqlMapping, text, path.name)
    else:
        mapping = parse_mapping(GraphMapping, text, path.name)
    return mapping.model_copy(update={"url": expand_url(mapping.url, path.parent)})


def open_source(named: str, tools: SearchTools) -> SearchableSource:
    """Open a folder, a mapping file, a database or a graph; the last two by a proposed mapping; raises SourceError
    where it is none of these, cannot be reached, or a variable of its URL is not set.
    """
    path = Path(named).expanduser()
    if "://" not in named and stat.S_ISDIR(mode_of(path)):
        return _text_search(path, tools)
    if "://" not in named and path.suffix == ".toml":
        mapping = read_mapping_file(path)
    elif url := filled_url(named):
        mapping = proposed_mapping(url)
    else:
        raise SourceError("this names no source", where=path.name, fix=_KNOWN)
    return SqlSource(mapping, tools) if isinstance(mapping, SqlMapping) else GraphSource(mapping, tools)


class SourceSet:
    """All sources of one device, opened when they are first used.

    Parameters
    ----------
    documents
        A folder of files; its ``*.source.toml`` are mapping files of further sources. None: there is no such folder.
    """

    def __init__(self, documents: Path | None, named: Sequence[str], models: Models) -> None:
        self._unseen: SourceError | None = None
        try:
            beside = _mapping_files(documents) if documents else []
        except SourceError as error:  # the device opens all the same: what it remembers can be asked
            beside, self._unseen = [], error
        self._named = (*named, *map(str, beside))
        self._texts = documents if documents and (not beside or FolderSource(documents).may_hold_texts()) else None
        self._left_out = FolderSource(documents) if documents and not self._texts else None
        reranker = LateInteractionReranker(models.encoder)
        self._tools = SearchTools(models.encoder, models.pipeline, reranker)

    @property
    def id(self) -> str:
        """Those of all sources."""
        return ", ".join(source.id for source in self.sources)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of sources, without opening any: ``folder``, ``sql`` or ``graph``, each once."""
        texts = ("folder",) if self._texts else ()
        return tuple(dict.fromkeys((*texts, *map(_kind, self._named))))

    @property
    def has_texts(self) -> bool:
        """Whether the folder of files is among the sources."""
        return self._texts is not None

    @cached_property
    def sources(self) -> tuple[SearchableSource, ...]:
        """The sources, each searchable by itself; raises SettingError where the device has none, or two have one name,
        and SourceError where one cannot be opened.
        """
        # texts are searched without the reranker: over their long blocks it takes seconds on a small device, for little
        texts = (_text_search(self._texts, replace(self._tools, reranker=None)),) if self._texts else ()
        opened = (*texts, *(open_source(name, self._tools) for name in self._named))
        if not opened:
            raise SettingError(
                "this device has no documents",
                fix="name the folder of its documents, or a --source",
            )
        ids = [source.id for source in opened]
        if len(set(ids)) < len(ids):
            raise SettingError("two sources have one name", fix="give each mapping file a name of its own")
        return opened

    def read(self, *, had_texts: bool = False, may_be_empty: Callable[[str], bool] = _never) -> Reading:
        """Read all sources. One that fails fails all: its documents would otherwise count as removed.

        Raises EmptySourceError where a source is empty that may not be, or the folder had texts and holds only mapping
        files now, and SourceError where a source cannot be read.

        Parameters
        ----------
        had_texts
            Whether the folder of files was among the sources when they were read last.
        may_be_empty
            Whether a source is meant to hold nothing, by its id; all in it counts as removed then.
        """
        if had_texts and self._left_out and not may_be_empty(self._left_out.id):
            raise EmptySourceError(
                "the folder holds no texts any more: all that it held would count as removed",
                where=self._left_out.path.name,
                fix=f"check that all in it is mounted, {MEANT_EMPTY}",
            )
        if self._unseen is not None:  # there may be mapping files: what they brought would count as removed
            raise copy(self._unseen)
        readings = [_read(source, may_be_empty) for source in self.sources]
        documents = {document.id: document for reading in readings for document in reading.documents}
        if len(documents) < sum(len(reading.documents) for reading in readings):
            raise SourceError("two sources have documents of one id", fix="give each mapping file a name of its own")
        failures = tuple(failure for reading in readings for failure in reading.failures)
        return Reading(
            tuple(documents.values()),
            failures,
            tuple(one for reading in readings for one in reading.skipped),
            tuple(name for reading in readings for name in reading.empty),
            sum(reading.files for reading in readings),
        )

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        """Search all sources, and order what they find by the reranker: their own scores have different units; raises
        SourceError where a source fails or takes longer than its limit.
        """
        if len(self.sources) == 1:
            return self.sources[0].search(question, k)
        found = {hit.document_id: hit for source in self.sources for hit in source.search(question, k)}
        texts = [f"{hit.title}\n{hit.text}" for hit in found.values()]
        best = ranked(list(found), self._tools.relevance(bounded(question), texts), k)
        return tuple(replace(found[one.passage_id], score=one.score) for one in best)

    def version(self) -> str:
        """Give what changes whenever a document of any source does."""
        return ",".join(source.version() for source in self.sources)

    def close(self) -> None:
        """Give up the connections of opened sources."""
        for source in self.__dict__.get("sources", ()):
            if isinstance(source, SqlSource | GraphSource):
                source.close()


def _mapping_files(folder: Path) -> list[Path]:
    """Those beside a folder's texts; raises SourceError where nobody may look."""
    names: list[str] = looked_at(folder, os.listdir, [])
    return sorted(folder / name for name in names if fnmatchcase(name, MAPPING_FILES))


def _read(source: SearchableSource, may_be_empty: Callable[[str], bool]) -> Reading:
    """Read one source; no documents of one that is empty and may be."""
    try:
        return source.read()
    except EmptySourceError as error:
        if not (error.bare and may_be_empty(source.id)):
            raise
        return Reading((), (), empty=(source.id,))


@lru_cache(maxsize=_FOLDERS)
def _text_search(folder: Path, tools: SearchTools) -> TextSearch:
    """One for all devices that a process opens over a folder: a simulated device is opened for each message, and its
    texts are read and encoded anew only where they changed.
    """
    return TextSearch(FolderSource(folder), tools)


def _kind(named: str) -> str:
    if "://" not in named and named.endswith(".toml"):
        return read_mapping_file(Path(named).expanduser()).kind
    scheme = _scheme(url_of(named))
    return "sql" if scheme in _SQL else "graph" if scheme in _GRAPHS else "folder"


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]
