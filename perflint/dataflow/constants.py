"""Constant propagation: which values an expression may have, and where each of them is written.

Of ``num_workers=args.workers`` it says that the value is 0, the default of an option, with the ``0`` of its
``add_argument`` and the calls on the way there.  There are three questions, answered by one walk:

    Constants.of(project).possible(node, place)             # the values that the code seen gives it
    Constants.of(project).certain("self.kind", file, scope)  # the one value a name has, whoever calls
    Constants.of(project).by_default(node, place)           # the one value, if parameters keep their defaults

Each step of the way says its ``ValueOrigin``: a new one, such as a key of a file that is no Python, is a branch of
``_entry`` or ``_member`` that yields values with such a step, and a line in ``_SET_BY_THE_USER``.

The parameters of a function have the values of one call, ``t(x, "a")``, at the place that ``entered`` gives for it:
any expression of the function can be asked for there.  What ``__init__`` sets an attribute to is ``certain`` of
``self.name`` in any method of the class.
"""

from __future__ import annotations

import ast
import enum
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from perflint.dataflow import argument_parsers
from perflint.dataflow.call_graph import CallGraph, CallSite, Certainty
from perflint.dataflow.objects import Object, ObjectKind, class_body, entries_of, written_entries
from perflint.dataflow.sole_binding import ReadPlace, binding
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import (
    all_parameters,
    argument_of,
    changes,
    default_of,
    is_spread,
    keyword_parameter,
    position_of,
)
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_DEEPEST = 40
"""Names and calls that are followed at once, since Python nests but some hundred calls; no answer depends on it."""
_STORES_BY_NAME = re.compile(r"setattr\(|(?<! in self\.)__dict__")
"""Code that may store any attribute of an object; ``"model" in self.__dict__`` only asks."""
_MOST = 100
"""Values of one expression that are told apart: beyond these, it may be anything."""


class ValueOrigin(enum.Enum):
    """One step from an expression to where its value is written.  A literal takes none."""

    NAME = enum.auto()
    """A name that is bound to it, in the same function, in one around it or in the module."""
    ARGUMENT = enum.auto()
    """A call hands it over for a parameter."""
    DEFAULT = enum.auto()
    """It is the default of a parameter, which a call leaves out."""
    ATTRIBUTE = enum.auto()
    """It is stored in an attribute of an object, or of a class."""
    ENTRY = enum.auto()
    """It is an entry of a dict."""
    FALLBACK = enum.auto()
    """It is what a look-up gives where there is no such entry: ``config.get("amp", False)``."""
    OPTION = enum.auto()
    """It is the default of an option of the command line."""
    IMPORTED = enum.auto()
    """It is a constant of another module."""
    UNKNOWN = enum.auto()
    """It may be another one from here on: code that is not seen may call, store or look up something else."""


class OriginStep(NamedTuple):
    """One step: ``name`` is that of the parameter, option, attribute, key or constant.

    ``site``: the call that hands an argument over or leaves a default, and the ``function`` that it calls.
    """

    origin: ValueOrigin
    name: str
    site: CallSite | None = None
    function: tuple[FileIndex, Scope] | None = None


class Special(enum.Enum):
    """Values that are none."""

    UNKNOWN = enum.auto()
    LEFT_OUT = enum.auto()
    """What a call gives a parameter that it does not name."""


class Setter(enum.IntEnum):
    """Who decides about a value."""

    NOBODY = 0
    """It is written down."""
    CALLERS = 1
    """A parameter: the callers could hand over something else."""
    USER = 2
    """An option, an entry of a configuration, or something that is not known."""


_SET_BY_THE_USER = frozenset({ValueOrigin.OPTION, ValueOrigin.FALLBACK, ValueOrigin.UNKNOWN})
_SET_BY_CALLERS = frozenset({ValueOrigin.ARGUMENT, ValueOrigin.DEFAULT})


@dataclass(frozen=True)
class Value:
    """A value that an expression may have: a constant, an ``Object``, or a ``Special`` one.

    ``node`` is the literal, at ``place``; ``steps`` lead there from the expression.
    """

    value: Any
    node: ast.expr | None = None
    place: ReadPlace | None = None
    steps: tuple[OriginStep, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a number, a text, None, or a tuple of these."""
        return not isinstance(self.value, (Special, Object))

    @property
    def is_known(self) -> bool:
        """Whether it is a constant, and nobody unseen may change it."""
        return self.is_constant and all(step.origin is not ValueOrigin.UNKNOWN for step in self.steps)

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """The calls on the way to it, from the inside out."""
        return tuple(step.site for step in self.steps if step.site is not None)

    @property
    def setter(self) -> Setter:
        """Who could change it."""
        origins = {step.origin for step in self.steps}
        if self.value is Special.UNKNOWN or not origins.isdisjoint(_SET_BY_THE_USER):
            return Setter.USER
        return Setter.NOBODY if origins.isdisjoint(_SET_BY_CALLERS) else Setter.CALLERS


class _Want(enum.Enum):
    """Which of the questions the walk answers."""

    POSSIBLE = enum.auto()
    CERTAIN = enum.auto()
    """Ends at the first doubt: with another value, with a caller that is not seen."""
    DEFAULT = enum.auto()
    """The one value, if every call whose arguments are not known leaves the parameters at their defaults."""


Found = tuple[Value, ...]
_OPEN: Found = (Value(Special.UNKNOWN),)
_OPERATORS: dict[type[ast.cmpop | ast.operator], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str | None, Callable[..., Any]] = {
    "bool": bool,
    "int": int,
    "str": str,
    "round": round,
    "max": max,
    "min": min,
    "abs": abs,
}


class _TooDeepError(Exception):
    """A question is so many steps away that Python could not follow it."""

    def __init__(self, question: tuple[Callable[..., Found], tuple[Any, ...]]) -> None:
        super().__init__()
        self.question = question


class Constants(Part):
    """The values of one project's expressions."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._depth = 0

    def possible(self, node: ast.expr, place: ReadPlace) -> Found:
        """The values that the code gives an expression; an unknown one among them says that there may be others."""
        return self._ask(self._values, node, place, _Want.POSSIBLE)

    def certain(self, name: str, file: FileIndex, scope: Scope) -> ast.Constant | None:
        """The one constant that a dotted name has, whoever runs its function; None where it may differ."""
        found = self._ask(self._named, name, ReadPlace(file, scope), _Want.CERTAIN)
        node = found[0].node if len(found) == 1 and found[0].is_known else None
        return node if isinstance(node, ast.Constant) else None

    def by_default(self, node: ast.expr, place: ReadPlace) -> Value | None:
        """The one value of an expression, if the calls that are not known leave all parameters at their defaults.

        Its steps of origin ``DEFAULT`` say for which parameters that is assumed.
        """
        found = self._ask(self._values, node, place, _Want.DEFAULT)
        return found[0] if len(found) == 1 and found != _OPEN else None

    def handed(self, call: ast.Call, name: str, place: ReadPlace) -> Found:
        """What a call gives a parameter by its name, ``LEFT_OUT`` where that is nothing; also through ``**options``."""
        return self._ask(self._handed, call, name, None, place, _Want.POSSIBLE)

    def entered(self, call: ast.Call, place: ReadPlace, file: FileIndex, scope: Scope) -> ReadPlace | None:
        """The inside of a function as one call runs it; None when the call hides what it hands over.

        A value that is read there has a step of origin ``ARGUMENT`` if it comes from the outermost of such calls:
        further in, the number may be written in the code that was entered.
        """
        if is_spread(call):
            return None
        origin = ValueOrigin.NAME if place.bound else ValueOrigin.ARGUMENT
        given: dict[str, Found] = {f"**{keyword.arg}": _OPEN for keyword in call.keywords}
        for name in all_parameters(scope):
            argument = argument_of(call, name, position_of(scope, name))
            if argument is None:
                given[name] = self._ask(self._default, name, file, scope, _Want.DEFAULT)
            else:
                given[name] = _after(self._ask(self._values, argument, place, _Want.DEFAULT), OriginStep(origin, name))
                given.pop(f"**{name}", None)
        return ReadPlace(file, scope, None, (*place.bound, (scope, tuple(given.items()))))

    def _ask(self, question: Callable[..., Found], *about: Any) -> Found:
        """The answer to a question: what is too many steps away is asked by itself first, and so remembered."""
        waiting = [(question, about)]
        while True:
            try:
                found = waiting[-1][0](*waiting[-1][1])
            except _TooDeepError as error:
                self.memory.provisional.clear()
                if error.question in waiting:
                    return _OPEN  # a circle of so many steps
                waiting.append(error.question)
                continue
            waiting.pop()
            if not waiting:
                return found

    def _nested(self, question: Callable[..., Found], work_out: Callable[..., Found], *about: Any) -> Found:
        if self._depth == _DEEPEST:
            raise _TooDeepError((question, about))
        self._depth += 1
        try:
            return work_out(*about)
        finally:
            self._depth -= 1

    def _possible(self, node: ast.expr, place: ReadPlace) -> Found:
        return self._values(node, place, _Want.POSSIBLE)

    # -- expressions -------------------------------------------------------------------------------------------

    def _values(self, node: ast.expr, place: ReadPlace, want: _Want) -> Found:
        if isinstance(node, ast.Constant):
            return (Value(node.value, node, place),)
        name = dotted(node)
        if name is not None:
            return self._named(name, place, want)
        if want is _Want.CERTAIN:
            return _OPEN
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return (Value(Object(ObjectKind.LIST, place, node)),)
        if isinstance(node, ast.Subscript) and string_of(node.slice) is None:
            return self._item(node, place, want)
        computing = _computing(node)
        if computing is not None:
            return self._computed(*computing, place, want)
        return self._looked_up(node, place) if want is _Want.POSSIBLE else _OPEN

    def _computed(self, parts: list[ast.expr], compute: _Compute, place: ReadPlace, want: _Want) -> Found:
        alternatives = [self._values(part, place, want) for part in parts]
        if prod(map(len, alternatives)) > _MOST:
            return _OPEN
        return _joined(map(compute, product(*alternatives)), want)

    def _item(self, node: ast.Subscript, place: ReadPlace, want: _Want) -> Found:
        """``widths[0]`` of a list that is written out."""
        found: list[Value] = []
        for base, index in product(self._values(node.value, place, want), self._values(node.slice, place, want)):
            items = getattr(base.value.node, "elts", []) if _is(base, ObjectKind.LIST) else []
            if type(index.value) is not int or not -len(items) <= index.value < len(items):
                return _OPEN
            inner = self._values(items[index.value], base.value.place, want)
            found += _after(inner, *base.steps, *index.steps)
        return _joined(found, want)

    def _looked_up(self, node: ast.expr, place: ReadPlace) -> Found:
        if written_entries(node) is not None:
            return (Value(Object(ObjectKind.DICT, place, node)),)
        if isinstance(node, ast.Attribute):
            return self._members(self._possible(node.value, place), node.attr, place)
        if isinstance(node, ast.Subscript):
            return self._entry(node.value, string_of(node.slice), None, place)
        return self._call(node, place) if isinstance(node, ast.Call) else _OPEN

    def _call(self, node: ast.Call, place: ReadPlace) -> Found:
        name, last, given = dotted(node.func), terminal(node), node.args
        if name == "getattr" and len(given) == 3:
            return self._entry(given[0], string_of(given[1]), given[2], place)
        if isinstance(node.func, ast.Attribute):
            if last in ("get", "pop") and len(given) == 2:
                return self._entry(node.func.value, string_of(given[0]), given[1], place)
            if last in ("parse_args", "parse_known_args", "parse_intermixed_args"):
                return _joined(map(_parsed, self._possible(node.func.value, place)), _Want.POSSIBLE)
        return self._made(node, name, place) if name is not None else _OPEN

    def _made(self, node: ast.Call, name: str, place: ReadPlace) -> Found:
        """What a call of a class or function of the project gives, where that can be looked into."""
        qualified = place.file.names.resolve(name)
        if qualified.endswith("ArgumentParser"):
            return (Value(Object(ObjectKind.PARSER, place, node)),)
        found = Modules.of(self._project).find(qualified, place.file)
        if found is not None and isinstance(found[1], Class):
            file, owner = found[0], found[1]
            init = owner.methods.get("__init__")
            if not any(base.endswith("ArgumentParser") for base in owner.bases):
                return (Value(Object(ObjectKind.CLASS, place, node, (file, owner))),)
            return (Value(Object(ObjectKind.PARSER, ReadPlace(file, init))),) if init is not None else _OPEN
        function = Values.of(self._project).callee(place.file, place.scope, name, {})
        return self._returned(*function) if function is not None else _OPEN

    @query(cycle=())
    def _returned(self, file: FileIndex, scope: Scope) -> Found:
        """The things that a function returns; its numbers are not followed."""
        return self._nested(self._returned, self._things_in, file, scope)

    def _things_in(self, file: FileIndex, scope: Scope) -> Found:
        values = (
            value if isinstance(value.value, Object) else _OPEN[0]
            for statement in scope.statements
            if isinstance(statement.node, ast.Return) and statement.node.value is not None
            for value in self._possible(statement.node.value, ReadPlace(file, scope, statement))
        )
        return _joined(values, _Want.POSSIBLE)

    # -- names -------------------------------------------------------------------------------------------------

    @query(cycle=())  # a function that hands its own parameter on, a name that is bound to itself
    def _named(self, name: str, place: ReadPlace, want: _Want) -> Found:
        return self._nested(self._named, self._name, name, place, want)

    def _name(self, name: str, place: ReadPlace, want: _Want) -> Found:
        found = binding(name, place)
        if found is None:
            return self._beyond(name, place, want)
        if found.is_parameter:
            given = place.given(found.scope)
            if given is not None:
                known: Found = given.get(name, _OPEN)
                return known
            if want is _Want.DEFAULT and found.scope.owner is not None and found.scope.name != "__init__":
                return _OPEN  # methods are called in other ways than what makes an object
            follow = self._assumed if want is _Want.DEFAULT else self._parameter
            return follow(name, place.file, found.scope, want)
        if found.value is None:
            return _OPEN
        values = self._values(found.value, place.at(found.scope, found.statement), want)
        step = OriginStep(ValueOrigin.NAME, name)
        return _after((_applied(bool, (value,)) if found.is_truth else value for value in values), step)

    def _beyond(self, name: str, place: ReadPlace, want: _Want) -> Found:
        """The values of a dotted name that no function around binds: an import, an attribute."""
        receiver, _, last = name.rpartition(".")
        owner = place.scope.owner
        if owner is not None and name == "self":
            return (Value(Object(ObjectKind.CLASS, place, None, (place.file, owner))),)
        if want is not _Want.POSSIBLE:
            is_own = owner is not None and receiver in ("self", "cls")
            return self._stored(last, place.file, owner, want, place.bound) if owner and is_own else _OPEN
        if place.file.names.is_bound(name.partition(".")[0]):
            imported = self._imported(place.file.names.resolve(name), place.file)
            if imported is not None:
                return imported
        if not receiver:
            return _OPEN
        found = self._members(self._named(receiver, place, want), last, place)
        if found == _OPEN and "." not in receiver and receiver != "self":
            parser = place.at(place.file.scopes.module, None)
            return self._option(parser, last, place, (OriginStep(ValueOrigin.UNKNOWN, last),))
        return found

    def _imported(self, qualified: str, file: FileIndex) -> Found | None:
        """A class, a module, or a constant of a module; None where the project has no such thing."""
        modules = Modules.of(self._project)
        found = modules.find(qualified, file)
        if found is not None and isinstance(found[1], Class):
            there = ReadPlace(found[0], found[0].scopes.module)
            return (Value(Object(ObjectKind.CLASS, there, None, (found[0], found[1]))),)
        if found is not None:
            return _OPEN
        module = modules.module_named(qualified, file)
        if module is not None:
            return (Value(Object(ObjectKind.MODULE, ReadPlace(module, module.scopes.module))),)
        parent, _, last = qualified.rpartition(".")
        module = modules.module_named(parent, file)
        return self._constant_of(module, last) if module is not None and module is not file else None

    def _constant_of(self, module: FileIndex, name: str) -> Found:
        values = self._named(name, ReadPlace(module, module.scopes.module), _Want.POSSIBLE)
        return _after(values, OriginStep(ValueOrigin.IMPORTED, name))

    # -- parameters --------------------------------------------------------------------------------------------

    @query(cycle=())
    def _parameter(self, name: str, file: FileIndex, scope: Scope, want: _Want) -> Found:
        """What the calls of a function give one of its parameters, or leave it at."""
        graph, is_certain = CallGraph.of(self._project), want is _Want.CERTAIN
        if is_certain and graph.is_handed_over(file, scope):
            return _OPEN
        sites = graph.calls(file, scope, Certainty.NAME)
        if not sites:
            doubt = OriginStep(ValueOrigin.UNKNOWN, name)
            return _OPEN if is_certain else _after(self._assumed(name, file, scope, want), doubt)
        found = _joined(chain.from_iterable(self._argument(name, file, scope, site, want) for site in sites), want)
        if is_certain and found != _OPEN and graph.others(file, scope) is not Certainty.NO:
            return _OPEN
        return found

    def _argument(self, name: str, file: FileIndex, scope: Scope, site: CallSite, want: _Want) -> Iterator[Value]:
        """What one call gives a parameter."""
        position = position_of(scope, name)
        place = ReadPlace(site.file, site.scope, site.statement)
        position = position if position is None else position + site.is_unbound
        for value in self._handed(site.call, name, position, place, want):
            if value.value is Special.LEFT_OUT:
                left = (*value.steps, OriginStep(ValueOrigin.DEFAULT, name, site, (file, scope)))
                yield from _after(self._default(name, file, scope, want), *left)
            else:
                yield from _after((value,), OriginStep(ValueOrigin.ARGUMENT, name, site, (file, scope)))

    def _assumed(self, name: str, file: FileIndex, scope: Scope, want: _Want) -> Found:
        """A parameter at its default, as far as nothing is known of the calls."""
        step = OriginStep(ValueOrigin.DEFAULT, name, None, (file, scope))
        return _after(self._default(name, file, scope, want), step)

    def _default(self, name: str, file: FileIndex, scope: Scope, want: _Want) -> Found:
        default = default_of(scope, name)
        return self._values(default, ReadPlace(file, scope.parent or scope), want) if default is not None else _OPEN

    def _handed(self, call: ast.Call, name: str, position: int | None, place: ReadPlace, want: _Want) -> Found:
        given = argument_of(call, name, position)
        if given is not None:
            return self._values(given, place, want)
        spreads = [keyword.value for keyword in call.keywords if keyword.arg is None]
        if any(isinstance(item, ast.Starred) for item in call.args) or (spreads and want is _Want.CERTAIN):
            return _OPEN
        found: Found = (Value(Special.LEFT_OUT, call, place),)
        for node in spreads:
            if any(value.value is Special.LEFT_OUT for value in found):
                found = self._spread(node, name, call, place)
        return found

    def _spread(self, node: ast.expr, name: str, call: ast.Call, place: ReadPlace) -> Found:
        """What ``**node`` gives a parameter."""
        own = keyword_parameter(place.scope)
        if own is not None and dotted(node) == own:
            return self._in_keywords(name, own, place.file, place.scope)
        found = self._entries(self._possible(node, place), name, (Value(Special.LEFT_OUT, call, place),))
        return found if found is not None else _OPEN

    @query(cycle=())
    def _in_keywords(self, name: str, own: str, file: FileIndex, scope: Scope) -> Found:
        """What callers put into the ``**kwargs`` that a function hands on."""
        if changes(scope, own):
            return _OPEN
        found: list[Value] = []
        for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME):
            place = ReadPlace(site.file, site.scope, site.statement)
            handed = self._handed(site.call, name, None, place, _Want.POSSIBLE)
            found += _after(handed, OriginStep(ValueOrigin.ARGUMENT, name, site))
        return _joined(found, _Want.POSSIBLE)

    # -- what is looked up -------------------------------------------------------------------------------------

    def _entry(self, holder: ast.expr, key: str | None, fallback: ast.expr | None, place: ReadPlace) -> Found:
        """``holder[key]``, ``holder.get(key, fallback)`` or ``getattr(holder, key, fallback)``."""
        if key is None:
            return _OPEN
        bases = self._possible(holder, place)
        values = self._possible(fallback, place) if fallback is not None and bases else ()
        missing = _after(values, OriginStep(ValueOrigin.FALLBACK, key))
        found = self._entries(bases, key, missing)
        if found is not None:
            return found
        return _after(missing, OriginStep(ValueOrigin.UNKNOWN, key)) if fallback is not None else _OPEN

    def _entries(self, bases: Found, key: str, missing: Found) -> Found | None:
        """The values of a key in those dicts that can be looked into, ``missing`` where one surely lacks it.

        None where none of them can be.
        """
        found: list[Value] = []
        is_clear = not bases
        for base in bases:
            entries = entries_of(base.value) if _is(base, ObjectKind.DICT) else None
            if entries is None or key in entries.changed or not (key in entries.values or entries.complete):
                continue
            is_clear = True
            if key in entries.values:
                steps = (*base.steps, OriginStep(ValueOrigin.ENTRY, key))
                found += _after(self._possible(entries.values[key], base.value.place), *steps)
            else:
                found += _after(missing, *base.steps)
        return _joined(found, _Want.POSSIBLE) if is_clear else None

    def _members(self, bases: Found, name: str, place: ReadPlace) -> Found:
        """An attribute of what an expression may stand for."""
        return _joined((value for base in bases for value in self._member(base, name, place)), _Want.POSSIBLE)

    def _member(self, base: Value, name: str, place: ReadPlace) -> Found:
        thing = base.value
        if _is(base, ObjectKind.NAMESPACE):
            return self._option(thing.place, name, place, base.steps)
        if _is(base, ObjectKind.MODULE):
            return _after(self._constant_of(thing.place.file, name), *base.steps)
        if not _is(base, ObjectKind.CLASS):
            return _OPEN
        file, owner = thing.owner
        call = thing.node
        if isinstance(call, ast.Call) and "__init__" not in owner.methods and name not in owner.attributes:
            given = argument_of(call, name, None)
            if given is not None:
                steps = (*base.steps, OriginStep(ValueOrigin.ATTRIBUTE, name))
                return _after(self._possible(given, thing.place), *steps)
            if call.args or is_spread(call):
                return _OPEN
        return _after(self._stored(name, file, owner, _Want.POSSIBLE), *base.steps)

    def _option(self, parser: ReadPlace, name: str, place: ReadPlace, steps: tuple[OriginStep, ...]) -> Found:
        """The default of an option of the command line."""
        found = argument_parsers.option(parser, name) if parser.file.has("add_argument") else None
        if found is None:
            return _OPEN
        there, call = found
        default = argument_parsers.default_of(call)
        if default is None:
            return _OPEN
        is_doubtful = argument_parsers.may_be_overridden(name, place.file, parser.file)
        doubt = [OriginStep(ValueOrigin.UNKNOWN, name)] if is_doubtful else []
        values = (Value(default, call, there),) if isinstance(default, bool) else self._possible(default, there)
        return _after(values, *steps, *doubt, OriginStep(ValueOrigin.OPTION, name))

    # -- attributes of objects ---------------------------------------------------------------------------------

    @query(cycle=())
    def _stored(self, name: str, file: FileIndex, owner: Class, want: _Want, bound: Any = ()) -> Found:
        """What the methods of a class store in an attribute of its objects, or else what its body has by that name."""
        assigned = [(value, where, _storing(value, where)) for value, where in owner.attributes.get(name, ())]
        body = ((value, file.scopes.module, None) for target, value in class_body(owner) if target == name)
        assigned = assigned or list(body)
        if not assigned:
            return self._inherited(name, file, owner, bound) if want is _Want.DEFAULT else _OPEN
        is_sole = len(assigned) == 1 and (want is _Want.DEFAULT or self._is_kept(name, file, owner))
        if want is not _Want.POSSIBLE and not is_sole:
            return _OPEN
        if want is _Want.CERTAIN and not self._is_set_up(name, file, owner):
            return _OPEN
        places = ((value, ReadPlace(file, where, statement, bound)) for value, where, statement in assigned)
        found = _joined(chain.from_iterable(self._values(value, place, want) for value, place in places), want)
        steps = [OriginStep(ValueOrigin.ATTRIBUTE, name)]
        if want is _Want.POSSIBLE and not (is_sole and all(at is None or at.place is None for _, _, at in assigned)):
            steps.append(OriginStep(ValueOrigin.UNKNOWN, name))
        return _after(found, *steps)

    def _inherited(self, name: str, file: FileIndex, owner: Class, bound: Any) -> Found:
        bases = Hierarchy.of(self._project).bases(file, owner)
        found = (self._stored(name, *base, _Want.DEFAULT, bound) for base in bases)
        return next((one for one in found if one != _OPEN), _OPEN)

    def _is_set_up(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether ``__init__`` stores an attribute, and all the code of the class is seen."""
        where = [scope.name for _, scope in owner.attributes.get(name, ())]
        return where == ["__init__"] and name != "training" and Hierarchy.of(self._project).is_plain(file, owner)

    def _is_kept(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether no code but that of the class itself gives an attribute of its objects a value."""
        below = Hierarchy.of(self._project).descendants(owner)
        is_body = name not in owner.attributes
        if name in owner.methods or (is_body and any(name in dict(class_body(child)) for _, child in below)):
            return False
        related = Hierarchy.of(self._project).are_related
        stores = (where for each in self._project.mentions.of(name) for where in self._stored_in(each).get(name, ()))
        if any(where is None or (where is not owner and related(where, owner)) for where in stores):
            return False
        own = file.source.lines.between(owner.node.lineno, owner.node.end_lineno or owner.node.lineno)
        return _STORES_BY_NAME.search(own) is None

    @query
    def _stored_in(self, file: FileIndex) -> Mapping[str, list[Class | None]]:
        """The classes on whose ``self`` a file stores an attribute, None for another object, by its name."""
        found: dict[str, list[Class | None]] = defaultdict(list)
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for target in _targets(statement.node):
                    if isinstance(target, ast.Attribute):
                        own = isinstance(target.value, ast.Name) and target.value.id == "self"
                        found[target.attr].append(scope.owner if own else None)
        return found


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement binds, one by one."""
    given = targets_of(node)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        given = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        given = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in given:
        if isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            yield from (item for item in walk(target) if isinstance(item, (ast.Name, ast.Attribute)))
        else:
            yield target


def _storing(value: ast.expr, scope: Scope) -> Statement | None:
    """The statement of a function that stores a value."""
    return next((each for each in scope.statements if getattr(each.node, "value", None) is value), None)


# -- values ----------------------------------------------------------------------------------------------------


def _joined(values: Iterable[Value], want: _Want) -> Found:
    """The values of several ways that lead to one place."""
    found: dict[Value, None] = {}
    for value in values:
        is_clear = value.is_known if want is _Want.CERTAIN else value.value is not Special.UNKNOWN
        if want is not _Want.POSSIBLE and not (is_clear and all(_same(value, other) for other in found)):
            return _OPEN
        if len(found) == _MOST:
            return (*found, *_OPEN)
        if want is _Want.POSSIBLE or not found:
            found[value] = None
    return tuple(found)


def _same(one: Value, other: Value) -> bool:
    return type(one.value) is type(other.value) and bool(one.value == other.value)


def _after(values: Iterable[Value], *steps: OriginStep) -> Found:
    """The values at the end of some steps, but for those whose way leads twice through one call."""
    sites = {step.site for step in steps if step.site is not None}
    return tuple(
        value if value.value is Special.UNKNOWN else replace(value, steps=(*steps, *value.steps))
        for value in values
        if sites.isdisjoint(value.calls)
    )


def _is(value: Value, kind: ObjectKind) -> bool:
    return isinstance(value.value, Object) and value.value.kind is kind


def _parsed(parser: Value) -> Value:
    """What ``parse_args`` of a parser gives."""
    if not _is(parser, ObjectKind.PARSER):
        return _OPEN[0]
    return replace(parser, value=replace(parser.value, kind=ObjectKind.NAMESPACE))


_Compute = Callable[[tuple[Value, ...]], Value]


def _computing(node: ast.expr) -> tuple[list[ast.expr], _Compute] | None:
    """What an expression is worked out from, and how; None where that cannot be told."""
    if isinstance(node, ast.BoolOp):
        return node.values, _all if isinstance(node.op, ast.And) else _any
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return [node.operand], partial(_applied, operator.not_ if isinstance(node.op, ast.Not) else operator.neg)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [node.left, node.comparators[0]], partial(_applied, _OPERATORS[type(node.ops[0])])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return [node.left, node.right], partial(_of_numbers, _OPERATORS[type(node.op)])
    if isinstance(node, ast.Call) and dotted(node.func) in _FUNCTIONS and node.args and not node.keywords:
        return node.args, partial(_applied, _FUNCTIONS[dotted(node.func)])
    return None


def _of_numbers(function: Callable[..., Any], given: tuple[Value, ...]) -> Value:
    return _applied(function, given) if all(isinstance(each.value, (int, float)) for each in given) else _OPEN[0]


def _applied(function: Callable[..., Any], given: tuple[Value, ...]) -> Value:
    """What a function gives for some values; of one value it keeps the place where that is written."""
    constants = [each if each.is_constant else _listed(each) for each in given]
    if not all(each.is_constant for each in constants):
        return _OPEN[0]
    try:
        result = function(*(each.value for each in constants))
    except (ArithmeticError, ValueError, TypeError):
        return _OPEN[0]
    written = given[0] if len(given) == 1 else Value(result)
    return replace(written, value=result, steps=tuple(chain.from_iterable(each.steps for each in given)))


def _listed(value: Value) -> Value:
    """A list whose items are constants, as a tuple of these."""
    if not _is(value, ObjectKind.LIST):
        return value
    items: list[ast.expr] = value.value.node.elts
    constants = [item.value for item in items if isinstance(item, ast.Constant)]
    return replace(value, value=tuple(constants)) if len(constants) == len(items) else value


def _all(parts: tuple[Value, ...]) -> Value:
    """``a and b``: the one that is false and nobody can change, if there is one."""
    false = [part for part in parts if part.is_constant and not part.value]
    unknown = [part for part in parts if not part.is_constant]
    if false and unknown:
        false = [replace(part, value=False) for part in false]  # which of them it is cannot be told
    return min(false, key=lambda part: part.setter) if false else (unknown or parts)[-1]


def _any(parts: tuple[Value, ...]) -> Value:
    """``a or b``: the one that is true, if there is one; otherwise the one that most people can change."""
    true = [part for part in parts if part.is_constant and part.value]
    unknown = [part for part in parts if not part.is_constant]
    if true and unknown:
        return replace(true[0], value=True)
    return (true or unknown or [max(parts, key=lambda part: part.setter)])[0]
