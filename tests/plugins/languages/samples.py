"""Samples of the languages: definitions, imports, calls and types that tests look for in them."""

# ruff: noqa: E501 - sources of other languages, a line each
from tests.code.test_bindings import Sample

SOURCES: dict[str, tuple[str, str, str]] = {
    "java": ("class A extends B implements C { int f() { return new G().h(); } }\n", "A.f method", "G instantiation"),
    "csharp": ("namespace N { class A : B { int F() { return new G().H(); } } }\n", "N.A.F method", "G instantiation"),
    "php": ("<?php class A extends B { function f() { $this->g(); new H(); } }\n", "A.f method", "H instantiation"),
    "kotlin": ("class A : B() {\n  fun f(): Int { return g(1) }\n}\n", "A.f method", "B inheritance"),
    "scala": ("class A extends B { def f(a: Int) = g(a) }\n", "A.f method", "B inheritance"),
    "lua": ("local A = {}\nfunction A:f(x) return B.g(x) end\n", "A.f method", "g call"),
    "swift": ("class A: B { let n = 1\n  func f() -> Int { return Cat(n).go() } }\n", "A.f method", "Cat instantiation"),
    "elixir": ("defmodule A.B do\n  use C\n  def f(x) when x > 1, do: D.g(x)\nend\n", "A.B.f function", "C inheritance"),
    "hcl": ("resource \"aws_vpc\" \"main\" {\n  name = lower(var.f)\n}\n", "aws_vpc.main struct", "lower call"),
    "sql": ("CREATE TABLE a.f (id INT REFERENCES B(id));\nSELECT g(id) FROM a.f;\n", "a.f struct", "B reference"),
    "graphql": ("type A implements B { f(x: Int): [C!] }\n", "A.f attribute", "B inheritance"),
    "docker": ("ARG TAG=3\nFROM python:$TAG AS build\nENV A=$TAG\nFROM build AS final\n", "build module", "build inheritance"),
    "dart": ("class A extends B with M {\n  int f(C c) => c.g(D());\n}\n", "A.f method", "M inheritance"),
}  # fmt: skip

IMPORTS: dict[tuple[str, str], list[tuple[str, str, str]]] = {
    ("java", "import static a.B.c;"): [("a.B", "c", "c")],
    ("php", "use E\\{F, G as H};"): [("E", "F", "F"), ("E", "G", "H")],
    ("scala", "import a.b.{C, D => E}"): [("a.b", "C", "C"), ("a.b", "D", "E")],
    ("lua", "m = require('a.b')"): [("a.b", "", "m")],
    ("lua", 'require "a.b"'): [("a.b", "", "b")],
    ("swift", "@testable import struct A.B"): [("A.B", "*", "*")],
    ("elixir", "alias A.B, as: C"): [("A.B", "", "C")],
    ("elixir", "alias A.{B, C}"): [("A.B", "", "B"), ("A.C", "", "C")],
    ("elixir", "import A.B, only: [f: 1]"): [("A.B", "*", "*")],
    ("elixir", "use A"): [("A", "", "A")],
    ("hcl", 'source = "../network"'): [("../network", "*", "*")],
    ("dart", "import 'package:a/b.dart' as c;"): [("package:a/b.dart", "", "c")],
    ("dart", "import 'b.dart' show C, D hide E;"): [("b.dart", "C", "C"), ("b.dart", "D", "D")],
    ("dart", "export '../b.dart';"): [("../b.dart", "*", "*")],
}  # fmt: skip

CLASSES: dict[str, tuple[str, str]] = {
    "java": ("A.java", "class A { A twin() { return this; } void go() {} }\nclass B extends A { void other() {} }\ninterface I { void go(); }\nclass Far { void go() {} void other() {} static A make() { return null; } }\n"),
    "csharp": ("A.cs", "class A { public A Twin() { return this; } public void Go() {} }\nclass B : A { public void Other() {} }\ninterface I { void Go(); }\nclass Far { public void Go() {} public void Other() {} public static A Make() { return null; } }\n"),
    "kotlin": ("models.kt", "open class A {\n  fun twin(): A { return this }\n  fun go() {}\n}\nclass B : A() {\n  fun other() {}\n}\ninterface I {\n  fun go()\n}\nclass Far {\n  fun go() {}\n  fun other() {}\n}\nfun make(): A { return A() }\n"),
}  # fmt: skip

USES: dict[str, tuple[str, str, dict[str, str]]] = {
    "java": (
        "Use.java",
        "class Use {\n  private A field;\n  private final I port;\n  Use(I port) { this.port = port; }\n  void run(B given, List<A> many) {\n    field.go();\n    this.field.twin().go();\n    port.go();\n    given.go();\n    given.other();\n    var made = new Far();\n    made.other();\n    A a = Far.make();\n    a.go();\n    for (A each : many) { each.go(); }\n  }\n}\n",
        {"field.go": "A.go", "this.field.twin().go": "A.go", "port.go": "I.go", "given.go": "A.go", "given.other": "B.other", "made.other": "Far.other", "a.go": "A.go", "each.go": "A.go"},
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

CALLS: dict[str, Sample] = {
    "G.java": Sample(
        "class G {\n  void run(Db db, Part part) {\n    // var helper = 1; for (int load : x) catch (save)\n    String text = \"var helper = 1; for load catch save as fetch\";\n    for (Item item : load(text)) { item.go(); part.go(); }\n    try (Opened opened = fetch(text)) { save(opened); opened.go(); } catch (Error error) { error.go(); }\n    int helper = helper(text);\n    db.connect(); logger.info(text);\n  }\n}\n",
        {"load", "fetch", "save", "helper", "logger.info"},
        {"item.go", "part.go", "opened.go", "error.go", "db.connect"},
    ),
    "J.cs": Sample(
        "class J {\n  void Run(Db db, Action part) {\n    // var helper = 1; foreach (var load in x) catch (save) as fetch\n    var text = \"var helper = 1; foreach load in save as fetch\";\n    foreach (var item in Load(text)) { item.Go(); part(); }\n    try { Save(text); } catch (Error error) { error.Go(); }\n    using (var opened = Fetch(text)) { opened.Go(); }\n    Foo Foo = new Foo(Helper(text));\n    db.Connect(); logger.Info(text);\n  }\n}\n",
        {"Load", "Save", "Fetch", "Helper", "Foo", "logger.Info"},
        {"item.Go", "part", "error.Go", "opened.Go", "db.Connect"},
    ),
    "l.php": Sample(
        "<?php\nfunction run(Db $db, $part) {\n  // foreach ($x as $helper) catch (save $load)\n  $text = 'foreach ($x as $helper) as load';\n  foreach (load($text) as $item) { $item->go(); $part->go(); }\n  try { save($text); } catch (Problem $error) { $error->go(); }\n  $helper = helper($text);\n  $db->connect(); Log::info($text);\n}\n",
        {"load", "save", "helper", "Log.info"},
        {"$item.go", "$part.go", "$error.go", "$db.connect"},
    ),
    "m.kt": Sample(
        "fun run(db: Db, part: (Int) -> Unit) {\n  // val helper = 1; for (load in x) catch (save: E)\n  val text = \"val helper = 1; for (load in x)\"\n  for (item in load(text)) { item.go(); part(1) }\n  try { save(text) } catch (error: Problem) { error.go() }\n  val own = { inner: Int -> fetch(inner) }\n  own(1)\n  helper(text)\n  db.connect()\n  logger.info(text)\n}\n",
        {"load", "save", "fetch", "helper", "logger.info"},
        {"item.go", "part", "error.go", "own", "db.connect"},
    ),
    "n.scala": Sample(
        "object N {\n  def run(db: Db, part: Int => Unit): Unit = {\n    // val helper = 1; for (load <- x) case save =>\n    val text = \"val helper = 1; for (load <- x)\"\n    for (item <- load(text)) { item.go(); part(1) }\n    save(text) match { case other => other.go() }\n    val own = (inner: Int) => fetch(inner)\n    own(1)\n    helper(text)\n    db.connect()\n    logger.info(text)\n  }\n}\n",
        {"load", "save", "fetch", "helper", "logger.info"},
        {"item.go", "part", "other.go", "own", "db.connect"},
    ),
    "o.lua": Sample(
        "function run(db, part)\n  -- local helper = 1; for load in x do\n  local text, other = 'local helper = 1; for load in x', 1\n  for _, item in load(text) do item(); part(); other() end\n  helper(text)\n  db.connect()\n  logger.info(text)\nend\n",
        {"load", "helper", "logger.info"},
        {"item", "part", "other", "db.connect"},
    ),
    "p.swift": Sample(
        "func run(db: Db, part: (Int) -> Void) {\n  // let helper = 1; for load in x; catch let save\n  let text = \"let helper = 1; for load in x\"\n  for item in load(text) { item.go(); part(1) }\n  if let left = fetch(text) { left.go() }\n  let own = { (inner: Int) in save(inner) }\n  own(1)\n  helper(text)\n  db.connect()\n  logger.info(text)\n}\n",
        {"load", "fetch", "save", "helper", "logger.info"},
        {"item.go", "part", "left.go", "own", "db.connect"},
    ),
    "q.dart": Sample(
        "void run(Db db, Function part) {\n  // var helper = 1; for (var load in x) catch (save)\n  var text = 'var helper = 1; for (var load in x)';\n  for (var item in load(text)) { item.go(); part(1); }\n  try { save(text); } catch (error) { error.go(); }\n  final own = (inner) => fetch(inner);\n  own(1);\n  helper(text);\n  db.connect();\n  logger.info(text);\n}\n",
        {"load", "save", "fetch", "helper", "logger.info"},
        {"item.go", "part", "error.go", "own", "db.connect"},
    ),
    "r.ex": Sample(
        "defmodule R do\n  def run(db, part) do\n    # for load <- x, helper = 1, fn save -> fetch\n    text = \"for load <- x, helper = 1\"\n    for item <- load(text), do: item.go(part)\n    {:ok, left} = fetch(text)\n    left.go(1)\n    helper = helper(text)\n    save(helper)\n    db.connect(1)\n    Log.info(text)\n  end\nend\n",
        {"load", "fetch", "helper", "save", "Log.info"},
        {"item.go", "left.go", "db.connect"},
    ),
}  # fmt: skip

OUTGOING: dict[str, str] = {
    "h.php": "<?php\nfunction helper($x) { return $x; }\nfunction work($handler, $items) {\n  $local = function ($y) { return $y; };\n  foreach ($items as $item) { $handler($item); $local($item); helper($item); }\n}\n",
    "J.java": "class H {\n  static int helper(int x) { return x; }\n}\nclass J {\n  void work(Runnable handler, int n) {\n    Runnable local = () -> {};\n    handler.run(); local.run(); H.helper(n);\n  }\n}\n",
    "k.kt": "fun helper(x: Int): Int = x\nfun work(handler: (Int) -> Unit, n: Int) {\n  val local = { y: Int -> y }\n  handler(n)\n  local(n)\n  helper(n)\n}\n",
    "L.cs": "class H {\n  static int helper(int x) { return x; }\n}\nclass L {\n  void work(System.Action<int> handler, int n) {\n    System.Func<int,int> local = y => y;\n    handler(n); local(n); H.helper(n);\n  }\n}\n",
    "m.scala": "object H {\n  def helper(x: Int): Int = x\n}\nobject M {\n  def work(handler: Int => Unit, n: Int): Unit = {\n    val local = (y: Int) => y\n    handler(n)\n    local(n)\n    H.helper(n)\n  }\n}\n",
    "o.lua": "local function helper(x) return x end\nfunction work(handler, items)\n  local own = function(y) return y end\n  for _, item in ipairs(items) do\n    handler(item)\n    own(item)\n    helper(item)\n  end\nend\n",
    "p.swift": "func helper(_ x: Int) -> Int { return x }\nfunc work(handler: (Int) -> Void, n: Int) {\n  let local = { (y: Int) in y }\n  handler(n)\n  _ = local(n)\n  _ = helper(n)\n}\n",
    "q.ex": "defmodule H do\n  def helper(x), do: x\nend\n\ndefmodule Q do\n  def work(handler, items) do\n    local = fn y -> y end\n    for item <- items do\n      handler.(item)\n      local.(item)\n      H.helper(item)\n    end\n  end\nend\n",
}  # fmt: skip

TYPES: dict[tuple[str, str], list[str]] = {
    ("php", "<?php function f(?A $a, B|C $b): D { $a instanceof E; F::G; H::class; }\n"): [f"{c} reference" for c in "ABCDEFH"],
    ("csharp", "class X { L<A> a; B? b; C F(D d) { typeof(E); (G)h; } }\n"): [f"{c} reference" for c in "LABCDEG"],
}  # fmt: skip

NAMES: dict[tuple[str, str], list[str]] = {
    ("kotlin", "const val TOP = 1\nclass A {\n  val b = 1\n  companion object {\n    const val C = 2\n  }\n  fun f() { val g = 3 }\n}\n"): ["TOP constant", "A class", "A.b attribute", "A.companion class", "A.companion.C attribute", "A.f method"],
    ("lua", "local A = {}\nfunction A.f() end\nfunction A:g() end\nlocal function h() end\nlocal i = function() end\nA.j = function() end\nK = 1\n"): ["A constant", "A.f function", "A.g method", "h function", "i function", "A.j function", "K constant"],
    ("swift", "protocol P { func q() }\nstruct S { let a = 1; init() {} }\nenum E { case b }\nextension R: P { func r() {} }\ntypealias T = S\nactor Z {}\nlet top = 1\n"): ["P interface", "P.q method", "S struct", "S.a attribute", "S.init method", "E enum", "E.b attribute", "R impl", "R.r method", "T type", "Z class", "top constant"],
    ("elixir", "defmodule A.B do\n  defmacro m(x) do\n  end\n  defp f(x) when x > 1, do: x\n  def g, do: 1\nend\ndefprotocol P do\n  def size(d)\nend\ndefimpl P, for: C do\nend\n"): ["A.B module", "A.B.m macro", "A.B.f function", "A.B.g function", "P interface", "P.size method", "C impl"],
    ("hcl", "variable \"a\" {}\nmodule \"m\" {\n  source = \"./m\"\n}\nlocals {\n  b = 1\n}\ndata \"aws_ami\" \"c\" {}\noutput \"d\" {}\n"): ["a property", "m module", "b constant", "aws_ami.c struct", "d property"],
    ("sql", "CREATE VIEW v AS SELECT 1;\nCREATE INDEX i ON t(a);\nCREATE FUNCTION f(x INT) RETURNS INT AS $$ SELECT 1 $$ LANGUAGE sql;\nCREATE TABLE t (a INT);\n"): ["v struct", "i constant", "f function", "t struct", "t.a attribute"],
    ("graphql", "interface I { a: ID }\ninput N { b: Int }\nenum E { X }\nunion U = A | B\nquery Q { ...F }\nfragment F on A { c }\n"): ["I interface", "I.a attribute", "N struct", "N.b attribute", "E enum", "E.X attribute", "U type", "Q function", "F function"],
    ("docker", "ARG A\nFROM a:1 AS b\nARG B=1\nENV C=1 D=2\nFROM b\n"): ["A constant", "b module", "B constant", "C constant", "D constant"],
    ("kotlin", "interface I {\n  val a: Int\n}\nenum class E { X }\nsealed class S\n"): ["I interface", "I.a attribute", "E enum", "S class"],
    ("csharp", "namespace My.App;\nclass A { int B = 1, C = 2; }\n"): ["My.App module", "My.App.A class", "My.App.A.B attribute", "My.App.A.C attribute"],
    ("java", "class A { int B = 1, C = 2; interface I { int D = 1; } }\n"): ["A class", "A.B attribute", "A.C attribute", "A.I interface", "A.I.D attribute"],
    ("php", "<?php const A = 1, B = 2;\n"): ["A constant", "B constant"],
    ("scala", "package object p { def f = 1 }\ngiven x: A[B] with { def g = 1 }\ngiven y: C = z\n"): ["p class", "p.f method", "x class", "x.g method", "y constant"],
}  # fmt: skip
