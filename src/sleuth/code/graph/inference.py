"""Infers the class of an expression from declared types, assigned values and return values."""

from __future__ import annotations

import builtins
import re
from typing import Final

from sleuth.code.graph import expressions
from sleuth.code.graph.bindings import PARTS, binding_at
from sleuth.code.graph.expressions import Step, element_of, read_chain, type_name
from sleuth.code.graph.names import MODULES
from sleuth.code.graph.rules import NameResolver, Site, Type
from sleuth.code.parsing.kinds import CONTAINERS
from sleuth.code.parsing.languages import languages_with, ways_of
from sleuth.code.parsing.names import Binding, Reference
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

OWN_OBJECT: Final = frozenset({"self", "this", "cls", "$this", "Self", "@", "this.", "super()", "super"})
BARE_MEMBERS: Final = languages_with("bare members")
_ITSELF: Final = frozenset({"Self", "this", "self", "static"})
"""Types that mean the class that they stand in."""
_UNTYPED: Final = expressions.NO_CLASS | {"", "Final", "ClassVar", "t.Final", "typing.Final"}
_YIELDING: Final = re.compile(r"(?:Iterator|Generator|Iterable)\[")
_CAST: Final = re.compile(r"\(\(([A-Z][\w.]*(?:<[^()]*>)?)\)\s*[^\s()]+(?:\([^()]*\))?\)$")
"""A value in brackets that is cast to a class: `((Name) value)`."""
_NEW: Final = re.compile(r"new\s+([A-Z][\w.]*+)\s*(?:<[^()]*>)?\([^()]*\)$")
"""A new object, of a class that may be of another project."""
_NEW_TYPE: Final = re.compile(r"(?s)(?:\w+\.)?(?:TypeVar\((?>.*\bbound\s*=)|NewType\([^,]*+,)\s*+(.*)\)$")
_DEPTH: Final = 6
_LEVELS: Final = 4
"""How many classes up the arguments of a base are looked for."""


class Inference:
    """Infers classes at one snapshot."""

    def __init__(self, snapshot: Snapshot, names: NameResolver) -> None:
        self._snapshot = snapshot
        self._names = names

    def type_of(self, expression: str, site: Site, depth: int = _DEPTH) -> Type | None:
        """Return the type of an expression; None where nothing says it."""
        _, cast, text = expression.rpartition(" as ")
        if cast and type_name(text):
            return Type(text, site)
        if cast_match := _CAST.match(expression):
            return Type(cast_match[1], site)
        parts = expressions.alternatives_of(expression) if depth > 0 else []
        types = [part_type for part in parts if (part_type := self._along(read_chain(part), site, depth))]
        if types:  # a base, where it is one of the others: their methods override its own
            owner = types[0].owner if len(types) > 1 else None
            bases = self.levels(owner)[1:] if owner is not None else []
            return next((part_type for part_type in types if part_type.owner in bases), types[0])
        value = self._names.rules(site.file.language).form(expression, site, depth) if depth > 0 else None
        if value is not None:
            return value
        steps = read_chain(expression) if site.file.language in MODULES and depth > 0 else []
        if steps and (path := self._names.foreign_path(site, steps[0].name)):
            return Type(".".join([path, *(step.name for step in steps[1:])]), site, is_foreign=True)
        new_match = _NEW.match(expression)
        return Type(new_match[1], site) if new_match else None

    def path_type(self, path: str, site: Site) -> Type | None:
        """Return the type that a path of Rust begins with: `T` of `T::make()`, where it names one."""
        head_type = Type(path.partition("::<")[0], site)
        is_path = type_name(head_type.text) and "." not in path and path != "self"
        return head_type if is_path and self.class_of(head_type) is not None else None

    def class_of(self, inferred: Type | None, depth: int = _DEPTH, *, member: str = "") -> Definition | None:
        """Return the class of a type, or that of its bound or alias; None where it is not of the repository.

        Args:
            member: name of a member; of several bounds the first one that has it is meant.
        """
        if inferred is None or inferred.owner is not None or inferred.is_foreign or depth <= 0:
            return None if inferred is None else inferred.owner
        site, bounds = inferred.site, expressions.bounds_of(inferred.text)
        if len(bounds) > 1:
            parts = (inferred._replace(text=text) for text in bounds)
            owners = [self.class_of(part, depth - 1, member=member) for part in parts]
            classes = [owner for owner in owners if owner is not None]
            having = (owner for owner in classes if member and self._names.member(owner, member, "call"))
            return next(having, classes[0] if classes else None)
        name, wrapper = type_name(inferred.text), expressions.wrapper_of(inferred.text)
        owner = self.class_of(inferred._replace(text=wrapper), depth - 1) if wrapper else None
        if owner is not None or not name:
            return owner  # a class of the repository that has the name of a wrapper
        if name.rpartition(".")[2] in _ITSELF:
            return self.around(site.file, site.symbol)
        qualifier, _, simple_name = name.replace("::", ".").rpartition(".")
        parameter = None if qualifier else self._type_parameter(simple_name, site)
        if parameter is not None:
            argument = self._argument(parameter, inferred)
            owner = None if argument is None else self.class_of(argument, depth - 1, member=member)
            if owner is not None or parameter.type:
                return owner or self.class_of(Type(parameter.type, site), depth - 1, member=member)
        target = self._named_type(inferred)
        is_alias = target is not None and target.symbol.kind in ("type", "constant")
        if target is not None and is_alias and not self._names.rules(target.file.language).has_delegates:
            target = self.class_of(self._aliased(target, depth - 1), depth - 1, member=member)
        return target if target is not None and target.symbol.kind in CONTAINERS else None

    def levels(self, owner: Definition, depth: int = _LEVELS) -> list[Definition]:
        """Return a class and its bases, nearest first."""
        levels = [owner]
        for base in self._names.bases(owner) if depth > 0 else ():
            levels += [level for level in self.levels(base, depth - 1) if level not in levels]
        return levels

    def type_names(self, inferred: Type | None) -> list[str]:
        """Return the names of a type and of its bases, [] where it is unknown."""
        owner = self.class_of(inferred)
        if owner is not None:
            return [level.symbol.name for level in self.levels(owner)]
        name = expressions.simple_name(inferred.text) if inferred is not None else ""
        return [name] if name else []

    def _named_type(self, inferred: Type) -> Definition | None:
        """Return the class or the alias that a type names."""
        qualifier, _, simple_name = type_name(inferred.text).replace("::", ".").rpartition(".")
        site = inferred.site
        use = Reference(simple_name, qualifier, "type", site.line, site.symbol)
        target = self._names.resolve(site.file, use) if simple_name else None
        return None if target is None else target.definition

    def _type_parameter(self, name: str, site: Site) -> Binding | None:
        """Return the type parameter of this name of the definitions around a place, with all of its bounds.

        It is of the innermost one. Rust hides no type parameter: an inner `where` adds bounds to an outer one.
        """
        detail = self._snapshot.detail(site.file)
        parameters: list[Binding] = []
        for at, _ in detail.enclosing(site.symbol):
            bindings = detail.scoped.get((name, at), ())
            parameters += [binding for binding in bindings if binding.kind == "generic"]
            if parameters and site.file.language != "rust":
                break
        if not parameters:
            return None
        bounds = [binding.type.lstrip(": ") for binding in parameters if binding.type]
        return parameters[-1]._replace(type=" + ".join(bounds))

    def _argument(self, parameter: Binding, inferred: Type) -> Type | None:
        """Return what a type parameter of a class stands for in the object whose member has a type."""
        file = inferred.site.file
        symbol = self._snapshot.detail(file).symbols[parameter.symbol]
        if inferred.receiver is None or symbol.kind not in CONTAINERS:
            return None
        level = self._level(inferred.receiver, Definition(file, parameter.symbol, symbol), _LEVELS)
        if level is None:
            return None
        names = expressions.type_parameters(symbol.signature, symbol.name)
        arguments = expressions.type_arguments(level.text, symbol.name)
        for name, argument in zip(names, arguments, strict=False):
            if name == parameter.name:
                return Type(argument, level.site, None, level.receiver)
        return None

    def _level(self, inferred: Type, ancestor: Definition, depth: int) -> Type | None:
        """Return the type as its base `ancestor`, with the type arguments for it; None if that is no base."""
        owner = self.class_of(inferred)
        if owner is None or depth <= 0:
            return None
        if owner.key == ancestor.key:
            return inferred
        site = Site(owner.file, owner.index, owner.symbol.line)
        heritage = owner.symbol.signature
        if owner.symbol.kind != "impl":  # an impl names its type last, after bounds and trait
            heritage = expressions.heritage_of(heritage, owner.symbol.name)
        for base in self._names.bases(owner):
            level = self._level(Type(heritage, site, base, inferred), ancestor, depth - 1)
            if level is not None:
                return level
        return None

    def around(self, file: FileRow, symbol: int) -> Definition | None:
        """Return the class around a definition."""
        for at, definition in self._snapshot.detail(file).enclosing(symbol):
            if definition.kind in CONTAINERS:
                return Definition(file, at, definition)
        return None

    def _along(self, steps: list[Step], site: Site, depth: int) -> Type | None:
        """Return the type at the end of a chain such as `a.b(x).c`."""
        if not steps:
            return None
        inferred = self._first(steps[0], site, depth)
        unread_steps = steps[1:]
        path = steps[0].name
        is_open = not steps[0].is_called and binding_at(self._snapshot, path, site) is None
        while inferred is None and unread_steps and is_open:
            # The first names may be modules: what they hold is resolved as a whole.
            step, *unread_steps = unread_steps
            inferred = self._named(step, path, site, depth)
            path = f"{path}{'::' if site.file.language == 'rust' else '.'}{step.name}"
            is_open = not step.is_called
        for step in unread_steps:
            if inferred is None or step.name in ("__class__", "__new__"):
                continue
            if inferred.is_foreign:
                inferred = inferred._replace(text=f"{inferred.text}.{step.name}")
                continue
            part = self._part(inferred, step, depth) or self._extended(inferred, step, site, depth)
            if part is None and step.is_called:
                returned = expressions.returned_by_table(inferred.text, step.name)
                part = self._stepped(inferred.part(returned), step) if returned else None
            if part is None:
                returned = self._names.rules(site.file.language).returned(inferred.text, step.name)
                part = inferred._replace(text=returned) if returned else None
            if part is None and not step.is_called and self.class_of(inferred) is None:
                name, *inner = type_name(inferred.text).split(".")  # perhaps a class of another project
                is_python = inferred.site.file.language == "python" and not hasattr(builtins, name)
                path = self._names.foreign_path(inferred.site, name) if is_python else ""
                if path:
                    member_path = ".".join((path, *inner, step.name))
                    part = Type(member_path, inferred.site, is_foreign=True)
            is_passing = step.name in ways_of(site.file.language).passing
            inferred = inferred if part is None and is_passing else part
        return inferred

    def _part(self, inferred: Type, step: Step, depth: int) -> Type | None:
        """Return the type of a member of a type: of its class, or of the fields that are written in it."""
        owner = self.class_of(inferred, member=step.name)
        if owner is not None:
            return self._member(owner, step, depth, inferred)
        for _ in range(_LEVELS):
            field = expressions.field_of(inferred.text, step.name)
            if field:
                return self._stepped(inferred._replace(text=field), step)
            alias = self._named_type(inferred)
            expanded = None if alias is None else self.of_definition(alias, depth - 1)
            if expanded is None:
                return None
            inferred = expanded
        return None

    def _called(self, inferred: Type | None, depth: int) -> Type | None:
        """Return what a call of a value returns: of a delegate its type, else as the value itself."""
        if inferred is None or not self._names.rules(inferred.site.file.language).has_delegates:
            return inferred
        delegate = self._named_type(inferred)
        is_delegate = delegate is not None and delegate.symbol.kind == "type"
        return self.of_definition(delegate, depth - 1) if delegate is not None and is_delegate else inferred

    def _extended(self, inferred: Type, step: Step, site: Site, depth: int) -> Type | None:
        """Return the type of a member that extends a type: what it returns, or the type itself."""
        use = Reference(step.name, "", "call", site.line, site.symbol)
        target = self._names.extension(use, site.file, inferred) if step.is_called else None
        if target is None:
            return None
        returned = self.of_definition(target.definition, depth)
        if returned is not None and type_name(returned.text) in expressions.type_parameters(
            target.definition.symbol.signature, step.name
        ):
            returned = inferred
        return self._stepped(returned, step)

    def _first(self, step: Step, site: Site, depth: int) -> Type | None:
        rules = self._names.rules(site.file.language)
        binding = binding_at(self._snapshot, step.name, site)
        is_own = step.name in OWN_OBJECT or step.name in ways_of(site.file.language).own_object
        if is_own and (binding is None or not binding.value):  # `cls = self.find()` is another one
            if (extended := rules.extended(site)) is not None:
                return extended
            owner = self.around(site.file, site.symbol)
            if owner is not None and (site.file.language != "go"):
                return Type("Self", site, owner)
        may_be_member = binding is None or binding.kind == "assigned"
        if may_be_member and site.file.language in BARE_MEMBERS and not step.is_called:
            owner = self.around(site.file, site.symbol)
            inferred = self._member(owner, step, depth, None) if owner is not None else None
            if inferred is not None:
                return inferred
        if binding is not None:
            inferred = self._bound(binding, site.file, depth)
            if inferred is not None:
                return self._stepped(self._called(inferred, depth) if step.is_called else inferred, step)
        symbol = site.symbol if binding is None else binding.symbol
        inferred = rules.parameter(site._replace(symbol=symbol), step.name, depth - 1)
        if inferred is not None or binding is not None:
            return self._stepped(inferred, step)
        return self._named(step, "", site, depth)

    def _bound(self, binding: Binding, file: FileRow, depth: int) -> Type | None:
        """Return the type that a binding declares, or that of the value."""
        site = Site(file, binding.symbol, binding.line)
        if binding.kind not in PARTS and binding.type.strip(": ") not in _UNTYPED:
            stars, _, item = binding.type.partition(":") if file.language == "python" else ("", "", "")
            if stars.startswith("*"):
                form = "dict[str, {}]" if stars.startswith("**") else "tuple[{}, ...]"
                return Type(form.format(item.strip()), site)
            return Type(binding.type, site)
        if binding.kind == "argument" and binding.value:
            return self._of_argument(binding, site, depth - 1)
        inferred = self.type_of(binding.value, site, depth - 1) if binding.value else None
        if inferred is not None and binding.kind == "entered":
            inferred = self.entered(inferred, depth - 1)
        elif inferred is not None and binding.kind == "part" and not binding.type:
            inferred = self._part(inferred, Step(binding.name, False, False), depth - 1)
        elif inferred is not None and binding.kind in ("element", "entry"):
            inferred = self.element(inferred, depth - 1)
        if binding.kind in PARTS and binding.type and inferred is not None:
            inferred = inferred.part(expressions.entry_of(inferred.text, binding.type, binding.name))
        return inferred

    def element(self, inferred: Type, depth: int) -> Type:
        """Return the type of the elements of a value; of Python also those of an object that is iterated."""
        is_python = inferred.site.file.language == "python"
        owner = self.class_of(inferred) if is_python else None
        if owner is not None:
            inferred = self._member(owner, Step("__iter__", True, False), depth, inferred) or inferred
            iterator = self.class_of(inferred)
            following = Step("__next__", True, False)
            element = iterator and self._member(iterator, following, depth, inferred)
            if isinstance(element, Type):
                return element
        elif is_python and (alias := self._named_type(inferred)) is not None:
            inferred = self._aliased(alias, depth) or inferred
        return inferred.part(element_of(inferred.text, has_keys=is_python))

    def yielded(self, inferred: Type, depth: int) -> Type:
        """Return the type of the values of a generator; another type itself."""
        return self.element(inferred, depth) if _YIELDING.search(inferred.text) else inferred

    def entered(self, inferred: Type, depth: int) -> Type:
        """Return the type that `as` of a `with` has for a value: of its method, or of the values of a generator."""
        owner = self.class_of(inferred)
        if owner is None:
            return self.yielded(inferred, depth)
        names = ("__enter__", "__aenter__")
        members = (self._member(owner, Step(name, True, False), depth, inferred) for name in names)
        return next((member for member in members if member is not None), inferred)

    def _of_argument(self, binding: Binding, site: Site, depth: int) -> Type | None:
        """Return the type that what is called declares for a parameter of a function that it takes."""
        place = expressions.read_argument(binding.value)
        if place is None or depth <= 0:
            return None
        qualifier, name, role, position, parameter = place
        callee = Reference(name, qualifier, role, site.line, site.symbol)
        target = self._names.resolve(site.file, callee)
        if target is not None and target.definition.symbol.kind in CONTAINERS:
            target = self._names.member(target.definition, "constructor", "call")
        if target is None or target.confidence < 0.5:
            return None
        called = target.definition
        where = Site(called.file, called.index, called.symbol.line)
        types = [*expressions.parameter_types(called.symbol.signature)[position:], ""]
        inner_types = [*expressions.parameter_types(expressions.function_type(types[0]))[parameter:], ""]
        return Type(inner_types[0], where) if inner_types[0] else None

    def _named(self, step: Step, qualifier: str, site: Site, depth: int) -> Type | None:
        """Return the type of a name's target that is not a variable."""
        use = Reference(step.name, qualifier, "value", site.line, site.symbol)
        target = self._names.resolve(site.file, use)
        if target is None or target.confidence < 0.5:
            return None
        inferred = self.of_definition(target.definition, depth)
        is_class = target.definition.symbol.kind in CONTAINERS  # `Box[int]` is the class itself
        return inferred if is_class else self._stepped(inferred, step)

    def of_definition(self, definition: Definition, depth: int) -> Type | None:
        """Return the class itself, what a function returns, or the type of a constant or field."""
        symbol = definition.symbol
        site = Site(definition.file, definition.index, symbol.line)
        if symbol.kind in CONTAINERS:
            return Type("", site, definition)
        for binding in self._snapshot.detail(definition.file).defining.get(definition.index, ()):
            inferred = self._bound(binding, definition.file, depth)
            if inferred is not None:
                return inferred
        return self._names.rules(definition.file.language).result(definition, depth)

    def _aliased(self, alias: Definition, depth: int) -> Type | None:
        """Return the type that an alias stands for; a constant of Python may be one, or a `TypeVar` with a bound."""
        bindings = self._snapshot.detail(alias.file).defining.get(alias.index, ())
        values = [binding.value for binding in bindings]
        if alias.symbol.kind != "constant":
            return self.of_definition(alias, depth)
        if alias.file.language != "python" or len(values) != 1:
            return None
        match = _NEW_TYPE.match(values[0])
        return Type(match[1] if match else values[0], Site(alias.file, -1, alias.symbol.line))

    def _member(self, owner: Definition, step: Step, depth: int, receiver: Type | None) -> Type | None:
        """Return the type of a member of a class, and what a method returns.

        Args:
            receiver: the type of the object, as far as it says more than the class.
        """
        target = self._names.member(owner, step.name, "call" if step.is_called else "value")
        if target is None and owner.symbol.kind == "enum" and step.name.isupper():
            return Type("", Site(owner.file, owner.index, owner.symbol.line), owner)
        if target is not None:
            inferred = self.of_definition(target.definition, depth)
            if inferred is not None and type_name(inferred.text).rpartition(".")[2] in _ITSELF:
                inferred = Type("", inferred.site, owner)
            is_variant = owner.symbol.kind == "enum" and target.definition.symbol.kind == "attribute"
            if inferred is None and (step.name == "new" or is_variant):
                return Type("", Site(owner.file, owner.index, owner.symbol.line), owner)
            if inferred is not None:
                is_value = step.is_called and target.definition.symbol.kind == "attribute"
                inferred = self._called(inferred, depth) if is_value else inferred
                return self._stepped(_of(inferred, receiver), step) if inferred is not None else None
        inferred = self._field(owner, step.name, depth)
        if inferred is None and target is None and not step.name.startswith("__") and depth > 0:
            inferred = self._member(owner, Step("__getattr__", True, False), depth - 1, receiver)
        inferred = self._called(inferred, depth) if step.is_called else inferred
        return self._stepped(_of(inferred, receiver), step)

    def _field(self, owner: Definition, name: str, depth: int, levels: int = 3) -> Type | None:
        """Return the type of a field that a class or one of its bases declares or assigns; None while it is inferred.

        Otherwise ten values of a field that use the field again would be followed in every order.
        """
        under_way, key = self._names.state.under_way, (*owner.key, name)
        if key in under_way:
            return None
        under_way.add(key)
        try:
            for binding in self._snapshot.detail(owner.file).fields.get((name, owner.index), ()):
                inferred = self._bound(binding, owner.file, depth)
                if inferred is not None:
                    return inferred
            bases = self._names.bases(owner) if levels else ()
            inherited = (self._field(base, name, depth, levels - 1) for base in bases)
            return next((field_type for field_type in inherited if field_type is not None), None)
        finally:
            under_way.discard(key)

    def _stepped(self, inferred: Type | None, step: Step) -> Type | None:
        """Return the type of an element where a step takes one, as `items[0]` does."""
        if inferred is None or not step.is_indexed:
            return inferred
        owner = self.class_of(inferred) if inferred.site.file.language == "python" else None
        if owner is not None:
            return self._member(owner, Step("__getitem__", True, False), _LEVELS, inferred)
        return inferred.part(expressions.item_of(inferred.text)) if inferred.text else None


def _of(inferred: Type | None, receiver: Type | None) -> Type | None:
    """Return the type of a member with the type of the object that it is of."""
    if inferred is None or inferred.receiver is not None or inferred.owner is not None:
        return inferred
    return inferred._replace(receiver=receiver)
