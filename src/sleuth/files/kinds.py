"""Kinds of files by their names and first lines: one table for documents and for code."""

from __future__ import annotations

from typing import Final

_DOCUMENTS: Final = {
    "text": "txt text log asc",
    "markdown": "md markdown mdown mkd mdx",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc",
    "html": "html htm xhtml",
    "pdf": "pdf",
    "docx": "docx docm",
    "pptx": "pptx pptm ppsx",
    "xlsx": "xlsx xlsm xlsb xls",
    "odt": "odt ott",
    "ods": "ods",
    "odp": "odp",
    "flat-odf": "fodt fods fodp",
    "epub": "epub",
    "rtf": "rtf",
    "xml": "xml xsd xsl xslt csproj",
    "svg": "svg",
    "notebook": "ipynb",
    "latex": "tex ltx latex",
    "bibtex": "bib",
    "org": "org",
    "man": "man mdoc",
    "subtitles": "vtt srt",
    "calendar": "ics ical",
    "email": "eml",
    "msg": "msg",
    "mhtml": "mhtml mht",
}
"""Extensions of documents."""

_CONTAINERS: Final = {
    "mbox": "mbox",
    "zip": "zip",
    "tar": "tar tgz tbz tbz2 txz",
    "compressed": "gz bz2 xz",
}
"""Extensions of files that hold other files, each a document."""

_ROWS: Final = {
    "csv": "csv",
    "tsv": "tsv tab",
    "json": "json",
    "jsonl": "jsonl ndjson",
    "parquet": "parquet",
}
"""Extensions of files that hold rows, each a document."""

_CODE: Final = {
    "assembly": "s asm",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cpp": "cc cpp cxx c++ hh hpp hxx ipp",
    "csharp": "cs",
    "css": "css less",
    "cuda": "cu cuh",
    "dart": "dart",
    "dockerfile": "dockerfile",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fish": "fish",
    "fortran": "f f90 f95 f03 for",
    "fsharp": "fs fsi fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "ini": "ini cfg conf properties env",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "jsonc": "jsonc json5",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp lsp el cl",
    "lua": "lua",
    "makefile": "mk mak",
    "matlab": "m",
    "nim": "nim",
    "objectivec": "mm",
    "ocaml": "ml mli",
    "pascal": "pas",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "python": "py pyi pyx pxd pyw",
    "r": "r",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sc sbt",
    "scheme": "scm ss rkt",
    "scss": "scss sass",
    "shell": "sh bash zsh ksh",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "template": "erb jinja j2",
    "terraform": "tf tfvars hcl",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "yaml": "yaml yml",
    "zig": "zig",
}
"""Extensions of source code and of files that programs read."""

EXTENSIONS: Final = _DOCUMENTS | _CONTAINERS | _ROWS | _CODE
"""Extensions of each kind, lower case."""

FILENAMES: Final = {
    "cmake": "cmakelists.txt",
    "dockerfile": "dockerfile containerfile",
    "groovy": "jenkinsfile",
    "makefile": "makefile gnumakefile",
    "python": "sconstruct wscript",
    "ruby": "gemfile rakefile",
    "text": "readme license changelog notice",
}
"""Whole names of files of each kind, lower case: they win over the extension."""

BY_EXTENSION: Final = {
    f".{extension}": kind for kind, extensions in EXTENSIONS.items() for extension in extensions.split()
}
"""Kind by extension, lower case with its dot."""

BY_NAME: Final = {name: kind for kind, names in FILENAMES.items() for name in names.split()}
"""Kind by whole name, lower case."""

ROWS: Final = frozenset(_ROWS)
"""Kinds whose files hold rows, each a document."""

CODE: Final = frozenset(_CODE)
"""Kinds whose text is cut as source code: at top-level definitions and blank lines."""

MARKDOWN: Final = frozenset(_DOCUMENTS) - {"text", "rst", "pdf", "svg", "subtitles"}
"""Kinds whose text is Markdown: as it is in the file, or as loaders write it."""

_INTERPRETERS: Final = (
    (b"python", "python"),
    (b"bash", "shell"),
    (b"fish", "fish"),
    (b"zsh", "shell"),
    (b"ksh", "shell"),
    (b"/sh", "shell"),
    (b"env sh", "shell"),
    (b"node", "javascript"),
    (b"ruby", "ruby"),
    (b"perl", "perl"),
)


def kind_of_name(path: str) -> str:
    """Return the kind that the name of a file implies; "" if it implies none."""
    base = path[path.rfind("/") + 1 :].lower()
    return BY_NAME.get(base) or BY_EXTENSION.get(base[base.rfind(".") :], "")


def kind_of_first_line(head: bytes) -> str:
    """Return the kind that a `#!` line names; "" without such a line or for an unknown interpreter."""
    if not head.startswith(b"#!"):
        return ""
    line = head[:200].partition(b"\n")[0]
    return next((kind for word, kind in _INTERPRETERS if word in line), "")
