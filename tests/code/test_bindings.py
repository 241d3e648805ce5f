"""The calls of a function are listed, whatever its comments, strings and variables are."""

# ruff: noqa: E501 - sources of other languages, a line each
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sleuth.code import CodeRetriever, CodeStorage, index_path
from sleuth.engine import open_code
from tests.code.conftest import parse_source


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


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All samples, indexed; and the repository's id."""
    with indexed(tmp_path_factory, {name: sample.source for name, sample in SAMPLES.items()}) as code:
        yield code


@contextmanager
def indexed(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> Iterator[tuple[CodeStorage, str]]:
    """Index files, and yield the storage with the repository's id."""
    root = tmp_path_factory.mktemp("samples")
    for name, text in files.items():
        (root / name).write_text(text)
    with open_code(tmp_path_factory.mktemp("index"), create=True) as code:
        yield code, index_path(code, root, workers=1).repository


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_stay_and_variables_do_not(storage: tuple[CodeStorage, str], name: str) -> None:
    """Words in comments and strings hide no call; parameters and variables are not listed."""
    check_calls(*storage, name, SAMPLES[name])


def check_calls(code: CodeStorage, repository: str, name: str, sample: Sample) -> None:
    """Assert which calls of `run` in a file are listed."""
    hits = CodeRetriever(code, None).retrieve(
        "run", repository, strategy="keyword", limit=60, filters={"path_prefix": name}
    )
    hit = hits[0]  # a small class is one hit with its methods
    names = {item["name"].replace("::", ".").replace("->", ".") for item in hit.outgoing_definitions}
    assert names >= sample.kept
    assert not names & sample.variables


def test_the_example_of_calls(tmp_path: Path) -> None:
    """A function that logs and connects within `with` renders both calls."""
    (tmp_path / "main.py").write_text(
        "from app import db, logger\n\n\nclass App:\n    def run():\n        # as logger says, with db\n"
        "        logger.info('for db')\n        with db.connect() as connection:\n            connection.go()\n"
    )
    with open_code(tmp_path / "index", create=True) as code:
        repository = index_path(code, tmp_path, workers=1).repository
        hit = CodeRetriever(code, None).retrieve("def run", repository, strategy="keyword", limit=1)[0]
    assert "[RELATIONS] Calls: logger.info, db.connect" in hit.render()


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
