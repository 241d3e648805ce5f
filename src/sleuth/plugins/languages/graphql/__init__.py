"""GraphQL: grammar, queries, imports and rules."""
