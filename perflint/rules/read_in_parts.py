"""PPF214: a loop reads a tensor in parts: `x.numpy()[i]`, which is all of it for each, or its items one by one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.evaluations import evaluating, evaluating_loops
from perflint.findings import Confidence, Edit, Fix, Level, Related, in_order
from perflint.flow.calls import CallGraph
from perflint.index.modules import knows_paddle
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import span_of
from perflint.paddle.tensor_methods import ARRAY_METHODS, CONVERSIONS, NUMBER_CONVERSIONS
from perflint.query import query
from perflint.rules.edits import insert_row_above
from perflint.rules.tensor_reads import Evidence
from perflint.syntax.bindings import bound_in
from perflint.syntax.names import dotted_names, plain_names
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import COMPREHENSIONS, Loop
from perflint.syntax.tree import base_of, walk
from perflint.trace.lengths import passes
from perflint.training.outcomes import filters_select_one, repeating_loops

RULE = shipped()["PPF214"]
_READ = re.compile(rf"\b(?:{'|'.join(sorted(ARRAY_METHODS))})\s*\(\s*\)\s*\[")
_FEW = 3
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
        if over is not None and (passes(over, context.place) or _FEW + 1) <= _FEW:
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


# PPF214 where an evaluation reads the items of a tensor one by one: `int(x[i])`, `for token in tokens: int(token)`.


class _Items(NamedTuple):
    """A read of one item after the other: the tensor, and the loop or comprehension that goes through it.

    ``helper``: the function that does so for an argument, with the row there.
    """

    tensor: ast.expr
    loop: ast.AST
    over: ast.expr
    helper: tuple[Place, int] | None = None


def _items_of(file: FileIndex) -> Iterator[Candidate]:
    if file.is_offline or not file.has_words("for") or not knows_paddle(file):
        return
    for scope in evaluating(file):
        at, told = Place(file, scope), set[str]()
        for loop in evaluating_loops(at):
            for statement in scope.statements_in(loop):
                inner = [link.node for link in statement.around if link.branch == "body" and link.node is not loop]
                loops: list[ast.AST] = [node for node in inner if isinstance(node, (ast.For, ast.AsyncFor))]
                for call in statement.calls:
                    within = [
                        node for node in statement.nodes if isinstance(node, COMPREHENSIONS) and call in walk(node)
                    ]
                    found = _items_read(call, [*within, *loops], file) or _in_helper(call, at)
                    if found is not None and (said := ast.unparse(found.tensor)) not in told:
                        told.add(said)
                        yield Candidate(call, statement.node, found, Confidence.HIGH)


def _items_read(call: ast.Call, loops: list[ast.AST], file: FileIndex) -> _Items | None:
    """What a call turns into numbers item by item, in the innermost of some loops that goes through it."""
    read = _number_of(call, file)
    for loop in loops if read is not None else ():
        for target, over in _headers(loop):
            tensor = _base(read, target, over) if read is not None else None
            if tensor is not None:
                return _Items(tensor, loop, over)
    return None


def _number_of(call: ast.Call, file: FileIndex) -> ast.expr | None:
    """The name, or the item of one, that a call turns into a number: ``x[i]`` of ``x[i].item()`` and ``int(x[i])``."""
    read: ast.expr | None = None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "item" and not (call.args or call.keywords):
        read = call.func.value
    elif isinstance(call.func, ast.Name) and call.func.id in NUMBER_CONVERSIONS and len(call.args) == 1:
        read = call.args[0] if not file.names.is_bound(call.func.id) else None
    if isinstance(read, ast.Subscript):
        return read if isinstance(read.value, ast.Name) and isinstance(read.slice, ast.Name) else None
    return read if isinstance(read, ast.Name) else None


def _headers(loop: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a loop or a comprehension, each with what it goes over."""
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        yield loop.target, loop.iter
    for each in reversed(getattr(loop, "generators", ())):
        yield each.target, each.iter


def _base(item: ast.expr, target: ast.expr, over: ast.expr) -> ast.expr | None:
    """What a loop takes the items of, if an expression is one of them: ``x`` for ``x[i]``, and for ``t`` in ``x``."""
    names = plain_names(target)
    if isinstance(item, ast.Subscript):
        is_moving = not dotted_names(item.slice).isdisjoint(names) and dotted_names(item.value).isdisjoint(names)
        return item.value if is_moving else None
    is_whole = isinstance(target, ast.Name) and isinstance(item, ast.Name) and target.id == item.id
    return over if is_whole and isinstance(over, (ast.Name, ast.Subscript)) else None


def _in_helper(call: ast.Call, at: Place) -> _Items | None:
    """A function of the project that goes through an argument item by item: ``to_string(tokens, vocabulary)``."""
    targets = CallGraph.of(at.file.project).callees(at, call) if call.args else []
    for target in targets[:1] if targets and targets[0].sure else ():
        for parameter, (row, loop) in _read_by(target.place).items():
            given = argument_for(target.scope, call, parameter)
            if given is not None:
                return _Items(given, loop, given, (target.place, row))
    return None


@query
def _read_by(at: Place) -> dict[str, tuple[int, ast.AST]]:
    """The parameters that a function goes through, and turns each item of into a number, with the row of a read."""
    found: dict[str, tuple[int, ast.AST]] = {}
    for statement in at.scope.statements:
        for node in statement.nodes:
            if isinstance(node, COMPREHENSIONS):
                for call in (each for each in walk(node) if isinstance(each, ast.Call)):
                    read = _items_read(call, [node], at.file)
                    if read is not None and isinstance(read.tensor, ast.Name) and read.tensor.id in at.scope.parameters:
                        found.setdefault(read.tensor.id, (call.lineno, node))
    return found


@rule(RULE.code, at=At.ANYWHERE, find=_items_of, claims=False)
def item_read(read: _Items, context: Context) -> None:
    """Report numbers that an evaluation reads from a tensor one after the other."""
    evidence = Evidence(context.here)
    if context.hot is not None or not evidence.is_one_tensor(read.tensor):
        return
    if (passes(read.over, context.place) or _FEW + 1) <= _FEW:
        return
    fix, tensor = RULE.words("items"), ast.unparse(read.tensor)
    if read.helper is None:
        context.report(fix, message=RULE.texts["items"], base=tensor, costs_on_cpu=True)
        return
    at, row = read.helper
    related = (Related(at.file.path, row, "the read of each item"),)
    place = context.where(at.file.path, row)
    context.report(fix, related=related, message=RULE.texts["items there"], base=tensor, place=place, costs_on_cpu=True)
