"""Finds where a value comes from: the expressions that may create it, through names, calls, attributes and items.

In ``data = Photos(transform=crop)`` and ``self.transform = transform`` of ``Photos.__init__``, ``self.transform`` in a
method is ``crop`` for this object, whatever other objects of the class get:

    for source in sources(node, Place(file, scope, statement)):
        source.node      # a call, a display, a constant, a lambda, or a name that leads nowhere in the project
        source.place     # where it is, with the calls that led there: look up other expressions there
        source.steps     # how it was found; a last step ``UNKNOWN`` says that the value may be something else

If it is not known which call created an object or runs a function, all calls count. A rule that goes on from a source
uses ``source.part(argument).sources()``, so that all of it is one question, with one budget.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from perflint.flow.branches import Switches
from perflint.flow.calls import CallGraph
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, FunctionRun, Located, Place
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import (
    all_parameters,
    annotation_of,
    argument_for,
    default_of,
    is_none,
    is_spread,
)
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.vocabulary import evaluates, trains

_DEEPEST, _MOST_STEPS = 24, 1500
"""The most steps between an expression and a source, and the most expressions that one question looks at."""


class Through(enum.Flag):
    """One step from an expression to where its value comes from."""

    NAME = enum.auto()
    """A name is bound to it."""
    ARGUMENT = enum.auto()
    """A call passes it for a parameter."""
    DEFAULT = enum.auto()
    """It is the default of a parameter."""
    ATTRIBUTE = enum.auto()
    """It is stored in an attribute of an object."""
    RETURN = enum.auto()
    """A function of the project returns it."""
    ITEM = enum.auto()
    """It is an item of a display: of a dict by a literal key, of a tuple by its position."""
    IMPORT = enum.auto()
    """Another module binds it."""
    UNKNOWN = enum.auto()
    """From here on it may be anything."""


EVERYTHING = ~Through.UNKNOWN


class SourceStep(NamedTuple):
    """A step, with the expression that it starts from."""

    kind: Through
    node: ast.expr
    place: Place


class MadeObject(NamedTuple):
    """An object: its class, and the call that created it, if known."""

    file: FileIndex
    owner: Class
    by: Located | None = None


@dataclass
class _Question:
    """What a question follows, and how many more expressions it may look at."""

    through: Through
    left: int
    in_training: bool
    is_direct: bool


@dataclass(frozen=True, eq=False)
class ValueSource:
    """An expression that may create a value, with the steps that lead there."""

    node: ast.expr
    place: Place
    steps: tuple[SourceStep, ...]
    _question: _Question

    @property
    def is_known(self) -> bool:
        """Whether the value is that of the expression, not of something that could not be followed."""
        return not self.steps or self.steps[-1].kind is not Through.UNKNOWN

    @property
    def is_out_of_budget(self) -> bool:
        """Whether the question that found it has ended early, so that there may be other sources."""
        return self._question.left <= 0

    @property
    def is_circular(self) -> bool:
        """Whether the steps have passed through it, so that a value comes from itself: it has no other sources."""
        return any(step.node is self.node and step.place == self.place for step in self.steps)

    @property
    def qualified(self) -> str:
        """The qualified name of what a call calls, or of a name; ``""`` if there is none."""
        named = dotted(self.node.func if isinstance(self.node, ast.Call) else self.node)
        return self.place.file.names.resolve(named) if named else ""

    def part(self, node: ast.expr) -> ValueSource:
        """Another expression at the same place, as a part of the same question."""
        return replace(self, node=node)

    def at(self, statement: Statement) -> ValueSource:
        """The same question at another statement of the function."""
        return replace(self, place=self.place.at(self.place.scope, statement))

    def sources(self) -> Iterator[ValueSource]:
        """The expressions that may create its value."""
        question = self._question
        question.left -= 1
        if question.left <= 0 or len(self.steps) > _DEEPEST:
            yield self._unknown()
            return
        if self.is_circular:
            return
        if question.is_direct and self.steps:
            yield self
            return
        node = self.node
        if isinstance(node, ast.IfExp):
            yield from self.part(node.body).sources()
            yield from self.part(node.orelse).sources()
        elif isinstance(node, ast.Name):
            yield from _name(self, node.id)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(self, node)
        elif isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            yield from _items(self, node.value, key) if Through.ITEM in question.through else [self]
        elif isinstance(node, ast.Call) and Through.RETURN in question.through:
            called = function_of(self, node.func)
            yield from _returned(self, node, called) if called is not None else [self]
        else:
            yield self

    def _unknown(self, *steps: Through) -> ValueSource:
        return self._stepped(*steps, Through.UNKNOWN)

    def _stepped(self, *steps: Through) -> ValueSource:
        return replace(self, steps=(*self.steps, *(SourceStep(step, self.node, self.place) for step in steps)))

    def _through(self, step: Through, node: ast.expr, place: Place) -> Iterator[ValueSource]:
        """The sources of the expression that a step leads to."""
        if step not in self._question.through:
            yield self
        else:
            yield from replace(self._stepped(step), node=node, place=place).sources()

    def _skips(self, step: Through, place: Place, statement: Statement) -> bool:
        """Whether the question leaves out a statement to which a step leads, because training does not run it."""
        return self._question.in_training and is_left_out(replace(self._stepped(step), place=place), statement)

    # -- objects and functions ---------------------------------------------------------------------------------

    def entered(self, at: Place) -> ValueSource:
        """The inside of a function that the call calls, or that the name refers to."""
        place = self.place.entered(self.node, at) if isinstance(self.node, ast.Call) else at
        return replace(self._stepped(Through.RETURN), place=place)

    @property
    def object(self) -> MadeObject | None:
        """The object of a class of the project that this is: a call that creates it, ``self``, or so annotated."""
        place, node = self.place, self.node
        class_at = Modules.of(place.file.project).class_at
        if isinstance(node, ast.Call):
            found = class_at(place.file, node.func)
            return MadeObject(*found, Located(node, place)) if found is not None else None
        if not isinstance(node, ast.Name):
            return None
        owner = place.scope.object_class if node.id == "self" else None
        if owner is not None:
            known = replace(self, node=place.made.call, place=place.made.place).object if place.made else None
            return known or MadeObject(place.file, owner)
        scope = scope_binding(node.id, place.scope)
        said = annotation_of(scope, node.id) if scope is not None else None
        found = class_at(place.file, said) if said is not None else None
        return MadeObject(*found) if found is not None else None

    def method(self, *names: str) -> ValueSource | None:
        """The inside of the first of some methods that the class of the object has."""
        made = self.object
        methods = (Modules.of(made.file.project).method_of(made.file, made.owner, name) for name in names if made)
        found = next((method for method in methods if method is not None), None)
        if found is None or made is None:
            return None
        return replace(self._stepped(Through.RETURN), place=found._replace(run=FunctionRun(found.scope, None, made.by)))


def sources(
    node: ast.expr,
    at: Place,
    *,
    through: Through = EVERYTHING,
    budget: int = _MOST_STEPS,
    in_training: bool = False,
    is_direct: bool = False,
) -> Iterator[ValueSource]:
    """The expressions that may create the value of an expression.

    Args:
        node: the expression.
        at: where it is.
        through: the steps to follow; where another one would follow, the expression before it is the source.
        budget: the most expressions to look at; after that, the rest of the sources is unknown.
        in_training: ignore branches that training does not take.
        is_direct: take one step only, for a search that looks at everything in between.
    """
    return ValueSource(node, at, (), _Question(through, budget, in_training, is_direct)).sources()


def asked(node: ast.expr, at: Place, *, through: Through = EVERYTHING, in_training: bool = False) -> ValueSource:
    """An expression as the start of a question, for which ``sources`` is then asked."""
    return ValueSource(node, at, (), _Question(through, _MOST_STEPS, in_training, is_direct=False))


# -- names and parameters ----------------------------------------------------------------------------------------


def scope_binding(name: str, scope: Scope) -> Scope | None:
    """The innermost function or module around a place in a scope that binds a name; None if none does."""
    inner: Scope | None = scope
    while inner is not None and not (name in bindings_of(inner) or name in all_parameters(inner)):
        inner = inner.parent if name not in inner.functions else None
    return inner


def _name(source: ValueSource, name: str) -> Iterator[ValueSource]:
    file, scope = source.place.file, scope_binding(name, source.place.scope)
    if scope is not None:
        yield from _local(source, source.place if scope is source.place.scope else source.place.at(scope, None), name)
        return
    module, _, last = file.names.resolve(name).rpartition(".")
    there = Modules.of(file.project).module_named(module, file) if file.names.is_bound(name) else None
    if there is not None and there is not file and last in bindings_of(there.scopes.module):
        yield from source._through(Through.IMPORT, ast.Name(last, ast.Load()), Place(there, there.scopes.module))
    else:
        yield source


def _local(source: ValueSource, here: Place, name: str) -> Iterator[ValueSource]:
    """The values that a function gives a name, and its argument if no assignment certainly precedes."""
    found = reaching.before(name, here.statement, here.scope) if here.statement is not None else []
    if name in all_parameters(here.scope):
        if not any(next(iter(each.statement.around), None) is None for each in found):
            is_followed = Through.ARGUMENT in source._question.through
            yield from _argument(source, here, name) if is_followed else [source]
        if here.statement is not None and not found:
            return
    for statement in [each.statement for each in found] or bindings_of(here.scope).get(name, []):
        if not source._skips(Through.NAME, here, statement):
            yield from _assigned(source, here.at(here.scope, statement), name, Through.NAME)


def _assigned(source: ValueSource, place: Place, name: str, step: Through) -> Iterator[ValueSource]:
    """The value that the statement at a place gives a name."""
    assert place.statement is not None
    node = place.statement.node
    if isinstance(node, ast.AugAssign):  # `x += y` makes `x + y`
        before = ast.Name(name, ast.Load()) if isinstance(node.target, ast.Name) else node.target
        yield from source._through(step, ast.copy_location(ast.BinOp(before, node.op, node.value), node), place)
        return
    for target, value in targets_and_values(node):
        if value is None or isinstance(node, (ast.For, ast.AsyncFor)):
            yield source._unknown(step)
        elif dotted(target) == name:
            yield from source._through(step, value, place)
        elif isinstance(target, (ast.Tuple, ast.List)):
            at = next((at for at, part in enumerate(target.elts) if dotted(part) == name), None)
            if at is not None and isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                yield from source._through(step, value.elts[at], place)
            elif at is not None:
                yield from _items(replace(source._stepped(step), place=place), value, at)


def _argument(source: ValueSource, here: Place, name: str) -> Iterator[ValueSource]:
    """The argument of the call that runs a function, or its default; those of all calls if the call is unknown."""
    run, default = here.run_of(here.scope), default_of(here.scope, name)
    if run is not None and run.call is not None:
        call = run.call.call
        given = argument_for(here.scope, call, name)
        if given is not None:
            yield from source._through(Through.ARGUMENT, given, run.call.place)
        else:
            yield from _default(source, here, None if is_spread(call) else default)
        return
    sites = [site for site in CallGraph.of(here.file.project).callers(here.function) if not site.file.is_offline]
    is_left, is_open = not sites, not sites
    for site in sites:
        argument = site.argument(here.scope, name)
        if argument is not None:
            yield from source._through(Through.ARGUMENT, argument, site.place)
        elif is_spread(site.call):
            is_open = True
        else:
            is_left = True
    if is_left and default is not None:
        yield from _default(source, here, default)
    if is_open:
        yield source._unknown(Through.ARGUMENT)


def _default(source: ValueSource, here: Place, default: ast.expr | None) -> Iterator[ValueSource]:
    if default is None:
        yield source._unknown(Through.DEFAULT)
    else:
        yield from source._through(Through.DEFAULT, default, here.at(here.scope.parent or here.scope, None))


# -- attributes and items ----------------------------------------------------------------------------------------


def _attribute(source: ValueSource, node: ast.Attribute) -> Iterator[ValueSource]:
    made = source.part(node.value).sources() if Through.ATTRIBUTE in source._question.through else ()
    found = [each.object for each in made if each.object is not None]
    if not found:
        yield source
    for each in found:
        yield from list(_stored(source, each, node.attr)) or [source._unknown(Through.ATTRIBUTE)]


def _stored(source: ValueSource, thing: MadeObject, name: str) -> Iterator[ValueSource]:
    """What an attribute of an object is set to, or what the property of that name returns."""
    for file, owner in Hierarchy.of(thing.file.project).lineage(thing.file, thing.owner):
        if name in owner.methods and owner.methods[name].is_property:
            run = FunctionRun(owner.methods[name], None, thing.by)
            yield from _results(source._stepped(Through.ATTRIBUTE), Place(file, owner.methods[name], None, run))
            return
        is_set = False
        for method in owner.methods.values():
            for statement in bindings_of(method).get(f"self.{name}", ()):
                is_set = True
                run = FunctionRun(method, thing.by if method.name == "__init__" else None, thing.by)
                place = Place(file, method, statement, run)
                if not source._skips(Through.ATTRIBUTE, place, statement):
                    yield from _assigned(source, place, f"self.{name}", Through.ATTRIBUTE)
        if is_set:
            return


def _items(source: ValueSource, holder: ast.expr, key: object) -> Iterator[ValueSource]:
    """The value for a key of a literal dict, ``loaders["train"]``, or the part of a tuple at a position."""
    for made in source.part(holder).sources():
        node = made.node
        if isinstance(node, ast.Dict):
            entries = zip(node.keys, node.values, strict=True)
            found = [value for name, value in entries if isinstance(name, ast.Constant) and name.value == key]
        else:
            parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
            found = parts[key : key + 1] if isinstance(key, int) and key >= 0 else []
        for value in found if key is not None else ():
            yield from made._through(Through.ITEM, value, made.place)
        if key is None or not found:
            yield made._unknown(Through.ITEM)


# -- calls -------------------------------------------------------------------------------------------------------


def function_of(source: ValueSource, node: ast.expr) -> Place | None:
    """The function of the project that a name refers to."""
    name, place = dotted(node), source.place
    if name is None and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):  # ``Photos(path).read``
        made = source.part(node.value).object
        return Modules.of(place.file.project).method_of(made.file, made.owner, node.attr) if made is not None else None
    if name is None:
        return None
    if name.startswith("self.") and name.count(".") == 1:
        outer: Scope | None = place.scope
        while outer is not None and outer.owner is None:  # in a function inside a method
            outer = outer.parent
        made = source.part(ast.Name("self", ast.Load())).object if place.made is not None else None
        if made is None and outer is not None and outer is not place.scope and outer.owner is not None:
            made = MadeObject(place.file, outer.owner)
        method = Modules.of(place.file.project).method_of(made.file, made.owner, name[5:]) if made else None
        if method is not None:
            return method
    return CallGraph.of(place.file.project).called(place.function, node)


def _returned(source: ValueSource, call: ast.Call, at: Place) -> Iterator[ValueSource]:
    """The sources of what a function of the project returns."""
    found = list(_results(source._stepped(Through.RETURN), source.place.entered(call, at)))
    yield from found or [source._unknown(Through.RETURN)]


def _results(source: ValueSource, place: Place) -> Iterator[ValueSource]:
    """The sources of what the function at a place returns."""
    for statement in place.scope.statements:
        value = statement.node.value if isinstance(statement.node, ast.Return) else None
        if value is not None and not source._skips(Through.RETURN, place, statement):
            yield from replace(source, node=value, place=place.at(place.scope, statement)).sources()


# -- branches ----------------------------------------------------------------------------------------------------


def is_left_out(source: ValueSource, statement: Statement) -> bool:
    """Whether a statement does not run in training: an ``if`` around it tests for evaluation, or for None."""
    for link in statement.around:
        if isinstance(link.node, ast.If) and link.branch in ("body", "else", "after"):
            says = _holds(source.at(statement), link.node.test)
            if says is not None and says is not (link.branch == "body"):
                return True
    place = source.place
    return Switches.of(place.file.project).never_runs(statement, place.function)


def _holds(source: ValueSource, test: ast.expr) -> bool | None:
    """Whether a test is true for the samples of a training; None if unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(source, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(source, test)
    if isinstance(test, (ast.Name, ast.Attribute)):
        answers = set(map(bool, _constants(source.part(test))))
        if len(answers) == 1:
            return answers.pop()
        word = (dotted(test) or "").rpartition(".")[2]
        return True if trains(word) else False if evaluates(word) else None
    return None


def _compared(source: ValueSource, test: ast.Compare) -> bool | None:
    """``self.mode == "train"``, ``self.transform is not None``."""
    operator, right = test.ops[0], test.comparators[0]
    is_equal = isinstance(operator, (ast.Eq, ast.Is))
    if (not is_equal and not isinstance(operator, (ast.NotEq, ast.IsNot))) or not isinstance(right, ast.Constant):
        return None
    if right.value is None:
        nones = {is_none(each.node) if each.is_known else None for each in source.part(test.left).sources()}
        return (is_equal is nones.pop()) if len(nones) == 1 and None not in nones else None
    answers = {(value == right.value) is is_equal for value in _constants(source.part(test.left))}
    if len(answers) == 1:
        return answers.pop()
    if isinstance(right.value, str) and (trains(right.value) or evaluates(right.value)):
        return trains(right.value) is is_equal
    return None


def _constants(source: ValueSource) -> list[object]:
    """The constants that an expression may be; none if it may be something else."""
    nodes = [each.node if each.is_known else None for each in source.sources()]
    known: list[object] = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return known if len(known) == len(nodes) else []
