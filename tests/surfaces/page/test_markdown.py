"""Markdown as elements of a fixed list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from sleuth.surfaces.page.answering import rendered
from sleuth.surfaces.page.markup import TAGS, blocks_of, fill_lines, parse, to_html, to_nodes

TEXT = Path(__file__).with_name("markdown.txt").read_text("utf8")


def _tags(nodes: list[Any]) -> Iterator[tuple[str, dict[str, str]]]:
    for node in nodes:
        if isinstance(node, list):
            yield node[0], node[1]
            yield from _tags(node[2])


def _html(text: str) -> str:
    return str(to_html(parse(text)))


def test_markdown_becomes_elements() -> None:
    """Headings, emphasis, code, nested lists and tables become elements, with their alignment; HTML stays text."""
    html = _html(TEXT)
    assert '<h2 class="level-1">Top</h2>' in html
    assert "<strong>bold</strong>" in html
    assert "".join(html.split()).count("<li>one<ol><li>two</li></ol></li>") == 1
    assert '<td class="right">&lt;script&gt;alert(1)&lt;/script&gt;</td>' in html
    assert to_nodes(html)[0] == ["h2", {"class": "level-1"}, ["Top"]]


def test_tables_that_loaders_write_are_tables() -> None:
    """Rows without a line below the header are a table, each of its line; so are the rows in which a passage begins."""
    html = _html("Weights.\n\n| species | weight |\n| sea *otter* | 45 kg \\| 99 lb |").replace("\n", "")
    assert "<tr><th>species</th><th>weight</th></tr>" in html
    assert "<td>sea <em>otter</em></td><td>45 kg | 99 lb</td>" in html
    assert _html("|---|---|\n| a | b |").count("<td>") == 2
    assert "table" not in _html("| a |\n| b") + _html("|x|")


def test_only_addresses_of_the_web_are_links() -> None:
    """A link leads to http or https alone, without telling where it was; a picture is its words."""
    html = _html(TEXT)
    links = [attributes for tag, attributes in _tags(to_nodes(html)) if tag == "a"]
    assert [link["href"] for link in links] == ["https://example.org/?a=%22b%22"]
    assert "noreferrer" in links[0]["rel"]
    assert "a picture" in html
    for address in ("data:text/html,x", "/sign-out", "//evil.org", "vbscript:x", "JavaScript:x"):
        assert "href" not in _html(f"[x]({address})")


@given(st.text(st.sampled_from("<>[]()|*_`#-~!&;:\\ \n\"'=/1ajscript\x00\u202e\uffff"), max_size=80))
def test_no_text_becomes_another_element(text: str) -> None:
    """Whatever a text holds, its elements are of the list, and its markup holds no other tag or attribute."""
    for tag, attributes in _tags(to_nodes(_html(text))):
        assert tag in TAGS
        assert set(attributes) <= {"class", "href", "rel", "start", "tabindex"}


def test_the_smallest_blocks_are_cited() -> None:
    """Of what is cited, an item is marked and not its list, a quoted paragraph and not its quote."""
    tokens = parse("# Top\n\n- one\n- two *words*\n\n> quoted\n\n```\ncode\n```\n")
    fill_lines(tokens, range(3, 9), Markup("<mark>{}</mark>").format)
    blocks = {lines: str(html) for lines, html in blocks_of(tokens)}
    assert [*blocks] == [range(1), range(2, 5), range(5, 6), range(7, 10)]
    html = "".join(blocks.values()).replace("\n", "")
    assert '<ul><li>one</li><li class="cited"><mark>two </mark><em><mark>words</mark></em></li></ul>' in html
    assert '<blockquote><p class="cited"><mark>quoted</mark></p></blockquote>' in html
    assert '<pre tabindex="0" class="block cited"><code><mark>code</mark></code></pre>' in html


def test_citations_are_links() -> None:
    """Each number of a citation is a link to its passage; code and numbers without a passage stay text."""
    cards = [{"number": number, "url": f"/source?id={number}"} for number in (1, 2)]
    html = rendered("So [1, 2], [1-2], `[1]` and [3].", cards)
    assert html.count('data-number="1"') == html.count('data-number="2"') == 2
    assert "<code>[1]</code> and [3]." in html
    html = rendered("Bucket [1]\n> Made in 1820. [2]\n\n- Oak [1]. [2]", cards, is_quoted=True)
    assert "<p>Made in 1820. [2]</p>" in html and "<li>Oak [1]. <a" in html
