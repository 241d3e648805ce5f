"""SQL: grammar, queries, imports and rules."""
