"""Finds the expressions that create a value, along one path through a program, with the arguments of each call on it.

In ``data = Photos(transform=crop)`` and ``self.transform = transform`` of ``Photos.__init__``, ``self.transform`` in a
method is ``crop`` for this object, whatever other objects of the class get. If it is not known which call created an
object or runs a function, all calls count. Branches that training does not take are ignored.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perflint.facts.dataset_samples import class_of
from perflint.flow.calls import CallGraph
from perflint.flow.switches import State, Switches
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_of, default_of, is_spread, position_of
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.vocabulary import evaluates, trains

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_DEEPEST, _MOST_STEPS = 16, 1500
"""The most steps between a name and the creation of its value, and the most steps for one question."""


class Budget:
    """How many more expressions a question may follow: each branch of a program may double them."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    @property
    def is_spent(self) -> bool:
        """Whether the answer is unreliable, because some expressions were not followed."""
        return self._left <= 0

    def spend(self) -> bool:
        """Use one step, if there is one left."""
        self._left -= 1
        return self._left > 0


@dataclass(frozen=True, eq=False)
class Frame:
    """One run of a function.

    Attributes:
        file: the file of the function.
        scope: the function.
        call: the call that runs it; None if unknown.
        made: what created the object whose method it is; None if unknown.
        depth: how many steps led here.
        budget: the budget of the question.
    """

    file: FileIndex
    scope: Scope
    call: Occurrence | None = None
    made: Occurrence | None = None
    depth: int = 0
    budget: Budget = field(default_factory=Budget)

    def other(
        self,
        file: FileIndex,
        scope: Scope,
        call: Occurrence | None = None,
        made: Occurrence | None = None,
        depth: int | None = None,
    ) -> Frame:
        """A run of another function, which this one leads to."""
        return Frame(file, scope, call, made, self.depth if depth is None else depth, self.budget)


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An expression, in a run of a function."""

    frame: Frame
    statement: Statement | None
    node: ast.expr

    def part(self, node: ast.expr) -> Occurrence:
        """Another expression of the same statement."""
        return replace(self, node=node)

    @property
    def qualified(self) -> str:
        """The qualified name of what a call calls, or of a name; ``""`` if there is none."""
        named = dotted(self.node.func if isinstance(self.node, ast.Call) else self.node)
        return self.frame.file.names.resolve(named) if named else ""


def makers(place: Occurrence) -> Iterator[Occurrence]:
    """The expressions that may create the value of an expression: calls, displays, constants, lambdas.

    Includes names that lead nowhere in the project, such as those of its functions; empty if unknown.
    """
    frame, node = place.frame, place.node
    if frame.depth > _DEEPEST or not frame.budget.spend():
        return
    if isinstance(node, ast.IfExp):
        yield from makers(_deeper(place, node.body))
        yield from makers(_deeper(place, node.orelse))
    elif isinstance(node, ast.Name):
        yield from _named(place, node.id)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(place, node)
    elif isinstance(node, ast.Subscript):
        yield from _item(place, node)
    elif isinstance(node, ast.Call):
        found = list(_returned(place, node, None))
        yield from found if found or function_of(place, node.func) is not None else [place]
    else:
        yield place


def _deeper(place: Occurrence, node: ast.expr) -> Occurrence:
    return replace(place, node=node, frame=replace(place.frame, depth=place.frame.depth + 1))


def _of(frame: Frame, depth: int, statement: Statement | None, node: ast.expr) -> Iterator[Occurrence]:
    """What creates the value of an expression in another run of a function."""
    return makers(Occurrence(replace(frame, depth=depth + 1), statement, node))


# -- names and parameters ----------------------------------------------------------------------------------------


def _named(place: Occurrence, name: str) -> Iterator[Occurrence]:
    frame, inner = place.frame, place.frame.scope
    while True:
        at = place.statement if inner is frame.scope else None
        here = frame if inner is frame.scope else frame.other(frame.file, inner)
        if name in bindings_of(inner) or name in all_parameters(inner):
            yield from _local(here, at, name)
            return
        if inner.parent is None:
            break
        inner = inner.parent
    module, _, last = frame.file.names.resolve(name).rpartition(".")
    there = Modules.of(frame.file.project).module_named(module, frame.file) if frame.file.names.is_bound(name) else None
    if there is not None and there is not frame.file and last in bindings_of(there.scopes.module):
        yield from _bound(frame.other(there, there.scopes.module, depth=frame.depth + 1), None, last)
    else:
        yield place


def _local(frame: Frame, at: Statement | None, name: str) -> Iterator[Occurrence]:
    """The values that a function gives a name, and its argument if no assignment certainly precedes."""
    if name in all_parameters(frame.scope):
        found = reaching.before(name, at, frame.scope) if at is not None else ()
        if not any(next(iter(each.statement.around), None) is None for each in found):
            yield from given(frame, name)
        if at is not None and not found:
            return
    if name in bindings_of(frame.scope):
        yield from _bound(frame, at, name)


def _bound(frame: Frame, at: Statement | None, name: str) -> Iterator[Occurrence]:
    """The values from the assignments of a name, or only from those that reach a given statement."""
    found = reaching.before(name, at, frame.scope) if at is not None else []
    statements = [each.statement for each in found] or bindings_of(frame.scope)[name]
    for statement in statements:
        if is_left_out(frame, statement):
            continue
        for target, value in targets_and_values(statement.node):
            if value is not None and not isinstance(statement.node, (ast.For, ast.AsyncFor, ast.AugAssign)):
                yield from _assigned(frame, statement, target, value, name)


def _assigned(frame: Frame, statement: Statement, target: ast.expr, value: ast.expr, name: str) -> Iterator[Occurrence]:
    if dotted(target) == name:
        yield from _of(frame, frame.depth, statement, value)
    if not isinstance(target, (ast.Tuple, ast.List)):
        return
    place = next((at for at, part in enumerate(target.elts) if dotted(part) == name), None)
    if place is None:
        return
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        yield from _of(frame, frame.depth, statement, value.elts[place])
    elif isinstance(value, ast.Call):
        yield from _returned(_deeper(Occurrence(frame, statement, value), value), value, place)


def given(frame: Frame, name: str) -> Iterator[Occurrence]:
    """What creates the value of a parameter: the argument of the call, its default, or the arguments of all calls."""
    if frame.call is not None:
        handed = _handed(frame, name)
        if handed is not None:
            yield from _of(handed.frame, frame.depth, handed.statement, handed.node)
        return
    for site in CallGraph.of(frame.file.project).callers(frame.file, frame.scope):
        argument = site.argument(frame.scope, name)
        if argument is not None and not site.file.is_offline:
            yield from _of(frame.other(site.file, site.scope), frame.depth, site.statement, argument)


def _handed(frame: Frame, name: str) -> Occurrence | None:
    """The argument of the call that runs a function for a parameter, or its default."""
    call = frame.call
    if call is None or not isinstance(call.node, ast.Call):
        return None
    argument = argument_of(call.node, name, position_of(frame.scope, name))
    if argument is not None:
        return call.part(argument)
    default = None if is_spread(call.node) else default_of(frame.scope, name)
    return None if default is None else Occurrence(frame.other(frame.file, frame.file.scopes.module), None, default)


# -- attributes and items ----------------------------------------------------------------------------------------


def _attribute(place: Occurrence, node: ast.Attribute) -> Iterator[Occurrence]:
    frame = place.frame
    owners = list(_owners(place, node.value))
    for home, owner, made in owners:
        for there, one in Hierarchy.of(home.project).lineage(home, owner):
            if node.attr in one.attributes:
                for value, scope in one.attributes[node.attr]:
                    is_init = scope.name == "__init__" and made is not None
                    inner = frame.other(there, scope, made if is_init else None, made)
                    statement = _statement_of(scope, value)
                    if statement is None or not is_left_out(inner, statement):
                        yield from _of(inner, frame.depth, statement, value)
                break
    if not owners:
        yield place


def _statement_of(scope: Scope, value: ast.expr) -> Statement | None:
    return next((each for each in scope.statements if getattr(each.node, "value", None) is value), None)


def _owners(place: Occurrence, node: ast.expr) -> Iterator[tuple[FileIndex, Class, Occurrence | None]]:
    """The classes of an object, each with what creates it, if known."""
    frame = place.frame
    if isinstance(node, ast.Name) and node.id == "self" and frame.scope.owner is not None:
        found = class_made(frame.made) if frame.made is not None else None
        yield (*found, frame.made) if found is not None else (frame.file, frame.scope.owner, None)
        return
    for made in makers(_deeper(place, node)):
        found = class_made(made)
        if found is not None:
            yield (*found, made)
            return
    known = class_of(frame.file, frame.scope, node)
    if known is not None:
        yield (*known, None)


def _item(place: Occurrence, node: ast.Subscript) -> Iterator[Occurrence]:
    """The value for a key of a literal dict: ``loaders["train"]``."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    for made in makers(_deeper(place, node.value)):
        if key is None or not isinstance(made.node, ast.Dict):
            continue
        for name, value in zip(made.node.keys, made.node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == key:
                yield from makers(_deeper(made, value))


# -- calls -------------------------------------------------------------------------------------------------------


def class_made(place: Occurrence) -> tuple[FileIndex, Class] | None:
    """The class of the project that a call creates an object of."""
    found = _definition(place) if isinstance(place.node, ast.Call) else None
    return (found[0], found[1]) if found is not None and isinstance(found[1], Class) else None


def _definition(place: Occurrence) -> tuple[FileIndex, Scope | Class] | None:
    file = place.frame.file
    name = dotted(place.node.func if isinstance(place.node, ast.Call) else place.node)
    return Modules.of(file.project).find(file.names.resolve(name), file) if name else None


def function_of(place: Occurrence, node: ast.expr) -> tuple[FileIndex, Scope] | None:
    """The function of the project that a name refers to."""
    name, frame = dotted(node), place.frame
    if name is None:
        return None
    if name.startswith("self.") and name.count(".") == 1 and frame.made is not None:
        found = class_made(frame.made)
        method = Modules.of(frame.file.project).method_of(*found, name[5:]) if found is not None else None
        if method is not None:
            return method
    found_here = Modules.of(frame.file.project).find(frame.file.names.resolve(name), frame.file)
    if found_here is not None and isinstance(found_here[1], Class):
        return None
    return Values.of(frame.file.project).callee(frame.file, frame.scope, name, {})


def run_by(place: Occurrence, called: tuple[FileIndex, Scope]) -> Frame:
    """The run of a function that a call starts; a method of the same object knows what created it."""
    is_own = isinstance(place.node, ast.Call) and (dotted(place.node.func) or "").startswith("self.")
    return place.frame.other(*called, place, place.frame.made if is_own else None, place.frame.depth + 1)


def _returned(place: Occurrence, call: ast.Call, position: int | None) -> Iterator[Occurrence]:
    """What creates the values that a function of the project returns; ``position``: in the returned tuple."""
    called = function_of(place, call.func)
    if called is None or place.frame.depth > _DEEPEST:
        return
    frame = run_by(place, called)
    for statement in called[1].statements:
        value = statement.node.value if isinstance(statement.node, ast.Return) else None
        if position is not None and value is not None:
            value = value.elts[position] if isinstance(value, ast.Tuple) and position < len(value.elts) else None
        if value is not None and not is_left_out(frame, statement):
            yield from makers(Occurrence(frame, statement, value))


# -- branches ------------------------------------------------------------------------------------------------------


def is_left_out(frame: Frame, statement: Statement) -> bool:
    """Whether a statement does not run in training: an ``if`` around it tests for evaluation, or for None."""
    for link in statement.around:
        if isinstance(link.node, ast.If) and link.branch in ("body", "else"):
            says = _holds(Occurrence(replace(frame, depth=frame.depth + 3), statement, link.node.test), link.node.test)
            if says is not None and says is not (link.branch == "body"):
                return True
    return Switches.of(frame.file.project).state_of_statement(statement, frame.scope, frame.file) <= State.UNSET


def _holds(place: Occurrence, test: ast.expr) -> bool | None:
    """Whether a test is true for the samples of a training; None if unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(place, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(place, test)
    if isinstance(test, (ast.Name, ast.Attribute)):
        known = _constants(place.part(test))
        if known:
            return bool(known[0]) if len(set(map(bool, known))) == 1 else None
        word = (dotted(test) or "").rpartition(".")[2]
        return True if trains(word) else False if evaluates(word) else None
    return None


def _compared(place: Occurrence, test: ast.Compare) -> bool | None:
    """``self.mode == "train"``, ``self.transform is not None``."""
    operator, right = test.ops[0], test.comparators[0]
    is_equal = isinstance(operator, (ast.Eq, ast.Is))
    if (not is_equal and not isinstance(operator, (ast.NotEq, ast.IsNot))) or not isinstance(right, ast.Constant):
        return None
    if right.value is None:
        made = list(makers(place.part(test.left)))
        nones = [is_none(each.node) for each in made]
        return None if not made or len(set(nones)) > 1 else nones[0] is is_equal
    known = _constants(place.part(test.left))
    if known:
        answers = {(value == right.value) is is_equal for value in known}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(right.value, str) and (trains(right.value) or evaluates(right.value)):
        return trains(right.value) is is_equal
    return None


def _constants(place: Occurrence) -> list[object]:
    """The constants that an expression may be; none if it may be something else."""
    made = [each.node for each in makers(place)]
    return [node.value for node in made if isinstance(node, ast.Constant)] if _all_constants(made) else []


def _all_constants(nodes: Iterable[ast.expr]) -> bool:
    return all(isinstance(node, ast.Constant) for node in nodes)


def is_none(node: ast.expr) -> bool:
    """Whether an expression is ``None``, literally."""
    return isinstance(node, ast.Constant) and node.value is None
