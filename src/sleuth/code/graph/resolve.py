"""Resolves a reference to its definition, by scope, import and class; an ambiguous name resolves to nothing."""

from __future__ import annotations

import builtins
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain

from sleuth.code.graph.bindings import binding_at, is_variable, may_mean
from sleuth.code.graph.expressions import alternatives_of, type_name
from sleuth.code.graph.inference import BARE_MEMBERS, OWN_OBJECT, Inference
from sleuth.code.graph.modules import files_of, package_folder
from sleuth.code.graph.names import MODULES, REEXPORTS, Members, NamedDefinitions, meant, speak_alike
from sleuth.code.graph.rules import (
    BY_IMPORT,
    CERTAIN,
    GUESS,
    IN_SCOPE,
    VISIBLE,
    Resolved,
    Site,
    State,
    Type,
    rules_class,
)
from sleuth.code.parsing.kinds import CONTAINERS, KINDS, YIELDING
from sleuth.code.parsing.languages import languages_with, ways_of
from sleuth.code.parsing.names import Binding, Reference
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

_SHARED_FOLDER = languages_with("shared package")
_COMMON = """
write read close open put push length size reduce forEach toString equals hashCode contains isEmpty log error warn
info debug then catch require new println printf make string
"""
_OWN_TYPES = (str, list, dict, set)
_BUILTIN = frozenset(_COMMON.split()).union(dir(builtins), *map(dir, _OWN_TYPES))
"""Names that have a meaning of their own in a language: that a definition has one of them says nothing."""
_CLOSED = languages_with("closed")
_CALLABLE = frozenset({"method", "function", "property"})
_MACROS = frozenset({"macro"})
_NAMED_ALONE = frozenset(KINDS) - {"attribute"}
_VALUES = frozenset(KINDS) - {"method", "property"}
_CALLING = frozenset({"call", "instantiation"})
_PATH = re.compile(r"[^\W\d]\w*(?:\.\w+)*(?:\([^()]*\)\.\w+)*")
"""A value that is a dotted name, in which calls may be steps: `a.b`, `a.b().c`."""
_CLASS_OBJECT = re.compile(r"[:\s\"']*(?:\w+\.)?[tT]ype\[")
"""The type of a value of Python that is a class."""
_SUPER = re.compile(r"super\((\w+), ?\w+\)")
_REMEMBERED = 200_000


def resolver_of(snapshot: Snapshot) -> Resolver:
    """Return the resolver of a snapshot, which all threads share."""
    return snapshot.shared(Resolver)


class Resolver:
    """Resolves references at one snapshot; remembers what it looked up. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._names = NamedDefinitions(snapshot)
        self._members = Members(snapshot, self._names, self)
        self.bases = self._members.bases
        self.member = self._members.named
        self.heirs = self._members.heirs
        self._known: dict[tuple[int, Reference, int], Resolved | None] = {}
        self.external_name = lru_cache(_REMEMBERED)(self._external_name)
        self._candidates = lru_cache(_REMEMBERED)(self._named_alike)
        self.state = State()
        self.named = self._names.named
        self.inference = Inference(snapshot, self)
        self.rules = cache(lambda language: rules_class(language)(snapshot, self))

    def resolve(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return the definition that a reference means; None where it is unknown."""
        state = self.state
        key = (file.key, reference, state.nesting)
        target = self._known.get(key, self)
        if not isinstance(target, Resolver):
            return target
        under_way = state.under_way
        if key in under_way:
            return None  # a name that is defined by itself, as in `x = x.y()`
        under_way.add(key)
        try:
            target = self._find(file, reference)
        finally:
            under_way.discard(key)
        if target is not None:
            role, at = reference.role, reference.symbol
            symbols = self._snapshot.detail(file).symbols
            if role == "inheritance" and at >= 0 and symbols[at].kind == "interface":
                role = "type"
            definition = target.definition
            if role == "call":
                definition = self.rules(definition.file.language).overload(definition, reference, file)
            definition = meant(self._snapshot, definition, role)
            target = target if definition is target.definition else replace(target, definition=definition)
        if not under_way:
            # An intermediate result may be incomplete because of a cycle.
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = target
        return target

    def overridden(self, method: Definition) -> list[Definition]:
        """Return the methods of bases that a method overrides; [] for a constructor."""
        symbol = method.symbol
        owner = self.inference.around(method.file, symbol.parent)
        if symbol.kind != "method" or owner is None or "constructor" in symbol.labels:
            return []
        use = Reference(symbol.name, "", "call", 0, -1)
        members = (self._members.find(base, use, 0) for base in self.inference.levels(owner)[1:])
        return [meant(self._snapshot, member.definition, "call") for member in members if member]

    def _find(self, file: FileRow, reference: Reference) -> Resolved | None:
        name, qualifier = reference.name, reference.qualifier
        if reference.role == "import":
            imports = self._snapshot.detail(file).imports
            items = [i for i in imports if i.line == reference.line and name in (i.name, i.module)]
            definitions = [target for item in items for target in self._names.targets(file, item)]
            return Resolved(definitions[0], BY_IMPORT) if definitions else None
        if not qualifier:
            if is_variable(self._snapshot.detail(file), reference, name):
                return self._held(file, reference)
            return self._bare(file, reference)
        site = Site(file, reference.symbol, reference.line)
        super_match = _SUPER.fullmatch(qualifier) if file.language == "python" else None
        if super_match is not None:
            owner = self.inference.class_of(Type(super_match[1], site))
            return None if owner is None else self._members.find(owner, reference, own=False)
        head = qualifier.removesuffix("()")
        own_words = ways_of(file.language).own_object
        is_own = qualifier in OWN_OBJECT or head in ("super", "self.class") or head in own_words
        if is_own and binding_at(self._snapshot, qualifier, site) is None:
            member = self._of_extended(file, reference) or self._member_around(file, reference)
            around = self.inference.around(file, reference.symbol)
            if member is None and around is not None and reference.role in _CALLING:
                member = self._of_field(around, name, reference)
            return member or self.extension(reference, file, self.inference.type_of(qualifier, site))
        return self._in_module(file, head, reference) or self._of_object(file, head, reference)

    def _held(self, file: FileRow, call: Reference) -> Resolved | None:
        """Return what a call of a variable calls where its only value is a name: `add = self.add; add(x)`.

        A function of the same name and scope is called where the values are no such name.
        """
        site = Site(file, call.symbol, call.line)
        binding = binding_at(self._snapshot, call.name, site) if call.role in _CALLING else None
        if binding is None or binding.kind != "variable":
            return None
        bindings = self._snapshot.detail(file).scoped[call.name, binding.symbol]
        bindings = [b for b in bindings if b.kind != "member"]
        valued = [b for b in bindings if b.value or b.type]  # a parameter may have another value
        inner = self._in_scope(file, call) if binding.symbol >= 0 else None
        if inner is not None and inner.definition.symbol.parent != binding.symbol:
            inner = None
        return self._of_value(file, valued or bindings, call) or inner or self._of_call(call.name, site)

    def _of_call(self, expression: str, site: Site) -> Resolved | None:
        """Return the method that a call of an object of Python calls."""
        is_python = site.file.language == "python"
        owner = self.inference.class_of(self.inference.type_of(expression, site)) if is_python else None
        return None if owner is None else self.member(owner, "__call__", "call")

    def _of_value(
        self, file: FileRow, bindings: Sequence[Binding], use: Reference, member: str = ""
    ) -> Resolved | None:
        """Return the target of a use through a variable or field: the `A` of its type `type[A]`, or what a value names.

        Args:
            bindings: all of the variable or field.
            member: what is used of a module that is the value of the field: its name there.
        """
        targets: dict[tuple[int, int], Resolved] = {}
        for binding in bindings:
            site = Site(file, binding.symbol, binding.line)
            is_class = _CLASS_OBJECT.match(binding.type) is not None
            expression = type_name(binding.type) if is_class else binding.value
            if expression:
                values: Iterable[tuple[str, Site]] = [
                    (text.strip(), site) for text in alternatives_of(expression)
                ]
            else:
                values = self.rules(file.language).passed(site, binding.name)
            for text, place in values:
                # A constructor of JavaScript is that of any class.
                is_path = _PATH.fullmatch(text) and not text.endswith("constructor")
                qualifier, _, name = (text, ".", member) if member else text.rpartition(".")
                role = "instantiation" if is_class else use.role
                reference = Reference(name, qualifier, role, place.line, place.symbol)
                target = self.resolve(place.file, reference) if is_path else None
                if target is not None and (not is_class or target.definition.symbol.kind in CONTAINERS):
                    confidence = min(BY_IMPORT, target.confidence)
                    targets[target.definition.key] = replace(target, confidence=confidence)
                elif text == expression and not (is_path and self.foreign_path(place, text)):
                    return None  # the only value of a binding means nothing that is known
        first_target = next(iter(targets.values()), None)
        if first_target is None or len(targets) == 1:
            return first_target
        return replace(first_target, confidence=CERTAIN)

    def _of_field(self, owner: Definition, name: str, use: Reference, member: str = "") -> Resolved | None:
        """Return what is used through a field that methods assign, as `_held` does through a variable."""
        for level in self.inference.levels(owner):
            bindings = self._snapshot.detail(level.file).fields.get((name, level.index), ())
            bindings = [binding for binding in bindings if binding.kind == "member"]
            if bindings:
                site = Site(level.file, bindings[-1].symbol, bindings[-1].line)
                target = self._of_value(level.file, bindings, use, member)
                return target or (None if member else self._of_call(f"self.{name}", site))
        return None

    def _of_object(self, file: FileRow, head: str, reference: Reference) -> Resolved | None:
        """Return a member of the class of the qualifier; without a known class, the only one of its name."""
        name, qualifier = reference.name, reference.qualifier
        site = Site(file, reference.symbol, reference.line)
        receiver = self.inference.type_of(qualifier, site)
        if receiver is None and file.language == "rust":
            receiver = self.inference.path_type(head, site)
        if receiver is None:
            owner = self.rules(file.language).type_named(file, reference.symbol, head)
        else:
            owner = self.inference.class_of(receiver, member=name)
        member = None if owner is None else self.member(owner, name, reference.role)
        is_method = member is not None and member.definition.symbol.kind == "method"
        extension = None if is_method else self.extension(reference, file, receiver)
        if extension is not None and (member is None or reference.role == "call"):
            return extension
        if member is not None:
            return Resolved(member.definition, min(BY_IMPORT, member.confidence))
        if receiver is not None or owner is not None:  # nothing else is meant where the type is known
            holder = owner if reference.role in _CALLING else None
            return None if holder is None else self._of_field(holder, name, reference)
        outer, dot, field_name = qualifier.rpartition(".")
        holder = self.inference.class_of(self.inference.type_of(outer, site)) if dot else None
        if holder is not None and (target := self._of_field(holder, field_name, reference, name)):
            return target
        # `row.date` reads an attribute; nothing says that it is the one method called `date`.
        if reference.role not in _CALLING or name in _BUILTIN or self.foreign_path(site, head):
            return None
        return self._only(file, name, _CALLABLE, GUESS)

    def extension(self, use: Reference, file: FileRow, receiver: Type | None) -> Resolved | None:
        """Return what extends the type of an object from outside of its class; a guess where the type is unknown."""
        rules = self.rules(file.language)
        if not rules.has_extensions:
            return None
        names = self.inference.type_names(receiver)
        methods = rules.extensions(use, file, names)
        if not methods:
            return None
        if names:
            return Resolved(methods[0], VISIBLE)
        namesakes = [method for method in self._names.named(use.name) if method.symbol.kind in _CALLABLE]
        is_only = rules.trusts_names and len(namesakes) == 1 and use.name not in _BUILTIN
        have_one_home = len({(method.file.key, method.symbol.parent) for method in methods}) == 1
        return Resolved(methods[0], CERTAIN if is_only else GUESS) if have_one_home else None

    def _external_name(self, file: FileRow, use: Reference) -> str:
        """Return what a use means in another project, such as `stripe.Client.charge`; "" where that is not known."""
        qualified_name = f"{use.qualifier}.{use.name}" if use.qualifier else use.name
        inferred = self.inference.type_of(qualified_name, Site(file, use.symbol, use.line))
        return inferred.text if inferred is not None and inferred.is_foreign else ""

    def foreign_path(self, site: Site, head: str) -> str:
        """Return the path of the first name of an expression, if an import or the language brings it in, or ""."""
        file = site.file
        root = re.split(r"\W", head, maxsplit=1)[0]
        if not root:
            return ""
        for item in self._snapshot.detail(file).imports_as.get(root, ()):
            if not files_of(self._snapshot, file, item)[0]:
                return f"{item.module}.{item.name}".strip(".") if root == item.alias else root
            if self._names.module(file, item):
                return ""
        if self._is_module(file) and binding_at(self._snapshot, root, site) is None:
            use = Reference(root, "", "value", site.line, site.symbol)
            if root not in OWN_OBJECT and self.resolve(file, use) is None:
                return root
        return ""

    def _bare(self, file: FileRow, reference: Reference) -> Resolved | None:
        detail = self._snapshot.detail(file)
        items = [item for item in detail.imports_as.get(reference.name, ()) if item.alias == reference.name]
        for _, symbol in detail.enclosing(reference.symbol) if items else ():
            is_function = symbol.kind in ("function", "method")
            if is_function and any(symbol.start <= item.line <= symbol.end for item in items):
                return self._brought_in(file, reference.name)  # it hides what the file defines
        receivers: Iterator[Type] = iter(())
        if reference.role == "call":  # of the objects that the blocks around the call have around them
            receivers = self.rules(file.language).receivers(file, reference.line, reference.name)
        members = (self._of_type(file, reference, receiver) for receiver in receivers)
        local = next((member for member in members if member), None) or self._in_scope(file, reference)
        if items and local is not None and local.definition.symbol.kind in YIELDING:
            local = self._brought_in(file, reference.name) or local  # `x = None` where an import fails
        target = local or self._brought_in(file, reference.name) or self._nearby(file, reference)
        is_rust = file.language == "rust"
        if target is not None or (not is_rust and (reference.name in _BUILTIN or self._is_module(file))):
            # A module has no names without a definition or an import: everything else is a local or a builtin.
            return target
        kinds = _MACROS if is_rust else _NAMED_ALONE
        if reference.role == "reference" and not is_rust:  # capitals are those of a constant of an enum of C
            kinds = _VALUES if reference.name[:1].isupper() else _VALUES - {"attribute"}
        return self._only(file, reference.name, kinds, CERTAIN)

    def _in_scope(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return a definition in the scopes around the use, innermost first."""
        detail = self._snapshot.detail(file)
        symbols, line = detail.symbols, reference.line
        scope, in_function = reference.symbol, False
        while reference.name in detail.places:
            places = detail.members_named.get((reference.name, scope), [])
            is_open = (
                scope < 0
                or symbols[scope].kind not in CONTAINERS
                or symbols[scope].kind == "module"
                or file.language in BARE_MEMBERS
                or (file.language == "python" and not in_function)  # the body of a class
            )
            start = bisect_right(places, line, key=lambda at: symbols[at].line)
            nearest_first = chain(range(start - 1, -1, -1), range(start, len(places)))
            candidates = (
                at
                for at in map(places.__getitem__, nearest_first)
                if may_mean(symbols[at], reference, file.language)
                and (is_open or line == symbols[at].line)
                and (at != reference.symbol or scope < 0 or symbols[at].kind == "function")
            )
            if (nearest := next(candidates, None)) is not None:
                return Resolved(Definition(file, nearest, symbols[nearest]), IN_SCOPE)
            if scope < 0:
                break
            in_function = in_function or symbols[scope].kind not in CONTAINERS | YIELDING
            scope = symbols[scope].parent
        return None

    def _brought_in(self, file: FileRow, name: str) -> Resolved | None:
        """Return what the imports of a file bind to a name."""
        imports = self._snapshot.detail(file).imports_as
        for item in imports.get(name, ()):
            if item.alias == name and (targets := self._names.targets(file, item)):
                return Resolved(targets[0], BY_IMPORT)
        for item in imports.get("*", ()):
            definitions = self._names.inside(files_of(self._snapshot, file, item)[0], name)
            if definitions:
                return Resolved(definitions[0], VISIBLE)
        return None

    def _nearby(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return what the language makes visible without an import: files of one folder, members of one class."""
        if file.language in BARE_MEMBERS and reference.symbol >= 0:
            member = self._of_extended(file, reference) or self._member_around(file, reference)
            if member is not None:
                return member
        type_or_none = self.rules(file.language).type_named(file, reference.symbol, reference.name)
        if type_or_none is not None:
            return Resolved(type_or_none, VISIBLE)
        if file.language in _SHARED_FOLDER:
            folder = package_folder(file)
            for definition in self._names.named(reference.name):
                symbol, home = definition.symbol, definition.file
                is_top = symbol.parent < 0 and may_mean(symbol, reference, file.language)
                if is_top and package_folder(home) == folder and speak_alike(file.language, home.language):
                    return Resolved(definition, VISIBLE)
        return None

    def _named_alike(
        self, name: str, kinds: frozenset[str], language: str, is_code: bool
    ) -> list[Definition]:
        """Return the definitions of a name that a file in a language can use; of code those in code, if any are."""
        definitions = [d for d in self._names.named(name) if d.symbol.kind in kinds]
        definitions = [d for d in definitions if speak_alike(language, d.file.language)]
        in_code = [d for d in definitions if is_code and d.file.category == "code"]
        return in_code or definitions

    def _of_extended(self, file: FileRow, reference: Reference) -> Resolved | None:
        """Return a member of the type that the function around a use extends."""
        extended = self.rules(file.language).extended(Site(file, reference.symbol, reference.line))
        return self._of_type(file, reference, extended)

    def _of_type(self, file: FileRow, use: Reference, receiver: Type | None) -> Resolved | None:
        """Return a member of a type, or what extends it."""
        owner = self.inference.class_of(receiver)
        member = None if owner is None else self.member(owner, use.name, use.role)
        if member is not None or receiver is None:
            return member
        return self.extension(use, file, receiver)

    def _is_module(self, file: FileRow) -> bool:
        """Return whether all names of a file are its own, imported, or of the language."""
        language = file.language
        return language in _CLOSED or (language in MODULES and bool(self._snapshot.detail(file).imports))

    def _only(self, file: FileRow, name: str, kinds: frozenset[str], confidence: float) -> Resolved | None:
        """Return the only definition of a name, of one of some kinds, that a file can use."""
        definitions = self._candidates(name, kinds, file.language, file.category == "code")
        if 1 < len(definitions) <= 12:  # a method of a base and of its heirs is one
            keys = {d.key for d in definitions}
            definitions = [d for d in definitions if not any(base.key in keys for base in self.overridden(d))]
        return Resolved(definitions[0], confidence) if len(definitions) == 1 else None

    def _member_around(self, file: FileRow, reference: Reference) -> Resolved | None:
        detail = self._snapshot.detail(file)
        for at, symbol in detail.enclosing(reference.symbol):
            if symbol.kind in CONTAINERS:
                start = Definition(file, at, symbol)
                skip = reference.qualifier.startswith(("super", "base"))
                member = self._members.find(start, reference, own=not skip)
                if member is not None or reference.qualifier:
                    return member
        if file.language == "go" or reference.symbol < 0:
            return None
        qualified = detail.symbols[reference.symbol].qualified.rpartition(".")[0]
        for definition in self._names.named(qualified.rpartition(".")[2]) if qualified else ():
            if definition.symbol.kind in CONTAINERS and speak_alike(file.language, definition.file.language):
                return self._members.find(definition, reference)
        return None

    def _in_module(self, file: FileRow, head: str, reference: Reference) -> Resolved | None:
        """Return what a qualifier that begins with an imported module names, also within its classes."""
        called = head.partition("(")[0] if head.endswith(")") else head
        steps = [step for step in re.split(r"\.|::|->|\\", called.removeprefix("new ")) if step]
        if not steps or not all(s.replace("_", "a").replace("$", "").isalnum() for s in steps):
            return None
        site = Site(file, reference.symbol, reference.line)
        is_path = "." not in head and (head != "self" or binding_at(self._snapshot, head, site) is None)
        if file.language == "rust" and is_path and steps[0] in ("crate", "self", "super"):
            positions, inside = self._names.rust_module(file, steps)
            return self._in_files(file, positions, inside, reference)
        for item in self._snapshot.detail(file).imports_as.get(steps[0], ()):
            module = item.module if not item.name else ""
            dotted = module and head.startswith(module) and (item.alias == module)
            if item.alias == steps[0] or dotted:
                positions = self._names.module(file, item)
                inside = steps[module.count(".") + 1 if dotted else 1 :]
                while inside and (deeper := self._names.module_in(file, positions, inside[0], REEXPORTS)):
                    positions, inside = deeper, inside[1:]
                target = self._in_files(file, positions, inside, reference)
                if target is not None:
                    return target
        return None

    def _in_files(
        self, file: FileRow, positions: list[int], inside: list[str], use: Reference
    ) -> Resolved | None:
        """Return what the files of a module define under a name, or inside of the definitions `inside`."""
        if inside and (owners := self._names.behind(file, positions, inside[0], REEXPORTS)):
            return self._along(Resolved(owners[0], BY_IMPORT), inside[1:], use)
        for definition in self._names.behind(file, positions, use.name, 0 if inside else REEXPORTS):
            if may_mean(definition.symbol, use, definition.file.language, inside=True):
                return Resolved(definition, BY_IMPORT)
        return None

    def _along(self, owner: Resolved, steps: list[str], use: Reference) -> Resolved | None:
        """Return the member that a use means at the end of steps from member to member."""
        at = owner.definition
        for step in steps:
            inner = self._members.find(at, Reference(step, "", "value", 0, -1), 1)
            if inner is None:
                return None
            at = inner.definition
        if at.symbol.kind not in CONTAINERS:
            return None
        member = self._members.find(at, use)
        return None if member is None else Resolved(member.definition, min(BY_IMPORT, owner.confidence))
