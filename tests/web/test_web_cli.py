"""`sleuth web`."""

import json
import subprocess
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
