"""Metrics, result files, tables and the report."""
