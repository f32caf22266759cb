"""Follows each path through a function to see what each of its names may be, at each place that reads it.

What a path may leave behind is never lost: the zero iterations of a loop, an early ``continue``, an exception in the
middle of a ``try``, a name that an ``import`` or a ``case`` binds. Between the points where paths meet, only the names
that were bound are compared, so the time grows with the length of the function.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping

from perflint.flow.by_statement import differentiated, scales
from perflint.flow.may_be import (
    A_TENSOR,
    ANYTHING,
    IMPORTED,
    NONE,
    NOTHING,
    Defined,
    Expressions,
    May,
    items_of,
    may_set,
    operated,
    sets_any_attribute,
    union,
)
from perflint.flow.type_tests import asked_type
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import TENSOR, UNKNOWN
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import is_none
from perflint.syntax.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOPS,
    TRIES,
    Class,
    Scope,
    exits,
    once,
    required_parts,
    stops_errors,
)
from perflint.syntax.tree import children, walk

_MOST_LOOPS = 4
"""How many nested loops are followed until nothing changes: each at least doubles the time of the inner ones."""
_MOST_TURNS = 3
_MOST_NESTED = 40
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_WITHS = (ast.With, ast.AsyncWith)
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)

_Told = Mapping[str, Callable[[May], May]]
_UNTOLD: _Told = {}
_Names = frozenset[str]
_NO_NAMES: _Names = frozenset()


class PathWalk(Expressions):
    """One walk through a function; a subclass knows what is around it.

    After it, ``bound`` has all that each name is ever bound to, and ``result`` what the function returns.

    Args:
        given: what the parameters may be.
    """

    def __init__(self, at: Place, given: Mapping[str, May]) -> None:
        self.file = at.file
        self.scope = at.scope
        self.result: May = NOTHING
        self.bound: dict[str, May] = dict(given)
        self._reads: dict[ast.expr, May] = {}
        self._locals = binders(at.scope).keys() | given.keys()
        self._env: dict[str, May] = dict(given)
        self._attributes: dict[str, list[str]] = {}
        for name in self._locals:
            if "." in name:
                self._env[name] = ANYTHING
                self._attributes.setdefault(name.rpartition(".")[0], []).append(name)
        self._changed: list[tuple[str, May]] = []
        self._bindings: list[tuple[str, May]] = []
        self._inner: dict[str, May] = {}
        self._breaks: list[bool] = []
        self._ahead: _Names = _NO_NAMES
        self._nested = 0
        self._has_backward = bool(differentiated(at.scope))
        self._parts: dict[ast.stmt, tuple[_Names, bool]] = {}
        self._is_generator = False
        if self._block(at.scope.node.body, _NO_NAMES):
            self.result = union(self.result, frozenset({NONE}))
        for name, may in self._bindings:
            self.bound[name] = union(self.bound.get(name, NOTHING), may)
        if self._is_generator or isinstance(at.scope.node, ast.AsyncFunctionDef):
            self.result = ANYTHING

    @abstractmethod
    def outside(self, name: str) -> May:
        """What a name may be that the function does not bind itself."""

    @abstractmethod
    def attribute(self, name: str) -> May | None:
        """What ``self.name`` may be; None if it is no attribute that the class sets, such as a method."""

    def is_set_elsewhere(self, name: str) -> bool:
        """Whether another function than ``__init__`` may set an attribute while this one runs."""
        if self.scope.owner is None:
            return True
        stores = stores_of(self.file, self.scope.owner, name)
        return any(
            place is None or (place.scope is not self.scope and place.scope.name != "__init__") for place in stores
        )

    def method(self, owner: str, name: str) -> Defined | None:
        """A method of objects of a class, unless something stores another value under its name."""
        found = Modules.of(self.file.project).method(owner, name)
        placed = Modules.of(self.file.project).class_named(owner)
        if found is None or placed is None or stores_of(*placed, name):
            return None
        return Defined(found.file, found.scope)

    def value_of(self, node: ast.Name | ast.Attribute) -> May | None:
        """What a name may be, or an attribute that the function or its class sets; None for other attributes."""
        known = self._reads.get(node)
        if known is not None:
            return known
        if isinstance(node, ast.Name):
            return self._inner.get(node.id, ANYTHING)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self" and self.scope.owner is not None
        return self.attribute(node.attr) if is_own else None

    # -- names -----------------------------------------------------------------------------------------------------

    def _now(self, name: str) -> May:
        if name not in self._locals:
            return self.outside(name)
        plain, dot, attribute = name.partition(".")
        if plain in shared(self.file):
            return ANYTHING
        if dot and self.is_set_elsewhere(attribute):
            return ANYTHING
        return self._env.get(name, NOTHING)

    def _bind(self, name: str, may: May) -> None:
        for attribute in self._attributes.get(name, ()):
            self._set(attribute, ANYTHING)
        self._bindings.append((name, may))
        self._set(name, may)

    def _set(self, name: str, may: May) -> None:
        self._changed.append((name, self._env.get(name, NOTHING)))
        self._env[name] = may

    def _bind_target(self, target: ast.expr, may: May) -> None:
        for name, part in _targets(target, may):
            self._bind(name, part)

    def _since(self, mark: int) -> dict[str, May]:
        return {name: self._env[name] for name, _ in self._changed[mark:]}

    def _undo(self, mark: int) -> None:
        while len(self._changed) > mark:
            name, before = self._changed.pop()
            self._env[name] = before

    def _meet(self, ways: list[dict[str, May]]) -> bool:
        """Go on where some paths meet, given what each has bound; return whether there is one."""
        for name in dict.fromkeys(name for way in ways for name in way):
            now = self._env.get(name, NOTHING)
            self._set(name, union(*(way.get(name, now) for way in ways)))
        return bool(ways)

    def _widen(self, first: int) -> bool:
        """Go on as if any of the bindings since one of them were the last; return whether that says anything new."""
        is_new = False
        for name, may in dict.fromkeys(self._bindings[first:]):
            now = self._env.get(name, NOTHING)
            both = union(now, may)
            if both != now:
                self._set(name, both)
                is_new = True
        return is_new

    # -- expressions -----------------------------------------------------------------------------------------------

    def _look(self, *nodes: ast.expr | None) -> None:
        """Record what the names in some expressions may be, and bind those that ``:=`` binds."""
        loads: list[tuple[ast.Name | ast.Attribute, str, _Told]] = []
        makers: list[ast.expr] = []
        walruses: list[ast.NamedExpr] = []
        own: dict[str, May] = {}
        stack: list[tuple[ast.AST, _Told]] = [(node, _UNTOLD) for node in nodes if node is not None]
        while stack:
            node, told = stack.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    loads.append((node, node.id, told))
            elif isinstance(node, ast.Attribute):
                name = dotted(node) if self._attributes else None
                if name in self._locals and isinstance(node.ctx, ast.Load):
                    loads.append((node, str(name), told))
                stack.append((node.value, told))
            elif isinstance(node, ast.IfExp):
                stack += [(node.test, told), (node.body, self._also(told, node.test, True))]
                stack.append((node.orelse, self._also(told, node.test, False)))
            elif isinstance(node, ast.BoolOp):
                for part in node.values:
                    stack.append((part, told))
                    told = self._also(told, part, isinstance(node.op, ast.And))
            else:
                if isinstance(node, COMPREHENSIONS):
                    makers.append(node)
                    own.update(dict.fromkeys(_stored(generator.target for generator in node.generators), NOTHING))
                elif isinstance(node, ast.Lambda):
                    own.update(dict.fromkeys((item.arg for item in walk(node) if isinstance(item, ast.arg)), ANYTHING))
                elif isinstance(node, ast.NamedExpr):
                    walruses.append(node)
                self._is_generator = self._is_generator or isinstance(node, (ast.Yield, ast.YieldFrom))
                stack += [(child, told) for child in children(node)]
        for load in loads:
            if load[1] not in own:
                self._note(*load)
        if own:
            self._inside(makers, own)
            for node, name, told in loads:
                if name in own:
                    self._note(node, name, told, own[name])
        self._walruses(walruses, loads)

    def _walruses(
        self, walruses: list[ast.NamedExpr], loads: list[tuple[ast.Name | ast.Attribute, str, _Told]]
    ) -> None:
        bound = set()
        for walrus in walruses:
            name = dotted(walrus.target) or ""
            self._bind(name, union(self._now(name), self.may_be(walrus.value)))  # it may be behind an ``and``
            bound.add(name)
        for node, name, told in loads if bound else ():
            if name in bound:
                self._note(node, name, told)

    def _note(self, node: ast.Name | ast.Attribute, name: str, told: _Told, inner: May | None = None) -> None:
        may = self._now(name) if inner is None else inner if name not in self._locals else union(inner, self._now(name))
        if name in told:
            may = told[name](may)
        if name in self._ahead and (UNKNOWN in may or TENSOR in may):
            may = A_TENSOR  # otherwise the program fails a few statements further down
        self._reads[node] = union(self._reads.get(node, NOTHING), may)

    def _inside(self, makers: list[ast.expr], own: dict[str, May]) -> None:
        """Find what the targets of comprehensions may be."""
        self._inner = own
        for maker in makers:
            for generator in maker.generators:  # type: ignore[attr-defined]  # a comprehension
                for name, may in _targets(generator.target, self.iterated(generator.iter)):
                    own[name] = union(own.get(name, NOTHING), may)
        self._inner = {}

    def _also(self, told: _Told, test: ast.expr, value: bool) -> _Told:
        more = dict(self._told_by(test, value))
        return {**told, **more} if more else told

    def _tell(self, test: ast.expr, value: bool) -> None:
        """Go on in the case that a test is ``value``."""
        for name, keep in self._told_by(test, value):
            if name in self._locals:
                now = self._now(name)
                self._set(name, keep(now))

    def _told_by(self, test: ast.expr, value: bool) -> Iterator[tuple[str, Callable[[May], May]]]:
        """What a test says about names."""
        for part, truth in required_parts(test, value):
            asked = asked_type(part, self.file)
            name = dotted(part if asked is None else asked.node)
            if isinstance(part, ast.Compare):
                name, operator = dotted(part.left), part.ops[0]
                is_for_none = len(part.ops) == 1 and is_none(part.comparators[0])
                if name is not None and is_for_none and isinstance(operator, (ast.Is, ast.IsNot)):
                    yield name, _only_none if isinstance(operator, ast.Is) == truth else _without_none
            elif asked is not None and asked.is_tensor and name is not None:
                yield name, _only_tensors if truth else _without_tensors
            elif asked is None and name is not None and truth:
                yield name, _without_none

    # -- statements ------------------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], ahead: _Names) -> bool:
        """Walk through a block; return whether its end is reached.

        Args:
            body: its statements.
            ahead: the names on which ``backward`` is certainly called after the block, before they are bound again.
        """
        if self._nested > _MOST_NESTED:
            for name in frozenset().union(*(self._part(node)[0] for node in body)):
                self._bind(name, ANYTHING)
            self.result = ANYTHING
            return True
        self._nested += 1
        reached = True
        for node, (known, later) in zip(body, self._aheads(body, ahead), strict=True):
            self._ahead = known
            reached = self._statement(node, later)
            if not reached:
                break
        self._nested -= 1
        return reached

    def _aheads(self, body: list[ast.stmt], ahead: _Names) -> list[tuple[_Names, _Names]]:
        """For each statement: the names that are certainly differentiated from it on, and after it."""
        if not self._has_backward:
            return [(_NO_NAMES, _NO_NAMES)] * len(body)
        found: list[tuple[_Names, _Names]] = []
        for node in reversed(body):
            bound, leaves = self._part(node)
            before = _NO_NAMES if leaves else (ahead - bound) | _differentiated_by(node)
            found.append((before, ahead))
            ahead = before
        return found[::-1]

    def _part(self, node: ast.stmt) -> tuple[_Names, bool]:
        """The names that a statement binds, with the statements in it, and whether one of these may leave the block."""
        if node not in self._parts:
            parts = walk(node)
            bound = frozenset(name for item in parts for name, _ in _binds(item))
            may_leave = any(isinstance(item, _LEAVING) for item in parts) or exits([node])
            self._parts[node] = bound, may_leave and not isinstance(node, _DEFINITIONS)
        return self._parts[node]

    def _statement(self, node: ast.stmt, ahead: _Names) -> bool:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self._assign(node)
        elif isinstance(node, ast.Expr):
            self._look(node.value)
        elif isinstance(node, ast.If):
            return self._if(node, ahead)
        elif isinstance(node, LOOPS):
            return self._loop(node)
        elif isinstance(node, _WITHS):
            return self._with(node, ahead)
        elif isinstance(node, TRIES):
            return self._try(node)
        elif isinstance(node, ast.Match):
            return self._match(node, ahead)
        elif isinstance(node, _DEFINITIONS):
            self._look(*(child for child in children(node) if isinstance(child, ast.expr)))
            self._bind(node.name, defined_by(self.file, node))
        else:
            self._simple(node)
        for name in _differentiated_by(node):
            if name in self._locals and not self._now(name).isdisjoint({UNKNOWN, TENSOR}):
                self._set(name, A_TENSOR)
        if isinstance(node, ast.Break):
            self._breaks[-1:] = [True]
        return not isinstance(node, _LEAVING) and not exits([node])

    def _simple(self, node: ast.stmt) -> None:
        self._look(*(child for child in children(node) if isinstance(child, ast.expr)))
        if isinstance(node, ast.Return):
            returned = self.may_be(node.value) if node.value is not None else frozenset({NONE})
            self.result = union(self.result, returned)
        elif isinstance(node, ast.Assert):
            self._tell(node.test, True)
        else:
            for item in walk(node):
                for name, is_import in _binds(item):
                    is_gone = isinstance(node, ast.Delete) and "." not in name
                    self._bind(name, NOTHING if is_gone else frozenset({IMPORTED}) if is_import else ANYTHING)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        self._look(node.value, *targets)
        if node.value is None:
            return
        may = self.may_be(node.value)
        if isinstance(node, ast.AugAssign):
            name = dotted(node.target)
            may = operated(node.op, self._now(name), may) if name is not None else ANYTHING
        for target in targets:
            self._bind_target(target, may)

    def _if(self, node: ast.If, ahead: _Names) -> bool:
        start, is_last = len(self._changed), False
        ways: list[dict[str, May]] = []
        while not is_last:  # a chain of ``elif`` must not nest our calls
            self._look(node.test)
            here, known = len(self._changed), self._ahead
            self._tell(node.test, True)
            if self._block(node.body, ahead):
                ways.append(self._since(start))
            self._undo(here)
            self._ahead = known
            self._tell(node.test, False)
            first = node.orelse[0] if len(node.orelse) == 1 else None
            is_last = not isinstance(first, ast.If)
            if isinstance(first, ast.If):
                node = first
        if self._block(node.orelse, ahead):
            ways.append(self._since(start))
        self._undo(start)
        return self._meet(ways)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        self._breaks.append(False)
        known = self._ahead
        if not isinstance(node, ast.While):
            self._look(node.iter)
        is_deep = len(self._breaks) > _MOST_LOOPS
        if is_deep:
            self._forget(self._part(node)[0])
        for turn in range(1 if is_deep else _MOST_TURNS + 1):
            if turn == _MOST_TURNS:
                self._forget(self._part(node)[0])
            first = len(self._bindings)
            self._turn(node, known)
            if not self._widen(first):
                break
        is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        is_left = self._breaks.pop()
        if is_endless:
            return is_left
        start = len(self._changed)
        ways: list[dict[str, May]] = [{}] if is_left else []
        if self._block(node.orelse, _NO_NAMES):
            ways.append(self._since(start))
        self._undo(start)
        return self._meet(ways)

    def _turn(self, node: ast.For | ast.AsyncFor | ast.While, known: _Names) -> None:
        """One iteration of a loop."""
        self._ahead = known
        if isinstance(node, ast.While):
            self._look(node.test)
        start = len(self._changed)
        if isinstance(node, ast.While):
            self._tell(node.test, True)
        else:
            self._look(node.target)
            self._bind_target(node.target, self.iterated(node.iter))
        self._block(node.body, _NO_NAMES)
        self._undo(start)

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._locals:
                self._bind(name, ANYTHING)

    def _with(self, node: ast.With | ast.AsyncWith, ahead: _Names) -> bool:
        for item in node.items:
            self._look(item.context_expr, item.optional_vars)
            if item.optional_vars is not None:
                self._bind_target(item.optional_vars, ANYTHING)
        start, first = len(self._changed), len(self._bindings)
        passes_on = all(stops_errors(item.context_expr) is False for item in node.items)
        reached = self._block(node.body, ahead if passes_on else _NO_NAMES)
        if passes_on:
            return reached
        self._undo(start)  # it may suppress an error anywhere in its body
        self._widen(first)
        return True

    def _try(self, node: ast.Try) -> bool:
        start, first = len(self._changed), len(self._bindings)
        ways: list[dict[str, May]] = []
        if self._block(node.body, _NO_NAMES) and self._block(node.orelse, _NO_NAMES):
            ways.append(self._since(start))
        self._undo(start)
        for handler in node.handlers:
            self._ahead = _NO_NAMES
            self._widen(first)
            self._look(handler.type)
            if handler.name is not None:
                self._bind(handler.name, ANYTHING)
            if self._block(handler.body, _NO_NAMES):
                ways.append(self._since(start))
            self._undo(start)
        if not node.finalbody:
            return self._meet(ways)
        self._widen(first)
        return self._block(node.finalbody, _NO_NAMES) and bool(ways)

    def _match(self, node: ast.Match, ahead: _Names) -> bool:
        self._look(node.subject)
        for case in node.cases:
            for item in walk(case.pattern):
                for name, _ in _binds(item):
                    self._bind(name, union(self._now(name), ANYTHING))
        start, known = len(self._changed), self._ahead
        ways: list[dict[str, May]] = [{}]
        for case in node.cases:
            self._ahead = known
            self._look(case.guard)
            if self._block(case.body, ahead):
                ways.append(self._since(start))
            self._undo(start)
        return self._meet(ways)


def _only_none(may: May) -> May:
    return may & {NONE}


def _without_none(may: May) -> May:
    return may - {NONE}


def _only_tensors(may: May) -> May:
    return A_TENSOR


def _without_tensors(may: May) -> May:
    return may - {TENSOR}


def _targets(target: ast.expr, may: May) -> Iterator[tuple[str, May]]:
    """The names that an assignment binds, with what each of them gets."""
    if isinstance(target, (ast.Tuple, ast.List)):
        is_starred = any(isinstance(part, ast.Starred) for part in target.elts)
        parts = [ANYTHING] * len(target.elts) if is_starred else items_of(may, len(target.elts))
        for part, each in zip(target.elts, parts, strict=True):
            yield from _targets(part, each)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, ANYTHING)
    elif not isinstance(target, ast.Subscript):
        name = dotted(target)
        if name is not None:
            yield name, may


def _stored(targets: Iterable[ast.expr]) -> set[str]:
    return {name for target in targets for name, _ in _targets(target, NOTHING)}


def _differentiated_by(node: ast.stmt) -> _Names:
    """The names that a statement calls ``backward`` on, directly or through a loss scaler or an optimizer."""
    value = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    call = value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
    if call is None or not isinstance(call.func, ast.Attribute):
        return _NO_NAMES
    receiver, method = call.func.value, call.func.attr
    if method == "backward":
        inner = receiver.args[:1] if isinstance(receiver, ast.Call) and scales(receiver) else [receiver]
    else:
        inner = call.args[:1] if method == "minimize" or scales(call) else []
    return frozenset(filter(None, map(dotted, inner)))


# -- what a function binds -----------------------------------------------------------------------------------------


def _binds(item: ast.AST) -> Iterator[tuple[str, bool]]:
    """The dotted names that a node itself binds, each with whether that is an import."""
    if isinstance(item, (ast.Name, ast.Attribute)):
        name = dotted(item) if isinstance(item.ctx, (ast.Store, ast.Del)) else None
        if name is not None:
            yield name, False
    elif isinstance(item, ast.alias):
        yield (item.asname or item.name.partition(".")[0]), True
    elif isinstance(item, (*_DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        if item.name is not None:
            yield item.name, False
    elif isinstance(item, ast.MatchMapping) and item.rest is not None:
        yield item.rest, False


@once
def binders(scope: Scope) -> Mapping[str, list[ast.AST]]:
    """The nodes of a function or module that bind each of its names, dotted ones too, without its parameters."""
    return bound_in(scope.node.body)


def bound_in(body: list[ast.stmt]) -> dict[str, list[ast.AST]]:
    """The nodes of some statements that bind each name, without what nested functions and classes bind."""
    found: dict[str, list[ast.AST]] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        item = stack.pop()
        for name, _ in _binds(item):
            found.setdefault(name, []).append(item)
        if isinstance(item, COMPREHENSIONS):  # its targets are its own, unlike those of ``:=`` in it
            stack += [part for part in walk(item) if isinstance(part, ast.NamedExpr)]
        elif not isinstance(item, (*_DEFINITIONS, ast.Lambda)):
            stack += children(item)
    return found


@query
def shared(file: FileIndex) -> frozenset[str]:
    """The names that functions of a file bind for others, with ``global`` or ``nonlocal``."""
    if not file.has_words("global") and not file.has_words("nonlocal"):
        return frozenset()
    declared = (node for node in walk(file.tree) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for node in declared for name in node.names)


def defined_by(file: FileIndex, node: ast.AST) -> May:
    """The function or class that a statement defines."""
    what = _definitions(file).get(node)
    return frozenset({Defined(file, what)}) if what is not None else ANYTHING


@query
def _definitions(file: FileIndex) -> dict[ast.AST, Scope | Class]:
    scopes = file.scopes
    found: dict[ast.AST, Scope | Class] = {scope.node: scope for scope in scopes.scopes}
    found.update((owner.node, owner) for owner in scopes.classes.values() if not owner.decorators)
    return found


# -- what sets attributes ----------------------------------------------------------------------------------------

_Store = Place | None
"""A function that sets an attribute of ``self``; None: something else does."""


def stores_of(file: FileIndex, owner: Class, name: str) -> list[_Store]:
    """What sets an attribute of ``self`` in a class and its relatives."""
    known = _storing(file, owner)
    by_others = None in known or may_set(file.project, name)
    return [*known.get(name, ()), *([None] if by_others else [])]


@query
def _storing(file: FileIndex, owner: Class) -> dict[str | None, list[_Store]]:
    """What sets each attribute of ``self`` in a class and its relatives, and (for None) what may set any."""
    hierarchy = Hierarchy.of(file.project)
    family = {one: there for there, one in (*hierarchy.lineage(file, owner), *hierarchy.descendants(owner))}
    found: dict[str | None, list[_Store]] = {}
    for there in dict.fromkeys(family.values()):
        for scope in there.scopes.scopes:
            for dotted_name in binders(scope):
                receiver, _, name = dotted_name.rpartition(".")
                if receiver and not (receiver == "self" and scope.owner not in family):
                    found.setdefault(name, []).append(Place(there, scope) if receiver == "self" else None)
    for one in family:
        for name in _set_by_class(one):
            found.setdefault(name, []).append(None)
        if sets_any_attribute(one):
            found[None] = [None]
    return found


def _set_by_class(owner: Class) -> Iterator[str]:
    """The attributes that a class itself gives a value, or, with a decorator, its fields."""
    bare = [node.target for node in owner.node.body if isinstance(node, ast.AnnAssign) and node.value is None]
    for name, nodes in bound_in(owner.node.body).items():
        if not all(isinstance(node, FUNCTIONS) or (node in bare and not owner.decorators) for node in nodes):
            yield name
