"""Retrievers made of retrievers: fuse, slice, boost, rerank, expand, diversify, deduplicate."""
