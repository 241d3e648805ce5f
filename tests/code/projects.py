"""Small projects in several languages whose parts use one another."""

import re
from pathlib import Path


def files_of(name: str) -> dict[str, str]:
    """Return the texts of a project by path; in its file, a line `-- PATH --` stands above each."""
    text = (Path(__file__).parent / "projects" / f"{name}.txt").read_text("utf8")
    parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


SHOP, PROJECT = files_of("shop"), files_of("app")
