"""All files of a run as one project: who calls whom, and which statements run at each training step."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from perflint.index import amp, guards, layers, training
from perflint.index.evaluate import Env, Evaluator
from perflint.index.flow import Flow, is_loss_name, with_comprehensions
from perflint.index.kinds import (
    DATASET,
    GUESS,
    ITERABLE,
    LAYER_TAG,
    LOADER,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    instance,
    join,
    layer,
)
from perflint.index.names import Names, dotted
from perflint.index.scopes import Class, FileScopes, Loop, Place, Scope, Statement
from perflint.source import Source

_MAX_DEPTH = 5
_MAX_VISITS = 8
"""How often a function is looked at again because another call hands it other kinds of values."""

_QUIET_PARTS = re.compile(r"^(tests?|.*_tests|test_.*|.*_test|alignment|reprod\w*|conftest|unittests?|ut|testing)$")
_OFFLINE_PARTS = re.compile(
    r"^(deploy\w*|serving|inference|.*_?infer|infer_.*|.*_?predict|predict_.*|.*export.*|(.*_)?eval(uate|uation)?|eval_.*)$",
    re.IGNORECASE,
)
_OTHER_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "mxnet", "jax", "mindspore", "oneflow", "keras", "pytorch_lightning"}
)
_QUIET_FUNCTIONS = re.compile(r"(^|_)(bench\w*|profil\w*|debug\w*|test)($|_)", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """What makes a statement run at each training step.

    ``path``/``line``: the step loop (line 0: a step function that is known by its name alone).  ``via``: the calls
    that lead from the loop to the statement, outermost first, as (path, line).  ``function``: the step function's
    name where ``line`` is 0.
    """

    path: str
    line: int
    via: tuple[tuple[str, int], ...] = ()
    function: str = ""


@dataclass(eq=False)
class Point:
    """What is known at one statement: its step (None off the hot path) and the kinds of names before it."""

    statement: Statement
    scope: Scope
    step: Step | None
    env: Env
    loop: Loop | None
    file: FileIndex

    @cached_property
    def full_env(self) -> Env:
        """``env`` with the targets of the statement's comprehensions."""
        return with_comprehensions(self.statement.node, self.env, self.file)


@dataclass(eq=False)
class FileIndex:
    """One parsed file of the project; also the ``Resolver`` of its expressions."""

    source: Source
    tree: ast.Module
    parts: tuple[str, ...]
    project: Project
    scopes: FileScopes = field(init=False)
    points: dict[ast.stmt, Point] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_package = self.parts[-1] == "__init__"
        module = ".".join(self.parts[:-1] if is_package else self.parts)
        self.module = module
        self.names = Names(module, is_package)
        self.scopes = FileScopes(self.tree, self.names)

    @cached_property
    def is_quiet(self) -> bool:
        """Test code: nothing is reported there."""
        return any(_QUIET_PARTS.match(part) for part in self.parts)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every name that the file reads or binds (attributes are no names)."""
        found = {
            name
            for node in ast.walk(self.tree)
            for name in (getattr(node, "id", None), getattr(node, "arg", None), getattr(node, "name", None))
            if isinstance(name, str)
        }
        return self.names.bound | found

    @cached_property
    def is_foreign(self) -> bool:
        """Code for another framework: it imports one, and nothing of Paddle's."""
        packages = self.names.packages
        return bool(packages & _OTHER_FRAMEWORKS) and not any("paddle" in package for package in packages)

    @cached_property
    def knows_paddle(self) -> bool:
        """Whether the file, or a file of the project that it imports from, imports Paddle or something built on it."""
        if any("paddle" in package for package in self.names.packages):
            return True
        imported = (self.project.find(target, self) for target in self.names.targets)
        return any(found and any("paddle" in package for package in found[0].names.packages) for found in imported)

    @cached_property
    def misaligned(self) -> Mapping[int, layers.Misaligned]:
        """Layers whose width Tensor Cores cannot fill, by the offset of their call."""
        return layers.misaligned(self)

    @cached_property
    def is_static(self) -> bool:
        """Whether the file builds static graphs."""
        return bool(
            re.search(r"enable_static\(|program_guard\(|static\.Executor\(|fluid\.Executor\(", self.source.text)
        )

    @cached_property
    def is_offline(self) -> bool:
        """Code that only predicts, exports or serves: its speed is not the ips of a training run."""
        return any(_OFFLINE_PARTS.search(part) for part in self.parts) and ".backward(" not in self.source.text

    @cached_property
    def runs_on_cpu(self) -> bool:
        """Whether the file itself pins the run to the CPU, where a host read costs nothing."""
        devices = [
            call.args[0].value
            for scope in self.scopes.scopes
            for statement in scope.statements
            for call in statement.calls
            if call.args and isinstance(call.args[0], ast.Constant) and (dotted(call.func) or "").endswith("set_device")
        ]
        return bool(devices) and all(device == "cpu" for device in devices)

    @cached_property
    def module_env(self) -> Env:
        """The kinds of the module's globals at its end."""
        self.module_env = {}  # a global that needs itself is unknown while it is worked out
        return Flow(self.scopes.module, self, {}, guess_losses=False).run().final

    def resolve(self, name: str) -> str:
        """The qualified name of a local dotted name."""
        return self.names.resolve(name)

    def call_project(self, name: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a project function or class by qualified name."""
        return self.project.call(name, self, arguments, keywords)

    def call_method(self, owner: str, method: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a method of a project class."""
        found = self.project.method(owner, method)
        return self.project.result(found[0], found[1], owner, arguments, keywords) if found else None

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of an attribute of a project class, from the assignments to ``self.name``."""
        return self.project.attribute(owner, name)


class Project:
    """The index of one run.

    Args:
        sources: every readable file by path.  Files that do not parse are left out and listed in ``broken``
            with the error.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.files: dict[str, FileIndex] = {}
        self.broken: dict[str, Exception] = {}
        self._modules: dict[tuple[str, ...], FileIndex] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[FileIndex, Scope | Class] | None] = {}
        self._classes: dict[str, tuple[FileIndex, Class] | None] = {}
        self._results: dict[tuple[Scope, tuple[tuple[str, Kind], ...]], Kind | None] = {}
        self._attributes: dict[tuple[str, str], Kind | None] = {}
        self._trains: dict[Scope, bool] = {}
        self._optimizes: dict[FileIndex, bool] = {}
        self._stars: dict[FileIndex, dict[str, FileIndex]] = {}
        self._defined: dict[Scope, dict[str, ast.expr]] = {}
        self._depth = 0
        root = _common_root(list(sources))
        for path, source in sources.items():
            self._add(path, source, root)

    def _add(self, path: str, source: Source, root: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a stray "\\d" in scanned code is none of our users' business
                tree = ast.parse(source.text)
            parts = _parts(path, root)
            index = FileIndex(source, tree, parts, self)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.broken[path] = error
            return
        self.files[path] = index
        self._modules[parts[:-1] if parts[-1] == "__init__" else parts] = index

    def close(self) -> None:
        """Let go of everything.  The parts of an index point at one another, so nothing else would free them before
        the garbage collector runs, and that is paused while a project is checked."""
        for file in self.files.values():
            for scope in file.scopes.scopes:
                scope.statements.clear()
                scope.functions.clear()
            for owner in file.scopes.classes.values():
                owner.methods.clear()
                owner.attributes.clear()
            file.points.clear()
            file.tree.body.clear()
        for table in (self.files, self._modules, self._found, self._classes, self._results, self._attributes):
            table.clear()
        for cache in (self._trains, self._optimizes, self._defined, self._stars):
            cache.clear()

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
        source = self._star_names(file).get(rest[0])
        return self._member(source, rest, depth + 1) if source is not None and depth <= _MAX_DEPTH else None

    def _star_names(self, file: FileIndex) -> Mapping[str, FileIndex]:
        """The names that a file's star imports bring in, each with the file that has it; worked out once a file."""
        known = self._stars.get(file)
        if known is None:
            known = self._stars[file] = {}  # a cycle of star imports adds nothing
            for base in file.names.stars:
                source = self._module(base, file)
                if source is not None and source is not file:
                    for name in source.names.bound:
                        known.setdefault(name, source)
                    for name, origin in self._star_names(source).items():
                        known.setdefault(name, origin)
        return known

    def _module(self, name: str, origin: FileIndex) -> FileIndex | None:
        parts, directory = tuple(name.split(".")), origin.parts[:-1]
        files = (self._modules.get((*directory[:length], *parts)) for length in range(len(directory), -1, -1))
        return next((file for file in files if file is not None), None)

    def _member(self, file: FileIndex, rest: tuple[str, ...], depth: int) -> tuple[FileIndex, Scope | Class] | None:
        first = rest[0]
        owner = file.scopes.classes.get(first)
        if owner is not None:
            if len(rest) == 1:
                return file, owner
            method = self._method_of(file, owner, rest[1])
            return method if len(rest) == 2 else None
        if first in file.scopes.module.functions and len(rest) == 1:
            return file, file.scopes.module.functions[first]
        if file.names.is_bound(first):
            target = file.names.resolve(".".join(rest))
            if target != ".".join((file.module, *rest)):
                return self.find(target, file, depth + 1)
            return None
        return self._starred(file, rest, depth)

    def class_named(self, qualified: str) -> tuple[FileIndex, Class] | None:
        """A project class by the qualified name that ``Kind.type`` holds."""
        return self._classes.get(qualified)

    def method(self, owner: str, name: str) -> tuple[FileIndex, Scope] | None:
        """A method of a project class or of its bases."""
        found = self.class_named(owner)
        return self._method_of(found[0], found[1], name) if found else None

    def _method_of(self, file: FileIndex, owner: Class, name: str, depth: int = 0) -> tuple[FileIndex, Scope] | None:
        if name in owner.methods:
            return file, owner.methods[name]
        if depth > _MAX_DEPTH:
            return None
        for base in owner.bases:
            found = self.find(base, file)
            if found and isinstance(found[1], Class) and found[1] is not owner:
                method = self._method_of(found[0], found[1], name, depth + 1)
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

    # -- values across functions -------------------------------------------------------------------------------

    def call(self, name: str, origin: FileIndex, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of calling a project function or class by qualified name; None when it is neither."""
        found = self.find(name, origin)
        if found is None:
            return None
        file, target = found
        if isinstance(target, Class):
            return self.kind_of_instance(file, target)
        return self.result(file, target, "", arguments, keywords)

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
        env.update(parameters)
        return env

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of ``self.name`` from the assignments in the class and its bases."""
        key = (owner, name)
        if key not in self._attributes:
            self._attributes[key] = None
            found = self.class_named(owner)
            if found is not None:
                self._attributes[key] = self._attribute(found[0], found[1], name, 0)
        return self._attributes[key]

    def _attribute(self, file: FileIndex, owner: Class, name: str, depth: int) -> Kind | None:
        assigned = owner.attributes.get(name)
        if assigned:
            result: Kind | None = None
            for value, scope in assigned[:8]:
                if isinstance(value, ast.Constant) and value.value is None:
                    continue
                kind = Evaluator(file, self.base_env(file, scope, {})).kind(value)
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

    def analyse(self) -> None:
        """Find the step loops and every statement that runs at each step; fills ``FileIndex.points``."""
        Hot(self).run()

    def trains(self, file: FileIndex, scope: Scope) -> bool:
        """Whether one call of a function makes one training step."""
        if scope not in self._trains:
            self._trains[scope] = False
            self._trains[scope] = training.trains_outside_loops(scope, lambda call: self.call_trains(file, scope, call))
        return self._trains[scope]

    def call_trains(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        """Whether a call makes one training step, itself or in a project function that it reaches."""
        if training.makes_step(call, self.optimizes(file), file.is_static):
            return True
        name = dotted(call.func)
        if name is None or name.rpartition(".")[2] not in self.training_names:
            return False
        found = self.callee(file, scope, name, {})
        if found is None or training.is_evaluation(found[1].name) or training.without_gradients(found[1]):
            return False
        return self.trains(*found)

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
        return frozenset(
            scope
            for file in self.files.values()
            for scope in file.scopes.scopes
            if any(training.takes_optimizer_step(call) for statement in scope.statements for call in statement.calls)
        )

    @cached_property
    def training_names(self) -> frozenset[str]:
        """Names of functions that may make a training step, by name alone (a superset that is cheap to ask)."""
        return self._closure(training.EVIDENCE | training.STEP_METHODS, also=("scaler",))

    def _closure(self, seeds: frozenset[str], also: tuple[str, ...] = ()) -> frozenset[str]:
        calls: dict[str, set[str]] = {}
        for file in self.files.values():
            for scope in file.scopes.scopes:
                names = calls.setdefault(scope.name if scope.name != "__call__" else "", set())
                for statement in scope.statements:
                    names |= training.terminal_names(statement)
        reached = set(seeds)
        found: set[str] = set()
        grown = True
        while grown:
            grown = False
            for name, called in calls.items():
                if name not in found and (
                    called & reached or any(word in item.lower() for item in called for word in also)
                ):
                    found.add(name)
                    reached.add(name)
                    grown = True
        return frozenset(found)

    def callee(self, file: FileIndex, scope: Scope, name: str, env: Env) -> tuple[FileIndex, Scope] | None:
        """The project function that a dotted call reaches, None when it is not known."""
        first, _, rest = name.partition(".")
        enclosing: Scope | None = scope
        while enclosing is not None:
            if name in enclosing.functions:
                return file, enclosing.functions[name]
            enclosing = enclosing.parent
        if first == "self" and rest and "." not in rest and scope.owner is not None:
            return self._method_of(file, scope.owner, rest)
        named = file.names.is_bound(first) or file.names.stars
        found = self.find(file.names.resolve(name), file) if named else None
        if found and isinstance(found[1], Scope):
            return found[0], found[1]
        receiver, _, method = name.rpartition(".")
        if receiver:
            kind = self._receiver(file, scope, receiver, env)
            if kind.type:
                return self.method(kind.type, method)
        if not receiver and name in env and env[name].type:
            return self.method(env[name].type, "__call__")
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
                return Evaluator(file, {}).kind(value) if isinstance(value, ast.Call) else UNKNOWN
            enclosing = enclosing.parent
        return UNKNOWN

    def definitions(self, file: FileIndex, scope: Scope) -> dict[str, ast.expr]:
        """Names that are bound once, with the expression: those of a scope, and the module's where it hides none."""
        own = self._definitions(scope)
        module = file.scopes.module
        if scope is module:
            return own
        bound = {name for statement in scope.statements for name in _targets(statement.node)} | set(scope.parameters)
        return {**{name: value for name, value in self._definitions(module).items() if name not in bound}, **own}

    def _definitions(self, scope: Scope) -> dict[str, ast.expr]:
        if scope not in self._defined:
            self._defined[scope] = definitions_of(scope)
        return self._defined[scope]

    # -- AMP ---------------------------------------------------------------------------------------------------

    @cached_property
    def amp_directories(self) -> frozenset[tuple[str, ...]]:
        """Directories whose files are trained under AMP."""
        packages = frozenset(file.parts[:-1] for file in self.files.values() if file.parts[-1] == "__init__")
        files = [file.parts for file in self.files.values() if not file.is_quiet and amp.turns_on_amp(file.scopes)]
        return amp.applications(files, packages)

    def uses_amp(self, file: FileIndex) -> bool:
        """Whether a file's layers are trained under AMP."""
        return amp.is_under(file.parts, self.amp_directories)


class Hot:
    """Finds what runs at each step: from the step loops through the calls in them."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._seen: dict[Scope, tuple[Env, Step]] = {}
        self._visits: Counter[Scope] = Counter()
        self._queue: list[tuple[FileIndex, Scope, dict[str, Kind], Step, int]] = []
        self._defaults: dict[Scope, dict[str, ast.expr]] = {}

    def run(self) -> None:
        """Fill ``points`` of every file."""
        for file in self._project.files.values():
            if file.is_quiet or file.is_foreign:
                continue
            for scope in file.scopes.scopes:
                self._own_loops(file, scope)
        for file in self._project.files.values():
            if not file.is_quiet and not file.is_foreign:
                self._step_methods(file)
        while self._queue:
            file, scope, parameters, step, depth = self._queue.pop(0)
            self._called(file, scope, parameters, step, depth)

    def _own_loops(self, file: FileIndex, scope: Scope) -> None:
        names = self._project.training_names | training.EVIDENCE | training.STEP_METHODS
        if not any(statement.loop for statement in scope.statements):
            return
        if not any(_may_train(statement, names) for statement in scope.statements) or not file.knows_paddle:
            return
        if _QUIET_FUNCTIONS.search(scope.name) or training.without_gradients(scope):
            return
        loops = training.step_loops(scope, lambda call: self._project.call_trains(file, scope, call))
        if not loops:
            return
        flow = Flow(scope, file, self._project.base_env(file, scope, {}), guess_losses=True).run()
        steps = {loop: Step(file.source.path, loop.lineno) for loop in loops}
        definitions = self._project.definitions(file, scope)
        for statement in scope.statements:
            loop = next(
                (link.node for link in _chain(statement.place) if link.branch == "body" and link.node in steps), None
            )
            hot = loop is not None and not guards.off_the_hot_path(statement.place, loop, definitions)
            outer = _outermost(statement.place, steps)
            step = steps[outer] if hot and outer is not None else None
            self._point(file, scope, statement, step, flow, outer, depth=0)

    def _step_methods(self, file: FileIndex) -> None:
        """Methods that are a training step by name and by what they do, wherever their loop is."""
        for owner in file.scopes.classes.values():
            for name in sorted(training.STEP_METHODS & owner.methods.keys()):
                scope = owner.methods[name]
                if self._project.trains(file, scope):
                    self._start(file, scope)
            if any(base.startswith("paddle.callbacks.") for base in owner.bases):
                for name in sorted(training.STEP_CALLBACKS & owner.methods.keys()):
                    self._start(file, owner.methods[name])

    def _start(self, file: FileIndex, scope: Scope) -> None:
        step = Step(file.source.path, 0, function=scope.qualname)
        self._queue.append((file, scope, {}, step, 1))

    def _called(self, file: FileIndex, scope: Scope, parameters: dict[str, Kind], step: Step, depth: int) -> None:
        known = self._seen.get(scope)
        self._visits[scope] += 1
        if known is not None:
            if self._visits[scope] > _MAX_VISITS:
                return
            merged = {name: join(kind, known[0].get(name, UNKNOWN)) for name, kind in parameters.items()}
            step = known[1] if known[1].line else step
            if all(known[0].get(name) == kind for name, kind in merged.items()):
                return
            parameters = merged
        self._seen[scope] = (parameters, step)
        env = self._project.base_env(file, scope, parameters)
        for name in scope.parameters:
            if env.get(name, UNKNOWN).tag == UNKNOWN_TAG and is_loss_name(name):
                env[name] = GUESS
        flow = Flow(scope, file, env, guess_losses=True).run()
        definitions = {**self._project.definitions(file, scope), **self._defaults.get(scope, {})}
        for statement in scope.statements:
            cold = guards.off_the_hot_path(statement.place, None, definitions)
            self._point(file, scope, statement, None if cold else step, flow, None, depth)

    def _keep_defaults(self, target: Scope, call: ast.Call) -> None:
        """Remember which parameters every call at a step leaves at their defaults: ``if verbose:`` may be dead."""
        found = default_values(target, call)
        known = self._defaults.get(target)
        kept = found if known is None else {name: value for name, value in known.items() if name in found}
        if known is not None and kept != known:
            self._seen.pop(target, None)  # a later call turns something on: look again
        self._defaults[target] = kept

    def _point(
        self,
        file: FileIndex,
        scope: Scope,
        statement: Statement,
        step: Step | None,
        flow: Flow,
        loop: Loop | None,
        depth: int,
    ) -> None:
        env = flow.before.get(statement.node, {})
        known = file.points.get(statement.node)
        if known is not None and known.step is not None and step is None:
            return
        file.points[statement.node] = Point(statement, scope, step, env, loop, file)
        if step is None or depth >= _MAX_DEPTH:
            return
        for call in statement.calls:
            self._follow(file, scope, call, step, env, depth, statement)

    def _follow(
        self, file: FileIndex, scope: Scope, call: ast.Call, step: Step, env: Env, depth: int, statement: Statement
    ) -> None:
        name = dotted(call.func)
        if name is None:
            return
        found = self._project.callee(file, scope, name, env)
        if found is None:
            return
        target_file, target = found
        if target is scope or not _is_followed(self._project, target_file, target):
            return
        if guards.within_expression(call, statement.node, self._project.definitions(file, scope)):
            return
        evaluator = Evaluator(file, with_comprehensions(statement.node, env, file))
        arguments = [evaluator.kind(argument) for argument in call.args if not isinstance(argument, ast.Starred)]
        keywords = {keyword.arg: evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg}
        spread = [evaluator.kind(keyword.value) for keyword in call.keywords if keyword.arg is None]
        parameters = parameter_env(target, arguments, keywords, spread)
        via = Step(step.path, step.line, (*step.via, (file.source.path, call.lineno)), step.function)
        self._keep_defaults(target, call)
        self._queue.append((target_file, target, parameters, via, depth + 1))


def default_values(scope: Scope, call: ast.Call) -> dict[str, ast.expr]:
    """Parameters that a call leaves at a constant default and that the function does not bind again."""
    if isinstance(scope.node, ast.Module) or any(keyword.arg is None for keyword in call.keywords):
        return {}
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return {}
    args = scope.node.args
    positional = [arg.arg for arg in [*args.posonlyargs, *args.args]]
    defaults = dict(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
    defaults.update(
        {arg.arg: value for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None}
    )
    given = {*scope.parameters[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    bound = {name for statement in scope.statements for name in _targets(statement.node)}
    return {
        name: value
        for name, value in defaults.items()
        if isinstance(value, ast.Constant) and name not in given and name not in bound
    }


def _is_followed(project: Project, file: FileIndex, target: Scope) -> bool:
    if (
        file.is_quiet
        or file.is_foreign
        or target.name in ("forward", "__init__")
        or training.is_evaluation(target.name)
    ):
        return False
    if _QUIET_FUNCTIONS.search(target.name):
        return False
    if target.owner is not None and target.name == "__call__":
        return project.kind_of_instance(file, target.owner).tag != LAYER_TAG
    return True


def _may_train(statement: Statement, names: frozenset[str]) -> bool:
    called = training.terminal_names(statement)
    return bool(called & names) or any("scaler" in name.lower() for name in called)


def _chain(place: Place | None) -> list[Place]:
    return list(place.chain()) if place is not None else []


def _outermost(place: Place | None, steps: Mapping[Loop, Step]) -> Loop | None:
    found: Loop | None = None
    for link in _chain(place):
        if link.branch == "body" and link.node in steps:
            found = link.node  # type: ignore[assignment]
    return found


def definitions_of(scope: Scope) -> dict[str, ast.expr]:
    """Names that a scope binds exactly once, with the expression, for guards that are computed beforehand."""
    found: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for statement in scope.statements:
        node = statement.node
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
            targets = [node.target]
        for target in targets:
            for name in _bound_names(target):
                if value is None or name in found or name in twice or isinstance(target, (ast.Tuple, ast.List)):
                    twice.add(name)
                    found.pop(name, None)
                else:
                    found[name] = value
    return found


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in _bound_names(target)]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        return _bound_names(node.target)
    return []


def _bound_names(target: ast.expr) -> list[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _bound_names(part)]
    name = dotted(target)
    return [name] if name else []


def parameter_env(
    scope: Scope, arguments: list[Kind], keywords: dict[str, Kind], spread: list[Kind] | None = None
) -> dict[str, Kind]:
    """Kinds of a function's parameters for one call, ``*args`` and ``**kwargs`` included."""
    env = dict(zip(scope.parameters, arguments, strict=False))
    if isinstance(scope.node, ast.Module):
        return env
    args = scope.node.args
    names = {*scope.parameters, *(arg.arg for arg in args.kwonlyargs)}
    extra = [kind for name, kind in keywords.items() if name not in names] + list(spread or [])
    env.update({name: kind for name, kind in keywords.items() if name in names})
    if args.kwarg is not None and extra:
        result = extra[0]
        for kind in extra[1:]:
            result = join(result, kind)
        env[args.kwarg.arg] = result
    if args.vararg is not None and len(arguments) > len(scope.parameters):
        rest = arguments[len(scope.parameters) :]
        result = rest[0]
        for kind in rest[1:]:
            result = join(result, kind)
        env[args.vararg.arg] = result
    return env


def _common_root(paths: list[str]) -> str:
    absolute = [os.path.dirname(os.path.abspath(path)) for path in paths]  # noqa: PTH100, PTH120 - no Path per file
    if not absolute:
        return ""
    try:
        return os.path.commonpath(absolute)
    except ValueError:  # different drives
        return ""


def _parts(path: str, root: str) -> tuple[str, ...]:
    absolute = os.path.abspath(path)  # noqa: PTH100 - no Path per file
    relative = os.path.relpath(absolute, root) if root else absolute
    parts = PurePath(relative).with_suffix("").parts
    return tuple(part.replace(".", "_") for part in parts)
