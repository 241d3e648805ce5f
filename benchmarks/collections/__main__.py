"""Makes test collections from packages of Debian and PyPI, in BEIR layout.

    python -m benchmarks.collections [NAME ...]

Packages are downloaded once, into .data/packages, and not installed; collections are written to .data/made. Neither is
a part of the project. `debian_packages`, `python_packages` and `docstrings` are made from installed packages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.collections import documentation, programs
from benchmarks.collections.made import Made
from benchmarks.packages import DATA, unpacked

MADE = DATA / "made"


class Recipe(NamedTuple):
    """How a collection is made, and from which package: "deb:NAME", "wheel:NAME", or "" for what is installed."""

    make: Callable[[Path], Made]
    package: str = ""


RECIPES = {
    "aws_operations": Recipe(programs.aws_operations, "wheel:botocore"),
    "computing_terms": Recipe(programs.computing_terms, "deb:dict-foldoc"),
    "debian_packages": Recipe(programs.debian_packages),
    "docstrings": Recipe(programs.docstrings),
    "handbook_de": Recipe(documentation.handbook("de-DE"), "deb:debian-handbook"),
    "handbook_en": Recipe(documentation.handbook("en-US"), "deb:debian-handbook"),
    "handbook_es": Recipe(documentation.handbook("es-ES"), "deb:debian-handbook"),
    "handbook_fr": Recipe(documentation.handbook("fr-FR"), "deb:debian-handbook"),
    "lintian_tags": Recipe(programs.lintian_tags, "deb:lintian"),
    "manual_pages": Recipe(documentation.manual_pages, "deb:manpages-dev"),
    "octave_index": Recipe(documentation.octave_index, "deb:octave-doc"),
    "perl_messages": Recipe(documentation.perl_messages, "deb:perl-modules-5.36"),
    "perl_questions": Recipe(documentation.perl_questions, "deb:perl-doc"),
    "postgres_index": Recipe(documentation.postgres_index, "deb:postgresql-doc-15"),
    "python_packages": Recipe(programs.python_packages),
    "python_questions": Recipe(documentation.python_questions, "deb:python3.11-doc"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECIPES)}; all by default")
    for name in parser.parse_args().names or RECIPES:
        recipe = RECIPES[name]
        collection = recipe.make(unpacked(recipe.package) if recipe.package else DATA)
        collection.write(MADE / name)
        print(
            f"{name}: {len(collection.texts)} documents, {len(collection.answers)} queries to sample from",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
