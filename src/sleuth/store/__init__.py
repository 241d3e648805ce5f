"""Bytes, rows and versions: the record in SQLite and the segment files derived from it."""
