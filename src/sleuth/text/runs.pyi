from collections.abc import Callable, Collection
from typing import Final

WITHOUT_CLITICS: Final = 0
ALL_PARTS: Final = 1
FIRST_PART: Final = 2

def cut_run(apostrophes: int, run: str) -> list[str] | None: ...
def cut_runs(
    runs: list[str],
    stop: Collection[str],
    longest: int,
    folded: bool,
    cut: Callable[[str], list[str] | None] | None,
    find: Callable[[str], list[tuple[int, int, str]]],
) -> tuple[list[str], list[int]]: ...
def has_unspaced(text: str) -> bool: ...
def short_parts(run: str) -> list[tuple[int, int]]: ...
