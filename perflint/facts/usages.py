"""What a value read on the host is used for: a log line, a size, a sum, a list."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perflint.facts.accumulators import (
    asks_for_keys,
    is_summed_while_it_grows,
    makes_dict,
    parts_with_values,
    sums_all_it_keeps,
)
from perflint.flow.branches import EACH_STEP, Often
from perflint.flow.uses import ScopeUses, Use, UseKind, UseSearch, is_stored, uses, uses_in
from perflint.index.project import Place
from perflint.paddle.inside import OF_A_TENSOR, SHAPED
from perflint.syntax.bindings import Mention, targets_of
from perflint.syntax.names import Names, dotted, plain_names
from perflint.syntax.scopes import LOOPS, Statement, statements_calling, terminal
from perflint.syntax.tree import alike, base_of, children, walk
from perflint.syntax.vocabulary import LOGGING
from perflint.training.every import HowOften, every
from perflint.training.steps import Point, Step, points_of

# Finds which numbers in an expression are sizes: shapes, counts, and bounds of slices.
#
# They cannot be on the device: ``paddle.zeros([n, 4])``, ``range(n)`` and ``x[:n]`` need ``n`` on the host.

GIVE_A_NUMBER = frozenset({"int", "float", "max", "min", "round", "abs", "sum"})
"""Functions of Python that compute a number from numbers."""


def sizes_in(node: ast.AST, names: Names) -> list[ast.AST]:
    """The direct parts of an expression that are sizes: ``[n, 4]`` in ``x.reshape([n, 4])``, ``n`` in ``:n``."""
    if isinstance(node, ast.Slice):
        return children(node)
    return _sizes_given(node, names) if isinstance(node, ast.Call) and _takes_sizes(node) else []


_OTHERS = frozenset({"x", "axis", "dtype", "name", "place", "stop_gradient", "fill_value", "largest", "sorted"})
"""Parameters that are no size."""


def _sizes_given(call: ast.Call, names: Names) -> list[ast.AST]:
    """The arguments of a call without the tensor: not ``x`` in ``paddle.reshape(x, [n, 4])``."""
    is_function = names.resolve(dotted(call.func) or "").startswith(("paddle.", "numpy."))
    given = call.args[1:] if is_function and terminal(call) in OF_A_TENSOR else call.args
    return [*given, *(item.value for item in call.keywords if item.arg not in _OTHERS)]


def _takes_sizes(call: ast.Call) -> bool:
    """Whether the number arguments of a call are shapes, or counts of its results."""
    name = dotted(call.func) or terminal(call) or ""
    return name == "range" or name.rpartition(".")[2] in SHAPED


# Finds log statements that show a value at each step: keeping the value on the device would only move the read there.
#
# Removing the read from ``losses.update(loss.item())`` gains nothing while ``print(losses.avg)`` also runs at each
# step.


def is_shown_at_each_step(point: Point, statement: Statement) -> bool:
    """Whether a log statement of the same file runs whenever a point of its loop does, at each step.

    A line at each step of the optimizer only, for which several batches are added up, does not.
    """
    shown, project = points_of(point.file).get(statement.node), point.file.project
    if point.step is None and point.loop is not None:  # another loop than that of a step: over the batches to evaluate
        return statement.is_in(point.loop) and not HowOften({}).is_rare(statement.place, point.loop)
    if shown is None or not _are_of_one_loop(shown.step, point.step):
        return False
    found = every(project, shown)
    return found.often is Often.EACH_STEP and (not found.numbers or every(project, point).test is found.test)


def is_made_now_and_then(point: Point, statement: Statement) -> bool:
    """Whether a statement runs only at every n-th step, because of a test that is not around a point as well."""
    made, project = points_of(point.file).get(statement.node), point.file.project
    found = every(project, made) if made is not None else EACH_STEP
    return found.often is Often.EVERY_N and every(project, point).test is not found.test


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
FORMS = frozenset({"shape", "ndim", "dtype"})
_KINDS = frozenset({"len", "isinstance", "type", "hasattr", "callable", "id"})
_ARRAYS = ("numpy.", "math.")
_TEXT_FOR = {Usage.CALL: Usage.LOG, Usage.RETURNED: Usage.TEXT}
"""The use of a text, by the use that a number would have."""

_MOST = 100
"""How many uses of one value are examined."""
_MOST_HELD = 20
"""How many uses of a container that has the value are examined."""


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
    return _Aims(point, scope).of(name, point.statement)


def _found(node: ast.expr, point: Point, scope: ScopeUses) -> list[Aim]:
    """What the value of an expression is used for within its function."""
    parents = point.statement.parents
    if node not in parents:
        equal = (item for item in parents if isinstance(item, ast.expr) and alike(item, node))
        return [aim for item in islice(equal, 1) for aim in _found(item, point, scope)]
    return _Aims(point, scope).of(node, point.statement)


def _as_callers_show(aims: list[Aim], point: Point) -> list[Aim]:
    """The uses of a value that a function returns, with the log lines of the caller if it only shows the value."""
    for here, call in calls_for(point):
        shown = _found(call, here, uses_in(here.function))
        if shown and all(aim.usage in (Usage.SHOWN, Usage.LOG) for aim in shown):
            path = here.file.path if here.file is not point.file else ""
            given = [replace(aim, path=aim.path or path) for aim in shown if aim.usage is Usage.SHOWN]
            return [*(aim for aim in aims if aim.usage is not Usage.RETURNED), *given] if given else aims
    return aims


_HELD = frozenset({Usage.METER, Usage.LIST, Usage.KEPT})
_WAITING = frozenset({Usage.SUM, Usage.TOTAL, Usage.LAST, Usage.AFTER})
_ORDER = {purpose: place for place, purpose in enumerate(Usage)}


class _Aims(UseSearch):
    """Follows a value through one function.

    Args:
        point: the statement of the value.
        scope: what the function does with its names.
        opens: whether to look what becomes of a list, a meter or a dict that gets the value.
    """

    def __init__(self, point: Point, scope: ScopeUses, opens: bool = True) -> None:
        self._names = point.file.names
        self._point = point
        self._scope = scope
        self._opens = opens
        # The last row of the loop around the value, 0 if there is none.
        self._loop_end = (point.loop.end_lineno or 0) if point.loop is not None else 0

    def of(self, value: ast.expr | str, statement: Statement) -> list[Aim]:
        """What an expression of a statement is used for, or a name that it fills."""
        at = Place(self._point.file, self._point.scope, statement)
        found: dict[Use | None, list[Use]] = {}
        for use in uses(value, at, through=self, budget=_MOST):
            found.setdefault(use.via, []).append(use)
        first = found.pop(None, next(iter(found.values()), []))
        return [aim for use in first for aim in self._aims(use, found)]

    def passes(self, use: Use) -> bool:
        """Whether the result of the expression around a value is a value, too."""
        return not self._is_closed(use) and self._purpose(use) is None

    def follows(self, use: Use) -> bool:
        """Whether a statement binds names to a value."""
        node = use.statement.node
        is_bound = use.around is node and isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, *LOOPS[:2]))
        return is_bound and not self._is_after_the_loop(use) and self._purpose(use) is None

    def names(self, use: Use) -> Iterator[tuple[ast.expr, ast.expr | None]]:
        """The names that get a value, or the dict that contains it, with its key; of a dict's items, not the keys."""
        node, value = use.statement.node, use.node
        if isinstance(node, (ast.For, ast.AsyncFor)):
            given = list(parts_with_values(node.target, node.iter, use.path[0], self._is_dict))
            yield from ((item, None) for part in given for item in walk(part) if isinstance(item, ast.Name))
            return
        for target in targets_of(node):
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple):
                yield from ((item, None) for item in walk(target) if isinstance(item, ast.Name))
            else:
                yield target, target.slice if isinstance(target, ast.Subscript) else None

    def sees(self, use: Use, mention: Mention, key: ast.expr | None) -> bool:
        """Whether a place reads a value, and not another item or the key of its own dict."""
        return _may_read(mention, key) and not _is_own_key(mention, use.statement)

    def _aims(self, use: Use, found: Mapping[Use | None, Sequence[Use]]) -> list[Aim]:
        """What one use is for, and those that follow from it."""
        node, is_text = use.statement.node, self._is_text(use)
        if self._is_after_the_loop(use):
            return [Aim(Usage.AFTER, node.lineno)]
        if use.kind in (UseKind.LOST, UseKind.STORED) or self._is_closed(use):
            return []
        purpose = self._purpose(use)
        if purpose is None:
            then = [aim for each in found.get(use, ()) for aim in self._aims(each, found)]
            if then:
                return [replace(aim, usage=_TEXT_FOR.get(aim.usage, aim.usage)) for aim in then] if is_text else then
            purpose = _left(node, is_text, self._is_array(use))
        elif use.around is node:
            return [Aim(_TEXT_FOR.get(purpose, purpose) if is_text else purpose, node.lineno)]
        return self._shown(Aim(purpose, node.lineno, _taker(use.around)), use) if purpose is not None else []

    def _purpose(self, use: Use) -> Usage | None:
        """What the code around a value does with it; None if the result is a value, too, or gets a name."""
        around, node = use.around, use.node
        if isinstance(use.statement.node, ast.Raise):
            return Usage.STOP
        if around is use.statement.node:
            purpose = _done(use.statement.node, node)
            return None if purpose is Usage.SUM and self._is_text(use) else purpose  # (`+= "..."` makes a longer text)
        if isinstance(around, ast.Call):
            return _taken(around, node, self._is_text(use), self._is_array(use), self._names)
        return _placed(around, node, self._names)

    def _is_closed(self, use: Use) -> bool:
        """Whether the use of a value is unknown, a tensor would work as well, or only the keys of a dict are used."""
        around, node = use.around, use.node
        if isinstance(use.statement.node, ast.Raise):
            return False
        if isinstance(around, ast.comprehension):
            given = parts_with_values(around.target, node, use.path[0], self._is_dict)
            return node is not around.iter or not any(plain_names(part) for part in given)
        if isinstance(around, ast.Compare) and isinstance(around.ops[-1], (ast.In, ast.NotIn)):
            return node is around.comparators[-1] and self._is_dict(node)
        is_later = isinstance(around, ast.Lambda)
        return is_later or self._is_after_the_loop(use) or _asks_for_form(around) or asks_for_keys(around)

    def _is_after_the_loop(self, use: Use) -> bool:
        return use.via is not None and 0 < self._loop_end < use.statement.node.lineno

    def _is_text(self, use: Use) -> bool:
        """Whether a value has become a part of a text in its statement."""
        return any(map(_makes_text, (*use.path[1:], use.around)))

    def _is_array(self, use: Use) -> bool:
        """Whether NumPy or the like works on a value in its statement."""
        calls = (item for item in (*use.path[1:], use.around) if isinstance(item, ast.Call))
        return any(self._names.resolve(dotted(call.func) or "").startswith(_ARRAYS) for call in calls)

    def _is_dict(self, node: ast.AST) -> bool:
        """Whether an expression is a dict, or a name that the function only binds to dicts."""
        if not isinstance(node, ast.Name):
            return makes_dict(node)
        stores = [use for use in self._scope.by_name.get(node.id, ()) if is_stored(use.node)]
        return bool(stores) and all(
            isinstance(use.statement.node, (ast.Assign, ast.AnnAssign))
            and use.parent is use.statement.node
            and makes_dict(use.statement.node.value)
            for use in stores
        )

    def _shown(self, aim: Aim, use: Use) -> list[Aim]:
        """The use of a value, or of its container, at each step; if there is none, the aim.

        That is a log line, or a decision: ``losses.append(loss.item())`` and then ``if sum(losses) > 9: raise``.
        """
        statement, held = use.statement, holder(use.around)
        found: list[Aim] = []
        if aim.usage is Usage.LOG:
            usage = Usage.SHOWN if is_shown_at_each_step(self._point, statement) else Usage.LOG
            found = [replace(aim, usage=usage, start=(statement.node.lineno, statement.node.col_offset))]
        elif aim.usage is Usage.TEXT and is_made_now_and_then(self._point, statement):
            found = [replace(aim, usage=Usage.LOG)]
        elif aim.usage in _HELD and self._opens and held is not None:
            found = list(self._done_with(held, aim, statement))
            if not found and self._is_summed(use.around, aim):
                found = [replace(aim, usage=Usage.TOTAL)]
            elif not found and aim.usage is Usage.LIST and self._is_only_the_last_used(held[0], statement):
                found = [replace(aim, usage=Usage.LAST)]
        return found or [aim]

    def _done_with(self, held: tuple[str, ast.expr | None], aim: Aim, statement: Statement) -> Iterator[Aim]:
        """The log lines and the decisions of each step that use the container of a value."""
        every = self._scope.by_chain.get(held[0], ())
        inside = (use for use in every if self._is_in_loop(use.statement) and use.statement is not statement)
        reader = _Aims(self._point, self._scope, opens=False)
        for use in islice(inside, _MOST_HELD):
            for other in reader.of(use.node, use.statement) if use.is_read and _may_read(use, held[1]) else ():
                if other.usage is Usage.SHOWN or (aim.usage is not Usage.METER and self._is_decided(use, other)):
                    yield other

    def _is_decided(self, use: Mention, aim: Aim) -> bool:
        """Whether a use of a list, or of a stored value, decides at each step by a value in it.

        ``if not losses`` and ``if name in losses`` test something else.
        """
        if aim.usage not in (Usage.STOP, Usage.TEST) or not is_shown_at_each_step(self._point, use.statement):
            return False
        if any(isinstance(parent, ast.BoolOp) for parent in use.parents):
            return False  # (`step % 10 == 0 and ...` tests only occasionally)
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
        inside = [use for use in self._scope.by_chain.get(dotted(kept) or "", ()) if self._is_in_loop(use.statement)]
        return aim.usage is Usage.LIST and is_summed_while_it_grows(kept, inside, self._point)

    def _is_only_the_last_used(self, name: str, adding: Statement) -> bool:
        """Whether only the last entry of a list of the function is used, and only after the loop.

        Args:
            name: the name of the list.
            adding: the statement that adds to it.
        """
        if "." in name or self._scope.is_hidden(name) or not self._loop_end:
            return False
        looks = [use for use in self._scope.by_name.get(name, ()) if use.is_read and use.statement is not adding]
        return bool(looks) and all(
            use.statement.node.lineno > self._loop_end and _takes_the_last(use.parent, use.node) for use in looks
        )

    def _is_in_loop(self, statement: Statement) -> bool:
        loop = self._point.loop
        return loop is None or loop.lineno < statement.node.lineno <= self._loop_end


def _may_read(use: Mention, key: ast.expr | None) -> bool:
    """Whether a use of a name reads the item under a key (None: the value itself): ``d["b"]`` is not ``d["a"]``."""
    if not isinstance(use.parent, ast.Subscript) or use.parent.value is not use.node:
        return True
    other = use.parent.slice
    if isinstance(use.parent.ctx, ast.Store):
        return False
    return not (isinstance(key, ast.Constant) and isinstance(other, ast.Constant) and key.value != other.value)


def _takes_the_last(parent: ast.AST, name: ast.expr) -> bool:
    """``losses[-1]``"""
    if not isinstance(parent, ast.Subscript) or parent.value is not name:
        return False
    return isinstance(parent.ctx, ast.Load) and ast.unparse(parent.slice) == "-1"


def _is_own_key(use: Mention, loop: Statement) -> bool:
    """Whether a use only reads the items of a dict that a loop iterates over: ``for key in logs: show(logs[key])``."""
    if not isinstance(loop.node, ast.For) or not isinstance(use.parent, ast.Subscript):
        return False
    return use.parent.slice is use.node and dotted(use.parent.value) == (dotted(loop.node.iter) or "")


def _taker(parent: ast.AST) -> str:
    return (dotted(parent.func) or terminal(parent) or "") if isinstance(parent, ast.Call) else ""


def _taken(call: ast.Call, inner: ast.AST, is_text: bool, is_array: bool, names: Names) -> Usage | None:
    """What a call does with an argument; None if it returns it, or something computed from it."""
    name = terminal(call) or ""
    if inner is call.func or name in _PASSES_ON or name in _TEXTS:
        return None
    purpose = next((purpose for called, purpose in _CALLS if name in called), None)
    if purpose is None and _is_size(inner, call, names):
        return Usage.SIZE
    if purpose is not None or is_array:
        return purpose
    return Usage.LOG if is_text else Usage.CALL


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
        return node.attr in FORMS
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KINDS


def _placed(parent: ast.AST, inner: ast.AST, names: Names) -> Usage | None:
    """The use of a value by its parent expression: an index, the test of ``a if test else b``."""
    if _is_size(inner, parent, names):
        return Usage.SIZE
    if isinstance(parent, ast.Subscript):
        return Usage.INDEX if inner is parent.slice else None
    return Usage.TEST if isinstance(parent, ast.IfExp) and inner is parent.test else None


def _is_size(inner: ast.AST, parent: ast.AST, names: Names) -> bool:
    return (inner.value if isinstance(inner, ast.keyword) else inner) in sizes_in(parent, names)


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


def _left(node: ast.stmt, is_text: bool, is_array: bool) -> Usage | None:
    """The use of a value that is not known to be read."""
    if is_text:
        return Usage.TEXT
    return Usage.KEPT if _is_kept(node) else Usage.NUMPY if is_array else None


def _stops(last: ast.stmt) -> bool:
    """Whether a branch ends the loop or the run."""
    if isinstance(last, (ast.Raise, ast.Break)):
        return True
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and terminal(last.value) in _EXITS


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
