"""Small projects in several languages whose parts use one another."""

import re
import tomllib
from pathlib import Path
from typing import Any


def files_of(name: str) -> dict[str, str]:
    """Return the texts of a project by path; in its file, a line `-- PATH --` stands above each."""
    text = (Path(__file__).parent / "projects" / f"{name}.txt").read_text("utf8")
    parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


SAMPLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf8"))
"""Tables of tests: what is written, and what is expected of it."""
SHOP, PROJECT = files_of("shop"), files_of("app")
