"""Writing to the index: the one writer, its pending batch, its transaction and repairs."""
