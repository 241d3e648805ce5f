"""What engines and rankings show at a prompt and in a notebook."""

from __future__ import annotations

from pathlib import Path

from sleuth import Document, Engine
from sleuth.types import Ranking


def test_reprs(tmp_path: Path) -> None:
    """An engine shows its folder and scope; a ranking its best ids with scores."""
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        engine.add([Document(f"ocelot {'x ' * n}", {"source": f"d{n}", "year": n}) for n in range(5)])
        assert repr(engine) == f"Engine({str(tmp_path / 'index')!r})"
        assert repr(engine.scoped("year>=2")) == f"Engine({str(tmp_path / 'index')!r}, scope='year>=2')"
        ranking = engine.retrieve("ocelot")
        assert repr(ranking).startswith("Ranking(5 items: d0#0 ")
        assert repr(ranking).endswith(", …)")
        assert repr(Ranking(())) == "Ranking(0 items)"


def test_tables(tmp_path: Path) -> None:
    """A notebook shows a ranking as a table; texts are escaped and cut."""
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        engine.add([Document("ocelot <b>&" + "x" * 300, {"source": "d"})])
        table = engine.retrieve("ocelot", filter="lnag:x OR source:d")._repr_html_()
    assert "ocelot &lt;b&gt;&amp;xxx" in table
    assert "x" * 200 not in table
    assert table.count("<tr>") == 2
    assert "lnag" in table
