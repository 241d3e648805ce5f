"""Collects the regular expressions of the package, and derives the texts that each takes longest with."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import sleuth

_parser: Any = import_module("re._parser")
_constants: Any = import_module("re._constants")
_compiler: Any = import_module("re._compiler")

SRC = Path(sleuth.__file__).parent
METHODS = frozenset({"search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"})
_MANY = 100
"""Repeats that stop earlier read a bounded piece of any text."""
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_LEAVES = frozenset({_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN})
_UNIVERSE = "".join(map(chr, range(128))) + "éßÀ٣字。“”»…–\u2028\u00a0\u0921\u0301"


class Use(NamedTuple):
    """A pattern of the package.

    Attributes:
        place: file and line.
        methods: those that the package calls; all of them where that is not plain from its file.
    """

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class Hostile(NamedTuple):
    """A text of any length that a pattern may take long with."""

    prefix: str
    pump: str
    suffix: str

    def text(self, length: int) -> str:
        times = (length - len(self.prefix) - len(self.suffix)) // len(self.pump)
        return self.prefix + self.pump * times + self.suffix


def files() -> list[str]:
    """Return the modules that compile a pattern or use one inline, relative to the package."""
    return [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob("*.py")) if _calls(_parsed(path))]


def uses(file: str, local_values: Sequence[Mapping[str, Any]], *, is_scanner: bool) -> list[Use]:
    """Return each pattern that a module compiles or uses inline.

    Args:
        file: relative to the package.
        local_values: values of the local names that its patterns are built of.
        is_scanner: whether each match begins where the last one ended, and the first failure ends them.

    Raises:
        NameError: a pattern is built of a name that is neither global nor in `local_values`.
    """
    tree = _parsed(SRC / file)
    module = ".".join(("sleuth", *Path(file).with_suffix("").parts)).removesuffix(".__init__")
    patterns = []
    for call in _calls(tree):
        function = _function_of_re(call)
        place = f"{file}:{call.lineno}"
        compiles = function == "compile"
        methods = _methods(tree, call, is_scanner=is_scanner) if compiles else frozenset({function})
        for values in local_values:
            pattern = _evaluate(call, place, {**vars(import_module(module)), **values})
            patterns.append(Use(place, pattern, methods))
    return patterns


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf8"))


def _calls(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _function_of_re(node)]


def _function_of_re(call: ast.Call) -> str:
    """Return the name of the function of `re` that is called with a pattern; "" for other calls."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name) if name in METHODS or name == "compile":
            return name
    return ""


def _evaluate(call: ast.Call, place: str, names: dict[str, Any]) -> re.Pattern[Any]:
    """Return the pattern that a call compiles."""
    position = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(_function_of_re(call), 2)
    flags = [word.value for word in call.keywords if word.arg == "flags"] + call.args[position : position + 1]
    source, flag = (
        eval(compile(ast.Expression(node), place, "eval"), names)  # noqa: S307 - our own sources
        for node in (call.args[0], flags[0] if flags else ast.parse("0", mode="eval").body)
    )
    return re.compile(source, flag)


def _methods(tree: ast.Module, compilation: ast.Call, *, is_scanner: bool) -> frozenset[str]:
    """Return the methods that a file calls on what it compiles.

    Where a pattern gets another name, such as that of a loop, these are all methods that the file calls on names that
    may be a pattern. A call from a position on may be one of many, from each position on, as `finditer` is, except in
    a scanner.
    """
    holder = next((node for node in ast.walk(tree) if getattr(node, "value", None) is compilation), None)
    if isinstance(holder, ast.Attribute):
        return frozenset({holder.attr})
    name = _name_of(holder)
    patterns = {_name_of(node) for node in ast.walk(tree) if _is_compilation(getattr(node, "value", None))}
    calls: dict[str, set[str]] = {}
    owners: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owners.add(node.value)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)) if owner != "re":
                anywhere = (
                    len(node.args) > 1 and method in ("match", "search", "fullmatch") and not is_scanner
                )
                calls.setdefault(owner, set()).update({method, "finditer"} if anywhere else {method})
            case ast.Attribute(value=ast.Name(id=owner), attr=method) if owner != "re":
                calls.setdefault(owner, set()).add(method)
    methods = calls.get(name, set())
    reads = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    is_renamed = any(node.id == name and node not in owners for node in reads)
    if is_renamed or not name:
        others = (called for owner, called in calls.items() if owner not in patterns)
        methods = methods.union(*others) - {"split"}  # strings have one too
    return frozenset(methods & METHODS or METHODS)


def _is_compilation(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and _function_of_re(node) == "compile"


def _name_of(statement: ast.AST | None) -> str:
    """Return the name that a statement assigns to; "" for other statements."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def hostile_texts(pattern: re.Pattern[Any]) -> list[Hostile]:
    """Return texts that repeat what the repeats of a pattern accept, and end with what it does not accept.

    A repeat that backtracks, or begins again at each character, reads such a text more than once.
    """
    anatomy = _Anatomy(pattern)
    end = next((char for char in "\0!x \n" if not anatomy.accepts(anatomy.tree, char)), "\0")
    texts: dict[Hostile, None] = {}
    for before, body in anatomy.repeats(anatomy.tree, ""):
        samples = [anatomy.sample(part) for part in (body, *anatomy.branches(body))]
        samples.append("".join(samples[1:]))
        characters = [char for char in anatomy.alphabet if anatomy.accepts(body, char)]
        for pump in filter(
            None, dict.fromkeys([*characters, before, *samples, *(before + text for text in samples)])
        ):
            for prefix in dict.fromkeys(("", before)):
                texts.update(dict.fromkeys(Hostile(prefix, pump, suffix) for suffix in ("", "\n", end)))
        for pair in permutations([c for c in anatomy.signs if anatomy.accepts(body, c)], 2):
            pump = "".join(pair)
            texts.update(dict.fromkeys(Hostile(before, before * (start > 0) + pump, end) for start in (0, 1)))
    return list(texts)


class _Anatomy:
    """A pattern as its parser sees it: a tree of pairs of an operation and its arguments.

    Attributes:
        tree: the operations in order.
        alphabet: a character for each set of classes and literals of the pattern that accept the same ones.
        signs: the same, where letters and digits differ only if a class accepts one and not the other.
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._state = _parser.State()
        self._state.flags = pattern.flags
        self._state.str = pattern.pattern
        self._is_text = isinstance(pattern.pattern, str)
        self._leaf_patterns: dict[str, re.Pattern[Any]] = {}
        self.tree: list[Any] = list(_parser.parse(pattern.pattern, pattern.flags))
        leaves = list(self._leaves(self.tree))
        literals = "".join(chr(argument) for name, argument in leaves if name is _constants.LITERAL)
        chars = [c for c in "a1 -.\n" + literals + _UNIVERSE if self._is_text or ord(c) < 256]
        self.alphabet = self._representatives(chars, leaves)
        classes = [leaf for leaf in leaves if leaf[0] is not _constants.LITERAL]
        letters = self._representatives([c for c in chars if c.isalnum()], classes)
        self.signs = letters + self._representatives([c for c in chars if not c.isalnum()], leaves)

    def _representatives(self, chars: Sequence[str], leaves: Sequence[Any]) -> list[str]:
        """Return the first of the characters that the same leaves accept."""
        by_signature: dict[tuple[bool, ...], str] = {}
        for char in chars:
            by_signature.setdefault(tuple(self._fits(leaf, char) for leaf in leaves), char)
        return list(by_signature.values())

    def accepts(self, tree: Sequence[Any], char: str) -> bool:
        """Return whether a class or a literal of these operations accepts a character."""
        return any(self._fits(leaf, char) for leaf in self._leaves(tree))

    def _fits(self, leaf: Any, char: str) -> bool:
        if (pattern := self._leaf_patterns.get(repr(leaf))) is None:
            pattern = _compiler.compile(_parser.SubPattern(self._state, [leaf]), self._state.flags)
            self._leaf_patterns[repr(leaf)] = pattern
        return pattern.fullmatch(char if self._is_text else char.encode("latin-1")) is not None

    def _leaves(self, tree: Sequence[Any]) -> Iterator[Any]:
        for operation, argument in tree:
            if operation in _LEAVES:
                yield operation, argument
            for _, inner in _inner(operation, argument):
                yield from self._leaves(inner)

    def repeats(self, tree: Sequence[Any], before: str) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the body of each long repeat, after a text that leads to it."""
        for operation, argument in tree:
            for most, inner in _inner(operation, argument):
                if most >= _MANY:
                    yield before, inner
                yield from self.repeats(inner, before)
            before += self.sample([(operation, argument)])

    def branches(self, body: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the alternatives that a body consists of; none where it consists of something else."""
        is_choice = len(body) == 1 and body[0][0] is _constants.BRANCH
        return [inner for _, inner in _inner(*body[0])] if is_choice else []

    def sample(self, tree: Sequence[Any]) -> str:
        """Return a short text that operations accept, by and large: lookahead is passed over."""
        text = ""
        for operation, argument in tree:
            name = str(operation)
            if operation in _LEAVES:
                leaf = (operation, argument)
                text += next((char for char in self.alphabet if self._fits(leaf, char)), "")
            elif name in _REPEATS:
                least, _, body = argument
                text += self.sample(body) * least
            elif (name == "ASSERT" and argument[0] > 0) or name == "ASSERT_NOT":
                continue
            else:
                text += next((self.sample(inner) for _, inner in _inner(operation, argument)), "")
        return text


def _inner(operation: Any, argument: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the operations within one, with how often they may repeat."""
    match str(operation), argument:
        case (("MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT"), (_, most, body)):
            yield int(most), list(body)
        case "SUBPATTERN", (*_, body):
            yield 1, list(body)
        case (("ASSERT" | "ASSERT_NOT"), (_, body)):
            yield 1, list(body)
        case "ATOMIC_GROUP", body:
            yield 1, list(body)
        case "BRANCH", (_, branches):
            yield from ((1, list(branch)) for branch in branches)
        case "GROUPREF_EXISTS", (_, *branches):
            yield from ((1, list(branch)) for branch in branches if branch)
