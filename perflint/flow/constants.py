"""Constant propagation: which values an expression may have, and where each of them is written."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod
from typing import Any

from perflint.flow import objects
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.constant_values import (
    MOST,
    OPEN,
    OPERATORS,
    Compute,
    Found,
    OriginStep,
    Special,
    Value,
    ValueOrigin,
    Want,
    after,
    applied,
    computing,
    is_kind,
    joined,
    parsed,
)
from perflint.flow.objects import Object, ObjectKind, class_body, entries_of
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, FunctionRun, Located, Part, Place, Project
from perflint.inputs.setting_files import value_of
from perflint.query import query
from perflint.syntax import reaching
from perflint.syntax.bindings import (
    bindings_of,
    bound_by,
    definitions_of,
    targets_and_values,
    targets_of,
    values_bound_by,
)
from perflint.syntax.names import dotted
from perflint.syntax.parameters import (
    all_parameters,
    argument_for,
    argument_of,
    changes,
    default_of,
    is_spread,
    keyword_parameter,
    position_of,
    written_entries,
)
from perflint.syntax.reaching import constant_at
from perflint.syntax.scopes import Class, Scope, Statement, leaves, terminal
from perflint.syntax.tree import string_of, walk

# Finds functions that return an argument unchanged: ``def workers(n): ... return n``.
#
# ``if n == "auto": n = 2`` leaves a 0 unchanged; ``if n <= 0: n = 4`` does not. An early return under an unknown
# test, such as that of the operating system, is another possible result, and does not affect this one.


def handed_back(scope: Scope) -> str | None:
    """The parameter that a function returns at its end; None if it ends in another way."""
    body = scope.node.body
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
        return None
    return last.value.id if last.value.id in all_parameters(scope) else None


def comes_back(scope: Scope, name: str, value: object) -> bool:
    """Whether a parameter with this value reaches the end of a function unchanged."""
    return _leaves_alone(scope.node.body, name, value)


def _leaves_alone(body: list[ast.stmt], name: str, value: object) -> bool:
    return all(_keeps(node, name, value) for node in body)


def _keeps(node: ast.stmt, name: str, value: object) -> bool:
    """Whether a statement neither binds a name to something else nor returns something else, as far as it runs."""
    if isinstance(node, ast.If):
        answer = _decided(node.test, name, value)
        if answer is not None:
            return _leaves_alone(node.body if answer else node.orelse, name, value)
        return all(_leaves_alone(block, name, value) or leaves(block) for block in (node.body, node.orelse) if block)
    if isinstance(node, ast.Return):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.Assert, ast.Expr, ast.Pass)) and name not in bound_by(node)


def _decided(test: ast.expr, name: str, value: object) -> bool | None:
    """The result of a test of a value; None if something else decides, too."""
    if isinstance(test, ast.Name) and test.id == name:
        return bool(value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = _decided(test.operand, name, value)
        return None if answer is None else not answer
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    if not (isinstance(left, ast.Name) and left.id == name and isinstance(right, ast.Constant)):
        return None
    try:
        return bool(OPERATORS[type(test.ops[0])](value, right.value))
    except TypeError:
        return None


# Finds the only statement that gives a name its value at a place.


@dataclass(frozen=True)
class NameBinding:
    """The binding of a name at a place.

    ``value``: the expression, None if unknown. ``is_parameter``: the callers of ``scope`` pass it. ``is_truth``: only
    the truth of the name is known, which is that of the expression.
    """

    scope: Scope
    statement: Statement | None = None
    value: ast.expr | None = None
    is_parameter: bool = False
    is_truth: bool = False


def binding(name: str, place: Place) -> NameBinding | None:
    """The binding of a dotted name, in the function of a place or in those around it; None if nothing binds it."""
    scope: Scope | None = place.scope
    use = place.statement
    while scope is not None:
        everywhere = bindings_of(scope).get(name, [])
        if everywhere and isinstance(scope.node, ast.Module):
            bodies = _class_bodies(place.file)
            everywhere = [each for each in everywhere if each.node not in bodies]
        bound = everywhere if use is None else [each for each in everywhere if _comes_first(each, use)]
        if name in all_parameters(scope):
            return NameBinding(scope, is_parameter=not bound)
        if bound:
            is_early = use is None and scope is place.scope  # it may be read before, if it is an attribute
            if isinstance(scope.node, ast.Module) and _declared(name, place.file):
                return NameBinding(scope)
            if len(bound) == 1 and _is_certain(bound[0], use) and not (is_early and "." in name):
                return NameBinding(scope, bound[0], _value_of(name, bound[0]))
            same = _same_constant(name, Place(place.file, scope), use)
            if same is not None:
                return NameBinding(scope, bound[-1], same)
            once = definitions_of(scope).get(name) if "." not in name else None
            return NameBinding(scope, everywhere[-1], once, is_truth=len(everywhere) > 1)
        scope, use = scope.parent, None
    return None


def _same_constant(name: str, at: Place, use: Statement | None) -> ast.Constant | None:
    """The constant that a name has at a statement, whichever of its bindings applies."""
    if use is None or "." in name or _declared(name, at.file):
        return None
    return constant_at(name, use, at.scope)


@query
def _class_bodies(file: FileIndex) -> frozenset[ast.stmt]:
    """The statements of a file's classes: what they bind are not names of the module."""
    return frozenset(node for owner in file.scopes.classes.values() for node in owner.node.body)


def _value_of(name: str, statement: Statement) -> ast.expr | None:
    return dict(values_bound_by(statement.node)).get(name) or _parsed(statement.node, name)


def _comes_first(statement: Statement, use: Statement) -> bool:
    """Whether a binding can reach a statement: it is above it, or a loop leads back."""
    if statement is use:
        return False
    if statement.node.lineno < use.node.lineno:
        return True
    loops = {link.loop for link in use.around} - {None}
    return any(link.loop in loops for link in statement.around)


def _is_certain(statement: Statement, use: Statement | None) -> bool:
    """Whether a binding always runs before a use of the name: no branch is around it alone."""
    around = {link.node: link.branch for link in use.around} if use is not None else {}
    for link in statement.around:
        if isinstance(link.node, (ast.If, ast.Match, ast.Try)) and around.get(link.node) != link.branch:
            test = link.node.test if isinstance(link.node, ast.If) else None
            if isinstance(test, ast.Compare) and dotted(test.left) == "__name__":
                continue
            return False
    return True


def _declared(name: str, file: FileIndex) -> bool:
    """Whether a function of a file may bind a name of an enclosing scope."""
    return file.matches(re.compile(rf"\b(global|nonlocal)\b[^\n]*\b{re.escape(name)}\b"))


def _parsed(node: ast.stmt, name: str) -> ast.expr | None:
    """``args, rest = parser.parse_known_args()``: the call, for the first name."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) and node.targets[0].elts else None
    return node.value if first is not None and dotted(first) == name else None


# Constant propagation: finds which values an expression may have, and where each of them is written.
#
# For ``num_workers=args.workers`` it finds that the value is 0, the default of an option, with the ``0`` in its
# ``add_argument`` and the calls on the path there. There are three questions, answered by one walk:
#
#     Constants.of(project).possible(node, place)              # the values that the code seen gives it
#     Constants.of(project).certain("self.kind", file, scope)  # the one value a name has, whoever calls
#     Constants.of(project).by_default(node, place)            # the one value, if parameters keep their defaults
#
# Each step of the way says its ``ValueOrigin``: a new one is a branch of ``_entry`` or ``_member`` that yields values
# with such a step, and a line in ``_SET_BY_THE_USER`` of ``constant_values``. Keys of configuration files are found in
# ``_setting``: of ``config["Train"]["workers"]``, with a ``config`` that ``yaml.safe_load`` gives, the values that the
# project's files give ``workers`` below ``Train``.
#
# The parameters of a function have the values of one call, ``t(x, "a")``, at the place that ``entered`` returns for
# it: any expression of the function can be evaluated there. ``certain`` for ``self.name`` in any method of a class
# gives what ``__init__`` sets that attribute to.

_DEEPEST = 40
"""How many names and calls are followed in a row, since Python limits nested calls; answers do not depend on it."""
_STORES_BY_NAME = re.compile(r"setattr\(|(?<! in self\.)__dict__")
"""Code that may store any attribute of an object; ``"model" in self.__dict__`` only reads."""
_LOADS_SETTINGS = frozenset(
    (
        *("yaml.load", "yaml.safe_load", "yaml.full_load", "yaml.unsafe_load", "json.load", "json.loads", "toml.load"),
        *("yacs.config.CfgNode.load_cfg", "omegaconf.OmegaConf.load"),
    )
)
"""Calls that read what a configuration file says."""
_WRAPS_SETTINGS = re.compile(r"dict|copy|config|cfg|munch|box|namespace|object|attr", re.IGNORECASE)
"""What makes other objects of settings that still have their keys, by its name."""


class _TooDeepError(Exception):
    """A question needs so many nested steps that Python could not follow it."""

    def __init__(self, question: tuple[Callable[..., Found], tuple[Any, ...]]) -> None:
        super().__init__()
        self.question = question


class Constants(Part):
    """The values of one project's expressions."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._modules = Modules.of(project)
        self._depth = 0

    def possible(self, node: ast.expr, place: Place) -> Found:
        """The values that the code gives an expression; an unknown one among them means that there may be others."""
        return self._ask(self._values, node, place, Want.POSSIBLE)

    def certain(self, name: str, at: Place) -> ast.Constant | None:
        """The constant that a dotted name has, whoever calls its function; None if it may differ."""
        found = self._ask(self._named, name, Place(at.file, at.scope), Want.CERTAIN)
        node = found[0].node if len(found) == 1 and found[0].is_known else None
        return node if isinstance(node, ast.Constant) else None

    def by_default(self, node: ast.expr, place: Place) -> Value | None:
        """The single value of an expression, if unknown calls leave all parameters at their defaults.

        Its steps of origin ``DEFAULT`` show for which parameters that is assumed.
        """
        found = self._ask(self._values, node, place, Want.DEFAULT)
        return found[0] if len(found) == 1 and found != OPEN else None

    def handed(self, call: ast.Call, name: str, place: Place) -> Found:
        """The argument of a call for a parameter, ``LEFT_OUT`` if there is none; also through ``**options``."""
        return self._ask(self._handed, call, name, None, place, Want.POSSIBLE)

    def entered(self, call: ast.Call, place: Place, at: Place) -> Place | None:
        """The inside of a function as run by one call; None if the call hides its arguments.

        A value that is read there has a step of origin ``ARGUMENT`` if it comes from the outermost of such calls:
        further in, the number may be written in the code that was entered.
        """
        return None if is_spread(call) else place.entered(call, at)

    def _ask(self, question: Callable[..., Found], *about: Any) -> Found:
        """The answer to a question; parts that need too many steps are answered separately first, and so cached."""
        waiting = [(question, about)]
        while True:
            try:
                found = waiting[-1][0](*waiting[-1][1])
            except _TooDeepError as error:
                if error.question in waiting:
                    return OPEN  # a cycle of that many steps
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

    def _possible(self, node: ast.expr, place: Place) -> Found:
        return self._values(node, place, Want.POSSIBLE)

    # -- expressions -------------------------------------------------------------------------------------------

    def _values(self, node: ast.expr, place: Place, want: Want) -> Found:
        if isinstance(node, ast.Constant):
            return (Value(node.value, node, place),)
        name = dotted(node)
        if name is not None:
            return self._named(name, place, want)
        if want is Want.CERTAIN:
            return OPEN
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return (Value(Object(ObjectKind.LIST, place, node)),)
        if isinstance(node, ast.Subscript) and string_of(node.slice) is None:
            return self._item(node, place, want)
        worked_out = computing(node)
        if worked_out is not None:
            return self._computed(*worked_out, place, want)
        return self._looked_up(node, place) if want is Want.POSSIBLE else OPEN

    def _computed(self, parts: list[ast.expr], compute: Compute, place: Place, want: Want) -> Found:
        alternatives = [self._values(part, place, want) for part in parts]
        if prod(map(len, alternatives)) > MOST:
            return OPEN
        return joined(map(compute, product(*alternatives)), want)

    def _item(self, node: ast.Subscript, place: Place, want: Want) -> Found:
        """``widths[0]`` of a literal list."""
        found: list[Value] = []
        bases, indices = self._values(node.value, place, want), self._values(node.slice, place, want)
        if len(bases) * len(indices) > MOST:
            return OPEN
        for base, index in product(bases, indices):
            if is_kind(base, ObjectKind.SETTINGS):
                found += self._setting(base, index.value if isinstance(index.value, str) else None)
                continue
            if base.value is Special.UNKNOWN and len(bases) > 1:
                found += OPEN
                continue
            items = getattr(base.value.node, "elts", []) if is_kind(base, ObjectKind.LIST) else []
            if type(index.value) is not int or not -len(items) <= index.value < len(items):
                return OPEN
            inner = self._values(items[index.value], base.value.place, want)
            found += after(inner, *base.steps, *index.steps)
        return joined(found, want)

    def _looked_up(self, node: ast.expr, place: Place) -> Found:
        if written_entries(node) is not None:
            return (Value(Object(ObjectKind.DICT, place, node)),)
        if isinstance(node, ast.Attribute):
            return self._members(self._possible(node.value, place), node.attr, place)
        if isinstance(node, ast.Subscript):
            return self._entry(node.value, string_of(node.slice), None, place)
        return self._call(node, place) if isinstance(node, ast.Call) else OPEN

    def _call(self, node: ast.Call, place: Place) -> Found:
        name, last, given = dotted(node.func), terminal(node), node.args
        if name == "getattr" and len(given) == 3:
            return self._entry(given[0], string_of(given[1]), given[2], place)
        if isinstance(node.func, ast.Attribute):
            if last in ("get", "pop") and len(given) == 2:
                return self._entry(node.func.value, string_of(given[0]), given[1], place)
            if last == "copy" and not given:
                return self._possible(node.func.value, place)
            if last == "get" and len(given) == 1 and not node.keywords:
                return self._entry(node.func.value, string_of(given[0]), None, place) or OPEN
            if last in ("parse_args", "parse_known_args", "parse_intermixed_args"):
                return joined(map(parsed, self._possible(node.func.value, place)), Want.POSSIBLE)
        return self._made(node, name, place) if name is not None else OPEN

    def _made(self, node: ast.Call, name: str, place: Place) -> Found:
        """The result of a call of a class or function of the project, if its parts can be looked up."""
        qualified = place.file.names.resolve(name)
        if qualified.endswith("ArgumentParser"):
            return (Value(Object(ObjectKind.PARSER, place, node)),)
        if qualified in _LOADS_SETTINGS:
            return (Value(Object(ObjectKind.SETTINGS, place, node)),)
        wrapped = self._wrapped(node, name, place)
        if wrapped:
            return wrapped
        found = self._modules.find(qualified, place.file)
        if found is not None and isinstance(found[1], Class):
            file, owner = found[0], found[1]
            init = owner.methods.get("__init__")
            if not any(base.endswith("ArgumentParser") for base in owner.bases):
                return (Value(Object(ObjectKind.CLASS, place, node, (file, owner))),)
            return (Value(Object(ObjectKind.PARSER, Place(file, init))),) if init is not None else OPEN
        function = CallGraph.of(self._project).called(place.function, node.func)
        if function is None:
            return OPEN
        return self._passed_on(node, place, function[1]) or self._returned(function)

    def _wrapped(self, node: ast.Call, name: str, place: Place) -> Found:
        """The settings that ``EasyDict(settings)`` makes readable as attributes; nothing for other calls."""
        if not _WRAPS_SETTINGS.search(name) or len(node.args) + len(node.keywords) != 1:
            return ()
        given = node.args[0] if node.args else node.keywords[0].value
        found = self._possible(given, place)
        return found if any(is_kind(value, ObjectKind.SETTINGS) for value in found) else ()

    def _passed_on(self, call: ast.Call, place: Place, scope: Scope) -> Found:
        """The argument that a function returns unchanged, and that it may return something else; otherwise nothing."""
        name = handed_back(scope)
        argument = argument_for(scope, call, name) if name is not None else None
        if name is None or argument is None:
            return ()
        given = self._possible(argument, place)
        kept = (
            value
            if (value.is_constant or isinstance(value.value, Object)) and comes_back(scope, name, value.value)
            else OPEN[0]
            for value in given
        )
        return joined((*after(kept, OriginStep(ValueOrigin.NAME, name)), *OPEN), Want.POSSIBLE)

    @query(cycle=())
    def _returned(self, at: Place) -> Found:
        """The objects that a function returns; numbers are not followed."""
        return self._nested(self._returned, self._things_in, at)

    def _things_in(self, at: Place) -> Found:
        values = (
            value if isinstance(value.value, Object) else OPEN[0]
            for statement in at.scope.statements
            if isinstance(statement.node, ast.Return) and statement.node.value is not None
            for value in self._possible(statement.node.value, at.before(statement))
        )
        return joined(values, Want.POSSIBLE)

    # -- names -------------------------------------------------------------------------------------------------

    @query(cycle=())  # a function that passes its own parameter on, a name that is bound to itself
    def _named(self, name: str, place: Place, want: Want) -> Found:
        return self._nested(self._named, self._name, name, place, want)

    def _name(self, name: str, place: Place, want: Want) -> Found:
        found = binding(name, place)
        if found is None:
            return self._beyond(name, place, want)
        if found.is_parameter:
            run = place.run_of(found.scope)
            if run is not None and run.call is not None:
                return self._passed(name, Place(place.file, found.scope), run.call, want)
            if want is Want.DEFAULT and found.scope.owner is not None and found.scope.name != "__init__":
                return OPEN  # methods are called in other ways than by creating an object
            follow = self._assumed if want is Want.DEFAULT else self._parameter
            return follow(name, Place(place.file, found.scope), want)
        if found.value is None:
            return self._read_from_a_file(name, place) if want is Want.POSSIBLE else OPEN
        values = self._values(found.value, place.at(found.scope, found.statement), want)
        step = OriginStep(ValueOrigin.NAME, name)
        return after((applied(bool, (value,)) if found.is_truth else value for value in values), step)

    def _read_from_a_file(self, name: str, place: Place) -> Found:
        """The settings that one of several bindings of a name reads from a file, whatever the others give it."""
        if place.statement is None or not self._project.inputs.settings:
            return OPEN
        read: list[Value] = []
        for each in reaching.before(name, place.statement, place.scope):
            value = dict(values_bound_by(each.statement.node)).get(name)
            found = self._possible(value, place.at(place.scope, each.statement)) if value is not None else ()
            read += [one for one in found if is_kind(one, ObjectKind.SETTINGS)]
        return joined((*read, *OPEN), Want.POSSIBLE)

    def _beyond(self, name: str, place: Place, want: Want) -> Found:
        """The values of a dotted name that no enclosing function binds: an import, an attribute."""
        receiver, _, last = name.rpartition(".")
        owner = place.scope.owner
        if owner is not None and name == "self":
            return (Value(Object(ObjectKind.CLASS, place, None, (place.file, owner))),)
        if want is not Want.POSSIBLE:
            is_own = owner is not None and receiver in ("self", "cls")
            return self._stored(last, place.file, owner, want, place.run) if owner and is_own else OPEN
        if place.file.names.is_bound(name.partition(".")[0]):
            imported = self._imported(place.file.names.resolve(name), place.file)
            if imported is not None:
                return imported
        if not receiver:
            return OPEN
        found = self._members(self._named(receiver, place, want), last, place)
        if found == OPEN and "." not in receiver and receiver != "self":
            parser = place.at(place.file.scopes.module, None)
            return self._option(parser, last, place, (OriginStep(ValueOrigin.UNKNOWN, last),))
        return found

    def _imported(self, qualified: str, file: FileIndex) -> Found | None:
        """A class, a module, or a constant of a module; None if the project has no such thing."""
        modules = self._modules
        found = modules.find(qualified, file)
        if found is not None and isinstance(found[1], Class):
            there = Place(found[0], found[0].scopes.module)
            return (Value(Object(ObjectKind.CLASS, there, None, (found[0], found[1]))),)
        if found is not None:
            return OPEN
        module = modules.module_named(qualified, file)
        if module is not None:
            return (Value(Object(ObjectKind.MODULE, Place(module, module.scopes.module))),)
        parent, _, last = qualified.rpartition(".")
        module = modules.module_named(parent, file)
        return self._constant_of(module, last) if module is not None and module is not file else None

    def _constant_of(self, module: FileIndex, name: str) -> Found:
        values = self._named(name, Place(module, module.scopes.module), Want.POSSIBLE)
        return after(values, OriginStep(ValueOrigin.IMPORTED, name))

    # -- parameters --------------------------------------------------------------------------------------------

    def _passed(self, name: str, at: Place, by: Located, want: Want) -> Found:
        """The value of a parameter of a function in a run whose call is known."""
        argument = argument_for(at.scope, by.call, name)
        if argument is None:
            return self._default(name, at, Want.DEFAULT)
        origin = ValueOrigin.NAME if by.place.run is not None else ValueOrigin.ARGUMENT
        values = self._values(argument, by.place, Want.POSSIBLE if want is Want.POSSIBLE else Want.DEFAULT)
        return after(values, OriginStep(origin, name))

    @query(cycle=())
    def _parameter(self, name: str, at: Place, want: Want) -> Found:
        """The values of a parameter of a function in its calls, or its default."""
        graph, is_certain = CallGraph.of(self._project), want is Want.CERTAIN
        if is_certain and graph.is_handed_over(at):
            return OPEN
        sites = graph.callers(at, Certainty.NAME)
        if not sites:
            doubt = OriginStep(ValueOrigin.UNKNOWN, name)
            return OPEN if is_certain else after(self._assumed(name, at, want), doubt)
        found = joined(chain.from_iterable(self._argument(name, at, site, want) for site in sites), want)
        if is_certain and found != OPEN and graph.others(at) is not Certainty.NO:
            return OPEN
        return found

    def _argument(self, name: str, at: Place, site: CallSite, want: Want) -> Iterator[Value]:
        """The value of a parameter in one call."""
        position = position_of(at.scope, name)
        place = site.place
        position = position if position is None else position + site.is_unbound
        for value in self._handed(site.call, name, position, place, want):
            if value.value is Special.LEFT_OUT:
                left = (*value.steps, OriginStep(ValueOrigin.DEFAULT, name, site, at))
                yield from after(self._default(name, at, want), *left)
            else:
                yield from after((value,), OriginStep(ValueOrigin.ARGUMENT, name, site, at))

    def _assumed(self, name: str, at: Place, want: Want) -> Found:
        """The default of a parameter, if nothing is known about the calls."""
        step = OriginStep(ValueOrigin.DEFAULT, name, None, at)
        return after(self._default(name, at, want), step)

    def _default(self, name: str, at: Place, want: Want) -> Found:
        default = default_of(at.scope, name)
        return self._values(default, Place(at.file, at.scope.parent or at.scope), want) if default is not None else OPEN

    def _handed(self, call: ast.Call, name: str, position: int | None, place: Place, want: Want) -> Found:
        given = argument_of(call, name, position)
        if given is not None:
            return self._values(given, place, want)
        spreads = [keyword.value for keyword in call.keywords if keyword.arg is None]
        if any(isinstance(item, ast.Starred) for item in call.args) or (spreads and want is Want.CERTAIN):
            return OPEN
        found: Found = (Value(Special.LEFT_OUT, call, place),)
        for node in spreads:
            if any(value.value is Special.LEFT_OUT for value in found):
                found = self._spread(node, name, call, place)
        return found

    def _spread(self, node: ast.expr, name: str, call: ast.Call, place: Place) -> Found:
        """The value of a parameter from ``**node``."""
        own = keyword_parameter(place.scope)
        if own is not None and dotted(node) == own:
            return self._in_keywords(name, own, place.function)
        found = self._entries(self._possible(node, place), name, (Value(Special.LEFT_OUT, call, place),))
        return found if found is not None else OPEN

    @query(cycle=())
    def _in_keywords(self, name: str, own: str, at: Place) -> Found:
        """What callers put into the ``**kwargs`` that a function passes on."""
        if changes(at.scope, own):
            return OPEN
        found: list[Value] = []
        for site in CallGraph.of(self._project).callers(at, Certainty.NAME):
            place = site.place
            handed = self._handed(site.call, name, None, place, Want.POSSIBLE)
            found += after(handed, OriginStep(ValueOrigin.ARGUMENT, name, site))
        return joined(found, Want.POSSIBLE)

    # -- what is looked up -------------------------------------------------------------------------------------

    def _entry(self, holder: ast.expr, key: str | None, fallback: ast.expr | None, place: Place) -> Found:
        """``holder[key]``, ``holder.get(key, fallback)`` or ``getattr(holder, key, fallback)``."""
        if key is None:
            return OPEN
        bases = self._possible(holder, place)
        values = self._possible(fallback, place) if fallback is not None and bases else ()
        missing = after(values, OriginStep(ValueOrigin.FALLBACK, key))
        found = self._entries(bases, key, missing)
        if found is not None:
            return found
        return after(missing, OriginStep(ValueOrigin.UNKNOWN, key)) if fallback is not None else OPEN

    def _entries(self, bases: Found, key: str, missing: Found) -> Found | None:
        """The values of a key in those dicts whose entries are known, ``missing`` if one certainly lacks it.

        None if the entries of none are known.
        """
        found: list[Value] = []
        is_clear = not bases
        for base in bases:
            if is_kind(base, ObjectKind.SETTINGS):
                is_clear = True
                found += self._setting(base, key, missing)
                continue
            entries = entries_of(base.value) if is_kind(base, ObjectKind.DICT) else None
            if entries is None or key in entries.changed or not (key in entries.values or entries.complete):
                continue
            is_clear = True
            if key in entries.values:
                steps = (*base.steps, OriginStep(ValueOrigin.ENTRY, key))
                found += after(self._possible(entries.values[key], base.value.place), *steps)
            else:
                found += after(missing, *base.steps)
        return joined(found, Want.POSSIBLE) if is_clear else None

    def _setting(self, base: Value, key: str | None, missing: Found = ()) -> Found:
        """What configuration files set a key to in the part of them that ``base`` is: each value with its rows.

        Args:
            base: the settings, or a part of them.
            key: the key; None for any.
            missing: what a lookup gives where there is no such key.
        """
        keys, settings = (*base.value.keys, key), self._project.inputs.settings
        rows: dict[Any, list[tuple[str, int]]] = {}
        for path, each in settings.at(keys):
            value = value_of(each.text)
            rows.setdefault((type(value), value), []).append((path, each.row))
        step = OriginStep(ValueOrigin.SETTING, key or "")
        found = [Value(value, settings=tuple(places)) for (_, value), places in rows.items()]
        if not found and settings.has_parts(keys):
            found = [Value(replace(base.value, keys=keys))]
        elif not found:
            return after(missing, *base.steps) or OPEN
        otherwise = after(missing, *base.steps) if missing and settings.may_lack(keys) else ()
        is_open = key is None or any(key in self._changed_keys(file) for file in self._project.mentions.of(key))
        return (*after(found, *base.steps, step), *otherwise, *(OPEN if is_open else ()))

    @query
    def _changed_keys(self, file: FileIndex) -> frozenset[str]:
        """The keys and attributes that a file gives other objects than ``self``: ``config["rank"] = get_rank()``."""
        targets = [target for _, statement in file.statements for target in targets_of(statement.node)]
        keys = {string_of(target.slice) for target in targets if isinstance(target, ast.Subscript)}
        attributes = [target for target in targets if isinstance(target, ast.Attribute)]
        names = {target.attr for target in attributes if dotted(target.value) != "self"}
        return frozenset(names | {key for key in keys if key is not None})

    def _members(self, bases: Found, name: str, place: Place) -> Found:
        """The values of an attribute of an expression."""
        return joined((value for base in bases for value in self._member(base, name, place)), Want.POSSIBLE)

    def _member(self, base: Value, name: str, place: Place) -> Found:
        thing = base.value
        if is_kind(base, ObjectKind.SETTINGS):
            return self._setting(base, name)
        if is_kind(base, ObjectKind.NAMESPACE):
            return self._option(thing.place, name, place, base.steps)
        if is_kind(base, ObjectKind.MODULE):
            return after(self._constant_of(thing.place.file, name), *base.steps)
        if not is_kind(base, ObjectKind.CLASS):
            return OPEN
        file, owner = thing.owner
        call = thing.node
        if isinstance(call, ast.Call) and "__init__" not in owner.methods and name not in owner.attributes:
            given = argument_of(call, name, None)
            if given is not None:
                steps = (*base.steps, OriginStep(ValueOrigin.ATTRIBUTE, name))
                return after(self._possible(given, thing.place), *steps)
            if call.args or is_spread(call):
                return OPEN
        return after(self._stored(name, file, owner, Want.POSSIBLE), *base.steps)

    def _option(self, parser: Place, name: str, place: Place, steps: tuple[OriginStep, ...]) -> Found:
        """The default of an option of the command line."""
        found = objects.option(parser, name) if parser.file.has("add_argument") else None
        if found is None:
            return OPEN
        there, call = found
        default = objects.default_of(call)
        if default is None:
            return OPEN
        is_doubtful = objects.may_be_overridden(name, place.file, parser.file)
        doubt = [OriginStep(ValueOrigin.UNKNOWN, name)] if is_doubtful else []
        values = (Value(default, call, there),) if isinstance(default, bool) else self._possible(default, there)
        return after(values, *steps, *doubt, OriginStep(ValueOrigin.OPTION, name))

    # -- attributes of objects ---------------------------------------------------------------------------------

    @query(cycle=())
    def _stored(self, name: str, file: FileIndex, owner: Class, want: Want, run: FunctionRun | None = None) -> Found:
        """What the methods of a class store in an attribute of its objects, or else in the class attribute."""
        assigned = [(value, where, _storing(value, where)) for value, where in owner.attributes.get(name, ())]
        body = ((value, file.scopes.module, None) for target, value in class_body(owner) if target == name)
        assigned = assigned or list(body)
        if not assigned:
            return self._inherited(name, file, owner, run) if want is Want.DEFAULT else OPEN
        is_sole = len(assigned) == 1 and (want is Want.DEFAULT or self.is_kept(name, file, owner))
        if want is not Want.POSSIBLE and not is_sole:
            return OPEN
        if want is Want.CERTAIN and not self._is_set_up(name, file, owner):
            return OPEN
        places = ((value, Place(file, where, statement, run)) for value, where, statement in assigned)
        found = joined(chain.from_iterable(self._values(value, place, want) for value, place in places), want)
        steps = [OriginStep(ValueOrigin.ATTRIBUTE, name)]
        if want is Want.POSSIBLE and not (is_sole and all(at is None or at.place is None for _, _, at in assigned)):
            steps.append(OriginStep(ValueOrigin.UNKNOWN, name))
        return after(found, *steps)

    def _inherited(self, name: str, file: FileIndex, owner: Class, run: FunctionRun | None) -> Found:
        bases = Hierarchy.of(self._project).bases(file, owner)
        found = (self._stored(name, *base, Want.DEFAULT, run) for base in bases)
        return next((one for one in found if one != OPEN), OPEN)

    def _is_set_up(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether ``__init__`` stores an attribute, and all code of the class is known."""
        where = [scope.name for _, scope in owner.attributes.get(name, ())]
        return where == ["__init__"] and name != "training" and Hierarchy.of(self._project).is_plain(file, owner)

    def is_kept(self, name: str, file: FileIndex, owner: Class) -> bool:
        """Whether only the code of the class itself sets an attribute of its objects."""
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
        """The classes on whose ``self`` a file stores an attribute, None for another object, by attribute name."""
        found: dict[str, list[Class | None]] = defaultdict(list)
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                targets = [*targets_of(statement.node), *(target for target, _ in targets_and_values(statement.node))]
                for item in (item for target in targets for item in walk(target)):
                    if isinstance(item, ast.Attribute) and not isinstance(item.ctx, ast.Load):
                        own = isinstance(item.value, ast.Name) and item.value.id == "self"
                        found[item.attr].append(scope.owner if own else None)
        return found


def _storing(value: ast.expr, scope: Scope) -> Statement | None:
    """The statement in a function that stores a value."""
    return next((each for each in scope.statements if getattr(each.node, "value", None) is value), None)
