"""What the result of an operation of unknown size is used for, where a form of known size gives the same.

``x[mask].sum()`` is the sum of a product with the mask.  Rows that the code goes on with have no such form.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence

from perflint.dataflow.evaluate import Evaluator
from perflint.dataflow.paddle_api import LOSS_FUNCTIONS
from perflint.facts.accumulators import Use, uses_in
from perflint.index.kinds import LAYER_TAG
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import children, string_of
from perflint.training.steps import Point, of_point


class Form(enum.Enum):
    """What all uses of a result come to."""

    SUM = "a sum or a mean"
    EXTREME = "the least or the largest of them"
    LOSS = "a loss"
    COUNT = "how many there are"
    FILL = "places that are filled"
    ROWS = "as many values of each row"
    ROW_EXTREME = "the least or the largest of each row"


_REDUCING = {
    **dict.fromkeys(("sum", "mean", "nansum", "nanmean"), Form.SUM),
    **dict.fromkeys(("max", "min", "amax", "amin"), Form.EXTREME),
}
_ITEM_BY_ITEM = frozenset(
    {"abs", "log", "exp", "sqrt", "square", "pow", "clip", "astype", "cast", "detach", "clone", "squeeze", "flatten"}
    | {"unsqueeze", "sigmoid", "relu", "multiply", "add", "subtract", "divide", "log_sigmoid", "tanh", "float", "to"}
)
"""Functions and methods that make one value of each."""
_PICKING = frozenset({"gather", "gather_nd", "index_select", "masked_select"})
_NUMBERS = frozenset({"max", "min", "float", "int"})
_MOST_USES = 8
_DEEPEST = 3


@of_point
def dense_form(point: Point, node: ast.expr) -> Form | None:
    """What an operation of unknown size is used for that a form of known size could give; None for any other use."""
    parents = _path(point.statement.node, node)
    return _Search(point).form(node, parents, point.statement, 0) if parents is not None else None


def _path(top: ast.AST, node: ast.AST) -> tuple[ast.AST, ...] | None:
    """The nodes from ``top`` to the one right around a node."""
    for child in children(top):
        if child is node:
            return (top,)
        below = _path(child, node)
        if below is not None:
            return (top, *below)
    return None


class _Search:
    """Follows a result through one function."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._names = point.file.names

    def form(self, node: ast.AST, parents: Sequence[ast.AST], statement: Statement, depth: int) -> Form | None:
        """What a result is used for, as the nodes around it say, from the inside out."""
        inner = node
        for place in range(len(parents) - 1, -1, -1):
            parent = parents[place]
            if isinstance(parent, ast.stmt):
                return self._named(inner, statement, depth)
            if _is_count(parent, inner):
                return Form.COUNT if self._is_number(parents[:place], parent, statement, depth) else None
            if isinstance(parent, ast.Subscript) and parent.slice is inner and isinstance(parent.ctx, ast.Store):
                return Form.FILL if self._fills(statement.node) else None
            found = self._taken(parent, inner) if isinstance(parent, ast.Call) else None
            if found is not None:
                return Form.ROW_EXTREME if found is Form.ROWS and _takes_extreme(parents[:place]) else found
            if not self._goes_on(parent, inner):
                return None
            inner = parent
        return None

    def _taken(self, call: ast.Call, inner: ast.AST) -> Form | None:
        """What a call makes of all values together."""
        name = terminal(call) or ""
        resolved = self._names.resolve(dotted(call.func) or "")
        is_method = inner is call.func
        if is_method or resolved.startswith("paddle."):
            given = call.args if is_method else call.args[1:]
            if name == "reshape" and _keeps_rows(given):
                return Form.ROWS
            if name in _REDUCING and not given and all(item.arg in ("x", "dtype") for item in call.keywords):
                return _REDUCING[name]
        if is_method:
            return None
        kind = Evaluator(self._point.file, self._point.full_env).kind(call.func)
        is_layer = kind.tag == LAYER_TAG and kind.type.startswith("paddle.nn.") and "Loss" in kind.type
        is_loss = resolved.startswith("paddle.nn.functional.") and name in LOSS_FUNCTIONS
        return Form.LOSS if is_layer or is_loss else None

    def _goes_on(self, parent: ast.AST, inner: ast.AST) -> bool:
        """Whether an expression makes a value of each of the values, or picks by them."""
        if isinstance(parent, ast.Subscript):
            return inner is parent.slice or (isinstance(inner, ast.Call) and _is_part(parent.slice))
        if isinstance(parent, ast.Attribute):
            return parent.attr in _ITEM_BY_ITEM or parent.attr in _REDUCING or parent.attr == "reshape"
        if not isinstance(parent, ast.Call):
            return isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.keyword))
        name = terminal(parent) or ""
        if inner is not parent.func and not self._names.resolve(dotted(parent.func) or "").startswith("paddle."):
            return False
        if name == "reshape":
            return _is_flat(parent.args if inner is parent.func else parent.args[1:])
        return name in _ITEM_BY_ITEM or (name in _PICKING and inner is not parent.func)

    def _named(self, value: ast.AST, statement: Statement, depth: int) -> Form | None:
        """What a name is used for that a statement binds to a result."""
        node = statement.node
        if not isinstance(node, ast.Assign) or node.value is not value or len(node.targets) != 1:
            return None
        uses = self._read(node.targets[0], statement) if depth < _DEEPEST else []
        forms = [self.form(use.node, use.parents, use.statement, depth + 1) for use in uses]
        return next((form for form in forms if form is not Form.COUNT), Form.COUNT) if forms and all(forms) else None

    def _read(self, target: ast.expr, statement: Statement) -> list[Use]:
        """The places that read a name before it is bound again."""
        scope = uses_in(self._point.file, self._point.scope)
        if not isinstance(target, ast.Name) or scope.is_shared(target.id):
            return []
        found: list[Use] = []
        for use in scope.by_name.get(target.id, ()):
            if use.statement.start <= statement.start:
                continue
            if not isinstance(use.node.ctx, ast.Load):
                break
            found.append(use)
        return found if len(found) <= _MOST_USES else []

    def _is_number(self, parents: Sequence[ast.AST], count: ast.AST, statement: Statement, depth: int) -> bool:
        """Whether nothing but arithmetic is done with a count: a test or a shape needs it on the host."""
        inner = count
        for parent in reversed(parents):
            if isinstance(parent, ast.stmt):
                break
            if not _is_of_numbers(parent, inner):
                return False
            inner = parent
        node = statement.node
        if isinstance(node, ast.AugAssign):
            return True
        if not isinstance(node, ast.Assign) or node.value is not inner:
            return isinstance(node, ast.Return) and isinstance(inner, ast.BinOp)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div):
            return True
        uses = self._read(node.targets[0], statement) if depth < _DEEPEST else []
        return bool(uses) and all(self._is_number(use.parents, use.node, use.statement, depth + 1) for use in uses)

    def _fills(self, node: ast.stmt) -> bool:
        """Whether a statement puts a number into the places that are picked."""
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            return False
        return Evaluator(self._point.file, self._point.full_env).kind(node.value).is_host


def _takes_extreme(around: Sequence[ast.AST]) -> bool:
    """Whether the least or the largest is taken of what stands inside of some nodes: ``paddle.max(rows, axis=1)``."""
    nearest = next((node for node in reversed(around) if isinstance(node, (ast.Call, ast.stmt))), None)
    return isinstance(nearest, ast.Call) and _REDUCING.get(terminal(nearest) or "") is Form.EXTREME


def _is_of_numbers(parent: ast.AST, inner: ast.AST) -> bool:
    """Whether an expression makes a number of a count: ``max(count, 1)``, or ``x.shape[0]`` of a shape."""
    if isinstance(parent, ast.Subscript):
        return parent.value is inner
    if isinstance(parent, ast.Call):
        return inner is not parent.func and terminal(parent) in _NUMBERS
    return isinstance(parent, (ast.BinOp, ast.UnaryOp))


def _is_count(parent: ast.AST, inner: ast.AST) -> bool:
    """``x.shape``, ``len(x)``, ``x.numel()``"""
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "size")
    return isinstance(parent, ast.Call) and inner is not parent.func and dotted(parent.func) == "len"


def _is_part(index: ast.expr) -> bool:
    """Whether an index takes a column of the indices found: ``nonzero(x)[:, 0]``, ``where(x)[0]``"""
    if isinstance(index, ast.Tuple) and len(index.elts) == 2 and isinstance(index.elts[0], ast.Slice):
        return isinstance(index.elts[1], ast.Constant)
    return isinstance(index, ast.Constant) and index.value == 0 and string_of(index) is None


def _shape(given: Sequence[ast.expr]) -> list[ast.expr]:
    first = given[0] if given else None
    return first.elts if isinstance(first, (ast.List, ast.Tuple)) else list(given)


def _keeps_rows(given: Sequence[ast.expr]) -> bool:
    """Whether a shape counts rows and leaves open how many values each has: ``[batch_size, -1, width]``."""
    first, *rest = [ast.unparse(size) for size in _shape(given)] or [""]
    is_number_of_rows = not first.endswith("]") or first.endswith("shape[0]")  # ``x.shape[-1]`` counts columns
    return is_number_of_rows and first not in ("", "-1", "1") and "-1" in rest


def _is_flat(given: Sequence[ast.expr]) -> bool:
    return [ast.unparse(size) for size in _shape(given)][:1] == ["-1"]
