"""Finds calls that return truth values: comparisons, logical functions, casts, and functions that keep items."""

from __future__ import annotations

import ast

from perflint.syntax.names import Names, dotted
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import string_of

BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
"""Operators that give truth values if one side has them, since Paddle requires equal types."""
_LOGICAL = frozenset({"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isfinite", "isinf"})
COMPARING = _LOGICAL | {"equal", "not_equal", "greater_than", "greater_equal", "less_than", "less_equal"}
"""Functions, and methods of tensors, that always return truth values."""
_COMPARING = COMPARING | {"isclose", "isin", "any", "all", "eq", "ne", "gt", "ge", "lt", "le", "less"}
_KEEPING = frozenset(
    {"reshape", "flatten", "squeeze", "unsqueeze", "transpose", "expand", "expand_as", "broadcast_to", "tile", "flip"}
    | {"roll", "gather", "gather_nd", "index_select", "masked_select", "slice", "detach", "clone", "view", "t", "cuda"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "split", "chunk", "unbind", "concat", "stack"}
    | {"contiguous", "permute", "swapaxes", "moveaxis", "broadcast_tensors", "repeat_interleave", "tril", "triu"}
    | {"ravel", "take_along_axis", "unstack", "index_sample", "assign"}
)
"""Functions and methods whose result consists of items of their first argument, or of those in a list."""
_CASTING = frozenset(
    {"astype", "cast", "to", "type", "to_tensor", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like"}
)
_TRUTH_TYPES = frozenset({"bool", "paddle.bool", "numpy.bool_", "numpy.bool", "paddle.bool_"})


def compares(call: ast.Call, names: Names) -> bool:
    """Whether a call of Paddle or of a tensor's method gives truth values: ``x.equal(y)``, ``x.astype("bool")``."""
    name = terminal(call) or ""
    if name in _CASTING:
        handed = (*call.args, *(item.value for item in call.keywords))
        return any(_is_type_of_truth(value, names) for value in handed)
    return name in _COMPARING or name == "bool"


def _is_type_of_truth(node: ast.expr, names: Names) -> bool:
    """Whether an expression is the type of truth values, as passed to a cast: ``"bool"``, ``paddle.bool``."""
    written = string_of(node)
    return (written if written is not None else names.resolve(dotted(node) or "")) in _TRUTH_TYPES


def keeps_items(call: ast.Call) -> bool:
    """Whether the result of a call consists of items of its first argument: ``mask.flatten(1)``."""
    return terminal(call) in _KEEPING
