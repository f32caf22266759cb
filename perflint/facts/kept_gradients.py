"""Finds whether the gradient of a tensor that a loop computes may be missed: it is returned, stored, or printed.

Under ``no_grad``, and after ``detach``, the same tensor has the same values, but its ``stop_gradient`` is True. So its
gradient cannot be computed later, ``register_hook`` fails, and if it is printed, ``stop_gradient=True`` is printed with
it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING

from perflint.facts.gradient_graphs import carried
from perflint.facts.programs import may_look_at
from perflint.flow.calls import CallGraph
from perflint.flow.uses import uses_in
from perflint.index.project import Place
from perflint.query import query
from perflint.syntax.bindings import mentions_in
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_for, arguments_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Loop, Scope, Statement, own_parts, terminal
from perflint.syntax.tree import base_of, walk

if TYPE_CHECKING:
    from perflint.syntax.bindings import Mention

_RETURNS = "a tensor that the function returns has no gradient then, which a caller may ask for"
_KEEPS = "a tensor that it keeps in `{name}` has no gradient then"
_DIFFERENTIATES = "`{name}` may go into a backward pass after the loop"
_PRINTS = "a tensor that it prints says `stop_gradient=True` then"
_ASKS = "`{name}` of a tensor without a gradient is another one, or fails"
_PRINTED = "a tensor that is printed says `stop_gradient=True` then"
_SAME = "the kept tensor is another object, with another name, which `{name}` shows"
_READ_ELSEWHERE = "other code that reads it may ask for its graph"

_GRAPH = frozenset(
    {"stop_gradient", "is_leaf", "grad", "grad_fn", "grad_node", "gradient", "register_hook", "retain_grads"}
    | {"_grad_ivar", "_register_grad_hook", "_register_backward_hook", "requires_grad"}
)
"""Attributes and methods of a tensor that tell whether it has a graph."""
_TELL_OBJECTS_APART = frozenset({"id", "save", "dump", "dumps", "deepcopy", "ref", "proxy", "weakref"})
_WEIGHTS = frozenset({"weight", "bias", "parameters", "named_parameters"})
"""What gives weights, whose gradients an evaluation need not touch, but may."""
_MOST_PLACES = 50
"""How many places that read an attribute are examined; with more, it is unknown what they do with it."""

_COUNTS = frozenset({"accuracy", "accumulate", "compute", "update"})
_FILLS = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_SHOWS = frozenset({"print", "str", "repr"})
_LOGS = frozenset({"info", "debug", "warning", "error", "log", "write"})
_WHOLE = re.compile(r"%[sr]")
_MOST_ROUNDS = 5
"""How often names are followed through the statements of a loop; each round follows one more link of a chain."""


def kept_gradient(at: Place, loop: Loop | None, calls: Iterable[ast.Call], whole: bool) -> str:
    """Why a gradient of the values of a loop, or of a whole function, may be missed; ``""`` if it cannot.

    Args:
        calls: the calls in there whose results have gradients.
        whole: whether all of the function around the loop is meant.
    """
    if uses_in(at).sees_all_names:
        return _READ_ELSEWHERE
    found = _Followed(at, loop, frozenset(calls), whole=whole)
    handed = (_noticed(place, name, False) for place, name in found.handed_on())
    return next(found.reasons(), "") or next(filter(None, handed), "")


@query
def left_by_forward(place: Place) -> str:
    """Why a gradient may be missed that a forward pass leaves in its object: ``self.feature = self.conv(x)``.

    It is not where the same function reads it after that, or where one has just run the forward pass again.
    """
    given = all_parameters(place.scope)
    found = _Followed(place, None, frozenset(), given)
    return next((_KEEPS.format(name=name) for name, at in found.left() if _is_read_later(place, name, at)), "")


def _is_read_later(place: Place, held: str, at: Statement) -> bool:
    """Whether anything may read an attribute that a statement of a forward pass sets, and not set it just before."""
    name = held.rpartition(".")[2]
    for other in place.file.project.mentions.of(name):
        for load in other.loads_named(name):
            if load.scope is place.scope:
                if load.statement.start <= at.start or at.place is not None:
                    return True
            elif not _has_run(load):
                return True
    return False


def _has_run(load: Mention) -> bool:
    """Whether the object of an attribute was called before in the same iteration: ``net(x)``, then ``net.feature``."""
    owner = dotted(load.node.value) if isinstance(load.node, ast.Attribute) else None
    earlier = (item for item in load.scope.statements if item.loop is load.statement.loop)
    return any(
        item.start <= load.statement.start and any(dotted(call.func) == owner for call in item.calls)
        for item in earlier
    )


def notices_detach(at: Place, held: str) -> str:
    """Why it may be noticed that a tensor was detached before it was stored under a name; ``""`` if it cannot.

    Args:
        held: the name of a sum or of a container, such as ``total`` or ``self.losses``.
    """
    if isinstance(at.scope.node, ast.Module) and may_look_at(at, held):
        return _READ_ELSEWHERE
    found = _noticed(at, held, True)
    return found or (_noticed_outside(at, held) if "." in held else "")


@query(cycle="")
def _noticed(at: Place, held: str | ast.Call, is_detached: bool) -> str:
    """Why the statements of a function, and of those that get a tensor from it, may notice that it has no graph.

    Args:
        held: the name that holds the tensor, or a call that returns it.
        is_detached: whether it is another object than the one with the graph.
    """
    calls = frozenset({held}) if isinstance(held, ast.Call) else frozenset()
    found = _Followed(at, None, calls, {held} if isinstance(held, str) else set())
    said = next(found.tells(is_detached), "")
    if said:
        return said
    handed = (_noticed(place, name, is_detached) for place, name in found.handed_on())
    return next(filter(None, handed), "")


def _noticed_outside(at: Place, held: str) -> str:
    """The same for an attribute that other functions read."""
    name = held.rpartition(".")[2]
    reading = {
        (Place(other, load.scope), read)
        for other in at.file.project.mentions.of(name)
        for load in other.loads.get(name, ())
        if load.scope is not None and (read := dotted(load.node)) and "." in read and load.scope is not at.scope
    }
    if len(reading) > _MOST_PLACES:
        return _READ_ELSEWHERE
    return next(filter(None, (_noticed(place, name, True) for place, name in reading)), "")


class _Followed:
    """The names of a scope that have a tensor with a gradient, from the loop on."""

    def __init__(
        self,
        at: Place,
        loop: Loop | None,
        calls: frozenset[ast.Call],
        names: Iterable[str] = (),
        whole: bool = False,
    ) -> None:
        self._file = at.file
        self._scope = at.scope
        self._calls = calls
        self._shared = at.scope.once((_Followed, "shared"), lambda: _shared_by(at.scope))
        self._statements = at.scope.statements
        if loop is not None and not whole:
            self._statements = [item for item in at.scope.statements if item.node.lineno >= loop.lineno]
        around = next((item for item in self._statements if item.node is loop), None) if loop is not None else None
        self._around = {id(loop)} | ({id(link.node) for link in around.around} if around is not None else set())
        self._names = set(names)

    def reasons(self) -> Iterator[str]:
        """The reasons, in the order of the statements."""
        carried: set[str] = set()
        for _ in range(_MOST_ROUNDS):  # what one iteration leaves behind exists in the next
            self._names = set(carried)
            for statement in self._statements:
                self._follow(statement)
            if self._names <= carried:
                break
            carried |= self._names
        self._names = carried
        for statement in self._statements:
            yield from self._reasons_at(statement)
            self._follow(statement)
        for statement in self._scope.statements:
            for item in _differentiated(statement):
                if self._comes_from_calls(item, statement):
                    yield _DIFFERENTIATES.format(name=ast.unparse(item))

    def _comes_from_calls(self, node: ast.expr, at: Statement) -> bool:
        """Whether a value at a statement is computed from the results of the calls, by the assignments before it."""
        waiting: list[tuple[ast.expr, Statement]] = [(node, at)]
        seen: set[tuple[str, Statement]] = set()
        while waiting:
            value, at = waiting.pop()
            for item in self._holding(value):
                if item in self._calls:
                    return True
                if isinstance(item, str) and (item, at) not in seen:
                    seen.add((item, at))
                    waiting += ((made.value, made.statement) for made in before(item, at, self._scope) if made.value)
                    waiting += (filled for filled in self._fillings.get(item, ()) if filled[1].start < at.start)
        return False

    @cached_property
    def _fillings(self) -> Mapping[str, list[tuple[ast.expr, Statement]]]:
        """What the function puts into each of its containers: ``outs.append(out)``, ``outs["last"] = out``."""
        found: dict[str, list[tuple[ast.expr, Statement]]] = {}
        for statement in self._scope.statements:
            put = [pair for pair in _assigned(statement.node) if isinstance(pair[0], ast.Subscript)]
            for target, value in (*put, *_filled(statement)):
                for name in _bases(target):
                    found.setdefault(name, []).append((value, statement))
        return found

    def tells(self, is_detached: bool) -> Iterator[str]:
        """What in the statements shows that a tensor has no graph, and (``is_detached``) that it is another object.

        What is printed of a tensor that was not detached may be an array: only the value that was passed here counts.
        """
        given = frozenset(self._names)
        if not is_detached:
            yield from (_KEEPS.format(name=kept) for kept in self._kept_as_given())
        self._spread()
        for statement in self._near():
            for item in (part for header in own_parts(statement.node) for part in walk(header)):
                asked = self._asks(item)
                if asked:
                    yield _ASKS.format(name=asked)
                if self._shows(item) if is_detached else any(dotted(value) in given for value in _printed(item)):
                    yield _PRINTED
                same = self._tells_apart(item) if is_detached else ""
                if same:
                    yield _SAME.format(name=same)

    def left(self) -> Iterator[tuple[str, Statement]]:
        """The attributes of ``self`` that get a tensor computed from those known so far."""
        given = frozenset(self._names)
        self._spread()
        for statement in self._statements:
            for target, value in _assigned(statement.node):
                name = dotted(target) or ""
                if name.startswith("self.") and dotted(value) not in given and self._carries(value):
                    yield name, statement

    def _kept_as_given(self) -> Iterator[str]:
        """Where the function stores a tensor that it has got, under the name that it got it with."""
        bound = {name for item in self._statements for target, _ in _assigned(item.node) for name in _bases(target)}
        if bound.isdisjoint(self._names):
            yield from filter(None, map(self._kept, self._statements))

    def handed_on(self) -> Iterator[tuple[Place, str | ast.Call]]:
        """Who gets a tensor from here: a function it is passed to, with its parameter; where it is returned, calls."""
        graph, near = CallGraph.of(self._file.project), self._near()
        for call in (call for statement in near for call in statement.calls):
            if any(map(self._carries, arguments_of(call))):
                for called in graph.reached(Place(self._file, self._scope), call):
                    for parameter in all_parameters(called.scope):
                        given = argument_for(called.scope, call, parameter)
                        if given is not None and self._carries(given):
                            yield called, parameter
        returned = (item.node.value for item in near if isinstance(item.node, ast.Return))
        if any(value is not None and self._carries(value) for value in returned):
            yield from ((site.function, site.call) for site in graph.callers(Place(self._file, self._scope)))

    def _spread(self) -> None:
        """Add the names that get a tensor from those known so far, whatever else they are bound to."""
        for _ in range(_MOST_ROUNDS):
            known = len(self._names)
            for statement in self._near():
                for target, value in _assigned(statement.node):
                    self._names |= set(_bases(target)) if self._carries(value) else set()
            if len(self._names) == known:
                return

    def _near(self) -> Sequence[Statement]:
        """The statements that mention one of the names; where calls are followed as well, all of them."""
        if self._calls:
            return self._statements
        mentions = mentions_in(self._scope)
        keys = (key for name in self._names for last in (name.rpartition(".")[2],) for key in (last, f".{last}"))
        found = {mention.statement for key in keys for mention in mentions.get(key, ())}
        return sorted(found, key=lambda statement: statement.start)

    def _asks(self, item: ast.AST) -> str:
        """The attribute of a tensor that tells whether it has a graph."""
        if not isinstance(item, ast.Attribute) or item.attr not in _GRAPH or not isinstance(item.ctx, ast.Load):
            return ""
        return item.attr if self._carries(item.value) else ""

    def _tells_apart(self, item: ast.AST) -> str:
        """What tells a tensor from another one with the same values."""
        if isinstance(item, ast.Compare) and isinstance(item.ops[0], (ast.Is, ast.IsNot)):
            sides = (item.left, item.comparators[0])
            is_none = any(isinstance(side, ast.Constant) for side in sides)
            return "is" if not is_none and any(map(self._carries, sides)) else ""
        if not isinstance(item, ast.Call) or terminal(item) not in _TELL_OBJECTS_APART:
            return ""
        return terminal(item) or "" if any(map(self._carries, item.args)) else ""

    def _reasons_at(self, statement: Statement) -> Iterator[str]:
        node = statement.node
        for item in (part for header in own_parts(node) for part in walk(header)):
            asked = self._asks(item)
            if asked:
                yield _ASKS.format(name=asked)
            if self._shows(item):
                yield _PRINTS
            if isinstance(item, (ast.Yield, ast.YieldFrom)) and item.value is not None and self._carries(item.value):
                yield _RETURNS
        if isinstance(node, ast.Return) and node.value is not None and self._carries(node.value):
            yield _RETURNS
        kept = self._kept(statement)
        if kept is not None:
            yield _KEEPS.format(name=kept)

    def _follow(self, statement: Statement) -> None:
        for target, value in _assigned(statement.node):
            if self._carries(value):
                self._names |= set(_bases(target))
            elif (
                isinstance(target, ast.Name) and isinstance(statement.node, ast.Assign) and self._always_runs(statement)
            ):
                self._names.discard(target.id)
        for target, value in _filled(statement):
            self._names |= set(_bases(target)) if self._carries(value) else set()

    def _always_runs(self, statement: Statement) -> bool:
        """Whether a statement runs in each iteration of the loop, or always after it."""
        return all(id(link.node) in self._around or isinstance(link.node, ast.With) for link in statement.around)

    def _kept(self, statement: Statement) -> str | None:
        """Where a tensor is stored that exists after the function: an attribute, or the items of what others have."""
        for target, value in (*_assigned(statement.node), *_filled(statement, _FILLS - {"update"})):
            # (A metric has an `update` too, but stores numbers.)
            is_new = isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
            is_kept = dotted(target) in self._shared if is_new else self._outlives(target)
            if is_kept and self._carries(value):
                return ast.unparse(target)
        return None

    def _outlives(self, target: ast.expr) -> bool:
        base, uses = base_of(target), uses_in(Place(self._file, self._scope))
        if not isinstance(base, ast.Name):
            return isinstance(base, ast.Attribute)
        is_from_outside = not isinstance(self._scope.node, ast.Module) and not uses.binds(base.id)
        return is_from_outside or base.id in self._shared or base.id in uses.parameters

    def _carries(self, node: ast.expr) -> bool:
        """Whether the value of an expression is, or contains, a tensor with a gradient."""
        held = self._names | self._calls
        return any(item in held or (self._calls and _gives_weights(item)) for item in self._holding(node))

    def _holding(self, node: ast.expr) -> Iterator[str | ast.AST]:
        """The names and calls whose results the value of an expression is, or contains."""
        for item in carried(node, self._is_count):
            name = "" if isinstance(item, ast.Attribute) and item.attr in _GRAPH else dotted(item) or ""
            parts = name.split(".")
            yield from (".".join(parts[: at + 1]) for at in range(len(parts)))
            yield item

    def _is_count(self, call: ast.Call) -> bool:
        """Whether a call gives numbers: a metric, or a function of NumPy."""
        return terminal(call) in _COUNTS | _GRAPH or self._file.names.resolve(dotted(call.func) or "").startswith(
            "numpy."
        )

    def _shows(self, item: ast.AST) -> bool:
        """Whether a tensor itself is converted to text."""
        return any(map(self._carries, _printed(item)))


def _differentiated(statement: Statement) -> Iterator[ast.expr]:
    """What a statement computes the gradients of."""
    for call in statement.calls:
        last = terminal(call)
        if last == "backward" and isinstance(call.func, ast.Attribute):
            yield call.func.value
            yield from call.args[:1]
        elif last in ("grad", "minimize"):
            yield from call.args[:1]


def _gives_weights(item: str | ast.AST) -> bool:
    """Whether a name or a call gives weights of a model: ``net.fc.weight``, ``net.parameters()``."""
    if isinstance(item, ast.Call):
        return terminal(item) in _WEIGHTS
    return (item.attr if isinstance(item, ast.Attribute) else str(item).rpartition(".")[2]) in _WEIGHTS


def _shared_by(scope: Scope) -> frozenset[str]:
    """The names that a function shares with the code around it."""
    declared = (item.node for item in scope.statements if isinstance(item.node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for node in declared for name in node.names)


def _printed(item: ast.AST) -> list[ast.expr]:
    """The values that are converted to text: ``print(p)``, ``"%s" % p``, ``f"{p}"``; later by ``partial(print, p)``."""
    if isinstance(item, ast.FormattedValue):
        return [item.value] if item.format_spec is None else []
    if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod):
        text = item.left.value if isinstance(item.left, ast.Constant) else None
        return [item.right] if isinstance(text, str) and _WHOLE.search(text) else []
    if not isinstance(item, ast.Call):
        return []
    name = dotted(item.func) or ""
    if terminal(item) == "partial" and item.args and dotted(item.args[0]) in _SHOWS:
        return item.args[1:]
    logs = isinstance(item.func, ast.Attribute) and item.func.attr in _LOGS
    made = isinstance(item.func, ast.Attribute) and item.func.attr == "format"
    return item.args if name in _SHOWS or logs or made else []


def _assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a statement, each with its value, part by part if both are tuples."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target, node.iter


def _filled(statement: Statement, methods: Set[str] = _FILLS) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The containers to which the calls in a statement add something, each with that: ``outs.append(out)``."""
    for call in statement.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in methods:
            yield from ((call.func.value, value) for value in call.args)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    tuples = (ast.Tuple, ast.List)
    if isinstance(target, tuples) and isinstance(value, tuples) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _pairs(part, item)
    else:
        yield target, value


def _bases(target: ast.expr) -> Iterator[str]:
    """The names that a target binds or puts something into: ``logs`` of ``logs["loss"]``."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _bases(part)
        return
    while isinstance(target, (ast.Subscript, ast.Starred)):
        target = target.value
    name = dotted(target)
    if name is not None:
        yield name
