"""Sums and lists that a loop adds to: how long they are kept, who reads them, and what changes them in place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from perflint.facts.programs import may_look_at
from perflint.flow.calls import CallGraph
from perflint.flow.uses import ScopeUses, Use, UseKind, UseSearch, is_stored, uses
from perflint.index.project import FileIndex, Place
from perflint.paddle.call_results import IN_TURN, LISTING
from perflint.query import query
from perflint.syntax.bindings import Mention, bindings_of, bound_by
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters
from perflint.syntax.scopes import LOOPS, TRIES, Link, Loop, Scope, Statement, exits, stops_errors, terminal
from perflint.syntax.tree import base_of, walk
from perflint.syntax.vocabulary import is_bounded
from perflint.training.steps import Point, points_of

# Finds how long a value stored by a step is kept: past the step, until replaced, or in something of limited size.

_MOST_RENEWALS = 256
"""How many statements that recreate one object are checked for being in the loop."""
_EMPTIES = frozenset({"clear", "pop", "popleft", "reset"})


def outlives_the_step(target: ast.expr, point: Point) -> bool:
    """Whether an object is created before the steps and never recreated or emptied by one of them."""
    name = dotted(base_of(target))
    if name is None or _is_bounded(name, point):
        return False
    renewing = [item for item in _renewals(point.scope).get(name, [])[:_MOST_RENEWALS] if item is not point.statement]
    if any(point.loop is None or item.is_in(point.loop) for item in renewing):
        return False
    if name.startswith("self."):
        return point.scope.owner is not None and not _renewed_elsewhere(name, point)
    if point.loop is None:
        return False
    bindings = bindings_of(point.scope).get(name)
    is_bound_before = bindings is not None and bindings[0].node.lineno < point.loop.lineno
    return is_bound_before or name.partition(".")[0] in point.scope.parameters


def keeps_all(method: Scope, name: str) -> bool:
    """Whether an attribute keeps all that a method adds: it is not limited, and the method never resets it."""
    return not _is_bounded_attribute(method, name) and name not in _renewals(method)


def _renewed_elsewhere(name: str, point: Point) -> bool:
    """Whether another method of the class that also runs at each step recreates an attribute."""
    assert point.scope.owner is not None
    for method in point.scope.owner.methods.values():
        for statement in _renewals(method).get(name, ()) if method is not point.scope else ():
            known = points_of(point.file).get(statement.node)
            if known is not None and known.step is not None:
                return True
    return False


def _renewals(scope: Scope) -> dict[str, list[Statement]]:
    """The statements of a scope that bind a name to something new or remove its items, by that name."""
    return scope.once(_renewals, lambda: _by_name(scope))


def _by_name(scope: Scope) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for statement in scope.statements:
        for name in dict.fromkeys(_renewed(statement)):
            found.setdefault(name, []).append(statement)
    return found


def _renewed(statement: Statement) -> list[str]:
    """The names that a statement binds to something new, or removes items from."""
    node = statement.node
    if isinstance(node, ast.Delete):
        deleted = [target.value if isinstance(target, ast.Subscript) else target for target in node.targets]
        return [name for name in map(dotted, deleted) if name]
    emptied = [
        dotted(call.func.value)
        for call in statement.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in _EMPTIES
    ]
    bound = bound_by(node)
    if isinstance(node, ast.Assign):
        items = [dotted(target.value) for target in node.targets if isinstance(target, ast.Subscript)]
        others = [name for name in (*items, *emptied) if name and name not in bound]
        return others if own_sum(node) else [*others, *bound]
    return [*filter(None, emptied), *([] if isinstance(node, ast.AugAssign) else bound)]


def _is_bounded(name: str, point: Point) -> bool:
    """Whether a container drops old items: a ``deque(maxlen=...)``, a window."""
    if point.scope.once((_is_bounded, name), lambda: _is_made_bounded(point.scope, name)):
        return True
    return _is_bounded_attribute(point.scope, name)


def _is_bounded_attribute(scope: Scope, name: str) -> bool:
    values = scope.owner.attributes.get(name[5:], []) if scope.owner and name.startswith("self.") else []
    return any(is_bounded(ast.unparse(value)) for value, _ in values)


def _is_made_bounded(scope: Scope, name: str) -> bool:
    nodes = [statement.node for statement in bindings_of(scope).get(name, ())]
    return any(is_bounded(ast.unparse(node.value)) for node in nodes if isinstance(node, ast.Assign))


def own_sum(node: ast.Assign) -> tuple[ast.expr, ast.expr] | None:
    """The target and the summand of a statement like ``total = total + loss``; None for other statements."""
    name = dotted(node.targets[0]) if len(node.targets) == 1 else None
    value = node.value
    if name is None or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for own, other in ((value.left, value.right), (value.right, value.left)):
        if dotted(own) == name:
            return node.targets[0], other
    return None


# A number or a list that a loop adds to: its initial value, and what can read it before the end of the loop.
#
# A fix makes the loop add tensors and converts them to numbers afterwards. In between nothing else may read them.
# This module finds what may: a second name of a list, a closure, a handler of an exception in the loop, a `finally`,
# the code after a `with` that suppresses errors. ``onlookers.py`` finds code elsewhere that may.

_INTERRUPTS = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration", "BdbQuit"})
"""Exceptions after which the device can still be read."""

_LEAVES_THE_FUNCTION = (ast.Return, ast.Raise)


@dataclass(frozen=True)
class Ending:
    """Where the tensors that a loop has collected become numbers again.

    Attributes:
        last: the statement after which that is done: the loop, or the ``try`` or ``with`` around it whose handlers may
            continue after an exception in the loop.
        is_read: whether anything after ``last`` reads the value.
        after_errors: whether some of the code that reads the value runs after an exception of any kind.
    """

    last: ast.stmt
    is_read: bool
    after_errors: bool


class Accumulator:
    """What a scope does with one name that a loop adds to.

    Args:
        name: a plain name, such as ``total``.
        loop: the loop that adds to it.
        scope: what the function or the module of the loop does with its names.
    """

    def __init__(self, name: str, loop: Loop, scope: ScopeUses) -> None:
        self.name = name
        self.uses = scope.by_name.get(name, [])
        self._loop = loop
        self._scope = scope

    @property
    def is_hidden(self) -> bool:
        """Whether something may read or change the value without a visible use of the name: a closure, a generator."""
        made_before = [item for item in self._scope.generators.get(self.name, ()) if not _is_inside(item, self._loop)]
        return self._scope.is_hidden(self.name) or bool(made_before)

    @property
    def is_seen_elsewhere(self) -> bool:
        """Whether code outside of the function, or of the module, may read the name while the loop runs."""
        return may_look_at(Place(self._scope.file, self._scope.scope), self.name)

    @property
    def has_other_names(self) -> bool:
        """Whether a statement that makes the value also gives it another name: ``self.losses = losses = []``."""
        nodes = [item.node for item in self.bindings]
        return any(not isinstance(node, ast.AnnAssign) and len(getattr(node, "targets", ())) != 1 for node in nodes)

    @cached_property
    def bindings(self) -> list[Statement]:
        """The statements that bind the name or add to it."""
        return list(dict.fromkeys(use.statement for use in self.uses if not isinstance(use.node.ctx, ast.Load)))

    @cached_property
    def entering(self) -> list[Statement] | None:
        """The statements that may have given the name its value at the start of the loop.

        None if the value may not come from this scope: a parameter, or a name that is only bound in a branch.
        """
        outside = [item for item in self.bindings if not self.is_in_loop(item)]
        before = [item for item in outside if _position(item.node) < _position(self._loop)]
        first = next(filter(self._binds_for_sure, reversed(before)), None)
        if first is None:
            return None
        again = [loop for loop in self._loops_around if not is_part_of(first, loop)]
        return [
            item
            for item in outside
            if _position(item.node) >= _position(first.node)
            and (item in before or any(is_part_of(item, loop) for loop in again))
        ]

    def _binds_for_sure(self, statement: Statement) -> bool:
        """Whether a statement before the loop always binds the name."""
        around = {(link.node, link.branch) for link in self._chain}
        links = ((link.node, link.branch) for link in statement.around)
        return not isinstance(statement.node, ast.AugAssign) and around.issuperset(links)

    @cached_property
    def ending(self) -> Ending | None:
        """Where the value may be converted to a number again; None if a jump skips every such place."""
        last, after_errors = self._last_with_handlers()
        beyond = [use for use in self.uses if self._is_behind(use.statement, last)]
        is_read = bool(beyond) or isinstance(self._scope.scope.node, ast.Module)
        if is_read and self._is_jumped_over(last):
            return None
        return Ending(last, is_read, after_errors)

    def is_in_loop(self, statement: Statement) -> bool:
        """Whether a statement is the loop or inside it."""
        return is_part_of(statement, self._loop)

    def comes_before(self, statement: Statement) -> bool:
        """Whether a statement outside the loop may run before the loop, or before it runs again."""
        if _position(statement.node) < _position(self._loop):
            return True
        entering = self.entering or []
        return any(
            is_part_of(statement, loop) and not any(is_part_of(item, loop) for item in entering)
            for loop in self._loops_around
        )

    @cached_property
    def _chain(self) -> list[Link]:
        """The compound statements around the loop, from the inside out."""
        own = (item for item in self._scope.scope.statements if item.node is self._loop)
        return [link for item in own for link in item.around]

    @cached_property
    def _loops_around(self) -> list[ast.stmt]:
        return [link.node for link in self._chain if isinstance(link.node, LOOPS) and link.branch == "body"]

    def _is_behind(self, statement: Statement, last: ast.stmt) -> bool:
        """Whether a statement outside of ``last`` may run after it."""
        if is_part_of(statement, last):
            return False
        loops = [link for link in self._loops_around if link is not last and _is_inside(last, link)]
        return _position(statement.node) > _position(last) or any(is_part_of(statement, loop) for loop in loops)

    def _last_with_handlers(self) -> tuple[ast.stmt, bool]:
        """The outermost statement around the loop whose handlers, ``finally`` or exit lead to a use of the name."""
        last: ast.stmt = self._loop
        after_errors = False
        for link in self._chain:
            node = link.node
            if isinstance(node, TRIES):
                looks, errors = self._looked_at_by(node, link.branch)
                last, after_errors = (node, after_errors or errors) if looks else (last, after_errors)
            elif isinstance(node, (ast.With, ast.AsyncWith)) and self._is_used_behind(node):
                kinds = [stops_errors(item.context_expr) for item in node.items]
                if any(kind is not False for kind in kinds):
                    last, after_errors = node, after_errors or True in kinds
        return last, after_errors

    def _looked_at_by(self, node: ast.Try, branch: str) -> tuple[bool, bool]:
        """Whether an exception in a part of a ``try`` leads to a use of the name, and whether an error does."""
        finally_looks = any(self._is_used_in(item) for item in node.finalbody)
        looks, errors = finally_looks, finally_looks
        for handler in node.handlers if branch == "body" else ():
            goes_on = not (isinstance(handler.body[-1], _LEAVES_THE_FUNCTION) or exits(handler.body))
            if any(map(self._is_used_in, handler.body)) or (goes_on and self._is_used_behind(node)):
                looks = True
                errors = errors or not _is_interrupt(handler.type)
        return looks, errors

    def _is_used_in(self, node: ast.stmt) -> bool:
        return any(is_part_of(use.statement, node) for use in self.uses)

    def _is_used_behind(self, node: ast.stmt) -> bool:
        return isinstance(self._scope.scope.node, ast.Module) or any(
            self._is_behind(use.statement, node) for use in self.uses
        )

    def _is_jumped_over(self, last: ast.stmt) -> bool:
        """Whether a ``break`` or ``continue`` for a loop around ``last`` leaves it."""
        return any(
            is_part_of(item, last) and item.loop is not None and item.loop is not last and _is_inside(last, item.loop)
            for item in self._scope.scope.statements
            if isinstance(item.node, (ast.Break, ast.Continue))
        )


def is_part_of(statement: Statement, node: ast.stmt) -> bool:
    """Whether a statement is a node, or anywhere inside it."""
    return statement.node is node or any(link.node is node and link.branch != "after" for link in statement.around)


def _is_inside(inner: ast.AST, outer: ast.AST) -> bool:
    """Whether a node is within the rows and columns of another."""
    return _position(outer) <= _position(inner) and _end(inner) <= _end(outer)


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_interrupt(kind: ast.expr | None) -> bool:
    """Whether a handler is for exceptions that end a run from outside, not for errors."""
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(part is not None and (dotted(part) or "").rpartition(".")[2] in _INTERRUPTS for part in parts)


# Finds which names of a loop get the values of a container; in a dict, these are not the keys.
#
# In ``for name, value in losses.items()`` the losses are in ``value``, and in ``for name in losses`` in no name.

_MAKE_DICTS = frozenset({"dict", "OrderedDict", "defaultdict", "Counter"})
_IN_TURN = IN_TURN | LISTING
"""Calls that yield the items of their first argument."""

IsDict = Callable[[ast.AST], bool]


def makes_dict(node: ast.AST | None) -> bool:
    """Whether an expression creates a dict."""
    if isinstance(node, ast.Call):
        return terminal(node) in _MAKE_DICTS
    return isinstance(node, (ast.Dict, ast.DictComp))


def asks_for_keys(node: ast.AST) -> bool:
    """Whether an expression is a dict's keys: the ``losses.keys`` of ``losses.keys()``."""
    return isinstance(node, ast.Attribute) and node.attr == "keys"


def parts_with_values(target: ast.expr, iterated: ast.AST, held: ast.AST, is_dict: IsDict) -> Iterator[ast.expr]:
    """The parts of a loop's target, or of a comprehension's, that get values of a container.

    Args:
        target: ``i, (name, value)`` of ``for i, (name, value) in enumerate(losses.items())``.
        iterated: the iterable of the loop.
        held: the container in it.
        is_dict: whether an expression is known to be a dict.
    """
    if is_dict(iterated):
        return
    called = terminal(iterated) if isinstance(iterated, ast.Call) else None
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if not isinstance(iterated, ast.Call) or called is None or any(isinstance(part, ast.Starred) for part in parts):
        yield target
    elif called == "items" and len(parts) == 2 and not iterated.args:
        yield parts[1]
    elif called in ("enumerate", "zip") and _fit(parts, iterated):
        shown = parts[1:] if called == "enumerate" else parts
        for part, argument in zip(shown, iterated.args, strict=False):
            if any(item is held for item in walk(argument)):
                yield from parts_with_values(part, argument, held, is_dict)
    elif called in _IN_TURN and iterated.args:
        yield from parts_with_values(target, iterated.args[0], held, is_dict)
    else:
        yield target


def _fit(parts: list[ast.expr], call: ast.Call) -> bool:
    """Whether a target has one part for each value that ``enumerate`` or ``zip`` yields in each iteration."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    return len(parts) == (2 if terminal(call) == "enumerate" else len(call.args)) and bool(call.args)


# Finds lists of values that a loop reads repeatedly while they grow, so that a running sum should replace them.
#
# After ``losses.append(loss)``, ``np.mean(losses)`` at every tenth step would read each tensor of the list again.

_SUMMARIES = frozenset({"sum", "mean", "average", "median", "fsum", "nanmean"})


def is_summed_while_it_grows(target: ast.expr, uses: Iterable[Mention], point: Point) -> bool:
    """Whether a loop sums a list that it adds to and never empties.

    Args:
        target: the list, as a statement of the loop adds to it.
        uses: where the loop mentions it.
        point: that statement.
    """
    return any(map(_is_summary, uses)) and outlives_the_step(target, point)


def sums_all_it_keeps(call: ast.Call, point: Point) -> bool:
    """Whether the method that a call reaches puts its argument into a list, and sums the whole list."""
    targets = CallGraph.of(point.file.project).callees(point.function, call, point.full_env)
    return bool(targets) and all(target.sure and _sums_own_list(target.file, target.scope) for target in targets)


def _is_summary(use: Mention) -> bool:
    parent = use.parent
    return isinstance(parent, ast.Call) and use.node in parent.args and terminal(parent) in _SUMMARIES


@query
def _sums_own_list(_: FileIndex, method: Scope) -> bool:
    """Whether a method has ``self.values.append(value)``, and one of its class ``sum(self.values)``."""
    methods = method.owner.methods.values() if method.owner is not None else (method,)
    calls = [item for each in methods for item in walk(each.node) if isinstance(item, ast.Call)]
    appended = {
        dotted(item.func.value)
        for item in walk(method.node)
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr == "append"
    }
    summed = {dotted(argument) for call in calls if terminal(call) in _SUMMARIES for argument in call.args[:1]}
    return any(name is not None and name.startswith("self.") for name in appended & summed)


# Finds whether the rest of a loop may change a tensor in place, or one that shares its memory, as by `.detach()`.

_WRITES = frozenset({"set_value", "copy_", "fill_", "set_data", "__setitem__", "data"})
_SHARE = frozenset(
    {"detach", "cpu", "cuda", "astype", "cast", "reshape", "squeeze", "unsqueeze", "flatten", "view", "expand", "clone"}
)
"""Methods whose result may share the memory."""

_ONLY_LOOK = frozenset(
    {"print", "float", "int", "bool", "str", "repr", "format", "len", "isinstance", "type", "round", "abs", "sum"}
    | {"min", "max", "hasattr", "id"}
)
_ONLY_LOOK_METHODS = frozenset({"scale", "minimize", "format", "info", "debug", "warning", "error", "backward"})
"""Methods of other objects that take a loss and do not change it."""
_ONLY_READ = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.AugAssign),
    *(ast.If, ast.While, ast.Assert, ast.Expr, *LOOPS),
)


def may_change(tensor: ast.expr, loop: Loop, scope: ScopeUses) -> bool:
    """Whether the memory of a tensor may be written to after an expression in a loop has returned it.

    False for the result of arithmetic, which nothing else shares, and for a name that each step binds to the result of
    a call, and that the loop then only reads: calls methods such as ``mean``, computes with it, or prints it.

    Args:
        tensor: the expression, ``loss`` of ``losses.append(loss.item())``.
    """
    if isinstance(tensor, (ast.BinOp, ast.UnaryOp)):
        return False
    if not isinstance(tensor, ast.Name):
        return True
    inside = (use for use in scope.by_name.get(tensor.id, ()) if is_part_of(use.statement, loop))
    return any(_changes(use, scope) for use in inside)


class _Shared(UseSearch):
    """Follows the memory of a tensor through one expression."""

    def passes(self, use: Use) -> bool:
        """Whether an expression may be a tensor with the same memory."""
        return use.kind is UseKind.CALLED or (isinstance(use.around, ast.Attribute) and use.around.attr in _SHARE)

    def follows(self, use: Use) -> bool:
        """Other names may change it, wherever they are read."""
        return False


def _changes(mention: Mention, scope: ScopeUses) -> bool:
    """Whether a place may write to the memory of a tensor, or passes it to something that may."""
    if isinstance(mention.node.ctx, ast.Store):
        return not _is_fresh(mention.statement.node, scope)
    if isinstance(mention.node.ctx, ast.Del):
        return False
    [use] = uses(mention.node, Place(scope.file, scope.scope, mention.statement), through=_Shared())
    around = use.around
    if isinstance(around, ast.Attribute):
        return around.attr in _WRITES or re.search("[^_]_$", around.attr) is not None or is_stored(around)
    if isinstance(around, ast.Call):
        return not _only_looks(around, scope.file)
    return not isinstance(around, _ONLY_READ)


def _is_fresh(statement: ast.stmt, scope: ScopeUses) -> bool:
    """Whether the statement that binds a name gives it a separate tensor: ``loss, output = step(x)``."""
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    if isinstance(statement.value, ast.Call):
        graph = CallGraph.of(scope.file.project)
        targets = graph.callees(Place(scope.file, scope.scope), statement.value)
        return not any(target.sure and _returns_what_it_keeps(target.file, target.scope) for target in targets)
    return isinstance(statement.value, (ast.BinOp, ast.UnaryOp))


@query
def _returns_what_it_keeps(_: FileIndex, scope: Scope) -> bool:
    """Whether a function returns a tensor that something else has, too: a parameter, ``self.loss``, a global name."""
    returned = [item.node.value for item in scope.statements if isinstance(item.node, ast.Return) and item.node.value]
    parts = (part for value in returned for part in (value.elts if isinstance(value, ast.Tuple) else [value]))
    own = bindings_of(scope).keys() - set(all_parameters(scope))
    return any(isinstance(part, ast.Attribute) or (isinstance(part, ast.Name) and part.id not in own) for part in parts)


def _only_looks(call: ast.Call, file: FileIndex) -> bool:
    name = dotted(call.func)
    if name in _ONLY_LOOK:
        return True
    qualified = file.names.resolve(name) if name else ""
    if qualified.startswith("paddle."):
        return not qualified.startswith("paddle.distributed.") and not qualified.endswith("_") and not _writes_to(call)
    return isinstance(call.func, ast.Attribute) and call.func.attr in _ONLY_LOOK_METHODS


def _writes_to(call: ast.Call) -> bool:
    return any(keyword.arg in ("out", "output") for keyword in call.keywords)
