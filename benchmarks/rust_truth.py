"""Prints what each name of a crate means, as rustc sees it.

python rust_truth.py CRATE: one JSON array a line: [file, line, name, file of the definition or null, its line].
CRATE is a folder with `Cargo.toml` and `src/lib.rs`, of a crate that builds without other crates. rustdoc of a
nightly toolchain links every name of the source to its definition; these links are read.
"""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
import tempfile
import tomllib
from html.parser import HTMLParser
from pathlib import Path


def features_of(manifest: dict[str, dict[str, list[str]]]) -> set[str]:
    """Return the features of a crate that are on by default."""
    declared, names = manifest.get("features", {}), ["default"]
    features: set[str] = set()
    while names:
        name = names.pop()
        if name in declared and name not in features:
            features.add(name)
            names += declared[name]
    return features


def document(crate: Path, out: Path) -> str:
    """Write the pages of a crate and return its name."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text("utf8"))
    name = str(manifest["package"]["name"]).replace("-", "_")
    options = [option for feature in features_of(manifest) for option in ("--cfg", f'feature="{feature}"')]
    edition = manifest["package"].get("edition", "2021")
    edition = edition if isinstance(edition, str) else "2021"  # that of the workspace
    command = [
        "rustdoc",
        "+nightly",
        "src/lib.rs",
        "--crate-name",
        name,
        "--edition",
        edition,
        "-o",
        str(out),
    ]
    links = ["-Zunstable-options", "--generate-link-to-definition", "--document-private-items"]
    subprocess.run(
        [*command, *links, *options, "--cap-lints", "allow"], cwd=crate, check=True, capture_output=True
    )
    return name


def is_local(text: str, name: str) -> bool:
    """Return whether a line binds a name as a variable or a parameter, which an index of definitions leaves out."""
    item = rf"\b(?:fn|struct|enum|trait|type|const|static|mod|union|macro_rules!)\s+{re.escape(name)}\b"
    local = rf"\blet\b.*\b{re.escape(name)}\b|[(|,\s]{re.escape(name)}\s*:(?!:)|\|[^|]*\b{re.escape(name)}\b"
    return re.search(item, text) is None and re.search(local, text) is not None


class Page(HTMLParser):
    """Reads the links of one page of a source."""

    def __init__(self, crate: Path, path: str) -> None:
        super().__init__()
        self.crate = crate
        self.path = path
        self.line = 0
        self._target = ""
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the number of a line, or where a link leads."""
        values = dict(attrs)
        if tag == "a" and (values.get("id") or "").isdigit():
            self.line = int(values["id"] or 0)
        elif tag == "a":
            self._target, self._text = values.get("href") or "", ""

    def handle_data(self, data: str) -> None:
        """Take the name that a link has."""
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        """Print the link that ends."""
        if tag != "a" or not self._target:
            return
        page, _, lines = self._target.partition("#")
        name = self._text.strip().rpartition("::")[2]
        first = lines.partition("-")[0]
        if page.startswith("https:"):
            print(json.dumps([self.path, self.line, name, None, 0]))
        elif first.isdigit():
            home = (
                posixpath.normpath(posixpath.join(posixpath.dirname(self.path), page)) if page else self.path
            )
            home = home.removesuffix(".html")
            text = (self.crate / home).read_text("utf8").splitlines()[int(first) - 1]
            print(
                json.dumps([self.path, self.line, name, None if is_local(text, name) else home, int(first)])
            )
        self._target = ""


def main() -> None:
    """Print what the names of a crate mean."""
    crate = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        pages = Path(work) / "src" / document(crate, Path(work))
        for page in sorted(pages.rglob("*.rs.html")):
            path = f"src/{page.relative_to(pages).as_posix().removesuffix('.html')}"
            Page(crate, path).feed(page.read_text("utf8"))


if __name__ == "__main__":
    main()
