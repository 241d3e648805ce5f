"""Resolves a reference to its definition, by scope, import and class, with a confidence.

    0.95  defined in the scope around the use, or a member of the class around it
    0.9   brought in by an import that names it, or a member of a class or module that is known by name or annotation
    0.85  a member of a base class
    0.8   in a file that is imported whole, or of the same package where the language shares those
    0.5   the only definition of this name in the repository; 0.35 where it is a method of an unknown object

Below that, an ambiguous name resolves to nothing.
"""

from __future__ import annotations

import builtins
import re
import threading
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sleuth.code.graph.alternatives import Alternatives
from sleuth.code.graph.bindings import is_variable, may_mean
from sleuth.code.graph.inference import BARE_MEMBERS, OWN_OBJECT, Inference, Resolved, Site
from sleuth.code.graph.kotlin import extension_of, is_of_companion
from sleuth.code.graph.modules import files_of, nearest, package_folder
from sleuth.code.parsing.detail import Reference
from sleuth.code.parsing.imports import Import
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.parsing.languages import SCRIPTS
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Symbol
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_SHARED_FOLDER = frozenset({"go", "java", "kotlin", "scala", "csharp"})
_COMMON = """
append extend items keys values join split strip format encode decode lower upper startswith endswith update
add remove pop copy sort index count replace read write close open get set put push length size map filter
reduce forEach toString equals hashCode contains isEmpty log error warn info debug then catch require new
println printf len make string int float bool str
"""
_BUILTIN = frozenset(dir(builtins)) | frozenset(_COMMON.split())
_FAMILIES = {"cpp": "c", "kotlin": "java", "scala": "java"} | dict.fromkeys(SCRIPTS, "javascript")
"""Languages whose files use each other's definitions, by the one that stands for all of them."""
_STYLED = frozenset({"css", "html", "vue", "svelte"})
"""Pages use the names that styles define."""
_MODULES = frozenset({"python", "javascript", "typescript", "tsx"})
"""Languages whose modules export the names at the top of their files."""
_CLOSED = frozenset({"python", "go", "java", "rust"})
"""Languages whose files see no names but their own, their package's, imported ones and those of the language."""
CERTAIN = 0.5
"""Least confidence of a target that is more than a guess by a method's name."""
_CALLING = frozenset({"call", "instantiation"})
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
"""A value that is the name of something, or of a member of it."""
_DEPTH = 4
_REEXPORTS = 6
"""How many modules may lead from an import to what it means."""
_REMEMBERED = 200_000


def resolver_of(snapshot: Snapshot) -> Resolver:
    """Return the resolver of a snapshot, which all threads share."""
    return snapshot.shared(Resolver)


class Resolver:
    """Resolves references at one snapshot; remembers what it looked up. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_name = lru_cache(maxsize=20_000)(self._definitions_named)
        self._targets = lru_cache(maxsize=50_000)(self._imported)
        self._known: dict[tuple[int, Reference], Resolved | None] = {}
        self._local = threading.local()
        self._places: dict[int, dict[str, list[int]]] = {}
        self._inference = Inference(snapshot, self)
        self._alternatives = Alternatives(snapshot, self._inference, self)

    def resolve(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return the definition that a reference means; None where it is unknown."""
        key = (file.key, reference)
        target = self._known.get(key, self)
        if not isinstance(target, Resolver):
            return target
        under_way = self._under_way()
        if key in under_way:
            return None  # a name that is defined by itself, as in `x = x.y()`
        under_way.add(key)
        try:
            target = self._find(file, reference)
        finally:
            under_way.discard(key)
        if target is not None:
            role = reference.role
            symbols = self._snapshot.detail(file).symbols
            if (
                role == "inheritance"
                and reference.symbol >= 0
                and symbols[reference.symbol].kind == "interface"
            ):
                role = "type"
            definition = self._alternatives.meant(target.definition, reference, role, file)
            target = replace(target, definition=definition)
        if not under_way:
            # An intermediate result may be incomplete because of a cycle.
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = target
        return target

    def _definitions_named(self, name: str) -> list[Definition]:
        """Return what a name can mean: an `impl` has the name of its type, and is never meant by it."""
        return [each for each in self._snapshot.definitions(name) if each.symbol.kind != "impl"]

    def _under_way(self) -> set[tuple[int, Reference]]:
        """Return the references that this thread is resolving."""
        references: set[tuple[int, Reference]] | None = getattr(self._local, "under_way", None)
        if references is None:
            references = self._local.under_way = set()
        return references

    def _find(self, file: FileRow, reference: Reference) -> Resolved | None:
        name, qualifier = reference.name, reference.qualifier
        if reference.role == "import":
            return self._import_itself(file, reference)
        if not qualifier:
            if is_variable(self._snapshot.detail(file), reference, name):
                return self._held(file, reference)
            return self._bare(file, reference)
        head = qualifier.removesuffix("()")
        is_own = qualifier in OWN_OBJECT or head in ("super", "self.class")
        if is_own and not self._inference.is_bound(qualifier, Site(file, reference.symbol, reference.line)):
            return self._member_around(file, reference)
        return self._in_module(file, head, reference) or self._of_object(file, head, reference)

    def _held(self, file: FileRow, call: Reference) -> Resolved | None:
        """Return what a call of a variable calls where its only value is a name: `add = self.add; add(x)`."""
        site = Site(file, call.symbol, call.line)
        binding = self._inference.binding(call.name, site) if call.role in _CALLING else None
        if binding is None or binding.kind != "variable" or not _PATH.fullmatch(binding.value):
            return None
        values = self._snapshot.detail(file).bindings[call.name]
        if any(each.symbol == binding.symbol and each.value != binding.value for each in values):
            return None
        qualifier, _, name = binding.value.rpartition(".")
        if name == "constructor":
            return None  # of JavaScript: any class
        target = self.resolve(file, Reference(name, qualifier, call.role, binding.line, binding.symbol))
        return None if target is None else replace(target, confidence=min(0.9, target.confidence))

    def _of_object(self, file: FileRow, head: str, reference: Reference) -> Resolved | None:
        """Return a member of the class of the qualifier; without a known class, the only one of its name."""
        name, qualifier = reference.name, reference.qualifier
        site = Site(file, reference.symbol, reference.line)
        receiver = self._inference.type_of(qualifier, site)
        if receiver is None and file.language == "rust":
            receiver = self._inference.path_type(head, site)
        owner = self._inference.class_of(receiver)
        if owner is not None:
            member = self.member(owner, name, reference.role)
            if member is not None:
                return Resolved(member.definition, min(0.9, member.confidence))
        if file.language == "kotlin":
            detail = self._snapshot.detail(file)
            extension = extension_of(self._by_name(name), file, detail, reference, owner)
            if extension is not None:
                return Resolved(extension, 0.8)
        if owner is not None:
            return None
        if receiver is not None:
            return None  # its type is known, and of no class of the repository
        # `row.date` in Python reads an attribute; nothing says that it is the one method called `date`.
        is_read = file.language == "python" and reference.role in ("reference", "value")
        if is_read or name in _BUILTIN or self._is_foreign(site, head):
            return None
        candidates = [d for d in self._by_name(name) if d.symbol.kind in ("method", "function", "property")]
        return self._only(file, candidates, 0.35)

    def _is_foreign(self, site: Site, head: str) -> bool:
        """Return whether a qualifier begins with a name from outside the repository, imported or of the language."""
        file = site.file
        first = re.split(r"\W", head, maxsplit=1)[0]
        if first and self._is_module(file) and not self._inference.is_bound(first, site):
            use = Reference(first, "", "value", site.line, site.symbol)
            if first not in OWN_OBJECT and self.resolve(file, use) is None:
                return True
        return any(
            first in (item.alias, item.module.partition(".")[0] if not item.name else "")
            and not files_of(self._snapshot, file, item)[0]
            for item in self._snapshot.detail(file).imports
        )

    def _import_itself(self, file: FileRow, reference: Reference) -> Resolved | None:
        for item in self._snapshot.detail(file).imports:
            if item.line == reference.line and reference.name in (item.name, item.module):
                for target in self._targets(file, item):
                    return Resolved(target, 0.9)
        return None

    def _bare(self, file: FileRow, reference: Reference) -> Resolved | None:
        return (
            self._in_scope(file, reference)
            or self._brought_in(file, reference.name)
            or self._nearby(file, reference)
            or self._globally(file, reference.name)
        )

    def _in_scope(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return a definition in the scopes around the use, innermost first."""
        symbols = self._snapshot.detail(file).symbols
        here = self._by_place(file).get(reference.name)
        scope = reference.symbol
        here = [i for i in here or () if may_mean(symbols[i], reference, file.language)]
        if here and len(here) > 1:
            here = sorted(here, key=lambda at: self._distance(file, symbols[at], reference.line))
        while here:
            for i in here:
                symbol = symbols[i]
                seen_from_inside = (
                    scope < 0
                    or symbols[scope].kind not in CONTAINERS
                    or symbols[scope].kind == "module"
                    or file.language in BARE_MEMBERS
                    or reference.line == symbol.line
                )
                if (
                    symbol.parent == scope
                    and seen_from_inside
                    and (i != reference.symbol or scope < 0 or symbol.kind == "function")
                ):
                    return Resolved(self._definition(file, i), 0.95)
            if scope < 0:
                break
            scope = symbols[scope].parent
        return None

    def _distance(self, file: FileRow, symbol: Symbol, line: int) -> tuple[bool, bool, int]:
        """Return a key that is least for the nearest of several definitions of a scope before a use.

        A block has ended where a line between them is indented less than the definition.
        """
        if symbol.line > line:
            return True, False, symbol.line
        between = self._snapshot.lines(file, symbol.line, line).split("\n")
        indents = [len(text) - len(text.lstrip()) for text in between if text.strip()]
        return False, bool(indents) and min(indents) < indents[0], -symbol.line

    def _by_place(self, file: FileRow) -> dict[str, list[int]]:
        """Places of a file's symbols by name."""
        places = self._places.get(file.key)
        if places is None:
            if len(self._places) >= _REMEMBERED // 100:
                self._places.clear()
            places = self._places[file.key] = {}
            for i, symbol in enumerate(self._snapshot.detail(file).symbols):
                if symbol.kind != "impl":
                    places.setdefault(symbol.name, []).append(i)
        return places

    def _brought_in(self, file: FileRow, name: str) -> Resolved | None:
        """Return what the imports of a file bind to a name."""
        imports = self._snapshot.detail(file).imports
        for item in imports:
            if item.alias == name and (targets := self._targets(file, item)):
                return Resolved(targets[0], 0.9)
        for item in imports:
            if item.name == "*":
                definitions = self._inside(files_of(self._snapshot, file, item)[0], name)
                if definitions:
                    return Resolved(definitions[0], 0.8)
        return None

    def _nearby(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return what the language makes visible without an import: files of one folder, members of one class."""
        if file.language in BARE_MEMBERS and reference.symbol >= 0:
            member = self._member_around(file, reference)
            if member is not None:
                return member
        if file.language in _SHARED_FOLDER:
            folder = package_folder(file)
            for definition in self._by_name(reference.name):
                is_top = definition.symbol.parent < 0 and may_mean(
                    definition.symbol, reference, file.language
                )
                if (
                    is_top
                    and package_folder(definition.file) == folder
                    and _speak_alike(file, definition.file)
                ):
                    return Resolved(definition, 0.8)
        return None

    def _globally(self, file: FileRow, name: str) -> Resolved | None:
        candidates = [d for d in self._by_name(name) if d.symbol.kind != "attribute"]
        if file.language == "rust":
            candidates = [d for d in candidates if d.symbol.kind == "macro"]
        elif name in _BUILTIN or self._is_module(file):
            # A module has no names without a definition or an import: everything else is a local or a builtin.
            return None
        return self._only(file, candidates, 0.5)

    def _is_module(self, file: FileRow) -> bool:
        """Return whether all names of a file are its own, imported, or of the language."""
        language = file.language
        return language in _CLOSED or (language in _MODULES and bool(self._snapshot.detail(file).imports))

    def _only(self, file: FileRow, candidates: list[Definition], confidence: float) -> Resolved | None:
        same = [d for d in candidates if _speak_alike(file, d.file)]
        if file.category != "test":
            same = [d for d in same if d.file.category != "test"] or same
        return Resolved(same[0], confidence) if len(same) == 1 else None

    def _member_around(self, file: FileRow, reference: Reference) -> Resolved | None:
        detail = self._snapshot.detail(file)
        at = reference.symbol
        while at >= 0:
            if detail.symbols[at].kind in CONTAINERS:
                start = self._definition(file, at)
                skip = reference.qualifier.startswith("super")
                member = self._member(start, reference, _DEPTH, own=not skip)
                if member is not None or reference.qualifier:
                    return member
            at = detail.symbols[at].parent
        if file.language == "go" or reference.symbol < 0:
            return None
        qualified = detail.symbols[reference.symbol].qualified.rpartition(".")[0]
        for definition in self._by_name(qualified.rpartition(".")[2]) if qualified else ():
            if definition.symbol.kind in CONTAINERS and _speak_alike(file, definition.file):
                return self._member(definition, reference, _DEPTH)
        return None

    def member(self, owner: Definition, name: str, role: str) -> Resolved | None:
        """Return a member of a class, or of its bases, that a use in a role can mean."""
        return self._member(owner, Reference(name, "", role, 0, -1), _DEPTH)

    def bases(self, owner: Definition) -> list[Definition]:
        """Return the classes that a class inherits from; of an `impl` the type, whose fields it has."""
        bases = []
        if owner.symbol.kind == "impl":
            types = [d for d in self._by_name(owner.symbol.name) if d.symbol.kind in ("struct", "enum")]
            bases += [self._snapshot_nearest(owner.file, types)] if types else []
        for reference in self._snapshot.detail(owner.file).references:
            if reference.role == "inheritance" and reference.symbol == owner.index:
                base = self.resolve(owner.file, reference._replace(role="type", symbol=owner.symbol.parent))
                if base is not None and base.definition.symbol.kind in CONTAINERS:
                    bases.append(base.definition)
        return bases

    def _member(self, owner: Definition, use: Reference, depth: int, *, own: bool = True) -> Resolved | None:
        name, language = use.name, owner.file.language
        if own:
            qualified = f"{owner.symbol.qualified}.{name}"
            detail = self._snapshot.detail(owner.file)
            for i in self._by_place(owner.file).get(name, ()):
                symbol = detail.symbols[i]
                if symbol.qualified == qualified and may_mean(symbol, use, language, inside=True):
                    return Resolved(self._definition(owner.file, i), 0.95 if depth == _DEPTH else 0.85)
                if language == "kotlin" and is_of_companion(detail, owner, symbol):
                    return Resolved(self._definition(owner.file, i), 0.95)
            if language in ("go", "cpp", "rust"):
                tail = f"{owner.symbol.name}.{name}"
                elsewhere = [
                    d
                    for d in self._by_name(name)
                    if f".{d.symbol.qualified}".endswith(f".{tail}") and _speak_alike(owner.file, d.file)
                ]
                if elsewhere:
                    return Resolved(self._snapshot_nearest(owner.file, elsewhere), 0.85)
        for base in self.bases(owner) if depth > 0 else ():
            inherited = self._member(base, use, depth - 1)
            if inherited is not None:
                return inherited
        return None

    def _in_module(self, file: FileRow, head: str, reference: Reference) -> Resolved | None:
        """Return what a qualifier that begins with an imported module names, also within its classes."""
        called = head.partition("(")[0] if head.endswith(")") else head
        steps = [step for step in re.split(r"\.|::|->|\\", called.removeprefix("new ")) if step]
        if not steps or not all(s.replace("_", "a").replace("$", "").isalnum() for s in steps):
            return None
        own = head == "self" and self._inference.is_bound(head, Site(file, reference.symbol, reference.line))
        if file.language == "rust" and steps[0] in ("crate", "self", "super") and "." not in head and not own:
            positions, inside = self._rust_module(file, steps)
            return self._in_files(file, positions, inside, reference)
        for item in self._snapshot.detail(file).imports:
            module = item.module if not item.name else ""
            dotted = module and head.startswith(module) and (item.alias == module)
            if item.alias == steps[0] or dotted:
                positions = self._module(file, item)
                inside = steps[module.count(".") + 1 if dotted else 1 :]
                while inside and (deeper := self._module_in(file, positions, inside[0], _REEXPORTS)):
                    positions, inside = deeper, inside[1:]
                target = self._in_files(file, positions, inside, reference)
                if target is not None:
                    return target
        return None

    def _in_files(
        self, file: FileRow, positions: list[int], inside: list[str], use: Reference
    ) -> Resolved | None:
        """Return what the files of a module define under a name, or inside of the definitions `inside`."""
        if inside and (owners := self._behind(file, positions, inside[0], _REEXPORTS)):
            return self._along(Resolved(owners[0], 0.9), inside[1:], use)
        for definition in self._behind(file, positions, use.name, 0 if inside else _REEXPORTS):
            if may_mean(definition.symbol, use, definition.file.language, inside=True):
                return Resolved(definition, 0.9)
        return None

    def _rust_module(self, file: FileRow, steps: list[str]) -> tuple[list[int], list[str]]:
        """Return the files of the longest module that a path of Rust begins with, and the rest of the path."""
        for size in range(len(steps), 0, -1):
            item = Import("::".join(steps[: size - 1]), steps[size - 1], "")
            positions, name = files_of(self._snapshot, file, item)
            if positions:
                return positions, steps[size - 1 :] if name else steps[size:]
        return [], []

    def _module(self, file: FileRow, item: Import, depth: int = _REEXPORTS) -> list[int]:
        """Positions of the files of the module that an import brings in, [] where it brings in something else."""
        positions, name = files_of(self._snapshot, file, item)
        return positions if name in ("", "*") else self._module_in(file, positions, name, depth)

    def _module_in(self, file: FileRow, positions: list[int], name: str, depth: int) -> list[int]:
        """Positions of the files of a module that others offer under a name, as `export * as name` does."""
        for i in positions[:3] if depth > 0 and file.language in SCRIPTS else ():
            row = self._snapshot.files[i]
            for inner in self._snapshot.detail(row).imports:
                if row.key != file.key and (inner.alias == name or inner.name == "*"):
                    statement = inner if inner.name != "*" else inner._replace(name=name, alias=name)
                    if deeper := self._module(row, statement, depth - 1):
                        return deeper
        return []

    def _along(self, owner: Resolved, steps: list[str], use: Reference) -> Resolved | None:
        """Return the member that a use means at the end of steps from member to member."""
        at = owner.definition
        for step in steps:
            inner = self._member(at, Reference(step, "", "value", 0, -1), 1)
            if inner is None:
                return None
            at = inner.definition
        if at.symbol.kind not in CONTAINERS:
            return None
        member = self._member(at, use, _DEPTH)
        return None if member is None else Resolved(member.definition, min(0.9, owner.confidence))

    def _imported(self, file: FileRow, item: Import, depth: int = _REEXPORTS) -> list[Definition]:
        """Return the definition that an import means, following re-exports."""
        positions, name = files_of(self._snapshot, file, item)
        if name in ("", "*"):
            return []
        return self._behind(file, positions, item.alias if name == "default" else name, depth)

    def _behind(self, file: FileRow, positions: list[int], name: str, depth: int) -> list[Definition]:
        """Definitions of a name at the top of these files, or else behind what they bring in under it."""
        definitions = self._inside(positions, name)
        if definitions or depth <= 0:
            return definitions
        for i in positions[:3]:
            row = self._snapshot.files[i]
            for inner in self._snapshot.detail(row).imports:
                if row.key != file.key and (inner.alias == name or inner.name == "*"):
                    statement = inner if inner.name != "*" else inner._replace(name=name, alias=name)
                    definitions = self._imported(row, statement, depth - 1)
                    if definitions:
                        return definitions
        return []

    def _inside(self, positions: list[int], name: str) -> list[Definition]:
        """Definitions of a name at the top of these files."""
        keys = {self._snapshot.files[i].key for i in positions}
        if not keys:
            return []
        definitions = [d for d in self._by_name(name) if d.file.key in keys]
        return [d for d in definitions if d.symbol.parent < 0 or not self._is_hidden(d)]

    def _is_hidden(self, definition: Definition) -> bool:
        """Return whether a definition is inside of another one and not offered by its module."""
        language = definition.file.language
        if language == "rust":
            symbols = self._snapshot.detail(definition.file).symbols
            return symbols[definition.symbol.parent].kind != "module"
        return language in _MODULES

    def _snapshot_nearest(self, file: FileRow, candidates: list[Definition]) -> Definition:
        positions = [self._snapshot.by_path[d.file.path] for d in candidates]
        best = nearest(self._snapshot, file, positions)[0]
        return next(d for d in candidates if d.file.path == self._snapshot.files[best].path)

    def _definition(self, file: FileRow, index: int) -> Definition:
        return Definition(file, index, self._snapshot.detail(file).symbols[index])


def _speak_alike(one: FileRow, other: FileRow) -> bool:
    """Return whether code of one file's language can use what the other defines."""
    a, b = one.language, other.language
    return a == b or _FAMILIES.get(a, a) == _FAMILIES.get(b, b) or {a, b} <= _STYLED
