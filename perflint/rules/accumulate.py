"""The fix for a host read that feeds a sum or a list: keep the value on the device until it is needed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts import accumulators
from perflint.facts.accumulators import Accumulator, is_part_of
from perflint.findings import Edit, Fix, Level
from perflint.flow.surely import Surely
from perflint.flow.uses import ScopeUses, uses_in
from perflint.index.kinds import Kind
from perflint.lint.context import Context
from perflint.rules.edits import call_in, insert_row_after_loop, on_device, source_of
from perflint.syntax.bindings import Mention, values_bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Loop, Statement
from perflint.training.steps import Point, points_of

# Finds the places that read a sum while it is a tensor, and the edits that turn it into a number there.

_OPERATORS = {ast.Div: "/", ast.Mult: "*", ast.Sub: "-"}


@dataclass(frozen=True)
class SumLook:
    """A place that reads the sum before it is a number again.

    Attributes:
        node: the name.
        statement: its statement.
        each_step: whether it runs at each step.
        updated: the ``total /= n`` that it is the target of.
    """

    node: ast.Name
    statement: Statement
    each_step: bool
    updated: ast.AugAssign | None = None


def later_reads(held: Accumulator, loop: Loop, last: ast.stmt, context: Context) -> list[SumLook] | None:
    """The places in a loop, and in the ``try`` or ``with`` around it, that read a sum.

    Args:
        last: the statement after which the sum is a number again: the loop, or one around it.

    Returns:
        None if a place cannot be edited so that it reads the same number.
    """
    found: list[SumLook] = []
    for use in held.uses:
        name, parent, statement = use.node, use.parent, use.statement
        if not is_part_of(statement, last) or (last is not loop and statement.start < (loop.lineno, loop.col_offset)):
            continue  # in the ``try`` around a loop, before it, the sum is still a number
        updated = parent if isinstance(parent, ast.AugAssign) and parent.target is name else None
        if isinstance(parent, (ast.Assign, ast.AnnAssign)) and not use.is_read:
            continue
        if updated is not None and isinstance(updated.op, ast.Add):
            continue
        is_known = type(updated.op) in _OPERATORS if updated is not None else use.is_read
        if not isinstance(name, ast.Name) or not is_known or _shows_its_text(name, statement, context):
            return None
        each_step = held.is_in_loop(statement) and _runs_each_step(statement, loop, context)
        found.append(SumLook(name, statement, each_step, updated))
    return found


def reading(look: SumLook, context: Context) -> list[Edit]:
    """Edits that read the sum as a number: ``float(total)``; ``total /= n`` becomes ``total = float(total) / n``."""
    name, span = look.node.id, context.code(look.statement.node).span
    start, end = span(look.node)
    if look.updated is None:
        return [Edit(start, end, f"float({name})")]
    value = look.updated.value
    value_start, value_end = span(value)
    head = f"{name} = float({name}) {_OPERATORS[type(look.updated.op)]} "
    bracket = context.file.source.text.find("(", end, value_start)
    is_number = isinstance(value, ast.Constant) and not isinstance(value.value, (str, bytes, complex))
    if bracket >= 0 or is_number or isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return [Edit(start, bracket if bracket >= 0 else value_start, head)]
    return [Edit(start, value_start, head + "("), Edit(value_end, value_end, ")")]


def always_follows(statement: Statement, earlier: Statement) -> bool:
    """Whether a statement never runs before another one of the same iteration of a loop has run."""
    return earlier.start < statement.start and set(earlier.branches).issubset(statement.branches)


def _shows_its_text(name: ast.Name, statement: Statement, context: Context) -> bool:
    """Whether an f-string prints the expression itself before its value: ``{total=}``."""
    code = context.code(statement.node)
    return any(
        isinstance(outer, ast.JoinedStr) and any(part.equal is not None for part in code.parts_of(outer))
        for outer, _ in code.around(name)
    )


def _runs_each_step(statement: Statement, loop: Loop, context: Context) -> bool:
    if statement.node is loop:  # its iterable is read once, its test each time
        return isinstance(loop, ast.While)
    point = points_of(context.file).get(statement.node)
    return point is None or point.step is not None


# The fix for a host read that feeds a sum or a list: keep the value on the device, read it once after the loop.

_ARRAYS = ("numpy", "[0]")
"""Reads that return a NumPy array, or its first element."""

_BUILTINS = ("float", "int", "isinstance")
_LOOK_ONLY = frozenset({"len", "sum", "print", "min", "max", "sorted", "list", "tuple", "bool", "str"})
_LOOK_LATER = frozenset({"enumerate", "zip", "reversed", "iter", "map", "filter"})
"""Calls whose result reads the list only when it is iterated over."""

RULE = shipped()["PPF201"]
_Trust = tuple[Level, str]
_SAFE: _Trust = (Level.SAFE, "")


@dataclass(frozen=True)
class _Read:
    """A read in its statement: ``node`` is what the fix replaces, ``tensor`` what it reads."""

    node: ast.expr
    tensor: ast.expr
    spelling: str


@dataclass(frozen=True)
class KeptSum:
    """The fix of a read.

    ``logs`` is where the log statements begin that read the sum at each step: as long as they do, nothing is gained.
    """

    fix: Fix
    logs: tuple[int, ...] = ()


def fix(call: ast.Call, tensor: ast.expr, context: Context) -> KeptSum | None:
    """The fix of a read that feeds a sum or a list of its function; None if it does not, or if others may see that."""
    read = _whole_read(call, tensor, context)
    point = context.point
    if point is None or point.loop is None or read.spelling not in ("item", "float", *_ARRAYS):
        return None
    if not context.may_look_around() or (read.spelling == "numpy" and not context.kind(read.tensor).scalar):
        return None  # (`out[i].numpy()` is a row, and a row is not a number)
    scope = uses_in(point.function)
    if any(scope.binds(name) or context.file.names.is_bound(name) for name in _BUILTINS):
        return None
    return _sum(read, point, point.loop, scope, context) or _list(read, point, point.loop, scope, context)


def _whole_read(call: ast.Call, tensor: ast.expr, context: Context) -> _Read:
    """The call, with the ``[0]`` or ``float()`` around it that belong to the same read."""
    spelling = call.func.attr if isinstance(call.func, ast.Attribute) else context.text(call.func)
    node: ast.expr = call
    for parent, _ in context.around(call):
        if isinstance(parent, ast.Subscript) and parent.value is node and context.text(parent).endswith("[0]"):
            node, spelling = parent, "[0]"
        elif isinstance(parent, ast.Call) and dotted(parent.func) == "float" and arguments_of(parent) == [node]:
            node = parent
        else:
            break
    return _Read(node, on_device(tensor), spelling)


# -- sums ------------------------------------------------------------------------------------------------------------


def _sum(read: _Read, point: Point, loop: Loop, scope: ScopeUses, context: Context) -> KeptSum | None:
    """``total += loss.item()``."""
    added = _added(context.statement, read)
    if added is None:
        return None
    held, factors = Accumulator(added[0], loop, scope), added[1]
    ending = None if held.is_hidden else held.ending
    starts = _numbers(held, context)
    if ending is None or starts is None or (read.spelling in _ARRAYS and _is_indexed(held)):
        return None
    looks = later_reads(held, loop, ending.last, context)
    logs = _logs(looks or [], context)
    if looks is None or logs is None:
        return None
    whole = any(isinstance(start, int) for start in starts)
    plain = all(_is_number(factor, context) for factor in factors)
    trust = _least(
        _trust(read, context),
        _unless(plain and _adds_numbers(held, point, context), "factor"),
        _unless(not held.is_seen_elsewhere, "sum seen"),
        _unless(not ending.after_errors, "after an error"),
        _unless(not whole or _follow_a_sum(looks, held, point), "whole number"),
    )
    kept = f'{source_of(read.tensor, context)}.detach().astype("float64")'
    changed = [
        *context.instead(read.node, kept),
        *(edit for look in looks for edit in reading(look, context)),
    ]
    if ending.is_read:
        row = f"{held.name} = {_as_number(held, whole)}"
        changed.append(insert_row_after_loop(context.file.source, ending.last, row))
    return KeptSum(Fix(RULE.fixes["sum kept"].message, tuple(sorted(changed)), *trust), logs)


def _added(statement: ast.stmt | None, read: _Read) -> tuple[str, list[ast.expr]] | None:
    """The name that a statement adds a read to, and the factors of the read."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
        return None
    factors = _factors(statement.value, read.node)
    return (statement.target.id, factors) if isinstance(statement.target, ast.Name) and factors is not None else None


def _logs(looks: list[SumLook], context: Context) -> tuple[int, ...] | None:
    """Where the statements begin that read a sum at each step; None if one is not just a call, so not a log."""
    found = []
    for look in looks:
        if not look.each_step:
            continue
        node = look.statement.node
        if call_in(node) is None:
            return None
        found.append(context.file.source.lines.offset(node.lineno, node.col_offset))
    return tuple(dict.fromkeys(found))


def _as_number(held: Accumulator, whole: bool) -> str:
    """The sum as a number: a loop without a step leaves the initial 0, also where that is printed."""
    outside = [use for use in held.uses if isinstance(use.node.ctx, ast.Load) and not held.is_in_loop(use.statement)]
    if whole and not all(map(_is_same_for_any_number, outside)):
        return f"{held.name} if isinstance({held.name}, int) else float({held.name})"
    return f"float({held.name})"


def _is_same_for_any_number(use: Mention) -> bool:
    """Whether 0 and 0.0 give the same result there: in a division, and in ``{total:.3f}``."""
    if isinstance(use.parent, ast.BinOp):
        return isinstance(use.parent.op, ast.Div)
    if not isinstance(use.parent, ast.FormattedValue) or use.parent.format_spec is None:
        return False
    return ast.unparse(use.parent.format_spec).rstrip("'\"").endswith(("f", "e", "g", "%"))


def _factors(value: ast.expr, read: ast.expr) -> list[ast.expr] | None:
    """What the read is multiplied with or divided by; None if it is in any other expression."""
    if value is read:
        return []
    if not isinstance(value, ast.BinOp):
        return None
    if isinstance(value.op, ast.Mult) and _factors(value.right, read) is not None:
        return [value.left, *(_factors(value.right, read) or [])]
    if isinstance(value.op, (ast.Mult, ast.Div)):
        left = _factors(value.left, read)
        return None if left is None else [*left, value.right]
    return None


def _numbers(held: Accumulator, context: Context) -> list[int | float] | None:
    """The numbers that the sum starts or restarts with; None if it may be something else."""
    if held.entering is None:
        return None
    found = [_numbers_bound(statement, held, held.entering, context) for statement in held.bindings]
    return None if None in found else [number for numbers in found for number in numbers or ()]


def _numbers_bound(
    statement: Statement, held: Accumulator, entering: list[Statement], context: Context
) -> list[int | float] | None:
    """The numbers that one statement binds the sum to; None if it may bind it to something else."""
    node, is_outside, is_last = statement.node, not held.is_in_loop(statement), _is_in_last(statement, held)
    if isinstance(node, ast.AugAssign):
        reaches = statement in entering or (isinstance(node.op, ast.Add) and is_last)
        return None if is_outside and reaches and not _is_number(node.value, context) else []
    values = _given(node, held)
    numbers = [number for number in map(_number, values) if number is not None]
    if values and len(numbers) == len(values):
        return numbers
    comes_after_the_fix = is_outside and statement not in entering and not is_last
    return [] if comes_after_the_fix else None


def _is_number(value: ast.expr | None, context: Context) -> bool:
    """Whether a value of a statement of the function is a plain number, or a read, which may become a tensor."""
    return value is not None and Surely.of(context.file.project).is_number(value, context.here.function)


def _is_in_last(statement: Statement, held: Accumulator) -> bool:
    ending = held.ending
    return ending is not None and is_part_of(statement, ending.last)


def _given(node: ast.stmt, held: Accumulator) -> list[ast.expr | None]:
    """What a statement binds the name to."""
    return [value for name, value in values_bound_by(node) if name == held.name]


def _number(value: ast.expr | None) -> int | float | None:
    literal = value.value if isinstance(value, ast.Constant) else None
    return literal if isinstance(literal, (int, float)) else None


def _is_indexed(held: Accumulator) -> bool:
    """Whether anything uses the sum as an array: ``total[0]``, ``total.mean()``, ``len(total)``."""
    return any(
        isinstance(use.parent, (ast.Subscript, ast.Attribute, ast.Starred, ast.For, ast.comprehension))
        or (isinstance(use.parent, ast.Call) and dotted(use.parent.func) in ("len", "list", "enumerate", "zip"))
        for use in held.uses
    )


def _adds_numbers(held: Accumulator, point: Point, context: Context) -> bool:
    """Whether everything else that the loop adds are numbers, or reads that become tensors themselves."""
    added = [
        item.node.value
        for item in held.bindings
        if isinstance(item.node, ast.AugAssign)
        and isinstance(item.node.op, ast.Add)
        and item is not point.statement
        and held.is_in_loop(item)
    ]
    return all(_is_number(value, context) for value in added)


def _follow_a_sum(looks: list[SumLook], held: Accumulator, point: Point) -> bool:
    """Whether each place in the loop that reads the sum follows the addition of its step, so that it is a float."""
    adding = point.statement
    resets = [item for item in held.bindings if not isinstance(item.node, (ast.AugAssign, ast.Delete))]
    for look in looks:
        if not always_follows(look.statement, adding):
            return False
        if any(adding.start < reset.start < look.statement.start for reset in resets):
            return False
    return True


# -- lists -----------------------------------------------------------------------------------------------------------


def _list(read: _Read, point: Point, loop: Loop, scope: ScopeUses, context: Context) -> KeptSum | None:
    """``losses.append(loss.item())``."""
    name = _appended_to(context.statement, read)
    if name is None:
        return None
    held = Accumulator(name, loop, scope)
    if held.is_hidden or not _is_an_empty_list(held):
        return None
    others = [use for use in held.uses if use.statement is not point.statement and isinstance(use.node.ctx, ast.Load)]
    before = [use for use in others if held.comes_before(use.statement)]
    if any(held.is_in_loop(use.statement) for use in others) or any(map(_puts_in, before)):
        return None
    ending = held.ending
    trust = _least(
        _trust(read, context),
        _unless(not held.has_other_names and all(map(_only_looks, before)), "list seen"),
        _unless(not held.is_seen_elsewhere, "list seen"),
        _unless(ending is not None and ending.last is loop, "left early"),
        _unless(not isinstance(loop, ast.While), "memory"),
    )
    copied = _may_change(read, loop, scope, context)
    kept = f"{source_of(read.tensor, context)}.detach(){'.clone()' if copied else ''}"
    changed = (
        *context.instead(read.node, kept),
        insert_row_after_loop(context.file.source, loop, f"{held.name}[:] = [float(x) for x in {held.name}]"),
    )
    return KeptSum(Fix(RULE.fixes["list kept"].message, tuple(sorted(changed)), *trust))


def _appended_to(statement: ast.stmt | None, read: _Read) -> str | None:
    """The name of the list that a statement appends a read to, and nothing else."""
    call = call_in(statement)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
        return None
    is_read = arguments_of(call) == [read.node]
    return call.func.value.id if isinstance(call.func.value, ast.Name) and is_read else None


def _may_change(read: _Read, loop: Loop, scope: ScopeUses, context: Context) -> bool:
    """Whether the memory of the read tensor may be written to before the end of the loop."""
    tensor = read.tensor
    key = (accumulators.may_change, tensor.id, loop) if isinstance(tensor, ast.Name) else tensor
    return context.once(key, lambda: accumulators.may_change(tensor, loop, scope))


def _is_an_empty_list(held: Accumulator) -> bool:
    values = [_given(statement.node, held) for statement in held.bindings]
    return held.entering is not None and all(
        bool(made) and all(isinstance(value, ast.List) and not value.elts for value in made) for made in values
    )


def _puts_in(use: Mention) -> bool:
    """Whether a use may put something other than a number into the list."""
    return isinstance(use.parent, ast.Attribute) or (
        isinstance(use.parent, ast.Subscript) and not isinstance(use.parent.ctx, ast.Load)
    )


def _only_looks(use: Mention) -> bool:
    """Whether a use does not keep the list: ``sum(losses)``, ``np.mean(losses)``, ``losses[-1]``."""
    if isinstance(use.parent, ast.Call):
        name = dotted(use.parent.func) or ""
        if name in _LOOK_LATER:
            return isinstance(use.parents[-2], ast.For)
        return name in _LOOK_ONLY or name.startswith(("np.", "numpy.", "math.", "statistics."))
    return isinstance(use.parent, (ast.Subscript, ast.Compare, ast.BinOp, ast.FormattedValue, ast.If, ast.For))


# -- trust -----------------------------------------------------------------------------------------------------------


def _trust(read: _Read, context: Context) -> _Trust:
    kind: Kind = context.kind(read.tensor)
    if read.spelling in _ARRAYS:
        return _unsafe("array") if kind.scalar else _unsafe("array", "shape")
    if not context.is_surely_tensor(read.tensor):
        return _unsafe("tensor") if read.spelling == "float" else _unsafe("tensor", "shape")
    if read.spelling == "float":
        return _SAFE  # it needs of the tensor what the `float()` after the loop needs
    if not kind.scalar:
        return _unsafe("shape")
    return _SAFE if kind.floating else _unsafe("count")


def _unsafe(*reasons: str) -> _Trust:
    return Level.UNSAFE, "; ".join(RULE.texts[reason] for reason in reasons)


def _unless(fine: bool, reason: str) -> _Trust:
    return _SAFE if fine else _unsafe(reason)


def _least(*parts: _Trust) -> _Trust:
    """The lowest of some levels, with all reasons against a higher one."""
    level = min(level for level, _ in parts)
    return level, "; ".join(dict.fromkeys(reason for _, reason in parts if reason))
