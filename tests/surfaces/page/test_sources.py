"""Where the source view shows what is cited, for files whose text has other lines than the file."""

import re
from pathlib import Path

from sleuth import Document
from tests.surfaces.http.conftest import Local

from .conftest import make_index, pages


def test_a_passage_without_lines_is_marked_in_its_source(tmp_path: Path) -> None:
    """A passage of a web page has no lines of the file; the link of its hit leads to it in the text of the document."""
    sections = "".join(
        f"<h2>Part {n}</h2>\n<p>{f'Margay number {n} climbs. ' * 150}</p>" for n in ("one", "two", "three")
    )
    (tmp_path / "cats.html").write_text(f"<html><body>{sections}</body></html>")
    make_index(tmp_path, [], tmp_path)
    with pages(tmp_path) as server:
        hits = server.client.get("/", params={"q": "two", "in": "docs"}).text
        link = re.search(r'href="/source\?([^"]+)#cited"', hits)
        assert link is not None
        assert not re.search(r'class="lines">:\d', hits)
        view = server.client.get(f"/source?{link[1].replace('&amp;', '&')}").text
        (item,) = server.client.post("/v1/search", json={"query": "two", "k": 1}).json()["items"]
    assert "start_line" not in item["metadata"]
    before, rest = view.split('<span id="cited"></span>')
    assert "number one" in before
    assert "cited" not in before.partition("<article")[2]
    blocks = re.findall(r'<(?:h2|p) class="[^"]*cited">(.*?)</', rest)
    assert len(blocks) == len([line for line in item["text"].split("\n") if line])
    assert "two" in re.sub("<[^>]*>", "", blocks[0])


def test_what_is_not_indexed_is_not_found(corpus: Path, server: Local) -> None:
    """An address of a document that was deleted is a page that says so, with 404."""
    for id in ("gone.md#0", f"{corpus}/code/gone.py:1-2", f"{corpus}/code/bucket.py:9999-10000", "x:y-z", ""):
        answer = server.client.get("/source", params={"id": id})
        assert answer.status_code == 404
        assert "Not found." in answer.text
        assert "It may have been deleted since." in answer.text


def test_a_row_is_a_table_of_its_fields(tmp_path: Path) -> None:
    """The source of a row has a line for each field, and no numbers of lines that the file does not have."""
    (tmp_path / "prices.csv").write_text("plan,price,note\nmonthly,12,none\nyearly,120,see: <b>\n")
    make_index(tmp_path, [], tmp_path)
    with pages(tmp_path) as server:
        (row,) = server.engine.retrieve("yearly", 1)
        hits = server.client.get("/", params={"q": "yearly"}).text
        view = server.client.get("/source", params={"id": row.id, "q": "yearly"}).text
    assert '<span class="lines">:3</span>' in hits
    assert '<tr class="cited"><th>plan</th><td><mark>yearly</mark></td>' in view
    assert "see: &lt;b&gt;</td>" in view
    assert "unnumbered" in view
    assert 'class="lines"' not in view


def test_what_is_cited_as_a_whole_is_not_coloured(server: Local) -> None:
    """A passage that is the whole document has marked words alone; one of several has the colour of what is cited."""
    whole = server.client.get("/source", params={"id": "docs/plans.md#0", "q": "refund"}).text
    part = server.client.get("/source", params={"id": "docs/otters.md#1", "q": "otters"}).text
    assert 'class=" entire"' in whole
    assert "Go to the passage" not in whole
    assert 'class=" entire"' not in part
    assert "Go to the passage" in part


def test_a_source_leads_to_its_folder_its_page_and_its_other_form(tmp_path: Path) -> None:
    """The folder is a link to its list, a web page one to the web, and Markdown is shown in both forms."""
    of_the_web = {"source": "https://example.org/ocelot", "start_line": 1, "end_line": 1}
    margay = Document("# Margay\n\nIt *climbs*.", {"source": "cats/margay.md"}, id="m")
    make_index(tmp_path, [margay, Document("An ocelot.", of_the_web, id="o")])
    with pages(tmp_path) as server:
        formatted = server.client.get("/source", params={"id": "m"}).text
        written = server.client.get("/source", params={"id": "m", "text": "1"}).text
        ocelot = server.client.get("/source", params={"id": "o"}).text
    assert '<a href="/browse?under=cats%2F"><bdi class="folder">cats/</bdi></a>' in formatted
    assert "As it is written" in formatted
    assert ">Formatted</a>" not in formatted
    assert "*climbs*" in written
    assert ">Formatted</a>" in written
    assert (
        '<a href="https://example.org/ocelot" rel="noreferrer noopener external">Original page</a>' in ocelot
    )
    assert 'class="lines"' not in ocelot
