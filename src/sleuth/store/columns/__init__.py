"""Metadata as columns: a leg of the store that turns filters into bitmaps."""
