"""Source files into definitions, references, imports and chunks."""
