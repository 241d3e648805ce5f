"""Reading one version of the index."""
