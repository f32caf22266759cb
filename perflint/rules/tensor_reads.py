"""Finds the tensor that a call copies to the host, and whether an expression is one tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.flow.values import Values
from perflint.index.kinds import Kind
from perflint.lint.context import Context
from perflint.paddle.tensor_methods import ARRAY_FUNCTIONS, CONVERSIONS, COPYING_METHODS
from perflint.rules.edits import on_device
from perflint.syntax.names import dotted
from perflint.syntax.parameters import default_of, is_none
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import base_of, walk
from perflint.training.steps import Point

# Whether an expression is one tensor whose value Python would have to fetch from the device.
#
# A kind alone does not show that: a list or a dict of tensors has the kind of its tensors, and testing whether a list
# is empty reads nothing. So there has to be something that only a tensor allows.

_TENSOR_METHODS = frozenset(
    {"any", "all", "isnan", "isfinite", "isinf", "sum", "mean", "max", "min", "prod", "norm", "std", "var"}
    | {"median", "amax", "amin", "nanmean", "nansum", "count_nonzero", "argmax", "argmin", "abs", "sign", "sqrt"}
    | {"square", "equal", "not_equal", "equal_all", "less_than", "less_equal", "greater_than", "greater_equal"}
    | {"allclose", "isclose", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or"}
    | {"astype", "cast", "detach", "clone", "squeeze", "unsqueeze", "reshape", "flatten", "round", "floor", "exp"}
    | {"log"}
)
# Their kernels leave the result in host memory, so reading it does not wait.
_ON_THE_HOST = frozenset({"numel", "shape", "rank", "is_empty", "get_shape"})
_OF_HOST_VALUES = frozenset({"sum", "max", "min", "int", "paddle.sum", "paddle.max", "paddle.min", "paddle.prod"})
"""Functions whose result is where their arguments are: ``sum(paddle.shape(x))`` never leaves the host."""
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUALITY = (ast.Eq, ast.NotEq)
_DISPLAYS = (ast.Tuple, ast.List, ast.Dict, ast.Set)
_LISTS = frozenset({"list", "tuple", "set", "dict", "sorted", "zip", "map", "collections.deque"})


class Evidence:
    """Decides whether expressions at one statement are a single device tensor."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._evaluator = Evaluator(point.file, point.full_env)
        self._names = point.file.names
        self._definitions = Values.of(point.file.project).definitions(point.function)
        self._losses: frozenset[str] | None = None

    def kind(self, node: ast.expr) -> Kind:
        """The kind of an expression at the statement."""
        return self._evaluator.kind(node)

    def tensor(self, node: ast.expr) -> Kind | None:
        """The kind of the tensor that ``bool(node)`` reads; None if it is not one, or nothing shows that it is."""
        kind, waiting = self._one(node), [node]
        for item in waiting:  # grows in the loop
            one = self._one(item)
            if one is not None and self._is_shown(item, one):
                return kind
            alike = self._alike(item) if one is not None else ()
            waiting += [part for part in alike if part not in waiting]
        return None

    def operand(self, node: ast.expr) -> Kind | None:
        """The kind of a tensor that is an operand of a comparison or an argument of a mathematical function."""
        kind = self.kind(node)
        return kind if kind.is_tensor and not kind.items and not self._is_on_the_host(node) else None

    def item(self, node: ast.expr) -> Kind | None:
        """The kind of the tensors in what is certainly a list of them."""
        listed = self.bound(node)
        if isinstance(listed, (ast.ListComp, ast.GeneratorExp)):
            return self._evaluator.inside(listed.generators).kind(listed.elt) if self.kind(listed).is_tensor else None
        if not isinstance(listed, (ast.List, ast.Tuple)):
            return None
        return next((kind for kind in map(self.operand, listed.elts) if kind is not None), None)

    def bound(self, node: ast.expr) -> ast.expr:
        """The value of a name that is bound once, otherwise the expression itself."""
        name = dotted(node)
        return self._definitions.get(name, node) if name else node

    def is_one_tensor(self, node: ast.expr) -> bool:
        """Whether an expression is certainly one tensor, and not only by its name."""
        kind = self.kind(node)
        return kind.is_tensor and not kind.guess and not kind.items and not self.is_listed(node)

    def is_listed(self, node: ast.expr) -> bool:
        """Whether an expression is a list or the like of tensors: it has their kind, but none of their methods."""
        value = self.bound(node)
        if isinstance(value, (*_DISPLAYS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return True
        return isinstance(value, ast.Call) and self.builtin(value.func) in _LISTS

    def builtin(self, node: ast.expr) -> str:
        """The qualified name of a function, ``""`` for one that is computed."""
        return self._names.qualified(node)

    def is_off(self, node: ast.expr) -> bool:
        """Whether an expression is a parameter of the function that is false unless a call says otherwise."""
        default = default_of(self._point.scope, node.id) if isinstance(node, ast.Name) else None
        return isinstance(default, ast.Constant) and not default.value

    def is_handed_over(self, node: ast.expr) -> bool:
        """Whether a test is ``x is not None``, or ``x``, for an optional parameter."""
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.IsNot):
            return is_none(node.comparators[0]) and self.is_off(node.left)
        if isinstance(node, ast.Call) and dotted(node.func) == "exists" and len(node.args) == 1:
            return self.is_off(node.args[0])
        return self.is_off(node)

    def sources(self, node: ast.expr) -> Iterator[ast.expr]:
        """An expression and the values of the names in it, as far as each is one expression."""
        yield node
        for item in walk(node):
            if isinstance(item, ast.Name) and item.id in self._definitions:
                yield self._definitions[item.id]

    def _one(self, node: ast.expr) -> Kind | None:
        """The kind of an expression that is a tensor or a list of tensors; of a comparison, that of a side."""
        if not isinstance(node, ast.Compare):
            return self.operand(node)
        sides = [node.left, *node.comparators]
        if not all(isinstance(operator, (*_ORDER, *_EQUALITY)) for operator in node.ops):
            return None
        if any(isinstance(side, _DISPLAYS) or _is_no_number(side) for side in sides):
            return None
        kinds = [kind for kind in map(self.operand, sides) if kind is not None]
        return next((kind for kind in kinds if not kind.guess), next(iter(kinds), None))

    def _is_shown(self, node: ast.expr, kind: Kind) -> bool:
        """Whether an expression is something that only one tensor can be, whatever its parts are."""
        if isinstance(node, ast.Compare):
            # Lists and strings have an order only incidentally, but are often compared: one side has to be a number.
            sides = (node.left, *node.comparators)
            is_order = all(isinstance(operator, _ORDER) for operator in node.ops)
            return is_order or any(isinstance(side, ast.Constant) for side in sides) or all(map(self.operand, sides))
        if kind.scalar:
            return True
        if isinstance(node, ast.Call):
            return self._is_tensor_call(node)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, (ast.Invert, ast.USub))
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, ast.Add)
        if self._losses is None:
            self._losses = _differentiated(self._point.scope)
        return dotted(node) in self._losses

    def _alike(self, node: ast.expr) -> Sequence[ast.expr]:
        """The expressions of which an expression is one tensor if one of them is."""
        if isinstance(node, ast.Compare):
            return node.left, *node.comparators
        if isinstance(node, ast.BinOp):
            return node.left, node.right
        if isinstance(node, ast.Subscript):
            return node.value, *self._bound_in_branches(node.value)
        definition = self._definitions.get(dotted(node) or "")
        return (definition,) if definition is not None else ()

    def _bound_in_branches(self, node: ast.expr) -> Sequence[ast.expr]:
        """What several statements may give a name: ``mask = a == b``, and in a branch ``mask = paddle.any(a)``."""
        if not isinstance(node, ast.Name):
            return ()
        values = [each.value for each in before(node.id, self._point.statement, self._point.scope)]
        known = [each for each in values if each is not None and not self.kind(each).is_host]
        return known if len(known) == len(values) else ()

    def _is_tensor_call(self, call: ast.Call) -> bool:
        qualified = self.builtin(call.func)
        if qualified.startswith("paddle.") or qualified in ("sum", "abs"):
            return True
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _TENSOR_METHODS:
            return False
        return self.kind(call.func.value).is_tensor

    def _is_on_the_host(self, node: ast.expr) -> bool:
        node = base_of(node)
        node = base_of(self._definitions.get(dotted(node) or "", node))
        if not isinstance(node, ast.Call):
            return False
        if self.builtin(node.func) in _OF_HOST_VALUES:
            given = [item for item in node.args if not isinstance(item, ast.Constant)]
            return bool(given) and all(map(self._is_on_the_host, given))
        return self._names.resolve(terminal(node) or "").rpartition(".")[2] in _ON_THE_HOST


def _differentiated(scope: Scope) -> frozenset[str]:
    """Names that a scope takes the gradient of: ``X.backward()``, ``scaler.scale(X)``, ``optimizer.minimize(X)``."""
    found = (
        dotted(call.args[0] if call.args else call.func.value)
        for call in scope.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "scale", "minimize")
    )
    return frozenset(filter(None, found))


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and not (isinstance(node.value, (int, float)) and node.value is not None)
    )


# Finds the tensor that a call copies to the host: ``loss`` for ``float(loss)``, ``loss.item()``, ``np.mean(loss)``.

_CONVERSIONS = CONVERSIONS | {"complex"}
# NumPy functions that say something about an array and so read it; np.random and the like do not take tensors.
_NUMPY_READS = ARRAY_FUNCTIONS | frozenset(
    {"ascontiguousarray", "mean", "sum", "isnan", "isfinite", "isinf", "max", "min", "abs"}
    | {"sqrt", "exp", "log", "argmax", "argmin", "any", "all", "round", "stack", "concatenate", "std", "median"}
    | {"squeeze", "transpose", "float32", "float64", "int32", "int64", "clip", "where", "around", "append", "reshape"}
    | {"vstack", "hstack"}
)
# A value that is a tensor only by its name in the code may be a number for these.
_OF_NUMBERS = frozenset(
    {"numpy.linalg.norm", "numpy.unique", "numpy.argsort", "numpy.sort", "numpy.cumsum", "numpy.var", "numpy.prod"}
    | {"numpy.dot", "numpy.matmul", "numpy.square", "numpy.power", "numpy.maximum", "numpy.minimum", "numpy.ceil"}
    | {"numpy.floor", "numpy.count_nonzero", "numpy.percentile", "numpy.repeat", "numpy.tile", "numpy.pad"}
    | {"numpy.expand_dims", "numpy.array_equal", "numpy.allclose", "numpy.histogram", "numpy.nonzero"}
    | {"math.exp", "math.log", "math.log2", "math.log10", "math.sqrt", "math.pow", "math.floor", "math.ceil"}
)
READING_CALLS = COPYING_METHODS | _CONVERSIONS | _NUMPY_READS | {name.rpartition(".")[2] for name in _OF_NUMBERS}
"""Last names of all calls that read a tensor: methods, conversions, functions of NumPy and ``math``."""


def tensor_read_by(call: ast.Call, context: Context) -> ast.expr | None:
    """The device tensor that a call copies to the host; None if it reads none."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in COPYING_METHODS:
        return _read_by_method(function, context)
    if not call.args or isinstance(call.args[0], ast.Starred):
        return None
    argument, name = call.args[0], context.name(function)  # a name without a binding is returned itself
    converts = isinstance(function, ast.Name) and name in _CONVERSIONS
    counts = name == "range" and len(call.args) == 1 and isinstance(argument, ast.Call)
    if converts or (name.startswith("numpy.") and name[6:] in _NUMPY_READS):
        return argument if context.kind(argument).is_tensor else None
    if counts or name in _OF_NUMBERS:
        return argument if certainty(argument, context) is Confidence.HIGH else None
    return None


def _read_by_method(function: ast.Attribute, context: Context) -> ast.expr | None:
    """The tensor that ``loss.item()`` or the like reads."""
    tensor = on_device(function.value)  # .cpu() and .detach() before a read belong to it: `loss.detach().cpu().numpy()`
    kind = context.kind(tensor)
    if kind.is_host or kind.tag not in ("tensor", "unknown", "tuple"):
        return None
    return tensor if kind.is_tensor or function.attr not in ("tolist", "cpu") else None


def certainty(tensor: ast.expr, context: Context) -> Confidence:
    """How certain it is that an expression is a device tensor: by its kind, or only by a name and a method."""
    kind = context.kind(tensor)
    return Confidence.HIGH if kind.is_tensor and not kind.guess else Confidence.MEDIUM
