"""Passages in segments: texts with their places and metadata, which hits are made from and legs are rebuilt from."""
