"""The seven tools, called by a client of the SDK."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine, RetrievedItem
from sleuth.engine import Workspace
from sleuth.errors import ArgumentError
from sleuth.filters import as_filter
from sleuth.surfaces.hits import snippet_of
from sleuth.surfaces.mcp import TOOLS, Tools
from sleuth.surfaces.mcp.items import tokens_of
from sleuth.surfaces.mcp.server import LIMIT, most_tokens
from tests.surfaces.project import git

from .conftest import call, pages, path_of, refusal, with_client

NAMES = ["search", "fetch", "definitions", "references", "grep", "history", "status"]


def test_seven_tools_that_read(workspace: Workspace) -> None:
    """There are seven tools, all read-only, and each needs at most its first argument."""

    async def work(client: Any) -> Any:
        return await client.list_tools()

    tools = with_client(workspace, work).tools
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert tool.input_schema["required"] == list(tool.input_schema["properties"])[:1]
        assert tool.description


def test_the_tools_cost_few_tokens() -> None:
    """All descriptions and schemas have at most 1,200 tokens, and a search at most six arguments."""
    schemas = [(tool.name, tool.description, tool.input_schema) for tool in TOOLS]
    assert sum(map(tokens_of, schemas)) <= 1_200
    assert list(TOOLS[0].properties) == ["query", "sources", "path", "kind", "k", "max_tokens"]


def test_search_keeps_the_contract_of_chatgpt(workspace: Workspace, quiet_project: Path) -> None:
    """A query alone returns results with id and title, of documents and code, and the url that a client can open."""
    answer = call(workspace, "search", query="how are tokens refilled")
    assert answer["indexed_root"] == str(quiet_project)
    assert {path_of(result) for result in answer["results"]} > {"docs/limits.md", "src/bucket.py"}
    assert all(hit["id"] and hit["title"] and not {"url", "kind"} & hit.keys() for hit in answer["results"])
    tools = Tools(workspace, url_of=lambda id, metadata: f"https://search.example.org/{id}")
    for result in json.loads(tools.call("search", {"query": "how are tokens refilled"}))["results"]:
        assert result["url"].startswith("https://search.example.org/")
        fetched = json.loads(tools.call("fetch", {"id": result["id"]}))
        assert fetched.keys() >= {"id", "title", "text", "url", "metadata"}
    whole = json.loads(tools.call("fetch", {"id": "src/bucket.py"}))
    assert whole["url"].startswith(f"https://search.example.org/{quiet_project}/src/bucket.py:1-")


def test_search_says_how_well_its_results_fit(workspace: Workspace, limited: Any) -> None:
    """A search has the grade of its best results, also for a client that sees documents only."""
    assert call(workspace, "search", query="who is the mayor of Paris")["grade"] == "nothing close"
    tools = Tools(limited("type:markdown"))
    assert json.loads(tools.call("search", {"query": "how are tokens refilled"}))["grade"] == "likely answers"


def test_fetch_gives_the_text_of_each_result(workspace: Workspace) -> None:
    """Every id of a search is fetched with the same text."""
    for result in call(workspace, "search", query="tokens refill bucket")["results"]:
        fetched = call(workspace, "fetch", id=result["id"])
        assert (fetched["text"], fetched.get("changed")) == (result["text"], None)


@pytest.mark.parametrize(
    ("id", "text", "line"),
    [
        ("src/bucket.py:4-5", 'class TokenBucket:\n    """Limits how often something happens."""', 4),
        ("src/bucket.py:1", '"""Token buckets."""', 1),
        ("docs/limits.md:5-7", "## Burst\n\nA burst takes what there is.", 5),
    ],
)
def test_fetch_by_path_and_lines(workspace: Workspace, id: Any, text: Any, line: Any) -> None:
    """A path with lines returns exactly these lines and their first number."""
    answer = call(workspace, "fetch", id=id)
    assert (answer["text"], answer["start_line"]) == (text, line)


def test_fetch_reads_on_with_the_cursor(saved: Any) -> None:
    """A file that does not fit is returned in pieces that join to the whole; `omitted` counts the remaining lines."""
    text = "".join(f"value_{n} = {n}\n" for n in range(400))
    workspace = saved(**{"src/many.py": text})
    pieces, lines = [], 400
    for answer in pages(workspace, "fetch", id="src/many.py", max_tokens=500):
        assert tokens_of(answer) <= 500
        assert answer["start_line"] == 401 - lines
        pieces.append(answer["text"])
        lines = answer["omitted"]
    assert "".join(pieces) == text.removesuffix("\n")
    assert lines == 0
    assert len(pieces) > 3


@pytest.mark.parametrize("max_tokens", [250, 300, 400, 600, 900, 1500, 4000])
def test_answers_keep_to_their_budget(workspace: Workspace, max_tokens: Any) -> None:
    """No answer exceeds max_tokens: the best results have a text, the others a name, and `omitted` counts the rest."""
    options: dict[str, Any] = {"query": "tokens bucket refill", "k": 20}
    everything = call(workspace, "search", **options, max_tokens=20_000)
    expected = [result["id"] for result in everything["results"]]
    assert "omitted" not in everything
    answer = call(workspace, "search", **options, max_tokens=max_tokens)
    assert tokens_of(answer) <= max_tokens
    ids = [result["id"] for result in answer["results"]]
    assert ids == expected[: len(ids)]
    assert answer.get("omitted", 0) == len(expected) - len(ids)
    assert "text" in answer["results"][0]


def test_a_long_text_is_cut_between_lines(saved: Any) -> None:
    """The first result has as many lines of its text as fit, head first, and dots where it goes on."""
    lines = ["def refilled():", *(f"    refill the bucket with {n} tokens" for n in range(40))]
    workspace = saved(**{"src/long.py": "\n".join(lines)})
    (result,) = call(workspace, "search", query="refilled", path="src/long.py", max_tokens=350)["results"]
    shown = result["text"].removesuffix("\n…").splitlines()
    assert 5 < len(shown) < len(lines) and shown == lines[: len(shown)]


def test_a_window_of_code_goes_by_the_words_that_say_something() -> None:
    """Stop words of a question move no window of code, and forms of its words count."""
    text = "# is it the one, and if so how\n" + "x = 1\n" * 90 + "def refill(bucket): ...\n"
    hit = RetrievedItem(id="a", text=text, metadata={"source_type": "code"})
    assert "refill(bucket)" in snippet_of("how is the bucket refilled", hit).text


def test_other_pieces_of_a_file_are_shown_by_their_lines(saved: Any) -> None:
    """`more` has what else of a file fits, after its lines: of a long definition its head and lines with the words."""
    steps = "".join(f"    step_{n} = prepare(step_{n - 1})\n" for n in range(1, 60))
    long, drain = f"def emptied():\n{steps}    return barrel.drain()", "def drain_barrel(barrel):\n    pass"
    workspace = saved(**{"src/barrels.py": f"{long}\n\n\n{drain}\n"})
    (result,) = call(workspace, "search", query="drain_barrel", path="src/barrels.py", k=1)["results"]
    (other,) = result["more"]
    assert result["text"] == drain
    assert other.startswith(":1-61\ndef emptied():\n…\n") and other.endswith("    return barrel.drain()")
    assert call(workspace, "fetch", id="src/barrels.py:1-61")["text"] == long


def test_the_number_of_results_has_the_names_of_other_tools(workspace: Workspace) -> None:
    """`limit` and `top_k` are taken as `k`, where one of them is given alone."""
    names = ("k", "limit", "top_k")
    answers = [call(workspace, "search", query="tokens bucket", **{name: 2})["results"] for name in names]
    assert len(answers[0]) == 2
    assert answers[0] == answers[1] == answers[2]
    for two in ({"k": 2, "limit": 3}, {"limit": 3, "top_k": 2}):
        assert "must be among" in refusal(workspace, "search", query="tokens", **two)


def test_cursors_of_other_searches_are_refused(workspace: Workspace) -> None:
    """A cursor is valid only with the arguments of its call."""
    cursor = call(workspace, "history", name="src/bucket.py", max_tokens=200)["cursor"]
    assert cursor
    assert "cursor must" in refusal(workspace, "history", name="src/shop.py", cursor=cursor)
    assert "cursor must" in refusal(workspace, "history", name="src/bucket.py", cursor="nonsense")


def test_paths_and_kinds(workspace: Workspace) -> None:
    """Results are below the path and of the kind, before the cut to k."""
    below = call(workspace, "search", query="tokens", path="src")["results"]
    assert set(map(path_of, below)) == {"src/bucket.py", "src/shop.py"}
    one = call(workspace, "search", query="tokens", path="src/shop.py", k=1)["results"]
    assert list(map(path_of, one)) == ["src/shop.py"]
    results = call(workspace, "search", query="tokens", kind="class")["results"]
    assert [result["title"] for result in results] == ["TokenBucket"]


def test_at_asks_a_commit(workspace: Workspace) -> None:
    """With `at`, the code of that tag answers, without newer names of the worktree."""
    assert "def replenish" in call(workspace, "fetch", id="src/bucket.py", at="v1")["text"]
    assert call(workspace, "definitions", name="replenish", at="v1")["results"]
    assert not call(workspace, "definitions", name="replenish")["results"]
    assert "known:" in refusal(workspace, "fetch", id="src/bucket.py", at="v9")


def test_definitions_and_references(workspace: Workspace) -> None:
    """A definition has its code; a use has its line, role and definition."""
    (result,) = call(workspace, "definitions", name="TokenBucket.refill")["results"]
    assert result["id"] == "src/bucket.py:7-9"
    assert result["text"].startswith("    def refill")
    answer = call(workspace, "references", name="TokenBucket")
    uses = answer["results"]
    assert answer["certain"] + answer["uncertain"] == len(uses)
    assert {(use["id"], use["role"]) for use in uses} >= {("src/shop.py:5", "instantiation")}
    assert all("TokenBucket" in use["text"] for use in uses)
    for tool in ("definitions", "references"):
        assert call(workspace, tool, name="TokenBukcet")["near"] == ["TokenBucket"]
        assert "near" not in call(workspace, tool, name="TokenBucket")


def test_history_of_files_lines_and_definitions(workspace: Workspace) -> None:
    """Commits are listed newest first with their messages, of a file, of lines and of a definition."""
    titles = ["Buckets refill", "Buckets replenish"]
    of_file = call(workspace, "history", name="src/bucket.py")["results"]
    assert [commit["title"] for commit in of_file] == titles
    assert of_file[0]["message"] == "Customers call it that."
    assert [c["title"] for c in call(workspace, "history", name="src/bucket.py:4-5")["results"]] == titles[1:]
    assert [c["title"] for c in call(workspace, "history", name="TokenBucket.refill")["results"]] == titles
    assert [
        c["title"] for c in call(workspace, "history", name="src/bucket.py", at="v1")["results"]
    ] == titles[1:]
    assert "name must" in refusal(workspace, "history", name="no_such_thing")


def test_status_says_what_is_indexed(workspace: Workspace, quiet_project: Path) -> None:
    """Status names the root, the snapshot and its branch, and counts."""
    answer = call(workspace, "status")
    assert answer["indexed_root"] == str(quiet_project)
    assert answer["documents"]["documents"] == 1
    (code,) = answer["code"]
    assert (code["snapshot"], code["names"]) == (git(quiet_project, "rev-parse", "HEAD"), ["main"])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search", {}, "query must be given"),
        ("search", {"query": "x", "filter": "a:b"}, "must be among k, kind, max_tokens, path"),
        ("search", {"query": "x", "k": -1}, "k must"),
        ("search", {"query": "x", "path": ["src"]}, "path must be a text"),
        ("search", {"query": "x", "max_tokens": 10}, "max_tokens must"),
        ("search", {"query": 7}, "query must"),
        ("search", {"query": "token " * 2_000}, "query must have at most 10,000 characters"),
        ("fetch", {"id": "../../etc/passwd"}, "id must"),
        ("fetch", {"id": "/etc/passwd"}, "id must"),
        ("fetch", {"id": "src/bucket.py:0-3"}, "id must have lines from 1 on"),
        ("fetch", {"id": "src/bucket.py:90-99"}, "id must have lines up to"),
        ("definitions", {"name": " "}, "name must"),
        ("nothing", {}, "tool must be one of"),
    ],
)
def test_wrong_calls_are_answered_with_the_rule(
    workspace: Workspace, name: Any, arguments: Any, message: Any
) -> None:
    """An invalid call is an error of the tool with the argument and its rule."""
    assert message in refusal(workspace, name, **arguments)


def test_a_client_sees_only_what_its_filter_allows(workspace: Workspace, limited: Any) -> None:
    """A mandatory filter applies to every tool: excluded documents are not found, read, listed or counted."""
    tools = Tools(limited("path:docs/limits.md"))
    answer = json.loads(tools.call("search", {"query": "tokens bucket refill", "k": 50}))
    assert set(map(path_of, answer["results"])) == {"docs/limits.md"}
    assert list(tools.schemas) == ["search", "fetch", "grep", "status"]
    for name in ("definitions", "references", "history"):
        with pytest.raises(ArgumentError, match="tool must be one of search, fetch, grep, status"):
            tools.call(name, {"name": "TokenBucket"})
    for id in ("src/bucket.py", "docs/other.md", str(workspace.index.parent / "src" / "bucket.py"), "../x"):
        with pytest.raises(ArgumentError, match="id must be") as refused:
            tools.call("fetch", {"id": id})
        assert str(workspace.index.parent) not in str(refused.value).replace(id, "")
    with pytest.raises(ArgumentError, match="id must be"):
        tools.call("fetch", {"id": "src/bucket.py", "at": "HEAD"})
    assert json.loads(tools.call("status", {}))["documents"]["documents"] == 1


def test_a_client_with_a_filter_is_not_told_where_the_server_works(
    workspace: Workspace, limited: Any
) -> None:
    """No answer and no error names the folder, says how many files changed, or tells two guesses of it apart."""
    tools = Tools(limited("path:docs/limits.md"), url_of=lambda id, metadata: id)
    folder = str(workspace.index.parent)
    for name, arguments in (
        ("search", {"query": "tokens"}),
        ("search", {"query": "tokens", "path": "docs"}),
        ("fetch", {"id": "docs/limits.md"}),
        ("fetch", {"id": "docs/limits.md:1-2"}),
        ("status", {}),
    ):
        answer = tools.call(name, arguments)
        assert folder not in answer
        assert not {"indexed_root", "stale", "index", "code"} & json.loads(answer).keys()
        assert json.loads(answer).get("results", True)
    for guess in (f"{folder}/docs", "/elsewhere/docs", "../docs"):
        assert not json.loads(tools.call("search", {"query": "tokens", "path": guess}))["results"]


def test_invisible_characters_are_escaped(saved: Any) -> None:
    """Direction marks and tags in a document are escaped for the agent."""
    workspace = saved(**{"docs/limits.md": "Tokens \u202etxt.exe\u2066 are refilled \U000e0041."})
    text = Tools(workspace).call("search", {"query": "tokens", "sources": ["docs"]})
    assert text.isprintable()
    assert "\u202e" in json.loads(text)["results"][0]["text"]


def test_hooks_of_plugins_apply(
    project: Path, tmp_path: Path, open_workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of an agent returns only what a plugin allows, of documents and of code."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "permission.py").write_text(
        "from sleuth.hooks import hook\n"
        "@hook('indiana_jones_retrieve', priority=-1)\n"
        "def no_code(result, *arguments, rag2f):\n"
        "    result.items = [one for one in result.items if one.metadata['source_type'] == 'docs']\n"
    )
    workspace = open_workspace(project / ".sleuth", project)
    assert "bucket.py" in str(call(workspace, "search", query="bucket refill tokens"))
    monkeypatch.setenv("SLEUTH_PLUGINS", str(tmp_path / "plugins"))
    guarded = open_workspace(project / ".sleuth", project)
    answer = str(call(guarded, "search", query="bucket refill tokens"))
    assert ("limits.md" in answer, "bucket.py" in answer) == (True, False)


def test_an_agent_limits_all_answers(saved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With MAX_MCP_OUTPUT_TOKENS no answer is larger, also where a call asks for more; other values are ignored."""
    for value, limit in (("", None), ("many", None), ("0", None), ("-5", None), ("700", 700)):
        monkeypatch.setenv(LIMIT, value)
        assert most_tokens() == limit
    workspace = saved(**{"src/long.py": "".join(f"tokens_{n} = {n}\n" for n in range(400))})
    tools = Tools(workspace, most_tokens=most_tokens())
    for name, arguments in (("search", {"query": "tokens refill bucket"}), ("fetch", {"id": "src/long.py"})):
        assert tokens_of(json.loads(tools.call(name, {**arguments, "max_tokens": 4_000}))) <= 700


def test_grep_lists_and_counts_every_line(project: Path, open_workspace: Any) -> None:
    """All lines that match are counted, also those that pages leave out and those of files that are not indexed yet."""
    workspace = open_workspace(project / ".sleuth", project, refresh=False)
    answer = call(workspace, "grep", pattern=r"tokens \+= \w+")
    (result,) = answer["results"]
    line = "        self.tokens += seconds * self.rate"
    assert result == {"id": "src/bucket.py:9", "text": line, "inside": "TokenBucket.refill"}
    assert (answer["lines"], answer["files"]) == (1, 1)
    assert call(workspace, "fetch", id=result["id"])["text"] == result["text"]
    (project / "src" / "many.py").write_text("".join(f"value_{n} = 'x'\n" for n in range(250)), "utf-8")
    ids = []
    for page in pages(workspace, "grep", pattern="value_[0-9]+", path="src"):
        assert (page["lines"], page["files"]) == (250, 1)
        ids += [each["id"] for each in page["results"]]
    assert ids == [f"src/many.py:{n}" for n in range(1, 251)]
    assert call(workspace, "grep", pattern="value_", path="docs")["lines"] == 0
    assert call(workspace, "grep", pattern="TOKENS", ignore_case=True, path="src/bucket.py")["lines"] == 2
    assert "pattern must be a regular expression" in refusal(workspace, "grep", pattern="(")
    assert call(workspace, "grep", pattern="(", fixed=True, at="v1")["lines"] == 1


def test_grep_lists_documents_and_pages_through_both(project: Path, open_workspace: Any) -> None:
    """Lines of documents follow those of code, each once, page by page; a client with a filter sees its own alone."""
    rows = "".join(f"row_{n},a bucket\n" for n in range(150))
    with Engine.open(project / ".sleuth") as engine:
        engine.add(
            [Document(rows, {"tenant": "a"}, id="rows"), Document("row_x\n", {"tenant": "b"}, id="other")]
        )
    (project / "src" / "rows.py").write_text("".join(f"row_{n} = 1\n" for n in range(60)), "utf-8")
    workspace = open_workspace(project / ".sleuth", project, refresh=False)
    paths = []
    for page in pages(workspace, "grep", pattern="row_"):
        assert (page["lines"], page["files"]) == (211, 3)
        paths += [each["id"] + (f":{each['line']}" if "line" in each else "") for each in page["results"]]
    of_code = [f"src/rows.py:{n}" for n in range(1, 61)]
    expected = [*of_code, "other:1", *(f"rows:{n}" for n in range(1, 151))]
    assert [re.sub("#[0-9]+", "", path) for path in paths] == expected
    scope = as_filter("tenant:b")
    tools = Tools(open_workspace(project / ".sleuth", project, refresh=False, scope=scope, within=()))
    answer = json.loads(tools.call("grep", {"pattern": "row_"}))
    assert [each["id"] for each in answer["results"]] == ["other#0"]
