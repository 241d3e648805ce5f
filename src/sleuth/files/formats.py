"""The built-in file formats, for documents and for code."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sleuth.extensions import own_extensions
from sleuth.files.format import FileFormat, Form, Package

_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
"""A byte-order mark and white space."""


def _starts(signature: bytes) -> Callable[[bytes], bool]:
    """Recognise files by their first bytes."""
    return lambda head: head.startswith(signature)


def _format(kind: str, load: str, extensions: str, form: Form = "text", **fields: Any) -> FileFormat:
    has_lines = form not in ("rows", "files") and "extract" not in fields
    extended = [f".{one}" for one in extensions.split()]
    return FileFormat(kind, load, extended, form=form, **{"has_lines": has_lines, **fields})


def _code(kind: str, extensions: str, names: str = "", interpreters: str = "") -> FileFormat:
    return _format(
        kind, "plain:load_code", extensions, "code", names=names.split(), interpreters=interpreters.split()
    )


_PDF = Package("pypdfium2", "pdf", "reading PDF files")

DOCUMENTS: Final[tuple[FileFormat, ...]] = (
    *(each for plugin in own_extensions("loaders").values() for each in plugin.load()),
    _format("zip", "archives:load_zip", "zip", "files", sniff=_starts(b"PK\x03\x04"), holds_files=True),
    _format("pdf", "pdf:load_pdf", "pdf", extract="pdf:extract_pdf", sniff=_starts(b"%PDF-"), package=_PDF),
    _format(
        "html",
        "extracted:load_html",
        "html htm xhtml",
        "markdown",
        extract="html:extract_html",
        sniff=lambda head: head[:512].lstrip(_BLANK).lower().startswith((b"<!doctype html", b"<html")),
    ),
    _format(
        "text", "plain:load_text", "txt text log asc", names=["readme", "license", "changelog", "notice"]
    ),
    _format("markdown", "plain:load_markdown", "md markdown mdown mkd mdx", "markdown"),
    _format("rst", "plain:load_rest", "rst rest"),
    _format("svg", "plain:load_code", "svg"),
    _format("notebook", "notebook:load_notebook", "ipynb", "markdown", has_lines=False),
    _format("tar", "archives:load_tar", "tar tgz tbz tbz2 txz", "files", holds_files=True),
    _format("compressed", "archives:load_compressed", "gz bz2 xz", "files", holds_files=True),
    _format("csv", "rows:load_csv", "csv", "rows"),
    _format("tsv", "rows:load_csv", "tsv tab", "rows"),
    _format("json", "rows:load_json", "json", "rows"),
    _format("jsonl", "rows:load_jsonl", "jsonl ndjson", "rows"),
    _format("parquet", "rows:load_parquet", "parquet", "rows"),
)
"""Formats of documents. A file without a known name is of the first whose `sniff` says so: those of Sleuth's plugins
come first, which know what some zip archives are."""

SOURCES: Final = (
    _code("assembly", "s asm"),
    _code("c", "c h"),
    _code("clojure", "clj cljs cljc edn"),
    _code("cmake", "cmake", "cmakelists.txt"),
    _code("cpp", "cc cpp cxx c++ hh hpp hxx ipp"),
    _code("csharp", "cs"),
    _code("css", "css less"),
    _code("cuda", "cu cuh"),
    _code("dart", "dart"),
    _code("dockerfile", "dockerfile", "dockerfile containerfile"),
    _code("elixir", "ex exs"),
    _code("erlang", "erl hrl"),
    _code("fish", "fish", interpreters="fish"),
    _code("fortran", "f f90 f95 f03 for"),
    _code("fsharp", "fs fsi fsx"),
    _code("go", "go"),
    _code("graphql", "graphql gql"),
    _code("groovy", "groovy gradle", "jenkinsfile"),
    _code("haskell", "hs lhs"),
    _code("ini", "ini cfg conf properties env"),
    _code("java", "java"),
    _code("javascript", "js mjs cjs jsx", interpreters="node nodejs"),
    _code("jsonc", "jsonc json5"),
    _code("julia", "jl"),
    _code("kotlin", "kt kts"),
    _code("lisp", "lisp lsp el cl"),
    _code("lua", "lua"),
    _code("makefile", "mk mak", "makefile gnumakefile"),
    _code("matlab", "m"),
    _code("nim", "nim"),
    _code("objectivec", "mm"),
    _code("ocaml", "ml mli"),
    _code("pascal", "pas"),
    _code("perl", "pl pm", interpreters="perl"),
    _code("php", "php"),
    _code("powershell", "ps1 psm1"),
    _code("protobuf", "proto"),
    _code("python", "py pyi pyx pxd pyw", "sconstruct wscript", "python ipython"),
    _code("r", "r"),
    _code("ruby", "rb rake gemspec", "gemfile rakefile", "ruby jruby"),
    _code("rust", "rs"),
    _code("scala", "scala sc sbt"),
    _code("scheme", "scm ss rkt"),
    _code("scss", "scss sass"),
    _code("shell", "sh bash zsh ksh", interpreters="bash zsh ksh sh"),
    _code("sql", "sql"),
    _code("svelte", "svelte"),
    _code("swift", "swift"),
    _code("tcl", "tcl"),
    _code("template", "erb jinja j2"),
    _code("terraform", "tf tfvars hcl"),
    _code("toml", "toml"),
    _code("tsx", "tsx"),
    _code("typescript", "ts mts cts"),
    _code("verilog", "v sv svh"),
    _code("vhdl", "vhd vhdl"),
    _code("vim", "vim"),
    _code("vue", "vue"),
    _code("yaml", "yaml yml"),
    _code("zig", "zig"),
)
"""Formats of source code and of files that programs read."""

BUILT_IN: Final = {one.kind: one for one in (*DOCUMENTS, *SOURCES)}
"""Format by kind."""

BY_EXTENSION: Final = {extension: one.kind for one in BUILT_IN.values() for extension in one.extensions}
"""Kind by extension, lower case with its dot."""

_BY_NAME: Final = {name: one.kind for one in BUILT_IN.values() for name in one.names}
_BY_PATH: Final = [(one.is_named, one.kind) for one in BUILT_IN.values() if one.is_named is not None]


def _kinds(form: Form) -> frozenset[str]:
    return frozenset(kind for kind, one in BUILT_IN.items() if one.form == form)


ROWS: Final = _kinds("rows")
"""Kinds whose files hold rows, each a document."""

CODE: Final = _kinds("code")
"""Kinds whose text is cut as source code."""

MARKDOWN: Final = _kinds("markdown")
"""Kinds whose text is Markdown: as it is in the file, or as loaders write it."""


@lru_cache(maxsize=64)  # a file is asked for where it is listed, read and noted
def kind_of_name(path: str) -> str:
    """Return the kind that the name of a file implies; "" if it implies none."""
    for is_named, kind in _BY_PATH:
        if is_named(path):
            return kind
    base = path[path.rfind("/") + 1 :].lower()
    return _BY_NAME.get(base) or BY_EXTENSION.get(base[base.rfind(".") :], "")


def kind_of_first_line(head: bytes) -> str:
    """Return the kind that a `#!` line names; "" without such a line or for an unknown interpreter."""
    if not head.startswith(b"#!"):
        return ""
    words = re.split(r"[/\s]", head[:200].partition(b"\n")[0].decode("latin-1"))
    names = {word.rstrip("0123456789.") for word in words}
    return next((one.kind for one in SOURCES if not names.isdisjoint(one.interpreters)), "")


def kind_of_content(head: bytes) -> str:
    """Return the kind that the first 8 KiB of a file imply; "text" if they imply none."""
    sniffed = (one.kind for one in DOCUMENTS if one.sniff is not None and one.sniff(head))
    return next(sniffed, "") or kind_of_first_line(head.lstrip(_BLANK)) or "text"
