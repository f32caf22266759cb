"""PPF214: a loop reads all of a tensor for each part of it: `x.numpy()[i]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.findings import Confidence, Edit, Fix, Level, in_order
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import span_of
from perflint.paddle.tensor_methods import ARRAY_METHODS, CONVERSIONS
from perflint.rules.edits import insert_row_above
from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted_names, plain_names
from perflint.syntax.scopes import COMPREHENSIONS, Loop
from perflint.syntax.tree import base_of, walk
from perflint.trace.lengths import passes
from perflint.training.outcomes import filters_select_one, repeating_loops

RULE = shipped()["PPF214"]
_READ = re.compile(rf"\b(?:{'|'.join(sorted(ARRAY_METHODS))})\s*\(\s*\)\s*\[")
FEW = 3
"""A loop over so few parts or items is not worth an edit."""
_MAKES_NEW = CONVERSIONS | {"str", "list", "tuple", "set", "sum", "max", "min", "sorted"}


class _Whole(NamedTuple):
    """A read of a whole tensor (``call``), of which ``part`` is used."""

    call: ast.Call
    part: ast.Subscript

    @property
    def tensor(self) -> ast.expr:
        """What is read."""
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.value


class _Repeating(NamedTuple):
    """A loop or a comprehension that repeats a read of the same tensor, and the statement to read it before."""

    node: Loop | ast.expr
    before: ast.stmt


def _reading(file: FileIndex) -> Iterator[Candidate]:
    if file.is_offline or file.is_foreign or not file.has_words("for", "while") or not file.matches(_READ):
        return
    for _, statement in file.statements_at(_READ):
        for part in statement.nodes:
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load) and _is_whole(part.value):
                assert isinstance(part.value, ast.Call)
                if dotted_names(part.slice) and knows_paddle(file):
                    yield Candidate(part.value, statement.node, _Whole(part.value, part))


def _is_whole(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or node.args or node.keywords or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ARRAY_METHODS and _is_local(node.func.value)


def _is_local(tensor: ast.expr) -> bool:
    """Whether a tensor is a name of the function, an item of it, or what one of its methods gives: not an attribute.

    What a loop calls may give an object another attribute, and a backward pass changes gradients.
    """
    while isinstance(tensor, (ast.Subscript, ast.Call)):
        if isinstance(tensor, ast.Call):
            if not isinstance(tensor.func, ast.Attribute):
                return False
            tensor = tensor.func
        tensor = tensor.value
    return isinstance(tensor, ast.Name)


@rule(RULE.code, at=At.ANYWHERE, find=_reading)
def whole_read(read: _Whole, context: Context) -> None:
    """Report the read of a whole tensor in a loop that uses another part of it in each iteration."""
    kind = context.kind(read.tensor)
    is_certain = kind.is_tensor and not kind.guess
    is_named = isinstance(read.call.func, ast.Attribute) and read.call.func.attr == "numpy"
    if kind.is_host or not (is_certain or is_named) or context.is_within(ast.IfExp):
        return
    found = _repeating(read, context)
    reads = _together(read, found) if found is not None else []
    if found is None or reads[0] is not read.call:
        return
    tensors = dict.fromkeys(ast.unparse(each.func.value) for each in reads if isinstance(each.func, ast.Attribute))
    context.report(
        _fix(read, found, reads, context),
        step=context.step,
        confidence=Confidence.HIGH if is_certain else Confidence.MEDIUM,
        costs_on_cpu=True,
        where=f"each iteration of the loop at line {_row(found, context)}",
        base=ast.unparse(read.tensor),
        more=f" (and {len(tensors) - 1} more)" if len(tensors) > 1 else "",
    )


def _row(found: _Repeating, context: Context) -> int:
    return context.rows(found.node)[0] if isinstance(found.node, ast.expr) else found.node.lineno


def _repeating(read: _Whole, context: Context) -> _Repeating | None:
    """The outermost loop around a read that repeats it for another part of the same tensor."""
    names, index = dotted_names(read.tensor), dotted_names(read.part.slice)
    best: _Repeating | None = None
    for node, bound, before in _loops(read.call, context):
        if _changes(names, bound):
            break
        if best is None and not index & bound:
            continue  # it repeats the same part: another loop around may use others
        over = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else None
        if over is not None and (passes(over, context.place) or FEW + 1) <= FEW:
            continue
        if not isinstance(node, ast.expr) and _is_written(names, node):
            break
        best = _Repeating(node, before)
    return best


def _loops(node: ast.AST, context: Context) -> Iterator[tuple[Loop | ast.expr, set[str], ast.stmt]]:
    """The comprehensions and loops around a node, from the inside out, with what they bind and where they begin."""
    statement = context.here.statement
    for parent, inner in context.around(node):
        if isinstance(parent, (ast.stmt, ast.Lambda)):
            break
        if isinstance(parent, COMPREHENSIONS) and not (
            isinstance(inner, ast.comprehension) or any(map(filters_select_one, parent.generators))
        ):
            yield parent, _targets(parent), statement.node
    for loop in repeating_loops(statement.place):
        yield loop, bound_in([loop]), loop


def _targets(node: ast.expr) -> set[str]:
    return {name for each in getattr(node, "generators", ()) for name in plain_names(each.target)}


def _changes(names: set[str], bound: set[str]) -> bool:
    """Whether a loop binds a name, or an attribute of it."""
    return any(one == other or one.startswith(f"{other}.") for one in names for other in bound)


def _is_written(names: set[str], loop: Loop) -> bool:
    """Whether a loop changes a tensor in place: ``x[i] = 0``, ``x.add_(1)``, ``x.set_value(y)``."""
    for node in walk(loop):
        target: ast.expr | None = None
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            target = base_of(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            last = node.func.attr
            target = node.func.value if last.endswith("_") or last in ("set_value", "fill", "copy_") else None
        if target is not None and names & dotted_names(target):
            return True
    return False


def _together(read: _Whole, found: _Repeating) -> list[ast.Call]:
    """All reads of whole tensors that a loop repeats, in the order of the text: one finding is about all of them."""
    node = found.node
    bound = bound_in([node]) if isinstance(node, ast.stmt) else _targets(node)
    calls = [read.call]
    for part in walk(node):
        if isinstance(part, ast.Subscript) and part.value is not read.call and _is_whole(part.value):
            names = dotted_names(part.value)
            is_written = not isinstance(node, ast.expr) and _is_written(names, node)
            if dotted_names(part.slice) & bound and not _changes(names, bound) and not is_written:
                assert isinstance(part.value, ast.Call)
                calls.append(part.value)
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _fix(read: _Whole, found: _Repeating, reads: list[ast.Call], context: Context) -> Fix:
    source, names = context.file.source, dict[str, str]()
    for call in reads:
        names.setdefault(ast.unparse(call), f"{_root(call)}_values")
    title = RULE.words("before").message
    is_taken = any(name in context.file.identifiers for name in names.values())
    if is_taken or len(set(names.values())) < len(names) or not _may_read_before(reads, found, context):
        return Fix(title, (), Level.DISPLAY, RULE.words("before").reason)
    edits = [insert_row_above(source, found.before, f"{name} = {text}") for text, name in names.items()]
    edits += (Edit(*span_of(call, source), names[ast.unparse(call)]) for call in reads)
    is_sure = len(names) == 1 and context.is_surely_tensor(read.tensor)
    reasons = [] if is_sure else [RULE.texts["type"].format(base=_root(read.call))]
    if not _is_copied(read, context) or len(reads) > 1:
        reasons.append(RULE.texts["shared"])
    return Fix(title, in_order(edits), Level.UNSAFE if reasons else Level.SAFE, "; ".join(reasons))


def _root(call: ast.Call) -> str:
    """The name of what is read: ``logits`` of ``logits[0].squeeze().numpy()``."""
    node: ast.expr = call
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    assert isinstance(node, ast.Name)
    return node.id


def _may_read_before(reads: list[ast.Call], found: _Repeating, context: Context) -> bool:
    """Whether the reads may move above the loop: each is on one row, and a statement may be put there."""
    own_row = context.file.source.lines.line(found.before.lineno).strip()
    is_short = all(call.lineno == call.end_lineno for call in reads)
    return is_short and not own_row.startswith(("elif", "else", "while"))


def _is_copied(read: _Whole, context: Context) -> bool:
    """Whether a new value is made of the part at once, so that nobody can change the array through it."""
    outer: Sequence[ast.AST] = [parent for parent, _ in context.around(read.part)]
    node = next((each for each in outer if not isinstance(each, ast.Subscript)), None)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _MAKES_NEW
    return isinstance(node, (ast.Compare, ast.BinOp, ast.FormattedValue))
