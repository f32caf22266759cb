"""Finds which numbers in an expression are sizes: shapes, counts, and bounds of slices.

They cannot be on the device: ``paddle.zeros([n, 4])``, ``range(n)`` and ``x[:n]`` need ``n`` on the host.
"""

from __future__ import annotations

import ast

from perflint.syntax.names import Names, dotted
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import children

GIVE_A_NUMBER = frozenset({"int", "float", "max", "min", "round", "abs", "sum"})
"""Functions of Python that compute a number from numbers."""

_OF_A_TENSOR = frozenset(
    {"reshape", "view", "expand", "tile", "broadcast_to", "split", "chunk", "narrow", "repeat", "one_hot"}
)
"""Functions of ``_SHAPED`` whose first argument is a tensor, unless they are its methods."""
_SHAPED = _OF_A_TENSOR | {
    *("zeros", "ones", "full", "empty", "arange", "linspace", "eye"),
    *("rand", "randn", "randint", "randperm"),
}
"""Functions whose numbers are shapes, or counts of their results."""


def sizes_in(node: ast.AST, names: Names) -> list[ast.AST]:
    """The direct parts of an expression that are sizes: ``[n, 4]`` in ``x.reshape([n, 4])``, ``n`` in ``:n``."""
    if isinstance(node, ast.Slice):
        return children(node)
    return _sizes_given(node, names) if isinstance(node, ast.Call) and _takes_sizes(node) else []


def _sizes_given(call: ast.Call, names: Names) -> list[ast.AST]:
    """The arguments of a call without the tensor: not ``x`` in ``paddle.reshape(x, [n, 4])``."""
    given = [child for child in children(call) if child is not call.func]
    is_function = names.resolve(dotted(call.func) or "").startswith(("paddle.", "numpy."))
    return given[1:] if is_function and terminal(call) in _OF_A_TENSOR else given


def _takes_sizes(call: ast.Call) -> bool:
    """Whether the number arguments of a call are shapes, or counts of its results."""
    name = dotted(call.func) or terminal(call) or ""
    return name == "range" or name.rpartition(".")[2] in _SHAPED
