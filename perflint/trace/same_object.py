"""What two methods of one object hand to each other, whatever class the object has.

In ``net = plan.create_model(config)`` and ``plan.train_forward(net, batch)``, nothing may say which of many classes
``plan`` is of.  But if it is ``Wide``, ``net`` is what ``Wide.create_model`` returns: so the trace of a call that may
run the ``train_forward`` of each class is not a mixture of all their models.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from perflint.flow.calls import Callee, Certainty
from perflint.flow.values import Values
from perflint.index.kinds import TUPLE_TAG, UNKNOWN_TAG, Kind
from perflint.index.modules import Modules
from perflint.syntax.bindings import targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, Statement
from perflint.training.steps import Point


def together_with(target: Callee, call: ast.Call, point: Point) -> Mapping[str, Kind]:
    """The kinds of a method's parameters that other methods of the same object made, by the class of the method.

    Only for a method that just its name leads to: otherwise the kinds of the arguments are known anyway.
    """
    owner = target.scope.owner
    receiver = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if target.certainty > Certainty.NAME or owner is None or receiver is None:
        return {}
    found: dict[str, Kind] = {}
    for parameter in target.scope.parameters:
        argument = argument_for(target.scope, call, parameter)
        if not isinstance(argument, ast.Name):
            continue
        for method, place in _made(argument.id, receiver, point.scope, point.statement):
            made = _result(target, method)
            kind = made if place is None or made is None else _item(made, place)
            if kind is not None and kind.tag != UNKNOWN_TAG:
                found.setdefault(parameter, kind)
    return found


def _made(name: str, receiver: str, scope: Scope, statement: Statement) -> Iterator[tuple[str, int | None]]:
    """The methods of an object whose results a name may hold, each with the place in what it returns."""
    for binding in before(name, statement, scope):
        for target, value in targets_and_values(binding.statement.node):
            func = value.func if isinstance(value, ast.Call) else None
            if not isinstance(func, ast.Attribute) or dotted(func.value) != receiver:
                continue
            if dotted(target) == name:
                yield func.attr, None
            elif isinstance(target, (ast.Tuple, ast.List)):
                yield from ((func.attr, at) for at, part in enumerate(target.elts) if dotted(part) == name)


def _result(target: Callee, name: str) -> Kind | None:
    """What another method of the class of a method returns."""
    modules, owner = Modules.of(target.file.project), target.scope.owner
    method = modules.method_of(target.file, owner, name) if owner is not None else None
    if method is None or owner is None or method.scope is target.scope:
        return None
    kind = modules.kind_of_instance(target.file, owner)
    return Values.of(target.file.project).result(method, kind.type, [], {})


def _item(kind: Kind, place: int) -> Kind | None:
    return kind.items[place] if kind.tag == TUPLE_TAG and place < len(kind.items) else None
