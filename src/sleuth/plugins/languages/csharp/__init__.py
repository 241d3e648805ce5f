"""C#: grammar, queries, imports and rules."""
