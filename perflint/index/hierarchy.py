"""The classes of a project: their bases, those that inherit from them, and the names that registries have for them.

A registry finds a class by a literal name: ``MODELS.get("ResNet")(...)`` or ``build("ResNet")``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from perflint.index.kinds import Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place
from perflint.query import gathered, query
from perflint.syntax.names import dotted, is_like
from perflint.syntax.parameters import written_entries
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import string_of

_PLAIN_BASES = frozenset({"object", "paddle.nn.Layer", "nn.Layer"})

Placed = tuple["FileIndex", Class]
"""A class with its file."""


class Hierarchy(Part):
    """The classes of one project by who inherits from whom."""

    def bases(self, file: FileIndex, owner: Class) -> Iterator[Placed]:
        """The classes of the project that a class names as its bases, in order."""
        for base in owner.bases:
            found = Modules.of(self._project).class_called(base, file)
            if found is not None and found[1] is not owner:
                yield found

    def lineage(self, file: FileIndex, owner: Class) -> list[Placed]:
        """A class and the project's classes that it inherits from, nearest first."""
        return [(file, owner), *self.ancestors(file, owner)]

    def base_names(self, file: FileIndex, owner: Class) -> frozenset[str]:
        """The qualified names of all classes that a class inherits from, wherever they are defined."""
        return frozenset(base for _, one in self.lineage(file, owner) for base in one.bases)

    def unseen(self, file: FileIndex, owner: Class) -> frozenset[str]:
        """Those of these names that are not classes of the project."""
        named = Modules.of(self._project).class_called
        lineage = self.lineage(file, owner)
        return frozenset(base for there, one in lineage for base in one.bases if named(base, there) is None)

    def is_plain(self, file: FileIndex, owner: Class) -> bool:
        """Whether all code of a class and of its bases is known, except for that of ``Layer``."""
        return self.unseen(file, owner) <= _PLAIN_BASES

    def ancestors(self, file: FileIndex, owner: Class) -> list[Placed]:
        """The classes of the project that a class inherits from, nearest first."""
        return _all_next(owner, self.bases(file, owner), self.bases)

    def running(self, at: Place) -> list[Placed]:
        """The classes whose objects run a method: its own, and those that inherit it or whose version calls it."""
        method, owner = at.scope, at.scope.owner
        if owner is None:
            return []
        family = [(at.file, owner), *self.descendants(owner)]
        return [placed for placed in family if self._runs_method(*placed, method)]

    def _runs_method(self, file: FileIndex, owner: Class, method: Scope) -> bool:
        nearest = Modules.of(self._project).method_of(file, owner, method.name)
        return nearest is None or nearest.scope is method or any(_calls_base(call) for call in nearest.scope.calls)

    def descendants(self, owner: Class) -> list[Placed]:
        """The classes of the project that inherit from a class, nearest first."""
        return _all_next(owner, self._children(owner), lambda _, child: self._children(child))

    @query
    def runs(self, file: FileIndex, owner: Class, method: Scope) -> bool:
        """Whether an object of a class runs a method of one of its bases when that method's name is called.

        It does not if a nearer class has its own version, unless that one calls others, as with ``super()``.
        """
        for _, one in self.lineage(file, owner):
            own = one.methods.get(method.name)
            if own is method:
                return True
            if own is not None and not _calls_others(own):
                return False
        return True

    def methods_like(self, owner: str, begin: str, end: str, named: str) -> Kind | None:
        """The methods of a project class and of its subclasses that a computed name may mean, as one value.

        ``getattr(self, "loss_" + kind)`` may mean any that begins with ``loss_``. Where so few letters say nothing, as
        in ``getattr(self, "_" + mode)``, it is one whose remaining letters are a text that the project gives ``mode``.

        Args:
            owner: the qualified name of the class.
            begin: how the names begin.
            end: how they end.
            named: the name of the variable or attribute between these.
        """
        found = Modules.of(self._project).class_named(owner)
        if found is None:
            return None
        classes = (*self.lineage(*found), *self.descendants(found[1]))
        methods = {scope: file for file, one in classes for scope in one.methods.values()}
        own = {scope: file for scope, file in methods.items() if is_like(scope.name, begin, end)}
        if not own and named:
            own = {scope: file for scope, file in methods.items() if self._fits(scope.name, begin, end, named)}
        nearest = {scope: file for scope, file in own.items() if scope.owner is found[1]}
        one_of = Modules.of(self._project).one_of
        return one_of(Place(file, scope) for scope, file in own.items()) or one_of(
            Place(file, scope) for scope, file in nearest.items()
        )

    def _fits(self, method: str, begin: str, end: str, named: str) -> bool:
        """Whether a name is made of a beginning, one of the texts that the project gives a variable, and an end."""
        if len(method) <= len(begin + end) or not method.startswith(begin) or not method.endswith(end):
            return False
        return method[len(begin) : len(method) - len(end)] in self._texts_given(named)

    @query
    def _texts_given(self, name: str) -> frozenset[str]:
        """The texts that the project gives a name."""
        return frozenset().union(*(_texts_given_in(file, name) for file in self._project.mentions.of(name)))

    def are_related(self, first: Class, second: Class) -> bool:
        """Whether two classes are the same, or one inherits from the other."""
        return first is second or any(
            child is other for one, other in ((first, second), (second, first)) for _, child in self.descendants(one)
        )

    @query
    def _children(self, owner: Class) -> list[Placed]:
        """The classes that name a class as their base."""
        names = self._project.mentions.other_names(owner.name)
        return [
            (file, child)
            for file in self._naming(names)
            for child in file.scopes.classes.values()
            for base in child.bases
            if child is not owner and base.rpartition(".")[2] in names and self._is(base, file, owner)
        ]

    def _naming(self, names: frozenset[str]) -> list[FileIndex]:
        if len(names) == 1:
            return self._project.mentions.bases(*names)
        return self._project.mentions.of(*sorted(names))

    def _is(self, base: str, file: FileIndex, owner: Class) -> bool:
        found = None if base.startswith("paddle.") else Modules.of(self._project).find(base, file)
        return found is not None and found[1] is owner


def _all_next(
    owner: Class, first: Iterable[Placed], following: Callable[[FileIndex, Class], Iterable[Placed]]
) -> list[Placed]:
    """The classes that lead on from a class, directly or through others, nearest first."""
    found: dict[Class, FileIndex] = {}
    queue = list(first)
    for file, one in queue:  # grows during the loop
        if one is not owner and one not in found:
            found[one] = file
            queue += following(file, one)
    return [(file, one) for one, file in found.items()]


@query
def _texts_given_in(file: FileIndex, name: str) -> frozenset[str]:
    """The texts that a file gives a name: in assignments, arguments, defaults, look-ups and comparisons."""
    given = rf"""\b{re.escape(name)}\b["']?[ ]*(?::[ ]*str[ ]*)?(?:==?|:|,)[ ]*["'](\w+)["']"""
    return frozenset(re.findall(given, file.source.text))


def _calls_others(method: Scope) -> bool:
    """Whether a method calls its namesake on something else than ``self``: ``super().fit()``, ``Base.fit(self)``."""
    return any(
        terminal(call) == method.name and dotted(call.func) != f"self.{method.name}"
        for statement in method.statements
        for call in statement.calls
    )


_BUILDERS = ("build", "create", "make", "get", "instantiate", "init_obj")
_NAME_KEYS = ("type", "name")
# What the name of a decorator that registers a class contains.
_REGISTERS = ("regist", "add_component")


class Registries(Part):
    """The classes of one project that decorators register."""

    def registered(self, name: str, registry: str | None = None) -> Kind | None:
        """An instance of the class that a registry (None: any) has under a name."""
        found = self._registered_class(name)
        if found and registry and not _belongs(found[1], registry):
            return None
        return Modules.of(self._project).kind_of_instance(*found) if found else None

    def built(self, call: ast.Call) -> list[Kind]:
        """Instances of the classes that ``build(f"{mode}Reader")`` may mean: whose names fit the literal part.

        None if the name that it computes has no such part.
        """
        pattern = _name_pattern(call.args[0]) if call.args and _builds(call) else None
        if pattern is None:
            return []
        modules = Modules.of(self._project)
        return [modules.kind_of_instance(*each) for name, each in self._all_registered() if pattern.fullmatch(name)]

    @query
    def _all_registered(self) -> tuple[tuple[str, tuple[FileIndex, Class]], ...]:
        return tuple(
            (name, (file, file.scopes.classes[own]))
            for file in self._project.files.values()
            if _registers(file.source.text)
            for name, owners in registered_classes(file).items()
            for own in owners
        )

    @query
    def _registered_class(self, name: str) -> tuple[FileIndex, Class] | None:
        """The class that a decorator registers by a name; None if nothing does, or two classes share it."""
        files = self._project.mentions.of(name) if name.isidentifier() else self._project.files.values()
        found = [
            (file, file.scopes.classes[own])
            for file in files
            if file.has(name) and _registers(file.source.text)
            for own in registered_classes(file).get(name, ())
        ]
        return found[0] if len(found) == 1 else None


@query
def registered_classes(file: FileIndex) -> dict[str, list[str]]:
    """The names of a file's classes by the names under which decorators register them."""
    owners = file.scopes.classes.items()
    named = ((_registered_name(each, owner), own) for own, owner in owners for each in owner.decorators)
    return gathered((name, own) for name, own in dict.fromkeys(named) if name is not None)


def _registers(text: str) -> bool:
    return any(map(text.lower().count, _REGISTERS))


def _registered_name(decorator: ast.expr, owner: Class) -> str | None:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not _registers(dotted(function) or ""):
        return None
    given = [*decorator.args, *(item.value for item in decorator.keywords)] if isinstance(decorator, ast.Call) else []
    literals = [item.value for item in given if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return literals[0] if literals else owner.name


def requested(call: ast.Call) -> str | None:
    """The literal name that a call looks up in a registry; None if it does not."""
    if isinstance(call.func, ast.Call):  # MODELS.get("ResNet")(depth=50)
        return string_of(call.func.args[0]) if call.func.args and _builds(call.func) else None
    if isinstance(call.func, ast.Subscript):  # MODELS["ResNet"](depth=50)
        return string_of(call.func.slice)
    if not _builds(call):
        return None
    given = [*call.args[:1], *(item.value for item in call.keywords if item.arg in _NAME_KEYS)]
    return next((name for name in map(_named, given) if name is not None), None)


def looks_up(call: ast.Call) -> bool:
    """Whether a call looks up what it calls, or passes a literal name that its function may look up."""
    if isinstance(call.func, (ast.Subscript, ast.Call)):
        return True
    return any(string_of(node) is not None for node in (*call.args, *(item.value for item in call.keywords)))


def asked(call: ast.Call) -> str | None:
    """The registry that a call names: ``MODELS`` in ``MODELS.get("ResNet")()``; None if it names none."""
    holder = call.func.func if isinstance(call.func, ast.Call) else call.func
    value = holder.value if isinstance(holder, (ast.Attribute, ast.Subscript)) else None
    name = dotted(value) if value is not None and not isinstance(call.func, ast.Attribute) else None
    return name.rpartition(".")[2] if name else None


def _belongs(owner: Class, registry: str) -> bool:
    """Whether one of a class's decorators registers it with a registry of this name, or with an unnamed one."""
    for decorator in owner.node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        holder = (dotted(function) or "").rpartition(".")[0].rpartition(".")[2]
        if _registered_name(decorator, owner) is not None and holder in ("", registry):
            return True
    return False


def _name_pattern(node: ast.expr) -> re.Pattern[str] | None:
    """What a computed name fits: ``f"{mode}Reader"``, ``"{}Reader".format(mode)``, ``mode + "Reader"``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        literal = string_of(node.func.value)
        parts = re.split(r"\{[^{}]*\}", literal) if literal else []
    elif isinstance(node, ast.JoinedStr):
        parts = [string_of(part) or "" for part in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [string_of(node.left) or "", string_of(node.right) or ""]
    else:
        parts = []
    return re.compile(r"\w*".join(map(re.escape, parts))) if any(parts) else None


def _builds(call: ast.Call) -> bool:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return bool(last) and last.startswith(_BUILDERS)


def _named(node: ast.expr) -> str | None:
    """``"ResNet"``, ``{"type": "ResNet"}`` or ``dict(type="ResNet")``."""
    entries = written_entries(node)
    if entries is None:
        return string_of(node)
    return next((string_of(value) for key, value in entries.values.items() if key in _NAME_KEYS), None)


def _calls_base(call: ast.Call) -> bool:
    """Whether a call is one of a method of a base: ``super().forward(x)``, ``Base.forward(self, x)``."""
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(base, ast.Call):
        return terminal(base) == "super"
    return base is not None and bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == "self"
