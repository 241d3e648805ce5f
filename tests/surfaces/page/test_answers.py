"""Answers of a model on the page, in Chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sleuth.testing.ollama import OllamaServer
from tests.surfaces.http.conftest import Local, rewriting

from .conftest import SCRIPT, Look, pages

ANSWER = Path(__file__).with_name("answer.txt").read_text("utf8").replace("{SCRIPT}", SCRIPT)
QUESTION = "/?q=how+often+are+tokens+refilled&in=docs"
FOLLOW_UP = {"q": "how many", "after": "otters swim", "follow": "1", "in": "docs"}
SHIFTS = Path(__file__).with_name("shifts.js").read_text("utf8")


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    """A model that writes `ANSWER`, and rewrites each question that follows others to one about otters."""
    with OllamaServer(reply=rewriting("How often do otters swim?", ANSWER)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def writer(corpus: Path, ollama: OllamaServer) -> Iterator[Local]:
    """A server whose model answers from documents and code."""
    with pages(corpus, "docs", "code", model="llama3.1") as started:
        yield started


@pytest.fixture
def page(browser: Any, writer: Local) -> Iterator[Look]:
    """A reader of that server; nothing may complain."""
    with Look(browser, writer.url) as look:
        look.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield look


def test_markdown_of_a_model_becomes_elements(page: Look) -> None:
    """Bold, nested lists, tables, code and links are elements; HTML of a model is text, and nothing of it runs."""
    answer = page.open(QUESTION).locator("#answer")
    assert answer.locator("strong").inner_text() == "Tokens"
    assert answer.locator("li li").count() == 1
    assert SCRIPT in answer.locator("td").all_inner_texts()
    assert answer.locator("pre").inner_text() == 'x = "[1]"'
    assert answer.locator("pre a").count() == 0
    links = answer.locator(".text a:not(.citation)").evaluate_all("links => links.map(link => link.href)")
    assert links == ["https://example.org/"]
    assert "[99]" not in answer.locator("a").all_inner_texts()
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("main script, #answer img").count() == 0


def test_a_citation_shows_its_passage(page: Look) -> None:
    """A citation leads to its result, and shows its passage under the pointer and in the focus."""
    page.open(QUESTION)
    citation = page.page.locator(".citation").first
    citation.hover()
    preview = page.page.locator("#preview")
    assert "refilled every second" in preview.inner_text()
    page.page.mouse.move(0, 0)
    preview.wait_for(state="detached")
    citation.focus()
    assert preview.count() == 1
    citation.click()
    target = page.page.locator(page.page.url[page.page.url.index("#") :])
    assert "limits.md" in target.inner_text()


def test_results_stay_where_they_are_while_an_answer_is_written(page: Look) -> None:
    """The answer has its space before it is there: the layout shifts by less than .02."""
    page.page.add_init_script(SHIFTS)
    page.open("/?q=zzqx")
    page.page.fill("#q", "how often are tokens refilled")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#answer .text strong")
    page.settle()
    assert page.page.evaluate("window.shifts") < 0.02
    assert page.page.locator("#answer.clipped").count() == 1
    page.page.click("text=Show all")
    assert page.page.locator("#answer pre").is_visible()


def test_an_answer_is_written_once(page: Look, ollama: OllamaServer) -> None:
    """Another page of results, a source, the way back and a reload show the same answer without the model."""
    page.open(QUESTION)
    written = page.page.locator("#answer .text").inner_html()
    page.page.locator("a[rel=next]").click()
    page.page.wait_for_url("**page=2")
    assert page.page.locator("#answer").count() == 0
    page.page.go_back()
    page.page.wait_for_selector("#answer .text strong")
    page.page.locator("#hit-1 a.open").click()
    page.page.wait_for_url("**/source**")
    page.page.go_back()
    page.page.wait_for_selector("#answer .text strong")
    page.page.locator("#hit-1 a", has_text="Why this result").click()
    page.page.wait_for_selector(".why")
    page.page.reload()
    page.page.wait_for_selector("#answer .text strong")
    assert page.page.locator("#answer .text").inner_html() == written
    assert len(ollama.payloads("/api/generate")) == 1


def test_a_model_that_is_down_says_why(page: Look, ollama: OllamaServer) -> None:
    """The cause stands in place of the answer, the results stand below it, and the next try asks again."""
    ollama.fail("late-error", always=True)
    failure = page.open(QUESTION).locator("#answer .failure")
    assert "an error was encountered while running the model" in failure.inner_text()
    assert page.page.locator(".hit").count() > 0
    ollama.fail()
    page.page.click("#answer >> text=Try again")
    page.page.wait_for_selector("#answer .text strong")
    page.settle()
    assert page.page.locator("#answer.failed").count() == 0
    assert "an error was encountered" not in page.page.locator("#answer").inner_text()
    assert not page.page.locator("#answer >> text=Try again").is_visible()


def test_a_model_that_is_down_hides_no_results(writer: Local, ollama: OllamaServer) -> None:
    """Without script the cause or the cut of an answer is said, and a follow-up is asked with the words before it."""
    ollama.fail("crash", always=True)
    page = writer.client.get(f"{QUESTION}&answer=1")
    followed = writer.client.get("/", params=FOLLOW_UP, follow_redirects=True).text
    assert page.status_code == 200
    assert "Ollama" in page.text.partition('class="failure"')[2].partition("</p>")[0]
    assert 'id="hit-1"' in page.text
    assert "how many otters swim" in followed
    ollama.fail("cut", always=True)
    assert (
        "The answer is cut off" in writer.client.get(f"{QUESTION}&answer=1").text.partition('id="answer"')[2]
    )


def test_stopping_and_copying(page: Look, ollama: OllamaServer) -> None:
    """A reader stops the model and keeps what is written; a whole answer is copied with its sources."""
    page.open(QUESTION)
    page.page.click("#answer >> text=Copy")
    page.page.wait_for_selector("#answer >> text=copied")
    text = page.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("**Tokens** are refilled")
    assert "limits.md" in text.rpartition("\n[1] ")[2]
    ollama.fail("drip", always=True)
    page.page.fill("#q", "how are tokens refilled")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#answer.writing .text >> text=Tokens")
    page.page.click("#answer >> text=Stop")
    page.page.wait_for_selector("#answer >> text=stopped")
    assert "example.org" not in page.page.locator("#answer .text").inner_text()
    ollama.fail()
    page.page.click("#answer >> text=Try again")
    page.page.wait_for_selector("#answer .text >> text=the guide")


@pytest.mark.parametrize("sources", ["in=docs", "in=code", "in=docs&in=code"])
def test_the_model_answers_for_every_choice_of_sources(
    writer: Local, ollama: OllamaServer, sources: str
) -> None:
    """The model of the server writes from documents, from code, and from both."""
    events = writer.client.get(f"/answer?q=how+are+tokens+refilled&{sources}").text
    names = [source.removeprefix("in=") for source in sources.split("&")]
    body = {"query": "how are tokens refilled", "sources": names}
    assert writer.client.post("/v1/ask", json=body).json()["synthesizer"] == "llm"
    assert events.startswith("event: answer")
    assert len(ollama.payloads("/api/generate")) == 2


def test_a_page_that_is_left_stops_its_answer(page: Look) -> None:
    """The stream of an answer ends without an error message when other results replace it."""
    browser, tab = page, page.open("/")
    ended: list[str] = []
    tab.on("requestfailed", lambda request: ended.append(request.url))
    routes: list[Any] = []

    def hold(route: Any) -> None:  # Playwright takes no builtin method
        routes.append(route)

    tab.route("**/answer?**first**", hold)  # it gets no answer
    tab.fill("#q", "first tokens")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#answer.writing")
    tab.fill("#q", "second tokens")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**second**")
    browser.settle()
    assert tab.locator("#answer.failed").count() == 0
    assert [url for url in ended if "first" in url] == [routes[0].request.url]


def test_a_follow_up_is_rewritten_once_and_shown(page: Look, ollama: OllamaServer) -> None:
    """The follow-up is searched as the question that the model makes of it; the address has that question."""
    page.open(QUESTION)
    page.page.evaluate("window.same = true")
    page.page.fill(".follow input[name=q]", "and otters?")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".thread")
    page.settle()
    assert (
        page.page.locator(".thread").inner_text() == "“and otters?” was asked as: How often do otters swim?"
    )
    assert page.page.locator("#q").input_value() == "How often do otters swim?"
    assert "follow=1" not in page.page.url
    assert page.page.locator(".hit", has_text="otters.md").count() == 1
    asked = len(ollama.payloads("/api/generate"))
    assert asked == 3
    page.page.reload()
    page.page.wait_for_selector("#answer .text strong")
    assert len(ollama.payloads("/api/generate")) == asked
    page.page.go_back()
    page.page.wait_for_selector("#answer .text strong")
    assert len(ollama.payloads("/api/generate")) == asked


def test_a_follow_up_without_script_and_without_a_model(library: Local) -> None:
    """The words of the question before it are added, and the page says so."""
    text = library.client.get("/", params=FOLLOW_UP, follow_redirects=True).text
    assert "was asked as" in text
    assert "how many otters swim" in text
    assert "otters.md" in text
