"""Which programs reach a function: from where it is called, used or passed on, back to the modules that are started.

In this file nothing reaches ``old``, and the program reaches ``Trainer.fit`` through ``main``::

    class Trainer:
        def fit(self): ...

    def old(trainer):
        trainer.fit()

    def main():
        Trainer().fit()

    if __name__ == "__main__":
        main()
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from perflint.flow.calls import CallGraph, Certainty
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.in_use import LOOK_UPS, InUse, asks_for_main, held_names, is_in, is_quoted, is_script, trial_of
from perflint.index.project import FileIndex, Load, Place, Project
from perflint.inputs.input_files import notebooks_naming
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import fits
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.vocabulary import is_no_training, means_settings, trains
from perflint.training.evidence import STEP_METHODS
from perflint.training.training_calls import TrainingCalls

_PLAIN = frozenset({"object", "ABC", "abc.ABC", "paddle.nn.Layer", "nn.Layer", "typing.Generic", "typing.Protocol"})
"""Classes that call no method of their subclasses but ``forward`` and those between underscores."""
_HARMLESS = frozenset(
    {"staticmethod", "classmethod", "property", "override", "abstractmethod", "abc.abstractmethod", "functools.wraps"}
)
"""Decorators that expose what they decorate to nobody."""
_MODES = frozenset({"train", "eval"})
"""Methods of all layers: ``model.train()`` is no call of the ``train`` of a class that is no layer; and often texts."""


_MOST_BY_NAME = 2
"""If only a name leads to more programs than this, none of them is named."""


class Lead(NamedTuple):
    """A place that calls a function, passes it on, or creates an object of its class; and how certain that is."""

    place: Place
    certainty: Certainty = Certainty.SURE


@dataclass(frozen=True)
class Reached:
    """The programs that reach a place, by the files that are started, each with the certainty.

    ``is_open``: it belongs to a library, which programs may use that are not part of the project.
    ``tests``: tests use it. ``functions``: those that lead there, itself among them, each with the certainty.
    ``paths``: the rows that lead from the start of each program to it.
    """

    programs: Mapping[FileIndex, Certainty]
    is_open: bool
    tests: bool
    functions: Mapping[Place, Certainty]
    paths: Mapping[FileIndex, tuple[int, ...]]


@query
def reached(at: Place) -> Reached:
    """All programs that reach a function, or a module."""
    search = _Search(at, is_brief=False)
    search.run(is_enough=lambda: False)
    functions = {search.places[scope]: certainty for scope, certainty in search.found.items()}
    return Reached(search.programs, search.is_open, search.tests, functions, search.paths)


@query
def starters(at: Place) -> tuple[str, ...]:
    """The paths of the programs that reach a training step, in order; of notebooks if there is no program.

    Those that only names lead to count if there are no others: most steps have a certain one, and what names lead to is
    the expensive part of a search. So do those that evaluate or predict by their names: all of ``tools/`` create the
    same ``Trainer``.
    """
    search = _Search(at, is_brief=False)
    search.run(is_enough=lambda: search.is_followed and bool(search.programs))
    if not search.programs:
        return tuple(sorted(search.notebooks))
    best = max(search.programs.values())
    found = {file.path: file.parts[-1] for file, certainty in search.programs.items() if certainty is best}
    saying = [path for path, name in found.items() if trains(name)]
    training = [path for path, name in found.items() if not is_no_training(name)] or [*found]
    told = saying if saying and best is not Certainty.SURE else training
    is_told = best is Certainty.SURE or len(told) <= _MOST_BY_NAME
    return tuple(sorted(told, key=lambda path: (path not in saying, path.count("/"), path))) if is_told else ()


class By(enum.Enum):
    """Who reaches a place: something that a person starts, only tests, or nobody."""

    PROGRAMS = "programs"
    TESTS = "tests"
    NOBODY = "nobody"


@query
def reached_by(at: Place) -> By:
    """Whether anything that somebody may start reaches a function, or may reach it."""
    if Imports.of(at.file.project).fails(at.file):
        return By.NOBODY
    search = _Search(at, is_brief=True)
    search.run(is_enough=lambda: search.is_any)
    return By.PROGRAMS if search.is_any else By.TESTS if search.tests else By.NOBODY


def may_be_used_by(at: Place, wanted: Callable[[FileIndex], bool]) -> bool:
    """Whether a program of some kind reaches a function, or nobody knows which do; the search ends at the first one."""
    search = _Search(at, is_brief=False)
    search.run(is_enough=lambda: search.is_open or any(map(wanted, search.programs)))
    return search.is_open or not search.programs or any(map(wanted, search.programs))


class _Search:
    """Follows the uses of one function back to where programs start: first those that are certain.

    ``is_brief``: one program is enough, whichever that is.
    """

    def __init__(self, at: Place, *, is_brief: bool) -> None:
        self._is_brief = is_brief
        self.programs: dict[FileIndex, Certainty] = {}
        self.notebooks: set[str] = set()
        self.is_open = self.tests = False
        self._goal = at.file
        self._is_following = False
        self.found: dict[Scope, Certainty] = {}
        self.places: dict[Scope, Place] = {}
        self.paths: dict[FileIndex, tuple[int, ...]] = {}
        self._rows: dict[Scope, tuple[int, ...]] = {}
        self._waiting: dict[Certainty, list[Place]] = {Certainty.SURE: [], Certainty.NAME: []}
        self._doubtful: list[tuple[Place, Certainty]] = []
        self._follow(Lead(at.function))

    @property
    def is_any(self) -> bool:
        """Whether a program was found."""
        return bool(self.programs) or self.is_open

    @property
    def is_followed(self) -> bool:
        """Whether all uses were followed except those that a name may lead to."""
        return not (self._is_following or any(self._waiting.values()))

    def run(self, is_enough: Callable[[], bool]) -> None:
        """Search until enough is found, or everything."""
        while not is_enough():
            self._is_following = True
            certainty = Certainty.SURE if self._waiting[Certainty.SURE] else Certainty.NAME
            if self._waiting[certainty]:
                at = self._waiting[certainty].pop()
                self._doubtful.append((at, certainty))
                for use in sure_uses(at):
                    self._follow(Lead(use, certainty), at.scope)
                    if is_enough():
                        return
            elif self._doubtful:
                at, _ = self._doubtful.pop()
                for use in doubtful_uses(at):
                    if share_a_program(use.file, at.file):
                        self._follow(Lead(use, Certainty.NAME), at.scope)
                        if is_enough():
                            return
            else:
                return
            self._is_following = False

    def _follow(self, use: Lead, called: Scope | None = None) -> None:
        at, certainty = use
        rows = (
            at.statement.node.lineno if at.statement is not None else 0,
            *(self._rows[called] if called is not None else ()),
        )
        if is_test(at.file):
            self.tests = True
        elif at.scope is at.file.scopes.module:
            self._start(at, certainty, rows)
        elif certainty > self.found.get(at.scope, Certainty.NO):
            self.notebooks |= _notebooks(at)
            self.is_open = (
                self.is_open or is_of_library(at.file) or bool(self.notebooks) or _is_trained_elsewhere(at.function)
            )
            self.found[at.scope], self.places[at.scope] = certainty, at.function
            self._rows[at.scope] = rows
            self._waiting[certainty].append(at.function)

    def _start(self, at: Place, certainty: Certainty, rows: tuple[int, ...]) -> None:
        """What runs a statement of a module."""
        if is_in(at.statement, trial_of(at.file)) or Imports.of(at.file.project).fails(at.file):
            return
        if self._is_brief and certainty is Certainty.SURE and has_program(at.file):
            self.programs[at.file] = certainty
            return
        found = [at.file] if _is_main(at.statement) else programs_with(at.file)
        self.is_open = self.is_open or (not found and is_of_library(at.file))
        for program in found:
            if program is self._goal or program in programs_with(self._goal):
                self.programs[program] = max(certainty, self.programs.get(program, Certainty.NO))
                self.paths.setdefault(program, rows if program is at.file else (0, *rows))


def _is_main(statement: Statement | None) -> bool:
    """Whether a statement of a module only runs if the module is started."""
    if statement is None:
        return False
    around = (statement.node, *(link.node for link in statement.around))
    return any(isinstance(node, ast.If) and asks_for_main(node) for node in around)


def _notebooks(at: Place) -> set[str]:
    """The notebooks of the project that seem to call a function: they have its name, and that of its module."""
    name = at.scope.owner.name if at.scope.owner is not None and _is_called_by_its_kind(at.scope) else at.scope.name
    module = at.file.module.rpartition(".")[2]
    return notebooks_naming(at.file.path, (name, module), at.file.project.inputs)


@query
def is_test(file: FileIndex) -> bool:
    """Whether a file contains tests: its name says so, or a class in it is a test case of ``unittest``."""
    if file.is_quiet:
        return True
    owners = file.scopes.classes.values() if file.has_words("TestCase") else ()
    return any(base.endswith("TestCase") for owner in owners for base in owner.bases)


@query(cycle=False)
def has_program(file: FileIndex) -> bool:
    """Whether a program loads a file, or it is one."""
    if file.is_quiet:
        return False
    return is_script(file) or any(map(has_program, Imports.of(file.project).loaders(file)))


@query
def programs_with(file: FileIndex) -> frozenset[FileIndex]:
    """The programs that load a file, itself among them if it is one."""
    found, waiting = {file}, [file]
    while waiting:
        new = [other for other in _loaders(waiting.pop()) if other not in found and not other.is_quiet]
        found.update(new)
        waiting += new
    return frozenset(filter(is_script, found))


@query
def _loaders(file: FileIndex) -> tuple[FileIndex, ...]:
    return tuple(Imports.of(file.project).loaders(file))


@query
def is_of_library(file: FileIndex) -> bool:
    """Whether unknown programs may use a file: it is installed, or no program loads it, nor anything of its package."""
    in_use = InUse.of(file.project)
    if file.is_quiet or in_use.is_installed(file):
        return not file.is_quiet
    if has_program(file) or in_use.is_left_over(file):
        return False
    return Imports.of(file.project).by_settings(file) or not _is_package_run(file.project, _package_of(file))


def _package_of(file: FileIndex) -> tuple[str, ...]:
    """The outermost package around a file; empty if there is none."""
    top = len(file.parts) - 1
    while top > 0 and file.parts[:top] in file.project.modules:
        top -= 1
    return file.parts[: top + 1] if top < len(file.parts) - 1 else ()


@query
def _is_trained_elsewhere(at: Place) -> bool:
    """Whether a method is a training step by name and contents, of objects that the project makes but never trains.

    Then the script that trains with them is not part of the project, as where only that for testing was published.
    """
    owner, project = at.scope.owner, at.file.project
    if owner is None or at.scope.name not in STEP_METHODS or project.mentions.calls(at.scope.name):
        return False
    is_made = any(not there.is_quiet for there, _, _ in InUse.of(project).loads_of(at.file, owner))
    return is_made and TrainingCalls.of(project).trains(at)


@query
def _is_package_run(project: Project, package: tuple[str, ...]) -> bool:
    """Whether a program loads a module of a package, or is one."""
    inside = (each for each in project.files.values() if each.parts[: len(package)] == package)
    return bool(package) and any(map(has_program, inside))


# -- what leads to a function ------------------------------------------------------------------------------------------


def sure_uses(at: Place) -> Iterator[Place]:
    """The places that lead to a function: its calls, where it is passed on, and what creates objects of its class."""
    scope = at.scope
    if scope.parent is None:
        return
    if scope.parent is not at.file.scopes.module:
        yield Place(at.file, scope.parent)
    elif scope.owner is None:
        named = [*_loads(at.file, scope)[True]]
        # a function without a name there may be looked up: ``getattr(steps, "train_" + mode)``
        yield from named or (site.place for site in CallGraph.of(at.file.project).callers(at, Certainty.SURE))
    elif _is_called_by_its_kind(scope):
        for there, one in Hierarchy.of(at.file.project).running(at):
            yield from _loads(there, one)[True]
    else:
        sites = CallGraph.of(at.file.project).each(at, Certainty.OVERRIDE)
        yield from (site.place for site in sites)


def doubtful_uses(at: Place) -> Iterator[Place]:
    """The places that may lead to a function by its name, or through what is not known."""
    scope = at.scope
    if scope.parent is not at.file.scopes.module:
        return
    if scope.owner is None:
        yield from (*_hidden(at.file, scope), *_loads(at.file, scope)[False])
        return
    family = Hierarchy.of(at.file.project).running(at)
    of_class = [use for there, one in family for use in (*_hidden(there, one), *_loads(there, one)[False])]
    if _is_called_by_its_kind(scope):
        yield from of_class
        return
    if _is_exposed(scope):
        yield Place(at.file, at.file.scopes.module)
    of_class += [use for there, one in family for use in _loads(there, one)[True]]
    if of_class:  # an object of the class exists
        if not scope.name.startswith("_") and Hierarchy.of(at.file.project).unseen(at.file, scope.owner) - _PLAIN:
            yield from of_class
        sites = CallGraph.of(at.file.project).callers(at, Certainty.NAME)
        yield from (site.place for site in sites if _may_mean(site.call, scope))
        yield from _held(at)


def _is_called_by_its_kind(method: Scope) -> bool:
    """Whether Python or Paddle calls a method of all objects: ``forward``, ``__init__``, a property."""
    named = any("property" in (dotted(item) or "") for item in method.decorators)
    return named or method.name == "forward" or method.is_special


@query
def _loads(file: FileIndex, definition: Scope | Class) -> Mapping[bool, Sequence[Place]]:
    """The places that name a class, or a function of a module, outside itself: certainly, and perhaps."""
    found: dict[bool, list[Place]] = {True: [], False: []}
    if "." in definition.qualname:  # in a function, or in another class
        return {**found, True: [Place(file, file.scopes.module)]}
    for other, load, is_sure in InUse.of(file.project).loads_of(file, definition):
        at = Place(other, load.scope or other.scopes.module, load.statement)
        if at.scope is not definition and at.scope.owner is not definition and (is_sure or _may_be(load, definition)):
            found[is_sure].append(at)
    return found


def _may_be(load: Load, definition: Scope | Class) -> bool:
    """Whether an attribute of something unknown may be a function: ``net.train()`` is not ``def train(net, data)``."""
    if not isinstance(definition, Scope) or definition.decorators or load.statement is None:
        return True
    return all(fits(definition, call) for call in load.statement.calls if call.func is load.node)


@query
def _hidden(file: FileIndex, definition: Scope | Class) -> tuple[Place, ...]:
    """The places that may use a class or a function without naming it: registries, texts, look-ups."""
    found, project = list[Place](), file.project
    is_named_by_settings = Imports.of(project).by_settings(file)
    if (
        is_named_by_settings
        or _is_exposed(definition)
        or InUse.of(project).is_looked_up(file)
        or file.has_words("fire")
    ):
        found.append(Place(file, file.scopes.module))
    found += _commented(project, definition.name)
    quoting = [each for each in project.mentions.of(definition.name) if is_quoted(each, definition.name)]
    mode = definition.name if definition.name in _MODES else ""
    if any(not _is_only_listed(each, definition.name) for each in quoting) and _may_look_up(file, mode):
        found += [Place(each, each.scopes.module) for each in quoting]
    return tuple(found)


@query
def _may_look_up(file: FileIndex, mode: str) -> bool:
    """Whether code that may meet a file looks classes or functions up by computed names.

    It has to import the file if the name that is in quotes somewhere also means a mode: ``"train"``.
    """
    looking = (each for each in file.project.mentions.of(*LOOK_UPS) if not each.is_quiet)
    if mode:
        looking = (each for each in looking if each is file or file in Imports.of(file.project).direct(each))
    return any(held_names(each).finds_names and share_a_program(each, file) for each in looking)


def _is_exposed(target: Scope | Class) -> bool:
    """Whether a decorator may expose a function or a class to other code: to a registry, for example."""
    names = ((dotted(item) or dotted(getattr(item, "func", item)) or "") for item in target.decorators)
    return any(name not in _HARMLESS and not name.endswith(("no_grad", "to_static", "setter")) for name in names)


def _may_mean(call: ast.Call, method: Scope) -> bool:
    """Whether a call on something unknown may be one of a method, and not of the method that all layers have.

    ``trainer.train()`` may mean the method of a ``Trainer``, ``module.train()`` does not.
    """
    receiver = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if method.name not in _MODES or call.args or call.keywords or receiver is None or method.owner is None:
        return True
    last, owner = receiver.rpartition(".")[2].strip("_").lower(), method.owner.name.lower()
    return last in owner or owner in last


def _held(at: Place) -> Iterator[Place]:
    """The places that pass a method on, or that look methods up by a computed name."""
    name, project = at.scope.name, at.file.project
    for file in project.mentions.values(name):
        for load in file.loads_named(name) if not (file.is_quiet or file.is_foreign) else ():
            is_called = any(call.func is load.node for call in load.statement.calls)
            if isinstance(load.node, ast.Attribute) and not is_called and not _is_setting(load.node):
                yield Place(file, load.scope, load.statement)
    yield from _commented(project, name)
    for file in project.mentions.of("getattr", "methodcaller"):
        if not file.is_quiet and is_quoted(file, name) and held_names(file).finds_methods:
            yield Place(file, file.scopes.module)


@query
def _commented(project: Project, name: str) -> tuple[Place, ...]:
    """The programs with a call of a name in a comment, which somebody takes out when it is wanted: ``# train()``."""
    call = re.compile(rf"^[ \t]*#.*(?<!def )\b{re.escape(name)}\(", re.MULTILINE)
    files = (file for file in project.mentions.of(name) if is_script(file) and file.matches(call))
    return tuple(Place(file, file.scopes.module) for file in files)


def _is_setting(node: ast.Attribute) -> bool:
    """Whether an attribute is one of the settings: ``cfg.train``."""
    return any(map(means_settings, (dotted(node.value) or "").split(".")))


@query
def share_a_program(one: FileIndex, other: FileIndex) -> bool:
    """Whether code of two files may meet: some program loads both, or no program is known that loads one."""
    if one is other:
        return True
    first, second = programs_with(one), programs_with(other)
    return not first.isdisjoint(second) or (not first and is_of_library(one)) or (not second and is_of_library(other))


@query
def _is_only_listed(file: FileIndex, name: str) -> bool:
    """Whether a file has a name in quotes only in its ``__all__``."""
    if not file.has_words("__all__"):
        return False
    rows = [
        (statement.node.lineno, statement.node.end_lineno or statement.node.lineno)
        for statement in file.scopes.module.statements
        if isinstance(statement.node, (ast.Assign, ast.AugAssign))
        and "__all__" in ast.unparse(statement.node).partition("=")[0]
    ]
    quoted = [
        number
        for number, row in enumerate(file.source.text.splitlines(), 1)
        if f'"{name}"' in row or f"'{name}'" in row
    ]
    return all(any(first <= row <= last for first, last in rows) for row in quoted)
