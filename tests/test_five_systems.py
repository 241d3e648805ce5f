"""The page about the five systems is true, and its names are found from the top of the package."""

import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import sleuth
from sleuth.testing.ollama import OllamaServer
from sleuth.testing.tavily import TavilyServer, page
from tests.code.conftest import write

GUIDE = Path(__file__).parents[1] / "docs" / "five-systems.md"


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with TavilyServer([page(0), page(1)]) as web, OllamaServer() as ollama:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-local")
        monkeypatch.setenv("TAVILY_BASE_URL", web.url)
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        yield


@pytest.mark.usefixtures("services")
def test_its_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example prints what the page shows, in a folder with a small repository and two letters."""
    monkeypatch.chdir(tmp_path)
    files = {
        "shop/payments.py": "import stripe\n\nLIMIT = 50\n\ndef charge_card(sum):\n    return stripe.charge(sum)\n",
        "letters/judy.txt": "Pictures of Judy at the lake",
        "letters/judy.txt.metadata.json": '{"metadataAttributes": {"topic": "genealogy"}}',
        "letters/lake.txt": "Pictures of a lake and of boats",
    }
    write(tmp_path, files)
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 25
    assert result.failed == 0


def test_its_names_can_be_imported() -> None:
    """Each name of a Sleuth module on the page exists."""
    for module, name in re.findall(r"`(sleuth(?:\.[a-z_]+)*)\.(\w+)`", GUIDE.read_text("utf8")):
        home = import_module(module)
        assert hasattr(home, name) or import_module(f"{module}.{name}"), f"{module}.{name}"


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("IndianaJones", "sleuth.manager"), ("RetrievalManager", "sleuth.manager"),
        ("retrieve_local_docs", "sleuth.lexical"), ("search_web", "sleuth.web"),
        ("MultiSliceRetriever", "sleuth.knowledge_base"), ("LLMGenerator", "sleuth.llm"),
        ("OllamaEmbedder", "sleuth.llm"), ("Retriever", "sleuth.vector_store"),
    ],
)  # fmt: skip
def test_a_name_of_a_package_says_where_it_is(name: str, home: str) -> None:
    """A public name of a package below is not an attribute of `sleuth`; the error has the import that works."""
    with pytest.raises(AttributeError, match=f"from {home} import {name}"):
        getattr(sleuth, name)


def test_an_unknown_name_lists_the_names() -> None:
    """A name that no package has gives the list of the names of `sleuth`."""
    with pytest.raises(AttributeError, match=r"it has .*\bEngine\b"):
        getattr(sleuth, "NoSuch" + "Name")
