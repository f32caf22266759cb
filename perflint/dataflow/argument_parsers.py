"""Options of ``argparse`` parsers: finds the ``add_argument`` for ``args.num_workers``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from perflint.dataflow.sole_binding import ReadPlace
from perflint.dataflow.values import Values
from perflint.syntax.names import dotted
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

# Ways in which a program gives options other values than their defaults, regardless of the command line.
_OVERRIDES_ANY = re.compile(
    r"(__dict__|\bvars\(\w+\))\s*(\.update|(\[[^\]\n]*\]\s*)?=[^=])|merge_from"
    r"|set_defaults\([^()]*(\(|\*\*)"  # computed names, or a call whose end is hard to see
    r"|setattr\((?!\s*[\w.]+\s*,\s*[\"'])"
)
_OVERRIDES_ONE = r"\.{0}\s*=[^=]|set_defaults\([^()]*\b{0}\s*=|setattr\(\s*[\w.]+\s*,\s*[\"']{0}[\"']"

Option = tuple[ReadPlace, ast.Call]
"""The ``add_argument`` call, and its place."""


def option(parser: ReadPlace, dest: str) -> Option | None:
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


def _options(places: Iterable[ReadPlace], dest: str) -> Iterator[Option]:
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


def _helpers(parser: ReadPlace) -> Iterator[ReadPlace]:
    """The functions that a scope passes its parser to, or gets a parent parser from."""
    file, scope = parser.file, parser.scope
    for statement in scope.statements:
        for call in statement.calls:
            if dotted(call.func) is None:
                continue
            parents = [item.value for item in call.keywords if item.arg == "parents"]
            inner = [node for item in parents for node in walk(item) if isinstance(node, ast.Call)]
            for one in [*inner, *([call] if any("parser" in (dotted(item) or "") for item in call.args) else [])]:
                reached = Values.of(file.project).callee(file, scope, dotted(one.func) or "", {})
                if reached is not None:
                    yield ReadPlace(*reached)
