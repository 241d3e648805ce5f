"""The calls of a function, and names of other places, are listed, whatever its comments, strings and variables are."""

# ruff: noqa: E501 - sources of other languages, a line each
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sleuth.code import CodeStorage, index_path
from sleuth.engine import open_code
from tests.code.conftest import hits_by_words, open_project, parse_source, write


class Sample(NamedTuple):
    """A function that calls what its comments and strings mention after words that declare something.

    Attributes:
        kept: names that must be listed.
        variables: names that must not be.
    """

    source: str
    kept: set[str]
    variables: set[str]


SAMPLES = {
    "a.py": Sample(
        '''import logging
logger = logging.getLogger()

def run(db, items):
    """Works with helper, for load, as fetch, except save, val other, local more."""
    # with helper as fetch: for load in save, except more as other
    text = "with helper for load as fetch except save val other = local more"
    with helper(text) as opened, fetch(1) as (left, right):
        opened(); left(); right()
    for item in load(items):
        item(); item.go()
    try:
        save(text)
    except other() as error:
        error()
    numbers = [number() for number in more(items)]
    (lambda inner: inner())(numbers)
    global outside
    outside = made()
    outside()
    logger.info(db.connect())
    "x".join(numbers)
    match numbers:
        case [first, *rest]:
            first(); rest()
''',
        {"helper", "fetch", "load", "save", "other", "more", "made", "outside", "logger.info"},
        {"opened", "left", "right", "item", "item.go", "error", "number", "inner", "db.connect", "join", "first", "rest", "numbers"},
    ),
    "b.js": Sample(
        "function run(db, {part}, ...rest) {\n  // let helper = 1; for (const load of x) catch (save) var other\n  const text = 'let helper = for load as fetch => var other';\n  for (const item of load(text)) { item(); part(); rest(); }\n  try { save(text); } catch (error) { error(); }\n  const made = () => other(), [left] = fetch(helper(text));\n  left();\n  db.connect(); logger.info(text);\n  shared = fetch; shared();\n}\n",
        {"load", "save", "other", "fetch", "helper", "logger.info", "shared"},
        {"item", "part", "rest", "error", "left", "db.connect", "made"},
    ),
    "c.ts": Sample(
        "function run(db: Db, part: (n: User) => void): Answer {\n  // let helper = 1; for (const load of x) as fetch: save\n  const text: string = 'let helper = for load as fetch';\n  for (const item of load(text)) { item(); part(1); }\n  try { save(text); } catch (error) { error(); }\n  const left = fetch(helper(text)) as Answer;\n  left(); db.connect(); logger.info(text);\n}\n",
        {"load", "save", "fetch", "helper", "logger.info"},
        {"item", "part", "error", "left", "db.connect"},
    ),
    "e.tsx": Sample(
        "function run(db: Db, part: () => void) {\n  // let helper = 1; for (const load of x)\n  for (const item of load('let helper = 1')) { item(); part(); }\n  helper(); db.connect(); logger.info(1);\n  return <p>let helper</p>;\n}\n",
        {"load", "helper", "logger.info"},
        {"item", "part", "db.connect"},
    ),
    "d.go": Sample(
        'package d\n\nfunc run(db *Db, part func(int)) (answer func()) {\n\t// var helper = 1; for load := range x; helper := 1\n\ttext := "var helper = 1"\n\tfor _, item := range load(text) {\n\t\titem(1)\n\t\tpart(1)\n\t}\n\tuser := user.New(helper(text))\n\tuser.Save()\n\tif err := save(text); err != nil {\n\t\terr.Fail()\n\t}\n\tdb.Connect()\n\tanswer()\n\tlog.Info(text)\n}\n',
        {"load", "helper", "save", "user.New", "log.Info"},
        {"item", "part", "user.Save", "err.Fail", "db.Connect", "answer"},
    ),
    "f.rs": Sample(
        "fn run(db: &Db, part: fn(i32)) {\n    // let helper = 1; for load in x { |save| fetch }\n    let text = \"let helper = 1; for load in save\";\n    for item in load(text) { item(); part(1); }\n    if let Some(left) = fetch(text) { left(); }\n    match save(text) { Ok(value) => value(), Err(error) => error() }\n    let own = |inner: fn()| inner();\n    own(helper); helper(); db.connect(); logger::info(text);\n}\n",
        {"load", "fetch", "save", "helper", "logger.info"},
        {"item", "part", "left", "value", "error", "own", "inner", "db.connect"},
    ),
    "h.c": Sample(
        "void run(struct db *db, void (*part)(int)) {\n  // int helper = 1; for (load;;)\n  char *text = \"int helper = 1; for load\";\n  int (*own)(int) = fetch;\n  for (int item = load(text);;) { part(item); own(item); }\n  helper(text);\n  db->connect(text);\n  logger.info(text);\n}\n",
        {"load", "helper", "logger.info"},
        {"part", "own", "db.connect"},
    ),
    "i.cpp": Sample(
        "void run(Db& db, std::function<void(int)> part) {\n  // auto helper = 1; for (auto load : x) catch (save)\n  auto text = \"auto helper = 1; for load\";\n  for (auto& item : load(text)) { item(); part(1); }\n  try { save(text); } catch (const Error& error) { error.go(); }\n  auto own = [](int inner) { return fetch(inner); };\n  own(1); helper(text); db.connect(); logger.info(text);\n}\n",
        {"load", "save", "fetch", "helper", "logger.info"},
        {"item", "part", "error.go", "own", "db.connect"},
    ),
    "k.rb": Sample(
        "def run(db, part)\n  # for load in helper; rescue save => fetch\n  text = \"for load in helper; rescue save => fetch\"\n  for item in load(text) do item.go end\n  begin\n    save(text)\n  rescue Error => error\n    error.go\n  end\n  fetch(text) { |inner| inner.go }\n  helper = helper(text)\n  part.go\n  db.connect\n  Log.info(text)\nend\n",
        {"load", "save", "fetch", "helper", "Log.info"},
        {"item.go", "error.go", "inner.go", "part.go", "db.connect"},
    ),
    "s.sh": Sample(
        "run() {\n  # local helper=1; for load in x; read save\n  local helper='local load=1; for save in x'\n  for load in 1 2; do save $load; done\n  helper\n  load\n}\n",
        {"save", "helper", "load"},
        set(),
    ),
}  # fmt: skip


OUTGOING = {
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
def calls(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples of calls, indexed; and the repository's id."""
    with indexed(tmp_path_factory, {name: sample.source for name, sample in SAMPLES.items()}) as code:
        yield code


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples of names of other places, apart from those."""
    with indexed(tmp_path_factory, OUTGOING) as code:
        yield code


@contextmanager
def indexed(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> Iterator[tuple[CodeStorage, str]]:
    """Index files, and yield the storage with the repository's id."""
    root = write(tmp_path_factory.mktemp("samples"), files)
    with open_code(tmp_path_factory.mktemp("index"), create=True) as code:
        yield code, index_path(code, root, workers=1).repository


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_stay_and_variables_do_not(calls: tuple[CodeStorage, str], name: str) -> None:
    """Words in comments and strings hide no call; parameters and variables are not listed."""
    check_calls(*calls, name, SAMPLES[name])


def check_calls(code: CodeStorage, repository: str, name: str, sample: Sample) -> None:
    """Assert which calls of `run` in a file are listed."""
    hits = hits_by_words(code, repository, "run", limit=60, filters={"path_prefix": name})
    hit = hits[0]  # a small class is one hit with its methods
    names = {item["name"].replace("::", ".").replace("->", ".") for item in hit.outgoing_definitions}
    assert names >= sample.kept
    assert not names & sample.variables


@pytest.mark.parametrize("name", OUTGOING)
def test_definitions_elsewhere(outgoing: tuple[CodeStorage, str], name: str) -> None:
    """The function that is called is named with its line; parameters, variables and inner functions are not."""
    check_definitions(*outgoing, name, OUTGOING[name], OTHERS.get(name, set()))


def check_definitions(
    code_index: CodeStorage, repository: str, name: str, source: str, others: set[str]
) -> None:
    """Assert that `work` in a file names `helper` and the class around it, beside others."""
    hits = hits_by_words(code_index, repository, "work", limit=50, filters={"path_prefix": name})
    (hit,) = [hit for hit in hits if "work" in hit.content]
    names = {definition["name"] for definition in hit.outgoing_definitions} - others
    assert {part for definition in names for part in definition.split(".")} <= {"H", "helper"}
    (helper,) = [each for each in hit.outgoing_definitions if each["name"].endswith("helper")]
    assert (helper["role"], helper["file_path"]) == ("call", name)
    assert "helper(" in source.splitlines()[helper["line"] - 1]
    assert not hit.start_line <= helper["line"] <= hit.end_line


def test_the_example_of_calls(storage: CodeStorage, tmp_path: Path) -> None:
    """A function that logs and connects within `with` renders both calls."""
    source = (
        "from app import db, logger\n\n\nclass App:\n    def run():\n        # as logger says, with db\n"
        "        logger.info('for db')\n        with db.connect() as connection:\n            connection.go()\n"
    )
    repository = open_project(storage, tmp_path / "app", {"main.py": source}).repository.id
    hit = hits_by_words(storage, repository, "def run", limit=1)[0]
    assert "[RELATIONS] Calls: logger.info, db.connect" in hit.render()


def test_methods_of_variables_are_kept_where_they_are_known(storage: CodeStorage, tmp_path: Path) -> None:
    """The method of an object whose class is known is a definition elsewhere; so is a module's function."""
    use = "import stripe\nfrom user import User\n\ndef pay(amount):\n    user = User()\n    user.save()\n    return stripe.charge(amount)\n"
    files = {"user.py": "class User:\n    def save(self):\n        pass\n", "use.py": use}
    repository = open_project(storage, tmp_path / "app", files).repository.id
    hit = hits_by_words(storage, repository, "pay", limit=1)[0]
    assert [(each["name"], each["role"], each.get("file_path")) for each in hit.outgoing_definitions] == [
        ("User", "instantiation", "user.py"), ("user.save", "call", "user.py"), ("stripe.charge", "call", None),
    ]  # fmt: skip


def test_bindings_have_types_and_values() -> None:
    """What a name is declared to be and what it is assigned are read from the tree, with kind, line and definition."""
    source = b"class A:\n    x: B = None\n    def f(self, y: 'C') -> D:\n        self.z = y\n        for w in y.all():\n            pass\n"
    detail = parse_source(source, "python")
    bindings = [binding for bound in detail.bindings.values() for binding in bound]
    rows = {
        (b.name, b.kind, b.type, b.value, b.line, detail.symbols[b.symbol].name, b.defines) for b in bindings
    }
    assert rows == {
        ("x", "variable", "B", "", 2, "x", True), ("f", "variable", "D", "", 3, "f", True),
        ("self", "variable", "", "", 3, "f", False), ("y", "variable", "'C'", "", 3, "f", False),
        ("z", "member", "", "y", 4, "f", False), ("w", "element", "", "y.all()", 5, "f", False),
    }  # fmt: skip
