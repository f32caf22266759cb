"""PPF915: a few random indices, drawn by putting all of them in a random order."""

from __future__ import annotations

import ast
import re

from perflint.catalogue import shipped
from perflint.flow.sources import Through, ValueSource, asked
from perflint.index.project import Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import is_literal
from perflint.training.every import whole_number

RULE = shipped()["PPF915"]
_MANY = 20_000
"""With fewer, a draw takes less than half a millisecond."""
_FLAT = frozenset({"reshape", "view", "flatten", "ravel"})
_LARGE = re.compile(r"(?i)replay|buffer|memory|pixel|(?:^|_)(?:rays?|dataset)(?:_|$)")
"""What there are many of, by its name: samples to draw from, and places of an image."""
_SIDES = re.compile(r"(?i)(?:^|_)(?:[hw]|height|width|rows?|cols?|side|shape)$")


@rule(RULE.code, at=At.STEP, calls=["choice", "permutation"], claims=False, heeds_claims=False, needs_kinds=False)
def drawn_from_all(call: ast.Call, context: Context) -> None:
    """Report ``np.random.choice(many, few, replace=False)`` and ``np.random.permutation(many)[:few]`` in a step."""
    count, name = argument_of(call, "a", 0), context.name(call.func)
    place = context.here.place
    if name == "numpy.random.choice":
        few, weights = argument_of(call, "size", 1), argument_of(call, "p", 3)
        if is_spread(call) or weights is not None or not is_literal(argument_of(call, "replace", 2), False):
            return
    elif name == "numpy.random.permutation":
        count, few = argument_of(call, "x", 0), _first_of(context.parent(call), call)
    else:
        return
    if count is None or few is None or not _is_large(count, place) or not _is_few(few, count, place):
        return
    context.report(RULE.words("", arguments=f"{context.text(count)}, {context.text(few)}, replace=False"))


def _first_of(outer: ast.AST | None, call: ast.Call) -> ast.expr | None:
    """The number of items that a slice takes from the beginning: ``permutation(n)[:few]``."""
    part = outer.slice if isinstance(outer, ast.Subscript) and outer.value is call else None
    return part.upper if isinstance(part, ast.Slice) and part.lower is None and part.step is None else None


def _is_few(few: ast.expr, count: ast.expr, place: Place) -> bool:
    """Whether it is not known that most of the indices are drawn."""
    drawn, known = whole_number(few, place), whole_number(count, place)
    return not (ast.unparse(few) == ast.unparse(count) or (drawn and known and drawn * 10 > known))


def _is_large(count: ast.expr, place: Place) -> bool:
    """Whether a number is surely, or in all likelihood, large: a product of sides, the items of a buffer."""
    number = whole_number(count, place)
    if number is not None:
        return number >= _MANY
    return any(map(_is_large_source, asked(count, place, through=Through.NAME | Through.ARGUMENT).sources()))


def _is_large_source(source: ValueSource) -> bool:
    node = source.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # ``height * width``
        return all(any(map(_SIDES.search, names_in(side))) for side in (node.left, node.right))
    holder = _counted(node)
    if holder is None:
        return False
    if _LARGE.search((dotted(holder) or "").rpartition(".")[2]):
        return True
    made = [each.node for each in source.part(holder).sources()]
    return bool(made) and all(isinstance(each, ast.Call) and terminal(each) in _FLAT for each in made)


def _counted(node: ast.expr) -> ast.expr | None:
    """What a number counts the items of: ``len(x)``, ``x.shape[0]``."""
    if isinstance(node, ast.Call) and dotted(node.func) == "len" and node.args:
        return node.args[0]
    shape = node.value if isinstance(node, ast.Subscript) and is_literal(node.slice, 0) else None
    return shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else None
