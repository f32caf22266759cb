"""PPF209: a slice is read on the host, which copies the whole tensor that it is a view of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from perflint.checks.slices import Sweep, is_in_order, is_moving, levels_of, loops_around, sweep
from perflint.dataflow.evaluate import Evaluator
from perflint.facts.fluid import is_for_paddle_1
from perflint.findings import Confidence, Edit, Fix, Level
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, headers
from perflint.syntax.tree import walk

CODE = "PPF209"
_METHODS = frozenset({"numpy", "tolist"})
_CONVERSIONS = frozenset({"float", "int"})
_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
_DEEP = 2
"""With this many indices, a conversion of a slice copies more than the resulting number."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_LOOP_WORDS = frozenset({"for", "while"})
_READ_CALL = re.compile(r"(numpy|tolist|float|int|array|asarray)\s*\(")
"""The end of a read call; it begins with letters, which are fast to search for."""
_BLANK = " \t\r\n\f\\"
_FURTHEST = 200
"""How many characters before a read are examined; if there are only spaces, it may be a read of a slice."""

_TYPE_REASON = "perflint could not determine what `{base}` is"
_LAYOUT_REASON = "the array may have another memory order, so a sum over it may be rounded differently"
_NO_CLONE = "`clone` and `item` of tensors, which copy only the slice, came with Paddle 2.0"
_AMP_REASON = "under auto_cast the copy may have another dtype"


class _Read(NamedTuple):
    """A read of a slice (``x[i]``), and how the value is read."""

    slice: ast.Subscript
    spelling: str


@statement_gate(CODE)
def _reading(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    text = file.source.text
    if not file.has_words(*_LOOP_WORDS) or file.is_offline:
        return
    if not any(_may_take_a_slice(text, match) for match in _READ_CALL.finditer(text)) or file.is_foreign:
        return
    for _, statement in file.statements_at(_READ_CALL):
        reads = (_read(call, file) for call in statement.calls)
        best = max((most for read in reads if read is not None and (most := _most(read)) is not None), default=None)
        if best is not None and _is_repeated(statement) and knows_paddle(file):
            yield statement, best


def _may_take_a_slice(text: str, read: re.Match[str]) -> bool:
    """Whether a read in a text may be one of a slice: judging by text, so that few files are parsed for it."""
    if read[1] in _METHODS:
        return _is_behind_a_bracket(text, read.start())
    return _holds_a_bracket(text, read.end(), _DEEP if read[1] in _CONVERSIONS else 1)


def _is_behind_a_bracket(text: str, at: int) -> bool:
    """Whether ``.numpy()`` follows a ``]`` or ``)``, possibly after a comment."""
    before = text[max(at - _FURTHEST, 0) : at].rstrip(_BLANK)
    receiver = before[:-1].rstrip(_BLANK)
    return before[-1:] == "." and (receiver[-1:] in ("]", ")", "") or "#" in before)


def _holds_a_bracket(text: str, at: int, levels: int) -> bool:
    """Whether the argument at an offset may be a slice of ``levels`` indices: ``x[0]`` or ``f(x)[0]`` with one."""
    end = text.find(")", at)
    argument = "".join((text[at:end] if end >= 0 else text[at:]).split())
    if "(" in argument or "#" in argument:
        return True
    first, bracket, rest = argument.partition("[")
    if not first:  # a list, which may itself be sliced
        return "][" in rest
    return bool(bracket) and (levels < _DEEP or "[" in rest or "," in rest or ":" in rest)


def _is_repeated(statement: Statement) -> bool:
    parts = (item for header in headers(statement.node) for item in walk(header))
    return statement.loop is not None or any(isinstance(item, _COMPREHENSIONS) for item in parts)


def _read(call: ast.Call, file: FileIndex) -> _Read | None:
    """The slice that a call seems to read; None if it reads none."""
    function, first = call.func, call.args[0] if call.args else None
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        return _of(function.value, function.attr)
    if first is None or isinstance(first, ast.Starred):
        return None
    if isinstance(function, ast.Name) and function.id in _CONVERSIONS:
        is_alone = len(call.args) + len(call.keywords) == 1
        return _of(first, function.id) if is_alone and not file.names.is_bound(function.id) else None
    return _of(first, "array") if file.names.resolve(dotted(function) or "") in _ARRAYS else None


def _of(tensor: ast.expr, spelling: str) -> _Read | None:
    if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) and tensor.func.attr == "detach":
        tensor = tensor.func.value
    return _Read(tensor, spelling) if isinstance(tensor, ast.Subscript) else None


def _most(read: _Read) -> Confidence | None:
    """The highest possible confidence of a read, judging by its form; None if it copies nothing unused."""
    if read.spelling in _CONVERSIONS and levels_of(read.slice) < _DEEP:
        return None
    if not is_moving(read.slice):  # the same slice in each iteration
        return None if read.spelling in _CONVERSIONS else Confidence.LOW
    return Confidence.MEDIUM


@check("Call")
def slice_read(call: cst.Call, context: Context) -> None:
    """Report a read of another slice of the same tensor in each iteration of a Python loop."""
    point = context.point
    made = context.expression(call) if point is not None and not context.claimed else None
    read = _read(made, context.file) if isinstance(made, ast.Call) else None
    if read is None or point is None or context.file.is_offline or context.file.is_foreign:
        return
    loops = loops_around(call, context) if knows_paddle(context.file) else []
    found = sweep(read.slice, loops, read.spelling == "numpy", context) if loops else None
    if found is None or not found.shown:
        return
    kind = Evaluator(point.file, point.full_env).kind(read.slice)
    certain = kind.is_tensor and not kind.guess
    is_likely = certain or (not kind.is_host and _looks_like_a_tensor(read, found, context))
    confidence = _confidence(call, read, found, context) if is_likely else None
    if confidence is None:
        return
    row = found.loop.row if found.loop else loops[0].row
    context.report(
        CODE,
        call,
        _fix(call, read, found, certain, context),
        context.step,
        confidence=confidence,
        costs_on_cpu=True,
        where=f"each iteration of the loop at line {row}",
        base=ast.unparse(found.base),
    )


def _looks_like_a_tensor(read: _Read, found: Sweep, context: Context) -> bool:
    """Whether a call of ``.numpy()`` alone shows that something is a tensor.

    The code itself may test the type: ``x[i].numpy() if isinstance(x[i], paddle.Tensor) else x[i]``.
    """
    return read.spelling == "numpy" and found.loop is not None and not context.is_within(cst.IfExp)


def _confidence(call: cst.Call, read: _Read, found: Sweep, context: Context) -> Confidence | None:
    """How certain it is that the copy costs something; None if it cannot."""
    if read.spelling in _CONVERSIONS or _is_scalar(call, context):
        # One index, one number: a tensor with a number for each iteration is no larger than what is read of it.
        if levels_of(read.slice) < 2 or found.loop is None:
            return None
        return Confidence.MEDIUM
    if found.loop is None:
        # One slice of a tensor that each iteration creates again. At a step that is a host read like any other.
        return None if context.hot is not None or levels_of(read.slice) > 1 else Confidence.LOW
    return Confidence.LOW if found.narrow else Confidence.MEDIUM


def _is_scalar(call: cst.Call, context: Context) -> bool:
    """Whether only one number of the array is used: ``int(x[i].numpy())``, ``y[x[i].numpy()]``."""
    for parent, inner in context.around(call):
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
    return False


def _fix(call: cst.Call, read: _Read, found: Sweep, certain: bool, context: Context) -> Fix:
    is_method = isinstance(call.func, cst.Attribute) and read.spelling in _METHODS
    receiver = cst.ensure_type(call.func, cst.Attribute).value if is_method else call.args[0].value
    at = context.range(receiver)[1]
    base = ast.unparse(found.base)
    if is_for_paddle_1([context.file]):
        return Fix(f"read `{base}` once, before the loop", (), Level.DISPLAY, _NO_CLONE)
    # Where it is something else, `.numpy()` fails already, but not the other reads, which arrays and lists have, too.
    is_tensor = certain if read.spelling == "numpy" else context.is_surely_tensor(receiver)
    reasons = [] if is_tensor else [_TYPE_REASON.format(base=base)]
    if read.spelling in _CONVERSIONS:
        level = Level.UNSAFE if reasons else Level.SAFE
        return Fix("read one number with .item()", (Edit(at, at, ".item()"),), level, "; ".join(reasons))
    if read.spelling != "tolist" and not (found.new and is_in_order(read.slice)):
        reasons.append(_LAYOUT_REASON)
    blocks = (parent for parent in context.parents if isinstance(parent, cst.With))
    if any("auto_cast" in context.text(item.item) for block in blocks for item in block.items):
        reasons.append(_AMP_REASON)
    title = f"copy only the slice: `.clone()` (or read `{base}` once, before the loop)"
    edit = Edit(at, at, ".clone()")
    return Fix(title, (edit,), Level.UNSAFE if reasons else Level.SAFE, "; ".join(reasons))
