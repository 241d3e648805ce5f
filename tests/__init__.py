"""The tests, in folders as those of the package.

They are a package, so that `tests/code` does not hide the module `code` of Python.
"""
