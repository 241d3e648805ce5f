"""A receiver is followed to its method through declared types, values, returned types, bases and interfaces."""

# ruff: noqa: E501 - sources of other languages, a line each
from pathlib import Path

import pytest

from sleuth.code import CodeStorage, Navigator
from sleuth.code.graph.expressions import element_of, read_chain, type_name
from sleuth.code.graph.resolve import resolver_of
from tests.code.conftest import open_project
from tests.code.projects import SAMPLES, files_of
from tests.code.test_graph import check_meanings, resolved

FILES = files_of("receivers")
"""Two files of each language, of classes and of uses: more than one class has each method, so that no name decides alone."""
USES = {
    "py": {"self.declared.go": "A.go", "self.taken.go": "A.go", "self.made.other": "B.other", "self.made.go": "A.go", "self.far.go": "Far.go", "one.go": "A.go", "maybe.go": "A.go", "a.go": "A.go", "make().go": "A.go", "one.twin().go": "A.go", "each.go": "A.go", "opened.go": "A.go"},
    "ts": {"this.s.go": "A.go", "this.b.other": "B.other", "this.b.go": "A.go", "this.far.go": "Far.go", "this.port.go": "I.go", "maybe.go": "A.go", "a.go": "A.go", "c.go": "A.go", "a.twin().go": "A.go", "each.go": "A.go"},
    "go": {"u.field.Go": "A.Go", "u.port.Go": "I.Go", "given.Go": "A.Go", "given.Other": "B.Other", "a.Go": "A.Go", "b.Other": "Far.Other", "u.field.Twin().Go": "A.Go", "each.Go": "A.Go"},
    "rs": {"self.field.go": "A.go", "self.port.run": "I.run", "given.run": "I.run", "own.go": "Far.go", "a.go": "A.go", "a.twin().go": "A.go", "each.go": "Far.go"},
}  # fmt: skip


@pytest.mark.parametrize("ending", USES)
def test_receivers_are_followed(storage: CodeStorage, tmp_path: Path, ending: str) -> None:
    """Fields, parameters, variables, elements, returned values and bases lead to the one method that is meant."""
    models, use = f"models.{ending}", f"use.{ending}"
    check_receivers(storage, tmp_path, (models, FILES[models]), (use, FILES[use], USES[ending]))


def check_receivers(
    storage: CodeStorage, tmp_path: Path, classes: tuple[str, str], uses: tuple[str, str, dict[str, str]]
) -> None:
    """Assert what the receivers of a file mean, beside a file of classes."""
    (models, source), (use, code, expected) = classes, uses
    meanings = {name: f"{models}:{target}" for name, target in expected.items()}
    check_meanings(storage, tmp_path, {models: source, use: code}, use, meanings)


ARGUMENTS = "class Key { go() {} }\nclass Item extends Key { take() {} }\nclass Far { go() {} take() {} }\nclass Store<K, V extends Key> { one: V; many: V[]; first(): V { return this.one } }\nclass Shelf<T extends Key> extends Store<string, T> {}\nclass Use extends Shelf<Item> {\n  run(of: Store<Far, Item>) {\n    this.one.take()\n    of.first().take()\n    for (const each of of.many) { each.take() }\n    this.first().go()\n  }\n}\n"


def test_type_parameters_stand_for_arguments(storage: CodeStorage, tmp_path: Path) -> None:
    """A member whose type is a parameter of a class has the argument of the object, also through bases."""
    check_type_parameters(storage, tmp_path, "a.ts", ARGUMENTS)


def check_type_parameters(storage: CodeStorage, tmp_path: Path, path: str, source: str) -> None:
    """Assert what is called on members whose type is a parameter of their class."""
    uses = ("this.one.take", "of.first().take", "each.take")
    expected = dict.fromkeys(uses, f"{path}:Item.take") | {"this.first().go": f"{path}:Key.go"}
    check_meanings(storage, tmp_path, {path: source}, path, expected)


def test_paths_types_and_variants_of_rust(storage: CodeStorage, tmp_path: Path) -> None:
    """A path leads from the crate or a module to a name of it; a type is its struct and not an `impl` of it."""
    targets = resolved(open_project(storage, tmp_path / "crate", files_of("rust")), "src/use.rs")
    expected = {
        "far.make": "src/far/mod.rs:make", "far.Far.make": "src/far/mod.rs:Far.make", "crate.far.deep.make": "src/far/deep.rs:make",
        "super.near.Near.make": "src/near.rs:Near.make", "super.near.Near.make().unwrap().go": "src/near.rs:Near.go",
        "crate.Near.make": "src/near.rs:Near.make", "Alias.make": "src/far/mod.rs:Far.make", "held.go": "src/far/mod.rs:Far.go",
        "Shape.Dot": "src/use.rs:Shape.Dot", "Shape.Dot(1).area": "src/use.rs:Shape.area", "line.area": "src/use.rs:Shape.area",
        "self.input.pull": "src/use.rs:Stream.pull", "one.pull": "src/use.rs:Stream.pull", "Holder": "src/use.rs:Holder",
    }  # fmt: skip
    targets = {name.replace("::", "."): target for name, target in targets.items()}
    assert {name: targets.get(name, "no use") for name in expected} == expected


def test_a_field_of_many_values_that_use_it_is_inferred_once(storage: CodeStorage, tmp_path: Path) -> None:
    """Forty values of a field that use the field again are not followed in every order."""
    values = "".join(f"    @all = @all.step{n}(@all)\n" for n in range(40))
    source = f"class A\n  def run\n{values}    @all.go\n  end\n  def go\n  end\nend\n"
    targets = resolved(open_project(storage, tmp_path / "many", {"a.rb": source}), "a.rb")
    assert "@all.go" in targets


MEANINGS = SAMPLES["meanings"]


@pytest.mark.parametrize("rule", MEANINGS)
def test_names_of_a_file_have_one_meaning(storage: CodeStorage, tmp_path: Path, rule: str) -> None:
    """Each rule holds in its file."""
    path, source, names = MEANINGS[rule]
    expected = {name: target and f"{path}:{target}" for name, target in names.items()}
    check_meanings(storage, tmp_path, {path: source}, path, expected)


def test_a_parameter_hides_a_function(storage: CodeStorage, tmp_path: Path) -> None:
    """A call of a parameter does not mean the function of its name."""
    source = "def handler(): pass\n\n\ndef run(handler):\n    handler()\n\n\ndef other():\n    handler()\n"
    snapshot = open_project(storage, tmp_path / "hidden", {"a.py": source})
    assert [caller["name"] for caller in Navigator(snapshot).callers("handler")] == ["other"]


@pytest.mark.parametrize(("text", "names"), [
    ("new A<B>(x, 'y.z').b", "A() b"), ("await self.f(a, (b)).g[0]", "self f() g[]"), ("Box[int](1).b", "Box() b"),
    ("Box[int]()[0]", "Box()[]"), ("makers[0](1)", "makers()[]"), ("crate::x::Foo::new(1)?", "crate x Foo new()"),
    ("&Foo{a: 1}", "Foo()"), ("a?.b!.c", "a b c"), ("a + b", ""), ("'text'.join", ""), ("f(cut off", "f()"),
])  # fmt: skip
def test_chains_are_read(text: str, names: str) -> None:
    """Names, calls and elements of an expression are read in order; other expressions give nothing."""
    marks = [step.name + "()" * step.is_called + "[]" * step.is_indexed for step in read_chain(text)]
    assert " ".join(marks) == names


@pytest.mark.parametrize(("text", "name", "element"), [
    ("Foo | None", "Foo", ""), ("Optional[a.Foo]", "a.Foo", "a.Foo"), (": Promise<Foo>", "Foo", "Foo"),
    ("&'a mut Foo", "Foo", ""), ("Box<dyn I>", "I", "dyn I"), ("[]*Foo", "", "*Foo"), ("Foo[]", "", "Foo"),
    ("(*Foo, error)", "Foo", ""), ("'Foo'", "Foo", ""), ("dict[str, Foo]", "dict", ""), ("list[Foo]", "list", "Foo"),
    ("None", "", ""),
])  # fmt: skip
def test_types_are_read(text: str, name: str, element: str) -> None:
    """The class of a type is found behind signs, wrappers and unions; collections give that of their elements."""
    assert type_name(text) == name
    assert element_of(text) == element


def test_uncertain_uses_stand_apart(storage: CodeStorage, tmp_path: Path) -> None:
    """Uses of a dotted name come with those that may mean it; a guess by the name of the method is not certain."""
    navigator = Navigator(open_project(storage, tmp_path / "apart", files_of("apart")))

    def uses(name: str) -> list[tuple[str, bool]]:
        return [(use["text"], use["certain"]) for use in navigator.find_references(name)]

    assert uses("A.launch") == [("known.launch()", True), ("unknown.launch()", False)]
    assert uses("A.go") == [("known.go()", True), ("unknown.go()", False)]


@pytest.mark.parametrize(("name", "source", "expected"), [
    ("use.py", "from models import A\n\nif __name__ == '__main__':\n    from models import Far\n\n    top = Far()\n    top.go()\n", ["Far.go"]),
    ("use.py", "from models import A, Far\n\ntry:\n    top = A()\nexcept ValueError:\n    pass\n\n\ndef run():\n    top.go()\n\n\ndef other():\n    top = Far()\n    top.go()\n", ["A.go", "Far.go"]),
    ("use.py", "from models import A, Far\n\nfor top in []:\n    top.go()\n\nif True:\n    top = A()\n    top.go()\n    top = Far()\n    top.go()\n", ["", "A.go", "Far.go"]),
    ("use.ts", "import { A, Far } from './models';\nif (true) {\n  const top = new Far();\n  top.go();\n}\n", ["Far.go"]),
])  # fmt: skip
def test_variables_of_a_file_have_their_values(
    storage: CodeStorage, tmp_path: Path, name: str, source: str, expected: list[str]
) -> None:
    """A variable outside of functions has the class of its last value before the use; one of a function hides it."""
    models = name.replace("use", "models")
    targets = meanings(storage, tmp_path, {models: FILES[models], name: source}, name)
    names = [
        target.rpartition(":")[0].partition(":")[2]
        for use, target in targets.items()
        if use.endswith(" top.go")
    ]
    assert names == expected


def test_declarations_of_typescript_mean_their_values(storage: CodeStorage, tmp_path: Path) -> None:
    """A call means the function behind its overloads, or the value of a name that is also a type; a type stays one.

    What stands in a class or an interface is nothing that a module offers.
    """
    targets = meanings(storage, tmp_path, files_of("typescript_values"), "use.ts")
    assert targets == {
        "4 core.Init": "core.ts:Init:4", "5 z.parse": "parse.ts:parse:1", "6 .Kind": "core.ts:Kind:8",
        "7 core.Box": "core.ts:Box:9", "7 new core.Box().put": "core.ts:Box.put:12", "8 .Kind": "core.ts:Kind:7",
    }  # fmt: skip


def test_typescript_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """Parameters of callbacks, bounds, aliases, parts of values, modules behind names and blocks lead to one method."""
    targets = meanings(storage, tmp_path, files_of("typescript"), "use.ts")
    expected = {
        "4 one.twin": "A.twin:1", "4 two.other": "B.other:2", "5 third.go": "A.go:1", "6 far.go": "Far.go:4",
        "7 Maker.make": "$Maker.make:2", "8 calls.operate": "operate:6", "9 .first": "first:8",
        "10 bound.go": "A.go:1", "10 alias.go": "A.go:1", "11 this.other": "B.other:2", "12 held.other": "B.other:2",
        "14 .helper": "helper:14", "16 .helper": "helper:14", "21 .helper": "helper:20", "24 .reset": "",
        "25 Reflect.deep": "",
    }  # fmt: skip
    assert {use: targets[use].partition(":")[2] for use in expected} == expected


def meanings(storage: CodeStorage, root: Path, files: dict[str, str], use: str) -> dict[str, str]:
    """What each call and object of a file means, by its line and text: the path, name and line of a definition."""
    snapshot = open_project(storage, root, files)
    file = snapshot.file(use)
    target_by_use = {}
    for reference in snapshot.detail(file).references:
        if reference.role in ("call", "instantiation", "inheritance"):
            target = resolver_of(snapshot).resolve(file, reference)
            place = ""
            if target is not None:
                definition = target.definition
                place = f"{definition.file.path}:{definition.symbol.qualified}:{definition.symbol.line}"
            target_by_use[f"{reference.line} {reference.qualifier}.{reference.name}"] = place
    return target_by_use


def test_go_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """A module's path is its root, named results have types, and a type or function is not the method of its name."""
    files = files_of("go")
    targets = meanings(storage, tmp_path / "go", files, "cmd/main.go")
    expected = {
        "11 c.Mark": "app.go:Context.Mark:10", "12 app.Param": "app.go:Param:3", "13 json.Marshal": "",
        "14 own.Marshal": "json/json.go:Marshal:3",
    }  # fmt: skip
    assert {use: targets.get(use) for use in expected} == expected
    own = meanings(storage, tmp_path / "go2", files, "app.go")
    expected = {"9 .Param": "app.go:Param:3", "10 .Mark": "app.go:Mark:12", "14 t.Go": "app.go:Param.Go:5"}
    assert {use: own.get(use) for use in expected} == expected


def test_each_bound_of_a_type_parameter_counts(storage: CodeStorage, tmp_path: Path) -> None:
    """A receiver of a type parameter has the members of all of its bounds, also of those behind an inner `where`."""
    expected = {
        "self.input.pull": "Read.pull", "self.input.label": "Name.label", "three.close": "Close.close",
        "one.pull": "Read.pull", "one.label": "Name.label", "two.label": "Name.label",
    }  # fmt: skip
    expected = {name: f"src/lib.rs:{target}" for name, target in expected.items()}
    check_meanings(storage, tmp_path, files_of("bounds"), "src/lib.rs", expected)


def test_a_long_chain_is_read_without_what_its_brackets_hold(storage: CodeStorage, tmp_path: Path) -> None:
    """The receiver of a call may be many lines long, with closures, brackets in strings, and a value that is named."""
    body = "{ let text = \"a ) bracket\"; let sign = '('; call(text, [sign, 1]) }"
    source = f"""trait Parser {{ fn run(&self); fn then(&self) -> impl Parser; }}
struct Near;
impl Near {{ fn run(&self) {{}} }}
fn trace<F>(name: &str, body: F) -> impl Parser {{ todo!() }}
fn use_it() {{
    trace("one", move |input| {{ {body} {body} {body} }}).then().run();
}}
fn use_value() {{
    let value = trace("two", move |input| {{ {body} {body} {body} {body} }}).then();
    value.run();
}}
"""
    expected = dict.fromkeys(("trace().then().run", "value.run"), "src/lib.rs:Parser.run")
    check_meanings(storage, tmp_path, {"src/lib.rs": source}, "src/lib.rs", expected)
