"""The seven tools, called by a client of the SDK."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.errors import ArgumentError
from sleuth.filters import as_filter
from sleuth.surfaces.mcp import Tools, Workspace
from sleuth.surfaces.mcp.budget import tokens_of
from sleuth.surfaces.mcp.stdio import LIMIT, most_tokens
from tests.surfaces.project import git

from .conftest import call, refusal, with_client

ALWAYS = {"indexed_root", "stale"}
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


def test_search_keeps_the_contract_of_chatgpt(workspace: Workspace, quiet_project: Path) -> None:
    """A query alone returns results with id, title and url, of documents and code."""
    answer = call(workspace, "search", query="how are tokens refilled")
    assert answer.keys() >= {"results", "omitted", "cursor"} | ALWAYS
    assert all(result["id"] and result["title"] and result["url"] for result in answer["results"])
    assert {result["source_type"] for result in answer["results"]} == {"docs", "code"}
    assert answer["indexed_root"] == str(quiet_project)
    assert any(
        result["url"] == (quiet_project / "src/bucket.py").as_uri() + "#L4-L9" for result in answer["results"]
    )


def test_search_says_how_well_its_results_fit(workspace: Workspace) -> None:
    """The first page of a search has the grade of `sleuth ask`, also for a client that sees documents only."""
    question = "how are tokens refilled"
    assert call(workspace, "search", query=question)["grade"] == "likely answers"
    assert call(workspace, "search", query="who is the mayor of Paris")["grade"] == "nothing close"
    first = call(workspace, "search", query=question, k=1)
    assert "grade" not in call(workspace, "search", query=question, k=1, cursor=first["cursor"])
    tools = Tools(workspace, allowed=as_filter("type:markdown"))
    assert (
        json.loads(tools.call("search", {"query": "how often are tokens refilled"}))["grade"]
        == "likely answers"
    )


def test_fetch_gives_the_text_of_each_result(workspace: Workspace) -> None:
    """Every id of a search is fetched with title, url and the same text."""
    for result in call(workspace, "search", query="tokens refill bucket")["results"]:
        fetched = call(workspace, "fetch", id=result["id"])
        assert fetched["text"] == result["text"]
        assert fetched.keys() >= {"id", "title", "text", "url", "metadata"} | ALWAYS
        assert "changed" not in fetched


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


def test_fetch_reads_on_with_the_cursor(project: Path) -> None:
    """A file that does not fit is returned in pieces that join to the whole; `omitted` counts the remaining lines."""
    text = "".join(f"value_{n} = {n}\n" for n in range(400))
    (project / "src" / "many.py").write_text(text, "utf-8")
    workspace = Workspace(project / ".sleuth", project)
    workspace.refresher.check(10.0)
    pieces, cursor, lines = [], None, 400
    while True:
        answer = call(
            workspace, "fetch", id="src/many.py", max_tokens=500, **({"cursor": cursor} if cursor else {})
        )
        assert tokens_of(answer) <= 500
        assert answer["start_line"] == 401 - lines
        pieces.append(answer["text"])
        lines, cursor = answer["omitted"], answer["cursor"]
        if cursor is None:
            break
    workspace.close()
    assert "".join(pieces) == text.removesuffix("\n")
    assert lines == 0
    assert len(pieces) > 3


@pytest.mark.parametrize("max_tokens", [250, 300, 400, 600, 900, 1500, 4000])
def test_answers_keep_to_their_budget(workspace: Workspace, max_tokens: Any) -> None:
    """No answer exceeds max_tokens, lengths never grow, and the cursor returns every result once."""
    everything = call(workspace, "search", query="tokens bucket refill", k=20, max_tokens=20_000)
    expected = [result["id"] for result in everything["results"]]
    assert everything["omitted"] == 0
    ids, cursor = [], None
    while True:
        options: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = call(
            workspace, "search", query="tokens bucket refill", k=20, max_tokens=max_tokens, **options
        )
        assert tokens_of(answer) <= max_tokens
        lengths = [2 if "text" in r else 1 if "outline" in r else 0 for r in answer["results"]]
        assert lengths == sorted(lengths, reverse=True)
        ids += [result["id"] for result in answer["results"]]
        assert len(ids) + answer["omitted"] == len(expected)
        cursor = answer["cursor"]
        if cursor is None:
            break
    assert ids == expected


def test_k_results_and_a_cursor_for_more(workspace: Workspace) -> None:
    """With k = 2 there are two results, and the cursor returns the next two."""
    first = call(workspace, "search", query="tokens bucket refill", k=2)
    second = call(workspace, "search", query="tokens bucket refill", k=2, cursor=first["cursor"])
    four = call(workspace, "search", query="tokens bucket refill", k=4)
    ids = [result["id"] for answer in (first, second) for result in answer["results"]]
    assert ids == [result["id"] for result in four["results"]]


def test_cursors_of_other_searches_are_refused(workspace: Workspace) -> None:
    """A cursor is valid only with the arguments of its search."""
    cursor = call(workspace, "search", query="tokens bucket refill", k=1)["cursor"]
    assert "cursor must" in refusal(workspace, "search", query="something else", cursor=cursor)
    assert "cursor must" in refusal(workspace, "search", query="tokens bucket refill", cursor="nonsense")


def test_paths_and_filters(workspace: Workspace) -> None:
    """Results are below the paths and match the filter, before the cut to k."""
    below = call(workspace, "search", query="tokens", paths=["src"])["results"]
    assert {result["path"] for result in below} == {"src/bucket.py", "src/shop.py"}
    one = call(workspace, "search", query="tokens", paths=["src/shop.py"], k=1)["results"]
    assert [result["path"] for result in one] == ["src/shop.py"]
    results = call(workspace, "search", query="tokens", filter="source_type:code kind:class")["results"]
    assert [result["symbol"] for result in results] == ["TokenBucket"]


def test_at_asks_a_commit(workspace: Workspace) -> None:
    """With `at`, the code of that tag answers, without newer names of the worktree."""
    old = call(workspace, "search", query="replenish", at="v1")["results"]
    assert "def replenish" in old[0]["text"]
    assert call(workspace, "definitions", name="replenish", at="v1")["results"]
    assert not call(workspace, "definitions", name="replenish")["results"]
    assert "known:" in refusal(workspace, "search", query="x", at="v9")


def test_definitions_and_references(workspace: Workspace) -> None:
    """A definition has its code; a use has its line, role and definition."""
    (result,) = call(workspace, "definitions", name="TokenBucket.refill")["results"]
    assert result["path"] == "src/bucket.py:7-9"
    assert result["text"].startswith("    def refill")
    answer = call(workspace, "references", name="TokenBucket")
    uses = answer["results"]
    assert answer["certain"] + answer["uncertain"] == len(uses)
    assert {(use["path"], use["role"]) for use in uses} >= {("src/shop.py:5", "instantiation")}
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
    assert code["snapshot"] == git(quiet_project, "rev-parse", "HEAD")
    assert code["names"] == ["main"]


def test_resources(workspace: Workspace) -> None:
    """Documents are resources, files are reached by the template, and an unknown one is an error."""

    async def work(client: Any) -> Any:
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
        first = await client.read_resource(resources.resources[0].uri)
        file = await client.read_resource("sleuth:///src/bucket.py:1-1")
        with pytest.raises(Exception, match="id must"):
            await client.read_resource("sleuth:///nothing")
        return (
            resources.resources,
            templates.resource_templates,
            first.contents[0].text,
            file.contents[0].text,
        )

    resources, templates, text, line = with_client(workspace, work)
    assert [resource.name for resource in resources] == ["docs/limits.md"]
    assert len(templates) == 1
    assert text.startswith("# Limits")
    assert line == '"""Token buckets."""'


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search", {}, "query must be given"),
        ("search", {"query": "x", "limit": 3}, "must be among all_copies, at, boost"),
        ("search", {"query": "x", "k": -1}, "k must"),
        ("search", {"query": "x", "filter": "a:("}, ""),
        ("search", {"query": "x", "paths": "src"}, "paths must be a list"),
        ("search", {"query": "x", "max_tokens": 10}, "max_tokens must"),
        ("search", {"query": 7}, "query must"),
        ("search", {"query": "token " * 2_000}, "query must have at most 10,000 characters"),
        ("fetch", {"id": "../../etc/passwd"}, "id must"),
        ("fetch", {"id": "/etc/passwd"}, "id must"),
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


def test_a_client_sees_only_what_its_filter_allows(workspace: Workspace) -> None:
    """A mandatory filter applies to every tool: excluded documents are not found, read, listed or counted."""
    tools = Tools(workspace, allowed=as_filter("path:docs/limits.md"))
    answer = json.loads(tools.call("search", {"query": "tokens bucket refill", "k": 50}))
    assert {result["path"] for result in answer["results"]} == {"docs/limits.md"}
    assert tools.names == ("search", "fetch", "grep", "status")
    for name in ("definitions", "references", "history"):
        with pytest.raises(ArgumentError, match="tool must be one of search, fetch, grep, status"):
            tools.call(name, {"name": "TokenBucket"})
    for id in ("src/bucket.py", "docs/other.md", str(workspace.index.parent / "src" / "bucket.py"), "../x"):
        with pytest.raises(ArgumentError, match="id must be") as refused:
            tools.call("fetch", {"id": id})
        assert str(workspace.index.parent) not in str(refused.value).replace(id, "")
    with pytest.raises(ArgumentError, match="at must be left out"):
        tools.call("search", {"query": "tokens", "at": "HEAD"})
    assert [document.id for document in tools.documents()] == ["docs/limits.md"]
    assert not Tools(workspace, allowed=as_filter("tenant:b")).documents()


def test_a_client_with_a_filter_is_not_told_where_the_server_works(workspace: Workspace) -> None:
    """No answer and no error names the folder, says how many files changed, or tells two guesses of it apart."""
    tools = Tools(workspace, allowed=as_filter("path:docs/limits.md"), url_of=lambda id, metadata: id)
    folder = str(workspace.index.parent)
    for name, arguments in (
        ("search", {"query": "tokens"}),
        ("search", {"query": "tokens", "paths": ["docs"]}),
        ("fetch", {"id": "docs/limits.md"}),
        ("fetch", {"id": "docs/limits.md:1-2"}),
        ("status", {}),
    ):
        answer = tools.call(name, arguments)
        assert folder not in answer
        assert not {"indexed_root", "stale", "index", "code"} & json.loads(answer).keys()
        assert json.loads(answer).get("results", True)
    assert json.loads(tools.call("status", {}))["documents"]["documents"] == 1
    for guess in (f"{folder}/docs", "/elsewhere/docs", "../docs"):
        assert not json.loads(tools.call("search", {"query": "tokens", "paths": [guess]}))["results"]


def test_invisible_characters_are_escaped(project: Path) -> None:
    """Direction marks and tags in a document are escaped for the agent."""
    (project / "docs" / "limits.md").write_text(
        "Tokens \u202etxt.exe\u2066 are refilled \U000e0041.", "utf-8"
    )
    workspace = Workspace(project / ".sleuth", project)
    workspace.refresher.check(10.0)
    text = Tools(workspace).call("search", {"query": "tokens", "filter": "source_type:docs"})
    workspace.close()
    assert text.isprintable()
    assert "\u202e" in json.loads(text)["results"][0]["text"]


def test_hooks_of_plugins_apply(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of an agent returns only what a plugin allows, of documents and of code."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "permission.py").write_text(
        "from sleuth.hooks import hook\n"
        "@hook('indiana_jones_retrieve', priority=-1)\n"
        "def no_code(result, *arguments, rag2f):\n"
        "    result.items = [one for one in result.items if one.metadata['source_type'] == 'docs']\n"
    )
    with closing(Workspace(project / ".sleuth", project)) as before:
        assert "bucket.py" in str(call(before, "search", query="bucket refill tokens"))
    monkeypatch.setenv("SLEUTH_PLUGINS", str(tmp_path / "plugins"))
    with closing(Workspace(project / ".sleuth", project)) as guarded:
        answer = str(call(guarded, "search", query="bucket refill tokens"))
    assert "limits.md" in answer
    assert "bucket.py" not in answer


def test_wordings_are_fused_into_one_ranking(workspace: Workspace) -> None:
    """A passage that two wordings find is above those of one; its one explanation has a part for each of them."""
    wordings = ["tokens refilled every second", "what a burst takes"]
    answer = call(workspace, "search", queries=wordings, explain=True, k=5, sources=["docs"])
    explanation = answer["results"][0]["explanation"]
    ids = {result["id"] for result in answer["results"]}
    alone = [
        [result["id"] for result in call(workspace, "search", query=each, sources=["docs"])["results"]]
        for each in wordings
    ]
    assert ids == {id for some in alone for id in some}
    assert {part["name"] for part in explanation["parts"]} <= set(wordings)
    score = sum(
        1 / (61 + some.index(answer["results"][0]["id"]))
        for some in alone
        if answer["results"][0]["id"] in some
    )
    assert explanation["value"] == pytest.approx(score)
    single = call(workspace, "search", query=wordings[0], queries=[wordings[0]], sources=["docs"])
    assert [result["id"] for result in single["results"]] == alone[0]
    assert "explanation" not in single["results"][0]


def test_the_cursor_continues_fused_wordings(workspace: Workspace) -> None:
    """Pages of a search with several wordings join to the whole answer."""
    arguments: dict[str, Any] = {"query": "token bucket", "queries": ["refill seconds", "burst"]}
    whole = [result["id"] for result in call(workspace, "search", **arguments)["results"]]
    ids, cursor = [], None
    while True:
        page = call(workspace, "search", **arguments, k=1, **({"cursor": cursor} if cursor else {}))
        ids += [result["id"] for result in page["results"]]
        if (cursor := page["cursor"]) is None:
            break
    assert ids == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query must be given"),
        ({"queries": []}, "query must be given"),
        ({"queries": "tokens"}, "queries must be a list"),
        ({"queries": [1]}, "queries must be a list"),
        ({"query": "a", "queries": list("bcdef")}, "at most 5"),
    ],
)
def test_wrong_wordings_are_refused(workspace: Workspace, arguments: Any, message: str) -> None:
    """No wording, too many and values that are not texts are refused."""
    with pytest.raises(ArgumentError, match=message):
        Tools(workspace).call("search", arguments)


def test_an_agent_limits_all_answers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With MAX_MCP_OUTPUT_TOKENS no answer is larger, also where a call asks for more; other values are ignored."""
    for value, limit in (("", None), ("many", None), ("0", None), ("-5", None), ("700", 700)):
        monkeypatch.setenv(LIMIT, value)
        assert most_tokens() == limit
    (project / "src" / "long.py").write_text("".join(f"tokens_{n} = {n}\n" for n in range(400)), "utf-8")
    workspace = Workspace(project / ".sleuth", project)
    workspace.refresher.check(20.0)
    tools = Tools(workspace, most_tokens=most_tokens())
    for name, arguments in (
        ("search", {"query": "tokens refill bucket", "explain": True}),
        ("fetch", {"id": "src/long.py"}),
    ):
        answer = json.loads(tools.call(name, {**arguments, "max_tokens": 4_000}))
        assert tokens_of(answer) <= 700
        assert answer["cursor"]
    workspace.close()


def test_grep_lists_and_counts_every_line(project: Path) -> None:
    """All lines that match are counted, also those that pages leave out and those of files that are not indexed yet."""
    with closing(Workspace(project / ".sleuth", project, refresh=False)) as workspace:
        answer = call(workspace, "grep", pattern=r"tokens \+= \w+")
        (result,) = answer["results"]
        assert (result["id"], result["path"]) == (f"{project}/src/bucket.py:9", "src/bucket.py:9")
        assert (result["text"], result["inside"]) == (
            "        self.tokens += seconds * self.rate",
            "TokenBucket.refill",
        )
        assert (answer["lines"], answer["files"]) == (1, 1)
        assert call(workspace, "fetch", id=result["id"])["text"] == result["text"]
        (project / "src" / "many.py").write_text("".join(f"value_{n} = 'x'\n" for n in range(250)), "utf-8")
        ids, cursor = [], None
        while True:
            page = call(
                workspace,
                "grep",
                pattern="value_[0-9]+",
                paths=["src"],
                **({"cursor": cursor} if cursor else {}),
            )
            assert (page["lines"], page["files"]) == (250, 1)
            ids += [each["path"] for each in page["results"]]
            if (cursor := page["cursor"]) is None:
                break
        assert ids == [f"src/many.py:{n}" for n in range(1, 251)]
        assert call(workspace, "grep", pattern="value_", paths=["docs"])["lines"] == 0
        assert call(workspace, "grep", pattern="TOKENS", ignore_case=True, filter="kind:class")["lines"] == 2
        assert "pattern must be a regular expression" in refusal(workspace, "grep", pattern="(")
        assert call(workspace, "grep", pattern="(", fixed=True, at="v1")["lines"] == 1


def test_grep_lists_documents_and_pages_through_both(project: Path) -> None:
    """Lines of documents follow those of code, each once, page by page; a client with a filter sees its own alone."""
    rows = "".join(f"row_{n},a bucket\n" for n in range(150))
    with Engine.open(project / ".sleuth") as engine:
        engine.add(
            [Document(rows, {"tenant": "a"}, id="rows"), Document("row_x\n", {"tenant": "b"}, id="other")]
        )
    (project / "src" / "rows.py").write_text("".join(f"row_{n} = 1\n" for n in range(60)), "utf-8")
    with closing(Workspace(project / ".sleuth", project, refresh=False)) as workspace:
        paths, cursor = [], None
        while True:
            page = call(workspace, "grep", pattern="row_", **({"cursor": cursor} if cursor else {}))
            assert (page["lines"], page["files"]) == (211, 3)
            paths += [each["path"] for each in page["results"]]
            if (cursor := page["cursor"]) is None:
                break
        numbers = [f"src/rows.py:{n}" for n in range(1, 61)] + ["other:1-1"]
        assert paths == numbers + [f"rows:{n}-{n}" for n in range(1, 151)]
        tools = Tools(workspace, allowed=as_filter("tenant:b"))
        answer = json.loads(tools.call("grep", {"pattern": "row_"}))
        assert [each["id"] for each in answer["results"]] == ["other#0"]
