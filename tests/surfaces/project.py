"""A small indexed repository with documents and two commits."""

import subprocess
from pathlib import Path

from sleuth import Engine, index_path, open_code

LIMITS = "# Limits\n\nTokens are refilled every second.\n\n## Burst\n\nA burst takes what there is.\n"
BUCKET = '''"""Token buckets."""


class TokenBucket:
    """Limits how often something happens."""

    def refill(self, seconds: Any) -> Any:
        """Add the tokens of some seconds."""
        self.tokens += seconds * self.rate
'''
SHOP = """from bucket import TokenBucket


def serve(request: Any) -> Any:
    bucket = TokenBucket()
    bucket.refill(1)
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git without the user's settings."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    result = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True
    )
    return result.stdout.strip()


def make_project(root: Path) -> Path:
    """Return a repository of two commits whose documents and code are indexed in `.sleuth`."""
    (root / "docs").mkdir(parents=True)
    (root / "src").mkdir()
    (root / ".gitignore").write_text(".sleuth\n", "utf-8")
    (root / "docs" / "limits.md").write_text(LIMITS, "utf-8")
    (root / "src" / "bucket.py").write_text(BUCKET.replace("refill", "replenish"), "utf-8")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets replenish")
    git(root, "tag", "v1")
    (root / "src" / "bucket.py").write_text(BUCKET, "utf-8")
    (root / "src" / "shop.py").write_text(SHOP, "utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Buckets refill", "-m", "Customers call it that.")
    index = root / ".sleuth"
    with Engine.open(index, create=True) as engine:
        engine.index([root / "docs"])
    with open_code(index, create=True) as storage:
        index_path(storage, root, revision="v1", workers=1)
        index_path(storage, root, workers=1)
    return root
