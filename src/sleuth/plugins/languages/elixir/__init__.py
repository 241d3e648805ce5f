"""Elixir: grammar, queries, imports and rules."""
