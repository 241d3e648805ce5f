"""Collections from manuals: index terms, headings, questions and NAME lines are the queries, sections the documents."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.collections.made import Made, plain

POD_MARKUP = re.compile(r"[A-Z]<{1,2}\s?([^<>]*?)\s?>{1,2}")
"""Perl's inline markup, such as C<code>."""


def perl_questions(root: Path) -> Made:
    """Return the questions of Perl's FAQ, answered among the sections of all its manuals."""
    collection = Made()
    for path in sorted(root.rglob("pod/*.pod")):
        for i, (heading, body) in enumerate(_sections(path.read_text("utf-8", "replace"), r"^=head\d (.*)$")):
            is_question = path.stem.startswith("perlfaq") and heading.endswith("?")
            collection.add(f"{path.stem}-{i}", _plain_pod(body), [_plain_pod(heading)] if is_question else ())
    return collection


def perl_messages(root: Path) -> Made:
    """Return Perl's error messages, answered by their explanations."""
    collection, waiting = Made(), list[str]()
    text = next(root.rglob("perldiag.pod")).read_text("utf-8", "replace")
    for i, (message, body) in enumerate(_sections(text, r"^=item (.*)$")):
        waiting.append(_plain_pod(message))
        if body.strip():
            collection.add(str(i), _plain_pod(body), waiting)
            waiting = []
    return collection


def python_questions(root: Path) -> Made:
    """Return the questions of Python's FAQ, answered among the sections of all its documentation."""
    collection = Made()
    for path in sorted(root.rglob("_sources/*/*.rst.txt")):
        parts = re.split(r"(?m)^(\S.*)\n([=\-~^])\2{3,}$", path.read_text("utf-8", "replace"))
        for i in range(1, len(parts) - 2, 3):
            heading = re.sub(r"[`*]|:\w+:", "", parts[i])
            questions = [heading] if path.parent.name == "faq" and heading.endswith("?") else ()
            collection.add(f"{path.parent.name}-{path.stem}-{i}", parts[i + 2], questions)
    return collection


def manual_pages(root: Path) -> Made:
    """Return the one-line descriptions of manual pages, answered by the pages without them."""
    collection = Made()
    for path in sorted(root.rglob("man/man*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        match = re.search(r"(?s)^\.SH \"?NAME\"?\n(.*?)(?=^\.S[HY])", text, re.MULTILINE)
        if match:
            _, _, description = _plain_roff(match[1]).partition(" - ")
            collection.add(path.name, _plain_roff(text[match.end() :]), [description])
    return collection


def octave_index(root: Path) -> Made:
    """Return the concept index of Octave's manual, answered by its pages."""
    collection = _pages(root, "octave.html/*.html")
    index = next(root.rglob("octave.html/Concept-Index.html")).read_text("utf-8")
    for page, term in re.findall(r'<a href="([^"#]+)#index-[^"]*">(.*?)</a>:?', index):
        collection.ask(plain(term), page)
    return collection


def postgres_index(root: Path) -> Made:
    """Return the index of PostgreSQL's manual, answered by its pages; a term below another includes that one."""
    collection = _pages(root, "html/*.html")
    index = next(root.rglob("bookindex.html")).read_text("utf-8")
    above: list[str] = []
    for token in re.finditer(r"<dl\b|</dl>|<dt[^>]*>(.*?)</dt>", index, re.DOTALL):
        if token[1] is None:
            above = above[:-1] if token[0] == "</dl>" else [*above, ""]
            continue
        term = plain(token[1].partition("<a ")[0]).strip(" ,\n")
        if above:
            above[-1] = term
        for page in re.findall(r'href="([^"#]+)', token[1]):
            collection.ask(" ".join(filter(None, above[-2:])), page)
    return collection


def handbook(language: str) -> Callable[[Path], Made]:
    """Return a function that makes headings of Debian's handbook in one language, answered by their sections."""

    def make(root: Path) -> Made:
        collection = Made()
        for path in sorted(root.rglob(f"html/{language}/*.html")):
            parts = re.split(r"(?s)<h[2-4][^>]*>(.*?)</h[2-4]>", path.read_text("utf-8"))
            for i in range(1, len(parts) - 1, 2):
                heading = re.sub(r"^[\d.\s]+", "", plain(parts[i]).replace("\u00a0", " "))
                collection.add(f"{path.stem}-{i}", plain(parts[i + 1]), [heading])
        return collection

    return make


def _pages(root: Path, pattern: str) -> Made:
    collection = Made()
    for path in sorted(root.rglob(pattern)):
        if "index" not in path.name.lower() and not path.name.startswith("XREF"):
            collection.add(path.name, plain(path.read_text("utf-8", "replace")))
    return collection


def _sections(text: str, heading: str) -> Iterator[tuple[str, str]]:
    parts = re.split(heading, text, flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2], strict=True)


def _plain_pod(text: str) -> str:
    return re.sub(r"(?m)^=\w+.*$", "", POD_MARKUP.sub(r"\1", POD_MARKUP.sub(r"\1", text)))


def _plain_roff(text: str) -> str:
    text = re.sub(r"(?m)^[.'](?:\\\"|TH|so|ie|el|if|de|ds|nr).*$", "", text)
    text = re.sub(r"(?m)^\.[A-Za-z]+ ?", "", text)
    text = re.sub(r"\\f[A-Z]|\\f\(..|\\[&|^]", "", text.replace("\\-", "-"))
    return text.replace('"', "")
