"""All records of a database at one time, and the documents that they become."""

from __future__ import annotations

from collections.abc import Sequence

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import Failure, Reading, make_document
from fedrag_flwr.sources.source_search import Contents, content_version
from fedrag_flwr.sources.sql.database import Database
from fedrag_flwr.sources.sql.records import RecordReader, SqlRecord


def read_tables(
    database: Database, readers: Sequence[RecordReader], most_rows: int, seconds: float
) -> Contents[SqlRecord]:
    """Read all records; a row that makes none is a failure, and so are rows beyond the limit; raises SourceError where
    the database fails or takes longer than `seconds` for one kind of record.
    """
    records: dict[str, SqlRecord] = {}
    documents: list[Document] = []
    failures: list[Failure] = []
    for reader in readers:
        rows = database.rows(reader.select().limit(most_rows + 1), seconds)
        if len(rows) > most_rows:
            reason = f"only the first {most_rows} rows were read (raise most-rows)"
            failures.append(Failure(reader.mapping.table, reason, guessed=True))  # whatever is not there may be beyond
        for row in rows[:most_rows]:
            record = reader.record(row)
            if record.document_id in records:
                failures.append(Failure(record.provenance, "another record has the same key"))
                continue
            try:
                documents.append(make_document(record.document_id, record.title, record.text))
                records[record.document_id] = record
            except DocumentError as error:
                failures.append(Failure(record.provenance, error.what))
    reading = Reading(tuple(documents), tuple(failures))
    return Contents(tuple(records.values()), reading, content_version(documents))
