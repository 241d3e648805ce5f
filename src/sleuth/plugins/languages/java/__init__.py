"""Java: grammar, queries, imports and rules."""
