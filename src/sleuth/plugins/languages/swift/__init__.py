"""Swift: grammar, queries, imports and rules."""
