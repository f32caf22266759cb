"""What rules and the configuration need to know about a call: what it reaches, and its arguments."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from perflint import catalogue
from perflint.catalogue import NONZERO, ArgumentMatch, Rule
from perflint.configuration.settings import DeclaredCall
from perflint.findings import Edits
from perflint.flow.calls import CallGraph
from perflint.flow.constant_values import ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.values import Values
from perflint.index.kinds import UNKNOWN
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import MayMatch, any_call
from perflint.rules import excuses
from perflint.rules.edits import WithArgument, WithoutArgument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.tree import string_of
from perflint.syntax.vocabulary import means_optimizer
from perflint.text.source import spans_rows

_OPTIMIZER = "paddle.optimizer.Optimizer"


Matches = dict[str, list[tuple[Rule, ArgumentMatch]]]
"""The entries of the rule files by the calls that they are about, or by the keys of a dict."""


def matches_by(key: Callable[[ArgumentMatch], str]) -> Matches:
    """The entries that have a key."""
    found: Matches = {}
    for rule in catalogue.shipped().values():
        for match in rule.match:
            if name := key(match):
                found.setdefault(name, []).append((rule, match))
    return found


def codes_in(matches: Matches) -> list[str]:
    """The rules that entries belong to."""
    return sorted({rule.code for known in matches.values() for rule, _ in known})


def names_in(matches: Matches) -> Mapping[str, Mapping[str, MayMatch]]:
    """All the calls that entries are about, for ``Check.names``."""
    return {name: {rule.code: any_call for rule, _ in known} for name, known in matches.items()}


def callee(call: ast.Call, context: Context) -> str:
    """The qualified name of what a call reaches; ``paddle.device.current_stream().synchronize`` for a call on a
    call.
    """
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        owner = context.name(function.value.func)
        if owner:
            return f"{owner}().{function.attr}"
    return context.callee(call)


def optimizer_method(call: ast.Call, context: Context) -> str:
    """``paddle.optimizer.Optimizer.clear_grad`` for that method of any optimizer of Paddle, "" for other calls.

    The optimizer is recognized by its kind, or, if that is unknown, by its name.
    """
    node = call.func
    if not isinstance(node, ast.Attribute):
        return ""
    kind = context.kind(node.value)
    receiver = node.value.value if isinstance(node.value, ast.Subscript) else node.value
    named = kind == UNKNOWN and means_optimizer((dotted(receiver) or "").rpartition(".")[2])
    return f"{_OPTIMIZER}.{node.attr}" if named or kind.type.startswith("paddle.optimizer.") else ""


def shown_argument(call: ast.Call, value: ast.expr) -> ast.expr | ast.keyword:
    """What is reported for an argument: with its keyword, if it has one."""
    return next((keyword for keyword in call.keywords if keyword.value is value), value)


def is_bad(call: ast.Call, value: ast.expr, match: ArgumentMatch, context: Context) -> bool:
    """Whether an argument is a literal with one of the costly values, and no comment says why."""
    return has_bad_value(value, match) and not excuses.explained(
        shown_argument(call, value), match.unless_comment, context
    )


def has_bad_value(node: ast.expr | None, match: ArgumentMatch) -> bool:
    """Whether an expression is a literal with one of the costly values, or contains one of them."""
    if match.holds:
        return any(string_of(item) in match.holds for item in _items(node))
    if not isinstance(node, ast.Constant):
        return False
    value = node.value
    if match.bad == NONZERO:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0
    return (type(value), value) in typed(match.bad)


class SetInFiles(NamedTuple):
    """A costly value that configuration files give an argument: as they write it, and where.

    ``is_sure``: all its values are known; other files, or the code, may give it another one.
    """

    text: str
    rows: tuple[tuple[str, int], ...]
    is_sure: bool

    def where(self) -> str:
        """The places in a sentence."""
        (path, row), more = self.rows[0], len(self.rows) - 1
        return f"{path}:{row}" + (f" and {more} more place{'s' if more > 1 else ''}" if more else "")


def configured(argument: ast.expr, match: ArgumentMatch, context: Context) -> SetInFiles | None:
    """The costly value that rows of configuration files give an argument; None if none does."""
    if isinstance(argument, ast.Constant) or context.point is None or match.bad == NONZERO:
        return None
    values = Constants.of(context.file.project).possible(argument, context.place)
    for value in values:
        if value.settings and (type(value.value), value.value) in typed(match.bad):
            key = next(step.name for step in reversed(value.steps) if step.origin is ValueOrigin.SETTING)
            is_sure = all(each.is_known for each in values)
            return SetInFiles(f"{key}: {json.dumps(value.value)}", value.settings, is_sure)
    return None


def is_bad_when_absent(match: ArgumentMatch) -> bool:
    """Whether the default of a parameter is one of the costly values."""
    return match.bad != NONZERO and match.default in match.bad


def set_argument(call: ast.Call, argument: ast.expr | None, parameter: str, value: str, context: Context) -> Edits:
    """The edits that give a parameter a value, in place of its argument or in a new one, or none if that is empty."""
    if argument is not None:
        return context.instead(argument, value) if value else context.edits(WithoutArgument(call, argument))
    return context.edits(WithArgument(call, f"{parameter}={value}"))


def _items(node: ast.expr | None) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Set, ast.List, ast.Tuple)) else []


def without_costly(argument: ast.expr, match: ArgumentMatch, context: Context) -> str:
    """The text of a list or set without the costly items; ``""`` if it has comments or more than one row."""
    text, items = context.text(argument), _items(argument)
    if "#" in text or spans_rows(text) or not all(isinstance(item, ast.Constant) for item in items):
        return ""
    kept = [ast.unparse(item) for item in items if string_of(item) not in match.holds]
    if not kept:
        return match.set
    quoted = [item.replace("'", '"') for item in kept] if '"' in text else kept
    comma = "," if isinstance(argument, ast.Tuple) and len(kept) == 1 else ""
    return text[0] + ", ".join(quoted) + comma + text[-1]


def typed(values: Any) -> list[tuple[type, Any]]:
    """Values with their types: ``False`` is not ``0`` here."""
    return [(type(value), value) for value in values]


def value_of(argument: ast.expr, context: Context) -> tuple[type, Any] | None:
    """The type and the value of an argument that is a literal, or a name bound once to one."""
    expression: ast.expr | None = argument
    if isinstance(argument, ast.Name) and context.point is not None:
        expression = Values.of(context.file.project).definitions(context.here.function).get(argument.id)
    return (type(expression.value), expression.value) if isinstance(expression, ast.Constant) else None


def declaration(call: ast.Call, table: Mapping[str, DeclaredCall], context: Context) -> DeclaredCall | None:
    """What a table of the configuration says about the function that a call reaches; None if it says nothing."""
    name = dotted(call.func) if table else None
    point = context.point
    if not name or point is None:
        return None
    return CallGraph.of(context.file.project).declared(table, point.function, name, point.full_env)


def given(call: ast.Call, declared: DeclaredCall, context: Context) -> list[ast.expr]:
    """The arguments that a declaration is about: the one it names, or all of them."""
    if not declared.parameter:
        return arguments_of(call)
    position, file, name = declared.position, context.file, dotted(call.func) or ""
    if position is None:
        position = CallGraph.of(file.project).place_of(Place(file, context.here.scope), name, declared.parameter)
    found = argument_of(call, declared.parameter, position)
    if found is not None:
        return [found]
    # The function's code is not among the files: any of these may be the one.
    return [] if position is not None else [item for item in call.args if not isinstance(item, ast.Starred)]
