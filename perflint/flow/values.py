"""Finds the kinds of names, attributes and calls across functions and files, and which functions calls reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import reduce

from perflint.flow.by_statement import Flow, module_env
from perflint.flow.environment import Environment, holds_objects
from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.known_arguments import parameter_env
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import (
    CPU_PLACE,
    FUNCTION_TAG,
    LAYER_TAG,
    LOADER,
    LOADER_TAG,
    OBJECT_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    dict_of,
    function,
    join,
    tuple_of,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bindings_of, definitions_of, loads_of, unpacked_from, values_bound_by
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import (
    all_parameters,
    annotation_of,
    arguments_of,
    defaults_of,
    is_none,
    written_entries,
)
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import base_of, string_of, walk
from perflint.syntax.vocabulary import means_loader

_LONGEST = 200
"""A function with more statements is not followed to find what it returns."""

MAY_BE_FUNCTIONS = (ast.Lambda, ast.IfExp, ast.Name, ast.Attribute, ast.Call)
"""Expressions that may refer to a function."""
_MAY_HOLD = (*MAY_BE_FUNCTIONS, ast.Dict, ast.List, ast.Tuple)
"""Those, and containers of functions or objects."""
_MOST_VALUES = 8
"""A name that is bound more often may mean anything; for an attribute, these first values count."""

_NOTHING: Mapping[str, Kind] = {}

Handed = tuple[str, tuple[tuple[str, Kind], ...]]
"""How a function is called: the class of its object (or ``""``), and the kinds of its parameters by name."""


class Values(Part):
    """The meaning of names and calls in a project."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._modules = Modules.of(project)
        self._running: dict[Scope, Handed] = {}
        """The functions being followed, with their arguments."""

    # -- names that mean the same everywhere in a function --------------------------------------------------------

    def lasting_kind(self, at: Place, node: ast.expr) -> Kind:
        """The kind of an expression if it is the same everywhere: an instance of a class, a function."""
        owner = at.scope.object_class if isinstance(node, ast.Name) and node.id == "self" else None
        if owner is not None:
            return self._modules.kind_of_instance(at.file, owner)
        name, entries = dotted(node), written_entries(node)
        if entries is not None:  # what an updater gets: ``models={"generator": generator}``
            kinds = {key: kind for key, value in entries.values.items() if (kind := self.lasting_kind(at, value)).type}
            if kinds:
                return dict_of(kinds)
        if name is None:
            return Evaluator(at.file, {**self._lasting_env(at), **self._container(at, node)}).kind(node)
        known = self.function(at, name) or self._object(at, name)
        return known if known.tag != UNKNOWN_TAG else self._method_of_object(at, name)

    def _method_of_object(self, at: Place, name: str) -> Kind:
        """The method of an object, as a value: ``model.train_step``."""
        receiver, _, method = name.rpartition(".")
        owner = self._object(at, receiver).type if receiver else ""
        return (self._modules.method_value(owner, method) if owner else None) or UNKNOWN

    def function(self, at: Place, name: str) -> Kind | None:
        """The function that a dotted name refers to, or the method of the scope's own object, as a value."""
        first, _, method = name.partition(".")
        owner = at.scope.object_class if first == "self" else None
        if owner is None:
            return self._modules.function_value(at.file, at.scope, name)
        found = self._modules.method_of(at.file, owner, method)
        return self._modules.as_value(found) if found is not None else None

    def _object(self, at: Place, name: str) -> Kind:
        """The kind of an object, from the only assignment to its name."""
        owner = at.scope.object_class if name.startswith("self.") and name.count(".") == 1 else None
        if owner is not None:
            return self.attribute(self._modules.kind_of_instance(at.file, owner).type, name[5:]) or UNKNOWN
        for enclosing in at.scope.outwards:
            value = definitions_of(enclosing).get(name)
            held = value.id if isinstance(value, ast.Name) else name if value is None else ""
            if held in all_parameters(enclosing):  # an object that the callers pass
                passed = self._project.resolving.handed(Place(at.file, enclosing)).get(held)
                return passed or self._annotated(Place(at.file, enclosing)).get(held, UNKNOWN)
            part = unpacked_from(enclosing, name) if value is None else None
            if part is not None:
                return Evaluator(at.file, {}).kind(part)
            if value is not None:
                return self._bound(at, value)
            several = self._one_of_several(Place(at.file, enclosing), name)
            if several is not None:
                return several
        return UNKNOWN

    def _bound(self, at: Place, value: ast.expr) -> Kind:
        """The object or the function that a name is bound to."""
        return Evaluator(at.file, {}).kind(value) if isinstance(value, ast.Call) else self._held(at, value)

    def _one_of_several(self, at: Place, name: str) -> Kind | None:
        """The functions or objects that the assignments of a function give a name, if all are of the project.

        That is ``Trainer`` or ``GanTrainer`` after ``trainer = GanTrainer(cfg) if cfg.gan else Trainer(cfg)``. A
        ``None`` at first does not count: nothing of it can be called. ``model = DataParallel(model)`` gives what the
        others do.
        """
        bound = bindings_of(at.scope).get(name, ())
        values = [dict(values_bound_by(statement.node)).get(name) for statement in bound[:_MOST_VALUES]]
        values = [value for value in values if value is None or not is_none(value)]
        if not values or len(bound) > _MOST_VALUES or not all(isinstance(value, MAY_BE_FUNCTIONS) for value in values):
            return None
        wrapping = [value for value in values if isinstance(value, ast.Call) and name in plain_names(value)]
        kinds = [self._bound(at, value) for value in values if value is not None and value not in wrapping]
        if not kinds:
            return None
        made = {name: reduce(join, kinds)}
        kinds += [Evaluator(at.file, made).kind(value) for value in wrapping]
        if all(kind.tag == FUNCTION_TAG for kind in kinds):
            return reduce(join, kinds)
        is_known = all(kind.tag in (OBJECT_TAG, LAYER_TAG) and kind.type for kind in kinds)
        return reduce(join, kinds) if is_known else None

    def _held(self, at: Place, value: ast.expr) -> Kind:
        """The function that a name refers to: ``step = self._step``, ``step = lambda batch: train_step(batch)``.

        Also the functions or objects of a container: ``steps = {"gan": self._gan_step, "vae": self._vae_step}``.
        """
        if not isinstance(value, _MAY_HOLD):
            return UNKNOWN
        kind = Evaluator(at.file, self._lasting_env(at)).kind(value)
        return kind if kind.tag == FUNCTION_TAG or holds_objects(kind) else UNKNOWN

    def call(self, origin: FileIndex, name: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of calling a project function or class by qualified name; None if it is neither."""
        if name in self._project.loaders:
            return LOADER
        found = self._modules.find(name, origin)
        if found is None:
            return self._loaded(origin, name)
        file, target = found
        if self._project.loaders and self._is_declared_loader(file, target):
            return LOADER
        if isinstance(target, Class):
            return self._modules.kind_of_instance(file, target)
        return self.result(Place(file, target), "", arguments, keywords)

    def _loaded(self, origin: FileIndex, name: str) -> Kind | None:
        """The instance that a method which a library gives to a class makes: ``Net.from_pretrained("base")``."""
        owner, _, method = name.rpartition(".")
        found = self._modules.find(owner, origin) if method == "from_pretrained" else None
        if found is None or not isinstance(found[1], Class):
            return None
        return self._modules.kind_of_instance(found[0], found[1])

    def call_method(self, owner: str, method: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a method of a project class, None if there is none."""
        found = self._modules.method(owner, method)
        return self.result(found, owner, arguments, keywords) if found else None

    def call_function(self, qualified: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of calling a function that is a value."""
        found = self._modules.functions_of_kind(function(qualified))
        results = [self.result(place, "", arguments, keywords) or UNKNOWN for place in found]
        return reduce(join, results) if results else None

    def _is_declared_loader(self, file: FileIndex, target: Scope | Class) -> bool:
        defined = f".{file.module}.{target.qualname}"
        return any(f".{name}".endswith(defined) for name in self._project.loaders)

    def result(self, at: Place, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """What a function returns when it is called with these kinds."""
        if len(at.scope.statements) > _LONGEST:
            return UNKNOWN
        env = parameter_env(at.scope, arguments, keywords)
        handed = self._running.get(at.scope) or (owner, tuple(sorted(env.items(), key=lambda item: item[0])))
        return self._returned(at, handed)

    @query(cycle=UNKNOWN)
    def _returned(self, at: Place, handed: Handed) -> Kind:
        """What a function returns for some arguments; recursive calls are assumed to have the same ones."""
        is_inner, (owner, parameters) = at.scope in self._running, handed
        self._running[at.scope] = handed
        try:
            flow = Flow(at, self.base_env(at, dict(parameters), owner), guess_losses=False).run()
        finally:
            if not is_inner:
                del self._running[at.scope]
        return flow.result or UNKNOWN

    def base_env(self, at: Place, parameters: Env, owner: str = "") -> Environment:
        """The kinds a function starts with: globals, the enclosing function's names, ``self``, parameters."""
        env = Environment(module_env(at.file) if at.scope is not at.file.scopes.module else {})
        env.update(self._from_around(at))
        if at.scope.object_class is not None:
            kind = self._modules.kind_of_instance(at.file, at.scope.object_class)
            if owner and self._modules.class_named(owner) is not None:
                kind = Kind(kind.tag, type=owner)
            env["self"] = kind
        for name in at.scope.parameters:
            env.forget(name)
        env.update(_hiding(at))
        env.update(self._annotated(at))
        for name, default in defaults_of(at.scope).items():
            if isinstance(default, ast.Call) and (dotted(default.func) or "").endswith("CPUPlace"):
                env[name] = CPU_PLACE
        for name, inner in at.scope.functions.items():
            if name not in env:
                env[name] = self._modules.as_value(Place(at.file, inner))
        env.update(parameters)
        return env

    @query(cycle=_NOTHING)
    def _from_around(self, at: Place) -> Mapping[str, Kind]:
        """The objects and functions that the names of the functions around an inner one mean there."""
        around = [scope for scope in at.scope.outwards if scope.parent is not None][1:]
        read = loads_of(at.scope).keys() - bindings_of(at.scope).keys() if around else ()
        known = {name: self._object(Place(at.file, around[0]), name) for name in read if _binds(around, name)}
        return {name: kind for name, kind in known.items() if kind.tag != UNKNOWN_TAG}

    @query
    def _annotated(self, at: Place) -> Mapping[str, Kind]:
        """The objects that the annotations of a function's parameters name, by parameter.

        A class with subclasses says nothing: the object may be of any of them.
        """
        modules, found = self._modules, dict[str, Kind]()
        for name in all_parameters(at.scope):
            said = _named_class(annotation_of(at.scope, name))
            place = modules.class_at(at.file, said) if said is not None else self._base_model(at, name)
            if place is not None and not Hierarchy.of(self._project).descendants(place[1]):
                kind = modules.kind_of_instance(*place)
                if kind.type:
                    found[name] = kind
        return found

    def _base_model(self, at: Place, name: str) -> tuple[FileIndex, Class] | None:
        """The network that PaddleNLP's ``from_pretrained`` passes to a model, as the parameter named like its base.

        It makes the class that ``@register_base_model`` marks among those that share ``base_model_prefix = "bert"``
        (``PretrainedModel.from_pretrained`` in paddlenlp/transformers/model_utils.py).
        """
        owner, hierarchy = at.scope.owner, Hierarchy.of(self._project)
        if owner is None or at.scope.name != "__init__" or not self._project.mentions.of("register_base_model"):
            return None
        for _, each in hierarchy.lineage(at.file, owner):
            if _prefix_of(each) == name:
                return next((found for found in hierarchy.descendants(each) if _is_base_model(found[1])), None)
        return None

    @query(cycle=None)
    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of ``self.name`` from the assignments in the class and its bases, or from its property."""
        found = self._modules.class_named(owner)
        if found is None:
            return None
        lineage = Hierarchy.of(self._project).lineage(*found)
        inherited = (self._own_attribute(*place, name) for place in lineage)
        getter = self._modules.method(owner, name)
        if getter is not None and getter.scope.is_property:
            return self.result(getter, owner, [], {})
        known = next(filter(None, inherited), None) or self._of_subclasses(found[1], name)
        return known or (LOADER if "load" in name and self._is_given_a_loader(name) else None)

    def _own_attribute(self, file: FileIndex, owner: Class, name: str) -> Kind | None:
        """The kind of an attribute from the assignments in one class."""
        kinds: list[Kind] = []
        for value, scope in owner.attributes.get(name, [])[:_MOST_VALUES]:
            if not is_none(value):
                added = [self._assigned(Place(file, scope), item) for item in _added(scope, f"self.{name}", value)]
                are_known = bool(added) and all(kind.type for kind in added)
                known = tuple_of([reduce(join, added)]) if are_known else self._assigned(Place(file, scope), value)
                kinds.append(known)
        return reduce(join, kinds) if kinds else None

    def _assigned(self, at: Place, value: ast.expr) -> Kind:
        """The kind of what a method assigns to an attribute, or adds to the list in one."""
        is_passed = isinstance(base_of(value), ast.Name)  # also ``models["generator"]``
        handed = self._project.resolving.handed(at) if is_passed else {}
        return Evaluator(at.file, self._with_locals(at, value, self.base_env(at, handed))).kind(value)

    def _with_locals(self, at: Place, value: ast.expr, env: Env) -> Env:
        """``env`` with the locals that an attribute is set to: ``model = Net()``, ``self.model = Parallel(model)``."""
        defined = definitions_of(at.scope)
        names, evaluator = plain_names(value), Evaluator(at.file, env)
        made = {name: evaluator.kind(defined[name]) for name in names if isinstance(defined.get(name), ast.Call)}
        several = {name: self._one_of_several(at, name) for name in names - defined.keys() - {*at.scope.parameters}}
        made |= {name: kind for name, kind in several.items() if kind is not None}
        if not made:
            return env
        known = Environment(env)
        known.update(made)
        return known

    def _of_subclasses(self, owner: Class, name: str) -> Kind | None:
        """The kind of an attribute that subclasses set and a base class reads."""
        heirs = Hierarchy.of(self._project).descendants(owner)[:8]
        found = (self._own_attribute(file, child, name) for file, child in heirs if name in child.attributes)
        kinds = [kind for kind in found if kind is not None]
        return reduce(join, kinds) if kinds else None

    @query(cycle=False)
    def _is_given_a_loader(self, name: str) -> bool:
        """Whether code outside a class gives its objects a loader under a name: ``task.loader = build()``."""
        given = [
            Evaluator(file, self._with_locals(Place(file, scope), value, self.base_env(Place(file, scope), {})))
            .kind(value)
            .tag
            for file in self._project.mentions.of(name)
            for scope, value in _given_to_others(file, name)
        ]
        return bool(given) and all(tag == LOADER_TAG for tag in given)

    def _container(self, at: Place, node: ast.expr) -> Env:
        """The container of functions or objects that an expression takes one from: ``losses[name]``."""
        while isinstance(node, (ast.Subscript, ast.Call)):
            node = node.value if isinstance(node, ast.Subscript) else node.func
            if isinstance(node, ast.Attribute) and node.attr == "get":
                node = node.value
            name = dotted(node)
            if name is not None and name != "self":
                kind = self._object(at, name)
                return {name: kind} if holds_objects(kind) else {}
        return {}

    def _lasting_env(self, at: Place) -> Env:
        """The names available everywhere in a scope: its nested functions, and the object whose method it is.

        A parameter hides the function of that name: ``drop_path`` in ``def __init__(self, drop_path=0.0)``.
        """
        env = {**_hiding(at), **self._modules.functions_of(at)}
        owner = at.scope.object_class
        return env if owner is None else {**env, "self": self._modules.kind_of_instance(at.file, owner)}

    # -- names that are bound once -----------------------------------------------------------------------------

    @query
    def definitions(self, at: Place) -> Mapping[str, ast.expr]:
        """Names that are bound once, with the expression: those of a scope, and visible ones of the module."""
        own = {**self._answers(at), **definitions_of(at.scope)}
        module = at.file.scopes.module
        if at.scope is module:
            return own
        bound = bindings_of(at.scope).keys() | set(at.scope.parameters)
        return {**{name: value for name, value in definitions_of(module).items() if name not in bound}, **own}

    def _answers(self, at: Place) -> dict[str, ast.expr]:
        """The results of small functions and properties in the tests of a scope: ``if self.is_due():``."""
        answers: dict[str, ast.expr] = {}
        for statement in at.scope.statements:
            if isinstance(statement.node, (ast.If, ast.While)):
                for item in walk(statement.node.test):
                    is_call = isinstance(item, ast.Call)
                    name = dotted(item.func) if isinstance(item, ast.Call) else _property_of(at.scope, item)
                    kind = self.lasting_kind(at, ast.parse(name, mode="eval").body) if name else UNKNOWN
                    found = self._modules.functions_of_kind(kind)
                    answer = _only_return(found[0].scope) if found else None
                    if answer is not None:
                        answers[f"{name}()" if is_call else str(name)] = answer
        return answers


def _binds(around: list[Scope], name: str) -> bool:
    """Whether one of the functions around another binds a name."""
    return any(name in bindings_of(scope) or name in all_parameters(scope) for scope in around)


def _property_of(scope: Scope, item: ast.AST) -> str | None:
    """``self.is_due`` if an expression reads what may be a property of the scope's own object."""
    name = dotted(item) if isinstance(item, ast.Attribute) and scope.owner is not None else None
    return name if name and name[:5] == "self." and scope.owner and name[5:] in scope.owner.methods else None


def _hiding(at: Place) -> dict[str, Kind]:
    """The parameters of a function that hide another meaning of the name in the file."""
    names = (name for name in at.scope.parameters if at.file.names.is_bound(name))
    return {name: UNKNOWN for name in names if not means_loader(name)}


def _named_class(annotation: ast.expr | None) -> ast.expr | None:
    """The name of a class in an annotation: ``Meter``, ``"Meter"``, ``Optional[Meter]``, ``Meter | None``."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.right, ast.Constant):
        annotation = annotation.left
    if isinstance(annotation, ast.Subscript) and (dotted(annotation.value) or "").rpartition(".")[2] == "Optional":
        annotation = annotation.slice
    written = string_of(annotation) if annotation is not None else None
    return ast.Name(written, ast.Load()) if written is not None else annotation


def _given_to_others(file: FileIndex, name: str) -> Iterator[tuple[Scope, ast.expr]]:
    """What a file assigns to an attribute of this name on objects other than ``self``."""
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            node = statement.node
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Attribute) and target.attr == name and dotted(target.value) != "self":
                    yield scope, node.value  # type: ignore[attr-defined]  # an assignment


def _only_return(scope: Scope) -> ast.expr | None:
    """The expression returned by a function that consists of one statement."""
    node = scope.statements[-1].node if scope.statements else None
    if len(scope.statements) > 2 or not isinstance(node, ast.Return):
        return None
    docstring = scope.statements[0].node
    if len(scope.statements) == 2 and not (
        isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    ):
        return None
    return node.value


def _prefix_of(owner: Class) -> str | None:
    """The name of the base network of a family of models: ``base_model_prefix = "bert"``."""
    bound = (dict(values_bound_by(node)).get("base_model_prefix") for node in owner.node.body)
    return next((string_of(value) for value in bound if value is not None), None)


def _is_base_model(owner: Class) -> bool:
    """Whether a class is the base network of its family."""
    return any((dotted(each) or "").rpartition(".")[2] == "register_base_model" for each in owner.decorators)


def _added(scope: Scope, name: str, value: ast.expr) -> list[ast.expr]:
    """What a method adds to a list that it makes empty: ``self.blocks = nn.LayerList()``, ``self.blocks.append(x)``."""
    if not isinstance(value, ast.Call) or terminal(value) != "LayerList" or arguments_of(value):
        return []
    calls = (call for call in scope.calls if terminal(call) == "append" and len(call.args) == 1)
    return [call.args[0] for call in calls if dotted(call.func) == f"{name}.append"][:_MOST_VALUES]
