"""Relational databases as sources: SQLite, MariaDB, MySQL and PostgreSQL, read through a mapping and never written."""

from fedrag_flwr.sources.sql.fusion import FusionWeights
from fedrag_flwr.sources.sql.mapping import JoinMapping, RecordMapping, SqlMapping, sql_toml
from fedrag_flwr.sources.sql.proposal import propose_mapping
from fedrag_flwr.sources.sql.source import SqlSearchSettings, SqlSource

__all__ = [
    "FusionWeights",
    "JoinMapping",
    "RecordMapping",
    "SqlMapping",
    "SqlSearchSettings",
    "SqlSource",
    "propose_mapping",
    "sql_toml",
]
