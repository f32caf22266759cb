"""PPF209: a slice is read on the host, which copies the whole tensor that it is taken from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.programs import is_for_paddle_1
from perflint.findings import Confidence, Fix, Level
from perflint.flow.evaluate import Evaluator
from perflint.flow.values import Values
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.paddle.tensor_methods import ARRAY_METHODS, NUMBER_CONVERSIONS, READ_METHODS
from perflint.syntax.bindings import bound_by, bound_in
from perflint.syntax.names import dotted, dotted_names, plain_names
from perflint.syntax.scopes import COMPREHENSIONS, Scope, Statement, terminal
from perflint.syntax.tree import base_of, indices_of, is_literal, walk
from perflint.training.outcomes import filters_select_one, repeating_loops
from perflint.training.steps import Point

# Slices of one tensor that a Python loop takes one after the other.
#
# Since Paddle's strided kernels a slice is a view: it shares the memory of the tensor it was taken from. So what
# matters is that tensor, the loop, and whether it is a tensor at all: ``x[i]`` may also be an item of a list.

# Calls that return one new tensor, whose items are contiguous.
_NEW = frozenset(
    {"to_tensor", "to_variable", "zeros", "ones", "full", "rand", "randn", "randint", "uniform", "normal", "stack"}
    | {"concat", "zeros_like", "ones_like", "matmul", "softmax", "log_softmax", "sigmoid", "relu", "one_hot"}
    | {"embedding", "interpolate", "conv2d", "linear", "gather", "index_select", "cdist"}
)
# Calls that return one tensor, possibly a view of another one.
_ONE = _NEW | frozenset(
    {"reshape", "transpose", "squeeze", "unsqueeze", "flatten", "astype", "cast", "abs", "exp", "log", "sqrt", "clip"}
    | {"detach", "clone", "expand", "tile", "where", "bmm", "einsum", "pow", "scale", "tanh", "normalize", "upsample"}
)
# They leave one dimension of two: what is read of their result is small.
_REDUCED = frozenset(
    {"argmax", "argmin", "sum", "mean", "max", "min", "norm", "any", "all", "arange", "prod", "bincount"}
)
# What lists, tuples and dicts do not have.
_ATTRIBUTES = _ONE | _REDUCED | READ_METHODS | {"shape", "ndim", "dtype", "T", "stop_gradient", "place"}


@dataclass(frozen=True)
class Loop:
    """A loop or comprehension around an expression: its row, what it binds, and which of these count iterations."""

    row: int
    bound: frozenset[str]
    counters: frozenset[str]


@dataclass(frozen=True)
class Sweep:
    """One tensor (``base``) of which a loop takes another slice in each iteration.

    ``loop``: None if nothing shows that the slices of several iterations are of the same tensor. ``shown``: something
    in the code shows that ``base`` is a single tensor. ``new``: its items are known to be contiguous. ``narrow``: it is
    the result of a reduction and has one index, so that it is as small as what is read of it.
    """

    base: ast.expr
    loop: Loop | None
    shown: bool
    new: bool
    narrow: bool


def loops_around(node: ast.AST, context: Context) -> list[Loop]:
    """The comprehensions and loops that repeat the current node, from the inside out."""
    return [*_comprehensions(node, context), *_statements(context.here, context)]


def sweep(node: ast.expr, loops: list[Loop], is_method: bool, context: Context) -> Sweep | None:
    """The tensor that a chain of subscripts (``x[i][:4]``) is a slice of; None if it is not a view of a tensor.

    ``is_method``: a method that only tensors have is called on the slice.
    """
    levels = _levels(node)
    evaluator = Evaluator(context.file, context.here.full_env)
    for loop in loops:
        for depth, level in enumerate(levels):
            if not dotted_names(level.slice) & loop.bound:
                continue
            if dotted_names(level.value) & loop.bound or not _is_view(level.slice, loop, evaluator):
                break
            return _sweep(levels[depth:], loop, is_method, context)
    first = levels[0] if levels else None
    if first is None or not all(isinstance(index, ast.Constant) for index in indices_of(first.slice)):
        return None
    return _sweep(levels, None, is_method, context)


def _sweep(levels: list[ast.Subscript], loop: Loop | None, is_method: bool, context: Context) -> Sweep:
    level, point = levels[0], context.here
    base, root = level.value, base_of(level)
    name = dotted(root)
    definition = Values.of(point.file.project).definitions(point.function).get(name) if name else None
    made_by = terminal(definition) if isinstance(definition, ast.Call) else ""
    depth = sum(len(indices_of(item.slice)) for item in levels)
    sliced = is_method and any(True for _ in _sliced(level.slice))
    by_name = made_by in _ONE | _REDUCED or (
        name is not None and name in context.once(("asked", point.scope), lambda: _asked_like_tensors(point.scope))
    )
    shown = sliced or by_name or _is_item_of_a_batch(base, point)
    # A slice of a slice still refers to the memory of the first tensor.
    return Sweep(root if by_name else base, loop, shown, made_by in _NEW, depth == 1 and made_by in _REDUCED)


def levels_of(node: ast.expr) -> int:
    """How many dimensions a chain of subscripts names."""
    return sum(len(indices_of(level.slice)) for level in _levels(node))


def is_moving(node: ast.expr) -> bool:
    """Whether an index of a chain of subscripts is more than constants, so that a loop can change it."""
    return any(dotted_names(index) for level in _levels(node) for index in indices_of(level.slice))


def is_in_order(node: ast.expr) -> bool:
    """Whether a chain of subscripts selects contiguous items: plain indices, then at most one slice."""
    indices = [index for level in _levels(node) for index in indices_of(level.slice)]
    slices = [index for index in indices if isinstance(index, ast.Slice)]
    if any(isinstance(index, ast.Slice) and index.step is not None for index in indices):
        return False
    return len(slices) <= 1 and (not slices or indices[-1] is slices[0])


def _levels(node: ast.expr) -> list[ast.Subscript]:
    found: list[ast.Subscript] = []
    while isinstance(node, ast.Subscript):
        found.append(node)
        node = node.value
    return found[::-1]


def _sliced(index: ast.expr) -> Iterator[ast.expr]:
    """The parts of an index that only tensors accept: a slice (of a list it is a list, which has no ``numpy``)."""
    for part in indices_of(index):
        if isinstance(part, ast.Slice) or is_literal(part, ...):
            yield part


def _is_view(index: ast.expr, loop: Loop, evaluator: Evaluator) -> bool:
    """Whether an index is made of numbers and slices; by tensors, lists and masks a copy is taken."""
    for part in indices_of(index):
        if isinstance(part, (ast.Compare, ast.List, ast.Tuple, ast.BoolOp)) or evaluator.kind(part).is_tensor:
            return False
        if isinstance(part, ast.Constant) and isinstance(part.value, (str, bool)):
            return False
    return any(True for _ in _sliced(index)) or bool(dotted_names(index) & loop.counters)


def _is_item_of_a_batch(base: ast.expr, point: Point) -> bool:
    """``batch[0]``: whether ``batch`` is a tensor or a tuple of them, the item is a tensor."""
    if not isinstance(base, ast.Subscript) or not isinstance(base.slice, ast.Constant):
        return False
    return isinstance(base.slice.value, int) and Evaluator(point.file, point.full_env).kind(base).is_tensor


def _asked_like_tensors(scope: Scope) -> frozenset[str | None]:
    """The names on which a function uses something that only tensors have."""
    asked = (item for statement in scope.node.body for item in walk(statement) if isinstance(item, ast.Attribute))
    return frozenset(dotted(item.value) for item in asked if item.attr in _ATTRIBUTES)


def _statements(point: Point, context: Context) -> Iterator[Loop]:
    for node in repeating_loops(point.statement.place):
        yield context.once((_statements, node), partial(_loop, node))


def _loop(node: ast.For | ast.AsyncFor | ast.While) -> Loop:
    if isinstance(node, ast.While):
        counters = {name for item in walk(node) if isinstance(item, ast.AugAssign) for name in bound_by(item)}
    else:
        counters = _counters(node.target, node.iter)
    return Loop(node.lineno, frozenset(bound_in([node])), frozenset(counters))


def _comprehensions(node: ast.AST, context: Context) -> Iterator[Loop]:
    for parent, inner in context.around(node):
        if isinstance(parent, (ast.stmt, ast.Lambda)):
            return
        if isinstance(parent, COMPREHENSIONS) and not isinstance(inner, ast.comprehension):
            row = context.rows(parent)[0]
            for generator in reversed(parent.generators):
                if filters_select_one(generator):
                    continue
                bound = plain_names(generator.target)
                yield Loop(row, frozenset(bound), frozenset(_counters(generator.target, generator.iter)))


def _counters(target: ast.expr, iterated: ast.expr) -> set[str]:
    """Names that are numbers: the target of a ``range``, and the first name of an ``enumerate``."""
    while isinstance(iterated, ast.Call) and (dotted(iterated.func) or "").endswith("tqdm") and iterated.args:
        iterated = iterated.args[0]
    called = dotted(iterated.func) if isinstance(iterated, ast.Call) else None
    if called in ("range", "trange", "paddle.arange"):
        return dotted_names(target)
    if called == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        return dotted_names(target.elts[0])
    return set()


# PPF209: a slice is read on the host, which copies the whole tensor that it is a view of.

RULE = shipped()["PPF209"]
_ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
_DEEP = 2
"""With this many indices, a conversion of a slice copies more than the resulting number."""
_LOOP_WORDS = frozenset({"for", "while"})
_READ_CALL = re.compile(r"(numpy|tolist|float|int|array|asarray)\s*\(")
"""The end of a read call; it begins with letters, which are fast to search for."""
_BLANK = " \t\r\n\f\\"
_FURTHEST = 200
"""How many characters before a read are examined; if there are only spaces, it may be a read of a slice."""


class _Read(NamedTuple):
    """A read of a slice (``x[i]``), and how the value is read."""

    slice: ast.Subscript
    spelling: str


def _reading(file: FileIndex) -> Iterator[Candidate]:
    text = file.source.text
    if not file.has_words(*_LOOP_WORDS) or file.is_offline:
        return
    if not any(_may_take_a_slice(text, match) for match in _READ_CALL.finditer(text)) or file.is_foreign:
        return
    for _, statement in file.statements_at(_READ_CALL):
        reads = ((call, read) for call in statement.calls if (read := _read(call, file)) is not None)
        found = [(call, read, most) for call, read in reads if (most := _most(read)) is not None]
        if found and _is_repeated(statement) and knows_paddle(file):
            best = max(most for _, _, most in found)
            yield from (Candidate(call, statement.node, read, best) for call, read, _ in found)


def _may_take_a_slice(text: str, read: re.Match[str]) -> bool:
    """Whether a read in a text may be one of a slice: judging by text, so that few files are parsed for it."""
    if read[1] in ARRAY_METHODS:
        return _is_behind_a_bracket(text, read.start())
    return _holds_a_bracket(text, read.end(), _DEEP if read[1] in NUMBER_CONVERSIONS else 1)


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
    return statement.loop is not None or any(isinstance(item, COMPREHENSIONS) for item in statement.nodes)


def _read(call: ast.Call, file: FileIndex) -> _Read | None:
    """The slice that a call seems to read; None if it reads none."""
    function, first = call.func, call.args[0] if call.args else None
    if isinstance(function, ast.Attribute) and function.attr in ARRAY_METHODS:
        return _of(function.value, function.attr)
    if first is None or isinstance(first, ast.Starred):
        return None
    if isinstance(function, ast.Name) and function.id in NUMBER_CONVERSIONS:
        is_alone = len(call.args) + len(call.keywords) == 1
        return _of(first, function.id) if is_alone and not file.names.is_bound(function.id) else None
    return _of(first, "array") if file.names.qualified(function) in _ARRAYS else None


def _of(tensor: ast.expr, spelling: str) -> _Read | None:
    if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) and tensor.func.attr == "detach":
        tensor = tensor.func.value
    return _Read(tensor, spelling) if isinstance(tensor, ast.Subscript) else None


def _most(read: _Read) -> Confidence | None:
    """The highest possible confidence of a read, judging by its form; None if it copies nothing unused."""
    if read.spelling in NUMBER_CONVERSIONS and levels_of(read.slice) < _DEEP:
        return None
    if not is_moving(read.slice):  # the same slice in each iteration
        return None if read.spelling in NUMBER_CONVERSIONS else Confidence.LOW
    return Confidence.MEDIUM


@rule(RULE.code, at=At.ANYWHERE, find=_reading)
def slice_read(read: _Read, context: Context) -> None:
    """Report a read of another slice of the same tensor in each iteration of a Python loop."""
    call, point = context.node, context.here
    assert isinstance(call, ast.Call)
    loops = loops_around(call, context)
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
        _fix(call, read, found, certain, context),
        step=context.step,
        confidence=confidence,
        costs_on_cpu=True,
        where=f"each iteration of the loop at line {row}",
        base=ast.unparse(found.base),
    )


def _looks_like_a_tensor(read: _Read, found: Sweep, context: Context) -> bool:
    """Whether a call of ``.numpy()`` alone shows that something is a tensor.

    The code itself may test the type: ``x[i].numpy() if isinstance(x[i], paddle.Tensor) else x[i]``.
    """
    return read.spelling == "numpy" and found.loop is not None and not context.is_within(ast.IfExp)


def _confidence(call: ast.Call, read: _Read, found: Sweep, context: Context) -> Confidence | None:
    """How certain it is that the copy costs something; None if it cannot."""
    if read.spelling in NUMBER_CONVERSIONS or _is_scalar(call, context):
        # One index, one number: a tensor with a number for each iteration is no larger than what is read of it.
        if levels_of(read.slice) < 2 or found.loop is None:
            return None
        return Confidence.MEDIUM
    if found.loop is None:
        # One slice of a tensor that each iteration creates again. At a step that is a host read like any other.
        return None if context.hot is not None or levels_of(read.slice) > 1 else Confidence.LOW
    return Confidence.LOW if found.narrow else Confidence.MEDIUM


def _is_scalar(call: ast.Call, context: Context) -> bool:
    """Whether only one number of the array is used: ``int(x[i].numpy())``, ``y[x[i].numpy()]``."""
    for parent, inner in context.around(call):
        if isinstance(parent, ast.Attribute) and parent.attr == "item":
            return True
        if isinstance(parent, ast.Compare):
            return True
        if isinstance(parent, ast.Subscript):
            return inner is parent.slice or not any(isinstance(item, ast.Slice) for item in indices_of(parent.slice))
        if isinstance(parent, ast.Tuple):
            outer = context.parent(parent)
            return isinstance(outer, ast.Subscript) and outer.slice is parent
        if isinstance(parent, ast.Call) and parent.func is not inner:
            return isinstance(parent.func, ast.Name) and parent.func.id in NUMBER_CONVERSIONS
        if not isinstance(parent, (ast.Attribute, ast.Call, ast.keyword)):
            return False
    return False


def _fix(call: ast.Call, read: _Read, found: Sweep, certain: bool, context: Context) -> Fix:
    is_method = isinstance(call.func, ast.Attribute) and read.spelling in ARRAY_METHODS
    receiver = call.func.value if isinstance(call.func, ast.Attribute) and is_method else call.args[0]
    base = ast.unparse(found.base)
    if is_for_paddle_1([context.file]):
        return RULE.words("old Paddle", base=base)
    # Where it is something else, `.numpy()` fails already, but not the other reads, which arrays and lists have, too.
    is_tensor = certain if read.spelling == "numpy" else context.is_surely_tensor(receiver)
    reasons = [] if is_tensor else [RULE.texts["type"].format(base=base)]
    is_number = read.spelling in NUMBER_CONVERSIONS
    if not is_number and read.spelling != "tolist" and not (found.new and is_in_order(read.slice)):
        reasons.append(RULE.texts["layout"])
    blocks = (link.node for link in context.here.statement.around if isinstance(link.node, (ast.With, ast.AsyncWith)))
    managers = (ast.unparse(item.context_expr) for block in blocks for item in block.items)
    if not is_number and any("auto_cast" in manager for manager in managers):
        reasons.append(RULE.texts["auto_cast"])
    level, reason = Level.UNSAFE if reasons else Level.SAFE, "; ".join(reasons)
    case, copy = ("number", ".item()") if is_number else ("slice", ".clone()")
    edits = context.instead(receiver, context.text(receiver) + copy)
    return replace(RULE.words(case, base=base), edits=edits, level=level, reason=reason)
