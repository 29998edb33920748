"""The centroids of a device's passages: one grouping for each state of documents and export filter."""

from __future__ import annotations

import io
import logging
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.device.releases import RELEASED, Releases
from fedrag_flwr.files import best_effort, replace_file
from fedrag_flwr.privacy.contents import Content
from fedrag_flwr.retrieval.source_router import GROUPS, Centroids, centroids_of
from fedrag_flwr.text.segment import under_title

_LOG = logging.getLogger(__name__)
_FILE = "centroids.npz"


@dataclass(frozen=True, slots=True)
class PassageCentroids:
    """Groups what the export filter shows of the passages, and keeps that until documents or export filter change.

    Neither a request nor a run has a say in how passages are grouped: two groupings of the same passages could be
    subtracted from each other.

    Parameters
    ----------
    keeper
        Knows the device's memory, and its export filter.
    secret
        The device's own; it seeds the grouping.
    """

    keeper: Releases
    secret: bytes

    def present(self) -> Centroids:
        """The groups as documents and filter are now; made anew where a name or a document came meanwhile."""
        while True:
            state = self._state()
            found = self._kept(state)
            if found is not None:
                return found
            found = self._made()
            if self._state() == state:
                self._keep(state, found)
                return found

    def _state(self) -> str:
        """Names the documents, the export filter and the private names that it knows."""
        keeper = self.keeper
        keeper.inform()
        return f"{keeper.generation()}.{len(keeper.export.names)}.{keeper.store.state()}"

    def _made(self) -> Centroids:
        store = self.keeper.store
        units = store.units("paragraph")
        texts = tuple(under_title(one.title, one.text) for one in store.passages(units.ids))
        shown = self.keeper.export.shown_vectors(Content(texts, units.vectors))
        shown = np.unique(shown, axis=0)  # in an order of their own: that of the ids hangs on what is not shown
        return centroids_of(shown, GROUPS, int.from_bytes(self.secret[:4], "little"))

    # --- what is kept -----------------------------------------------------------------------------

    @property
    def _path(self) -> Path:
        return self.keeper.store.database.directory / RELEASED / _FILE

    def _kept(self, state: str) -> Centroids | None:
        """What was kept of this state; none where that is torn, too."""
        try:
            with np.load(io.BytesIO(self._path.read_bytes()), allow_pickle=False) as kept:
                if str(kept["state"]) != state:
                    return None
                return Centroids(kept["vectors"], kept["passages"], kept["closeness"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _LOG.warning("centroids of passages are made anew: %s", error)
            return None

    def _keep(self, state: str, found: Centroids) -> None:
        body = io.BytesIO()
        np.savez(
            body,
            state=np.array(state),
            vectors=found.vectors,
            passages=found.passages,
            closeness=found.closeness,
        )
        with best_effort(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, body.getvalue())
