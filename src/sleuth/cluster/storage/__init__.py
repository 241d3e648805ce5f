"""Versions of an index in object storage: published, listed, pruned, and fetched into a local cache."""
