"""What engines and rankings show at a prompt."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sleuth import ArgumentError, Document, Engine
from sleuth.types import Ranking, RetrievedItem


def test_reprs(engine: Engine, tmp_path: Path) -> None:
    """An engine shows its folder and scope; a ranking its best ids with scores."""
    engine.add([Document(f"ocelot {'x ' * n}", {"source": f"d{n}", "year": n}) for n in range(5)])
    assert repr(engine) == f"Engine({str(tmp_path / '.sleuth')!r})"
    assert repr(engine.scoped("year>=2")) == f"Engine({str(tmp_path / '.sleuth')!r}, scope='year>=2')"
    ranking = engine.retrieve("ocelot")
    assert repr(ranking).startswith("Ranking(5 items: d0#0 ")
    assert repr(ranking).endswith(", …)")
    assert repr(Ranking(())) == "Ranking(0 items)"


def test_names_of_other_libraries_are_understood(tmp_path: Path) -> None:
    """A wrong keyword names the right one, and `Engine(path)` names `Engine.open`."""
    with pytest.raises(ArgumentError, match=r"Engine\.open\('x'\)"):
        Engine("x")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"no argument 'chunk_size'; did you mean settings=\{'chunk_size': \.\.\.\}\?"
    ):
        Engine.open(tmp_path / "index", create=True, chunk_size=100)  # type: ignore[call-arg]
    with Engine.open(tmp_path / "index", create=True, embedder="") as engine:
        wrong: dict[str, Any] = {"top_k": 5}
        with pytest.raises(
            TypeError, match=r"Engine\.retrieve\(\) has no argument 'top_k'; did you mean 'k'\?"
        ):
            engine.retrieve("ocelot", **wrong)
        with pytest.raises(TypeError, match=r"no argument 'top_k'; did you mean 'k'\?"):
            asyncio.run(engine.aretrieve("ocelot", **wrong))
        with pytest.raises(TypeError, match=r"no argument 'where'; did you mean 'filter'\?"):
            engine.delete(where="lang:en")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"no argument 'qqq'$"):
            engine.count(qqq=1)  # type: ignore[call-arg]


def test_names_that_users_need(engine: Engine) -> None:
    """`dir` lists the calls of an engine, and an item names its document, which `get` and `delete` take."""
    names = dir(engine)
    assert {"add", "retrieve", "aretrieve", "search", "delete", "close"} <= set(names)
    assert not [name for name in names if name.startswith("_") or name in ("backend", "store")]
    engine.add([Document("ocelot", id="b.csv#1"), Document("margay", id="m")])
    [item] = engine.retrieve("ocelot", 1)
    assert (item.id, item.document_id) == ("b.csv#1#0", "b.csv#1")
    assert engine.delete([item.document_id]) == ["b.csv#1"]
    assert RetrievedItem(id="page", text="").document_id == "page"
