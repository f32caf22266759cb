"""PPF503, PPF504 and PPF505: loops over the parameters that the optimizer or one call could do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from perflint.catalogue import shipped
from perflint.facts.gradient_graphs import NoGrad, feeding_backward, uncut
from perflint.findings import Confidence
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, AtPoint, rule
from perflint.paddle.tensor_methods import ARRAY_FUNCTIONS, READ_METHODS
from perflint.query import query
from perflint.rules.edits import call_in
from perflint.syntax.bindings import bound_by, definitions_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, arguments_of
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import alike, calls_in, is_literal, walk
from perflint.syntax.vocabulary import means_parameters
from perflint.training.steps import Point, of_point

# Finds loops over the parameters of a network that clip their gradients, or add up a penalty on them, in Python.

_GRADIENTS = frozenset({"grad", "_grad_ivar"})
_IN_PLACE = frozenset({"scale_", "multiply_", "mul_", "clip_", "set_value", "copy_", "assign"})
_NORMS = frozenset({"norm", "p_norm", "sqrt", "rsqrt", "_squared_l2_norm", "squared_l2_norm"})
_SQUARES = frozenset({"square", "_squared_l2_norm", "squared_l2_norm"})
_LISTS = frozenset({"parameters", "named_parameters", "state_dict"})


class Clip(Enum):
    """A way of clipping gradients, with the class of Paddle that does so in the optimizer."""

    NORM = "ClipGradByGlobalNorm"
    VALUE = "ClipGradByValue"


class Penalty(Enum):
    """A penalty that a loss adds for each weight, with the parameter of an optimizer that has the same gradient."""

    SQUARES = "weight_decay=c"
    SIZES = "weight_decay=paddle.regularizer.L1Decay(c)"


@query
def _clips(at: Place) -> dict[ast.stmt, Clip]:
    """The loops of a function that clip gradients."""
    if not at.file.has(".grad") and not at.file.has("_grad_ivar"):
        return {}
    norms = at.scope.once(_norms, lambda: _norms(at.scope))
    found: dict[ast.stmt, Clip] = {}
    for statement in at.scope.statements:
        loop = statement.loop
        if isinstance(loop, ast.For) and is_over_parameters(loop.iter, at.scope):
            how = _clipping(statement.node, norms)
            if how is not None:
                found[loop] = how
    return found


def _norms(scope: Scope) -> frozenset[str]:
    """Names of a function whose value is computed from the norm of gradients."""
    found: set[str] = set()
    for statement in scope.statements:
        parts = statement.nodes
        is_norm = any(map(_is_power, parts)) and any(map(_is_gradient, parts))
        if is_norm or any(isinstance(item, ast.Name) and item.id in found for item in parts):
            found.update(bound_by(statement.node))
    return frozenset(found)


def _is_power(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return terminal(node) in _NORMS | _SQUARES
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _GRADIENTS


def _clipping(node: ast.stmt, norms: frozenset[str]) -> Clip | None:
    """How a statement in a loop over parameters changes a gradient; an average over ranks is not clipping."""
    value = _new_gradient(node)
    if value is None:
        return None
    items = [item for part in value for item in walk(part)]
    if any(isinstance(item, ast.Name) and item.id in norms for item in items):
        return Clip.NORM
    is_clipped = any(isinstance(item, ast.Call) and terminal(item) in ("clip", "clip_") for item in items)
    return Clip.VALUE if is_clipped else None


def _new_gradient(node: ast.stmt) -> list[ast.expr] | None:
    """The new gradient in a statement: ``p.grad.scale_(c)``, ``p.grad *= c``, ``p.grad = p.grad * c``."""
    if isinstance(node, ast.AugAssign):
        return [node.value] if isinstance(node.op, ast.Mult) and _holds_gradient(node.target) else None
    if isinstance(node, ast.Assign):
        return [node.value] if all(map(_holds_gradient, node.targets)) else None
    call = call_in(node)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    changes = call.func.attr in _IN_PLACE and _holds_gradient(call.func.value)
    return [call] if changes else None


def _holds_gradient(target: ast.expr) -> bool:
    return any(map(_is_gradient, walk(target)))


@of_point
def penalty(point: Point, parameters: ast.Call) -> Penalty | None:
    """The penalty that a step adds to its loss for each weight in ``model.parameters()``; None if there is none."""
    node, scope = point.statement.node, point.scope
    if NoGrad.of(point.file.project).over_statement(Place(point.file, scope), point.statement):
        return None
    if isinstance(node, ast.For) and any(item is parameters for item in walk(node.iter)):
        inside = (item for item in scope.statements if item.loop is node and _is_added(item, scope))
        return next(filter(None, (_of_weights(item.node, node.target) for item in inside)), None)
    if not _is_added(point.statement, scope):
        return None
    for item in walk(node):
        if isinstance(item, (ast.GeneratorExp, ast.ListComp)) and _draws(item, parameters):
            return _power(item.elt, _weights(item.generators[0].target))
    return None


def _draws(node: ast.GeneratorExp | ast.ListComp, parameters: ast.Call) -> bool:
    return len(node.generators) == 1 and any(item is parameters for item in walk(node.generators[0].iter))


def _is_added(statement: Statement, scope: Scope) -> bool:
    """Whether the result of a statement goes into a backward pass of its function, or is returned by a loss."""
    if isinstance(statement.node, ast.Return):
        return True
    bound = set(bound_by(statement.node))
    return bool(bound) and not bound.isdisjoint(scope.once(_wanted, lambda: _wanted(scope)))


def _wanted(scope: Scope) -> frozenset[str]:
    """Names whose graph a function differentiates or returns, directly or through others."""
    wanted = set(feeding_backward(scope))
    for statement in reversed(scope.statements):
        node = statement.node
        returns = isinstance(node, ast.Return)
        binds = isinstance(node, (ast.Assign, ast.AugAssign)) and not wanted.isdisjoint(bound_by(node))
        if returns or binds:
            wanted |= plain_names(node)
    return frozenset(wanted)


def _of_weights(node: ast.stmt, target: ast.expr) -> Penalty | None:
    is_sum = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        is_sum = dotted(node.targets[0]) in plain_names(node.value)
    value = node.value if is_sum and isinstance(node, (ast.AugAssign, ast.Assign)) else None
    return _power(value, _weights(target)) if value is not None else None


def _weights(target: ast.expr) -> str:
    """The name of the weight: the last one of ``name, p``."""
    last = target.elts[-1] if isinstance(target, ast.Tuple) and target.elts else target
    return last.id if isinstance(last, ast.Name) else ""


def _power(value: ast.expr, weight: str) -> Penalty | None:
    """What is summed for a weight: squares or absolute values. A norm that is not squared is something else."""
    for item in walk(value):
        if _is_square(item, weight):
            return Penalty.SQUARES
        if isinstance(item, ast.Call) and terminal(item) == "abs" and _is_of(_subject(item), weight):
            return Penalty.SIZES
    return None


def _is_square(node: ast.AST, weight: str) -> bool:
    if isinstance(node, ast.Call):
        squares = terminal(node) in _SQUARES or (terminal(node) == "pow" and any(map(_is_two, arguments_of(node))))
        return squares and _is_of(_subject(node), weight)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Pow):
        return _is_two(node.right) and _is_of(node.left, weight)
    return isinstance(node.op, ast.Mult) and all(
        isinstance(side, ast.Name) and side.id == weight for side in (node.left, node.right)
    )


def _subject(call: ast.Call) -> ast.expr | None:
    """The argument of a function, or the object of a method: ``p`` of ``p.abs()``, and of ``paddle.abs(p)``."""
    return next(iter(arguments_of(call)), None) if _is_function(call) else call.func.value  # type: ignore[attr-defined]


def _is_function(call: ast.Call) -> bool:
    given = next(iter(arguments_of(call)), None)
    return not isinstance(call.func, ast.Attribute) or (given is not None and not isinstance(given, ast.Constant))


def _is_of(value: ast.expr | None, weight: str) -> bool:
    """Whether a value is computed only from a weight, not from its gradient or its distance from something."""
    return value is not None and {dotted(name) for name in uncut(value)} == {weight}


def _is_two(node: ast.expr) -> bool:
    return is_literal(node, 2, 2.0)


def is_over_parameters(drawn: ast.expr, scope: Scope) -> bool:
    """Whether a loop draws parameters: ``model.parameters()``, or something computed from them or named like them."""
    for item in walk(drawn):
        if isinstance(item, ast.Call) and terminal(item) in _LISTS:
            return True
        if isinstance(item, (ast.Name, ast.Attribute)):
            name = dotted(item) or ""
            last = name.rpartition(".")[2]
            made = definitions_of(scope).get(name)
            calls = calls_in(made) if made is not None else ()
            if last in _LISTS or means_parameters(last) or any(terminal(call) in _LISTS for call in calls):
                return True
    return False


# Finds loops that keep a moving average of the weights of a network, weight by weight: EMA, momentum encoders.

_STORES = frozenset({"assign", "set_value", "copy_"})
_ON_THE_HOST = READ_METHODS | ARRAY_FUNCTIONS


class Average(NamedTuple):
    """One moving average, ``kept * decay + new * (1 - decay)``, with its parts as source text."""

    kept: str
    new: str
    share: str
    """How much of the new weight goes into it: ``1 - decay``."""


@query
def _averages(at: Place) -> dict[ast.stmt, Average]:
    """The loops of a function that keep an average of weights."""
    if not any(isinstance(statement.node, ast.For) for statement in at.scope.statements):
        return {}
    found: dict[ast.stmt, Average] = {}
    for statement in at.scope.statements:
        loop = statement.loop
        if not isinstance(loop, ast.For) or loop in found:
            continue
        mixed = _mixed(statement, at.scope)
        if mixed is not None and is_over_parameters(loop.iter, at.scope):
            found[loop] = mixed
    return found


def _mixed(statement: Statement, scope: Scope) -> Average | None:
    """The average that a statement computes: as a sum of two products, or as ``v *= decay`` and the row after it."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return _in_two_rows(statement, scope)
    call = call_in(node)
    if not isinstance(node, ast.Assign) and (call is None or terminal(call) not in _STORES):
        return None
    items = statement.nodes
    if any(isinstance(item, ast.Call) and terminal(item) in _ON_THE_HOST for item in items):
        return None
    stored = _stored_in(node)
    return next(filter(None, (_of_sum(item, stored) for item in items if isinstance(item, ast.BinOp))), None)


def _stored_in(node: ast.stmt) -> str:
    """The target of ``k.set_value(...)`` and ``paddle.assign(..., k)``; ``""`` for other statements."""
    call = call_in(node)
    if call is None:
        return ""
    if terminal(call) != "assign":
        return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    into = argument_of(call, "output", 1)
    return ast.unparse(into) if into is not None else ""


def _of_sum(node: ast.BinOp, stored: str) -> Average | None:
    """``kept * decay + new * (1 - decay)``, in any order, whichever part is stored."""
    sides = [_factors(side) for side in (node.left, node.right)] if isinstance(node.op, ast.Add) else []
    for one, other in zip(sides, reversed(sides), strict=True):
        for share, new in (one, one[::-1]) if one else ():
            for decay, kept in (other, other[::-1]) if other else ():
                if _is_rest(share, decay):
                    is_turned = ast.unparse(_with_graph(new)) == stored
                    into, from_, part = (new, kept, decay) if is_turned else (kept, new, share)
                    return Average(*map(ast.unparse, (_with_graph(into), from_, part)))
    return None


def _in_two_rows(statement: Statement, scope: Scope) -> Average | None:
    """``v *= decay``, in the next row ``v += (1 - decay) * new``, and then ``state[k] = v``.

    Tensors of Paddle have no ``__imul__``, so ``v`` is a new tensor: without the last row, no average is kept.
    """
    first = statement.node
    after = [item for item in scope.statements if item.start > statement.start and item.loop is statement.loop]
    second = after[0].node if after else None
    if not (isinstance(first, ast.AugAssign) and isinstance(second, ast.AugAssign)):
        return None
    kept = ast.unparse(first.target)
    if not any(isinstance(item.node, ast.Assign) and ast.unparse(item.node.value) == kept for item in after):
        return None
    is_pair = isinstance(first.op, ast.Mult) and isinstance(second.op, ast.Add) and ast.unparse(second.target) == kept
    factors = _factors(second.value) if is_pair else None
    for share, new in (factors, factors[::-1]) if factors else ():
        if _is_rest(share, first.value):
            return Average(*map(ast.unparse, (first.target, new, share)))
    return None


def _factors(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    return (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None


def _is_rest(share: ast.expr, decay: ast.expr) -> bool:
    """Whether two factors add up to one: ``1 - m`` and ``m``."""
    share, decay = _plain(share), _plain(decay)
    if not isinstance(share, ast.BinOp) or not isinstance(share.op, ast.Sub) or not is_literal(share.left, 1, 1.0):
        return False
    return alike(_plain(share.right), decay)


def _plain(node: ast.expr) -> ast.expr:
    """An expression without the ``float(...)`` around it."""
    given = arguments_of(node) if isinstance(node, ast.Call) and dotted(node.func) == "float" else []
    return given[0] if given else node


def _with_graph(node: ast.expr) -> ast.expr:
    """A weight without a ``.detach()`` after it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach":
        return node.func.value
    return node


# PPF505: a moving average of the weights that a Python loop updates at each step.

AVERAGE = shipped()["PPF505"]


def _loops(facts: Callable[[Place], Mapping[ast.stmt, Any]]) -> AtPoint:
    """What finds the sequence of a loop that a fact of its function is about, with the fact."""
    return lambda point: [
        (node.iter, fact)
        for node, fact in facts(point.function).items()
        if node is point.statement.node and isinstance(node, ast.For)
    ]


@rule(AVERAGE.code, at=At.HOT, find_at=_loops(_averages), clues=_LISTS, claims=False)
def averaged_in_python(kept: Average, context: Context) -> None:
    """Report a loop that updates an average of each weight of a network at each step."""
    context.report(AVERAGE.words("kept", **kept._asdict()))


# PPF503 and PPF504: weight decay in the loss, and gradients that a Python loop clips.

DECAY, CLIPPING = shipped()["PPF503"], shipped()["PPF504"]


@rule(CLIPPING.code, at=At.STEP, find_at=_loops(_clips), claims=False, heeds_claims=False)
def clipped_in_python(how: Clip, context: Context) -> None:
    """Report a loop over parameters that clips their gradients at each step."""
    limits = "clip_norm" if how is Clip.NORM else "max, min"
    context.report(CLIPPING.words("clip", clip=how.value, limits=limits), clip=how.value)


@rule(DECAY.code, at=At.HOT, calls=("parameters", "named_parameters"), claims=False)
def decay_in_loss(call: ast.Call, context: Context) -> None:
    """Report a penalty on all weights that is added to the loss at each step."""
    found = penalty(context.here, call) if isinstance(call.func, ast.Attribute) else None
    if found is not None:
        confidence = Confidence.MEDIUM if context.running.forward else Confidence.HIGH
        context.report(DECAY.words(found.name.lower()), confidence=confidence, decay=found.value)
