"""What the index holds: its state, its folders, and files that are added and deleted on the page."""

import os
import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sleuth import Document
from sleuth.surfaces.http import add_key
from tests.code.conftest import write
from tests.surfaces.http.conftest import Local

from .conftest import Look, make_index, pages


def test_folders_lead_to_documents_and_code(look: Any) -> None:
    """Each folder lists what is below it, with counts; a document opens, and the steps lead back."""
    page = look().open("/browse")
    folder = page.locator(".entries a", has_text="code/")
    folder.click()
    assert page.locator(".entries a").all_inner_texts() == ["bucket.py", "evil.py"]
    page.locator(".steps a", has_text="all").click()
    page.locator(".entries a", has_text="docs/").click()
    page.locator(".entries a", has_text="plans.md").click()
    page.wait_for_selector(".blocks h2")


def test_a_reader_with_a_filter_browses_its_own_documents(corpus: Path, tmp_path: Path) -> None:
    """Counts, folders and documents are those that the key may see; sizes and folders of the index are not shown."""
    token = add_key(tmp_path / "keys.json", "ann", ["read"], 'team:"team 1"')
    with pages(corpus, "docs", "code", keys=tmp_path / "keys.json") as server:
        listing = server.ask(token, "GET", "/browse").text
        state = server.ask(token, "GET", "/contents").text
        assert server.client.get("/browse").status_code == 401
        refused = server.ask(token, "POST", "/change", data={"delete": "t1.md"})
    assert [text in listing for text in ("t1.md", "t2.md", "bucket.py")] == [True, False, False]
    assert [text in state for text in ("<dd>10</dd>", "segments", 'type="file"')] == [True, False, False]
    assert refused.status_code == 403


def test_files_are_added_and_deleted_on_the_page(browser: Any, tmp_path: Path) -> None:
    """A form adds files, which are found at once; a document is deleted from its source view."""
    make_index(tmp_path, [])
    (tmp_path / "margay.md").write_text("# Margays\n\nA margay climbs head first.\n")
    with pages(tmp_path) as server, Look(browser, server.url) as look:
        page = look.open("/contents")
        page.set_input_files("#files", tmp_path / "margay.md")
        page.click("button:has-text('Add')")
        page.wait_for_selector("dd:text-is('1')")
        look.open("/?q=margay").locator(".hit a.open").first.click()
        page.click("summary:has-text('Delete')")
        page.click("button:has-text('Delete this document')")
        page.wait_for_selector("dd:text-is('0')")
        assert look.open("/?q=margay").locator(".hit").count() == 0
        assert "head first" not in page.locator("main").inner_text()  # nor an answer of before
        other = server.client.post("/change", data={"delete": "x"}, headers={"origin": "https://evil.org"})
        assert other.status_code == 403


def test_nothing_changes_on_a_server_that_is_read_only(corpus: Path) -> None:
    """There is no form, and a request is refused."""
    with pages(corpus, read_only=True) as server:
        assert 'type="file"' not in server.client.get("/contents").text
        assert server.client.post("/change", data={"delete": "t1.md"}).status_code == 403
        assert server.client.get("/source", params={"id": "t1.md"}).status_code == 200


def test_a_path_that_there_is_not_is_a_page_for_browsers(library: Local) -> None:
    """A browser gets a page, and every other client the problem document."""
    page = library.client.get("/<nothing>", headers={"accept": "text/html,*/*;q=0.8"})
    assert page.status_code == 404
    assert "There is no page at /&lt;nothing&gt;." in page.text
    assert page.headers["content-security-policy"]
    problem = library.client.get("/v1/nothing")
    assert (problem.status_code, problem.json()["code"]) == (404, "PathError")


def test_colours_keys_and_questions_are_of_the_browser(look: Any) -> None:
    """The colours stay as chosen, `?` shows the keys, and the questions are kept in the browser until it forgets."""
    reader = look(color_scheme="light")
    page = reader.open("/?q=otters+swim")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    for _ in range(2):
        page.click("[data-do=theme]")
    dark = page.evaluate(colour)
    assert dark != light
    page.reload()
    assert page.evaluate(colour) == dark
    page.locator("body").press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    reader.open("/")
    assert page.locator("#history a").all_inner_texts() == ["otters swim"]
    page.click("text=Forget them")
    reader.open("/")
    assert not page.locator("#history").is_visible()


def test_numbers_are_ranges_and_folders_are_facets(browser: Any, tmp_path: Path) -> None:
    """Years come by value, the newest first, with a range; folders narrow; keys with many texts are no facet."""
    documents = []
    for n in range(80):
        values = {"source": f"x/{'ab'[n % 2]}/{n}.md", "year": 2015 + n % 9, "note": f"n{n}"}
        documents.append(Document(f"Report {n}.", values))
    make_index(tmp_path, documents)
    with pages(tmp_path) as server, Look(browser, server.url) as look:
        page = look.open("/?q=report")
        groups = page.locator("aside h2").all_inner_texts()
        assert groups == ["year", "folder"]
        assert page.locator("aside li a").all_inner_texts()[:3] == ["2023", "2022", "2021"]
        page.fill("[name=low]", "2019")
        page.fill("[name=high]", "2020")
        page.click(".range button")
        page.wait_for_selector("aside a:has-text('year>=2019')")
        assert "18 documents" in page.locator(".summary").inner_text()
        page.locator("aside a", has_text="a/").click()
        page.wait_for_selector("aside a[aria-current]:has-text('a/')")
        assert all("x/a/" in text for text in page.locator(".hit .place").all_inner_texts())


def test_values_that_group_nothing_are_no_choice(tmp_path: Path) -> None:
    """Of a key that authors chose, values of one document alone are not listed; many numbers and days have a range."""
    documents = []
    for n in range(20):
        values = {"alias": f"alias {n // 2 if n < 4 else n}", "owner": f"owner {n}", "price": n * 1.5}
        values |= {"day": f"2026-11-{1 + n:02}", "type": "json" if n else "markdown", "source": f"{n}.md"}
        documents.append(Document(f"Report {n}.", values))
    make_index(tmp_path, documents)
    with pages(tmp_path) as server:
        html = server.client.get("/", params={"q": "report"}).text
        groups = {name: [label for label, _, _ in group] for name, group in _facets(html).items()}
        ranged = server.client.get("/", params={"q": "report", "key": "day", "low": "2026-11-19"}).text
    assert groups == {"type": ["json", "markdown"], "alias": ["alias 0", "alias 1"], "day": [], "price": []}
    assert "2 documents" in ranged


def test_code_has_facets_as_documents_have(tmp_path: Path) -> None:
    """Languages, kinds of definitions and folders of code narrow the results, alone and beside those of documents."""
    files = {
        "src/cats.py": "class Cat:\n    def climb(self):\n        pass\n\n\ndef climb():\n    pass\n",
        "web/cats.ts": "export function climb(): void {}\n",
    }
    documents = [
        Document(f"Cats climb {n}.", {"source": f"{'ab'[n % 2]}/{n}.md", "language": "en"}) for n in range(4)
    ]
    make_index(tmp_path, documents, code=write(tmp_path / "repo", files))
    with pages(tmp_path, "docs", "code") as server:
        alone = _facets(server.client.get("/", params={"q": "climb", "in": "code"}).text)
        whole = server.client.get("/", params={"q": "climb"}).text
        together = _facets(whole)
        narrowed = {
            label: server.client.get(address).text
            for group in together.values()
            for label, address, _ in group
        }
        nothing = _facets(server.client.get("/", params={"q": "climb", "in": "docs"}).text)
    counts = {name: {label: count for label, _, count in group} for name, group in alone.items()}
    assert counts == {
        "language": {"python": 1, "typescript": 1},
        "kind": {"function": 2, "class": 1},
        "folder": {"src/": 1, "web/": 1},
    }
    assert [label for label, _, _ in together["language"]] == ["English", "python", "typescript"]
    assert [label for label, _, _ in together["folder"]] == ["a/", "b/", "repo/"]
    assert "4 documents and 2 files of code hold a word" in whole
    assert "1 file of code holds a word" in narrowed["python"]
    assert "Cats climb" not in narrowed["class"]
    assert ("cats.ts" in narrowed["repo/"], "Cats climb" in narrowed["repo/"]) == (True, False)
    assert set(nothing) == {"folder"}


def test_the_last_change_is_that_of_the_documents(corpus: Path, library: Local) -> None:
    """It is when documents were committed last, whatever else is written into the folder of the index."""
    os.utime(corpus / ".sleuth", (4e9, 4e9))
    page = library.client.get("/contents").text
    assert f"<dt>last change</dt><dd>{datetime.now(UTC):%Y}" in page


def test_what_was_skipped_is_listed_with_reasons(tmp_path: Path) -> None:
    """Files that could not be read are listed; a key with a filter sees none."""
    docs = {f"<b>{n:02}.pdf": "%PDF-1.4 broken" for n in range(60)}
    docs |= {"a.md": "Margays climb.", "a.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"}
    files = {"cats.py": "def climb():\n    pass\n", "data.bin.py": "\0\1\2" * 400}
    code = write(tmp_path / "repo", files)
    make_index(tmp_path, [], write(tmp_path / "docs", docs), code=code)
    token = add_key(tmp_path / "keys.json", "ann", ["read"])
    limited = add_key(tmp_path / "keys.json", "bob", ["read"], 'team:"team 1"')
    with pages(tmp_path, "docs", "code", keys=tmp_path / "keys.json") as server:
        page = server.ask(token, "GET", "/contents").text
        own = server.ask(limited, "GET", "/contents").text
    assert "62 files or parts of files without text in the index" in page
    assert "a drawing; --all reads it (a command is for whoever runs this server)" in page
    assert "docs/&lt;b&gt;00.pdf" in page
    assert "not a PDF, or damaged" in page
    assert 'repo/data.bin.py</bdi></td><td dir="auto">binary' in page
    assert "What was skipped" not in own


def _facets(html: str) -> dict[str, list[tuple[str, str, int]]]:
    """Return the choices of each facet: label, address and count."""
    groups = re.findall(r"<h2><bdi>(.*?)</bdi></h2>\s*<ul>(.*?)</ul>", html, re.DOTALL)
    choice = re.compile(r'<a href="(.*?)".*?><bdi>(.*?)</bdi>.*?class="count">(\d+)<')
    return {
        name: [(label, unescape(address), int(count)) for address, label, count in choice.findall(body)]
        for name, body in groups
    }


def test_a_symbol_says_what_it_does_not_show(tmp_path: Path) -> None:
    """Uses and lines left out are counted, several definitions have one line each; an unknown name is a search."""
    calls = "".join(f"    climb({n})\n" for n in range(230))
    files = {f"c{n}.py": f"class Cat{n}:\n    def leap(self):\n        pass\n" for n in range(9)}
    files["cats.py"] = f"def climb(n):\n    return n\n\n\ndef run():\n{calls}"
    make_index(tmp_path, [], code=write(tmp_path / "code", files))
    with pages(tmp_path, "docs", "code") as server:
        known, long, several, unknown = (
            server.client.get(f"/symbol?name={name}").text for name in ("climb", "run", "leap", "<swim>")
        )
        assert server.client.get("/symbol", params={"name": "<swim>"}).status_code == 404
    assert ("203 more lines" in long, "more line" in known + several) == (True, False)
    assert "1 definition</h2>" in known
    assert "return n" in re.sub("<[^>]*>", "", known.partition("references</h2>")[0])
    assert "The first 200 of 230 references</h2>" in known
    assert known.count('class="one"') == 200
    assert "9 definitions</h2>" in several
    assert several.count('class="one"') == 9
    assert "pass" not in several
    assert "No definitions</h2>" in unknown
    assert '<a href="/?q=%3Cswim%3E&amp;in=docs&amp;in=code">Search for it</a>' in unknown


def test_places_begin_with_the_folder_that_was_indexed(tmp_path: Path) -> None:
    """Results, sources, cards of answers and folders do not show where on the server a folder or repository lies."""
    notes = write(
        tmp_path / "srv" / "notes", {"cats/margay.md": "# Margays\n\nA margay climbs head first.\n"}
    )
    code = write(tmp_path / "srv" / "repo", {"lib/cats.py": "def climb():\n    pass\n"})
    make_index(tmp_path / "elsewhere", [], notes, code=code)
    with pages(tmp_path / "elsewhere", "docs", "code") as server:
        (item,) = server.engine.retrieve("margay", 1)
        paths = [
            "/?q=margay+climb",
            f"/source?{urlencode({'id': item.id})}",
            f"/source?{urlencode({'id': f'{code}/lib/cats.py:1-2'})}",
            "/symbol?name=climb",
            "/browse",
            f"/browse?{urlencode({'under': f'{notes}/'})}",
        ]
        texts = [re.sub("<[^>]*>", "", server.client.get(path).text) for path in paths]
    assert [path for path, text in zip(paths, texts, strict=True) if str(tmp_path) in text] == []
    assert "notes/cats/margay.md" in texts[0]
    assert "all/notescats/ 1" in texts[5].replace("\n", "")


def test_the_reference_of_the_api_has_every_operation(look: Any, site: str) -> None:
    """Each path of the OpenAPI document unfolds with its parameters and fields; nothing is loaded from elsewhere."""
    reader = look()
    page = reader.open("/docs")
    document = reader.context.request.get(f"{site}/openapi.json").json()
    names = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert set(page.locator(".operation summary code").all_inner_texts()) == names
    operation = page.locator(".operation", has_text="POST /v1/ask").first
    assert "Answer a question from the passages" in operation.locator("summary").inner_text()
    operation.locator("summary").click()
    assert "history" in operation.locator("td code").all_inner_texts()
    assert "429" in operation.locator("li code").all_inner_texts()
    assert "`" not in page.locator("main").text_content()
    assert "next_cursor" in page.locator(".operation td p code").all_text_contents()
