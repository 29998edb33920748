"""A device for Python: its documents, its memory, questions to it."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from fedrag_flwr.api.answer import Answer, AnswerStream, answer_of
from fedrag_flwr.api.configured import Given, configured
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.builds import forget_memory
from fedrag_flwr.errors import DocumentError, NotFoundError, SourceError, StoreError
from fedrag_flwr.home_paths import Plain, deployed_root, fedrag_home, new_id, valid_name
from fedrag_flwr.loaded_models import load_models, refuse_unknown
from fedrag_flwr.memory.store.database import FILE
from fedrag_flwr.models.base import Heard
from fedrag_flwr.records import BuildReport, Progress, Question, silent
from fedrag_flwr.service.answers import given
from fedrag_flwr.settings import OWN, Settings, of_device
from fedrag_flwr.sources.formats import ENDINGS, JSON_LINES, stem_of
from fedrag_flwr.sources.open_source import SourceSet
from fedrag_flwr.text.words import question_line

if TYPE_CHECKING:
    import pandas as pd


class Device:
    """One device: reads its documents, builds its memory, answers.

    Its store is the one of ``fedrag build --name NAME``: what is built here answers there, too.

    Parameters
    ----------
    name
        The device's; letters, digits, dots, dashes and underscores.
    documents
        The folder of its documents. None: a folder of its own, which `add` fills.
    sources
        Further sources: databases, graphs and mapping files.
    settings
        A `Settings`, a mapping of keys, or a TOML file.
    changes
        Settings by keyword: ``inference_abstain_below=0.4`` is ``inference.abstain-below``.

    Raises
    ------
    SettingError
        A setting is unknown or not allowed, or the name is none.
    SourceError
        The folder does not exist.
    """

    def __init__(
        self,
        name: str = "here",
        documents: str | Path | None = None,
        *,
        sources: Sequence[str] = (),
        settings: Given = None,
        **changes: Plain,
    ) -> None:
        self.name = valid_name(name)
        self.settings = configured(settings, changes)
        self.root = deployed_root(fedrag_home(self.settings.home), name)
        self._sources = tuple(sources)
        self._own = documents is None and not sources
        self.folder = self.root / "documents" if self._own else None
        if documents is not None:
            self.folder = Path(documents).expanduser()
            if not self.folder.is_dir():
                raise SourceError("there is no such folder", where=str(documents), fix="name a folder of documents")

    @cached_property
    def edge(self) -> EdgeDevice:
        """The device beneath, with everything that strategies and services call."""
        if self._own and self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        models = load_models(self.settings.models, fedrag_home(self.settings.home))
        return EdgeDevice(self.name, self.folder, self.root, self.settings, models, self._sources)

    def close(self) -> None:
        """Close the store and the sources; the device opens anew when it is used again."""
        if (edge := self.__dict__.pop("edge", None)) is not None:
            edge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Device({self.name!r}, documents={str(self.folder) if self.folder else None!r})"

    @property
    def node_config(self) -> dict[str, Plain]:
        """The config of its node in a federation of this process, where the run is told its answers."""
        flat = self.settings.flat()
        own = of_device(self.settings)
        own |= {key: flat[setting] for key, setting in OWN.items() if flat[setting] != _DEFAULTS[setting]}
        config: dict[str, Plain] = {"answers": "unmasked", **own, "device-name": self.name}
        if self.folder is not None:
            config["data-path"] = str(self.folder.resolve())
        if self._sources:
            config["sources"] = shlex.join(self._sources)
        return config

    # --- documents ------------------------------------------------------------------------------

    def build(self, *, rebuild: bool = False, empty: bool = False, progress: Progress = silent) -> BuildReport:
        """Bring the memory up to date with the documents; unchanged ones cost nothing.

        Parameters
        ----------
        rebuild
            Whether to forget the old memory first.
        empty
            Whether no documents are meant: then the memory forgets all that it read.
        progress
            Called with a phase, how much of it is done, and of how much.

        Returns
        -------
        BuildReport
            Counts, cost, and the documents that could not be read with the reason.

        Raises
        ------
        SourceError
            The documents cannot be read, or there are none.
        StoreError
            The store cannot be written.
        ModelMissingError
            The generator is neither known nor at a path.
        """
        refuse_unknown(self.settings.models)
        if rebuild:
            self.close()
            models = load_models(self.settings.models, fedrag_home(self.settings.home))
            forget_memory(self.root, SourceSet(self.folder, self._sources, models), empty=empty)
        return self.edge.build(empty=empty, progress=progress)

    def add(self, *files: str | Path, replace: bool = False, progress: Progress = silent) -> BuildReport:
        """Copy files into the device's folder, and build.

        Raises
        ------
        SourceError
            A file is missing or of a kind that is not read, two have one name, the device has no folder, or a file of
            that name is there and `replace` is false. Nothing is copied then.
        """
        folder = self._writable()
        paths = [Path(one).expanduser() for one in files]
        for path in paths:
            if not path.is_file():
                raise SourceError("there is no such file", where=str(path), fix="name a file")
            if path.suffix.lower() not in ENDINGS:
                raise SourceError("is of a kind that is not read", where=path.name, fix=f"known: {', '.join(ENDINGS)}")
            if sum(other.name == path.name for other in paths) > 1:
                raise SourceError("two files have this name", where=path.name, fix="rename one, or add them in turn")
            if (folder / path.name).exists() and not replace:
                raise SourceError("is there already", where=path.name, fix="add it with replace=True")
        for path in paths:
            shutil.copyfile(path, folder / path.name)
        return self.build(progress=progress)

    def remove(self, *documents: str, progress: Progress = silent) -> BuildReport:
        """Delete documents' files from the device's folder, and build: what was learnt from them goes, too.

        Raises
        ------
        NotFoundError
            There is no such document; `documents` lists them. Nothing is deleted then.
        DocumentError
            A document is a line of a file with several, or of a database.
        """
        folder = self._writable()
        read = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix.lower() in _OWN_FILE)
        files = {stem_of(path.relative_to(folder).as_posix()): path for path in read}
        known = set(self.edge.store.digests())
        for name in documents:
            if name not in known:
                raise NotFoundError("there is no such document", where=name, fix="see Device.documents")
            if name not in files:
                raise DocumentError("has no file of its own", where=name, fix="change the file or database that has it")
        for name in documents:
            files[name].unlink()
        return self.build(empty=known <= set(documents), progress=progress)

    def _writable(self) -> Path:
        if self.folder is None:
            raise SourceError("the device has no folder", where=self.name, fix="give it documents=FOLDER")
        if self._own:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.folder

    # --- questions ------------------------------------------------------------------------------

    def ask(self, question: str) -> Answer:
        """Answer a question from memory, or from the passages that come nearest.

        Raises
        ------
        SettingError
            There is no question.
        StoreError
            The device has no memory yet.
        """
        return self._asked(question, None)

    def stream(self, question: str) -> AnswerStream:
        """Ask, and iterate over the text while it is written; errors as for `ask`, when the answer is read."""
        self._built()
        return AnswerStream(lambda heard: self._asked(question, heard))

    def _asked(self, question: str, heard: Heard | None) -> Answer:
        self._built()
        asked = Question(new_id(), question_line(question), self.name)
        found, _ = self.edge.ask_at_home(asked, heard)
        return answer_of(given(asked.id, question, found, self.edge.trace(found), time.time()))

    def _built(self) -> None:
        if not (self.root / FILE).is_file():
            raise StoreError("this device has no memory yet", where=self.name, fix="call build() first")

    # --- looking inside -------------------------------------------------------------------------

    @property
    def documents(self) -> pd.DataFrame:
        """The documents that the memory was built from: id, title and words."""
        import pandas as pd

        store = self.edge.store
        documents = map(store.document, store.digests())
        rows = [(one.id, one.title, len(one.text.split())) for one in documents]
        return pd.DataFrame(rows, columns=["document", "title", "words"])

    @property
    def memories(self) -> pd.DataFrame:
        """The question-answer memories: question, answer, kind and the device that each is from."""
        import pandas as pd

        rows = [(one.question, one.answer, one.kind, one.origin) for one in self.edge.store.items()]
        return pd.DataFrame(rows, columns=["question", "answer", "kind", "device"])

    def ranked(self, question: str, limit: int = 8) -> pd.DataFrame:
        """The passages that the learned reranker puts first, with its log-odds and the answer path to each."""
        import pandas as pd

        chosen = self.edge.order.choose(question, limit)
        rows = [(one.passage_id, one.title, one.score, one.path) for one in chosen]
        return pd.DataFrame(rows, columns=["passage", "title", "log_odds", "path"])


_DEFAULTS = Settings().flat()
_OWN_FILE = frozenset(ENDINGS) - {JSON_LINES}  # of one document
