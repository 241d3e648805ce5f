"""Which segment files an index consists of, and who may change that."""
