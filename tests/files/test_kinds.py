"""What names and first lines of files say about them, to documents and to code."""

from __future__ import annotations

import pytest

from sleuth.code.parsing import LANGUAGES, language_of
from sleuth.files import EXTENSIONS, FILENAMES, kind_of_first_line, kind_of_name
from sleuth.ingest.loaders import kind_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/b.py", "python"),
        ("A.MD", "markdown"),
        ("src/Makefile", "makefile"),
        ("CMakeLists.txt", "cmake"),
        ("x.tar.gz", ""),
        ("py", ""),
        ("", ""),
    ],
)
def test_kind_of_a_name(name: str, kind: str) -> None:
    """Whole names win over extensions, and case does not count."""
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/bin/sh\npython", "shell"),
        (b"#!/opt/unheard-of\n", ""),
        (b"x", ""),
    ],
)
def test_kind_of_a_first_line(head: bytes, kind: str) -> None:
    """The interpreter names the kind, and only the first line counts."""
    assert kind_of_first_line(head) == kind


def test_each_extension_has_one_kind() -> None:
    """No extension and no file name stands under two kinds."""
    for table in (EXTENSIONS, FILENAMES):
        names = [name for names in table.values() for name in names.split()]
        assert len(names) == len(set(names))


def test_documents_and_code_agree() -> None:
    """A file of a language is of a kind that this language names, and every kind that a language names exists."""
    for language in LANGUAGES.values():
        for kind in language.kinds or (language.name,):
            for extension in EXTENSIONS[kind].split():
                assert language_of(f"a.{extension}") is language
                assert kind_of(f"a.{extension}") == kind
