"""Finds arrays that a loop extends by copying them, ``x = paddle.concat([x, y])``, without reading them.

Only loops with many iterations count: over a loader, over the rows of a tensor, over the steps of a sequence. A loop
over the layers or the scales of a model has few.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.bindings import bindings_of, loads_of
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import is_spread
from perflint.syntax.passes_of_loops import hands_on
from perflint.syntax.reaching import sole_at, value_of
from perflint.syntax.scopes import Loop, Scope, Statement, terminal
from perflint.syntax.tree import walk

_JOINS = frozenset(
    {"paddle.concat", "paddle.vstack", "paddle.hstack", "numpy.concatenate", "numpy.vstack", "numpy.hstack"}
)
_A_JOIN = re.compile(r"\b(?:concat|concatenate|vstack|hstack)\b")
_FEW = 16
"""The least number of iterations for which copies matter: with 16 equal parts, eight times the bytes are copied."""
_WRAPPERS = frozenset({"enumerate", "tqdm", "trange", "reversed", "zip", "list", "iter", "range"})
_MANY = re.compile(
    r"(?:^|_)(?:loader|dataloader|reader|data_?iter)|(?:^|_)(?:(?:num|n|max|total|seq|time|decode|tgt|src|trg)_?"
    r"(?:lens?|length|steps?|frames|samples|images|iters?|nodes)|batch_size|bs|seqlen)$",
    re.IGNORECASE,
)
_LOADER = re.compile(r"loader|reader", re.IGNORECASE)
_TARGETS = re.compile(r"^(?:\w+_)?(?:targets?|labels?|gts?|tgt|trg|ground_truth)(?:_\w+)?$", re.IGNORECASE)
_DEEPEST = 4


@dataclass(frozen=True)
class Grown:
    """An array that grows in a loop.

    Attributes:
        name: the name of the array.
        statement: ``x = concat([x, y])``.
        call: that call.
        part: what is appended.
        loop: the loop, and the statement of it.
        scope: the function.
        choice: the ``if`` whose other arm assigns the first part, as in ``if i == 0: x = y``.
        first: that arm's assignment.
    """

    name: str
    statement: Statement
    call: ast.Call
    part: ast.expr
    loop: Loop
    at: Statement
    scope: Scope
    choice: ast.If | None = None
    first: ast.Assign | None = None

    @property
    def goes_over_batches(self) -> bool:
        """Whether the loop draws from a loader, judging by its name."""
        drawn = [] if isinstance(self.loop, ast.While) else names_in(self.loop.iter)
        return any(_LOADER.search(name) for name in drawn)

    @property
    def is_of_a_batch(self) -> bool:
        """Whether the loop is over the samples of a batch: up to ``x.shape[0]``, with independent iterations."""
        return (
            isinstance(self.loop, ast.For)
            and any(map(_is_first_axis, _counted(self.scope, self.at, self.loop.iter)))
            and not hands_on(self.loop, besides=self.name)
        )

    @property
    def predicts(self) -> bool:
        """Whether it is in a part of a layer without targets, or that is not for training."""
        return any(
            _means_training(link.node.test) is (link.branch != "body")
            for link in self.statement.around
            if isinstance(link.node, ast.If) and link.branch in ("body", "else", "after")
        )

    def is_of_numpy(self, file: FileIndex) -> bool:
        """Whether it is an array of NumPy, not a tensor."""
        return file.names.resolve(dotted(self.call.func) or "").startswith("numpy.")


@query
def grown_arrays(file: FileIndex) -> tuple[Grown, ...]:
    """The arrays of a file that a loop extends in each iteration and does not read otherwise."""
    if not file.has("paddle") or not file.matches(_A_JOIN):
        return ()
    return tuple(
        found
        for scope in file.scopes.scopes
        for statement in scope.statements
        if statement.loop is not None and (found := _grown(file, scope, statement)) is not None
    )


def _grown(file: FileIndex, scope: Scope, statement: Statement) -> Grown | None:
    """The array that a statement in a loop extends."""
    node, loop = statement.node, statement.loop
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or loop is None:
        return None
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call):
        return None
    if file.names.resolve(dotted(call.func) or "") not in _JOINS or is_spread(call):
        return None
    parts = call.args[0] if call.args else None
    listed = parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else []
    if len(listed) != 2 or dotted(listed[0]) != target.id or isinstance(listed[1], ast.Starred):
        return None
    at = next((one for one in scope.statements if one.node is loop), None)
    if at is None or not _has_many_passes(scope, at, loop):
        return None
    found = Grown(target.id, statement, call, listed[1], loop, at, scope, *_first_part(target.id, statement))
    return found if _is_read_for_nothing_else(found) and not _is_bound_otherwise(found) else None


def _first_part(name: str, statement: Statement) -> tuple[ast.If, ast.Assign] | tuple[None, None]:
    """The ``if`` around a statement whose other arm only assigns the first part."""
    place = statement.place
    node = place.node if place is not None else None
    if not isinstance(node, ast.If) or place is None or place.branch not in ("body", "else"):
        return None, None
    other = node.orelse if place.branch == "body" else node.body
    first = next((one for one in other if isinstance(one, ast.Assign) and _binds(one, name)), None)
    return (node, first) if first is not None else (None, None)


def _binds(node: ast.Assign, name: str) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name


def _is_read_for_nothing_else(found: Grown) -> bool:
    """Whether the loop reads the array only in that call, and in the test for the first part."""
    reads = sum(count for at, count in loads_of(found.scope).get(found.name, []) if _is_part(at, found.loop))
    everywhere = _loads(found.loop, found.name)
    tested = _loads(found.choice.test, found.name) if found.choice is not None and _asks_for_none(found) else 0
    return reads == everywhere == 1 + tested


def _is_part(statement: Statement, loop: Loop) -> bool:
    return statement.node is loop or any(link.node is loop for link in statement.around)


def _loads(node: ast.AST, name: str) -> int:
    return sum(isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(node))


def _asks_for_none(found: Grown) -> bool:
    """Whether the test is ``x is None`` or its opposite."""
    test = found.choice.test if found.choice is not None else None
    is_one = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot))
    return is_one and isinstance(test, ast.Compare) and dotted(test.left) == found.name


def _is_bound_otherwise(found: Grown) -> bool:
    """Whether the loop binds the array in another statement than those two."""
    known = {found.statement.node, found.first}
    return any(
        _is_part(one, found.loop) and one.node not in known for one in bindings_of(found.scope).get(found.name, ())
    )


def _has_many_passes(scope: Scope, at: Statement, loop: Loop) -> bool:
    """Whether the number of iterations of a loop grows with the data."""
    if isinstance(loop, ast.While):
        return not isinstance(loop.test, ast.Constant) or bool(loop.test.value)
    return _is_long(scope, at, loop.iter, 0)


def _is_long(scope: Scope, at: Statement, node: ast.expr, depth: int) -> bool:
    """Whether an expression is a long sequence, or the number of iterations of a loop."""
    if any(_is_of_a_shape(item) for item in walk(node)):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value >= _FEW
    if isinstance(node, ast.Call):
        inner = node.args if terminal(node) in _WRAPPERS else []
        return any(_is_long(scope, at, argument, depth) for argument in inner) or bool(
            _MANY.search(terminal(node) or "")
        )
    if isinstance(node, ast.BinOp):
        return _is_long(scope, at, node.left, depth) or _is_long(scope, at, node.right, depth)
    name = dotted(node)
    if name is None:
        return False
    binding = sole_at(name, at, scope) if depth < _DEEPEST else None
    value = value_of(binding) if binding is not None else None
    if binding is not None and value is not None and _is_long(scope, binding, value, depth + 1):
        return True
    return bool(_MANY.search(name.rpartition(".")[2])) and not isinstance(value, ast.Constant)


def _counted(scope: Scope, at: Statement, iterated: ast.expr) -> list[ast.expr]:
    """The argument of ``range``, also through a name."""
    is_range = isinstance(iterated, ast.Call) and dotted(iterated.func) == "range" and len(iterated.args) == 1
    given = iterated.args[0] if is_range and isinstance(iterated, ast.Call) else None
    if not isinstance(given, ast.Name):
        return [given] if given is not None else []
    binding = sole_at(given.id, at, scope)
    value = value_of(binding) if binding is not None else None
    return [value] if value is not None else []


def _is_first_axis(node: ast.expr) -> bool:
    """Whether an expression is ``x.shape[0]``."""
    is_first = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0
    return is_first and isinstance(node, ast.Subscript) and _is_of_a_shape(node.value)


def _means_training(test: ast.expr) -> bool | None:
    """Whether a test is true in training: ``self.training``, ``targets is not None``; None for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        opposite = _means_training(test.operand)
        return None if opposite is None else not opposite
    if dotted(test) == "self.training":
        return True
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _TARGETS.search(dotted(test.left) or ""):
        return None
    right = test.comparators[0]
    if not isinstance(right, ast.Constant) or right.value is not None:
        return None
    return isinstance(test.ops[0], (ast.IsNot, ast.NotEq))


def _is_of_a_shape(item: ast.AST) -> bool:
    """Whether an expression is ``x.shape``, which a list of layers does not have."""
    return isinstance(item, ast.Attribute) and item.attr == "shape"
