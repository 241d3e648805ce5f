"""Name resolution, the graph walker and the navigator."""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sleuth.code import CodeStorage, GraphWalker, Navigator, Snapshot
from sleuth.code.graph.resolve import resolver_of
from sleuth.errors import ArgumentError
from tests.code.conftest import hits_by_words, open_project
from tests.code.projects import SAMPLES, files_of


def resolved(snapshot: Snapshot, path: str) -> dict[str, str]:
    """Return the target of each used name of a file as `path:qualified`, or "" if it is unknown."""
    file = snapshot.file(path)
    out: dict[str, str] = {}
    for reference in snapshot.detail(file).references:
        target = resolver_of(snapshot).resolve(file, reference)
        name = f"{reference.qualifier}.{reference.name}".strip(".")
        out[name] = f"{target.definition.file.path}:{target.definition.symbol.qualified}" if target else ""
    return out


def check_meanings(
    storage: CodeStorage, root: Path, files: dict[str, str], path: str, expected: dict[str, str]
) -> None:
    """Assert what names of one of several files mean, as `resolved` tells."""
    targets = resolved(open_project(storage, root, files), path)
    assert {name: targets.get(name, "no use") for name in expected} == expected


@pytest.mark.parametrize("path", SAMPLES["project"])
def test_names_of_a_project_are_resolved(project: Snapshot, path: str) -> None:
    """Scopes, imports, aliases, members, bases, annotations, assigned types, packages and folders are followed, and
    nothing is guessed.
    """
    targets = resolved(project, path)
    assert {name: targets[name] for name in SAMPLES["project"][path]} == SAMPLES["project"][path]


@pytest.mark.parametrize("name", ["uses", "uses_of_plugins"])
def test_members_constants_and_their_owners_are_used(storage: CodeStorage, tmp_path: Path, name: str) -> None:
    """The uses in a line mean what `=` in its comment names: members, constants and owners, and no variables."""
    snapshot = open_project(storage, tmp_path, files_of(name))
    for row in snapshot.files:
        meanings = defaultdict[int, set[str]](set)
        for use in snapshot.detail(row).references:
            if target := resolver_of(snapshot).resolve(row, use):
                meanings[use.line].add(target.definition.symbol.qualified)
        for number, line in enumerate(files_of(name)[row.path].splitlines(), 1):
            if comment := re.search("(?://|#)=(.*)", line):
                assert (line, meanings[number]) == (line, set(comment[1].split()))


def test_navigation(project: Snapshot) -> None:
    """The navigator finds definitions, references, callers and tests of a snapshot."""
    navigator = Navigator(project)
    definitions = [navigator.find_definition(name)[0] for name in ("Tool.cut", "Größe", "注文クラス")]
    assert [d["file_path"] for d in definitions] == ["app/util.py", "app/names.py", "app/names.py"]
    uses = [(u["file_path"], u["inside"]) for u in navigator.find_references("Base.inherited")]
    assert uses == [("app/core.py", "Engine.run")] * 2
    assert {c["name"] for c in navigator.callers("second")} == {"helper", "Engine.run", "", "test_second"}
    with pytest.raises(ArgumentError, match="second"):
        navigator.callers("secnd")


def test_a_name_one_letter_off_is_found_in_any_file(
    project: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a repository of more files than are compared, a mistyped name is looked up by its near spellings."""
    monkeypatch.setattr("sleuth.code.graph.navigate._MOST_FILES", 1)
    navigator = Navigator(project)
    assert [navigator.near(name) for name in ("secnd", "scnd")] == [["second"], []]


def test_near_names_are_found_by_part(project: Snapshot) -> None:
    """Each step of a dotted name may be misspelled; if the last one means nothing, the name before it is near."""
    navigator = Navigator(project)
    assert navigator.near("Engnie.run")[0] == "Engine.run"
    assert navigator.near("Engine.rnu")[0] == "Engine.run"
    assert navigator.near("Engnie.rnu")[0] == "Engine.run"
    assert navigator.near("Engnie.photosynthesis") == ["Engine"]
    assert navigator.near("xyzzy.photosynthesis") == []
    with pytest.raises(ArgumentError, match=re.escape("near it: Engine.run")):
        navigator.impact("Engnie.run")


def test_impact_goes_by_hops(project: Snapshot) -> None:
    """A use is one hop away, a use of it two; the confidence is that of the weakest link."""
    touched = {t.name: t for t in Navigator(project).impact("helper", 3)}
    assert touched["Engine.run"].hops == 1
    assert all(t.hops == 1 for t in Navigator(project).impact("helper", 1))
    assert len(touched) > 1
    assert all(0 < t.confidence <= 1 for t in touched.values())
    with pytest.raises(ArgumentError, match="hops"):
        Navigator(project).impact("helper", 0)


def test_the_walker_relates(project: Snapshot) -> None:
    """The walker finds siblings, callees, implementations and tests of a definition."""
    walker = GraphWalker(project)
    (tool,) = project.definitions("second")
    assert [s["name"] for s in walker.siblings(tool)] == ["helper", "Tool"]
    assert [t["name"] for t in walker.tests(tool)] == ["test_second"]
    (shape,) = project.definitions("Shape")
    assert [i["name"] for i in walker.implementations(shape)] == ["Circle"]
    (draw,) = project.definitions("Shape.draw")
    assert [i["name"] for i in walker.implementations(draw)] == ["Circle.draw"]
    (run,) = project.definitions("Engine.run")
    assert {"self.step", "h", "util.second"} <= {c["name"] for c in walker.callees(run)}
    with pytest.raises(ArgumentError, match="callers, callees"):
        walker.related(run, ["cousins"])


def test_a_base_in_a_broken_file_has_no_heir_there(storage: CodeStorage, tmp_path: Path) -> None:
    """A class that is cut off before it is one is no heir of the base that it names."""
    files = {"base.rb": "class Shape\nend\n", "broken.rb": "module M\n  class A < Shape\n    def f\n"}
    files["a.py"] = f"{'a' * 150} = 1\n"
    snapshot = open_project(storage, tmp_path / "broken", files)
    assert GraphWalker(snapshot).implementations(*snapshot.definitions("Shape")) == []
    assert len(snapshot.definitions("a" * 150)) == 1  # longer than a word of an index


def test_expansion_on_request(project: Snapshot) -> None:
    """`expand` adds relations to every hit."""
    assert isinstance(project.storage, CodeStorage)
    related = ["callers", "tests"]
    hits = hits_by_words(project.storage, project.repository.id, "second", limit=5, expand=related)
    util = next(h for h in hits if h.symbol == "second")
    assert "helper" in {c["name"] for c in util.related["callers"]}
    assert [t["name"] for t in util.related["tests"]] == ["test_second"]


def test_absolute_imports_are_absolute(storage: CodeStorage, tmp_path: Path) -> None:
    """An import of the standard library does not resolve to a file of that name in a package; a module below src is
    found.
    """
    expected = {"json.dumps": "", "own.dumps": "src/app/json.py:dumps"}
    check_meanings(storage, tmp_path, files_of("absolute"), "src/app/use.py", expected)


def test_circles_end(storage: CodeStorage, tmp_path: Path) -> None:
    """Circular inheritance, circular imports and names defined by themselves do not loop."""
    snapshot = open_project(storage, tmp_path / "round", files_of("circles"))
    assert resolved(snapshot, "a.py")["B"] == "b.py:B"
    assert resolved(snapshot, "c.py")["name"] == ""
    assert resolved(snapshot, "e.py")


def test_an_overload_means_its_implementation(storage: CodeStorage, tmp_path: Path) -> None:
    """A call resolves to the function behind its overloads; the first of two properties stays the one that is read."""
    snapshot = open_project(storage, tmp_path / "overloads", files_of("overloads"))
    (file,) = snapshot.files
    lines = {
        reference.name: means.definition.symbol.line
        for reference in snapshot.detail(file).references
        if reference.role == "call" and (means := resolver_of(snapshot).resolve(file, reference))
    }
    assert lines == {"f": 9, "x": 15}


def test_a_name_means_nothing_of_another_language(storage: CodeStorage, tmp_path: Path) -> None:
    """A folder, a base or a unique name never resolves to another language; languages that share files count as one."""
    snapshot = open_project(storage, tmp_path / "mixed", files_of("mixed"))
    assert resolved(snapshot, "a.go") == {"save": ""}
    assert resolved(snapshot, "a.ts") == {"save": "", "show": "b.js:show"}
    assert resolved(snapshot, "a.c") == {"draw": "", "deep": "b.cpp:deep"}


def test_members_of_a_package_are_found_behind_it(storage: CodeStorage, tmp_path: Path) -> None:
    """`pkg.go()` resolves to what the package imports under that name; `pkg.other.go()` does not."""
    core = {"p.go": "pkg/core.py:go", "pkg.go": "pkg/core.py:go", "p.Thing": "pkg/core.py:Thing"}
    check_meanings(storage, tmp_path, files_of("members"), "use.py", core | {"p.other.go": ""})


def test_modules_that_are_named_whole(storage: CodeStorage, tmp_path: Path) -> None:
    """A definition in a Rust module or a sourced Bash file is found by its name, in any script."""
    snapshot = open_project(storage, tmp_path / "whole", files_of("whole"))
    rust = resolved(snapshot, "src/main.rs")
    assert (rust["inner.f"], rust["S"]) == ("src/inner.rs:f", "src/inner.rs:S")
    assert resolved(snapshot, "run.sh")["log::info"] == "lib.sh:log::info"
    assert all(map(Navigator(snapshot).find_definition, ("Заказ", "Заказ.確認する", "कुल_जोड़", "größe")))
    assert all(map(Navigator(snapshot).find_references, ("कुल_जोड़", "größe")))


GENERATED = SAMPLES["generated"]


@pytest.mark.parametrize("name", ["Api.send", "run"])
def test_generated_code_is_walked_in_linear_time(storage: CodeStorage, tmp_path: Path, name: str) -> None:
    """Four times as many uses and definitions in a file take about four times as many steps."""
    tracer = Counter[int]()

    def steps(count: int) -> int:
        text = GENERATED["head"] + "".join(GENERATED["part"].replace("@", str(i)) for i in range(count))
        navigator = Navigator(open_project(storage, tmp_path / f"{count}", {"api.py": text}))

        def trace(frame: FrameType, event: str, _: object) -> Any:
            frame.f_trace_opcodes = True
            tracer[count] += event == "opcode"
            return trace

        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            navigator.impact(name, 3)
        finally:
            sys.settrace(previous)
        return tracer[count]

    assert steps(120) < 4.5 * steps(30)
