"""The pages of docs: their code runs, their links resolve, and they are as short as they promise."""

import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from sleuth.plugins.neural.known import KNOWN
from sleuth.testing.ollama import OllamaServer
from sleuth.testing.tavily import TavilyServer, page
from sleuth.web.search import SearchOptions
from tests.cluster.conftest import s3, s3_endpoint  # noqa: F401 - fixtures
from tests.code.conftest import write
from tests.guides import HOME, run_page
from tests.plugins.neural import tiny
from tests.plugins.neural.hub import Hub
from tests.plugins.websearch.servers import SearXNGServer

DOCS = HOME / "docs"
WORDS = {"how-to": 600, "concepts": 1500}
"""Of a page at most, by its folder; `docs/start.md` counts as a how-to page."""
PAGES = [DOCS / "start.md", *sorted(DOCS.glob("how-to/*.md")), *sorted(DOCS.glob("concepts/*.md"))]
CRAWLING = DOCS / "how-to" / "crawl-a-site.md"
"""Its blocks need a web site: `tests/plugins/crawl/test_crawling.py` runs them over a local one."""
FILES = {"data.jsonl": '{"body": "Buckets are refilled every second."}\n{"body": "A lake has boats."}\n'}


def names(path: Path) -> str:
    return str(path.relative_to(DOCS))


def reply(prompt: str) -> str:
    """Return what the model of the guides answers."""
    if "bucket refilled" in prompt:
        return "Every second [1]."
    if prompt.startswith("Summarize"):
        return "- Buckets limit requests"
    return "Rating: 9" if "Rate the relevance" in prompt else "A language."


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders of tiny models, by the repositories of the models whose names they bear."""
    folder = tmp_path_factory.mktemp("hub")
    return {
        "sentence-transformers/all-MiniLM-L6-v2": tiny.write_encoder(
            folder / "encoder", sentence_bert_config={"max_seq_length": 256}
        ),
        "cross-encoder/ms-marco-MiniLM-L6-v2": tiny.write_cross_encoder(folder / "cross-encoder"),
        KNOWN["Splade_PP_en_v1"].repository: tiny.write_sparse_encoder(folder / "sparse"),
    }


@pytest.fixture
def project(hub: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder in which a page runs: documents in docs, code in src; services are local."""
    folder = tmp_path / "home" / "guide"
    shutil.copytree(HOME / "examples" / "handbook", folder / "docs", ignore=shutil.ignore_patterns("*.py"))
    shutil.copytree(HOME / "examples", folder / "examples")
    (folder / "src").mkdir()
    shutil.copy(HOME / "examples" / "handbook" / "bucket.py", folder / "src")
    write(folder, FILES)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SLEUTH_PLUGINS", "SLEUTH_INDEX", "SLEUTH_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("SLEUTH", str(HOME))  # the checkout, on the first page
    monkeypatch.setenv("VISUAL", "true")
    # Where a page has a change.
    monkeypatch.setenv("PYTHONPATH", f"{folder / '.patched' / 'src'}:{HOME / 'src'}")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-local")
    monkeypatch.delenv("SLEUTH_MODELS", raising=False)
    with (
        OllamaServer(reply=reply) as ollama,
        TavilyServer([page(at) for at in range(20)]) as web,
        SearXNGServer([page(at) for at in (3, 4)]) as searxng,
        Hub(hub) as models,
    ):
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.setenv("TAVILY_BASE_URL", web.url)
        monkeypatch.setenv("SEARXNG_BASE_URL", searxng.url)
        monkeypatch.setenv("HF_ENDPOINT", models.url)
        monkeypatch.chdir(folder)
        yield folder


@pytest.mark.parametrize("path", [path for path in PAGES if path != CRAWLING], ids=names)
def test_the_code_of_a_page_runs(path: Path, project: Path, request: pytest.FixtureRequest) -> None:
    """Each block of code runs, and prints what the page shows below it."""
    text = path.read_text("utf8")
    if "s3://bucket" in text:
        s3 = request.getfixturevalue("s3")
        for bucket in ("bucket", "corpus"):
            s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket="corpus", Key="manuals/pump.md", Body=b"The pump has a valve.")
    missing = run_page(text, project)
    if missing:
        pytest.skip(f"blocks that need {', '.join(sorted(missing))} run by `make conformance`")


@pytest.mark.parametrize("path", PAGES, ids=names)
def test_a_page_is_short(path: Path) -> None:
    """A page says one thing in as many words as its folder allows."""
    bar = WORDS.get(path.parent.name, WORDS["how-to"])
    assert len(path.read_text("utf8").split()) <= bar


def test_the_guide_lists_all_known_models() -> None:
    """The page about models has each one that can be pulled by name."""
    text = (DOCS / "how-to" / "choose-a-model.md").read_text("utf8")
    assert [name for name in KNOWN if f"`{name}`" not in text] == []


UNNAMED = {
    "check_document_status", "deduplicate_results", "Hit", "Page", "WebSearch", "OllamaStatus",
    *("AGENT", "FetchRules", "REDIRECTS", "address_parts", "content_headers", "crawl_delay", "decoded", "domain_of"),
    *("fetch_once", "networks_of", "redirect_target", "ArrowTable", "BATCH", "documents_of", "fingerprint_of"),
    *("open_client", "read_rows", "row_document", "WebCall", "WebEntry", "WebQuery", "shorten"),
}  # fmt: skip
"""What other names give and take, and what plugins use."""


@pytest.mark.parametrize("package", ["knowledge_base", "llm", "vector_store", "web"])
def test_the_pages_name_what_packages_export(package: str) -> None:
    """Each public name is on a how-to page, except async twins; so is each setting of a search of the web."""
    text = "".join(path.read_text("utf8") for path in (DOCS / "how-to").glob("*.md"))
    exported = import_module(f"sleuth.{package}").__all__
    twins = {name for name in exported if name[1:] in exported}
    assert [name for name in exported if name not in text and name not in twins | UNNAMED] == []
    assert [name for name in SearchOptions.__annotations__ if f"`{name}`" not in text] == []
