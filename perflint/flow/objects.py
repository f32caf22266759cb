"""Objects in which an attribute or a key is looked up: a dict, parsed arguments, an instance of a class."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from perflint.flow.calls import CallGraph
from perflint.index.project import FileIndex, Place
from perflint.inputs.setting_files import Keys
from perflint.syntax.bindings import bound_by, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import Entries, written_entries
from perflint.syntax.scopes import Class
from perflint.syntax.tree import string_of, walk

# Objects in which an attribute or a key is looked up: a dict, parsed arguments, a class or its instance, a module.


class ObjectKind(enum.Enum):
    """The kind of such an object."""

    DICT = enum.auto()
    LIST = enum.auto()
    """Also a tuple, or a set."""
    PARSER = enum.auto()
    NAMESPACE = enum.auto()
    """The result of a parser: its options are attributes."""
    CLASS = enum.auto()
    """A class, or an object of it."""
    MODULE = enum.auto()
    SETTINGS = enum.auto()
    """What a configuration file says, or the part of it that ``keys`` lead to."""


@dataclass(frozen=True)
class Object:
    """One such object: ``node`` is the display or the call that creates it, at ``place``; ``owner`` its class."""

    kind: ObjectKind
    place: Place
    node: ast.expr | None = None
    owner: tuple[FileIndex, Class] | None = None
    keys: Keys = ()


def entries_of(thing: Object) -> Entries | None:
    """The entries that a dict is created with; None if any of them may have been changed."""
    node, place = thing.node, thing.place
    made = written_entries(node) if node is not None else None
    if made is None or place.statement is None or getattr(place.statement.node, "value", None) is not node:
        return made
    names = set(bound_by(place.statement.node))
    return _changed(made, names, place.function) if names else made


def _changed(entries: Entries, names: set[str], at: Place) -> Entries | None:
    complete, changed = entries.complete, set()
    scopes = at.file.scopes.scopes if isinstance(at.scope.node, ast.Module) else [at.scope]
    for statement in (statement for one in scopes for statement in one.statements):
        for target in targets_of(statement.node):
            if isinstance(target, ast.Subscript) and dotted(target.value) in names:
                key = string_of(target.slice)
                if key is None:
                    return None
                changed.add(key)
        for call in statement.calls:
            if isinstance(call.func, ast.Attribute) and dotted(call.func.value) in names:
                if call.func.attr in ("update", "setdefault", "pop", "clear") or "merge" in call.func.attr:
                    return None
            elif any(dotted(argument) in names for argument in call.args):
                complete = False  # a function that gets the dict may add to it
    return Entries(entries.values, complete, frozenset(changed))


def class_body(owner: Class) -> Iterator[tuple[str, ast.expr]]:
    """The names that the body of a class assigns to, with the expressions."""
    for node in owner.node.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield dotted(target) or "", node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield dotted(node.target) or "", node.value


# Options of ``argparse`` parsers: finds the ``add_argument`` for ``args.num_workers``.

# Ways in which a program gives options other values than their defaults, regardless of the command line.
_OVERRIDES_ANY = re.compile(
    r"(__dict__|\bvars\(\w+\))\s*(\.update|(\[[^\]\n]*\]\s*)?=[^=])|merge_from"
    r"|set_defaults\([^()]*(\(|\*\*)"  # computed names, or a call whose end is hard to see
    r"|setattr\((?!\s*[\w.]+\s*,\s*[\"'])"
)
_OVERRIDES_ONE = r"\.{0}\s*=[^=]|set_defaults\([^()]*\b{0}\s*=|setattr\(\s*[\w.]+\s*,\s*[\"']{0}[\"']"

Option = tuple[Place, ast.Call]
"""The ``add_argument`` call, and its place."""


def option(parser: Place, dest: str) -> Option | None:
    """The one option of a parser that is stored in an attribute; None if there are none or several.

    Args:
        parser: where it is created.
        dest: the attribute of the parsed arguments.
    """
    found = list(_options((parser.at(scope, None) for scope in parser.file.scopes.scopes), dest))
    if len(found) > 1:
        found = list(_options([parser], dest))
    elif not found:
        found = list(_options(_helpers(parser), dest))
    return found[0] if len(found) == 1 else None


def may_be_overridden(dest: str, *files: FileIndex) -> bool:
    """Whether one of the files sets an option itself, so that its default may not apply.

    ``parser.set_defaults(resume=True)`` and ``setattr(args, "resume", True)`` do so for the option that they name.
    """
    is_set = re.compile(_OVERRIDES_ONE.format(re.escape(dest)))
    return any(file.matches(is_set) or file.matches(_OVERRIDES_ANY) for file in files)


def default_of(call: ast.Call) -> ast.expr | bool | None:
    """The default of an option: an expression, or False for ``action="store_true"``; None if it has none."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    action = given.get("action")
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false") and "default" not in given:
        return action.value == "store_false"
    return given.get("default")


def _options(places: Iterable[Place], dest: str) -> Iterator[Option]:
    for place in places:
        for statement in place.scope.statements:
            for call in statement.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and _dest(call) == dest:
                    yield place.at(place.scope, statement), call


def _dest(call: ast.Call) -> str:
    """The attribute that an option is stored in."""
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    flags = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else ""


def _helpers(parser: Place) -> Iterator[Place]:
    """The functions that a scope passes its parser to, or gets a parent parser from."""
    file, scope = parser.file, parser.scope
    for statement in scope.statements:
        for call in statement.calls:
            if dotted(call.func) is None:
                continue
            parents = [item.value for item in call.keywords if item.arg == "parents"]
            inner = [node for item in parents for node in walk(item) if isinstance(node, ast.Call)]
            for one in [*inner, *([call] if any("parser" in (dotted(item) or "") for item in call.args) else [])]:
                reached = CallGraph.of(file.project).called(Place(file, scope), one.func)
                if reached is not None:
                    yield Place(*reached)
