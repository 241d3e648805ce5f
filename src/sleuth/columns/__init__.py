"""Metadata as columns: a leg that turns filters into bitmaps."""
