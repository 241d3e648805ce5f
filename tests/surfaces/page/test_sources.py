"""Where the source view shows what is cited, for files whose text has other lines than the file."""

from __future__ import annotations

import re
from pathlib import Path

from sleuth import Engine
from sleuth.surfaces.cli.serve import extensions
from tests.surfaces.http.conftest import serving


def test_a_passage_without_lines_is_marked_in_its_source(tmp_path: Path) -> None:
    """A passage of a web page has no lines of the file; the link of its hit leads to it in the text of the document."""
    sections = "".join(
        f"<h2>Part {n}</h2>\n<p>{f'Margay number {n} climbs. ' * 150}</p>" for n in ("one", "two", "three")
    )
    (tmp_path / "cats.html").write_text(f"<html><body>{sections}</body></html>")
    with Engine.open(tmp_path / ".sleuth", create=True, embedder=None) as engine:
        engine.index([tmp_path])
    with serving(tmp_path / ".sleuth", extensions=extensions(), sources=("docs",)) as server:
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
