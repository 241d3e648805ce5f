"""Print the packages that a build needs, one a line, for pip."""

import tomllib
from pathlib import Path

settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf8"))
print(*settings["build-system"]["requires"], sep="\n")
