"""A server over friendly and hostile documents and code, and a real browser that looks at it."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from sleuth import Document, Engine, index_path, open_code
from sleuth.surfaces.cli.serve import extensions
from tests.code.conftest import write
from tests.ingest.files import pdf
from tests.surfaces.http.conftest import Local, serving
from tests.surfaces.project import BUCKET, LIMITS

SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
SVG = '<svg onload="window.hacked=1"><a xlink:href="javascript:window.hacked=1">x</a></svg>'
MARKDOWN = (
    "[harmless](javascript:window.hacked=1) ![x](x){onerror=window.hacked=1} "
    "<details open ontoggle=window.hacked=1>"
)
BIDI = "\u202etxt.exe\u2066 right"

TABBED = f"{BUCKET}\n\ndef serve(bucket: TokenBucket):\n\tbucket.refill(1)\n"
PLANS = Path(__file__).with_name("plans.txt").read_text("utf8")
WIDE = f"# {'Donaudampfschifffahrt' * 9}\n\nQuokkas {'x' * 300} and https://example.org/{'quokka/' * 60}\n"
OTTERS = "".join(f"## Part {n}\n\n{f'Otters swim in river {n}. ' * 60}\n\n" for n in ("one", "two", "three"))
HOSTILE = [
    Document(f"Poison in the text {SCRIPT} {SVG}", {"source": "text.md", "kind": "plain"}),
    Document("Poison in the title", {"source": "title.md", "title": SCRIPT, "kind": "plain"}),
    Document("Poison in the path", {"source": f"a/{SCRIPT}/b.md", "kind": f'"><script>{SVG}'}),
    Document(f"Poison in Markdown {MARKDOWN}", {"source": "markdown.md", "kind": SCRIPT}),
    Document(f"Poison of direction {BIDI}", {"source": f"{BIDI}.md", "title": BIDI, "kind": BIDI}),
    Document("Poison in an address", {"source": "javascript:window.hacked=1//", "kind": "plain"}),
    Document(
        "Poison in an id",
        {"source": "id.md", "kind": "plain"},
        id=f'" autofocus onfocus="window.hacked=1 {SCRIPT}',
    ),
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, code, hostile documents and a PDF, indexed in `.sleuth`."""
    root = tmp_path_factory.mktemp("page") / "corpus"
    files: dict[str, str | bytes] = {
        "docs/limits.md": LIMITS,
        "docs/plans.md": PLANS,
        "docs/otters.md": OTTERS,
        "docs/wide.md": WIDE,
        "docs/hostile.md": f"# Poison {SCRIPT}\n\nPoison {MARKDOWN} {SVG}\n",
        "docs/report.pdf": pdf(
            [["Rivers carry silt to the sea."], ["Glaciers calve into fjords in summer."]]
        ),
        "code/bucket.py": TABBED,
        "code/evil.py": f'def poison():\n    """{SCRIPT} {BIDI}"""\n    return 1\n',
    }
    write(root, files)
    teams = (
        Document(f"Quotas of team {n} hold {n} items.", {"source": f"t{n}.md", "team": f"team {n % 3}"})
        for n in range(30)
    )
    make_index(root, [*HOSTILE, *teams], root / "docs", code=root / "code")
    return root


def make_index(folder: Path, documents: Iterable[Document], *paths: Path, code: Path | None = None) -> None:
    """Index documents, files and code in `.sleuth` of a folder."""
    with Engine.open(folder / ".sleuth", create=True) as engine:
        if paths:
            engine.index(paths)
        engine.add(documents)
    if code is not None:
        with open_code(folder / ".sleuth", create=True) as storage:
            index_path(storage, code, workers=1)


@contextmanager
def pages(folder: Path, *sources: str, **settings: Any) -> Iterator[Local]:
    """Run a server over the index of a folder, with all that `sleuth serve` adds."""
    with serving(
        folder / ".sleuth", extensions=extensions(), sources=sources or ("docs",), **settings
    ) as started:
        yield started


@pytest.fixture(scope="module")
def server(corpus: Path) -> Iterator[Local]:
    """A server over documents and code of the corpus."""
    with pages(corpus, "docs", "code") as started:
        yield started


@pytest.fixture(scope="module")
def library(corpus: Path) -> Iterator[Local]:
    """A server over the documents of the corpus."""
    with pages(corpus) as started:
        yield started


@pytest.fixture
def site(server: Local) -> str:
    return server.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, headless. Of one module: while it is there, the thread has a running event loop."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed: `make browser`")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: `make browser`")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


class Look:
    """A page in the browser, with what it complained about.

    Attributes:
        complaints: messages of the console, errors of scripts and violations of the content security policy.
    """

    def __init__(self, browser: Any, site: str, **options: Any) -> None:
        self.site = site
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if options.get("java_script_enabled", True):
            self.page.add_init_script(
                "addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective, e.sample))"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.complaints == []

    def open(self, path: str) -> Any:
        """Go to a path and wait for the answer to be written."""
        self.page.goto(self.site + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until no answer is being written."""
        self.page.wait_for_selector("#answer.writing", state="detached")


@pytest.fixture
def look(browser: Any, site: str) -> Iterator[Any]:
    """Opens pages of the site; a test that ends with a complaint fails."""
    looks: list[Look] = []

    def opener(**options: Any) -> Look:
        looks.append(Look(browser, site, **options))
        return looks[-1]

    with ExitStack() as stack:
        yield opener
        for look in looks:
            stack.enter_context(look)
