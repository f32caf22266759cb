"""Options of ``argparse`` parsers: which ``add_argument`` stands behind ``args.num_workers``, and its default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.values import Values
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

# Ways in which a program gives options other values than their defaults, whatever the command line says.
_OVERRIDES = re.compile(r"set_defaults\(|setattr\(|__dict__\s*(\.update|\[|=)|vars\(\w+\)\s*(\.update|\[)|merge_from")
_EXPLAINED = re.compile(r"windows|must be 0|only 0|必须|只能", re.IGNORECASE)


def default_of(file: FileIndex, scope: Scope, dest: str, project: Project) -> tuple[FileIndex, ast.expr] | None:
    """The 0 that an option has as its default, and the file it is in.

    Args:
        file: where the parser is made, and ``scope`` the function.
        dest: the attribute of the parsed arguments.

    Returns:
        None when the option has another default or none, is defined more than once, or may be set in another way.
    """
    options = [(file, call) for call in _options(file.scopes.scopes, dest)]
    if len(options) > 1:
        options = [(file, call) for call in _options([scope], dest)]
    if not options:
        options = [
            (there, call) for there, helper in _helpers(file, scope, project) for call in _options([helper], dest)
        ]
    if len(options) != 1 or file.matches(_OVERRIDES):
        return None
    there, call = options[0]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    value, text = given.get("default"), given.get("help")
    if not isinstance(value, ast.Constant) or type(value.value) is not int or value.value != 0:
        return None
    if isinstance(text, ast.Constant) and isinstance(text.value, str) and _EXPLAINED.search(text.value):
        return None
    return there, value


def _options(scopes: list[Scope], dest: str) -> Iterator[ast.Call]:
    for scope in scopes:
        for statement in scope.statements:
            for call in statement.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and _dest(call) == dest:
                    yield call


def _dest(call: ast.Call) -> str:
    """The attribute that an option is stored in."""
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    flags = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else ""


def _helpers(file: FileIndex, scope: Scope, project: Project) -> Iterator[tuple[FileIndex, Scope]]:
    """The functions that a scope hands its parser to, or takes a parent parser from."""
    for statement in scope.statements:
        for call in statement.calls:
            name = dotted(call.func)
            if name is None:
                continue
            parents = [item.value for item in call.keywords if item.arg == "parents"]
            inner = [node for item in parents for node in walk(item) if isinstance(node, ast.Call)]
            for one in [*inner, *([call] if any("parser" in (dotted(item) or "") for item in call.args) else [])]:
                reached = Values.of(project).callee(file, scope, dotted(one.func) or "", {})
                if reached is not None:
                    yield reached
