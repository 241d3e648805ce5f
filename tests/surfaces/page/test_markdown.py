"""Markdown as elements of a fixed list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sleuth.surfaces.page.answering import Card, rendered
from sleuth.surfaces.page.markdown import TAGS, Element, Node, parse, texts_of, to_html, to_json

TEXT = """# Top

Some **bold** and `code`, a [link](https://example.org/?a="b"), a [trap](javascript:alert(1)) and ![a picture](x.png).

- one
  1. two

| name | value |
|---|---|
| a | <script>alert(1)</script> |

```python
x < 1
```
"""


def _elements(nodes: list[Node]) -> list[Element]:
    elements = [node for node in nodes if isinstance(node, Element)]
    return elements + [below for element in elements for below in _elements(element.children)]


def test_markdown_becomes_elements() -> None:
    """Headings, emphasis, code, nested lists and tables become elements; HTML stays text."""
    nodes = parse(TEXT)
    html = str(to_html(nodes))
    assert '<h2 class="level-1">Top</h2>' in html
    assert "<strong>bold</strong>" in html
    assert "<li>one<ol><li>two</li></ol></li>" in html
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in html
    assert "<code>x &lt; 1</code>" in html
    assert to_json(nodes)[0] == ["h2", {"class": "level-1"}, ["Top"]]


def test_columns_of_a_table_keep_their_alignment() -> None:
    """The line below the header says where the texts of a column stand."""
    html = str(to_html(parse("| name | weight | kind |\n|---|---:|:-:|\n| otter | 45 | sea |")))
    assert '<th>name</th><th class="right">weight</th><th class="center">kind</th>' in html
    assert '<td>otter</td><td class="right">45</td><td class="center">sea</td>' in html


def test_tables_that_loaders_write_are_tables() -> None:
    """Rows without a line below the header are a table, each of its line; so are the rows in which a passage begins."""
    table = parse("Weights.\n\n| species | weight |\n| sea *otter* | 45 kg \\| 99 lb |")[1]
    assert isinstance(table, Element)
    assert "<thead><tr><th>species</th><th>weight</th></tr></thead>" in to_html([table])
    assert "<td>sea <em>otter</em></td><td>45 kg | 99 lb</td>" in to_html([table])
    assert [row.lines for row in _elements([table]) if row.tag == "tr"] == [range(2, 3), range(3, 4)]
    assert str(to_html(parse("|---|---|\n| a | b |"))).count("<td>") == 2
    assert "table" not in str(to_html(parse("| a |\n| b")) + to_html(parse("|x|")))


def test_only_addresses_of_the_web_are_links() -> None:
    """A link leads to http or https alone, without telling where it was; a picture is its words."""
    links = [element for element in _elements(parse(TEXT)) if element.tag == "a"]
    assert [link.attributes["href"] for link in links] == ["https://example.org/?a=%22b%22"]
    assert "noreferrer" in links[0].attributes["rel"]
    assert "a picture" in "".join(texts_of(parse(TEXT)))
    for address in ("data:text/html,x", "/sign-out", "//evil.org", "vbscript:x", "JavaScript:x"):
        assert "href" not in str(to_html(parse(f"[x]({address})")))


@given(st.text(st.sampled_from("<>[]()|*_`#-~!&;:\\ \n\"'=/1ajscript"), max_size=80))
def test_no_text_becomes_another_element(text: str) -> None:
    """Whatever a text holds, its elements are of the list, and its markup holds no other tag or attribute."""
    for element in _elements(parse(text)):
        assert element.tag in TAGS
        assert set(element.attributes) <= {"class", "href", "rel", "start", "tabindex"}


def test_citations_are_links() -> None:
    """Each number of a citation is a link to its passage; code and numbers without a passage stay text."""
    cards = [Card(number, [f"{number}"], "", "", "", f"/source?id={number}", "") for number in (1, 2)]
    html = to_html(rendered("So [1, 2], [1-2], `[1]` and [3].", cards))
    assert html.count('data-number="1"') == html.count('data-number="2"') == 2
    assert "<code>[1]</code> and [3]." in html
