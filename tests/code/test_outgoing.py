"""Names that a piece of code uses: definitions of other places, in every language."""

from pathlib import Path
from typing import Any

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.engine import open_code
from tests.code.test_bindings import indexed

# ruff: noqa: E501 - sources of other languages
SOURCES = {
    "a.py": "import os\n\ndef helper(x):\n    return x\n\ndef work(handler, items):\n    local = lambda y: y\n    def inner(z):\n        return z\n    total = 0\n    for item in items:\n        total += handler(item) + local(item) + inner(item) + helper(item)\n        item.run()\n    with open('x') as stream:\n        stream.read()\n    os.remove(total)\n    return work(handler, [])\n",
    "b.js": "function helper(x) { return x }\nexport function work(handler, items) {\n  const local = y => y;\n  function inner(z) { return z }\n  for (const item of items) { handler(item); local(item); inner(item); helper(item); item.run() }\n}\n",
    "c.ts": "function helper(x: number): number { return x }\nexport function work(handler: (n: number) => void, items: number[]): void {\n  const local = (y: number) => y;\n  for (const item of items) { handler(item); local(item); helper(item); }\n}\n",
    "d.go": "package d\nfunc helper(x int) int { return x }\nfunc work(handler func(int), items []int) {\n\tlocal := func(y int) int { return y }\n\tfor _, item := range items {\n\t\thandler(item)\n\t\tlocal(item)\n\t\thelper(item)\n\t}\n}\n",
    "e.rs": "fn helper(x: i32) -> i32 { x }\nfn work(handler: fn(i32), items: Vec<i32>) {\n    let local = |y: i32| y;\n    for item in items {\n        handler(item);\n        local(item);\n        helper(item);\n    }\n}\n",
    "f.c": "int helper(int x) { return x; }\nvoid work(void (*handler)(int), int n) {\n  int (*local)(int) = helper;\n  handler(n);\n  local(n);\n  helper(n);\n}\n",
    "g.rb": "def helper(x)\n  x\nend\ndef work(handler, items)\n  local = Proc.new { |y| y }\n  items.each { |item| handler.call(item); local.call(item); helper(item) }\nend\n",
    "i.cpp": "int helper(int x) { return x; }\nvoid work(std::function<void(int)> handler, int n) {\n  auto local = [](int y) { return y; };\n  handler(n); local(n); helper(n);\n}\n",
    "r.tsx": "function helper(x: number): number { return x }\nexport function work(handler: (n: number) => void, items: number[]) {\n  const local = (y: number) => y;\n  for (const item of items) { handler(item); local(item); helper(item); }\n  return null;\n}\n",
    "n.sh": "helper() { echo 1; }\nwork() {\n  local handler=$1\n  helper\n  $handler\n}\n",
}
OTHERS = {"a.py": {"os.remove"}, "g.rb": {"Proc.new", "Proc"}}
"""What belongs to no file of the repository, and yet is another place."""


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All sources, indexed; and the repository's id."""
    with indexed(tmp_path_factory, SOURCES) as code:
        yield code


@pytest.mark.parametrize("name", SOURCES)
def test_definitions_elsewhere(storage: tuple[CodeStorage, str], name: str) -> None:
    """The function that is called is named with its line; parameters, variables and inner functions are not."""
    check_definitions(*storage, name, SOURCES[name], OTHERS.get(name, set()))


def check_definitions(
    code_index: CodeStorage, repository: str, name: str, source: str, others: set[str]
) -> None:
    """Assert that `work` in a file names `helper` and the class around it, beside others."""
    hits = CodeRetriever(code_index, None).retrieve(
        "work", repository, strategy="keyword", limit=50, filters={"path_prefix": name}
    )
    (hit,) = [hit for hit in hits if "work" in hit.content]
    names = {definition["name"] for definition in hit.outgoing_definitions} - others
    assert {part for definition in names for part in definition.split(".")} <= {"H", "helper"}
    (helper,) = [
        definition for definition in hit.outgoing_definitions if definition["name"].endswith("helper")
    ]
    assert (helper["role"], helper["file_path"]) == ("call", name)
    assert "helper(" in source.splitlines()[helper["line"] - 1]
    assert not hit.start_line <= helper["line"] <= hit.end_line


def test_methods_of_variables_are_kept_where_they_are_known(tmp_path: Path) -> None:
    """The method of an object whose class is known is a definition elsewhere; so is a module's function."""
    (tmp_path / "user.py").write_text("class User:\n    def save(self):\n        pass\n")
    (tmp_path / "use.py").write_text(
        "import stripe\nfrom user import User\n\ndef pay(amount):\n    user = User()\n    user.save()\n    return stripe.charge(amount)\n"
    )
    with open_code(tmp_path / "index", create=True) as code_index:
        repository = index_path(code_index, tmp_path, workers=1).repository
        hit = CodeRetriever(code_index, None).retrieve("pay", repository, strategy="keyword", limit=1)[0]
    assert [
        (definition["name"], definition["role"], definition.get("file_path"))
        for definition in hit.outgoing_definitions
    ] == [
        ("User", "instantiation", "user.py"),
        ("user.save", "call", "user.py"),
        ("stripe.charge", "call", None),
    ]
