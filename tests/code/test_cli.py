"""The command `sleuth code`."""

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sleuth import default_embedder, index_path, open_code
from sleuth.errors import amount
from tests.code.conftest import Git, answer, opened, run, write
from tests.code.projects import SHOP
from tests.commands import sleuth
from tests.embedders import Letters


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop")
    git = Git(root)
    git.commit(dict(SHOP))
    process = run(root, "index", ".")
    assert process.returncode == 0, process.stderr
    assert "main" in process.stdout
    return root


def test_search(place: Path) -> None:
    """Hits have path, lines and code; they are printed as text, as JSON and as a prompt block, with relations and
    explanations.
    """
    process = run(
        place, "search", "record", "an", "order", "in", "the", "ledger", "--expand", "callers", "--explain"
    )
    assert " 1 shop/ledger.py:1-3  1.00  code\n   record\n   1 def record(order):" in process.stdout
    assert "callers: audit (shop/ledger.py:6), PaymentProcessor.charge" in process.stdout
    assert "category factor" in process.stdout
    result = answer(place, "search", "ledger", "--path", "shop", "--lang", "py", "--no-tests", "-k", "2")
    assert result["hits"][0]["file_path"] == "shop/ledger.py"
    assert len(result["hits"]) <= 2
    prompt = run(place, "search", "ledger", "--budget", "200").stdout
    assert prompt.startswith("### File: shop/ledger.py")
    hybrid = answer(place, "search", "ledger", "--strategy", "hybrid")
    assert [part["status"] for part in hybrid["parts"]] == ["ok", "ok"]
    assert answer(place, "search", "-", stdin="newest order")["hits"][0]["file_path"] == "shop/latest.py"


@pytest.mark.parametrize("path", ["ledger.py", "shop/ledger.py"])
@pytest.mark.parametrize("words", ["search record --path", "map --focus", "similar", "history"])
def test_a_path_is_seen_from_the_working_folder_or_the_root(place: Path, words: str, path: str) -> None:
    """In a folder of a repository, a command takes a path from there, and one from the root."""
    from_root = run(place, *words.split(), "shop/ledger.py").stdout
    assert from_root
    assert run(place / "shop", *words.split(), path).stdout == from_root


def test_vectors_are_made_with_the_index(tmp_path: Path) -> None:
    """`index` makes the vectors of every file; with `--no-vectors` the first hybrid search makes them."""

    def files() -> tuple[int, int]:
        with open_code(tmp_path / ".sleuth") as storage:
            keys = [row.key for row in opened(storage).files if row.chunks]
            return len(storage.vectors(default_embedder().fingerprint, keys)), len(keys)

    Git(tmp_path).commit(dict(SHOP))
    assert run(tmp_path, "index", ".", "--no-vectors").returncode == 0
    assert files()[0] == 0
    assert run(tmp_path, "index", ".").returncode == 0
    count, total = files()
    assert count == total > 0


def test_python_makes_vectors_with_the_index(tmp_path: Path) -> None:
    """`index_path` makes the vectors that the command line makes, those of an embedder, or none."""
    Git(tmp_path).commit(dict(SHOP))
    names = (default_embedder().fingerprint, Letters.fingerprint)
    with open_code(tmp_path / ".sleuth", create=True) as storage:
        counts = []
        for choice in (False, Letters(), True):
            index_path(storage, tmp_path, vectors=choice)
            keys = [row.key for row in opened(storage).files if row.chunks]
            counts.append(tuple(len(storage.vectors(name, keys)) for name in names))
    assert counts == [(0, 0), (0, len(keys)), (len(keys), len(keys))]


def test_categories_are_left_out(place: Path) -> None:
    """`--exclude` leaves out docs, tests and more, and lists the categories when the name is unknown."""
    both = {hit["file_path"] for hit in answer(place, "search", "shop payment charge", "-k", "20")["hits"]}
    assert {"README.md", "tests/test_payment.py"} < both
    rest = answer(
        place, "search", "shop payment charge", "-k", "20", "--exclude", "docs", "--exclude", "test"
    )
    assert {hit["file_path"] for hit in rest["hits"]} == both - {"README.md", "tests/test_payment.py"}
    refused = run(place, "search", "shop", "--exclude", "klingon")
    assert refused.returncode == 2
    assert "generated" in refused.stderr


def test_walking(place: Path) -> None:
    """`refs`, `impact` and `map` print definitions, references and callers."""
    refs = answer(place, "refs", "Order.add")
    assert refs["definitions"][0]["file_path"] == "shop/models.py"
    assert run(place, "refs", "record", "--callers").stdout.count("PaymentProcessor.charge") == 1
    assert {t["name"] for t in answer(place, "impact", "record")["touched"]} >= {
        "PaymentProcessor.charge",
        "audit",
    }
    assert "class PaymentProcessor" in run(place, "map", "--budget", "500").stdout


def test_snapshots(place: Path) -> None:
    """Snapshots are listed, compared and pruned."""
    git = Git(place)
    git.commit({"shop/more.py": "more = 1\n"})
    assert run(place, "index", "--rev", "main").returncode == 0
    snapshots = answer(place, "snapshots")["snapshots"]
    assert [s["status"] for s in snapshots] == ["completed"] * 2
    assert "added\tshop/more.py" in run(place, "snapshots", "--diff", "HEAD~1", "HEAD").stdout
    assert run(place, "snapshots", "--prune", "1").stdout.count("completed") == 1


def test_failures_are_one_message(place: Path, tmp_path: Path) -> None:
    """Expected failures print one line and exit with the documented code."""
    for arguments, code in (
        (("search", "x", "--repo", "nowhere"), 2),
        (("search", "x", "--at", "nowhere"), 2),
        (("index", ".", "--rev", "nowhere"), 2),
        (("search", "x", "--strategy", "psychic"), 2),
        (("search", "zzzqqq"), 1),
        (("index", str(tmp_path / "nothing")), 2),
        (("search", "x", "--index", str(tmp_path / "none")), 3),
    ):
        process = run(place, *arguments)
        assert process.returncode == code, process.stderr
        assert "Traceback" not in process.stderr
        assert process.stderr.strip()


def test_watch_indexes_after_a_save(place: Path) -> None:
    """With --watch, every save makes a snapshot, also in a new folder and before the watch has begun."""
    pytest.importorskip("watchfiles", reason="the extra 'watch' is not installed")
    command = [sys.executable, "-u", "-m", "sleuth", "code", "index", ".", "--watch"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(600, process.kill)
        killer.start()
        try:
            assert process.stdout is not None
            process.stdout.readline()
            for name in ("shop/saved.py", "new/saved.py", "new/saved.py", "new/er/saved.py"):
                write(place, {name: f"saved = {time.monotonic_ns()}\n"})
                while not re.search(r" [1-9]\d* new", line := process.stdout.readline()):
                    assert line, f"it ended before it saw {name}"
        finally:
            killer.cancel()
            process.kill()


def test_indexing_a_repository_as_documents_offers_this(place: Path) -> None:
    """`sleuth index` on a repository names the command for code."""
    process = sleuth("index", ".", "--include", "*.md", cwd=place)
    assert "sleuth code index ." in process.stderr


def test_uncertain_uses(place: Path) -> None:
    """`refs` prints the line of a use and similar names for an unknown one; both count uncertain uses."""
    uses = answer(place, "refs", "record")["references"]
    assert {"ledger.record(order)", "return [record(o) for o in ()]"} <= {use["text"] for use in uses}
    assert "ledger.record(order)" in run(place, "refs", "record").stdout
    unknown = run(place, "refs", "recrod")
    assert unknown.returncode == 1
    assert "nothing is called 'recrod'; near it: record" in unknown.stderr
    assert json.loads(run(place, "refs", "recrod", "--json").stdout)["near"] == ["record"]
    assert answer(place, "refs", "record")["near"] == []
    charge = answer(place, "impact", "PaymentProcessor.charge")
    assert {use["text"] for use in charge["uncertain"]} >= {"if stripe.charge(self.key, order.total):"}
    process = run(place, "impact", "PaymentProcessor.charge")
    assert f"{amount(len(charge['uncertain']), 'more use')} of charge may refer to it" in process.stderr
    assert "stripe.charge" in process.stdout
    apart = answer(place, "refs", "PaymentProcessor.charge")
    assert apart["uncertain"]
    assert all(use["certain"] for use in apart["references"])
    process = run(place, "refs", "PaymentProcessor.charge")
    assert f"{amount(len(apart['uncertain']), 'more use')} of charge may refer to it" in process.stderr
    assert "stripe.charge" in process.stdout


def test_a_budget_is_not_capped_by_the_number_of_hits(place: Path) -> None:
    """With a budget, as many pieces are printed as fit, even with a small -k."""
    small = run(place, "search", "order", "payment", "-k", "1", "--budget", "60").stdout
    large = run(place, "search", "order", "payment", "-k", "1", "--budget", "2000").stdout
    assert large.count("### File") > 3
    assert len(small) <= 4 * 60 + 1


def test_code_in_a_pipe_is_whole(tmp_path: Path) -> None:
    """`search` neither cuts nor pads lines where its output is no terminal."""
    long = f"def long_name({', '.join(f'argument_{i}=None' for i in range(20))}):"
    write(tmp_path, {"a.py": f"{long}\n    return 1\n"})
    assert run(tmp_path, "index", ".").returncode == 0
    lines = run(tmp_path, "search", "long_name").stdout.splitlines()
    assert [line for line in lines if line.endswith(f"1 {long}")]
    assert all(line == line.rstrip() for line in lines)


def test_a_hit_names_its_container_once(place: Path) -> None:
    """The line below the place of a hit has the qualified name, and not the container again."""
    head, name, *_ = run(place, "search", "PaymentProcessor._give_up").stdout.splitlines()
    assert head.startswith(" 1 shop/payment.py:")
    assert name.count("PaymentProcessor") == 1


def test_a_search_that_finds_nothing_names_what_is_near(place: Path) -> None:
    """A name that nothing has is answered with names that are spelled like it; a question is not."""
    process = run(place, "search", "Ordre")
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr == "sleuth: names near it: Order\nNothing found.\n"
    process = run(place, "search", "zxqv vqxz", "--budget", "100")
    assert (process.returncode, process.stdout, process.stderr) == (1, "", "Nothing found.\n")
