"""Text into tokens and chunks."""
