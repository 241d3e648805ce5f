"""Dockerfiles: grammar, queries, imports and rules."""
