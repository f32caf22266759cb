"""What a value read on the host is used for: a log line, a size, a sum, a list."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perflint.facts.accumulators import (
    ScopeUses,
    Use,
    asks_for_keys,
    is_summed_while_it_grows,
    makes_dict,
    names_of_values,
    sums_all_it_keeps,
    uses_in,
)
from perflint.syntax.names import Names, dotted, plain_names
from perflint.syntax.scopes import Statement, own_parts, statements_calling, terminal
from perflint.syntax.tree import base_of, children, walk
from perflint.syntax.vocabulary import LOGGING
from perflint.training.around import deciding_test
from perflint.training.steps import Point, Step, of_point, points_of

# Finds which numbers in an expression are sizes: shapes, counts, and bounds of slices.
#
# They cannot be on the device: ``paddle.zeros([n, 4])``, ``range(n)`` and ``x[:n]`` need ``n`` on the host.

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


# Finds log statements that show a value at each step: keeping the value on the device would only move the read there.
#
# Removing the read from ``losses.update(loss.item())`` gains nothing while ``print(losses.avg)`` also runs at each
# step.


def is_shown_at_each_step(point: Point, statement: Statement) -> bool:
    """Whether a log statement of the same file runs at each step of the loop that a point belongs to."""
    shown = points_of(point.file).get(statement.node)
    if shown is None or not _are_of_one_loop(shown.step, point.step):
        return False
    return deciding_test(point.file.project, shown) is None


def is_made_now_and_then(point: Point, statement: Statement) -> bool:
    """Whether a statement runs only at every n-th step, because of a test that is not around a point as well."""
    made, project = points_of(point.file).get(statement.node), point.file.project
    found = deciding_test(project, made) if made is not None else None
    if found is None or found.interval is None:
        return False
    own = deciding_test(project, point)
    return own is None or own.test is not found.test


def holder(node: ast.AST) -> tuple[str, ast.expr | None] | None:
    """What a call or a statement puts a value into, and under which key: ``losses`` for ``losses.update(x)``."""
    target: ast.AST | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value
    elif isinstance(node, ast.Assign):
        target = next((item for item in node.targets if isinstance(item, (ast.Attribute, ast.Subscript))), None)
    if not isinstance(target, ast.expr):
        return None
    name = dotted(base_of(target))
    return (name, target.slice if isinstance(target, ast.Subscript) else None) if name is not None else None


def calls_for(point: Point) -> Iterator[tuple[Point, ast.Call]]:
    """The call through which the step reaches the function of a point, with the facts there."""
    step = point.step
    if step is None or not step.via:
        return
    path, row = step.via[-1]
    file = point.file.project.files[path]
    for scope, statement in statements_calling(file.scopes, row):
        here = points_of(file).get(statement.node)
        calls = [call for call in statement.calls if terminal(call) == point.scope.name] or statement.calls
        if here is not None and here.step is not None and scope is here.scope and len(calls) == 1:
            yield here, calls[0]


def _are_of_one_loop(first: Step | None, second: Step | None) -> bool:
    if first is None or second is None:
        return False
    return (first.path, first.line, first.function) == (second.path, second.line, second.function)


# Finds what a value read on the host is used for: a log line, a sum, a test. The advice depends on that.
#
# After ``value = loss.item()``, the places in the function that read ``value`` are examined, too.


class Usage(enum.Enum):
    """The uses of a value, the most meaningful first."""

    STOP = "a check that stops the run"
    TEST = "a decision"
    SIZE = "a shape or a count"
    INDEX = "an index"
    DEVICE = "a tensor again"
    SHOWN = "a log line at each step"
    SUM = "a sum"
    METER = "a meter"
    TOTAL = "a list that is summed up while it grows"
    LIST = "a list"
    LAST = "a list of which only the last entry is used"
    KEPT = "an attribute, or an item of a dict"
    RETURNED = "what the function returns"
    AFTER = "what comes after the loop"
    FILE = "a picture or a file"
    LOG = "a log line"
    TEXT = "a text"
    NUMPY = "arithmetic on the host"
    CALL = "an argument of another function"


@dataclass(frozen=True)
class Aim:
    """One use of a value: the row where it ends up, and the name of the function that takes it, if one does.

    ``path``: the file, if it differs from that of the value.
    ``start``: row and column of the statement of a log line.
    """

    usage: Usage
    row: int
    taker: str = ""
    path: str = ""
    start: tuple[int, int] = (0, 0)

    @property
    def is_log(self) -> bool:
        """Whether a log line shows the value."""
        return self.usage in (Usage.SHOWN, Usage.LOG) and bool(self.start[0])

    @property
    def can_wait(self) -> bool:
        """Whether the value could stay on the device until it is shown."""
        return self.is_log or self.usage in _HELD or self.usage in _WAITING


_LOGS = LOGGING - {"train"}
_LISTS = frozenset({"append", "extend", "insert", "appendleft", "put"})
_METERS = frozenset({"update", "add", "record", "push"})
_FILES = frozenset(
    {"imwrite", "imsave", "imshow", "savefig", "plot", "fromarray", "save", "savez", "savez_compressed", "savetxt"}
    | {"dump", "dumps", "writerow", "writerows", "writelines"}
)
_PASSES_ON = GIVE_A_NUMBER | {
    *("bool", "any", "all", "isnan", "isinf", "isfinite", "pow"),
    *("list", "tuple", "dict", "sorted", "set", "zip", "enumerate", "map", "items", "values"),
    *("join", "copy", "deepcopy"),
}
_TEXTS = frozenset({"str", "repr", "format"})
_EXITS = frozenset({"exit", "_exit", "abort", "quit"})
_TO_TENSOR = frozenset({"to_tensor", "to_variable"})
_ASK_WHICH = (ast.In, ast.NotIn, ast.Is, ast.IsNot)
_FORMS = frozenset({"shape", "ndim", "dtype"})
_KINDS = frozenset({"len", "isinstance", "type", "hasattr", "callable", "id"})
_ARRAYS = ("numpy.", "scipy.", "sklearn.", "skimage.", "cv2.", "math.")
_TEXT_FOR = {Usage.CALL: Usage.LOG, Usage.RETURNED: Usage.TEXT}
"""The use of a text, by the use that a number would have."""

_DEEPEST = 3
"""How many names a value is followed through: ``value = loss.item(); text = str(value)``."""

_MOST = 20
"""How many uses of one name are examined."""


def usages(node: ast.expr, point: Point, scope: ScopeUses) -> list[Aim]:
    """What the value of an expression of a statement is used for; empty if unknown.

    Args:
        node: the expression.
        point: its statement.
        scope: what the function does with its names.
    """
    found = _found(node, point, scope)
    if any(aim.usage is Usage.RETURNED for aim in found):
        found = _as_callers_show(found, point)
    return sorted(dict.fromkeys(found), key=lambda aim: (_ORDER[aim.usage], aim.row))


def usages_of_name(name: str, point: Point, scope: ScopeUses) -> list[Aim]:
    """What the value of a name is used for after a statement that fills it in place; empty if unknown.

    Args:
        name: the name.
        point: the statement.
        scope: what the function does with its names.
    """
    return list(_Search(point, scope).after(name, point.statement))


def _found(node: ast.expr, point: Point, scope: ScopeUses) -> list[Aim]:
    """What the value of an expression is used for within its function."""
    parents = _parents(point, node)
    return list(_Search(point, scope).aims(node, parents, point.statement, 0)) if parents is not None else []


def _as_callers_show(aims: list[Aim], point: Point) -> list[Aim]:
    """The uses of a value that a function returns, with the log lines of the caller if it only shows the value."""
    for here, call in calls_for(point):
        shown = _found(call, here, uses_in(here.file, here.scope))
        if shown and all(aim.usage in (Usage.SHOWN, Usage.LOG) for aim in shown):
            path = here.file.path if here.file is not point.file else ""
            given = [replace(aim, path=aim.path or path) for aim in shown if aim.usage is Usage.SHOWN]
            return [*(aim for aim in aims if aim.usage is not Usage.RETURNED), *given] if given else aims
    return aims


_HELD = frozenset({Usage.METER, Usage.LIST, Usage.KEPT})
_WAITING = frozenset({Usage.SUM, Usage.TOTAL, Usage.LAST, Usage.AFTER})
_ORDER = {purpose: place for place, purpose in enumerate(Usage)}


def _parents(point: Point, node: ast.expr) -> tuple[ast.AST, ...] | None:
    """The nodes around an expression, from its statement to its parent."""
    around = _around(point)
    if node not in around:
        return None
    inner: ast.AST = node
    parents = []
    while inner is not point.statement.node:
        inner = around[inner]
        parents.append(inner)
    return tuple(reversed(parents))


@of_point
def _around(point: Point) -> Mapping[ast.AST, ast.AST]:
    """The expressions of a statement, each with its parent."""
    around: dict[ast.AST, ast.AST] = dict.fromkeys(own_parts(point.statement.node), point.statement.node)
    waiting = list(around)
    while waiting:
        item = waiting.pop()
        for child in children(item):
            around.setdefault(child, item)
            waiting.append(child)
    return around


@dataclass
class _Way:
    """What a value became on its path: a text, or an array that NumPy works on."""

    is_text: bool = False
    is_array: bool = False


class _Search:
    """Follows a value through one function."""

    def __init__(self, point: Point, scope: ScopeUses) -> None:
        self._names = point.file.names
        self._point = point
        self._scope = scope
        # The last row of the loop around the value, 0 if there is none.
        self._loop_end = (point.loop.end_lineno or 0) if point.loop is not None else 0

    def aims(self, node: ast.AST, parents: Sequence[ast.AST], statement: Statement, depth: int) -> Iterator[Aim]:
        """What an expression is used for, according to the nodes around it, from the inside out."""
        way, inner = _Way(), node
        if isinstance(statement.node, ast.Raise):
            yield Aim(Usage.STOP, statement.node.lineno)
            return
        for parent in reversed(parents[1:]):
            if _is_closed(parent, inner) or self._gives_keys(parent, inner, node):
                return
            purpose = self._made_by(parent, inner, way)
            if purpose is not None:
                yield from self._shown(Aim(purpose, statement.node.lineno, _taker(parent)), parent, statement, depth)
                return
            inner = parent
        yield from self._ends(inner, node, statement, depth, way)

    def _made_by(self, parent: ast.AST, inner: ast.AST, way: _Way) -> Usage | None:
        """What the parent expression does with a value; None if its result is a value, too."""
        way.is_text = way.is_text or _makes_text(parent)
        if not isinstance(parent, ast.Call):
            return _placed(parent, inner, self._names)
        way.is_array = way.is_array or self._names.resolve(dotted(parent.func) or "").startswith(_ARRAYS)
        return _taken(parent, inner, way, self._names)

    def _gives_keys(self, parent: ast.AST, inner: ast.AST, node: ast.AST) -> bool:
        """Whether only the keys of a dict are taken from the container at a node: ``[key for key in losses]``."""
        if isinstance(parent, ast.comprehension) and isinstance(inner, ast.expr):
            return not names_of_values(parent.target, inner, node, self._is_dict)
        if isinstance(parent, ast.Compare):
            return (
                isinstance(parent.ops[-1], (ast.In, ast.NotIn))
                and inner is parent.comparators[-1]
                and (self._is_dict(inner))
            )
        return asks_for_keys(parent)

    def _is_dict(self, node: ast.AST) -> bool:
        """Whether an expression is a dict, or a name that the function only binds to dicts."""
        if not isinstance(node, ast.Name):
            return isinstance(node, ast.expr) and makes_dict(node)
        stores = [use for use in self._scope.by_name.get(node.id, ()) if isinstance(use.node.ctx, ast.Store)]
        return bool(stores) and all(
            isinstance(use.statement.node, (ast.Assign, ast.AnnAssign))
            and use.parent is use.statement.node
            and makes_dict(use.statement.node.value)
            for use in stores
        )

    def _ends(self, value: ast.AST, held: ast.AST, statement: Statement, depth: int, way: _Way) -> Iterator[Aim]:
        """What a statement does with a value."""
        node = statement.node
        purpose = _done(node, value)
        if purpose is not None and not (way.is_text and purpose is Usage.SUM):  # (`text += "..."` makes a longer text)
            yield Aim(_TEXT_FOR.get(purpose, purpose) if way.is_text else purpose, node.lineno)
            return
        bound = self._given(node, value, held) if isinstance(node, (ast.For, ast.AsyncFor)) else _bound(node, value)
        found = [aim for name, key in bound for aim in self._follow(name, key, statement, depth + 1)]
        if way.is_text:
            found = [replace(aim, usage=_TEXT_FOR.get(aim.usage, aim.usage)) for aim in found]
        rest = None if found else _left(node, way)
        yield from found if rest is None else self._shown(Aim(rest, node.lineno), node, statement, depth)

    def _given(
        self, loop: ast.For | ast.AsyncFor, value: ast.AST, held: ast.AST
    ) -> Iterator[tuple[str, ast.expr | None]]:
        """The names that a loop binds to the values of a container, without keys, as in ``_bound``."""
        if value is loop.iter:
            yield from ((name, None) for name in sorted(names_of_values(loop.target, loop.iter, held, self._is_dict)))

    def _shown(self, aim: Aim, holding: ast.AST, statement: Statement, depth: int) -> Iterator[Aim]:
        """The use of a value, or of its container, at each step; if there is none, the aim.

        That is a log line, or a decision: ``losses.append(loss.item())`` and then ``if sum(losses) > 9: raise``.
        """
        found: list[Aim] = []
        if aim.usage is Usage.LOG:
            usage = Usage.SHOWN if is_shown_at_each_step(self._point, statement) else Usage.LOG
            found = [replace(aim, usage=usage, start=(statement.node.lineno, statement.node.col_offset))]
        elif aim.usage is Usage.TEXT and is_made_now_and_then(self._point, statement):
            found = [replace(aim, usage=Usage.LOG)]
        elif aim.usage in _HELD and depth < _DEEPEST - 1 and (held := holder(holding)) is not None:
            found = list(self._done_with(held, aim, statement))
            if not found and self._is_summed(holding, aim):
                found = [replace(aim, usage=Usage.TOTAL)]
            elif not found and aim.usage is Usage.LIST and self._is_only_the_last_used(held[0], statement):
                found = [replace(aim, usage=Usage.LAST)]
        yield from found or [aim]

    def _done_with(self, held: tuple[str, ast.expr | None], aim: Aim, statement: Statement) -> Iterator[Aim]:
        """The log lines and the decisions of each step that use the container of a value."""
        uses = self._scope.by_chain.get(held[0], ())
        inside = (use for use in uses if self._is_in_loop(use.statement) and use.statement is not statement)
        for use in islice(inside, _MOST):
            if not isinstance(use.node.ctx, ast.Load) or not _may_read(use, held[1]):
                continue
            for other in self.aims(use.node, use.parents, use.statement, _DEEPEST - 1):
                if other.usage is Usage.SHOWN or (aim.usage is not Usage.METER and self._is_decided(use, other)):
                    yield other

    def _is_decided(self, use: Use, aim: Aim) -> bool:
        """Whether a use of a list, or of a stored value, decides at each step by a value in it.

        ``if not losses`` and ``if name in losses`` test something else.
        """
        if aim.usage not in (Usage.STOP, Usage.TEST) or not is_shown_at_each_step(self._point, use.statement):
            return False
        if any(
            isinstance(parent, ast.BoolOp) for parent in use.parents
        ):  # (`step % 10 == 0 and ...` tests only occasionally)
            return False
        return any(
            isinstance(parent, (ast.Call, ast.Subscript))
            or (isinstance(parent, ast.Compare) and not isinstance(parent.ops[0], _ASK_WHICH))
            for parent in use.parents
        )

    def _is_summed(self, holding: ast.AST, aim: Aim) -> bool:
        """Whether everything in a list or a meter is summed again at each use."""
        if not isinstance(holding, ast.Call) or not isinstance(holding.func, ast.Attribute):
            return False
        if aim.usage is Usage.METER:
            return sums_all_it_keeps(holding, self._point)
        kept = holding.func.value
        uses = [use for use in self._scope.by_chain.get(dotted(kept) or "", ()) if self._is_in_loop(use.statement)]
        return aim.usage is Usage.LIST and is_summed_while_it_grows(kept, uses, self._point)

    def _is_only_the_last_used(self, name: str, adding: Statement) -> bool:
        """Whether only the last entry of a list of the function is used, and only after the loop.

        Args:
            name: the name of the list.
            adding: the statement that adds to it.
        """
        if "." in name or self._scope.is_hidden(name) or not self._loop_end:
            return False
        uses = self._scope.by_name.get(name, ())
        looks = [use for use in uses if isinstance(use.node.ctx, ast.Load) and use.statement is not adding]
        return bool(looks) and all(
            use.statement.node.lineno > self._loop_end and _takes_the_last(use.parent, use.node) for use in looks
        )

    def _is_in_loop(self, statement: Statement) -> bool:
        loop = self._point.loop
        return loop is None or loop.lineno < statement.node.lineno <= self._loop_end

    def after(self, name: str, statement: Statement) -> Iterator[Aim]:
        """The uses at the places that read a name after a statement."""
        return self._follow(name, None, statement, 0)

    def _follow(self, name: str, key: ast.expr | None, statement: Statement, depth: int) -> Iterator[Aim]:
        """The uses at the places that read a name, or one item of it, before it is bound again."""
        if depth > _DEEPEST or self._scope.is_shared(name):
            return
        uses = [use for use in self._scope.by_name.get(name, ()) if use.statement.start > statement.start]
        end = next((use.statement for use in uses if not isinstance(use.node.ctx, ast.Load)), None)
        for use in uses[:_MOST]:
            if end is not None and use.statement.start > end.start:
                return
            if not isinstance(use.node.ctx, ast.Load) or not _may_read(use, key) or _is_own_key(use, statement):
                continue
            if 0 < self._loop_end < use.statement.node.lineno:
                yield Aim(Usage.AFTER, use.statement.node.lineno)
            else:
                yield from self.aims(use.node, use.parents, use.statement, depth)


def _may_read(use: Use, key: ast.expr | None) -> bool:
    """Whether a use of a name reads the item under a key (None: the value itself): ``d["b"]`` is not ``d["a"]``."""
    if not isinstance(use.parent, ast.Subscript) or use.parent.value is not use.node:
        return True
    other = use.parent.slice
    if isinstance(use.parent.ctx, ast.Store):
        return False
    return not (isinstance(key, ast.Constant) and isinstance(other, ast.Constant) and key.value != other.value)


def _takes_the_last(parent: ast.AST, name: ast.Name) -> bool:
    """``losses[-1]``"""
    if not isinstance(parent, ast.Subscript) or parent.value is not name:
        return False
    return isinstance(parent.ctx, ast.Load) and ast.unparse(parent.slice) == "-1"


def _is_own_key(use: Use, loop: Statement) -> bool:
    """Whether a use only reads the items of a dict that a loop iterates over: ``for key in logs: show(logs[key])``."""
    if not isinstance(loop.node, ast.For) or not isinstance(use.parent, ast.Subscript):
        return False
    return use.parent.slice is use.node and dotted(use.parent.value) == (dotted(loop.node.iter) or "")


def _taker(parent: ast.AST) -> str:
    return (dotted(parent.func) or terminal(parent) or "") if isinstance(parent, ast.Call) else ""


def _taken(call: ast.Call, inner: ast.AST, way: _Way, names: Names) -> Usage | None:
    """What a call does with an argument; None if it returns it, or something computed from it."""
    name = terminal(call) or ""
    if inner is call.func or name in _PASSES_ON or name in _TEXTS:
        return None
    purpose = next((purpose for called, purpose in _CALLS if name in called), None)
    if purpose is None and inner in sizes_in(call, names):
        return Usage.SIZE
    if purpose is not None or way.is_array:
        return purpose
    return Usage.LOG if way.is_text else Usage.CALL


_CALLS = (
    (_LOGS, Usage.LOG),
    (_LISTS, Usage.LIST),
    (_METERS, Usage.METER),
    (_FILES, Usage.FILE),
    (_TO_TENSOR, Usage.DEVICE),
)


def _asks_for_form(node: ast.AST) -> bool:
    """Whether an expression uses the shape or the kind of a value, but not its items."""
    if isinstance(node, ast.Attribute):
        return node.attr in _FORMS
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KINDS


def _is_closed(parent: ast.AST, inner: ast.AST) -> bool:
    """Whether the use of a value is unknown, or a tensor would work as well."""
    if isinstance(parent, ast.comprehension):
        return inner is not parent.iter
    return isinstance(parent, ast.Lambda) or _asks_for_form(parent)


def _placed(parent: ast.AST, inner: ast.AST, names: Names) -> Usage | None:
    """The use of a value by its parent expression: an index, the test of ``a if test else b``."""
    if inner in sizes_in(parent, names):
        return Usage.SIZE
    if isinstance(parent, ast.Subscript):
        return Usage.INDEX if inner is parent.slice else None
    return Usage.TEST if isinstance(parent, ast.IfExp) and inner is parent.test else None


def _done(node: ast.stmt, value: ast.AST) -> Usage | None:
    """What a statement does with a value that it does not bind to a name."""
    if isinstance(node, (ast.If, ast.While)):
        return Usage.STOP if _stops(node.body[-1]) else Usage.TEST
    if isinstance(node, (ast.Assert, ast.Raise)):
        return Usage.STOP
    if isinstance(node, ast.Return) or (isinstance(node, ast.Expr) and isinstance(value, (ast.Yield, ast.YieldFrom))):
        return Usage.RETURNED
    return Usage.SUM if _adds(node) else None


def _adds(node: ast.stmt) -> bool:
    """``total += x``, ``total = total + x``."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
        return False
    names = {name for target in node.targets if (name := dotted(target)) is not None}
    return isinstance(node.value.op, ast.Add) and not names.isdisjoint(map(dotted, (node.value.left, node.value.right)))


def _left(node: ast.stmt, way: _Way) -> Usage | None:
    """The use of a value that is not known to be read."""
    if way.is_text:
        return Usage.TEXT
    return Usage.KEPT if _is_kept(node) else Usage.NUMPY if way.is_array else None


def _stops(last: ast.stmt) -> bool:
    """Whether a branch ends the loop or the run."""
    if isinstance(last, (ast.Raise, ast.Break)):
        return True
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and terminal(last.value) in _EXITS


def _bound(node: ast.stmt, value: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds to a value, or to the dict that contains it, with its key."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple):
            yield from ((name, None) for name in sorted(plain_names(target)))
        elif isinstance(target, (ast.Name, ast.Subscript)) and isinstance(base := base_of(target), ast.Name):
            yield base.id, target.slice if isinstance(target, ast.Subscript) else None


def _makes_text(node: ast.AST) -> bool:
    """Whether an expression, or a comprehension for each item, converts its value to text."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return any(map(_makes_text, walk(node.elt)))
    if isinstance(node, ast.Call):
        return terminal(node) in _TEXTS
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and _is_text(node.left))


def _is_kept(node: ast.stmt) -> bool:
    """Whether a statement stores a value where other functions can see it."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
