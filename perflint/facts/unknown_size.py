"""Operations whose result has a size that only the device knows, and how their uses could do without it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.flow.uses import Use, UseSearch, ends, uses
from perflint.index.kinds import LAYER_TAG, UNKNOWN_TAG, Kind
from perflint.paddle.call_results import LOSS_FUNCTIONS
from perflint.paddle.inside import UNKNOWN_SIZES
from perflint.syntax.bindings import Mention
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, Statement, headers, terminal
from perflint.syntax.tree import alike, children, string_of, walk
from perflint.training.steps import Point, of_point, points_of

# Finds operations with a result of a size that only the device knows, so that the host waits for it.

MASK = "x[mask]"


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
        is_found = last in UNKNOWN_SIZES and _is_dynamic(last, node.args, node.keywords, evaluator)
        return (last, Confidence.HIGH) if is_found else None
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in UNKNOWN_SIZES:
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
    PLACES = "the same places of another tensor"
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
_MOST_USES = 50
_PLAIN = _NUMBERS | {"len", "sum", "range", "list", "tuple", "zip", "enumerate", "isinstance", "print"}
"""Functions of Python that do not use the rows."""


@of_point
def dense_form(point: Point, node: ast.expr) -> Form | None:
    """The use of an operation of unknown size, if a form of known size could replace it; otherwise None."""
    return _Dense(point, node).found()


class _Dense(UseSearch):
    """Follows a result through one function.

    Args:
        point: the facts at the statement of the result.
        node: the result.
    """

    def __init__(self, point: Point, node: ast.expr) -> None:
        self._point = point
        self._node = node
        self._names = point.file.names

    def found(self) -> Form | None:
        """What the result is used for."""
        if self._node not in self._point.statement.parents:
            return None
        at = self._point.place
        forms = [self._form(use) for use in ends(uses(self._node, at, through=self, budget=_MOST_USES))]
        return next((form for form in forms if form is not Form.COUNT), Form.COUNT) if all(forms) else None

    def passes(self, use: Use) -> bool:
        """Whether an expression computes a value for each of the values, or selects by them."""
        return self._form(use) is None and self._goes_on(use.around, use.node, use.statement)

    def follows(self, use: Use) -> bool:
        """Whether a statement only binds one name to the values."""
        around = use.around
        is_bound = isinstance(around, ast.Assign) and len(around.targets) == 1 and self._form(use) is None
        return is_bound or isinstance(around, ast.AugAssign)

    def sees(self, use: Use, mention: Mention, key: ast.expr | None) -> bool:
        """Whether the code around a name uses the values, unlike ``x.stop_gradient = True`` and ``x is None``."""
        parent = mention.parent
        if isinstance(parent, ast.Compare):
            return not all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in parent.ops)
        return not (isinstance(parent, ast.Attribute) and parent.attr == "stop_gradient")

    def _form(self, use: Use) -> Form | None:
        """What the code around a result does with all of its values together."""
        around, node, statement = use.around, use.node, use.statement
        if _is_count(around, node):
            counted = uses(around, use.place, through=_Count()) if isinstance(around, ast.expr) else iter(())
            return Form.COUNT if all(map(_is_number, ends(counted))) else None
        if isinstance(around, ast.Subscript) and around.slice is node and isinstance(around.ctx, ast.Store):
            return Form.FILL if self._fills(statement.node) else None
        found = self._taken(around, node, statement) if isinstance(around, ast.Call) else None
        is_whole = around is statement.node or (found in (Form.LOSS, Form.CLASS_LOSS) and _is_not_reduced(around))
        if is_whole and self._writes_back(statement.node):
            return Form.PLACES
        if found in (Form.LOSS, Form.CLASS_LOSS) and not self._others_stay(around, node, statement):
            return None
        return Form.ROW_EXTREME if found is Form.ROWS and _takes_extreme(statement.path_to(around)) else found

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
            return isinstance(parent, ast.UnaryOp)
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
        others = [child for child in children(parent) if inner is not getattr(child, "value", child)]
        calls = [item for other in others for item in walk(other) if isinstance(item, ast.Call)]
        if any(self._works_on_rows(call, statement) for call in calls):
            return False
        waiting = [(name, statement) for other in others for name in plain_names(other)]
        for name, at in waiting:  # grows during the loop
            for binding in before(name, at, self._point.scope):
                made, value = binding.statement, getattr(binding.statement.node, "value", None)
                if any(self._works_on_rows(call, made) for call in made.calls):
                    return False
                inside = plain_names(value) if isinstance(value, ast.expr) else ()
                waiting += ((other, made) for other in inside if (other, made) not in waiting)
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
        return not is_of_paddle and terminal(call) not in UNKNOWN_SIZES | _PICKING

    def _writes_back(self, node: ast.stmt) -> bool:
        """Whether a statement puts the values where the mask took them from: ``y[mask] = x[mask]``."""
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        return isinstance(target, ast.Subscript) and alike(target.slice, mask_of(self._node))

    def _fills(self, node: ast.stmt) -> bool:
        """Whether a statement assigns a number to the selected places."""
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            return False
        return Evaluator(self._point.file, self._point.full_env).kind(node.value).is_host


class _Count(UseSearch):
    """Follows the number of the values through arithmetic."""

    def passes(self, use: Use) -> bool:
        """Whether an expression computes a number from the count."""
        return _is_of_numbers(use.around, use.node)

    def follows(self, use: Use) -> bool:
        """Whether a name is bound to the number, or to something that may only be one on the host."""
        return isinstance(use.around, ast.Assign) and not _is_number(use)


def _is_number(use: Use) -> bool:
    """Whether a count is only used in arithmetic: a test or a shape needs it on the host."""
    node, around = use.node, use.around
    if isinstance(around, ast.Assign) and isinstance(node, ast.BinOp):
        # A running mean may also be a tensor.
        return isinstance(node.op, ast.Div) or isinstance(around.targets[0], ast.Attribute)
    return isinstance(around, ast.AugAssign) or (isinstance(around, ast.Return) and isinstance(node, ast.BinOp))


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


def _is_not_reduced(node: ast.AST) -> bool:
    """Whether a loss keeps a value for each of those that it gets: ``reduction="none"``."""
    given = node.keywords if isinstance(node, ast.Call) else ()
    return any(item.arg == "reduction" and string_of(item.value) == "none" for item in given)


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
