"""PPF209: a slice is read on the host, and the whole tensor it is a view of is copied for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from perflint.checks.slices import Sweep, is_in_order, is_moving, levels_of, loops_around, sweep
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.scopes import Statement, headers
from perflint.syntax.tree import walk

CODE = "PPF209"
_METHODS = frozenset({"numpy", "tolist"})
_CONVERSIONS = frozenset({"float", "int"})
_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
_DEEP = 2
"""Indices of a slice from which on a conversion copies more than the number that it gives."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_LOOP_WORDS = frozenset({"for", "while"})
_READ_CALL = re.compile(r"(numpy|tolist|float|int|array|asarray)\s*\(")
"""The end of what a read calls; begins with letters, which is quick to look for."""
_BLANK = " \t\r\n\f\\"
_FURTHEST = 200
"""Characters that are looked at before a read; where nothing but blanks is among them, it may be one of a slice."""

_TYPE_REASON = "what `{base}` is could not be worked out"
_LAYOUT_REASON = "the array may lie in memory in another order, so that a sum over it can round differently"
_AMP_REASON = "under auto_cast the copy may be made in another dtype"


@dataclass(frozen=True)
class _Read:
    """A read of a slice: what is sliced, where the fix goes in, and how the value is read."""

    slice: cst.Subscript
    receiver: cst.BaseExpression
    spelling: str


def _reading(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    if not file.has_words(*_LOOP_WORDS) or file.is_offline:
        return
    if not _may_read_a_slice(file.source.text) or file.is_foreign:
        return
    for _, statement in file.statements_at(_READ_CALL):
        best = max((found for call in statement.calls if (found := _best(call)) is not None), default=None)
        if best is not None and _is_repeated(statement) and knows_paddle(file):
            yield statement, best


def _may_read_a_slice(text: str) -> bool:
    """Whether a read of a text may be one of a slice: told without its tree, so that few files are parsed for it."""
    return any(_may_take_a_slice(text, match) for match in _READ_CALL.finditer(text))


def _may_take_a_slice(text: str, read: re.Match[str]) -> bool:
    if read[1] in _METHODS:
        return _is_behind_a_bracket(text, read.start())
    return _holds_a_bracket(text, read.end(), _DEEP if read[1] in _CONVERSIONS else 1)


def _is_behind_a_bracket(text: str, at: int) -> bool:
    """Whether ``.numpy()`` stands behind a ``]`` or ``)``; a comment between them may hide it."""
    before = text[max(at - _FURTHEST, 0) : at].rstrip(_BLANK)
    receiver = before[:-1].rstrip(_BLANK)
    return before[-1:] == "." and (receiver[-1:] in ("]", ")", "") or "#" in before)


def _holds_a_bracket(text: str, at: int, levels: int) -> bool:
    """Whether the argument that begins at an offset may be a slice: ``x[0]``, ``x[0, 1]`` or ``f(x)[0]``, not ``x``.

    Args:
        levels: how many indices it takes: with 2, ``x[0]`` is none.
    """
    end = text.find(")", at)
    argument = "".join((text[at:end] if end >= 0 else text[at:]).split())
    if "(" in argument or "#" in argument:
        return True
    first, bracket, rest = argument.partition("[")
    if not first:  # a list, which may be sliced itself
        return "][" in rest
    return bool(bracket) and (levels < _DEEP or "[" in rest or "," in rest or ":" in rest)


def _is_repeated(statement: Statement) -> bool:
    return statement.loop is not None or any(
        isinstance(item, _COMPREHENSIONS) for header in headers(statement.node) for item in walk(header)
    )


def _best(call: ast.Call) -> Confidence | None:
    """The most that a call can be sure of by its looks, None where it reads no slice."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _METHODS and isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute):
            receiver = receiver.func.value
    elif name in (*_CONVERSIONS, "array", "asarray") and call.args:
        receiver = call.args[0]
    else:
        return None
    if not isinstance(receiver, ast.Subscript):
        return None
    if name in _CONVERSIONS and levels_of(receiver) < _DEEP:
        return None
    if not is_moving(receiver):  # the same slice at each pass
        return None if name in _CONVERSIONS else Confidence.LOW
    return Confidence.MEDIUM


statement_gate(CODE, _reading)


@check("Call")
def slice_read(call: cst.Call, context: Context) -> None:
    """Report a read of another slice of the same tensor at each pass of a Python loop."""
    read = _read(call, context) if not context.claimed else None
    point = context.point
    if read is None or point is None or context.file.is_offline or context.file.is_foreign:
        return
    node = context.expression(read.slice)
    loops = loops_around(context)
    if node is None or not loops or not knows_paddle(context.file):
        return
    found = sweep(node, loops, point, read.spelling == "numpy", context)
    if found is None or not found.shown:
        return
    kind = context.kind(read.slice)
    certain = kind.is_tensor and not kind.guess
    if kind.is_host or not (certain or (read.spelling == "numpy" and found.loop and not _is_chosen(context))):
        return
    confidence = _confidence(call, read, node, found, context)
    if confidence is None:
        return
    row = found.loop.row if found.loop else loops[0].row
    context.report(
        CODE,
        call,
        _fix(read, node, found, context),
        context.step,
        confidence=confidence,
        costs_on_cpu=True,
        where=f"each pass of the loop at line {row}",
        base=ast.unparse(found.base),
    )


def _read(call: cst.Call, context: Context) -> _Read | None:
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in _METHODS:
        return _of(function.value, function.attr.value)
    if not call.args or call.args[0].star or call.args[0].keyword is not None:
        return None
    if isinstance(function, cst.Name) and function.value in _CONVERSIONS:
        bound = context.file.names.is_bound(function.value)
        return _of(call.args[0].value, function.value) if not bound and len(call.args) == 1 else None
    return _of(call.args[0].value, "array") if context.name(function) in _ARRAYS else None


def _of(receiver: cst.BaseExpression, spelling: str) -> _Read | None:
    tensor = receiver
    if isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute) and tensor.func.attr.value == "detach":
        tensor = tensor.func.value
    return _Read(tensor, receiver, spelling) if isinstance(tensor, cst.Subscript) else None


def _confidence(call: cst.Call, read: _Read, node: ast.expr, found: Sweep, context: Context) -> Confidence | None:
    """How sure it is that the copy costs something; None where it cannot."""
    if read.spelling in _CONVERSIONS or _is_scalar(call, context):
        # One index, one number: a tensor with a number for each pass is no larger than what is read of it.
        if levels_of(node) < 2 or found.loop is None:
            return None
        return Confidence.MEDIUM
    if found.loop is None:
        # One slice of a tensor that each pass makes anew.  At a step that is a host read like any other.
        return None if context.hot is not None or levels_of(node) > 1 else Confidence.LOW
    return Confidence.LOW if found.narrow else Confidence.MEDIUM


def _is_scalar(call: cst.Call, context: Context) -> bool:
    """Whether one number of the array is all that is used: ``int(x[i].numpy())``, ``y[x[i].numpy()]``."""
    inner: cst.CSTNode = call
    for parent in reversed(context.parents):
        if isinstance(parent, cst.Attribute) and parent.attr.value == "item":
            return True
        if isinstance(parent, (cst.Index, cst.Comparison, cst.ComparisonTarget)):
            return True
        if isinstance(parent, cst.Subscript):
            return all(isinstance(item.slice, cst.Index) for item in parent.slice)
        if isinstance(parent, cst.Call) and parent.func is not inner:
            return isinstance(parent.func, cst.Name) and parent.func.value in _CONVERSIONS
        if not isinstance(parent, (cst.Attribute, cst.Call, cst.Arg)):
            return False
        inner = parent
    return False


def _is_chosen(context: Context) -> bool:
    """Whether the code itself asks what it has: ``x[i].numpy() if isinstance(x[i], paddle.Tensor) else x[i]``."""
    return any(isinstance(parent, cst.IfExp) for parent in context.parents)


def _fix(read: _Read, node: ast.expr, found: Sweep, context: Context) -> Fix:
    at = context.range(read.receiver)[1]
    kind = context.kind(read.slice)
    certain = kind.is_tensor and not kind.guess
    base = ast.unparse(found.base)
    if read.spelling in _CONVERSIONS:
        return Fix("read one number with .item()", (Edit(at, at, ".item()"),), Level.SAFE)
    reasons = [] if certain else [_TYPE_REASON.format(base=base)]
    if read.spelling != "tolist" and not (found.new and is_in_order(node)):
        reasons.append(_LAYOUT_REASON)
    if _under_auto_cast(context):
        reasons.append(_AMP_REASON)
    title = f"copy the slice alone: `.clone()` (or read `{base}` once, before the loop)"
    edit = Edit(at, at, ".clone()")
    return Fix(title, (edit,), Level.UNSAFE if reasons else Level.SAFE, "; ".join(reasons))


def _under_auto_cast(context: Context) -> bool:
    return any(
        "auto_cast" in context.text(item.item)
        for parent in context.parents
        if isinstance(parent, cst.With)
        for item in parent.items
    )
