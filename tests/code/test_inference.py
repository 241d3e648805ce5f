"""A receiver is followed to its method through declared types, values, returned types, bases and interfaces."""

from __future__ import annotations

# ruff: noqa: E501 - sources of other languages, a line each
from pathlib import Path

import pytest

from sleuth.code import CodeStorage, Navigator
from sleuth.code.graph.expressions import element_of, read_chain, type_name
from sleuth.code.graph.resolve import CERTAIN, resolver_of
from tests.code.conftest import open_project
from tests.code.test_graph import resolved

CLASSES = {
    "python": ("models.py", "class A:\n    def go(self): pass\n    def twin(self) -> 'A': pass\n\n\nclass B(A):\n    def other(self): pass\n\n\nclass Far:\n    def go(self): pass\n\n\ndef make() -> A: pass\n"),
    "java": ("A.java", "class A { A twin() { return this; } void go() {} }\nclass B extends A { void other() {} }\ninterface I { void go(); }\nclass Far { void go() {} void other() {} static A make() { return null; } }\n"),
    "typescript": ("models.ts", "export class A { go(): void {} twin(): A { return this; } }\nexport class B extends A { other(): void {} }\nexport interface I { go(): void }\nexport class Far { go(): void {} other(): void {} }\nexport function make(): A { return new A(); }\nexport async function later(): Promise<A> { return new A(); }\n"),
    "go": ("models.go", "package m\n\ntype A struct{}\n\nfunc (a *A) Go() {}\nfunc (a *A) Twin() *A { return a }\n\ntype B struct{ *A }\n\nfunc (b *B) Other() {}\n\ntype I interface{ Go() }\n\ntype Far struct{}\n\nfunc (f *Far) Go() {}\nfunc (f *Far) Other() {}\n\nfunc Make() (*A, error) { return nil, nil }\n"),
    "rust": ("models.rs", "pub struct A;\nimpl A {\n    pub fn new() -> Self { A }\n    pub fn go(&self) {}\n    pub fn twin(&self) -> Box<A> { todo!() }\n}\npub trait I { fn run(&self); }\npub struct Far;\nimpl Far {\n    pub fn go(&self) {}\n    pub fn run(&self) {}\n}\n"),
    "csharp": ("A.cs", "class A { public A Twin() { return this; } public void Go() {} }\nclass B : A { public void Other() {} }\ninterface I { void Go(); }\nclass Far { public void Go() {} public void Other() {} public static A Make() { return null; } }\n"),
    "kotlin": ("models.kt", "open class A {\n  fun twin(): A { return this }\n  fun go() {}\n}\nclass B : A() {\n  fun other() {}\n}\ninterface I {\n  fun go()\n}\nclass Far {\n  fun go() {}\n  fun other() {}\n}\nfun make(): A { return A() }\n"),
}  # fmt: skip
"""A file of each language with classes: more than one has each method, so that no name decides alone."""

USES = {
    "python": (
        "use.py",
        "from models import A, B, Far, make\n\n\nclass Use:\n    declared: A\n\n    def __init__(self, given: A):\n        self.taken = given\n        self.made = B()\n        self.far: Far = None\n\n    def run(self, one: 'A', many: list[A], maybe: A | None):\n        self.declared.go()\n        self.taken.go()\n        self.made.other()\n        self.made.go()\n        self.far.go()\n        one.go()\n        maybe.go()\n        a = make()\n        a.go()\n        make().go()\n        one.twin().go()\n        for each in many:\n            each.go()\n        with A() as opened:\n            opened.go()\n",
        {"self.declared.go": "A.go", "self.taken.go": "A.go", "self.made.other": "B.other", "self.made.go": "A.go", "self.far.go": "Far.go", "one.go": "A.go", "maybe.go": "A.go", "a.go": "A.go", "make().go": "A.go", "one.twin().go": "A.go", "each.go": "A.go", "opened.go": "A.go"},
    ),
    "java": (
        "Use.java",
        "class Use {\n  private A field;\n  private final I port;\n  Use(I port) { this.port = port; }\n  void run(B given, List<A> many) {\n    field.go();\n    this.field.twin().go();\n    port.go();\n    given.go();\n    given.other();\n    var made = new Far();\n    made.other();\n    A a = Far.make();\n    a.go();\n    for (A each : many) { each.go(); }\n  }\n}\n",
        {"field.go": "A.go", "this.field.twin().go": "A.go", "port.go": "I.go", "given.go": "A.go", "given.other": "B.other", "made.other": "Far.other", "a.go": "A.go", "each.go": "A.go"},
    ),
    "typescript": (
        "use.ts",
        "import { A, B, I, Far, make, later } from './models';\nexport class Use {\n  far = new Far();\n  port: I;\n  constructor(private s: A, readonly b: B) {}\n  async run(many: A[], maybe?: A) {\n    this.s.go();\n    this.b.other();\n    this.b.go();\n    this.far.go();\n    this.port.go();\n    maybe.go();\n    const a = make();\n    a.go();\n    const c = await later();\n    c.go();\n    a.twin().go();\n    for (const each of many) { each.go(); }\n  }\n}\n",
        {"this.s.go": "A.go", "this.b.other": "B.other", "this.b.go": "A.go", "this.far.go": "Far.go", "this.port.go": "I.go", "maybe.go": "A.go", "a.go": "A.go", "c.go": "A.go", "a.twin().go": "A.go", "each.go": "A.go"},
    ),
    "go": (
        "use.go",
        "package m\n\ntype Use struct {\n\tfield *A\n\tport I\n}\n\nfunc (u *Use) Run(given *B, many []*A) {\n\tu.field.Go()\n\tu.port.Go()\n\tgiven.Go()\n\tgiven.Other()\n\ta, err := Make()\n\ta.Go()\n\tb := &Far{}\n\tb.Other()\n\tu.field.Twin().Go()\n\tfor _, each := range many {\n\t\teach.Go()\n\t}\n}\n",
        {"u.field.Go": "A.Go", "u.port.Go": "I.Go", "given.Go": "A.Go", "given.Other": "B.Other", "a.Go": "A.Go", "b.Other": "Far.Other", "u.field.Twin().Go": "A.Go", "each.Go": "A.Go"},
    ),
    "rust": (
        "use.rs",
        "use crate::models::{A, Far, I};\nstruct Use { field: A, port: Box<dyn I> }\nimpl Use {\n    fn run(&self, given: &dyn I, many: Vec<Far>, own: &mut Far) {\n        self.field.go();\n        self.port.run();\n        given.run();\n        own.go();\n        let a = A::new();\n        a.go();\n        a.twin().go();\n        for each in many { each.go(); }\n    }\n}\n",
        {"self.field.go": "A.go", "self.port.run": "I.run", "given.run": "I.run", "own.go": "Far.go", "a.go": "A.go", "a.twin().go": "A.go", "each.go": "Far.go"},
    ),
    "csharp": (
        "Use.cs",
        "class Use {\n  private readonly A _field;\n  public I Port { get; }\n  void Run(B given, List<A> many) {\n    _field.Go();\n    this._field.Twin().Go();\n    Port.Go();\n    given.Go();\n    given.Other();\n    var made = new Far();\n    made.Other();\n    var a = Far.Make();\n    a.Go();\n    foreach (var each in many) { each.Go(); }\n  }\n}\n",
        {"_field.Go": "A.Go", "this._field.Twin().Go": "A.Go", "Port.Go": "I.Go", "given.Go": "A.Go", "given.Other": "B.Other", "made.Other": "Far.Other", "a.Go": "A.Go", "each.Go": "A.Go"},
    ),
    "kotlin": (
        "use.kt",
        "class Use(private val taken: A, val port: I) {\n  val made = Far()\n  lateinit var late: B\n  fun run(given: B?, many: List<A>) {\n    taken.go()\n    port.go()\n    made.other()\n    late.other()\n    given.go()\n    val a = make()\n    a.go()\n    a.twin().go()\n    for (each in many) { each.go() }\n  }\n}\n",
        {"taken.go": "A.go", "port.go": "I.go", "made.other": "Far.other", "late.other": "B.other", "given.go": "A.go", "a.go": "A.go", "a.twin().go": "A.go", "each.go": "A.go"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", USES)
def test_receivers_are_followed(storage: CodeStorage, tmp_path: Path, language: str) -> None:
    """Fields, parameters, variables, elements, returned values and bases lead to the one method that is meant."""
    (models, source), (use, code, expected) = CLASSES[language], USES[language]
    snapshot = open_project(storage, tmp_path / "types", {models: source, use: code})
    targets = resolved(snapshot, use)
    means = {name: targets.get(name, "no use").rpartition(":")[2] for name in expected}
    assert means == expected


ARGUMENTS = {
    "typescript": "class Key { go() {} }\nclass Item extends Key { take() {} }\nclass Far { go() {} take() {} }\nclass Store<K, V extends Key> { one: V; many: V[]; first(): V { return this.one } }\nclass Shelf<T extends Key> extends Store<string, T> {}\nclass Use extends Shelf<Item> {\n  run(of: Store<Far, Item>) {\n    this.one.take()\n    of.first().take()\n    for (const each of of.many) { each.take() }\n    this.first().go()\n  }\n}\n",
    "java": "class Key { void go() {} }\nclass Item extends Key { void take() {} }\nclass Far { void go() {} void take() {} }\nclass Store<K, V extends Key> { V one; List<V> many; V first() { return one; } }\nclass Shelf<T extends Key> extends Store<String, T> {}\nclass Use extends Shelf<Item> {\n  void run(Store<Far, Item> of) {\n    this.one.take();\n    of.first().take();\n    for (Item each : of.many) { each.take(); }\n    this.first().go();\n  }\n}\n",
}


@pytest.mark.parametrize(("language", "path"), [("typescript", "a.ts"), ("java", "A.java")])
def test_type_parameters_stand_for_arguments(
    storage: CodeStorage, tmp_path: Path, language: str, path: str
) -> None:
    """A member whose type is a parameter of a class has the argument of the object, also through bases."""
    targets = resolved(open_project(storage, tmp_path / "generic", {path: ARGUMENTS[language]}), path)
    expected = {
        "this.one.take": "Item.take",
        "of.first().take": "Item.take",
        "each.take": "Item.take",
        "this.first().go": "Key.go",
    }
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected


def test_paths_types_and_variants_of_rust(storage: CodeStorage, tmp_path: Path) -> None:
    """A path leads from the crate or a module to a name of it; a type is its struct and not an `impl` of it."""
    files = {
        "src/lib.rs": "mod far;\nmod near;\npub use near::Near;\n",
        "src/far/mod.rs": "pub mod deep;\npub fn make() -> u8 { 0 }\npub struct Far;\nimpl Far {\n    pub fn make() -> Self { Far }\n    pub fn go(&self) {}\n}\n",
        "src/far/deep.rs": "pub fn make() -> u8 { 0 }\npub struct Far;\n",
        "src/near.rs": "pub struct Near;\nimpl Near {\n    pub fn make() -> Option<Self> { None }\n    pub fn go(&self) {}\n}\n",
        "src/use.rs": """use crate::far;
type Alias = far::Far;
enum Shape { Dot(u8), Line { long: u8 } }
impl Shape { fn area(&self) {} }
trait Stream { fn pull(&self); }
struct Holder<I> { input: I }
impl<I> Holder<I> where I: Stream {
    fn run<T: Stream>(&self, one: T) {
        self.input.pull();
        one.pull();
    }
}
fn run() {
    far::make();
    far::Far::make();
    crate::far::deep::make();
    super::near::Near::make().unwrap().go();
    crate::Near::make();
    let held = Alias::make();
    held.go();
    Shape::Dot(1).area();
    let line = Shape::Line { long: 1 };
    line.area();
    Ok(Holder { input: 1 })
}
""",
    }
    targets = resolved(open_project(storage, tmp_path / "crate", files), "src/use.rs")
    expected = {
        "far.make": "src/far/mod.rs:make", "far.Far.make": "src/far/mod.rs:Far.make", "crate.far.deep.make": "src/far/deep.rs:make",
        "super.near.Near.make": "src/near.rs:Near.make", "super.near.Near.make().unwrap().go": "src/near.rs:Near.go",
        "crate.Near.make": "src/near.rs:Near.make", "Alias.make": "src/far/mod.rs:Far.make", "held.go": "src/far/mod.rs:Far.go",
        "Shape.Dot": "src/use.rs:Shape.Dot", "Shape.Dot(1).area": "src/use.rs:Shape.area", "line.area": "src/use.rs:Shape.area",
        "self.input.pull": "src/use.rs:Stream.pull", "one.pull": "src/use.rs:Stream.pull", "Holder": "src/use.rs:Holder",
    }  # fmt: skip
    targets = {name.replace("::", "."): target for name, target in targets.items()}
    assert {name: targets.get(name, "no use") for name in expected} == expected


def test_companions_and_extensions_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """Members of a companion are named by its class; a function extends a type; a builder's `apply` returns itself."""
    files = {
        "kotlin/a/Block.kt": "package a\nclass Block {\n  fun show() {}\n  class Builder {\n    fun add(): Builder = apply { }\n    fun also2() = apply { }\n    fun build(): Block = Block()\n  }\n  companion object {\n    fun of(text: String): Block = Block()\n    fun builder() = Builder()\n  }\n}\n",
        "kotlin/a/Far.kt": "package a\nclass Far {\n  fun show() {}\n  fun add() {}\n  fun also2() {}\n  fun of() {}\n}\nfun Block.shorten(): Block = this\nfun String.loud(): String = this\n",
        "kotlin/a/Use.kt": "package a\nfun run(text: String) {\n  Block.of(text).show()\n  val made = Block.builder()\n  made.add().also2().build().show()\n  val block = Block.of(text)\n  block.shorten()\n  text.loud()\n}\n",
    }
    targets = resolved(open_project(storage, tmp_path / "companion", files), "kotlin/a/Use.kt")
    expected = {
        "Block.of": "Block.companion.of", "Block.of(text).show": "Block.show", "made.add": "Block.Builder.add",
        "made.add().also2": "Block.Builder.also2", "made.add().also2().build": "Block.Builder.build",
        "block.shorten": "shorten", "text.loud": "loud",
    }  # fmt: skip
    assert {name: targets.get(name, "no use").rpartition(":")[2] for name in expected} == expected


def test_a_field_of_many_values_that_use_it_is_inferred_once(storage: CodeStorage, tmp_path: Path) -> None:
    """Forty values of a field that use the field again are not followed in every order."""
    values = "".join(f"    @all = @all.step{n}(@all)\n" for n in range(40))
    source = f"class A\n  def run\n{values}    @all.go\n  end\n  def go\n  end\nend\n"
    targets = resolved(open_project(storage, tmp_path / "many", {"a.rb": source}), "a.rb")
    assert "@all.go" in targets


def test_fields_of_object_types_and_choices_are_followed(storage: CodeStorage, tmp_path: Path) -> None:
    """Parts of an object type that a function returns have types; a value that is chosen is one of two."""
    source = "class A { go() {} }\nclass B { go() {} }\ntype Both = { one: A; two?: B }\nfunction make(): { one: A; two: B } {}\nfunction run(both: Both, flag: boolean) {\n  const { one, two } = make()\n  one.go()\n  two.go()\n  both.two.go()\n  const three = flag ? new B() : null\n  three.go()\n}\n"
    targets = resolved(open_project(storage, tmp_path / "parts", {"a.ts": source}), "a.ts")
    expected = {"one.go": "A.go", "two.go": "B.go", "both.two.go": "B.go", "three.go": "B.go"}
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected


def test_local_names_for_functions_are_followed(storage: CodeStorage, tmp_path: Path) -> None:
    """A call of a variable whose only value is a name calls what that name means; a value that replaces itself is followed."""
    source = "class A:\n    def go(self): pass\n    def twin(self) -> 'A': pass\n\n    def run(self, other):\n        go = self.go\n        go()\n        made = A\n        made()\n        two = other\n        two()\n        two = self.go\n        two()\n        a = A() if other else None\n        a = a.twin()\n        a.go()\n\n\nclass B:\n    def go(self): pass\n    def twin(self): pass\n"
    targets = resolved(open_project(storage, tmp_path / "local", {"a.py": source}), "a.py")
    expected = {"go": "A.go", "made": "A", "two": "", "a.twin": "A.twin", "a.go": "A.go"}
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected


def test_an_unknown_receiver_means_no_guess_against_its_type(storage: CodeStorage, tmp_path: Path) -> None:
    """A method of a type from elsewhere does not mean the only method of that name here."""
    source = "class A:\n    def launch(self): pass\n\n\ndef run(known: list[str], unknown):\n    known.launch()\n    unknown.launch()\n"
    targets = resolved(open_project(storage, tmp_path / "far", {"a.py": source}), "a.py")
    assert (targets["known.launch"], targets["unknown.launch"]) == ("", "a.py:A.launch")


def test_a_parameter_hides_a_function(storage: CodeStorage, tmp_path: Path) -> None:
    """A call of a parameter does not mean the function of its name."""
    source = "def handler(): pass\n\n\ndef run(handler):\n    handler()\n\n\ndef other():\n    handler()\n"
    snapshot = open_project(storage, tmp_path / "hidden", {"a.py": source})
    assert [caller["name"] for caller in Navigator(snapshot).callers("handler")] == ["other"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("new A<B>(x, 'y.z').b", "A() b"),
        ("await self.f(a, (b)).g[0]", "self f() g[]"),
        ("crate::x::Foo::new(1)?", "crate x Foo new()"),
        ("&Foo{a: 1}", "Foo()"),
        ("a?.b!.c", "a b c"),
        ("a + b", ""),
        ("'text'.join", ""),
        ("f(cut off", "f()"),
    ],
)
def test_chains_are_read(text: str, names: str) -> None:
    """Names, calls and elements of an expression are read in order; other expressions give nothing."""
    marks = [step.name + "()" * step.is_called + "[]" * step.is_indexed for step in read_chain(text)]
    assert " ".join(marks) == names


@pytest.mark.parametrize(
    ("text", "name", "element"),
    [
        ("Foo | None", "Foo", ""),
        ("Optional[a.Foo]", "a.Foo", "a.Foo"),
        (": Promise<Foo>", "Foo", "Foo"),
        ("&'a mut Foo", "Foo", ""),
        ("Box<dyn I>", "I", "dyn I"),
        ("[]*Foo", "", "*Foo"),
        ("Foo[]", "", "Foo"),
        ("(*Foo, error)", "Foo", ""),
        ("'Foo'", "Foo", ""),
        ("dict[str, Foo]", "dict", ""),
        ("list[Foo]", "list", "Foo"),
        ("None", "", ""),
    ],
)
def test_types_are_read(text: str, name: str, element: str) -> None:
    """The class of a type is found behind signs, wrappers and unions; collections give that of their elements."""
    assert type_name(text) == name
    assert element_of(text) == element


def test_uncertain_uses_stand_apart(storage: CodeStorage, tmp_path: Path) -> None:
    """Uses of a dotted name come with those that may mean it; a guess by the name of the method is not certain."""
    source = (
        "class A:\n    def launch(self): pass\n    def go(self): pass\n\n\nclass B:\n    def go(self): pass\n\n\n"
        "def run(known: A, other: B, unknown):\n    known.launch()\n    unknown.launch()\n"
        "    known.go()\n    other.go()\n    unknown.go()\n"
    )
    navigator = Navigator(open_project(storage, tmp_path / "apart", {"a.py": source}))

    def uses(name: str) -> list[tuple[str, bool]]:
        return [(use["text"], use["certain"]) for use in navigator.find_references(name)]

    assert uses("A.launch") == [("known.launch()", True), ("unknown.launch()", False)]
    assert uses("A.go") == [("known.go()", True), ("unknown.go()", False)]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "use.py",
            "from models import A\n\nif __name__ == '__main__':\n    from models import Far\n\n    top = Far()\n    top.go()\n",
            {"top.go": "Far.go"},
        ),
        (
            "use.py",
            "from models import A, Far\n\ntry:\n    top = A()\nexcept ValueError:\n    pass\n\n\ndef run():\n    top.go()\n\n\ndef other():\n    top = Far()\n    top.go()\n",
            {"top.go": "A.go Far.go"},
        ),
        (
            "use.py",
            "from models import A, Far\n\nfor top in []:\n    top.go()\n\nif True:\n    top = A()\n    top.go()\n    top = Far()\n    top.go()\n",
            {"top.go": " A.go Far.go"},
        ),
        (
            "use.ts",
            "import { A, Far } from './models';\nif (true) {\n  const top = new Far();\n  top.go();\n}\n",
            {"top.go": "Far.go"},
        ),
    ],
)
def test_variables_of_a_file_have_their_values(
    storage: CodeStorage, tmp_path: Path, name: str, source: str, expected: dict[str, str]
) -> None:
    """A variable outside of functions has the class of its last value before the use; one of a function hides it."""
    language = "python" if name.endswith(".py") else "typescript"
    models, text = CLASSES[language]
    snapshot = open_project(storage, tmp_path / "top", {models: text, name: source})
    file = snapshot.file(name)
    names_by_use: dict[str, list[str]] = {}
    for reference in snapshot.detail(file).references:
        if reference.role == "call" and reference.qualifier:
            target = resolver_of(snapshot).resolve(file, reference)
            known = target.definition.symbol.qualified if target is not None else ""
            names_by_use.setdefault(f"{reference.qualifier}.{reference.name}", []).append(known)
    assert {use: " ".join(names) for use, names in names_by_use.items()} == expected


def test_declarations_of_typescript_mean_their_values(storage: CodeStorage, tmp_path: Path) -> None:
    """A call means the function behind its overloads, or the value of a name that is also a type; a type stays one.

    What stands in a class or an interface is nothing that a module offers.
    """
    files = {
        "core.ts": (
            "export interface Init<T> { (x: T): T }\n"
            "export function Init(x: string): string;\n"
            "export function Init(x: number): number;\n"
            "export function Init(x: any): any {\n  return x;\n}\n"
            "export interface Kind { parse(): void; parse(x: string): void }\n"
            "export const Kind = make();\n"
            "export class Box {\n  put(x: string): void;\n  put(x: number): void;\n  put(x: any): void {}\n}\n"
            "export function make(): any {}\n"
        ),
        "all.ts": "export * from './core';\nexport * from './parse';\n",
        "parse.ts": "export const parse = (x: string): string => x;\n",
        "use.ts": (
            "import * as core from './core';\nimport * as z from './all';\nimport { Kind } from './core';\n"
            "core.Init(1);\nz.parse('x');\nnew Kind();\nnew core.Box().put(1);\n"
            "interface Sub extends Kind {}\n"
        ),
    }
    snapshot = open_project(storage, tmp_path / "declared", files)
    file = snapshot.file("use.ts")
    target_by_use = {}
    for reference in snapshot.detail(file).references:
        target = resolver_of(snapshot).resolve(file, reference)
        if target is not None and reference.role != "import":
            definition = target.definition
            place = f"{definition.file.path}:{definition.symbol.line}"
            target_by_use[f"{reference.role} {reference.name}"] = f"{definition.symbol.kind} {place}"
    assert target_by_use["call Init"] == "function core.ts:4"
    assert target_by_use["call parse"] == "function parse.ts:1"
    assert target_by_use["instantiation Kind"] == "constant core.ts:8"
    assert target_by_use["call put"] == "method core.ts:12"
    assert target_by_use["inheritance Kind"] == "interface core.ts:7"


def test_typescript_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """Parameters of callbacks, bounds, aliases, parts of values, modules behind names and blocks lead to one method."""
    files = {
        "models.ts": CLASSES["typescript"][1],
        "calls.ts": (
            "import { A, B, Far } from './models';\n"
            "export interface $Maker<T> { make(x: T): void }\nexport interface Maker {}\n"
            "export const Maker: $Maker<A> = build();\n"
            "export type Alias = A | null;\n"
            "export function operate<T extends (x: A) => void>(n: number, init: ((a: A, b: B) => void) | null): void {}\n"
            "export class Stream<T> { constructor(start?: (this: Stream<T>, far: Far) => void) {} }\n"
            "export const { first, second } = build();\n"
        ),
        "all.ts": "export * as calls from './calls';\nexport { operate as renamed } from './calls';\n",
        "top.ts": "export { calls } from './all';\nexport * from './all';\n",
        "use.ts": (
            "import { A, B, Far } from './models';\nimport { calls, renamed } from './top';\n"
            "import { operate, Stream, Maker, Alias, first } from './calls';\n"
            "operate(1, (one, two) => { one.twin(); two.other(); });\n"
            "renamed(f('(', [1, 2]), async (third) => third.go());\n"
            "new Stream<A>((far) => far.go());\n"
            "Maker.make(1);\n"
            "calls.operate(1, null);\n"
            "first();\n"
            "function bounded<T extends A>(bound: T, alias: Alias, { own }: any) { bound.go(); alias.go(); }\n"
            "function typed(this: B) { this.other(); }\n"
            "class Use { held = new B(); run() { const { held } = this; held.other(); } }\n"
            "describe(() => {\n  const helper = (x) => x ? helper(0) : 1;\n  it(() => {\n    helper(1);\n  });\n});\n"
            "describe(() => {\n  const helper = () => 2;\n  helper(2);\n});\n"
            "it(() => {\n  const box = { reset() {}, go() { reset(); } };\n  Reflect.deep(1);\n});\n"
            "class Deep { deep() {} }\n"
        ),
    }
    snapshot = open_project(storage, tmp_path / "meanings", files)
    file = snapshot.file("use.ts")
    target_by_use = {}
    for reference in snapshot.detail(file).references:
        if reference.role == "call":
            target = resolver_of(snapshot).resolve(file, reference)
            place = f"{target.definition.symbol.qualified}:{target.definition.symbol.line}" if target else ""
            target_by_use[f"{reference.line} {reference.qualifier}.{reference.name}"] = place
    expected = {
        "4 one.twin": "A.twin:1", "4 two.other": "B.other:2", "5 third.go": "A.go:1", "6 far.go": "Far.go:4",
        "7 Maker.make": "$Maker.make:2", "8 calls.operate": "operate:6", "9 .first": "first:8",
        "10 bound.go": "A.go:1", "10 alias.go": "A.go:1", "11 this.other": "B.other:2", "12 held.other": "B.other:2",
        "14 .helper": "helper:14", "16 .helper": "helper:14", "21 .helper": "helper:20", "24 .reset": "",
        "25 Reflect.deep": "",
    }  # fmt: skip
    assert {use: target_by_use.get(use) for use in expected} == expected


def meanings(storage: CodeStorage, root: Path, files: dict[str, str], use: str) -> dict[str, str]:
    """What each call and object of a file means, by its line and text: the path, name and line of a definition."""
    snapshot = open_project(storage, root, files)
    file = snapshot.file(use)
    target_by_use = {}
    for reference in snapshot.detail(file).references:
        if reference.role in ("call", "instantiation", "inheritance"):
            target = resolver_of(snapshot).resolve(file, reference)
            definition = target.definition if target is not None else None
            target_by_use[f"{reference.line} {reference.qualifier}.{reference.name}"] = (
                f"{definition.file.path}:{definition.symbol.qualified}:{definition.symbol.line}"
                if definition
                else ""
            )
    return target_by_use


def test_java_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """Overloads are chosen by their arguments; fields, packages, static imports, bodies and outer classes are told apart."""
    files = {
        "src/main/java/p/Base.java": (
            "package p;\npublic class Base {\n  int tag;\n  void put(String key) {}\n"
            "  void put(String key, int n) {}\n  void put(String key, Object... rest) {}\n"
            "  static Base of(Kind kind) { return null; }\n  static Base of(Number n) { return null; }\n"
            "  static class Kind extends Base {}\n  String tag() { return null; }\n  void near() {}\n}\n"
        ),
        "src/main/java/q/Far.java": "package q;\npublic class Far { void near() {} void far() {} static int tag; }\n",
        "src/test/java/p/Use.java": (
            "package p;\nimport static p.Base.of;\nimport p.Base.Kind;\nclass Use<T extends Base> extends Base {\n"
            "  void run(T bound, Object any) {\n"
            '    bound.put("a(b");\n'
            '    bound.put("a", 1);\n'
            '    bound.put("a", "b", 2);\n'
            "    of(new Kind());\n"
            "    of(1.5);\n"
            "    tag();\n"
            "    new Base() {}.tag();\n"
            "    ((Base) any).put(null);\n"
            "    far();\n"
            "    class Inner { void go() { near(); } }\n"
            "  }\n}\n"
        ),
    }
    base = "src/main/java/p/Base.java"
    expected = {
        "6 bound.put": f"{base}:Base.put:4", "7 bound.put": f"{base}:Base.put:5", "8 bound.put": f"{base}:Base.put:6",
        "9 .of": f"{base}:Base.of:7", "10 .of": f"{base}:Base.of:8", "11 .tag": f"{base}:Base.tag:10",
        "9 .Kind": f"{base}:Base.Kind:9", "12 new Base() {}.tag": f"{base}:Base.tag:10",
        "13 ((Base) any).put": f"{base}:Base.put:4", "14 .far": "", "15 .near": f"{base}:Base.near:11",
    }  # fmt: skip
    targets = meanings(storage, tmp_path / "java", files, "src/test/java/p/Use.java")
    assert {use: targets.get(use) for use in expected} == expected


def test_go_gives_names_their_meaning(storage: CodeStorage, tmp_path: Path) -> None:
    """A module's path is its root, named results have types, and a type or function is not the method of its name."""
    files = {
        "go.mod": "module example.org/app // the app\n\ngo 1.20\n",
        "app.go": (
            "package app\n\ntype Param struct{}\n\nfunc (p Param) Go() {}\n\ntype Context struct{}\n\n"
            "func (c *Context) Param() Param { return Param{} }\nfunc (c *Context) Mark() { Mark() }\n\n"
            "func Mark() {}\nfunc Make() (c *Context, err error) { return nil, nil }\n"
            "func Only[T Param](t T) { t.Go() }\n"
        ),
        "json/json.go": "package json\n\nfunc Marshal() {}\n",
        "cmd/main.go": (
            'package main\n\nimport (\n\t"encoding/json"\n\t"example.org/app"\n\town "example.org/app/json"\n)\n\n'
            "func main() {\n\tc, _ := app.Make()\n\tc.Mark()\n\tapp.Param{}.Go()\n\tjson.Marshal()\n\town.Marshal()\n}\n"
        ),
    }
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
    source = """trait Read { fn pull(&self); }
trait Name { fn label(&self); }
struct Near;
impl Near { fn pull(&self) {} fn label(&self) {} fn close(&self) {} }
trait Close { fn close(&self); }
struct Holder<I> { input: I }
impl<I: Read + Name> Holder<I> {
    fn run<T>(&self, one: T, two: impl Read + Name, three: I) where T: Name, T: Read, I: Close {
        self.input.pull();
        self.input.label();
        three.close();
        one.pull();
        one.label();
        two.label();
    }
}
"""
    targets = resolved(open_project(storage, tmp_path, {"src/lib.rs": source}), "src/lib.rs")
    expected = {
        "self.input.pull": "Read.pull",
        "self.input.label": "Name.label",
        "three.close": "Close.close",
        "one.pull": "Read.pull",
        "one.label": "Name.label",
        "two.label": "Name.label",
    }
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected


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
    snapshot = open_project(storage, tmp_path, {"src/lib.rs": source})
    targets = resolved(snapshot, "src/lib.rs")
    assert targets["trace().then().run"].endswith("Parser.run")
    assert targets["value.run"].endswith("Parser.run")


@pytest.mark.parametrize(
    ("path", "source", "method"),
    [
        ("a.rs", "trait T { fn go(&self); }\nstruct A;\nimpl T for A { fn go(&self) {} }\nimpl T for u8 { fn go(&self) {} }\nfn run() { let unclear = outside(); unclear.go(); }\n", "T.go"),
        ("a.java", "interface T { void go(); }\nclass A implements T { public void go() {} }\nclass B extends A { public void go() {} }\nclass U { void run() { var unclear = outside(); unclear.go(); } }\n", "T.go"),
        ("a.py", "class T:\n    def go(self): pass\n\n\nclass A(T):\n    def go(self): pass\n\n\ndef run(unclear):\n    unclear.x.go()\n", "T.go"),
        ("b.py", "class T:\n    def go(self): pass\n\n\nclass A:\n    def go(self): pass\n\n\ndef run(unclear):\n    unclear.x.go()\n", ""),
    ],
)  # fmt: skip
def test_a_method_and_its_overrides_are_one_guess(
    storage: CodeStorage, tmp_path: Path, path: str, source: str, method: str
) -> None:
    """Of an unknown object, a name means the method that all others override, as a guess; names that collide mean none."""
    snapshot = open_project(storage, tmp_path, {path: source})
    file = snapshot.file(path)
    use = next(each for each in snapshot.detail(file).references if each.name == "go" and each.qualifier)
    target = resolver_of(snapshot).resolve(file, use)
    assert (target.definition.symbol.qualified if target else "") == method
    assert target is None or target.confidence < CERTAIN


NAMESPACES = {
    "Core/Shapes.cs": """namespace App.Core {
  public delegate IShape Maker(int size);
  public interface IShape { void Draw(); }
  public class Square : IShape { public Square(int size) {} public void Draw() {} public override string ToString() { return ""; } }
  public partial class Canvas { public void Add(IShape shape) {} public int Count { get { return 1; } } }
  public static class ShapeExtensions {
    public static IShape Twice(this IShape shape) { return shape; }
    public static T Same<T>(this T any, int times = 1) { return any; }
    public static int Count(this Canvas canvas, int more) { return more; }
  }
}
""",
    "Core/Canvas.Text.cs": """namespace App.Core {
  public partial class Canvas { public void Write(params string[] words) { Add(null); } public void Write(Square square) {} }
}
""",
    "Other/Square.cs": "namespace App.Other { public class Square { public void Draw() {} } }\n",
    "Use.cs": """using App.Core;
using Far = App.Other.Square;
namespace App.Use {
  class Page : Canvas {
    uint flags;
    uint Flags { set { flags = flags.Same(2); } }
    void Run(Maker make, Far far, Canvas canvas) {
      var square = new Square(1);
      square.Draw();
      square.Twice().Same().Draw();
      far.Draw();
      canvas.Write("a", "b", "c");
      canvas.Write(new Square(2));
      canvas.Count(3);
      make(1).Twice();
      Core.ShapeExtensions.Twice(square);
      base.Add(square);
      Guid();
      new Guid();
    }
  }
  class Marshal { public Square Guid { get; set; } }
}
""",
}  # fmt: skip


def test_namespaces_parts_and_extensions_of_csharp(storage: CodeStorage, tmp_path: Path) -> None:
    """Types are seen through namespaces, a class has all of its parts, and an extension is of the type it extends."""
    snapshot = open_project(storage, tmp_path, NAMESPACES)
    targets = resolved(snapshot, "Use.cs")
    expected = {
        "Canvas": "App.Core.Canvas",
        "Square": "App.Core.Square",
        "square.Draw": "App.Core.Square.Draw",
        "square.Twice": "App.Core.ShapeExtensions.Twice",
        "square.Twice().Same": "App.Core.ShapeExtensions.Same",
        "square.Twice().Same().Draw": "App.Core.IShape.Draw",
        "flags.Same": "App.Core.ShapeExtensions.Same",
        "far.Draw": "App.Other.Square.Draw",
        "canvas.Count": "App.Core.ShapeExtensions.Count",
        "make(1).Twice": "App.Core.ShapeExtensions.Twice",
        "Core.ShapeExtensions.Twice": "App.Core.ShapeExtensions.Twice",
        "base.Add": "App.Core.Canvas.Add",
        "Guid": "",
    }
    assert {name: targets[name].rpartition(":")[2] for name in expected} == expected
    file = snapshot.file("Use.cs")
    writes = [each for each in snapshot.detail(file).references if each.name == "Write"]
    heads = [
        target.definition.symbol.signature
        for each in writes
        if (target := resolver_of(snapshot).resolve(file, each))
    ]
    assert [head.partition("(")[2] for head in heads] == ["params string[] words)", "Square square)"]
    inner = snapshot.file("Core/Canvas.Text.cs")
    add = next(each for each in snapshot.detail(inner).references if each.name == "Add")
    target = resolver_of(snapshot).resolve(inner, add)
    assert target is not None and target.definition.file.path == "Core/Shapes.cs"


def test_lambdas_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """`this` and `it` in a lambda are what it is called on, or what the function declares that takes it."""
    use = """package a
class Use(val writer: Writer, val items: List<Item>, val names: List<String>) {
  fun emit(text: String) {}
  fun direct() { emit("mine") }
  fun scoped() = with(writer) {
    emit("} {")
    if (true) { indent() }
  }
  fun chained() = make()
      .apply { emit("x") }
  fun ran() { writer.run { indent() } }
  fun built() = build("name") { emit("x") }
  fun nested() = build("name") {
    items.forEach { indent() }
  }
  fun each() { items.forEach { it.show() } }
  fun named() { items.filter { true }.map { item -> item.show() } }
  fun let() { writer.let { it.indent() } }
  fun block() { walk { it.show() } }
  fun first() { if (!items.first().show()) emit("mine") }
  fun extended() { names.joined() }
  fun after() { with(writer) { indent() }; emit("mine") }
}
"""
    files = {
        "kotlin/a/Writer.kt": "package a\nclass Writer {\n  fun emit(text: String) {}\n  fun indent() {}\n}\nfun make(): Writer = Writer()\nfun build(name: String, block: Writer.() -> Unit) {}\n",
        "kotlin/a/Item.kt": "package a\nclass Item {\n  fun show(): Boolean = true\n}\nclass Far {\n  fun show() {}\n  fun indent() {}\n}\nfun walk(block: (Item) -> Unit) {}\nfun Collection<String>.joined() = 1\nfun Far.joined() = 1\n",
        "kotlin/a/Use.kt": use,
    }
    snapshot = open_project(storage, tmp_path / "lambdas", files)
    file = snapshot.file("kotlin/a/Use.kt")
    lines = use.split("\n")
    for use_of_name in snapshot.detail(file).references:
        if use_of_name.name in ("emit", "indent", "show", "joined"):
            target = resolver_of(snapshot).resolve(file, use_of_name)
            is_own = "mine" in lines[use_of_name.line - 1] and use_of_name.name == "emit"
            owner = {
                "emit": "Use." if is_own else "Writer.",
                "indent": "Writer.",
                "show": "Item.",
                "joined": "",
            }
            assert target is not None, lines[use_of_name.line - 1]
            assert target.definition.symbol.qualified == owner[use_of_name.name] + use_of_name.name
            assert target.confidence >= CERTAIN
            assert target.definition.symbol.line != 11


def test_a_lambda_whose_parameter_is_in_its_own_call(storage: CodeStorage, tmp_path: Path) -> None:
    """What a lambda takes is unknown where its call has that parameter too, and the others are resolved."""
    use = "package a\nclass A {\n  fun wrap() {}\n  fun take(f: (() -> A)?) = f?.let { { it().let { a -> a.wrap() } } }\n}\n"
    snapshot = open_project(storage, tmp_path / "own", {"a/A.kt": use + "fun last(a: A) { a.wrap() }\n"})
    file, resolver = snapshot.file("a/A.kt"), resolver_of(snapshot)
    targets = [
        resolver.resolve(file, each) for each in snapshot.detail(file).references if each.name == "wrap"
    ]
    assert targets[-1] is not None
    assert targets[-1].definition.symbol.qualified == "A.wrap"


def test_overloads_and_extensions_of_kotlin(storage: CodeStorage, tmp_path: Path) -> None:
    """Arguments with names, defaults and lambdas choose the overload; what a function extends is `this` in it."""
    source = """package shop
enum class Kind { OPEN, SHUT }
class Box {
  val size = 1
  fun size(kind: Kind) = apply { size }
  fun put(text: String, times: Int = 1) = apply { println(text) }
  fun put(kind: Kind, vararg rest: Kind) = apply { println(kind) }
  fun put(text: String, block: () -> Unit) = apply { block() }
  fun put(key: Kind, value: Kind) = apply { println(key) }
  fun close() {}
  companion object {
    @JvmStatic fun of(text: String) = Box().put(text)
  }
}
class Bag { fun close() {} }
fun <T : Any> T.same(): T = this
fun Box.seal() = close()
fun Bag.seal() = this.close()
fun use(box: Box, bag: Bag, odd: Any) {
  box.put("one")
  box.put("two", times = 2)
  box.put("three") { println() }
  box.put(Kind.OPEN)
  box.put(key = Kind.OPEN, value = Kind.SHUT)
  box.size(Kind.OPEN).close()
  Box.of("four").seal()
  bag.same().seal()
}
"""
    snapshot = open_project(storage, tmp_path, {"shop/box.kt": source})
    file = snapshot.file("shop/box.kt")
    lines = {
        each.line: target.definition.symbol.line
        for each in snapshot.detail(file).references
        if each.name in ("put", "seal", "close") and (target := resolver_of(snapshot).resolve(file, each))
    }
    expected = {12: 6, 17: 10, 18: 15, 20: 6, 21: 6, 22: 8, 23: 7, 24: 9, 25: 10, 26: 17, 27: 18}
    assert {line: lines.get(line) for line in expected} == expected
