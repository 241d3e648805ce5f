"""PHP: grammar, queries, imports and rules."""
