"""Lua: grammar, queries, imports and rules."""
