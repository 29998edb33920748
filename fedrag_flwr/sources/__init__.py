"""Documents in: folders of files, benchmark files and their partition over devices."""

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
from fedrag_flwr.sources.benchmark import Benchmark, data_root, read_multihop
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.sources.partition import Partition, device_name, partition_documents, write_partition

__all__ = [
    "Benchmark",
    "Failure",
    "FolderSource",
    "Partition",
    "Reading",
    "SearchableSource",
    "Skipped",
    "Source",
    "SourceHit",
    "data_root",
    "device_name",
    "digest_of",
    "make_document",
    "partition_documents",
    "read_multihop",
    "write_partition",
]
