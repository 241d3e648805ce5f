"""A small indexed repository with documents and two commits."""

import subprocess
from pathlib import Path

from sleuth import Engine, index_path, open_code
from tests.code.conftest import write

LIMITS = "# Limits\n\nTokens are refilled every second.\n\n## Burst\n\nA burst takes what there is.\n"
BUCKET = Path(__file__).with_name("bucket.txt").read_text("utf8")
SHOP = Path(__file__).with_name("shop.txt").read_text("utf8")


def git(folder: Path, *arguments: str) -> str:
    """Run git without the user's settings."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    result = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


def make_project(root: Path) -> Path:
    """Return a repository of two commits whose documents and code are indexed in `.sleuth`."""
    first = {"src/bucket.py": BUCKET.replace("refill", "replenish"), "docs/limits.md": LIMITS}
    write(root, {**first, ".gitignore": ".sleuth\n"})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets replenish")
    git(root, "tag", "v1")
    write(root / "src", {"bucket.py": BUCKET, "shop.py": SHOP})
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets refill", "-m", "Customers call it that.")
    index = root / ".sleuth"
    with Engine.open(index, create=True) as engine:
        engine.index([root / "docs"])
    with open_code(index, create=True) as storage:
        index_path(storage, root, revision="v1", workers=1)
        index_path(storage, root, workers=1)
    return root
