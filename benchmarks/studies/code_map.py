"""How many of the files and functions that a fix changes does a map or a context of so many tokens show?

python -m benchmarks.studies.code_map --work FOLDER                  # ours, BM25 and semble
python -m benchmarks.studies.code_map --work FOLDER --aider PYTHON    # and aider's map, with the Python of aider

The issues are a seeded sample of `swebench_dev`, at most eight of a repository. Each system gets the text of the issue
and the tree that it was written at, and its text is cut at the budget. A token is four characters. A file is shown if
its path is, a function if its definition or another line of it is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.code_collections import swebench, swebench_blobs
from benchmarks.code_functions import Issue, gold_functions, issues_of, patches_of_issues
from benchmarks.code_peers import lay_out, static_model
from benchmarks.code_speed import code_tokens
from sleuth.code import CodeRetriever, render_context, repository_map
from sleuth.code.search.context import count_tokens

BUDGETS = (1_000, 2_000, 4_000)
REPOSITORIES = (
    "astropy/astropy", "django/django", "mwaskom/seaborn", "pallets/flask", "psf/requests", "pydata/xarray",
    "pylint-dev/pylint", "pytest-dev/pytest", "sphinx-doc/sphinx",
)  # fmt: skip
EACH = 8
_HITS = 200
_HEADING = re.compile(
    r"^(?:### File: |(?P<place>- ))?(?P<path>[\w./-]+\.\w+)(?:(?: \(L|:)(?P<first>\d+)-(?P<last>\d+).*|:)?$",
    re.M,
)

Files = Sequence[tuple[str, str]]


class Function(NamedTuple):
    """A function that a fix changes, and its lines."""

    path: str
    name: str
    first: int
    last: int


class Gold(NamedTuple):
    """What the fix of an issue changes; `paths` are all files of its tree."""

    files: frozenset[str]
    functions: frozenset[Function]
    paths: Container[str]


class Shares(NamedTuple):
    """The shares of gold files and functions that a text shows; NaN without gold functions."""

    files: float
    functions: float


def gold_of(issue: Issue, patch: str) -> Gold:
    """Return the gold files of an issue that its tree has, and the functions that the patch changes."""
    snapshot = issue.snapshot
    functions = set()
    for file, at in gold_functions(snapshot, patch):
        symbol = snapshot.detail(snapshot.files[file]).symbols[at]
        functions.add(Function(snapshot.files[file].path, symbol.name, symbol.start, symbol.end))
    return Gold(frozenset(issue.task.gold & snapshot.by_path.keys()), frozenset(functions), snapshot.by_path)


def cut(text: str, budget: int) -> str:
    """Return the whole lines of a text that the budget holds."""
    text = text[: 4 * budget]
    return text if count_tokens(text) < budget else text.rpartition("\n")[0]


def shares(text: str, gold: Gold) -> Shares:
    """Return what a text shows of the gold files and functions."""
    headings = [heading for heading in _HEADING.finditer(text) if heading["path"] in gold.paths]
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    blocks = [(heading, text[heading.start() : end]) for heading, end in zip(headings, ends, strict=True)]
    paths = {heading["path"] for heading in headings}
    files = [path in paths for path in gold.files]
    functions = [any(_shows(heading, block, one) for heading, block in blocks) for one in gold.functions]
    return Shares(*(float(np.mean(flags)) if flags else float("nan") for flags in (files, functions)))


def _shows(heading: re.Match[str], block: str, function: Function) -> bool:
    """Return whether a block shows a line of a function, or names it."""
    if heading["path"] != function.path:
        return False
    if heading["place"]:
        return re.search(rf"[ .]{re.escape(function.name)}$", heading[0]) is not None
    if heading["first"] and "[OUTLINE]" not in block:
        return int(heading["first"]) <= function.last and function.first <= int(heading["last"])
    return re.search(rf"\b(?:def|class) {re.escape(function.name)}\b", block) is not None


def ours(issue: Issue) -> dict[str, list[str]]:
    """Return our maps and contexts, a text for each budget."""
    snapshot, query = issue.snapshot, issue.task.text
    retriever = CodeRetriever(issue.storage, None)

    def context(budget: int, granularity: str) -> str:
        hits = retriever.retrieve(
            query, snapshot.repository.id, snapshot.info.id, _HITS, "keyword", explain=False, granularity=granularity
        )  # fmt: skip
        return render_context(hits, budget)

    return {
        "`map`, no query": [repository_map(snapshot, budget) for budget in BUDGETS],
        "`map --query`": [repository_map(snapshot, budget, query=query) for budget in BUDGETS],
        "`search --budget`": [context(budget, "lines") for budget in BUDGETS],
        "`search --budget --granularity function`": [context(budget, "function") for budget in BUDGETS],
    }


def bm25(files: Files, query: str) -> dict[str, list[str]]:
    """Return whole files, and paths alone, in order of BM25."""
    import bm25s

    index = bm25s.BM25()
    index.index([code_tokens(f"{path} {text}") for path, text in files], show_progress=False)
    order = np.argsort(-index.get_scores(code_tokens(query)), kind="stable").tolist()
    whole = "\n\n".join(f"{files[at][0]}:\n{files[at][1]}" for at in order[:_HITS])
    paths = "\n".join(files[at][0] for at in order)
    return {
        "whole files by BM25": [cut(whole, budget) for budget in BUDGETS],
        "paths by BM25": [cut(paths, budget) for budget in BUDGETS],
    }


def semble(folder: Path, work: Path, query: str) -> dict[str, list[str]]:
    """Return semble's snippets, best first."""
    os.environ |= {"XDG_CACHE_HOME": str(work.resolve() / "cache"), "HF_HUB_OFFLINE": "1"}
    from semble import SembleIndex
    from semble.types import ContentType

    contents = (ContentType.CODE, ContentType.DOCS, ContentType.CONFIG)
    index: Any = SembleIndex.from_path(folder, content=contents, model_path=static_model(work))
    chunks = [hit.chunk for hit in index.search(query, top_k=_HITS)]
    text = "\n\n".join(f"{c.file_path}:{c.start_line}-{c.end_line}\n{c.content}" for c in chunks)
    return {"semble's snippets": [cut(text, budget) for budget in BUDGETS]}


def aider(python: Path, folder: Path, files: Files, query: str) -> dict[str, list[str]]:
    """Return aider's maps."""
    request = {
        "root": str(folder.resolve()),
        "files": [path for path, _ in files],
        "text": query,
        "budgets": BUDGETS,
    }
    script = Path(__file__).with_name("code_map_aider.py")
    process = subprocess.run(
        [python, "-I", script], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True
    )
    return {
        "aider's map": [
            cut(text, budget)
            for text, budget in zip(json.loads(process.stdout.splitlines()[-1]), BUDGETS, strict=True)
        ]
    }


def sample() -> dict[str, set[str]]:
    """Return the ids of the sampled issues by repository."""
    chance = random.Random(18)
    ids = {
        name: sorted(task.id for task, _ in tasks)
        for name, tasks in swebench().items()
        if name in REPOSITORIES
    }
    return {name: set(chance.sample(all_, min(EACH, len(all_)))) for name, all_ in sorted(ids.items())}


def peers(issue: Issue, files: Files, options: argparse.Namespace) -> dict[str, list[str]]:
    """Return what each peer shows for an issue, a text for each budget."""
    query = issue.task.text
    folder = options.work / "map" / issue.repository.replace("/", "_")
    lay_out(files, folder)
    texts = bm25(files, query) | semble(folder, options.work, query)
    return texts | (aider(options.aider, folder, files, query) if options.aider else {})


def trees(name: str, ids: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return path and blob of the files of each tree."""
    return {task.id: tree for task, tree in swebench()[name] if task.id in ids}


def measured(name: str, ids: set[str], options: argparse.Namespace) -> dict[str, list[list[Shares]]]:
    """Return what each system shows of the issues of a repository: for each issue and budget."""
    patches = patches_of_issues()
    tree_by_issue = trees(name, ids)
    blobs = (
        {} if options.ours else swebench_blobs({blob for tree in tree_by_issue.values() for _, blob in tree})
    )
    shares_by_system: dict[str, list[list[Shares]]] = {}
    for issue in issues_of(options.work, [name], ids):
        gold = gold_of(issue, patches[issue.task.id])
        texts = ours(issue)
        if not options.ours:
            files = [(path, blobs[blob]) for path, blob in tree_by_issue[issue.task.id]]
            texts |= peers(issue, files, options)
        for system, maps in texts.items():
            shares_by_system.setdefault(system, []).append([shares(text, gold) for text in maps])
    return shares_by_system


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--aider", type=Path, help="the Python of an environment with aider-chat")
    parser.add_argument("--only", nargs="*", default=REPOSITORIES, help="repositories")
    parser.add_argument("--ours", action="store_true", help="without the peers")
    parser.add_argument(
        "--keep", type=Path, help="add what is measured to this file, and print all that it holds"
    )
    options = parser.parse_args()
    has_file = options.keep is not None and options.keep.exists()
    by_repository: dict[str, dict[str, Any]] = json.loads(options.keep.read_text()) if has_file else {}
    for name, ids in sample().items():
        if name in options.only:
            began = time.perf_counter()
            by_repository[name] = by_repository.get(name, {}) | measured(name, ids, options)
            if options.keep:
                options.keep.write_text(json.dumps(by_repository))
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    heads = [f"{what}, {budget}" for what in ("files", "functions") for budget in BUDGETS]
    print(f"| | issues | {' | '.join(heads)} |\n{'|---' * (2 + len(heads))}|")
    for system in dict.fromkeys(system for systems in by_repository.values() for system in systems):
        issues = [issue for systems in by_repository.values() for issue in systems.get(system, ())]
        means = np.nanmean(np.array(issues), axis=0).T.ravel()
        print(f"| {system} | {len(issues)} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
