"""One file of the project: its tree, names and scopes, and what becomes known at each statement."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from perflint.index import evaluation, layers
from perflint.index.evaluate import Env
from perflint.index.flow import Flow, with_comprehensions
from perflint.index.kinds import UNKNOWN, Kind, function, join
from perflint.index.names import Names
from perflint.index.scopes import FileScopes, Loop, Scope, Statement, headers
from perflint.source import Source

if TYPE_CHECKING:
    from perflint.index.project import Project
    from perflint.index.reads import Read

_QUIET_PARTS = re.compile(r"^(tests?|.*_tests|test_.*|.*_test|alignment|reprod\w*|conftest|unittests?|ut|testing)$")
_OFFLINE_PARTS = re.compile(
    r"^(deploy\w*|serving|inference|.*_?infer|infer_.*|.*_?predict|predict_.*|.*export.*|(.*_)?eval(uate|uation)?|eval_.*)$",
    re.IGNORECASE,
)
_OTHER_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "mxnet", "jax", "mindspore", "oneflow", "keras", "pytorch_lightning"}
)


@dataclass(frozen=True)
class Step:
    """What makes a statement run at each training step.

    ``path``/``line``: the step loop (line 0: a step function that is known by its name alone).  ``via``: the calls
    that lead from the loop to the statement, outermost first, as (path, line).  ``function``: the step function's
    name where ``line`` is 0.  ``forward``: the statement belongs to a model's forward pass.
    ``sure``: names and types lead there; a method that was found by its name alone is not.
    """

    path: str
    line: int
    via: tuple[tuple[str, int], ...] = ()
    function: str = ""
    forward: bool = False
    sure: bool = True


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


@dataclass(frozen=True, eq=False)
class Load:
    """A place that reads a name or an attribute; without a statement: in a default, a decorator or the like."""

    node: ast.Name | ast.Attribute
    scope: Scope | None
    statement: Statement | None


@dataclass(eq=False)
class FileIndex:
    """One parsed file of the project; also the ``Resolver`` of its expressions."""

    source: Source
    tree: ast.Module
    parts: tuple[str, ...]
    project: Project
    scopes: FileScopes = field(init=False)
    points: dict[ast.stmt, Point] = field(default_factory=dict)
    reading_calls: dict[int, Read] = field(default_factory=dict)
    """Calls in step loops, by offset, of which a helper in another file reads the device; with the read's place."""

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
    def loads(self) -> Mapping[str, list[Load]]:
        """Where the file reads a name or an attribute, by that name."""
        found: dict[str, list[Load]] = {}
        for scope in self.scopes.scopes:
            for statement in scope.statements:
                for header in headers(statement.node):
                    _add_loads(header, scope, statement, found)
            if not isinstance(scope.node, ast.Module):
                args = scope.node.args
                for part in (*scope.node.decorator_list, *args.defaults, *filter(None, args.kw_defaults)):
                    _add_loads(part, None, None, found)
        for owner in self.scopes.classes.values():
            for part in (*owner.node.decorator_list, *owner.node.bases, *(item.value for item in owner.node.keywords)):
                _add_loads(part, None, None, found)
        return found

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
    def evaluations(self) -> Mapping[ast.stmt, evaluation.Evaluation]:
        """Loops that evaluate a model and keep a graph for nothing, by their statement."""
        return evaluation.evaluations(self)

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
        """Whether the file, or all that drives it, pins the run to the CPU, where a host read costs nothing."""
        return self.project.devices.runs_on_cpu(self)

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

    def forward_parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The parts of what a layer of the project gives when it is called, where some are numbers; None otherwise."""
        return self.project.forwards.parts(owner, arguments, keywords)

    def function_value(self, name: str) -> Kind | None:
        """A project function that a name stands for, as a value."""
        return self.project.function_value(self, None, name)

    def method_value(self, owner: str, name: str) -> Kind | None:
        """A method of a project class, as a value."""
        found = self.project.method(owner, name)
        return self.project.as_value(*found) if found else None

    def registered(self, name: str, registry: str | None = None) -> Kind | None:
        """An instance of the class that a registry of the project knows by a name."""
        return self.project.registered(name, registry)

    def call_looked_up(self, call: ast.Call, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a function or class that a call looks up by a literal name."""
        return self.project.tables.call(self, call, arguments, keywords)

    def call_function(self, qualified: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a function that is held as a value."""
        results = [
            self.project.result(file, scope, "", arguments, keywords) or UNKNOWN
            for file, scope in self.project.functions_of_kind(function(qualified))
        ]
        return functools.reduce(join, results) if results else None

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of an attribute of a project class, from the assignments to ``self.name``."""
        return self.project.attribute(owner, name)


def _add_loads(node: ast.expr, scope: Scope | None, statement: Statement | None, found: dict[str, list[Load]]) -> None:
    for item in ast.walk(node):
        if isinstance(item, (ast.Name, ast.Attribute)) and isinstance(item.ctx, ast.Load):
            name = item.id if isinstance(item, ast.Name) else item.attr
            found.setdefault(name, []).append(Load(item, scope, statement))


def module_parts(path: str, root: str) -> tuple[str, ...]:
    """A file's module name in parts, seen from the root of the project."""
    absolute = os.path.abspath(path)  # noqa: PTH100 - no Path per file
    relative = os.path.relpath(absolute, root) if root else absolute
    parts = PurePath(relative).with_suffix("").parts
    return tuple(part.replace(".", "_") for part in parts)
