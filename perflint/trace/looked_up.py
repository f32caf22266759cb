"""What a call may run that looks its function up: layers that a configuration names, ``create(cfg.architecture)``.

Nothing in the source says which of them it is.  So all classes of the project count that can be looked up by a name,
take the arguments of the call, and fit the words of what is called: ``self.head(x)`` may run each registered head.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from perflint.flow.calls import Callee, CallGraph, Certainty
from perflint.flow.sources import Through, ValueSource, sources
from perflint.flow.values import Values
from perflint.index.hierarchy import registered_classes
from perflint.index.kinds import LAYER_TAG, TUPLE_TAG, UNKNOWN_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import targets_and_values
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_for, fits
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.tree import base_of
from perflint.syntax.vocabulary import means_model, snake
from perflint.training.steps import Point

_RUN = ("forward", "__call__")
_COMPUTED = re.compile(r"\beval\(|\bgetattr\(\w+, *[^\"']|\bglobals\(\)\[")
"""How a module looks up a class of its package without a registry."""


def may_run(at: Place, call: ast.Call) -> tuple[Place, ...]:
    """The methods that a call of something unknown may run; none if nothing suggests that it was looked up."""
    known = _callable(at.file.project)
    if not known or not is_looked_up(call.func, at):
        return ()
    creating = [source.node for source in sources(call.func, at) if _is_open(source)]
    fitting = [place for place in known if fits(place.scope, call) and _may_be_made(place, creating)]
    name = called_name(call.func).rpartition(".")[2]
    if means_model(name):
        return tuple(place for place in fitting if place.scope.name == "forward")
    for word in reversed([word for word in snake(name).split("_") if len(word) > 1]):
        meant = [place for place in fitting if not _singular(word).isdisjoint(_words(place))]
        if meant:
            return tuple(meant)
    return ()


def _may_be_made(method: Place, creating: Sequence[ast.AST]) -> bool:
    """Whether some expressions may create an object with a method.

    ``getattr(nets, name)(width=8)`` needs a class that takes a width.
    """
    owner = method.scope.owner
    init = Modules.of(method.file.project).method_of(method.file, owner, "__init__") if owner is not None else None
    if init is None:
        return True
    return any(
        not isinstance(each, ast.Call) or isinstance(each.func, (ast.Name, ast.Attribute)) or fits(init.scope, each)
        for each in creating
    )


def called_name(node: ast.expr) -> str:
    """The name of what is called, or of what it is an item of: ``losses`` of ``losses["types"][0](x)``."""
    return dotted(node) or dotted(base_of(node)) or ""


def is_looked_up(node: ast.expr, at: Place) -> bool:
    """Whether something that is called comes from a caller that is not known, or from a call of something computed."""
    return any(_is_open(source) for source in sources(node, at))


def _is_open(source: ValueSource) -> bool:
    if not source.is_known:
        return source.steps[-1].kind is Through.UNKNOWN
    node, file = source.node, source.place.file
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Subscript, ast.Attribute))
    name = dotted(node.func)
    if name is None or name in all_parameters(source.place.scope):
        return True  # ``eval(name)(**options)``, ``LAYERS[name]()``, ``made_of(**options)`` of a parameter
    is_imported = (
        file.names.is_bound(name.partition(".")[0])
        and Modules.of(file.project).module_named(file.names.resolve(name).rpartition(".")[0], file) is None
    )
    is_class = Modules.of(file.project).class_at(file, node.func) is not None
    return (
        not is_imported and not is_class and CallGraph.of(file.project).called(source.place.function, node.func) is None
    )


@query
def _callable(project: Project) -> tuple[Place, ...]:
    """What calls of the objects run whose classes can be looked up by a name."""
    found: dict[Place, None] = {}
    for file, owner in _looked_up(project):
        methods = (Modules.of(project).method_of(file, owner, name) for name in _RUN)
        method = next((each for each in methods if each is not None), None)
        if method is not None:
            found[method] = None
    return tuple(found)


def _looked_up(project: Project) -> Iterator[tuple[FileIndex, Class]]:
    packages = [_package(file) for file in project.files.values() if file.matches(_COMPUTED)]
    for file in project.files.values():
        if file.is_quiet or file.is_foreign:
            continue
        registered = {name for names in registered_classes(file).values() for name in names}
        is_computed = any(f"{file.module}.".startswith(package) for package in packages)
        for name, owner in file.scopes.classes.items():
            is_layer = Modules.of(project).kind_of_instance(file, owner).tag == LAYER_TAG
            if name in registered or (is_computed and is_layer and not _is_part(file, owner)):
                yield file, owner


def _is_part(file: FileIndex, owner: Class) -> bool:
    """Whether only methods of other classes create objects of a class: it is a part of them, such as a block."""
    callers = [caller for _, caller, *_ in CallGraph.of(file.project).objects(file, owner)]
    return bool(callers) and all(caller.owner is not None for caller in callers)


def _package(file: FileIndex) -> str:
    """What the qualified names of the modules begin with that a module can look up."""
    return f"{file.module}."


@query
def _words(place: Place) -> frozenset[str]:
    """The words of a class and of the folders that it is in, also without the end of a plural."""
    owner = place.scope.owner
    names = (*place.file.parts, owner.name if owner is not None else "")
    return frozenset(one for name in names for word in _split(name) for one in _singular(word))


def _singular(word: str) -> frozenset[str]:
    """``losses`` and ``loss``; also ``losse``, since nothing says where a plural ends."""
    return frozenset({word, word.removesuffix("s"), word.removesuffix("es")})


def _split(name: str) -> Iterable[str]:
    return filter(None, snake(name).replace(".", "_").split("_"))


# What two methods of one object hand to each other, whatever class the object has.
#
# In ``net = plan.create_model(config)`` and ``plan.train_forward(net, batch)``, nothing may say which of many classes
# ``plan`` is of.  But if it is ``Wide``, ``net`` is what ``Wide.create_model`` returns: so the trace of a call that may
# run the ``train_forward`` of each class is not a mixture of all their models.


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
