"""Which files an import of Scala means."""

from __future__ import annotations

from sleuth.code.language import NameRules
from sleuth.plugins.languages.java.rules import imported_files


class ScalaRules(NameRules):
    """The rules of Scala."""

    files = staticmethod(imported_files)
