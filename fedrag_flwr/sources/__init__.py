"""Documents in: folders of files, databases and graphs."""

from fedrag_flwr.sources.base import (
    Failure,
    Reading,
    SearchableSource,
    Skipped,
    Source,
    SourceHit,
    digest_of,
    make_document,
)
from fedrag_flwr.sources.folder import FolderSource

__all__ = [
    "Failure",
    "FolderSource",
    "Reading",
    "SearchableSource",
    "Skipped",
    "Source",
    "SourceHit",
    "digest_of",
    "make_document",
]
