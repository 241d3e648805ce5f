"""Sources of these languages, mutated."""

import pytest

from sleuth.files.processes import Processes
from tests.fuzz.conftest import readers
from tests.fuzz.test_fuzz import check_sources
from tests.plugins.languages.samples import SOURCES

__all__ = ["readers"]

ENDINGS = {
    "java": "java", "csharp": "cs", "php": "php", "kotlin": "kt", "scala": "scala", "lua": "lua", "swift": "swift",
    "elixir": "ex", "hcl": "tf", "sql": "sql", "graphql": "graphql", "docker": "dockerfile", "dart": "dart",
}  # fmt: skip


@pytest.mark.parametrize("language", SOURCES)
def test_sources(readers: Processes, language: str) -> None:
    """Mutated sources are parsed in the program within limits, or in a process, or named."""
    check_sources(readers, language, f"a.{ENDINGS[language]}", SOURCES[language][0])
