"""Samples of the languages in `samples.toml`: definitions, imports, calls and types that tests look for in them."""

import tomllib
from pathlib import Path
from typing import Any

from tests.code.test_bindings import Sample

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf8"))

SOURCES: dict[str, tuple[str, str, str]] = {
    language: (each["text"], each["definition"], each["use"]) for language, each in TABLES["sources"].items()
}
IMPORTS: dict[tuple[str, str], list[tuple[str, str, str]]] = {
    (each["language"], each["text"]): [tuple(names) for names in each["names"]] for each in TABLES["imports"]
}
CLASSES: dict[str, tuple[str, str]] = {
    language: (each["file"], each["text"]) for language, each in TABLES["classes"].items()
}
USES: dict[str, tuple[str, str, dict[str, str]]] = {
    language: (each["file"], each["text"], each["methods"]) for language, each in TABLES["uses"].items()
}
CALLS = {
    name: Sample(each["source"], set(each["kept"]), set(each["variables"]))
    for name, each in TABLES["calls"].items()
}
OUTGOING: dict[str, str] = TABLES["outgoing"]
TYPES, NAMES = (
    {(each["language"], each["text"]): each["expected"] for each in TABLES[kind]}
    for kind in ("types", "names")
)
