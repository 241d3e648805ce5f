"""Kotlin: grammar, queries, imports and rules."""
