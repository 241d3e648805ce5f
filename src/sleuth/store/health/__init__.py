"""Opening an index, checking it, and mending what is derived from the record."""
