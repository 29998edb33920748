"""Relational databases as sources: SQLite, MariaDB, MySQL and PostgreSQL, read through a mapping and never written."""
