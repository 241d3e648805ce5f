"""Run tests over kernels that are compiled with sanitizers, and print the outcome of each file or folder of them.

`python tools/sanitize.py PATH ...`, in a tree whose kernels are compiled so; `make sanitize` makes one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

REPORTS = Path("reports")
NOT_MEANT = {
    "tests/code/test_workers.py": "limits of memory: the sanitizers' own allocator reports that it is at one",
    "tests/ingest/extraction/test_limits.py": "limits of memory",
    "tests/faults/test_surroundings.py": "limits of memory",
    "tests/store/test_scratch.py::test_large_blocks_are_given_back": "the C library's allocator, which is replaced",
    "tests/fuzz": "limits of time, which hold for kernels at their speed",
    "tests/surfaces/page": "Chromium, which cannot be started with the sanitizers' library",
}
"""Tests that are not run, with the reason."""

OUTCOMES = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


class Run(NamedTuple):
    """The outcome of a file or folder of tests.

    Attributes:
        outcomes: how many tests passed, failed and were skipped.
        reports: what the sanitizers wrote, in any process, a line each.
        output: the end of the output of pytest.
    """

    path: str
    outcomes: dict[str, int]
    reports: list[str]
    output: str

    @property
    def is_clean(self) -> bool:
        """Whether tests passed, none failed, and no sanitizer wrote anything."""
        return bool(self.outcomes.get("passed")) and not (
            self.reports or self.outcomes.keys() - {"passed", "skipped"}
        )


def environment() -> dict[str, str]:
    """Return the environment in which the sanitizers of a library work: their own is loaded first.

    That of C++ comes second, for exceptions of other packages pass through the first.
    """
    libraries = [
        subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    log = f"log_path={(REPORTS / 'report').resolve()}"
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        # pytrec_eval frees with free() what it got from new[].
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0:{log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:{log}",
        "SLEUTH_EXPLORE": "1",
        "PYTHONPATH": "src",
    }


def run(path: str) -> Run:
    """Run one file or folder of tests."""
    REPORTS.mkdir(exist_ok=True)
    for report in REPORTS.iterdir():
        report.unlink()
    options = ["-n", "2", "-p", "no:cacheprovider", *(f"--deselect={left_out}" for left_out in NOT_MEANT)]
    command = [sys.executable, "-m", "pytest", *options, path]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    outcomes = {name: int(count) for count, name in OUTCOMES.findall(result.stdout[-300:])}
    reports = [summarize(report.read_text("utf-8", "replace")) for report in sorted(REPORTS.iterdir())]
    return Run(path, outcomes, reports, result.stdout[-6_000:])


def summarize(report: str) -> str:
    """Return the line of a report that names the error, or all of a report without one."""
    return next((line for line in report.splitlines() if "rror" in line), repr(report))


def main(paths: list[str]) -> int:
    """Run all, print the output of those that are not clean as they end, then the table."""
    runs = []
    for path in paths:
        runs.append(run(path))
        print(".", end="", flush=True)
        if not runs[-1].is_clean:
            print(f"\n{runs[-1].output}\n", *runs[-1].reports, sep="\n", flush=True)
    print(f"\n{'tests':40}{'passed':>8}{'failed':>8}{'skipped':>9}{'reports':>9}")
    for path, outcomes, reports, _ in runs:
        failed = sum(count for name, count in outcomes.items() if name not in ("passed", "skipped"))
        counts = (outcomes.get("passed", 0), failed, outcomes.get("skipped", 0), len(reports))
        print(f"{path:40}{counts[0]:8}{counts[1]:8}{counts[2]:9}{counts[3]:9}")
    return int(not all(each.is_clean for each in runs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
