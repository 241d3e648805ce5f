"""Suffixes of paths and module names resolve to files."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sleuth.code.snapshots.places import Endings, Folders, Modules, module_steps

PART = st.sampled_from(["a", "b", "a.b", "__init__", "index.ts", "b.py", "a.test.js", ".env"])
PATHS = st.lists(st.lists(PART, min_size=1, max_size=9).map("/".join), unique=True, max_size=12)


class File(NamedTuple):
    path: str


def ends(parts: list[str], separator: str, most: int) -> list[str]:
    return [separator.join(parts[-size:]) for size in range(1, min(len(parts), most) + 1)]


@given(PATHS, PATHS)
def test_suffixes_find_their_files(paths: list[str], suffixes: list[str]) -> None:
    """Every suffix of a path, its folder and its module name finds exactly the files that have it."""
    files = [File(path) for path in paths]
    lookups = [
        (Endings(paths, 5), [ends(p.split("/"), "/", 5) for p in paths]),
        (Folders(files), [ends(p.split("/")[:-1], "/", 6) for p in paths]),
        (Modules(files), [ends(module_steps(p), ".", 8) for p in paths]),
    ]
    for lookup, expected in lookups:
        names = {name for some in expected for name in some} | {
            *suffixes,
            *(a.replace("/", ".") for a in suffixes),
        }
        for name in names:
            assert list(lookup.get(name, [])) == [i for i, some in enumerate(expected) if name in some]  # type: ignore[attr-defined]
