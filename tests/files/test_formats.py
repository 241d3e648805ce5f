"""The kind of a file follows from its name and first line, for documents and for code."""

import pytest

from sleuth.code.parsing.languages import LANGUAGES, language_of
from sleuth.extensions import named_object, own_extensions
from sleuth.files.formats import BUILT_IN, kind_of_first_line, kind_of_name
from sleuth.ingest.loaders.file import kind_of, loader_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/b.py", "python"), ("A.MD", "markdown"), ("src/Makefile", "makefile"), ("CMakeLists.txt", "cmake"),
        ("x.tar.gz", "compressed"), ("py", ""), ("", ""),
    ],
)  # fmt: skip
def test_kind_of_a_name(name: str, kind: str) -> None:
    """A complete name wins over an extension, and case does not matter."""
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/bin/sh\npython", "shell"),
        (b"#!/usr/bin/env -S python3.12 -u\n", "python"),
        (b"#!/usr/local/fish/bin/ruby2.7\n", "fish"),
        (b"#!/usr/bin/env nodejs", "javascript"),
        (b"#!/opt/unheard-of\n", ""),
        (b"x", ""),
    ],
)
def test_kind_of_a_first_line(head: bytes, kind: str) -> None:
    """The interpreter in the first line determines the kind."""
    assert kind_of_first_line(head) == kind


def test_each_extension_has_one_kind() -> None:
    """Each extension and each file name belongs to one kind."""
    for names in (
        [extension for one in BUILT_IN.values() for extension in one.extensions],
        [name for one in BUILT_IN.values() for name in one.names],
    ):
        assert len(names) == len(set(names))


def test_each_format_has_its_functions() -> None:
    """The loader and the extractor that a built-in format names exist."""
    for one in BUILT_IN.values():
        assert callable(loader_of(one.kind))
        if one.extract:
            assert callable(named_object(one.extract, "sleuth.ingest.extraction"))


def test_documents_and_code_agree() -> None:
    """A file of a language has a kind of that language, and every kind of a language exists."""
    kinds = [
        (language, kind) for language in LANGUAGES.values() for kind in language.kinds or (language.name,)
    ]
    assert all(kind in BUILT_IN for _, kind in kinds) or not own_extensions("loaders")  # some are of plugins
    for language, kind in kinds:
        if kind in BUILT_IN:
            for extension in BUILT_IN[kind].extensions:
                assert language_of(f"a{extension}") is language
                assert kind_of(f"a{extension}") == kind
