"""Which calls of a function are listed, and which listed names are wrong? Truth: Python's own `ast`.

python -m benchmarks.code_calls --work /tmp/code FOLDER ...

A call counts if it is written as a name or as names with dots, and if its first name is no variable of the functions
around it. Names of builtins, and what the function defines itself, may be listed or not. A listed name is wrong if the
function does not use it, or if its first name is a variable and no definition is named with it.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sleuth.code import GraphWalker, Snapshot
from sleuth.code.repository.sources import FolderSource
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BUILTINS = frozenset(dir(builtins))


class Uses(ast.NodeVisitor):
    """What a function uses, as names with dots.

    Attributes:
        free: calls whose first name is no variable.
        called: all calls, of values without a name the last part.
        used: all names, with dots and without.
    """

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.free: set[str] = set()
        self.called: set[str] = set()
        self.used: set[str] = set()
        self._scopes: list[set[str]] = []
        self.visit(function)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit what is evaluated outside, and then the body with the names that it binds."""
        for outside in (*node.decorator_list, node.args, node.returns):
            if outside is not None:
                self.visit(outside)
        self._inside(bound_by(node.body) | parameters(node.args), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that ast looks for

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit the body with the parameters."""
        self.visit(node.args)
        self._inside(parameters(node.args), [node.body])

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the parts of a node, those of a comprehension with the names of its loops."""
        if isinstance(node, COMPREHENSIONS):
            self._scopes.append({name for loop in node.generators for name in stored(loop.target)})
            super().generic_visit(node)
            self._scopes.pop()
        else:
            super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Note a call."""
        name = dotted(node.func)
        if name:
            self.called.add(name)
            if not self._is_bound(name):
                self.free.add(name)
        elif isinstance(node.func, ast.Attribute):
            self.called.add(node.func.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note a name."""
        self.used.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note an attribute, both with its dotted prefix and alone."""
        self.used |= {dotted(node), node.attr}
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Note the names of a type in quotes."""
        if isinstance(node.value, str) and len(node.value) < 200:
            try:
                expression = ast.parse(node.value, mode="eval")
            except (SyntaxError, ValueError):
                return
            for part in ast.walk(expression):
                if isinstance(part, (ast.Name, ast.Attribute)):
                    self.used |= {dotted(part), dotted(part).rpartition(".")[2]}

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note what an import names."""
        module = getattr(node, "module", None) or ""
        dots = "." * getattr(node, "level", 0)
        for item in node.names:
            self.used |= {item.name, f"{dots}{module}.{item.name}", f"{module}.{item.name}"}

    visit_ImportFrom = visit_Import  # noqa: N815 - the name that ast looks for

    def _inside(self, names: set[str], nodes: list[Any]) -> None:
        self._scopes.append(names)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()

    def _is_bound(self, name: str) -> bool:
        return any(name.partition(".")[0] in scope for scope in self._scopes)


def dotted(node: ast.AST) -> str:
    """Return a name, or names with dots; "" for another expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def parameters(arguments: ast.arguments) -> set[str]:
    """Return the names of all parameters."""
    both = (arguments.vararg, arguments.kwarg)
    plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *(a for a in both if a))
    return {argument.arg for argument in plain}


def stored(node: ast.AST) -> set[str]:
    """Return the names that an expression or pattern binds."""
    return {
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def of_scope(nodes: list[Any]) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without those of nested scopes."""
    for node in nodes:
        yield node
        if isinstance(node, COMPREHENSIONS):
            yield from (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        elif not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield from of_scope(list(ast.iter_child_nodes(node)))


def bound_by(body: list[ast.stmt]) -> set[str]:
    """Return the names that the body of a function binds, without those that it imports."""
    names: set[str] = set()
    outer: set[str] = set()
    for node in of_scope(list(body)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.NamedExpr):
            names.add(node.target.id)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.add(node.name or "")
        elif isinstance(node, ast.MatchMapping):
            names.add(node.rest or "")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
    return names - outer


def outermost(body: list[Any]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions and methods of a file that stand in no other."""
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield node
        else:
            yield from outermost(list(ast.iter_child_nodes(node)))


def judge(folder: Path, work: Path) -> tuple[Counter[str], list[str]]:
    """Return counts of functions, calls and listed names, and examples of lost calls and wrong names."""
    counts: Counter[str] = Counter()
    examples = []
    shutil.rmtree(work, ignore_errors=True)
    with open_code(work, create=True) as storage:
        repository = storage.repository(index_source(storage, FolderSource(folder)).repository)
        snapshot = Snapshot(storage, repository, storage.snapshot(repository))
        walker = GraphWalker(snapshot)
        for file in snapshot.files:
            if file.language != "python":
                continue
            try:
                tree = ast.parse(snapshot.source(file))
            except (SyntaxError, ValueError):
                continue
            lines = {
                s.line: s
                for s in snapshot.detail(file).symbols
                if s.kind in ("function", "method", "property")
            }
            for node in outermost(tree.body):
                symbol = lines.get(node.lineno)
                if symbol is None:
                    counts["not known"] += 1
                    continue
                uses = Uses(node)
                calls = walker.outgoing(file, symbol.start, symbol.end)
                names = {item["name"] for item in calls}
                own = {node.name} if symbol.parent < 0 else set()
                expected = {name for name in uses.free if name not in BUILTINS} - own
                lost = expected - names
                wrong = [item for item in calls if not is_right(item, uses)]
                counts += Counter(
                    functions=1,
                    losing=bool(lost),
                    calls=len(expected),
                    lost=len(lost),
                    names=len(calls),
                    wrong=len(wrong),
                )
                place = f"{file.path}:{node.lineno}"
                examples += [f"{place} lost {name}" for name in sorted(lost)]
                examples += [f"{place} wrong {item['name']} ({item['role']})" for item in wrong]
    return counts, examples


def is_right(item: dict[str, Any], uses: Uses) -> bool:
    """Return whether a function uses a listed name in its role, and not only by a variable."""
    name, is_known = item["name"], "file_path" in item
    if item["role"] in ("call", "instantiation"):
        return name in (uses.called if is_known else uses.free) or (is_known and name in uses.used)
    return name in uses.used


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--show", type=int, default=0, help="examples of each folder that are printed")
    options = parser.parse_args()
    print(
        "| repository | functions | losing a call | calls | lost | names | wrong |\n|---|---|---|---|---|---|---|"
    )
    for folder in options.folders:
        counts, examples = judge(folder.resolve(), options.work / f"calls_{folder.name}")
        functions, calls, names = counts["functions"], counts["calls"], counts["names"]
        print(
            f"| {folder.name} | {functions} | {counts['losing'] / functions:.2%} | {calls} "
            f"| {counts['lost'] / calls:.2%} | {names} | {counts['wrong'] / names:.2%} |",
            flush=True,
        )
        for example in examples[:: max(1, len(examples) // max(1, options.show))][: options.show]:
            print("   ", example)


if __name__ == "__main__":
    main()
