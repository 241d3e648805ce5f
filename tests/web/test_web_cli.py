"""`sleuth web`."""

import json
import os
import subprocess
import sys
from pathlib import Path

from sleuth.testing.tavily import TavilyServer, error
from tests.commands import sleuth


def web(*arguments: str, cwd: Path, url: str, key: str = "tvly-local") -> subprocess.CompletedProcess[str]:
    mine = {"TAVILY_BASE_URL": url, "TAVILY_API_KEY": key, "XDG_CACHE_HOME": str(cwd / "cache")}
    return sleuth("web", *arguments, cwd=cwd, **mine)


def test_pages_are_listed_and_kept(server: TavilyServer, tmp_path: Path) -> None:
    """Title, address and text of each page are printed, a repeated query is cached, and a service that is down is
    reported.
    """
    process = web("climate", "policy", "-k", "2", cwd=tmp_path, url=server.url)
    assert process.returncode == 0, process.stderr
    assert all(word in process.stdout for word in ("Title 0", "https://www.site1.org/page", "number 1"))
    request_count = len(server.requests)
    again = web("climate", "policy", "-k", "2", "--json", cwd=tmp_path, url=server.url)
    assert json.loads(again.stdout)["num_docs"] == 2
    assert len(server.requests) == request_count
    server.always(error(401))
    failed = web("climate", "--no-cache", cwd=tmp_path, url=server.url)
    assert failed.returncode == 5
    assert "tavily answered 401" in failed.stderr
    assert "tvly-local" not in failed.stderr


def test_an_address_that_is_none(tmp_path: Path) -> None:
    """An invalid address of the service, or one with a password, is refused without printing it."""
    for url in ("http://[bad", "https://user:secret@example.org"):
        failed = web("climate", cwd=tmp_path, url=url)
        assert failed.returncode == 2
        assert failed.stderr.startswith("sleuth: TAVILY_BASE_URL must be")
        assert "secret" not in failed.stderr


def test_the_web_beside_the_index(server: TavilyServer, tmp_path: Path) -> None:
    """Index and web answer as one retriever; if the web fails, the index still answers with a report."""
    code = (
        "from sleuth import Document, Engine, open_sources\n"
        "with Engine.open('ix', create=True) as engine:\n"
        "    engine.add([Document('climate at home', id='home')])\n"
        "with open_sources('ix', ['docs', 'web']) as sources:\n"
        "    ranking = sources.retrieve('climate', 3)\n"
        "    print([item.id for item in ranking], [part.name for part in ranking.failures])\n"
    )
    mine = {"TAVILY_BASE_URL": server.url}
    for key, text in (("tvly-local", "site0.org/page"), ("wrong", "['web']")):
        environment = {**os.environ, **mine, "TAVILY_API_KEY": key, "XDG_CACHE_HOME": str(tmp_path / key)}
        result = subprocess.run(
            [sys.executable, "-c", code.replace("'ix'", f"'{key}'")],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=True, timeout=300,
        )  # fmt: skip
        assert text in result.stdout
        assert "home#" in result.stdout or "'home" in result.stdout


def test_asking_index_and_web(server: TavilyServer, tmp_path: Path) -> None:
    """`sleuth ask --web` answers from pages too, and cites their addresses."""
    server.pages = [{"url": "https://a.org/x", "title": "Tides", "content": "The tide rises twice a day."}]
    mine = {"TAVILY_BASE_URL": server.url, "TAVILY_API_KEY": "tvly-local", "XDG_CACHE_HOME": str(tmp_path)}
    (tmp_path / "home.txt").write_text("Cats sleep most of the day.")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return sleuth(*arguments, cwd=tmp_path, **mine)

    assert run("index", "home.txt").returncode == 0
    process = run("ask", "--in", "docs", "--in", "web", "how often does the tide rise?")
    assert process.returncode == 0, process.stderr
    assert "rises twice a day" in process.stdout
    assert "https://a.org/x" in process.stdout
