"""The page in Chromium."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

HOME = Path(__file__).parents[3]
AXE = HOME / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"


TABS = Path(__file__).with_name("tabs.js").read_text("utf8")


def test_the_answer_is_whole_and_its_citation_leads_to_the_result(look: Any) -> None:
    """Quotes stand above the results in full, and a click on a citation goes to the result it cites."""
    page = look().open("/?q=how+often+are+tokens+refilled&in=docs")
    answer = page.locator("#answer")
    assert "Tokens are refilled every second." in answer.inner_text()
    assert answer.bounding_box()["y"] < page.locator(".hits").bounding_box()["y"]
    assert answer.locator(".text").evaluate("text => text.scrollHeight <= text.clientHeight")
    assert "/" not in answer.locator(".cards bdi").first.inner_text()
    citation = answer.locator("a.citation").first
    citation.click()
    assert page.url.endswith(citation.get_attribute("href"))
    target = page.locator(page.url[page.url.index("#") :])
    assert "limits.md" in target.inner_text()


def test_the_keyboard_alone(look: Any) -> None:
    """Slash goes to the question, arrows move between results, Enter opens one, and back returns to it."""
    page = look().open("/?q=token+bucket")
    page.locator("body").press("ArrowDown")
    focused = "document.activeElement.closest('.hit')?.id"
    assert page.evaluate(focused) == "hit-1"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "hit-2"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/source?**")
    assert page.locator(".line.cited").count() > 0
    page.go_back()
    page.wait_for_selector("body.results")
    assert page.evaluate(focused) == "hit-1"
    page.goto(f"{look().site}/")
    page.keyboard.press("/")
    page.keyboard.type("/v1/search")
    assert page.locator("#q").input_value() == "/v1/search"


def test_the_question_is_completed(look: Any) -> None:
    """Arrows choose a completion and Enter asks it; Escape closes the list, and the field keeps what was typed."""
    page = look().open("/")
    field, options = page.locator("#q"), page.locator("#suggestions [role=option]")
    page.keyboard.type("refi")
    options.first.wait_for()
    assert field.get_attribute("role") == "combobox"
    assert field.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#suggestions [aria-selected=true]")
    assert chosen.count() == 1
    assert field.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("ArrowUp")
    assert chosen.count() == 0
    page.keyboard.press("Escape")
    assert not options.first.is_visible()
    assert field.input_value() == "refi"
    page.keyboard.type("l")
    options.first.wait_for()
    text = options.first.locator("bdi").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert page.locator("#q").input_value() == text
    assert page.locator("#suggestions").count() == 0
    page.locator("#q").fill("tok")
    options.first.wait_for()
    options.first.click()
    page.wait_for_function("document.querySelector('#q').value !== 'tok'")


def test_a_source_opens_at_the_cited_lines(look: Any) -> None:
    """The source view shows the whole file with line numbers; cited lines and their words are marked and in sight."""
    page = look().open("/?q=refill+seconds&in=code")
    tabs = page.evaluate(TABS)
    page.locator(".hit a.open").first.click()
    page.wait_for_selector(".whole")
    assert min(tabs + page.evaluate(TABS)) > 2, "a tab at the begin of a line has four columns of .6 em"
    assert page.locator(".line").count() >= 13
    cited = page.locator(".line.cited")
    assert "def refill" in "\n".join(cited.all_inner_texts())
    assert cited.locator("mark").count() == page.locator("mark").count() > 0
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top < innerHeight")


def test_a_pdf_opens_at_its_page(look: Any, site: str) -> None:
    """A passage of a PDF names its page and links to the PDF there, which is served as it is; beside it is the page."""
    browser = look()
    page = browser.open("/?q=glaciers+calve&in=docs")
    hit = page.locator(".hit").filter(has_text="report.pdf").first
    assert "page 2" in hit.inner_text()
    hit.locator("a.open").click()
    button = page.locator("a", has_text="Open the PDF at page 2")
    button.wait_for()
    page.locator(".sheet img").evaluate("image => image.decode()")
    assert page.locator(".sheet img").evaluate("image => image.naturalWidth") > 400
    assert button.get_attribute("href").endswith("#page=2")
    answer = browser.context.request.get(site + button.get_attribute("href"))
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.body().startswith(b"%PDF")


def test_results_of_markdown_are_text(look: Any) -> None:
    """A snippet shows no signs of Markdown; the source has headings, tables and code, cited row by row."""
    page = look().open("/?q=refund+plan&in=docs")
    hit = page.locator(".hit").filter(has_text="plans.md").first
    text = hit.locator(".snippet").first.inner_text()
    assert "refund" in text
    assert not {"|", "`", "*"} & set(text)
    assert "# Plans" not in text
    hit.locator("a.open").click()
    page.wait_for_selector(".blocks")
    assert page.locator(".blocks h2").first.inner_text() == "Plans"
    assert "yearly" in page.locator(".blocks td").all_inner_texts()
    assert page.locator(".blocks tr.cited mark").count() > 0
    assert page.locator(".blocks").inner_html().count("|") == 0
    page.locator(".line-link").last.click()
    line = page.url.rpartition("#")[2]
    assert page.locator(f"#{line}").count() == 1


def test_passages_of_one_document_are_one_result(look: Any) -> None:
    """A document stands once in the results, and its further passages unfold below the best one."""
    page = look().open("/?q=otters+swim&in=docs")
    hits = page.locator(".hit").filter(has_text="otters.md")
    assert hits.count() == 1
    others = hits.locator(".other")
    assert others.count() == 2
    assert not others.first.is_visible()
    hits.locator(".others summary").click()
    assert others.first.is_visible()
    assert page.locator(".summary").inner_text().startswith("Passages 1–")
    others.first.locator("a").click()
    page.wait_for_selector(".cited")


def test_facets_narrow_and_widen(look: Any) -> None:
    """A facet's value narrows the results and the address; clicking it again takes it away."""
    page = look().open("/?q=quotas&in=docs")
    value = page.locator("aside a", has_text="team 1").first
    value.click()
    page.wait_for_url("**f=team**")
    assert page.locator("aside a[aria-current]", has_text="team 1").count() == 1
    texts = page.locator(".snippet").all_inner_texts()
    assert texts
    assert all(int(text.split()[3]) % 3 == 1 for text in texts)
    page.locator("aside a[aria-current]", has_text="team 1").click()
    page.wait_for_url(lambda url: "f=" not in url)


def test_why_a_result_is_there(look: Any) -> None:
    """The figures say why a result is there; the address says whose they are."""
    page = look().open("/?q=tokens&in=docs")
    assert page.locator(".why").count() == 0
    page.locator("#hit-1 a", has_text="Why this result").click()
    page.wait_for_url("**why=1#hit-1")
    assert page.locator(".why").count() == 1
    assert "tf" in page.locator("#hit-1 .why").inner_text()


def test_code_leads_to_definition_and_references(look: Any) -> None:
    """A piece of code links to its definition and its uses, each of which opens the source; a link leads back."""
    page = look().open("/?q=TokenBucket&in=code")
    page.locator("a", has_text="Definition and references").first.click()
    page.wait_for_selector("#references")
    assert "class TokenBucket" in page.locator(".code").first.inner_text()
    uses = page.locator(".uses .hit")
    assert uses.count() >= 1
    uses.first.locator("a.open").click()
    page.wait_for_selector(".line.cited")
    page.go_back()
    page.locator("a.back").click()
    page.wait_for_url("**q=TokenBucket**")


def test_changes_that_code_results_lack_are_told(look: Any, corpus: Path) -> None:
    """The page says how many files of the code changed since, and nothing where none did or no code was asked for."""
    file = corpus / "code" / "later.py"
    browser = look()
    assert browser.open("/?q=TokenBucket&in=code").locator(".stale").count() == 0
    file.write_text("def later():\n    return 1\n", "utf-8")
    try:
        sentences = _stale_sentence(browser, lambda texts: texts != [])
        assert sentences == [
            "1 file of the code changed since it was indexed: results from code may lack the changes."
        ]
        assert browser.open("/?q=tokens&in=docs").locator(".stale").count() == 0
    finally:
        file.unlink()
    assert _stale_sentence(browser, lambda texts: texts == []) == []


def _stale_sentence(browser: Any, is_enough: Callable[[list[str]], bool]) -> list[str]:
    """Return what the page says of changes once that is enough; the files are compared in the background."""
    texts: list[str] = []
    for _ in range(60):
        texts = browser.open("/?q=TokenBucket&in=code").locator(".stale").all_inner_texts()
        if is_enough(texts):
            break
        time.sleep(0.25)
    return texts


def test_results_take_the_place_of_others_without_a_new_page(look: Any) -> None:
    """Questions, facets and pages of results replace what is shown; the history goes back and forth between them."""
    browser = look()
    page = browser.open("/")
    page.evaluate("window.same = true")
    page.keyboard.type("how often are tokens refilled")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    browser.settle()
    assert page.title() == "how often are tokens refilled · Sleuth"
    assert "Tokens are refilled every second." in page.locator("#answer").inner_text()
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.hit').id") == "hit-1"
    page.keyboard.press("/")
    page.keyboard.type("quotas")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=quotas**")
    page.locator("aside a", has_text="docs").first.click()
    page.wait_for_url(lambda url: url.endswith("in=docs"))
    page.evaluate("scrollTo(0, 300)")
    page.locator("a[rel=next]").click()
    page.wait_for_url("**page=2")
    assert page.evaluate("scrollY") == 0
    for part in ("in=docs", "q=quotas&in=docs&in=code", "q=how+often+are+tokens+refilled"):
        page.go_back()
        page.wait_for_function("part => document.querySelector('.search').baseURI.includes(part)", arg=part)
    page.wait_for_selector(".hit >> text=refilled")
    page.go_back()
    page.wait_for_selector("body.start")
    assert page.evaluate("document.activeElement.id") == "q"
    page.go_forward()
    page.wait_for_selector("body.results")
    browser.settle()
    assert page.evaluate("window.same")


@pytest.mark.parametrize("status", [503, None])
def test_the_browser_loads_what_cannot_be_shown_in_place(look: Any, status: int | None) -> None:
    """An answer that is no page, or none at all, is left to the browser, which asks again."""
    browser = look()
    page = browser.open("/")
    resource_types: list[str] = []

    def answer(route: Any) -> None:
        resource_types.append(route.request.resource_type)
        if resource_types == ["xhr"]:
            route.abort() if status is None else route.fulfill(status=status, json={"title": "busy"})
        else:
            route.continue_()

    page.route("**/?q=*", answer)
    page.fill("#q", "tokens")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    browser.settle()
    assert resource_types == ["xhr", "document"]
    browser.complaints[:] = [text for text in browser.complaints if "Failed to load resource" not in text]


def test_dark_where_the_system_is_dark(look: Any) -> None:
    """The page is dark by the system's setting and light by the other."""
    for scheme, is_dark in (("dark", True), ("light", False)):
        page = look(color_scheme=scheme).open("/?q=tokens")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, colour[4:-1].split(","))) < 150) == is_dark


@pytest.mark.parametrize(
    "path",
    [
        "/", "/?q=token+bucket", "/?q=quokkas&in=docs", "/source?id=docs/wide.md%230&q=quokkas",
        "/source?id=docs/wide.md%230&q=quokkas&text=1", "/symbol?name=TokenBucket", "/browse", "/contents",
    ],
)  # fmt: skip
def test_narrow_screens(look: Any, path: str) -> None:
    """At 360 pixels nothing is cut off, not even a long word: the page does not scroll sideways."""
    page = look(viewport={"width": 360, "height": 740}).open(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#q").bounding_box()["width"] > 150
    if path == "/contents":
        assert page.locator("table").first.evaluate("table => table.scrollWidth <= table.clientWidth")


def test_without_script(look: Any) -> None:
    """Without script the page searches, answers, filters and shows sources."""
    page = look(java_script_enabled=False).page
    page.goto(look().site + "/")
    page.fill("#q", "how often are tokens refilled")
    page.click("button:has-text('Search')")
    assert page.locator(".hit").count() > 0
    assert "Tokens are refilled every second." in page.locator("#answer").inner_text()
    page.locator(".hit a.open").first.click()
    assert page.locator(".line.cited").count() > 0


HOSTILE_PATHS = [
    "/?q=poison", "/?q=poison&in=docs&answer=1", "/?q=poison&in=code", "/symbol?name=poison",
    f"/?q={quote('<script>window.hacked=1</script>')}",
    f"/?q=poison&in=docs&f={quote('kind:x<img/src=x/onerror=window.hacked=1>')}",
    f"/symbol?name={quote('<img src=x onerror=window.hacked=1>')}", "/source?id=title.md%230&q=poison",
    "/source?id=text.md&q=poison", "/source?id=docs/hostile.md%230&q=poison",
    "/source?id=docs/hostile.md%230&q=poison&text=1",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_hostile_documents_stay_text(look: Any, path: str) -> None:
    """Script in texts, titles, paths, metadata, ids and addresses is shown and never runs."""
    browser = look()
    page = browser.open(path)
    browser.complaints[:] = [text for text in browser.complaints if "status of 404" not in text]
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.evaluate("window.hacked") is None
    assert (
        page.evaluate("document.querySelectorAll('main script, main img, main svg, main iframe').length") == 0
    )
    assert page.evaluate("[...document.links].every(a => a.protocol.startsWith('http'))")
    assert not set("\u202e\u2066") & set(page.locator("body").inner_text())


def test_no_accessibility_violation(look: Any) -> None:
    """Axe reports no violation of WCAG 2.2 AA, light and dark, wide and narrow."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make browser`")
    axe = AXE.read_text("utf-8")
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    paths = [
        "/", "/?q=token+bucket", "/symbol?name=TokenBucket", "/source?id=title.md%230&q=poison",
        "/source?id=docs/plans.md%230&q=refund", "/source?id=docs/report.pdf%230&q=rivers",
        "/?q=otters+swim&in=docs&why=1", "/?q=zzqx&in=docs", "/browse", "/contents", "/docs",
    ]  # fmt: skip
    violations = []
    for options in (
        {"color_scheme": "light"},
        {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}},
    ):
        browser = look(**options)
        for path in paths:
            page = browser.open(path)
            page.evaluate(axe)
            result = page.evaluate("rules => axe.run({runOnly: {type: 'tag', values: rules}})", rules)
            violations += [
                f"{path} {v['id']}: {v['nodes'][0]['html'][:120]} {v['nodes'][0]['failureSummary'][:200]}"
                for v in result["violations"]
            ]
        browser.complaints.clear()  # axe itself writes to the console
    assert violations == []
