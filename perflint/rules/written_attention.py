"""PPF902: attention that a layer writes out, although one call computes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeGuard

from perflint.catalogue import shipped
from perflint.facts.entry_points import EntryPoint, classes_of_model, entry_points, model_files, speaks_of
from perflint.findings import Confidence, Edit, Fix, Related
from perflint.index.hierarchy import Hierarchy
from perflint.index.in_use import InUse
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.query import query
from perflint.rules.edits import as_operand, whole_rows
from perflint.rules.spelled import Spelling, spelling
from perflint.syntax.bindings import bindings_of, bound_by, loads_of, plain_assignment
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import alike, is_literal, walk
from perflint.text.source import Source

# Finds attention that a layer writes out: the product of queries and keys, a softmax, and the product with the
# values.
#
# In ``a = q @ k.transpose([0, 1, 3, 2]) * s; a = F.softmax(a); out = a @ v`` one fused kernel can do all three.
# Excluded is what that kernel cannot do: weights that anything else reads, a learned bias, and tensors that are not
# known to have batch, heads, sequence and width as their axes, in this order.

_PRODUCTS = frozenset({"matmul", "bmm"})
_KEYS = (0, 1, 3, 2)
"""The axes that a transposition of keys exchanges."""
_HEADS = (0, 2, 1, 3)
"""The axes that bring ``[batch, sequence, heads, width]`` to ``[batch, heads, sequence, width]``, and back."""

_WIDTH = (
    r"(?:head_dim\w*|dim_head|dim_per_head|d_k|d_key|attention_head_size|head_size|\w*dim//\w*heads"
    r"|q\w*\.shape\[-1\])"
)
_ROOT = re.compile(rf"(?P<over>1(?:\.0)?/)?(?:(?:\w+\.)?sqrt{_WIDTH}|{_WIDTH}\*\*(?P<less>-)?0?\.5)$")
"""The square root of the width of a head, without brackets: ``math.sqrt(head_dim)``, ``head_dim ** -0.5``."""
_SPLIT = re.compile(rf"(?:{_WIDTH}|\w+//\w*heads?)$")
"""The width of a head in a ``reshape``, without brackets."""


class Weights(NamedTuple):
    """What the weights of attention are computed from.

    Attributes:
        queries, keys: the two sides of their product.
        factor: what the product is scaled with, as Python writes it; ``""`` if there is none.
        is_usual: whether the factor is one over the square root of the width of a head.
        mask: the summand added to the product.
        steps: the statements that compute them, in order.
    """

    queries: ast.expr
    keys: ast.expr
    factor: str = ""
    is_usual: bool = False
    mask: ast.expr | None = None
    steps: tuple[Statement, ...] = ()


class WrittenAttention(NamedTuple):
    """Attention that is written out.

    Attributes:
        scope: the method.
        weights: the argument of the softmax.
        softmax: the call of it.
        dropout: the rate of a dropout of the weights, as Python writes it; ``""`` if there is none.
        steps: the statements that nothing needs besides the product with the values.
        statement: the statement of the product with the values.
        values: the values.
        result: the product, including a transposition of heads and sequence around it, if any.
        is_turned: whether there is such a transposition.
    """

    scope: Scope
    weights: Weights
    softmax: ast.Call
    dropout: str
    steps: tuple[Statement, ...]
    statement: Statement
    values: ast.expr
    result: ast.expr
    is_turned: bool


@query
def written_attention(file: FileIndex) -> Sequence[WrittenAttention]:
    """The attention that the layers of a file write out."""
    if file.is_quiet or file.is_foreign or file.is_static or not file.has_words("softmax", "Softmax"):
        return ()
    if not file.has_words("matmul", "bmm", "transpose"):
        return ()
    return [found for scope in _methods(file) for found in _in(Place(file, scope))]


def _methods(file: FileIndex) -> Iterator[Scope]:
    """The methods of the layers of a file that contain a softmax."""
    for scope in file.scopes.scopes:
        if scope.owner is None or not any(terminal(call) == "softmax" for call in scope.calls):
            continue
        if Modules.of(file.project).kind_of_instance(file, scope.owner).tag == LAYER_TAG:
            yield scope


def _in(at: Place) -> Iterator[WrittenAttention]:
    for statement in at.scope.statements:
        for call in statement.calls:
            if terminal(call) != "softmax" or not _is_last_axis(call):
                continue
            argument = _tensor_of(call, at.file)
            weights = _weights(argument, statement, at.scope) if argument is not None else None
            found = _used(at, statement, call, weights) if weights is not None else None
            if found is not None and _is_of_heads(found) and _is_only_use(found):
                yield found


def _tensor_of(call: ast.Call, file: FileIndex) -> ast.expr | None:
    """The argument of a softmax: ``x`` of ``F.softmax(x)``, ``self.softmax(x)`` and ``x.softmax()``."""
    name = dotted(call.func) or ""
    if name.startswith("self.") or file.names.resolve(name).startswith("paddle."):
        return argument_of(call, "x", 0)
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _is_last_axis(call: ast.Call) -> bool:
    axis = argument_of(call, "axis", 1)
    if axis is None or (len(call.args) == 1 and not call.keywords):
        return True
    return ast.unparse(axis) in ("-1", "3")


# -- before the softmax ------------------------------------------------------------------------------------------


def _weights(node: ast.expr, at: Statement, scope: Scope, is_bare: bool = False) -> Weights | None:
    """What weights are computed from, if an expression in a statement computes them; None for anything else.

    Args:
        is_bare: whether they must not be scaled or masked there, since they will be scaled.
    """
    if isinstance(node, ast.Name):
        return _named(node.id, at, scope, is_bare)
    if operands_of(node) is not None:
        return _product(node, at, scope)
    if not isinstance(node, ast.BinOp) or is_bare:
        return None
    if isinstance(node.op, ast.Add):
        inner = _weights(node.left, at, scope) if _is_mask(node.right) else None
        return inner._replace(mask=node.right) if inner is not None and inner.mask is None else None
    if not isinstance(node.op, (ast.Mult, ast.Div)):
        return None
    inner, factor = _weights(node.left, at, scope, is_bare=True), node.right
    if inner is None and isinstance(node.op, ast.Mult):
        inner, factor = _weights(node.right, at, scope, is_bare=True), node.left
    return _scaled(inner, factor, isinstance(node.op, ast.Div), scope) if inner is not None else None


def _named(name: str, at: Statement, scope: Scope, is_bare: bool) -> Weights | None:
    """What the weights under a name are computed from, by the statements above in the same block."""
    earlier = [each for each in bindings_of(scope).get(name, ()) if each.start < at.start]
    if not earlier:
        return None
    last = earlier[-1]
    node = last.node
    is_below = _is_beside(last, at) or (_is_under_test_of_mask(at, at.node) and _is_around(last, at))
    if not is_below and not _is_under_test_of_mask(last, node):
        return None
    made = plain_assignment(node)
    if made is not None:
        value = made[1]
    elif isinstance(node, ast.AugAssign):
        value = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
    else:
        return None
    inner = _weights(value, last, scope, is_bare)
    if inner is None or (not is_below and inner.mask is None):
        return None
    return inner._replace(steps=(*inner.steps, last))


def _is_beside(one: Statement, other: Statement) -> bool:
    """Whether two statements are in the same blocks."""
    return one.branches == other.branches


def _is_around(one: Statement, other: Statement) -> bool:
    """Whether a statement is in the blocks around the innermost one of another statement."""
    return one.branches == other.branches[1:]


def _is_under_test_of_mask(statement: Statement, node: ast.stmt) -> bool:
    """Whether a statement adds a mask if there is one: ``if mask is not None: scores = scores + mask``."""
    link = next(iter(statement.around), None)
    if link is None or not isinstance(link.node, ast.If) or link.branch != "body" or link.node.orelse:
        return False
    test, added = link.node.test, getattr(node, "value", None)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.IsNot) or len(link.node.body) != 1:
        return False
    mask = added.right if isinstance(added, ast.BinOp) else added
    return isinstance(mask, ast.Name) and alike(mask, test.left)


def _is_mask(node: ast.expr) -> bool:
    """Whether a mask is passed as an argument: an attribute of a layer may be learned."""
    return isinstance(node, ast.Name) and "mask" in node.id.lower()


def _scaled(inner: Weights, factor: ast.expr, divides: bool, scope: Scope) -> Weights | None:
    if inner.factor or inner.mask is not None:
        return None
    text = ast.unparse(factor)
    return inner._replace(factor=f"1 / {text}" if divides else text, is_usual=_is_usual(factor, divides, scope))


def _is_usual(factor: ast.expr, divides: bool, scope: Scope) -> bool:
    """Whether a factor is one over the root of a width: ``head_dim ** -0.5``, ``self.scale`` that is set to it.

    ``qk_scale or head_dim ** -0.5`` is not: a configuration may give a ``qk_scale``.
    """
    name = dotted(factor) or ""
    if not _splits_by_heads(scope):
        return False
    if name.startswith("self.") and scope.owner is not None:
        values = scope.values_of(name)
        return bool(values) and all(_is_root(value, divides) for value in values)
    return _is_root(factor, divides)


def _splits_by_heads(scope: Scope) -> bool:
    """Whether a method gives each head the width that fits such factors: ``[b, n, heads, c // self.heads]``."""
    shapes = [argument_of(call, "shape", 0) for call in scope.calls if terminal(call) == "reshape"]
    widths = [ast.unparse(shape.elts[-1]) for shape in shapes if _has_axes_of_heads(shape)]
    return bool(widths) and all(_SPLIT.match(re.sub(r"[()\s]|self\.", "", width)) for width in widths)


def _has_axes_of_heads(shape: ast.expr | None) -> TypeGuard[ast.List | ast.Tuple]:
    return isinstance(shape, (ast.List, ast.Tuple)) and len(shape.elts) > 3


def _is_root(node: ast.expr, divides: bool) -> bool:
    """Whether an expression is the square root of the width of a head, or one over it."""
    match = _ROOT.match(re.sub(r"[()\s]|self\.", "", ast.unparse(node)))
    return match is not None and divides is (match["over"] is None and match["less"] is None)


def operands_of(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two operands of a matrix product; None if a node is not one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or terminal(node) not in _PRODUCTS:
        return None
    left, right = argument_of(node, "x", 0), argument_of(node, "y", 1)
    if left is not None and right is not None:
        return left, right
    other = argument_of(node, "y", 0)
    return (node.func.value, other) if isinstance(node.func, ast.Attribute) and other is not None else None


def _product(node: ast.expr, at: Statement, scope: Scope) -> Weights | None:
    """Weights that are a product of queries with transposed keys."""
    left, right = operands_of(node) or (node, node)
    flag = argument_of(node, "transpose_y", 3) if isinstance(node, ast.Call) else None
    keys = right if is_literal(flag, True) else turned(right, _KEYS)
    if keys is None:
        return None
    if isinstance(left, ast.BinOp) and isinstance(left.op, (ast.Mult, ast.Div)):
        bare = Weights(left.left, keys)
        return _scaled(bare, left.right, isinstance(left.op, ast.Div), scope)
    return _scaled_before(left, keys, at, scope) or Weights(left, keys)


def _scaled_before(queries: ast.expr, keys: ast.expr, at: Statement, scope: Scope) -> Weights | None:
    """Weights from queries that the statements above have scaled: ``q = q * self.scale``."""
    if not isinstance(queries, ast.Name):
        return None
    earlier = [
        each for each in bindings_of(scope).get(queries.id, ()) if each.start < at.start and _is_beside(each, at)
    ]
    node = earlier[-1].node if earlier else None
    value = getattr(node, "value", None)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
        factor, divides = node.value, isinstance(node.op, ast.Div)
    elif isinstance(node, ast.Assign) and isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        if not isinstance(value.left, ast.Name) or value.left.id != queries.id:
            return None
        factor, divides = value.right, isinstance(value.op, ast.Div)
    else:
        return None
    is_read = sum(
        count for statement, count in loads_of(scope).get(queries.id, ()) if statement.start > earlier[-1].start
    )
    found = _scaled(Weights(queries, keys), factor, divides, scope)
    return found._replace(steps=(earlier[-1],)) if found is not None and is_read == 1 else None


def turned(node: ast.expr, axes: tuple[int, ...]) -> ast.expr | None:
    """The argument of a transposition with these axes; None if an expression is not one."""
    if not isinstance(node, ast.Call) or terminal(node) != "transpose" or not isinstance(node.func, ast.Attribute):
        return None
    is_method = len(node.args) + len(node.keywords) == 1
    perm = argument_of(node, "perm", 0 if is_method else 1)
    if not isinstance(perm, (ast.List, ast.Tuple)):
        return None
    given = tuple(item.value if isinstance(item, ast.Constant) else None for item in perm.elts)
    if given != axes:
        return None
    return node.func.value if is_method else argument_of(node, "x", 0)


# -- after the softmax -------------------------------------------------------------------------------------------


def _used(at: Place, statement: Statement, softmax: ast.Call, weights: Weights) -> WrittenAttention | None:
    """The product of weights with values: below a softmax, possibly after a dropout of them."""
    found = _drops(statement, softmax, at)
    if found is None:
        return None
    (name, dropout), steps = found, [*weights.steps, statement]
    for later in at.scope.statements:
        if later.start <= statement.start or name not in plain_names(later.node):
            continue
        product = _product_with(name, later)
        if product is not None:
            is_beside = _is_beside(later, statement)
            return _fused(at.scope, weights, softmax, dropout, steps, later, product) if is_beside else None
        found = _drops(later, ast.Name(name, ast.Load()), at)
        if found is None or not found[1] or dropout or not _is_beside(later, statement):
            return None
        name, dropout = found
        steps.append(later)
    return None


def _drops(statement: Statement, weights: ast.expr, at: Place) -> tuple[str, str] | None:
    """The name that a statement gives weights, and the rate of the dropout that it applies to them."""
    name, value = plain_assignment(statement.node) or ("", None)
    rate = _rate(value, weights, at) if value is not None else None
    return (name, rate) if rate is not None else None


def _rate(node: ast.expr, weights: ast.expr, at: Place) -> str | None:
    """The rate of a dropout around weights; ``""`` if there is nothing around them, None for anything else."""
    if alike(node, weights):
        return ""
    if not isinstance(node, ast.Call) or not node.args or not alike(node.args[0], weights):
        return None
    name = dotted(node.func) or ""
    if at.file.names.resolve(name) == "paddle.nn.functional.dropout":
        return _rate_of_function(node)
    return _rate_of_layer(name, at) if len(node.args) == 1 and not node.keywords else None


def _rate_of_function(call: ast.Call) -> str | None:
    """The rate of ``F.dropout(a, rate, training=self.training)``."""
    rate, mode, training = argument_of(call, "p", 1), argument_of(call, "mode", 4), argument_of(call, "training", 3)
    if rate is None or training is None or ast.unparse(training) != "self.training":
        return None
    return ast.unparse(rate) if mode is None or is_literal(mode, "upscale_in_train") else None


def _rate_of_layer(name: str, at: Place) -> str | None:
    """The rate of a dropout layer of a class: ``self.drop.p``."""
    values = at.scope.values_of(name)
    made = values[0] if len(values) == 1 else None
    if not isinstance(made, ast.Call) or at.file.names.qualified(made.func) != "paddle.nn.Dropout":
        return None
    return f"{name}.p" if argument_of(made, "mode", 2) is None else None


def _product_with(name: str, statement: Statement) -> ast.expr | None:
    """The product of a name with anything, in a statement."""
    for item in _expressions(statement):
        operands = operands_of(item)
        if operands is not None and isinstance(operands[0], ast.Name) and operands[0].id == name:
            return item
    return None


def _fused(
    scope: Scope,
    weights: Weights,
    softmax: ast.Call,
    dropout: str,
    steps: Sequence[Statement],
    statement: Statement,
    product: ast.expr,
) -> WrittenAttention | None:
    operands = operands_of(product)
    flags = product.keywords if isinstance(product, ast.Call) else []
    if operands is None or any((item.arg or "").startswith("transpose") for item in flags):
        return None
    outer = next((item for item in _expressions(statement) if turned(item, _HEADS) is product), None)
    is_turned = outer is not None
    own = tuple(dict.fromkeys(steps))
    return WrittenAttention(scope, weights, softmax, dropout, own, statement, operands[1], outer or product, is_turned)


# -- what makes sure ---------------------------------------------------------------------------------------------


def _is_of_heads(found: WrittenAttention) -> bool:
    """Whether the axes are batch, heads, sequence and width: heads and sequence are exchanged before or after."""
    if found.is_turned or _is_turned_below(found):
        return True
    sides = (found.weights.queries, found.weights.keys, found.values)
    names = set().union(*map(plain_names, sides)) - {"self"}
    bindings = (statement for name in names for statement in bindings_of(found.scope).get(name, ()))
    return any(turned(item, _HEADS) is not None for statement in bindings for item in _expressions(statement))


def _is_turned_below(found: WrittenAttention) -> bool:
    """Whether the statements below move the heads of the result next to its width."""
    below = (statement for statement in found.scope.statements if statement.start > found.statement.start)
    inside = (turned(item, _HEADS) for statement in below for item in _expressions(statement))
    names = bound_by(found.statement.node)
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in inside)


def _expressions(statement: Statement) -> Iterator[ast.expr]:
    return (item for item in statement.nodes if isinstance(item, ast.expr))


def _is_only_use(found: WrittenAttention) -> bool:
    """Whether nothing but the steps of the attention reads the weights."""
    inside = {*found.steps, found.statement}
    names = {name for step in found.steps for name in bound_by(step.node)} - plain_names(found.weights.queries)
    for name in names:
        bound = min(step.start for step in found.steps if name in bound_by(step.node))
        for statement, count in loads_of(found.scope).get(name, ()):
            if statement is found.statement and count > 1:
                return False
            if statement.start > bound and statement not in inside and not _is_bound_anew(name, statement, found):
                return False
    return True


def _is_bound_anew(name: str, statement: Statement, found: WrittenAttention) -> bool:
    """Whether a name has another meaning at a statement below."""
    bindings = bindings_of(found.scope).get(name, ())
    return any(found.statement.start <= each.start < statement.start for each in bindings)


# Finds the attention that training programs write out: one place for each entry point, with the other places.

_FUSED = ("scaled_dot_product_attention", "flash_attention", "memory_efficient_attention", "flash_attn_unpadded")
"""What shows that this was considered."""


class TrainedAttention(NamedTuple):
    """Written-out attention, with the entry point that trains it.

    ``others``: the same elsewhere in the program. ``is_sure``: it is known to be part of the trained model.
    """

    entry: EntryPoint
    file: FileIndex
    found: WrittenAttention
    others: tuple[tuple[FileIndex, WrittenAttention], ...]
    is_sure: bool

    @property
    def confidence(self) -> Confidence:
        """How certain it is that training runs it."""
        return Confidence.MEDIUM if self.is_sure else Confidence.LOW


@query
def trained_attention(project: Project) -> Sequence[TrainedAttention]:
    """The attention of the training programs of a project: the first place of each one."""
    reported: dict[object, TrainedAttention] = {}
    for entry in entry_points(project):
        places = list(_places(entry))
        if places and not speaks_of(entry, *_FUSED):
            file, found = places[0]
            is_sure = bool(classes_of_model(entry))
            known = reported.get(found.softmax)
            if known is None or (is_sure and not known.is_sure):
                reported[found.softmax] = TrainedAttention(entry, file, found, tuple(places[1:]), is_sure)
    return list(reported.values())


def _places(entry: EntryPoint) -> Iterator[tuple[FileIndex, WrittenAttention]]:
    """The attention in the layers that a program trains, or may train if its model is not known, by file."""
    in_use, models = InUse.of(entry.file.project), classes_of_model(entry)
    parts = parts_of_models(entry.file, models)
    for file in sorted(model_files(entry), key=lambda each: (each is not entry.file, each.path)):
        for found in written_attention(file) if not in_use.is_left_over(file) else ():
            is_part = found.scope.owner in parts if models else in_use.is_used_at(Place(file, found.scope))
            if is_part:
                yield file, found


@query
def parts_of_models(file: FileIndex, models: frozenset[tuple[FileIndex, Class]]) -> frozenset[Class]:
    """The classes that some classes consist of: those that their methods create, directly or not; with their bases."""
    project, found, waiting = file.project, set[object](), list[tuple[FileIndex, Class | Scope]](models)
    while waiting:
        home, one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        waiting += _named_by(home, one)
        if isinstance(one, Class):
            waiting += Hierarchy.of(project).lineage(home, one)
    return frozenset(one for one in found if isinstance(one, Class))


def _named_by(file: FileIndex, one: Class | Scope) -> Iterator[tuple[FileIndex, Class | Scope]]:
    """The classes and functions of the project that a class or a function names."""
    for scope in one.methods.values() if isinstance(one, Class) else (one,):
        for name in {dotted(item) for item in walk(scope.node) if isinstance(item, (ast.Name, ast.Attribute))}:
            found = Modules.of(file.project).find(file.names.resolve(name), file) if name else None
            if found is not None:
                yield found


# PPF902: attention that a layer writes out, although there is one call for it.

RULE = shipped()["PPF902"]
_PADDLE = "3.3"
_TURN = ".transpose([0, 2, 1, 3])"
_MOST_SHOWN = 3


def _written_out(file: FileIndex) -> Iterator[Candidate]:
    for place in trained_attention(file.project) if written_attention(file) else ():
        if place.file is file:
            softmax = place.found.softmax
            statement = next(each for each in place.found.scope.statements if softmax in each.calls)
            yield Candidate(softmax, statement.node, place, place.confidence)


@rule(RULE.code, at=At.ANYWHERE, find=_written_out, claims=False, heeds_claims=False)
def unfused_attention(place: TrainedAttention, context: Context) -> None:
    """Report the softmax of attention whose weights go to memory and back."""
    written = _call(place.found, context.file)
    if written is None:
        return
    context.report(
        _fix(place.found, *written, context),
        related=_beside(place),
        confidence=place.confidence,
        call=written[0],
        back="" if place.found.is_turned else f" and `{_TURN}` behind it",
    )


def _beside(place: TrainedAttention) -> tuple[Related, ...]:
    entry = place.entry
    step = Related(entry.file.path, entry.file.row(entry.call), "the training step")
    others = [Related(file.path, file.row(each.softmax), "the same") for file, each in place.others[:_MOST_SHOWN]]
    return (step, *others)


def _call(found: WrittenAttention, file: FileIndex) -> tuple[str, Spelling] | None:
    """The call that does the same, and how its function is written; None if Paddle has no name there."""
    module, _, _ = (dotted(found.softmax.func) or "").rpartition(".")
    name = "scaled_dot_product_attention"
    is_there = file.names.resolve(module) == "paddle.nn.functional"
    other = spelling(f"paddle.nn.functional.{name}", found.statement.node, file) if not is_there else None
    spelled = Spelling(f"{module}.{name}") if is_there else other
    if spelled is None:
        return None
    weights = found.weights
    queries = _with_heads_last(weights.queries)
    if not weights.is_usual:
        queries += f" * {_correction(found)}"
    arguments = [queries, _with_heads_last(weights.keys), _with_heads_last(found.values)]
    if weights.mask is not None:
        arguments.append(f"attn_mask={ast.unparse(weights.mask)}")
    if found.dropout:
        arguments += [f"dropout_p={found.dropout}", "training=self.training"]
    return f"{spelled.name}({', '.join(arguments)})", spelled


def _correction(found: WrittenAttention) -> str:
    """The factor that compensates for the scale of the fused kernel, one over the square root of the width."""
    width = f"{_text(found.weights.queries)}.shape[-1] ** 0.5"
    return f"({found.weights.factor} * {width})" if found.weights.factor else f"{width}"


def _with_heads_last(node: ast.expr) -> str:
    """A tensor with the axes batch, sequence, heads and width."""
    inner = turned(node, (0, 2, 1, 3))
    return _text(inner) if inner is not None else f"{_text(node)}{_TURN}"


def _text(node: ast.expr) -> str:
    return as_operand(node, ast.unparse(node))


def _fix(found: WrittenAttention, call: str, spelled: Spelling, context: Context) -> Fix:
    """The call in place of the product with the values; the rows above it are removed."""
    rows = _rows(found, context.file.source)
    if rows is None or found.weights.mask is not None:
        return replace(RULE.words("mask" if found.weights.mask is not None else "comment"), paddle=_PADDLE)
    put = context.instead(found.result, call if found.is_turned else call + _TURN)
    return spelled.trusted(RULE.fix(sorted((*rows, *put)), paddle=_PADDLE))


def _rows(found: WrittenAttention, source: Source) -> list[Edit] | None:
    """The edits that remove the steps, one for adjacent ones; None if a comment would be lost."""
    edits: list[Edit] = []
    below = source.lines.line_start(found.statement.node.lineno)
    for step in sorted(found.steps, key=lambda each: each.start, reverse=True):
        start, end = source.lines.span(step.node)
        first, last = source.lines.position(start)[0], source.lines.position(end)[0]
        begin, rest = source.lines.line_start(first), source.lines.line_end(last)
        if "#" in source.text[begin:rest] or source.text[begin:rest].strip() != source.text[start:end].strip():
            return None
        if source.text[rest:below].strip():
            edits.append(whole_rows(start, end, source))
        elif edits and edits[-1].start == below:
            edits[-1] = Edit(begin, edits[-1].end, "")
        else:
            edits.append(Edit(begin, below, ""))
        below = begin
    return edits
