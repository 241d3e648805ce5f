"""Collections from descriptions of programs: packages, checks, functions, operations of services, terms."""

from __future__ import annotations

import ast
import gzip
import html
import json
import re
import sysconfig
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.collections.made import Made, plain


def debian_packages(_: Path) -> Made:
    """Return one-line descriptions of installed Debian packages, answered by their long ones."""
    collection = Made()
    for block in Path("/var/lib/dpkg/status").read_text("utf-8").split("\n\n"):
        name = re.search(r"(?m)^Package: (.*)$", block)
        description = re.search(r"(?m)^Description: (.*)\n((?: .*\n?)*)", block)
        if name and description:
            collection.add(name[1], re.sub(r"(?m)^ \.?", "", description[2]), [description[1]])
    return collection


def python_packages(_: Path) -> Made:
    """Return summaries of installed Python packages, answered by their READMEs."""
    collection = Made()
    for distribution in distributions():
        summary = str(distribution.metadata["Summary"] or "")
        text = str(distribution.metadata.get_payload() or "").replace(summary, "")  # type: ignore[attr-defined]
        if len(summary.split()) > 2:
            collection.add(distribution.metadata["Name"], text[:6_000], [summary])
    return collection


def lintian_tags(root: Path) -> Made:
    """Return the names of checks of Debian packages, answered by their explanations."""
    collection = Made()
    for path in sorted(root.rglob("lintian/tags/*/*.tag")):
        text = path.read_text("utf-8")
        explanation = re.search(r"(?m)^Explanation: ((?:.*\n?)(?:^ .*\n?)*)", text)
        if explanation:
            collection.add(path.stem, plain(html.unescape(explanation[1])), [path.stem.replace("-", " ")])
    return collection


def docstrings(_: Path) -> Made:
    """Return the first sentences of docstrings of Python's library, answered by the functions without them."""
    collection = Made()
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.FunctionDef)
                and (docstring := ast.get_docstring(node))
                and len(node.body) > 1
            ):
                node.body = node.body[1:]
                first = re.split(r"\.\s|\n\n", docstring)[0]
                questions = [first] if 4 <= len(first.split()) <= 25 else ()
                collection.add(f"{path.relative_to(library)}:{node.lineno}", ast.unparse(node), questions)
    return collection


def aws_operations(root: Path) -> Made:
    """Return names of operations of Amazon's services, answered by their descriptions."""
    collection = Made()
    for service in sorted(root.glob("botocore/data/*/")):
        versions = sorted(service.glob("*/service-2.json.gz"))
        if not versions:
            continue
        model = json.loads(gzip.decompress(versions[-1].read_bytes()))
        title = model["metadata"].get("serviceId", service.name)
        for name, operation in model["operations"].items():
            words = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name)).lower()
            text = f"{title}: {plain(operation.get('documentation', ''))}"
            collection.add(f"{service.name}.{name}", text, [f"{title} {words}"])
    return collection


def computing_terms(root: Path) -> Made:
    """Return the headwords of the Free On-line Dictionary of Computing, answered by their entries without them."""
    collection = Made()
    data = gzip.decompress(next(root.rglob("foldoc.dict.dz")).read_bytes()).decode("utf-8", "replace")
    for i, (headword, body) in enumerate(re.findall(r"(?m)^(\S.*)\n((?:\n|[ \t].*\n)+)", data)):
        if len(body) > 200:
            collection.add(str(i), body, [headword])
    return collection
