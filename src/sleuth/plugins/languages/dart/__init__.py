"""Dart: grammar, queries, imports and rules."""
