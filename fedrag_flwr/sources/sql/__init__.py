"""Relational databases as sources: SQLite, MariaDB, MySQL and PostgreSQL, read through a mapping and never written."""

from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping, sql_toml
from fedrag_flwr.sources.sql.proposal import propose_mapping
from fedrag_flwr.sources.sql.source import SqlSource

__all__ = [
    "JoinMapping",
    "RecordMapping",
    "SqlMapping",
    "SqlSource",
    "propose_mapping",
    "sql_toml",
]
