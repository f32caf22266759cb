"""Operations whose result has a size that only the device knows, and how their uses could do without it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from perflint.facts.accumulators import Use, uses_in
from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.index.kinds import LAYER_TAG, UNKNOWN_TAG, Kind
from perflint.paddle.results import LOSS_FUNCTIONS
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, Statement, headers, terminal
from perflint.syntax.tree import children, string_of, walk
from perflint.training.steps import Point, of_point, points_of

# Finds operations with a result of a size that only the device knows, so that the host waits for it.

MASK = "x[mask]"
OPERATIONS = frozenset(
    {"nonzero", "masked_select", "unique", "unique_consecutive", "where", "repeat_interleave", "bincount"}
)
"""Functions of Paddle, some of them only with some of their arguments."""


@of_point
def dynamic_op(point: Point, node: ast.expr) -> tuple[str, Confidence] | None:
    """Which operation of unknown size an expression is, with the confidence; None for any other."""
    evaluator = Evaluator(point.file, point.full_env)
    if isinstance(node, ast.Subscript):
        return _masked(node, point, evaluator)
    if not isinstance(node, ast.Call):
        return None
    owner, _, last = point.file.names.resolve(dotted(node.func) or "").rpartition(".")
    if owner in ("paddle", "paddle.tensor", "paddle.fluid.layers"):
        is_found = last in OPERATIONS and _is_dynamic(last, node.args, node.keywords, evaluator)
        return (last, Confidence.HIGH) if is_found else None
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in OPERATIONS:
        return None
    kind = evaluator.kind(node.func.value)
    if not kind.is_tensor or not _is_dynamic(node.func.attr, [node.func.value, *node.args], node.keywords, evaluator):
        return None
    return node.func.attr, Confidence.MEDIUM if kind.guess else Confidence.HIGH


def mask_of(node: ast.AST) -> ast.AST:
    """What an operation selects by: ``mask`` of ``x[mask]``, ``paddle.masked_select(x, mask)``, ``mask.nonzero()``."""
    if isinstance(node, ast.Subscript):
        return node.slice
    if not isinstance(node, ast.Call):
        return node
    given = arguments_of(node)
    return given[-1] if given else node.func.value if isinstance(node.func, ast.Attribute) else node


def _is_dynamic(name: str, args: list[ast.expr], keywords: list[ast.keyword], evaluator: Evaluator) -> bool:
    if name == "where":
        return len(args) + len(keywords) == 1
    if name == "repeat_interleave":
        repeats = args[1] if len(args) > 1 else next((item.value for item in keywords if item.arg == "repeats"), None)
        return repeats is not None and evaluator.kind(repeats).is_tensor
    return True


def _masked(node: ast.Subscript, point: Point, evaluator: Evaluator) -> tuple[str, Confidence] | None:
    base = evaluator.kind(node.value)
    if not base.is_tensor and base.tag != UNKNOWN_TAG:
        return None
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    masks = [kind for index in indices if _is_mask(index, kind := evaluator.kind(index), point.scope)]
    if not masks or (not base.is_tensor and all(mask.guess for mask in masks)):
        return None  # of two values that are not certainly tensors
    is_sure = base.is_tensor and not base.guess and not masks[0].guess
    return MASK, Confidence.HIGH if is_sure else Confidence.MEDIUM


def _is_mask(index: ast.expr, kind: Kind, scope: Scope) -> bool:
    """Whether an index is a tensor of truth values; nobody selects rows by numbers, as in ``x[~numbers]``."""
    if kind.truth or not kind.is_tensor:
        return kind.truth
    return _inverts(index) or dotted(index) in scope.once(_inverted, lambda: _inverted(scope))


def _inverted(scope: Scope) -> frozenset[str]:
    """The names that a function inverts: ``x[~mask]`` shows that ``mask`` has truth values."""
    parts = (part for statement in scope.statements for header in headers(statement.node) for part in walk(header))
    return frozenset(filter(None, (dotted(part.operand) for part in parts if _inverts(part))))


def _inverts(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)


# Finds uses of the result of an operation of unknown size for which an operation of known size gives the same.
#
# ``x[mask].sum()`` is the sum of a product with the mask. Selected rows that the code continues to use have no such
# form.


class Form(enum.Enum):
    """What all uses of a result amount to."""

    SUM = "a sum or a mean"
    EXTREME = "the least or the largest of them"
    LOSS = "a loss"
    CLASS_LOSS = "a loss of class labels, which can ignore some"
    LOSS_OF_PICKED = "a loss against what a model picked by the same mask"
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
"""Functions and methods that compute one value for each value."""
_ROW_BY_ROW = frozenset({"one_hot", "softmax", "log_softmax"})
"""Functions that compute one row for each row, keeping the rows."""
_RESHAPING = frozenset({"reshape", "view"})
_LOSSES = LOSS_FUNCTIONS | {"sigmoid_focal_loss"}
_PICKING = frozenset({"gather", "gather_nd", "index_select", "masked_select"})
_NUMBERS = frozenset({"max", "min", "float", "int"})
_MOST_USES = 8
_DEEPEST = 3
_PLAIN = _NUMBERS | {"len", "sum", "range", "list", "tuple", "zip", "enumerate", "isinstance", "print"}
"""Functions of Python that do not use the rows."""


@of_point
def dense_form(point: Point, node: ast.expr) -> Form | None:
    """The use of an operation of unknown size, if a form of known size could replace it; otherwise None."""
    return _Search(point, node).found()


def _path(top: ast.AST, node: ast.AST) -> tuple[ast.AST, ...] | None:
    """The nodes from ``top`` to the parent of a node."""
    for child in children(top):
        if child is node:
            return (top,)
        below = _path(child, node)
        if below is not None:
            return (top, *below)
    return None


class _Search:
    """Follows a result through one function.

    Args:
        point: the facts at the statement of the result.
        node: the result.
    """

    def __init__(self, point: Point, node: ast.AST) -> None:
        self._point = point
        self._node = node
        self._names = point.file.names

    def found(self) -> Form | None:
        """What the result is used for."""
        node, statement = self._node, self._point.statement
        parents = _path(statement.node, node)
        return self.form(node, parents, statement, 0) if parents is not None else None

    def form(self, node: ast.AST, parents: Sequence[ast.AST], statement: Statement, depth: int) -> Form | None:
        """What a result is used for, according to the nodes around it, from the inside out."""
        inner = node
        for place in range(len(parents) - 1, -1, -1):
            parent = parents[place]
            if isinstance(parent, ast.stmt):
                return self._named(inner, statement, depth)
            if _is_count(parent, inner):
                return Form.COUNT if self._is_number(parents[:place], parent, statement, depth) else None
            if isinstance(parent, ast.Subscript) and parent.slice is inner and isinstance(parent.ctx, ast.Store):
                return Form.FILL if self._fills(statement.node) else None
            found = self._taken(parent, inner, statement) if isinstance(parent, ast.Call) else None
            if found is not None:
                if found in (Form.LOSS, Form.CLASS_LOSS) and not self._others_stay(parent, inner, statement):
                    return None
                return Form.ROW_EXTREME if found is Form.ROWS and _takes_extreme(parents[:place]) else found
            if not self._goes_on(parent, inner, statement):
                return None
            inner = parent
        return None

    def _taken(self, call: ast.Call, inner: ast.AST, statement: Statement) -> Form | None:
        """What a call computes from all values together."""
        name = terminal(call) or ""
        resolved = self._names.resolve(dotted(call.func) or "")
        is_method = inner is call.func
        if is_method or resolved.startswith("paddle."):
            given = call.args if is_method else call.args[1:]
            if name in _RESHAPING and _keeps_rows(given):
                return Form.ROWS
            if name in _REDUCING and not given and all(item.arg in ("x", "dtype") for item in call.keywords):
                return _REDUCING[name]
        if is_method:
            return None
        kind = Evaluator(self._point.file, self._point.full_env).kind(call.func)
        is_layer = kind.tag == LAYER_TAG and kind.type.startswith("paddle.nn.") and "Loss" in kind.type
        is_loss = resolved.startswith("paddle.nn.functional.") and name in _LOSSES
        if not is_layer and not is_loss:
            return None
        if self._is_against_picked(call, inner, statement):
            return Form.LOSS_OF_PICKED
        can_ignore = name == "cross_entropy" if is_loss else kind.type.endswith(".CrossEntropyLoss")
        return Form.CLASS_LOSS if can_ignore and not _is_soft(call) else Form.LOSS

    def _goes_on(self, parent: ast.AST, inner: ast.AST, statement: Statement) -> bool:
        """Whether an expression computes a value for each of the values, or selects by them."""
        if isinstance(parent, ast.Subscript):
            return inner is parent.slice or self._is_part_of_each(parent, inner, statement)
        if isinstance(parent, ast.Attribute):
            return parent.attr in _ITEM_BY_ITEM or parent.attr in _REDUCING or parent.attr in _RESHAPING
        if isinstance(parent, (ast.BinOp, ast.Compare)):
            return self._others_stay(parent, inner, statement)
        if not isinstance(parent, ast.Call):
            return isinstance(parent, (ast.UnaryOp, ast.keyword))
        name = terminal(parent) or ""
        if inner is not parent.func and not self._names.resolve(dotted(parent.func) or "").startswith("paddle."):
            return False
        if name in _RESHAPING:
            return _is_flat(parent.args if inner is parent.func else parent.args[1:])
        return name in _ITEM_BY_ITEM | _ROW_BY_ROW or (name in _PICKING and inner is not parent.func)

    def _is_part_of_each(self, node: ast.Subscript, inner: ast.AST, statement: Statement) -> bool:
        """Whether an index takes a part of each row, or selects again by a mask: ``picked[:, :-1]``"""
        if inner is not node.value:
            return False
        if _is_of_columns(node.slice) or (isinstance(inner, ast.Call) and _is_part(node.slice)):
            return True
        here = points_of(self._point.file).get(statement.node)
        return here is not None and dynamic_op(here, node) is not None

    def _others_stay(self, parent: ast.AST, inner: ast.AST, statement: Statement) -> bool:
        """Whether nothing that is combined elementwise with the values was computed from selected rows by other code.

        If a function computes a loss of selected boxes, it has one value for each selected row, and only selected
        weights fit.
        """
        others = [child for child in children(parent) if child is not inner]
        calls = [item for other in others for item in walk(other) if isinstance(item, ast.Call)]
        names = set().union(*(plain_names(other) for other in others))
        is_made = any(self._works_on_rows(call, statement) for call in calls)
        return not is_made and all(self._stays(name, statement, 0) for name in names)

    def _stays(self, name: str, statement: Statement, depth: int) -> bool:
        """Whether no other code computes the value of a name from selected rows."""
        for binding in before(name, statement, self._point.scope):
            made = binding.statement
            if any(self._works_on_rows(call, made) for call in made.calls):
                return False
            value = getattr(made.node, "value", None)
            inside = plain_names(value) if isinstance(value, ast.expr) and depth < _DEEPEST else ()
            if not all(self._stays(other, made, depth + 1) for other in inside):
                return False
        return True

    def _works_on_rows(self, call: ast.Call, statement: Statement) -> bool:
        """Whether a call passes selected rows to a function of the project."""
        name = dotted(call.func) or ""
        if not (name.startswith("self.") or isinstance(call.func, ast.Name)) or name in _PLAIN:
            return False
        kind = Evaluator(self._point.file, self._point.full_env).kind(call.func)
        if self._names.resolve(name).startswith("paddle.") or kind.type.startswith("paddle.nn."):
            return False
        names = set().union(*(plain_names(item) for item in arguments_of(call)))
        return any(self._picks(name, statement) for name in names)

    def _picks(self, name: str, statement: Statement) -> bool:
        """Whether the value of a name was selected by an operation of unknown size."""
        known = points_of(self._point.file)
        for binding in before(name, statement, self._point.scope):
            value, here = getattr(binding.statement.node, "value", None), known.get(binding.statement.node)
            if isinstance(value, ast.expr) and here is not None:
                parts = (item for item in walk(value) if isinstance(item, (ast.Call, ast.Subscript)))
                if any(dynamic_op(here, item) is not None for item in parts):
                    return True
        return False

    def _is_against_picked(self, call: ast.Call, inner: ast.AST, statement: Statement) -> bool:
        """Whether the other argument of a loss comes from a model that got the mask, so it may be selected there."""
        mask = dotted(mask_of(self._node))
        others = [child for child in children(call) if child is not inner and child is not call.func]
        if mask is None or any(dotted(item.slice) == mask for other in others for item in _subscripts(other)):
            return False
        names = set().union(*(plain_names(other) for other in others))
        made = (binding.statement for name in names for binding in before(name, statement, self._point.scope)[:1])
        return any(mask in map(dotted, arguments_of(item)) for at in made for item in at.calls if self._is_own(item))

    def _is_own(self, call: ast.Call) -> bool:
        """Whether a call is of something that the project defines, judging by names."""
        is_of_paddle = self._names.resolve(dotted(call.func) or "").startswith("paddle.")
        return not is_of_paddle and terminal(call) not in OPERATIONS | _PICKING

    def _named(self, value: ast.AST, statement: Statement, depth: int) -> Form | None:
        """The use of a name that a statement binds to a result."""
        node = statement.node
        if isinstance(node, ast.Assign) and node.value is value and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AugAssign) and node.value is value:
            target = node.target
        else:
            return None
        uses = self._read(target, statement) if depth < _DEEPEST else []
        forms = [self.form(use.node, use.parents, use.statement, depth + 1) for use in uses]
        return next((form for form in forms if form is not Form.COUNT), Form.COUNT) if forms and all(forms) else None

    def _read(self, target: ast.expr, statement: Statement) -> list[Use]:
        """The places that read a name before it is bound again."""
        scope = uses_in(self._point.file, self._point.scope)
        if not isinstance(target, ast.Name) or scope.is_shared(target.id):
            return []
        found: list[Use] = []
        for use in scope.by_name.get(target.id, ()):
            is_changed = isinstance(use.statement.node, ast.AugAssign) and use.statement.node.target is use.node
            if use.statement.start <= statement.start or is_changed or _is_no_use(use.parent):
                continue
            if not isinstance(use.node.ctx, ast.Load):
                break
            found.append(use)
        return found if len(found) <= _MOST_USES else []

    def _is_number(self, parents: Sequence[ast.AST], count: ast.AST, statement: Statement, depth: int) -> bool:
        """Whether a count is only used in arithmetic: a test or a shape needs it on the host."""
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
        if isinstance(node, ast.Assign) and isinstance(inner, ast.BinOp) and isinstance(node.targets[0], ast.Attribute):
            return True  # a running mean, which may also be a tensor
        if not isinstance(node, ast.Assign) or node.value is not inner:
            return isinstance(node, ast.Return) and isinstance(inner, ast.BinOp)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div):
            return True
        uses = self._read(node.targets[0], statement) if depth < _DEEPEST else []
        return bool(uses) and all(self._is_number(use.parents, use.node, use.statement, depth + 1) for use in uses)

    def _fills(self, node: ast.stmt) -> bool:
        """Whether a statement assigns a number to the selected places."""
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            return False
        return Evaluator(self._point.file, self._point.full_env).kind(node.value).is_host


def _takes_extreme(around: Sequence[ast.AST]) -> bool:
    """Whether some nodes take the minimum or the maximum: ``paddle.max(rows, axis=1)``."""
    nearest = next((node for node in reversed(around) if isinstance(node, (ast.Call, ast.stmt))), None)
    return isinstance(nearest, ast.Call) and _REDUCING.get(terminal(nearest) or "") is Form.EXTREME


def _is_of_numbers(parent: ast.AST, inner: ast.AST) -> bool:
    """Whether an expression computes a number from a count: ``max(count, 1)``, or ``x.shape[0]`` of a shape."""
    if isinstance(parent, ast.Subscript):
        return parent.value is inner
    if isinstance(parent, ast.Call):
        return inner is not parent.func and terminal(parent) in _NUMBERS
    return isinstance(parent, (ast.BinOp, ast.UnaryOp))


def _is_soft(call: ast.Call) -> bool:
    """Whether a loss may get probabilities rather than labels, of which it can ignore none."""
    return any(item.arg in ("soft_label", None) for item in call.keywords)


def _is_count(parent: ast.AST, inner: ast.AST) -> bool:
    """Whether an expression is like ``x.shape``, ``len(x)``, ``x.numel()``."""
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "size")
    return isinstance(parent, ast.Call) and inner is not parent.func and dotted(parent.func) == "len"


def _is_part(index: ast.expr) -> bool:
    """Whether an index takes a column of the indices found: ``nonzero(x)[:, 0]``, ``where(x)[0]``"""
    if isinstance(index, ast.Tuple) and len(index.elts) == 2 and isinstance(index.elts[0], ast.Slice):
        return isinstance(index.elts[1], ast.Constant)
    return isinstance(index, ast.Constant) and index.value == 0 and string_of(index) is None


def _is_of_columns(index: ast.expr) -> bool:
    """``rows[:, 0]``, ``rows[..., :-1]``"""
    first, *rest = index.elts if isinstance(index, ast.Tuple) else [index]
    is_all = isinstance(first, ast.Constant) and first.value is ...
    if isinstance(first, ast.Slice):
        is_all = first.lower is first.upper is first.step is None
    return is_all and bool(rest) and all(isinstance(item, (ast.Slice, ast.Constant)) for item in rest)


def _is_no_use(node: ast.AST) -> bool:
    """Whether the code around a name does not use the values: ``x.stop_gradient = True``, ``x is None``"""
    if isinstance(node, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops)
    return isinstance(node, ast.Attribute) and node.attr == "stop_gradient"


def _subscripts(node: ast.AST) -> Iterator[ast.Subscript]:
    return (item for item in walk(node) if isinstance(item, ast.Subscript))


def _shape(given: Sequence[ast.expr]) -> list[ast.expr]:
    first = given[0] if given else None
    return first.elts if isinstance(first, (ast.List, ast.Tuple)) else list(given)


def _keeps_rows(given: Sequence[ast.expr]) -> bool:
    """Whether a shape counts rows and leaves the number of values in each open: ``[batch_size, -1, width]``."""
    first, *rest = [ast.unparse(size) for size in _shape(given)] or [""]
    is_number_of_rows = not first.endswith("]") or first.endswith("shape[0]")  # ``x.shape[-1]`` counts columns
    is_written = not first or first.lstrip("-").isdigit()  # ``edges[kept].reshape([2, -1])``: any number of edges
    return is_number_of_rows and not is_written and "-1" in rest


def _is_flat(given: Sequence[ast.expr]) -> bool:
    return [ast.unparse(size) for size in _shape(given)][:1] == ["-1"]
