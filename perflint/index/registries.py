"""Registries: classes that are found by a literal name, ``MODELS.get("ResNet")(...)`` or ``build("ResNet")``."""

from __future__ import annotations

import ast
import re

from perflint.index.kinds import Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import written_entries
from perflint.syntax.scopes import Class
from perflint.syntax.tree import string_of

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
    found: dict[str, list[str]] = {}
    for own, owner in file.scopes.classes.items():
        names = {_registered_name(decorator, owner) for decorator in owner.decorators} - {None}
        for name in names:
            found.setdefault(str(name), []).append(own)
    return found


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
