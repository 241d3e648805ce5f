"""The command line: its output, exit codes and signals."""

import fcntl
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.ingest import Skipped, grouped
from sleuth.store.passages.records import coded
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.main import register
from sleuth.surfaces.cli.progress import CtrlC
from tests.code.conftest import write
from tests.commands import sleuth, sleuth_process
from tests.ingest.files import pdf
from tests.waiting import wait_until

GUIDE = Path(__file__).with_name("guide.txt").read_text("utf8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {"guide.md": GUIDE, "picture.bin": bytes(range(256)) * 8}
    return write(tmp_path / "docs", {**files, "cats.txt": "Cats sleep most of the day.\n"}).parent


@pytest.fixture
def indexed(home: Path) -> Path:
    process = sleuth("index", "docs", "--embedder", "", cwd=home)
    assert process.returncode == 0, process.stderr
    return home


def test_index_reports_what_it_did(home: Path) -> None:
    """Counts are printed on standard output, skipped files with reasons on standard error, without a progress bar in a
    pipe.
    """
    result = sleuth_process("index", "docs", cwd=home)
    assert result.returncode == 0
    assert "2 added" in result.stdout
    assert "picture.bin: binary" in result.stderr
    assert "picture.bin" in sleuth("index", "docs", "--json", cwd=home).stdout
    assert "\x1b" not in result.stdout + result.stderr
    again = sleuth("index", "docs", cwd=home)
    assert "0 added, 2 unchanged" in again.stdout


def test_index_without_paths(indexed: Path) -> None:
    """The folders that the index remembers are read again, from any folder; one that is gone is named."""
    write(indexed / "docs", {"new.md": "A quail is a bird.", "cats.txt": "Cats sleep at noon."})
    below = indexed / "docs" / "below"
    below.mkdir()
    process = sleuth("index", cwd=below)
    assert "1 added, 1 updated, 1 unchanged" in process.stdout
    assert sleuth("search", "quail", cwd=indexed).returncode == 0
    below.rmdir()
    (indexed / "docs").rename(indexed / "guides")
    process = sleuth("index", cwd=indexed)
    assert process.returncode == 0
    assert "3 documents" in process.stdout
    assert "docs is gone" in process.stderr


def test_search_json(indexed: Path) -> None:
    """--json prints items with id, text, metadata, score and marked snippet."""
    process = sleuth("search", "tokens", "--json", "-k", "1", cwd=indexed)
    result = json.loads(process.stdout)
    (item,) = result["items"]
    assert item["metadata"]["path"] == "docs/guide.md"
    assert item["file"] == str(indexed / "docs" / "guide.md")
    assert item["score"] > 0
    start, end = item["snippet"]["spans"][0]
    assert item["snippet"]["text"][start:end].lower() == "tokens"


def test_search_by_meaning(home: Path) -> None:
    """A new index has both legs; --leg and --fusion select them, and --explain shows both."""
    assert sleuth("index", "docs", cwd=home).returncode == 0
    process = sleuth("search", "kittens napping", "-k", "1", "--explain", cwd=home)
    assert "cats.txt" in process.stdout
    assert "dense" in process.stdout
    words = sleuth("search", "tokens", "--explain", cwd=home).stdout
    assert "BM25" in words and "idf" in words
    assert sleuth("search", "kittens napping", "--leg", "lexical", cwd=home).returncode == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("search", "tokens", "--filter", "path:cats.txt"), 1, "Nothing found"),
        (("search", "unheardof"), 1, "Nothing found"),
        (("search", "tokens", "--filter", "year>=("), 2, "sleuth: "),
        (("search", "cats", "--fusion", "best"), 2, "must be one of minmax"),
        (("search", "cats", "--expand", "page"), 2, ", or 'section' or 'document', got 'page'"),
        (("search", "--nope", "x"), 2, "--nope"),
        (("index", "nowhere"), 2, "nowhere"),
        (("serch",), 2, "No such command 'serch'"),
        (("facets",), 2, " index facets`."),
    ],
)
def test_failures_have_a_message_and_a_code(
    indexed: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """Nothing found is 1, a wrong argument 2, and standard output stays empty; JSON has an empty list."""
    process = sleuth(*words, cwd=indexed)
    assert (process.returncode, process.stdout) == (code, "")
    assert message in process.stderr
    if code == 1:
        assert json.loads(sleuth(*words, "--json", cwd=indexed).stdout)["items"] == []


def test_index_folder_is_found(indexed: Path) -> None:
    """--index wins over the environment variable, which wins over the nearest .sleuth above."""
    below = indexed / "docs"
    assert sleuth("search", "cats", cwd=below).returncode == 0
    missing = sleuth("search", "cats", cwd=below, SLEUTH_INDEX=str(indexed / "nowhere"))
    assert missing.returncode == 3
    assert "sleuth index" in missing.stderr
    process = sleuth("search", "cats", "--index", str(indexed / ".sleuth"), cwd=below, SLEUTH_INDEX="nowhere")
    assert process.returncode == 0


def test_show_and_delete(indexed: Path) -> None:
    """The id of a hit can be shown, and its document deleted."""
    item = json.loads(sleuth("search", "cats", "--json", cwd=indexed).stdout)["items"][0]
    assert "Cats sleep" in sleuth("show", item["id"], cwd=indexed).stdout
    document = item["id"].rpartition("#")[0]
    for name in (document, f"{document}:1", f"{document}:1-3"):
        assert json.loads(sleuth("show", name, "--json", cwd=indexed).stdout)[0]["id"] == item["id"]
    assert sleuth("index", "delete", document, cwd=indexed).returncode == 0
    assert sleuth("search", "cats", cwd=indexed).returncode == 1
    assert sleuth("index", "delete", document, cwd=indexed).returncode == 1
    assert sleuth("show", item["id"], cwd=indexed).returncode == 2


def test_files_of_rows(indexed: Path) -> None:
    """The path of a row file stands for all of its rows, and that of a folder for all of its files."""
    (indexed / "docs" / "caf\udce9.csv").write_text("t\nocelot\nmargay\n")
    (indexed / "docs" / "caf\udce9.csv#").write_text("a neighbour")
    assert "3 added" in sleuth("index", "docs", cwd=indexed).stdout
    process = sleuth("show", "docs/caf\udce9.csv", "--json", cwd=indexed)
    assert [item["text"] for item in json.loads(process.stdout)] == ["t: ocelot", "t: margay"]
    assert "ocelot" in sleuth("index", "summarize", "docs/caf\udce9.csv", cwd=indexed).stdout
    assert sleuth("index", "delete", "docs/caf\udce9.csv", cwd=indexed).stdout == "Deleted 2 documents.\n"
    assert sleuth("show", "docs/caf\udce9.csv", cwd=indexed).returncode == 2
    assert sleuth("index", "delete", "docs", "other", cwd=indexed).returncode == 1
    assert json.loads(sleuth("status", "--json", cwd=indexed).stdout)["documents"] == 0


def test_skipped_files(indexed: Path) -> None:
    """Skipped files are not a failure if others are unchanged, and their names are escaped."""
    (indexed / "docs" / "red\x1b[31m\nname.txt").write_bytes(b"")
    again = sleuth("index", "docs", cwd=indexed)
    assert again.returncode == 0
    assert again.stderr.endswith("picture.bin: binary\n  1 empty\n")
    process = sleuth("index", "docs", "--verbose", cwd=indexed)
    assert "  docs/red\\x1b[31m\\nname.txt: empty\n" in process.stderr
    (indexed / "docs" / "cats.txt").write_bytes(b"")
    assert "0 added, 1 unchanged, 1 deleted in" in sleuth("index", "docs", cwd=indexed).stdout
    assert sleuth("index", "docs/cats.txt", cwd=indexed).returncode == 0
    (indexed / "docs" / "cats.txt").write_bytes(b"\0")
    assert sleuth("index", "docs/cats.txt", cwd=indexed).returncode == 1


def test_hidden_and_ignored_names(indexed: Path) -> None:
    """Hidden and ignored names are counted, and read on request."""
    ignored = {".gitignore": "*.log\nmade/\n", "a.log": "ignored margay", "made/b.md": "ignored caracal"}
    write(indexed / "docs", {**ignored, ".notes.md": "hidden ocelot"})
    process = sleuth("index", "docs", cwd=indexed)
    line = "Left out 1 hidden (--hidden reads them), 2 ignored (--no-ignore reads what .gitignore names).\n"
    assert line in process.stderr
    report = json.loads(sleuth("index", "docs", "--json", cwd=indexed).stdout)
    assert (report["hidden"], report["ignored"]) == (1, 2)
    assert "2 added" in sleuth("index", "docs", "--hidden", "--exclude", "*.log", cwd=indexed).stdout
    assert "2 added" in sleuth("index", "docs", "--no-ignore", "--defaults", cwd=indexed).stdout


def test_status_and_doctor(indexed: Path) -> None:
    """Both report every leg, as text and JSON; damage is exit code 1 with a remedy."""
    assert "lexical" in sleuth("status", cwd=indexed).stdout
    assert json.loads(sleuth("status", "--json", cwd=indexed).stdout)["documents"] == 2
    assert sleuth("doctor", "--full", cwd=indexed).returncode == 0
    record = indexed / ".sleuth" / "record.sqlite"
    with Engine.open(indexed / ".sleuth") as engine:
        text = engine.get("docs/guide.md")[0].text
    data = record.read_bytes()
    at = data.index(coded(text.encode()))
    record.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    findings = json.loads(sleuth("doctor", "--full", "--json", cwd=indexed).stdout)
    assert any(finding["level"] == "error" and finding["remedy"] for finding in findings)
    printed = sleuth("doctor", "--full", cwd=indexed).stdout
    assert printed.startswith("error ")
    assert "loads" not in printed
    verbose = sleuth("doctor", "--full", "--verbose", cwd=indexed).stdout
    levels = [line.split()[0] for line in verbose.splitlines() if not line.startswith(" ")]
    levels = [level for level in levels if level in ("error", "warning", "info", "ok")]
    assert levels == sorted(levels, key=["error", "warning", "info", "ok"].index)
    assert "sleuth.lexical" in verbose
    assert "guide.md" in sleuth("doctor", "--repair", cwd=indexed).stdout
    assert sleuth("doctor", "--full", cwd=indexed).returncode == 0
    assert sleuth("index", "docs", cwd=indexed).returncode == 0
    assert sleuth("search", "fifty tokens", cwd=indexed).returncode == 0


def test_a_locked_index_names_its_holder(indexed: Path) -> None:
    """A second writer exits with code 4 after its timeout and names the holder of the lock."""
    with (indexed / ".sleuth" / "writer.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = sleuth("index", "delete", "x", "--timeout", "0.2", cwd=indexed)
    assert result.returncode == 4
    assert "is being written by another process" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_loses_nothing_and_the_same_command_goes_on(tmp_path: Path, number: int) -> None:
    """Ctrl-C and SIGTERM exit with 130, committed documents stay, and the same command completes the index."""
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(2_000):
        (folder / f"note{i}.md").write_text(f"# Note {i}\n\n" + f"word{i} and more. " * 40)
    command = [sys.executable, "-m", "sleuth", "index", "many", "--embedder", ""]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_until((tmp_path / ".sleuth" / "record.sqlite").exists)
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert sleuth("doctor", cwd=tmp_path).returncode == 0
    report = json.loads(sleuth("index", "many", "--json", cwd=tmp_path).stdout)
    assert report["documents"] == 2_000
    assert report["added"] + report["unchanged"] == 2_000


def test_ctrl_c_waits_for_a_safe_place() -> None:
    """The first Ctrl-C is delayed until progress is reported, the second is immediate; an ignored signal stays
    ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    calls: list[int] = []
    with CtrlC() as ctrl_c:
        tell = ctrl_c.heeded(calls.append)
        tell(1)
        signal.raise_signal(signal.SIGINT)
        assert ctrl_c.pressed
        with pytest.raises(KeyboardInterrupt):
            tell(2)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert calls == [1, 2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with CtrlC():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_outputs_that_nobody_reads(indexed: Path) -> None:
    """A reader that closes the pipe early, and a closed output, are not failures; remarks come after the answer."""
    shell = f"unset PYTHONUNBUFFERED; set -o pipefail; {sys.executable} -m sleuth"
    for rest in (
        "search -k 99 --json tokens | true",
        "search tokens >&-",
        "search tokens 2>&-",
        "status >&-",
    ):
        command = ["bash", "-c", f"{shell} {rest}"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=indexed, check=False)
        assert (result.returncode, result.stderr) == (0, "")
    command = ["bash", "-c", f"{shell} ask how often are tokenns refilled 2>&1"]
    assert "\nsleuth: no passage holds" in subprocess.check_output(command, text=True, cwd=indexed)


def test_parts_of_files_are_counted_apart(tmp_path: Path) -> None:
    """A file that was indexed without a row counts as indexed without parts, not as skipped."""
    (tmp_path / "a.jsonl").write_text('{"text": "good words"}\n{"text": \n')
    (tmp_path / "b.bin").write_bytes(b"\0\1\2" * 50)
    result = sleuth("index", "a.jsonl", "b.bin", cwd=tmp_path)
    assert "Indexed without parts 1:\n  a.jsonl#2: " in result.stderr
    assert "Skipped 1:\n  b.bin: " in result.stderr


def test_one_line_for_each_kind_and_reason() -> None:
    """Files are counted by extension, numbers do not separate groups, and a single file is named."""
    skips = [
        *(Skipped(f"/a/{n}.xlsx", "binary", "binary") for n in range(54)),
        *(Skipped(f"/a/{n}.pptx", "binary", "binary") for n in range(49)),
        *(Skipped(f"/a/{n}.docx", "install sleuth[office]", "missing package") for n in range(2)),
        *(Skipped(f"/a/{n}.txt", f"{n},000 bytes, over the limit of 5", "oversized") for n in range(6, 9)),
        *(Skipped(f"/a/x.csv#{n}", "no text in its fields", "row") for n in range(4)),
        *(Skipped(f"/a/{n}", "empty", "empty") for n in range(3)),
        Skipped("/a/b.pdf", "took more than 20 s to read", "limits"),
        Skipped("/a/Makefile", "no permission to read it", "permission"),
    ]
    assert grouped(skips) == [
        "54 .xlsx, 49 .pptx: binary", "4 rows: no text in its fields",
        "3 .txt: 6,000 bytes, over the limit of 5, for example", "3 empty", "2 .docx: install sleuth[office]",
        "/a/b.pdf: took more than 20 s to read", "/a/Makefile: no permission to read it",
    ]  # fmt: skip


def test_the_advice_of_a_refusal_works(tmp_path: Path) -> None:
    """The error of a refused embedder has the command that accepts it, which reads no files."""
    (tmp_path / "limits.md").write_text("Tokens are refilled every second.\n")
    assert sleuth("index", "limits.md", "--index", "my index", "--embedder", "", cwd=tmp_path).returncode == 0
    refused = sleuth("index", "limits.md", "--index", "my index", "--embedder", "wordllama", cwd=tmp_path)
    command = refused.stderr.strip().rpartition("embed everything again: ")[2]
    assert command == "sleuth index --index 'my index' --re-embed --embedder wordllama"
    process = sleuth(*shlex.split(command)[1:], cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, "1 document, 1 passage in my index\n"), process.stderr
    assert sleuth("search", "refilled", "--index", "my index", "--leg", "dense", cwd=tmp_path).returncode == 0
    assert sleuth("index", "--index", "nowhere", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "nowhere").exists()


def test_the_command_is_read_as_a_shell_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotations hold arguments together; one without an end is refused before anything is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLEUTH_INDEX", raising=False)
    Path("a.pdf").write_bytes(pdf([[]], pictures=(0,)))
    command = shlex.join([sys.executable, "-c", "print('An ocelot sleeps here')"])
    register(["index"])
    with pytest.raises(ArgumentError, match="--ocr must be a command as a shell reads it, got"):
        CliRunner().invoke(app, ["index", "a.pdf", "--ocr", "tesseract 'eng"], catch_exceptions=False)
    assert not Path(".sleuth").exists()
    result = CliRunner().invoke(
        app, ["index", "a.pdf", "--embedder", "", "--ocr", command], catch_exceptions=False
    )
    assert result.output.startswith("1 added")


def test_an_index_gets_synonyms(tmp_path: Path) -> None:
    """A file is checked before it is kept; searches use it, --remove takes it away."""
    write(tmp_path, {"words.txt": "k8s, kubernetes\n", "wrong.txt": "k8s\n"})
    (tmp_path / "a.md").write_text("# Kubernetes\n\nKubernetes runs containers.")
    assert sleuth("index", "a.md", "--embedder", "", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", cwd=tmp_path).returncode == 1
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1
    assert sleuth("index", "synonyms", "wrong.txt", cwd=tmp_path).returncode == 2
    assert sleuth("index", "synonyms", "words.txt", cwd=tmp_path).stdout.startswith(
        "Words and phrases that have synonyms: 2;"
    )
    assert sleuth("index", "synonyms", cwd=tmp_path).stdout == "k8s, kubernetes\n"
    answer = json.loads(sleuth("search", "--json", "k8s", cwd=tmp_path).stdout)
    assert [item["id"] for item in answer["items"]] == ["a.md#0"]
    assert answer["notes"] == ["no passage holds 'k8s'", "'k8s' also stands for: kubernetes"]
    assert sleuth("search", "--no-synonyms", "k8s", cwd=tmp_path).returncode == 1
    assert sleuth("doctor", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", "--remove", cwd=tmp_path).returncode == 0
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1


def test_a_file_of_defaults_names_synonyms(tmp_path: Path) -> None:
    """Searches of documents alone or with code use them, before those of the index; a project names a file below it."""
    docs = {"docs/a.md": "# Kubernetes\n\nKubernetes runs containers.", "docs/words.txt": "k8s, kubernetes\n"}
    write(tmp_path, {**docs, "own.txt": "k8s, clusters\n", "app.py": "def start():\n    return 1\n"})
    assert sleuth("index", "docs/a.md", "--embedder", "", cwd=tmp_path).returncode == 0
    assert sleuth("code", "index", ".", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", "own.txt", cwd=tmp_path).returncode == 0
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1
    (tmp_path / "sleuth.toml").write_text('synonyms = "docs/words.txt"\n')
    for sources in ((), ("--in", "docs", "--in", "code")):
        answer = json.loads(sleuth("search", "--json", *sources, "k8s", cwd=tmp_path).stdout)
        assert "docs/a.md#0" in [item["id"] for item in answer["items"]]
        assert "'k8s' also stands for: kubernetes" in answer["notes"]
    assert sleuth("search", "--no-synonyms", "k8s", cwd=tmp_path).returncode == 1
    (tmp_path / "sleuth.toml").write_text('synonyms = "../words.txt"\n')
    refused = sleuth("search", "k8s", cwd=tmp_path)
    assert (refused.returncode, "must be a file below its folder" in refused.stderr) == (2, True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of five files in three folders."""
    files = {
        "docs/a.md": "---\nyear: 2020\nauthor: Ann\n---\nA token bucket in English words that are long enough to tell.",
        "docs/b.md": "---\nyear: 2020\nauthor: Bob\n---\nAnother bucket.",
        "docs/deep/c.md": "---\nyear: 2021\n---\nCats sleep.",
        "notes/d.txt": "A bucket of notes.",
        "top.txt": "Nothing else.",
    }
    home = write(tmp_path_factory.mktemp("home"), files)
    assert sleuth("index", ".", "--embedder", "", cwd=home).returncode == 0
    return home


def test_keys_have_their_most_frequent_values(folders: Path) -> None:
    """A key has its types and documents; values of which each document has its own are one line."""
    output = sleuth("index", "facets", "year", "author", "type", cwd=folders).stdout
    assert output.splitlines() == [
        "year  integer, 3 documents", "       2  2020", "       1  2021", "author  string, 2 documents",
        "   a value of its own for each document, such as Ann", "type  string, 5 documents",
        "       3  markdown", "       2  text",
    ]  # fmt: skip
    every = sleuth("index", "facets", cwd=folders).stdout
    assert "path  string, 5 documents" in every
    assert not any(line.startswith(("end_line", "heading", "start_line")) for line in every.splitlines())
    assert sleuth("index", "facets", "end_line", cwd=folders).returncode == 0


def test_facets_as_json_within_a_filter_and_a_query(folders: Path) -> None:
    """Filters, a query and a limit choose what is counted."""

    def counted(*options: str) -> Any:
        (entry,) = json.loads(sleuth("index", "facets", "type", "--json", *options, cwd=folders).stdout)[
            "keys"
        ]
        return entry

    values = [{"value": "markdown", "documents": 2}, {"value": "text", "documents": 1}]
    assert counted("--query", "bucket") == {
        "key": "type",
        "types": ["string"],
        "documents": 3,
        "values": values,
    }
    values = [{"value": "markdown", "documents": 1}]
    entry = {"key": "type", "types": ["string"], "documents": 1, "values": values}
    assert counted("-k", "1", "-f", "year:2021") == entry
    process = sleuth("index", "facets", "nope", cwd=folders)
    assert (process.returncode, process.stdout.strip()) == (1, "nope  no document has it")
    process = sleuth("list", "--filter", "yaer:2021", cwd=folders)
    assert "no document has the metadata key 'yaer'; did you mean 'year'?" in process.stderr
