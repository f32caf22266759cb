"""All files of a run as one project: what a name means across files, and who calls whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from perflint.claims import Claims
from perflint.findings import Confidence
from perflint.index import amp, loader_facts, open_widths, registries, training
from perflint.index.bindings import bound_by, definitions_of, parameter_env
from perflint.index.call_arguments import position_of
from perflint.index.callers import Callers
from perflint.index.devices import Devices
from perflint.index.dispatch import Dispatch
from perflint.index.evaluate import Env, Evaluator
from perflint.index.every_rank import EveryRank, every_rank
from perflint.index.file import FileIndex, module_parts
from perflint.index.flow import Flow
from perflint.index.forwards import Forwards
from perflint.index.gradients import Gradients
from perflint.index.imports import Imports
from perflint.index.kinds import (
    DATASET,
    EITHER,
    FUNCTION_TAG,
    ITERABLE,
    LOADER,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    function,
    instance,
    join,
    layer,
)
from perflint.index.live import Live
from perflint.index.mentions import Mentions
from perflint.index.names import dotted
from perflint.index.no_grad import NoGrad
from perflint.index.ranks import Ranks
from perflint.index.reads import Reads
from perflint.index.scopes import Class, Scope
from perflint.index.settled import Known, Settled
from perflint.index.switches import Switches
from perflint.index.tables import Tables
from perflint.index.training_calls import TrainingCalls
from perflint.index.tree import walk
from perflint.projects import common_root, relative_parts
from perflint.settings import DeclaredCall
from perflint.source import Source

Declared = TypeVar("Declared")
Worked = Mapping[str, object]
"""What was worked out of a whole project, by the name of the property that has it."""

_WHOLE = ("worker_defaults", "saves_on_every_rank", "amp_files", "open_widths")
_MAX_DEPTH = 5
"""How far names, base classes and calls are followed."""


class Project:
    """The index of one run.

    Args:
        sources: every readable file by path.  They are parsed when something asks for what is in them; those that
            do not parse are then listed in ``broken`` with the error, and hold nothing.
        loaders: the functions that make loaders, by qualified name, as the configuration declares them.
    """

    def __init__(self, sources: Mapping[str, Source], loaders: Mapping[str, DeclaredCall] | None = None) -> None:
        self.loaders = loaders or {}
        self.files: dict[str, FileIndex] = {}
        self.broken: dict[str, Exception] = {}
        self._modules: dict[tuple[str, ...], FileIndex] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[FileIndex, Scope | Class] | None] = {}
        self._classes: dict[str, tuple[FileIndex, Class] | None] = {}
        self._functions: dict[str, tuple[FileIndex, Scope]] = {}
        self._results: dict[tuple[Scope, tuple[tuple[str, Kind], ...]], Kind | None] = {}
        self._attributes: dict[tuple[str, str], Kind | None] = {}
        self._optimizes: dict[FileIndex, bool] = {}
        self._stars: dict[tuple[FileIndex, str], FileIndex | None] = {}
        self._known: dict[Scope, dict[str, ast.expr]] = {}
        self._defined: dict[Scope, dict[str, ast.expr]] = {}
        self._registered: dict[str, tuple[FileIndex, Class] | None] = {}
        self._depth = 0
        self.parsed: Claims | None = None
        """Where processes share the project: the files that this one has parsed."""
        self.stepped: Claims | None = None
        """Where processes share the project: the files in which steps have been found so far."""
        for path, parts in relative_parts(sources, common_root(sources)).items():
            self._add(sources[path], module_parts(parts))
        self.mentions = Mentions(self.files.values())

    def _add(self, source: Source, parts: tuple[str, ...]) -> None:
        index = self.files[source.path] = FileIndex(source, parts, self)
        self._modules[parts[:-1] if parts[-1] == "__init__" else parts] = index

    def close(self) -> None:
        """Let go of everything.  The parts of an index point at one another, so nothing else would free them before
        the garbage collector runs, and that is paused while a project is checked."""
        for file in self.files.values():
            if not file.is_parsed:
                continue
            for scope in file.scopes.scopes:
                scope.statements.clear()
                scope.functions.clear()
            for owner in file.scopes.classes.values():
                owner.methods.clear()
                owner.attributes.clear()
            file.points.clear()
            file.tree.body.clear()
        for table in (
            self.files,
            self._modules,
            self._found,
            self._classes,
            self._results,
            self._attributes,
            self._functions,
        ):
            table.clear()
        for cache in (self._optimizes, self._defined, self._known, self._stars, self._registered):
            cache.clear()
        for name, part in vars(type(self)).items():
            if isinstance(part, cached_property):  # what it holds points back at the project
                vars(self).pop(name, None)

    # -- names across files ------------------------------------------------------------------------------------

    def find(self, name: str, origin: FileIndex, depth: int = 0) -> tuple[FileIndex, Scope | Class] | None:
        """The function or class a qualified name stands for, seen from a file (its directory and those above)."""
        key = (name, origin.parts if origin.names.stars else origin.parts[:-1])
        if key not in self._found:
            self._found[key] = None  # a cycle of re-exports finds nothing
            self._found[key] = self._find(name, origin, depth)
        return self._found[key]

    def _find(self, name: str, origin: FileIndex, depth: int) -> tuple[FileIndex, Scope | Class] | None:
        if depth > _MAX_DEPTH or not name:
            return None
        parts = tuple(part for part in name.split(".") if part)
        directory = origin.parts[:-1]
        for length in range(len(directory), -1, -1):
            for split in range(len(parts) - 1, 0, -1):
                file = self._modules.get((*directory[:length], *parts[:split]))
                if file is not None:
                    found = self._member(file, parts[split:], depth)
                    if found is not None:
                        return found
        return self._starred(origin, parts, depth) if not depth and not origin.names.is_bound(parts[0]) else None

    def _starred(self, file: FileIndex, rest: tuple[str, ...], depth: int) -> tuple[FileIndex, Scope | Class] | None:
        """What a name stands for that a file has from one of its ``from x import *``."""
        source = self._star_source(file, rest[0])
        return self._member(source, rest, depth + 1) if source is not None and depth <= _MAX_DEPTH else None

    def _star_source(self, file: FileIndex, name: str) -> FileIndex | None:
        """The file from which one of a file's star imports brings in a name."""
        if not file.may_have_stars:
            return None
        key = file, name
        if key not in self._stars:
            self._stars[key] = None  # a cycle of star imports adds nothing
            self._stars[key] = self._find_star_source(file, name)
        return self._stars[key]

    def _find_star_source(self, file: FileIndex, name: str) -> FileIndex | None:
        for base in file.names.stars:
            source = self._module(base, file)
            if source is not None and source is not file:
                binds = name in source.words and source.names.is_bound(name)
                found = source if binds else self._star_source(source, name)
                if found is not None:
                    return found
        return None

    def declared(
        self, table: Mapping[str, Declared], file: FileIndex, scope: Scope, name: str, env: Env
    ) -> Declared | None:
        """What the configuration says of the function that a dotted name calls, by its name or where it is defined."""
        last = name.rpartition(".")[2]
        if not table or all(known.rpartition(".")[2] != last for known in table):
            return None
        qualified = file.names.resolve(name)
        if qualified in table:
            return table[qualified]
        made = self._made_by(file, scope, name)
        if made in table:
            return table[made]
        found: tuple[FileIndex, Scope | Class] | None = self.callee(file, scope, name, env)
        found = found or self.find(qualified, file)
        if found is None:
            return None
        defined = f"{found[0].module}.{found[1].qualname}"
        return next((call for known, call in table.items() if f".{known}".endswith(f".{defined}")), None)

    def place_of(self, file: FileIndex, scope: Scope, name: str, parameter: str) -> int | None:
        """The place of a parameter in calls of a function by this dotted name, None where its code is not known."""
        found = self.callee(file, scope, name, {})
        return position_of(found[1], parameter) if found is not None else None

    def _made_by(self, file: FileIndex, scope: Scope, name: str) -> str:
        """``lib.Meter.update`` for ``meter.update`` where ``meter`` is bound once, to ``lib.Meter(...)``."""
        receiver, _, method = name.rpartition(".")
        value = self.definitions(file, scope).get(receiver)
        if value is None and receiver.startswith("self.") and scope.owner is not None:
            assigned = scope.owner.attributes.get(receiver[5:], ())
            value = assigned[0][0] if len(assigned) == 1 else None
        made = dotted(value.func) if isinstance(value, ast.Call) else None
        return f"{file.names.resolve(made)}.{method}" if made else ""

    @cached_property
    def worker_defaults(self) -> Mapping[str, Mapping[tuple[int, int], loader_facts.WorkerDefault]]:
        """Places that leave a training loader elsewhere without workers, by path and offsets."""
        return loader_facts.worker_defaults(self)

    def module_named(self, name: str, origin: FileIndex) -> FileIndex | None:
        """The file of a module by its qualified name, seen from a file."""
        return self._module(name, origin) if name else None

    def _module(self, name: str, origin: FileIndex) -> FileIndex | None:
        parts, directory = tuple(name.split(".")), origin.parts[:-1]
        files = (self._modules.get((*directory[:length], *parts)) for length in range(len(directory), -1, -1))
        return next((file for file in files if file is not None), None)

    def _member(self, file: FileIndex, rest: tuple[str, ...], depth: int) -> tuple[FileIndex, Scope | Class] | None:
        first = rest[0]
        if first not in file.words:
            return self._starred(file, rest, depth)
        owner = file.scopes.classes.get(first)
        if owner is not None:
            if len(rest) == 1:
                return file, owner
            method = self.method_of(file, owner, rest[1])
            return method if len(rest) == 2 else None
        if first in file.scopes.module.functions and len(rest) == 1:
            return file, file.scopes.module.functions[first]
        if file.names.is_bound(first):
            target = file.names.resolve(".".join(rest))
            if target != ".".join((file.module, *rest)):
                return self.find(target, file, depth + 1)
            return None
        return self._starred(file, rest, depth)

    def function_named(self, qualified: str) -> tuple[FileIndex, Scope] | None:
        """A project function by the qualified name that ``Kind.type`` holds."""
        return self._functions.get(qualified)

    def functions_of_kind(self, kind: Kind) -> list[tuple[FileIndex, Scope]]:
        """The project functions that a value may be."""
        parts = kind.type.split(EITHER) if kind.tag == FUNCTION_TAG else []
        return [place for place in map(self.function_named, parts) if place is not None]

    def function_value(self, file: FileIndex, scope: Scope | None, name: str) -> Kind | None:
        """The kind of a name that stands for a project function (not for its result)."""
        enclosing = scope
        while enclosing is not None:
            if name in enclosing.functions:
                return self.as_value(file, enclosing.functions[name])
            enclosing = enclosing.parent
        if not file.names.is_bound(name.partition(".")[0]):
            return None
        found = self.find(file.names.resolve(name), file)
        return self.as_value(found[0], found[1]) if found and isinstance(found[1], Scope) else None

    def as_value(self, file: FileIndex, scope: Scope) -> Kind:
        """A function of the project as a value."""
        qualified = f"{file.module}:{scope.qualname}"
        self._functions[qualified] = (file, scope)
        return function(qualified)

    def lasting_kind(self, file: FileIndex, scope: Scope, node: ast.expr) -> Kind:
        """The kind of an object that an expression stands for wherever it is asked: a class's instance, a function."""
        if isinstance(node, ast.Name) and node.id == "self" and scope.owner is not None:
            return self.kind_of_instance(file, scope.owner)
        name = dotted(node)
        if name is None:
            return Evaluator(file, self._lasting_env(file, scope)).kind(node)
        known = self.function_value(file, scope, name) or self._receiver(file, scope, name, {})
        return known if known.tag != UNKNOWN_TAG else self._bound_method(file, scope, name)

    def _bound_method(self, file: FileIndex, scope: Scope, name: str) -> Kind:
        """A method of the object that a scope works on, as a value: ``self.train_step``."""
        first, _, method = name.partition(".")
        found = self.method_of(file, scope.owner, method) if first == "self" and scope.owner is not None else None
        return self.as_value(*found) if found is not None else UNKNOWN

    def _lasting_env(self, file: FileIndex, scope: Scope) -> Env:
        """What every expression of a scope can name: its nested functions, and the object whose method it is."""
        env = self.functions_of(file, scope)
        return env if scope.owner is None else {**env, "self": self.kind_of_instance(file, scope.owner)}

    def functions_of(self, file: FileIndex, scope: Scope) -> dict[str, Kind]:
        """The nested functions that a scope sees, as values."""
        env: dict[str, Kind] = {}
        enclosing: Scope | None = scope
        while enclosing is not None and enclosing is not file.scopes.module:
            for name, inner in enclosing.functions.items():
                env.setdefault(name, self.as_value(file, inner))
            enclosing = enclosing.parent
        return env

    @cached_property
    def dispatch(self) -> Dispatch:
        """Which functions a call may reach."""
        return Dispatch(self)

    @cached_property
    def imports(self) -> Imports:
        """Which files bring in which."""
        return Imports(self.files.values())

    @cached_property
    def no_grad(self) -> NoGrad:
        """Where gradients are switched off."""
        return NoGrad(self)

    @cached_property
    def devices(self) -> Devices:
        """Which files run on the CPU."""
        return Devices(self)

    @cached_property
    def tables(self) -> Tables:
        """What is looked up by a literal name."""
        return Tables(self)

    @cached_property
    def forwards(self) -> Forwards:
        """What layers give beside tensors."""
        return Forwards(self)

    @cached_property
    def gradients(self) -> Gradients:
        """Which code asks for gradients."""
        return Gradients(self)

    @cached_property
    def callers(self) -> Callers:
        """Who calls a function, and what it is handed."""
        return Callers(self)

    def registered(self, name: str, registry: str | None = None) -> Kind | None:
        """An instance of the class that a registry (any, for None) knows by a name."""
        if name not in self._registered:
            files = self.mentions.of(name) if name.isidentifier() else self.files.values()
            self._registered[name] = registries.registered(name, files)
        found = self._registered[name]
        if found and registry and not registries.belongs(found[1], registry):
            return None
        return self.kind_of_instance(*found) if found else None

    @cached_property
    def reads(self) -> Reads:
        """Which calls read the device."""
        return Reads(self)

    def class_named(self, qualified: str) -> tuple[FileIndex, Class] | None:
        """A project class by the qualified name that ``Kind.type`` holds."""
        return self._classes.get(qualified)

    def method(self, owner: str, name: str) -> tuple[FileIndex, Scope] | None:
        """A method of a project class or of its bases (of the first that has it, for one of several classes)."""
        for part in owner.split(EITHER):
            found = self.class_named(part)
            method = self.method_of(found[0], found[1], name) if found else None
            if method is not None:
                return method
        return None

    def method_of(self, file: FileIndex, owner: Class, name: str, depth: int = 0) -> tuple[FileIndex, Scope] | None:
        """A method of a class of a file, or of its bases."""
        if name in owner.methods:
            return file, owner.methods[name]
        if depth > _MAX_DEPTH:
            return None
        for base in owner.bases:
            found = self.find(base, file)
            if found and isinstance(found[1], Class) and found[1] is not owner:
                method = self.method_of(found[0], found[1], name, depth + 1)
                if method:
                    return method
        return None

    def kind_of_instance(self, file: FileIndex, owner: Class) -> Kind:
        """What constructing a project class gives."""
        qualified = f"{file.module}.{owner.qualname}"
        self._classes.setdefault(qualified, (file, owner))
        family = self._family(file, owner)
        if family == "loader":
            return LOADER
        if family in ("dataset", "iterable"):
            return ITERABLE if family == "iterable" else DATASET
        return layer(qualified) if family == "layer" else instance(qualified)

    def _family(self, file: FileIndex, owner: Class, depth: int = 0) -> str:
        for base in owner.bases:
            if base in ("paddle.nn.Layer", "paddle.nn.Sequential") or base.endswith((".Layer", "nn.Layer")):
                return "layer"
            if base == "paddle.io.DataLoader":
                return "loader"
            if base.startswith("paddle.io.") or base.endswith("Dataset"):
                return "iterable" if base.endswith("IterableDataset") else "dataset"
            found = self.find(base, file) if depth < _MAX_DEPTH else None
            if found and isinstance(found[1], Class) and found[1] is not owner:
                family = self._family(found[0], found[1], depth + 1)
                if family != "object":
                    return family
        return "layer" if "forward" in owner.methods and owner.bases else "object"

    def is_callback(self, file: FileIndex, owner: Class, depth: int = 0) -> bool:
        """Whether a class is a ``paddle.callbacks.Callback``, directly or through classes of the project."""
        for base in owner.bases:
            if base.startswith("paddle.callbacks."):
                return True
            found = self.find(base, file) if depth < _MAX_DEPTH else None
            if found and isinstance(found[1], Class) and self.is_callback(found[0], found[1], depth + 1):
                return True
        return False

    # -- values across functions -------------------------------------------------------------------------------

    def call(self, name: str, origin: FileIndex, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of calling a project function or class by qualified name; None when it is neither."""
        if name in self.loaders:
            return LOADER
        found = self.find(name, origin)
        if found is None:
            return None
        file, target = found
        if self.loaders and self._is_declared_loader(file, target):
            return LOADER
        if isinstance(target, Class):
            return self.kind_of_instance(file, target)
        return self.result(file, target, "", arguments, keywords)

    def _is_declared_loader(self, file: FileIndex, target: Scope | Class) -> bool:
        defined = f".{file.module}.{target.qualname}"
        return any(f".{name}".endswith(defined) for name in self.loaders)

    def result(
        self, file: FileIndex, scope: Scope, owner: str, arguments: list[Kind], keywords: dict[str, Kind]
    ) -> Kind | None:
        """What a function returns when it is called with these kinds."""
        env = parameter_env(scope, arguments, keywords)
        key = (scope, tuple(sorted(env.items(), key=lambda item: item[0])))
        if key in self._results:
            return self._results[key]
        if self._depth >= _MAX_DEPTH or len(scope.statements) > 200:
            return UNKNOWN
        self._results[key] = UNKNOWN
        self._depth += 1
        try:
            flow = Flow(scope, file, self.base_env(file, scope, env, owner), guess_losses=False).run()
        finally:
            self._depth -= 1
        self._results[key] = flow.result or UNKNOWN
        return self._results[key]

    def base_env(self, file: FileIndex, scope: Scope, parameters: Env, owner: str = "") -> dict[str, Kind]:
        """The kinds a function starts with: globals, the enclosing function's names, ``self``, parameters."""
        env = dict(file.module_env) if scope is not file.scopes.module else {}
        if scope.owner is not None:
            kind = self.kind_of_instance(file, scope.owner)
            if owner and owner in self._classes:
                kind = Kind(kind.tag, type=owner)
            env["self"] = kind
        for name in scope.parameters:
            env.pop(name, None)
        for name, inner in scope.functions.items():
            env.setdefault(name, self.as_value(file, inner))
        env.update(parameters)
        return env

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of ``self.name`` from the assignments in the class and its bases."""
        key = (owner, name)
        if key not in self._attributes:
            self._attributes[key] = None
            found = self.class_named(owner)
            if found is not None:
                self._attributes[key] = self._attribute(found[0], found[1], name, 0) or self._of_subclasses(
                    found[1], name
                )
        return self._attributes[key]

    def _with_locals(self, file: FileIndex, scope: Scope, value: ast.expr, env: Env) -> Env:
        """``env`` with the locals that an attribute is set to: ``model = Net()``, ``self.model = Parallel(model)``."""
        defined = self.own_definitions(scope)
        names = {item.id for item in walk(value) if isinstance(item, ast.Name)} & defined.keys()
        evaluator = Evaluator(file, env)
        made = {name: evaluator.kind(defined[name]) for name in names if isinstance(defined[name], ast.Call)}
        return {**env, **made} if made else env

    def _of_subclasses(self, owner: Class, name: str) -> Kind | None:
        """What the subclasses set that a base class reads."""
        result: Kind | None = None
        for file, child in self.dispatch.descendants(owner)[:8]:
            if name in child.attributes:
                kind = self._attribute(file, child, name, _MAX_DEPTH)
                result = kind if result is None or kind is None else join(result, kind)
        return result

    def _attribute(self, file: FileIndex, owner: Class, name: str, depth: int) -> Kind | None:
        assigned = owner.attributes.get(name)
        if assigned:
            result: Kind | None = None
            for value, scope in assigned[:8]:
                if isinstance(value, ast.Constant) and value.value is None:
                    continue
                handed = self.callers.handed(scope) if isinstance(value, ast.Name) else {}
                env = self._with_locals(file, scope, value, self.base_env(file, scope, handed))
                kind = Evaluator(file, env).kind(value)
                result = kind if result is None else join(result, kind)
            return result
        if depth > _MAX_DEPTH:
            return None
        for base in owner.bases:
            found = self.find(base, file)
            if found and isinstance(found[1], Class) and found[1] is not owner:
                inherited = self._attribute(found[0], found[1], name, depth + 1)
                if inherited is not None:
                    return inherited
        return None

    # -- training ----------------------------------------------------------------------------------------------

    @cached_property
    def training_calls(self) -> TrainingCalls:
        """Which calls make a training step."""
        return TrainingCalls(self)

    def trains(self, file: FileIndex, scope: Scope) -> bool:
        """Whether one call of a function makes one training step."""
        return self.training_calls.trains(file, scope)

    def call_trains(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        """Whether a call makes one training step, itself or in a project function that it reaches."""
        return self.training_calls.call_trains(file, scope, call)

    def optimizes(self, file: FileIndex) -> bool:
        """Whether a file takes optimizer steps, itself or through functions it calls."""
        if file not in self._optimizes:
            self._optimizes[file] = any(
                training.takes_optimizer_step(call) or self._calls_optimizer(file, scope, call)
                for scope in file.scopes.scopes
                for statement in scope.statements
                for call in statement.calls
            )
        return self._optimizes[file]

    def _calls_optimizer(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        name = dotted(call.func)
        if name is None or name.rpartition(".")[2] not in self.optimizing_names:
            return False
        found = self.callee(file, scope, name, {})
        return found is not None and found[1] in self._optimizing

    @cached_property
    def optimizing_names(self) -> frozenset[str]:
        """Names of the functions that take an optimizer step themselves."""
        return frozenset(scope.name for scope in self._optimizing)

    @cached_property
    def _optimizing(self) -> frozenset[Scope]:
        return frozenset().union(*(file.optimizing for file in self._may_optimize))

    @property
    def _may_optimize(self) -> Iterator[FileIndex]:
        named = {*self.mentions.calls("step"), *self.mentions.calls("minimize")}
        return (file for file in self.files.values() if file in named or file.scales)

    @cached_property
    def live(self) -> Live:
        """Which files can hold a step loop, and which functions may train."""
        return Live(self)

    def callee(self, file: FileIndex, scope: Scope, name: str, env: Env) -> tuple[FileIndex, Scope] | None:
        """The project function that a dotted call reaches, None when it is not known."""
        first, _, rest = name.partition(".")
        enclosing: Scope | None = scope
        while enclosing is not None:
            if name in enclosing.functions:
                return file, enclosing.functions[name]
            enclosing = enclosing.parent
        if first == "self" and rest and "." not in rest and scope.owner is not None:
            method = self.method_of(file, scope.owner, rest)
            if method is not None or rest in scope.owner.attributes:
                return method or self._held_function(file, scope.owner, rest)
            return self._in_a_subclass(scope.owner, rest)
        named = file.names.is_bound(first) or file.names.stars
        found = self.find(file.names.resolve(name), file) if named else None
        if found and isinstance(found[1], Scope):
            return found[0], found[1]
        receiver, _, called = name.rpartition(".")
        if receiver:
            kind = self._receiver(file, scope, receiver, env)
            if kind.type:
                return self.method(kind.type, called)
        if not receiver and name in env and env[name].type:
            return self.method(env[name].type, "__call__")
        return None

    def _held_function(self, file: FileIndex, owner: Class, name: str) -> tuple[FileIndex, Scope] | None:
        """The function or callable object that an attribute holds."""
        kind = self.attribute(self.kind_of_instance(file, owner).type, name)
        if kind is None or not kind.type:
            return None
        return self.function_named(kind.type) if kind.tag == FUNCTION_TAG else self.method(kind.type, "__call__")

    def own_definitions(self, scope: Scope) -> Mapping[str, ast.expr]:
        """Names that a scope binds once, with the expression."""
        return self._definitions(scope)

    def _in_a_subclass(self, owner: Class, name: str) -> tuple[FileIndex, Scope] | None:
        """A hook that only subclasses have."""
        for file, child in self.dispatch.descendants(owner):
            if name in child.methods:
                return file, child.methods[name]
        return None

    def _receiver(self, file: FileIndex, scope: Scope, name: str, env: Env) -> Kind:
        """The kind of the object a method is called on; without an environment, from its one assignment."""
        if env:
            return Evaluator(file, env).kind(ast.parse(name, mode="eval").body)
        if name.startswith("self.") and name.count(".") == 1 and scope.owner is not None:
            return self.attribute(self.kind_of_instance(file, scope.owner).type, name[5:]) or UNKNOWN
        enclosing: Scope | None = scope
        while enclosing is not None:
            value = self._definitions(enclosing).get(name)
            if value is not None:
                made = isinstance(value, ast.Call)
                return Evaluator(file, {}).kind(value) if made else self._held(file, scope, value)
            enclosing = enclosing.parent
        return UNKNOWN

    def _held(self, file: FileIndex, scope: Scope, value: ast.expr) -> Kind:
        """The function that a name stands for: ``step = self._step``, ``step = lambda batch: train_step(batch)``."""
        if not isinstance(value, (ast.Lambda, ast.IfExp, ast.Name, ast.Attribute)):
            return UNKNOWN
        kind = Evaluator(file, self._lasting_env(file, scope)).kind(value)
        return kind if kind.tag == FUNCTION_TAG else UNKNOWN

    def definitions(self, file: FileIndex, scope: Scope) -> dict[str, ast.expr]:
        """Names that are bound once, with the expression: those of a scope, and the module's where it hides none."""
        if scope not in self._known:
            self._known[scope] = self._all_definitions(file, scope)
        return self._known[scope]

    def guards(self, file: FileIndex, scope: Scope, handed: Mapping[str, ast.expr] | None = None) -> Known:
        """What the names in the tests of a scope stand for: its definitions, what it is handed, what is settled."""
        own = self.definitions(file, scope)
        return Known({**own, **handed} if handed else own, self.settled, file, scope)

    def _all_definitions(self, file: FileIndex, scope: Scope) -> dict[str, ast.expr]:
        own = {**self._answers(file, scope), **self._definitions(scope)}
        module = file.scopes.module
        if scope is module:
            return own
        bound = {name for statement in scope.statements for name in bound_by(statement.node)} | set(scope.parameters)
        return {**{name: value for name, value in self._definitions(module).items() if name not in bound}, **own}

    def _answers(self, file: FileIndex, scope: Scope) -> dict[str, ast.expr]:
        """What the small functions and properties answer that a scope's tests ask: ``if self.is_due():``."""
        answers: dict[str, ast.expr] = {}
        for statement in scope.statements:
            if isinstance(statement.node, (ast.If, ast.While)):
                for item in walk(statement.node.test):
                    name = dotted(item.func) if isinstance(item, ast.Call) else None
                    if name is None and isinstance(item, ast.Attribute) and scope.owner is not None:
                        name = dotted(item)
                        name = name if name and name[:5] == "self." and name[5:] in scope.owner.methods else None
                    found = self.callee(file, scope, name, {}) if name else None
                    answer = _only_return(found[1]) if found else None
                    if answer is not None:
                        answers[f"{name}()" if isinstance(item, ast.Call) else str(name)] = answer
        return answers

    def _definitions(self, scope: Scope) -> dict[str, ast.expr]:
        if scope not in self._defined:
            self._defined[scope] = definitions_of(scope)
        return self._defined[scope]

    # -- AMP ---------------------------------------------------------------------------------------------------

    @cached_property
    def switches(self) -> Switches:
        """What is on by default."""
        return Switches(self)

    @cached_property
    def settled(self) -> Settled:
        """Which parameters and attributes nobody changes."""
        return Settled(self)

    @cached_property
    def ranks(self) -> Ranks:
        """Which tests keep a place to one rank."""
        return Ranks(self)

    @cached_property
    def saves_on_every_rank(self) -> Mapping[str, Mapping[int, EveryRank]]:
        """The checkpoints that every process writes, by path and offset."""
        return every_rank(self)

    @cached_property
    def amp_files(self) -> Mapping[str, Confidence]:
        """The paths of the files whose layers are trained under AMP, and how sure that is."""
        return {file.source.path: confidence for file, confidence in amp.driven(self).items()}

    @cached_property
    def open_widths(self) -> frozenset[str]:
        """The paths of the files that can hold a layer of a misaligned width under AMP."""
        return open_widths.files(self)

    # -- other processes ---------------------------------------------------------------------------------------

    @property
    def worked(self) -> Worked:
        """What was worked out of the whole project so far and can be sent to another process."""
        return {name: vars(self)[name] for name in _WHOLE if name in vars(self)}

    def worked_out(self, worked: Worked) -> None:
        """Take what another process has worked out of the same project."""
        vars(self).update(worked)


def _only_return(scope: Scope) -> ast.expr | None:
    """The expression that a function of one statement returns."""
    node = scope.statements[-1].node if scope.statements else None
    if len(scope.statements) > 2 or not isinstance(node, ast.Return):
        return None
    docstring = scope.statements[0].node
    if len(scope.statements) == 2 and not (
        isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    ):
        return None
    return node.value
