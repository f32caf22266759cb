"""The fix for a host read: keep the value on the device, read it once after the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from perflint.checks.edits import insert_row_after_loop, on_device, source_of
from perflint.context import Context
from perflint.findings import Edit, Fix, Level
from perflint.index.kinds import Kind
from perflint.index.scopes import FUNCTIONS, Loop, Scope
from perflint.index.tree import walk

_TITLE = "keep the sum on the device and read it once after the loop"
_LIST_TITLE = "keep the tensors and read them once after the loop"
_DISPLAY_TITLE = "keep the tensor on the device, and read it only when you log"
_SHAPE_REASON = (
    "a loss of shape [1] (Paddle before 2.5, or reduction='none') cannot be read back with float() everywhere"
)
_COUNT_REASON = "a whole number, such as a count, comes back as a float"
_NUMPY_REASON = "the value becomes a Python float where it was a NumPy array"
_FACTOR_REASON = "the factor must be a plain number, and its type is not known"


_OPERATORS = {"DivideAssign": "/", "MultiplyAssign": "*", "SubtractAssign": "-"}


@dataclass(frozen=True)
class _Read:
    """The read as the statement holds it: ``node`` is what the fix replaces, ``tensor`` what it reads."""

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    spelling: str


def fix(call: cst.Call, tensor: cst.BaseExpression, context: Context) -> Fix:
    """The best repair that is known for the place of a read."""
    read = _whole_read(call, tensor, context)
    loop = context.point.loop if context.point else None
    if loop is not None and read is not None and context.may_look_around():
        repaired = _sum(read, loop, context) or _list(read, loop, context)
        if repaired is not None:
            return repaired
    return _display(call, tensor, context)


def _display(call: cst.Call, tensor: cst.BaseExpression, context: Context) -> Fix:
    kept = f"{source_of(on_device(tensor), context)}.detach()"
    edit = Edit(*context.range(call), kept)
    return Fix(
        _DISPLAY_TITLE, (edit,), Level.DISPLAY, "what uses the value must be able to hold a tensor, or run less often"
    )


def _whole_read(call: cst.Call, tensor: cst.BaseExpression, context: Context) -> _Read | None:
    """The call, with the ``[0]`` or ``float()`` around it that belong to the same read."""
    spelling = call.func.attr.value if isinstance(call.func, cst.Attribute) else context.text(call.func)
    node: cst.BaseExpression = call
    for parent in reversed(context.parents):
        if isinstance(parent, cst.Subscript) and parent.value is node and context.text(parent).endswith("[0]"):
            node, spelling = parent, "numpy"
        elif isinstance(parent, cst.Arg):
            continue
        elif isinstance(parent, cst.Call) and context.text(parent.func) == "float" and len(parent.args) == 1:
            if parent.args[0].value is not node:
                break
            node = parent
        else:
            break
    return _Read(node, on_device(tensor), spelling)


def _sum(read: _Read, loop: Loop, context: Context) -> Fix | None:
    """``total += loss.item()``."""
    statement = context.statement
    if not isinstance(statement, cst.AugAssign) or not isinstance(statement.operator, cst.AddAssign):
        return None
    if not isinstance(statement.target, cst.Name):
        return None
    factors = _factors(statement.value, read.node)
    if factors is None or read.spelling not in ("item", "float", "numpy"):
        return None
    name = statement.target.value
    point = context.point
    assert point is not None
    uses = _uses(name, point.scope, loop, context)
    if uses is None or not _starts_as_number(name, point.scope):
        return None
    if any(use.each_step for use in uses):
        return None
    level, reason = _trust(read, context)
    if level is Level.SAFE and not all(_is_plain_number(factor, point.scope, context) for factor in factors):
        level, reason = Level.UNSAFE, _FACTOR_REASON
    kept = f'{source_of(read.tensor, context)}.detach().astype("float64")'
    edits = [
        Edit(*context.range(read.node), kept),
        *(edit for use in uses for edit in _read_edits(use, name, context)),
        insert_row_after_loop(context.file.source, loop, f"{name} = float({name})"),
    ]
    return Fix(_TITLE, tuple(sorted(edits)), level, reason)


def _list(read: _Read, loop: Loop, context: Context) -> Fix | None:
    """``losses.append(loss.item())``."""
    statement = context.statement
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "append":
        return None
    if not isinstance(call.func.value, cst.Name) or len(call.args) != 1 or call.args[0].value is not read.node:
        return None
    name = call.func.value.value
    point = context.point
    assert point is not None
    if not _starts_as_list(name, point.scope) or read.spelling not in ("item", "float", "numpy"):
        return None
    uses = _uses(name, point.scope, loop, context, but=call.func.value)
    if uses is None or uses:
        return None
    level, reason = _trust(read, context)
    edits = (
        Edit(*context.range(read.node), f"{source_of(read.tensor, context)}.detach()"),
        insert_row_after_loop(context.file.source, loop, f"{name}[:] = [float(x) for x in {name}]"),
    )
    return Fix(_LIST_TITLE, tuple(sorted(edits)), level, reason)


def _trust(read: _Read, context: Context) -> tuple[Level, str]:
    kind: Kind = context.kind(read.tensor)
    if read.spelling == "numpy":
        return Level.UNSAFE, _NUMPY_REASON
    if not kind.scalar:
        return Level.UNSAFE, _SHAPE_REASON
    if not kind.floating:
        return Level.UNSAFE, _COUNT_REASON
    return Level.SAFE, ""


def _factors(value: cst.BaseExpression, read: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """What the read is multiplied with or divided by; None when it stands in anything else."""
    if value is read:
        return []
    if not isinstance(value, cst.BinaryOperation):
        return None
    if isinstance(value.operator, cst.Multiply) and _factors(value.right, read) is not None:
        return [value.left, *(_factors(value.right, read) or [])]
    if isinstance(value.operator, (cst.Multiply, cst.Divide)):
        left = _factors(value.left, read)
        return None if left is None else [*left, value.right]
    return None


def _is_plain_number(node: cst.BaseExpression, scope: Scope, context: Context) -> bool:
    expression = context.expression(node)
    return expression is not None and _plain(expression, scope, 0)


def _plain(node: ast.expr, scope: Scope, depth: int) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Name) and depth < 3:
        values = [
            statement.node.value
            for statement in scope.statements
            if isinstance(statement.node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == node.id for target in statement.node.targets)
        ]
        return bool(values) and all(_plain(value, scope, depth + 1) for value in values)
    return False


@dataclass(frozen=True)
class _Use:
    """A place in the loop that reads the sum; ``updated`` is the ``total /= n`` it is the target of."""

    node: cst.Name
    each_step: bool
    updated: cst.AugAssign | None = None


def _uses(name: str, scope: Scope, loop: Loop, context: Context, but: cst.CSTNode | None = None) -> list[_Use] | None:
    """Where the loop reads a name (besides ``but``); None when the fix would not see every use of it."""
    node = _loop_node(loop, context)
    if node is None or _is_shared(name, scope, context) or _is_rebound(name, loop):
        return None
    uses: list[_Use] = []
    for found, parents in _names(node, name, ()):
        parent = parents[-1]
        if found is but or isinstance(parent, cst.AssignTarget) or _is_label(found, parent):
            continue
        if any(isinstance(item, (cst.Lambda, cst.FunctionDef)) or _shows_its_text(item) for item in parents):
            return None
        each_step = _runs_each_step(parents, context)
        if isinstance(parent, cst.AugAssign) and parent.target is found:
            if isinstance(parent.operator, cst.AddAssign):
                continue
            if type(parent.operator).__name__ not in _OPERATORS:
                return None
            uses.append(_Use(found, each_step, parent))
        else:
            uses.append(_Use(found, each_step))
    return uses


def _shows_its_text(node: cst.CSTNode) -> bool:
    """Whether an f-string prints the expression beside its value: ``{total=}``."""
    return isinstance(node, cst.FormattedStringExpression) and node.equal is not None


def _is_label(found: cst.Name, parent: cst.CSTNode) -> bool:
    """Whether a name is a keyword or an attribute that happens to be spelled the same."""
    return (isinstance(parent, cst.Arg) and parent.keyword is found) or (
        isinstance(parent, cst.Attribute) and parent.attr is found
    )


def _runs_each_step(parents: tuple[cst.CSTNode, ...], context: Context) -> bool:
    for parent in reversed(parents):
        if parent is parents[0]:  # the header of the loop: what it runs over is read once, what it tests each time
            return isinstance(parent, cst.While)
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            point = context.points.get(context.range(parent)[0])
            return point is None or point.step is not None
    return True


def _read_edits(use: _Use, name: str, context: Context) -> list[Edit]:
    """Read the sum where it is used: ``float(total)``; ``total /= n`` becomes ``total = float(total) / n``."""
    if use.updated is None:
        return [Edit(*context.range(use.node), f"float({name})")]
    start = context.range(use.node)[0]
    value = use.updated.value
    value_start, value_end = context.range(value)
    head = f"{name} = float({name}) {_OPERATORS[type(use.updated.operator).__name__]} "
    bare = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)) or value.lpar
    if bare:
        return [Edit(start, value_start - sum(len(_code(paren)) for paren in value.lpar), head)]
    return [Edit(start, value_start, head + "("), Edit(value_end, value_end, ")")]


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _names(
    node: cst.CSTNode, name: str, parents: tuple[cst.CSTNode, ...]
) -> Iterator[tuple[cst.Name, tuple[cst.CSTNode, ...]]]:
    if isinstance(node, cst.Name):
        if node.value == name:
            yield node, parents
        return
    for child in node.children:
        yield from _names(child, name, (*parents, node))


def _loop_node(loop: Loop, context: Context) -> cst.CSTNode | None:
    lines = context.file.source.lines
    start = lines.offset(loop.lineno, loop.col_offset)
    for parent in context.parents:
        if isinstance(parent, (cst.For, cst.While)) and context.range(parent)[0] == start:
            return parent
    return None


def _is_shared(name: str, scope: Scope, context: Context) -> bool:
    """Whether another function can see the name: a closure, a global, a nonlocal."""
    module = isinstance(scope.node, ast.Module)
    for other in context.file.scopes.scopes:
        if other is scope:
            continue
        if not module and not _is_within(other, scope):
            continue
        if any(
            isinstance(item, ast.Name) and item.id == name
            for item in walk(other.node)
            if not isinstance(other.node, ast.Module)
        ):
            return True
    declared = (ast.Global, ast.Nonlocal)
    return any(isinstance(item, declared) and name in item.names for item in walk(scope.node))


def _is_within(inner: Scope, outer: Scope) -> bool:
    scope: Scope | None = inner
    while scope is not None:
        if scope is outer:
            return True
        scope = scope.parent
    return False


def _is_rebound(name: str, loop: Loop) -> bool:
    """Whether the loop gives the name another value than a number or the running sum."""
    for item in walk(loop):
        if isinstance(item, FUNCTIONS) and any(isinstance(x, ast.Name) and x.id == name for x in walk(item)):
            return True
        if isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store):
            if not _is_reset(item, loop) and not _is_augmented(item, loop):
                return True
        elif isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Del):
            return True
    return False


def _is_reset(target: ast.Name, loop: Loop) -> bool:
    return any(
        isinstance(item, ast.Assign) and target in item.targets and isinstance(item.value, ast.Constant)
        for item in walk(loop)
    )


def _is_augmented(target: ast.Name, loop: Loop) -> bool:
    return any(isinstance(item, ast.AugAssign) and item.target is target for item in walk(loop))


def _starts_as_number(name: str, scope: Scope) -> bool:
    return any(
        isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) for value in _values(name, scope)
    )


def _starts_as_list(name: str, scope: Scope) -> bool:
    values = list(_values(name, scope))
    return bool(values) and all(isinstance(value, ast.List) and not value.elts for value in values)


def _values(name: str, scope: Scope) -> Iterator[ast.expr]:
    """What a scope assigns to a name, tuple assignments included."""
    for statement in scope.statements:
        node = statement.node
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _matched(node.target, node.value, name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _matched(target, node.value, name)


def _matched(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _matched(part, item, name)
