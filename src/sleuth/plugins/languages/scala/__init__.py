"""Scala: grammar, queries, imports and rules."""
