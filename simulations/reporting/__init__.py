"""Rows that are kept, tables and charts."""
