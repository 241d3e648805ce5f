"""Ranked code for a query."""
