"""Finds the calls and uses of a name, and which classes and functions of a project are used, or left over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Load, Part, Place, Project
from perflint.query import gathered, query
from perflint.syntax.names import dotted, is_like, name_pattern
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.tree import walk

Placed = tuple["FileIndex", Scope, Statement, ast.Call]
"""A call with its file, function and statement."""

_ASKS = frozenset({"super", "isinstance", "issubclass", "type"})
_LOOKS_UP = frozenset({"eval", "exec", "globals", "locals", "vars", "importlib.import_module"})


@dataclass(frozen=True)
class HeldNames:
    """The names that a file uses other than by calling them, and whether it looks names up by a computed text.

    ``modules``: the qualified names of what it certainly looks into by ``getattr``.
    """

    held: frozenset[str]
    finds_names: bool
    finds_methods: bool
    modules: frozenset[str] = frozenset()


class Callers(Part):
    """The call sites of one project's functions."""

    def named(self, name: str, home: FileIndex | None = None) -> Iterator[Placed]:
        """The calls whose last name is this one, whatever they refer to: a file is parsed when its calls are needed.

        Args:
            name: the last part of the called name.
            home: the file of the function or class that is meant, if it is a certain one. Calls in that file come
                first, and files in which the name can only mean something else are left out.
        """
        files = self._project.mentions.of(name)
        for file in files if home is None else sorted(files, key=lambda file: file is not home):
            if file.is_quiet or not file.may_call(name) or file.is_foreign:
                continue
            if home is None or file is home or self._may_mean_another(name, file):
                yield from ((file, *call) for call in file.calls_named(name))

    @query
    def _may_mean_another(self, name: str, file: FileIndex) -> bool:
        """Whether a file may call another file's function by a name: it binds it, not by ``def``, or it is a member."""
        if file.may_hold(name) or file.may_have_stars:
            return True
        return file.may_be_member(name)

    @query
    def attributes_holding(self, name: str) -> frozenset[str]:
        """The attributes that a function is stored in: ``self.train_epoch_func = train.train_epoch``."""
        held = {
            attribute
            for file in self._project.mentions.assigned(name)
            for owner in file.scopes.classes.values()
            for attribute, values in owner.attributes.items()
            for value, _ in values
            if (value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")) == name
        }
        looked_up = {attribute for attribute, pattern in self._looked_up if is_like(name, *pattern)}
        return frozenset((held | looked_up) - {name})

    @property
    def _looked_up(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """The attributes set to ``getattr(module, mode + "_eval")``, with the ends of the name."""
        return (found for file in self._project.mentions.of("getattr") for found in self._looked_up_in(file))

    @query
    def _looked_up_in(self, file: FileIndex) -> list[tuple[str, tuple[str, str]]]:
        return [
            (attribute, pattern)
            for owner in file.scopes.classes.values()
            for attribute, values in owner.attributes.items()
            for value, _ in values
            if isinstance(value, ast.Call) and dotted(value.func) == "getattr" and len(value.args) > 1
            if (pattern := name_pattern(value.args[1])) is not None
        ]


@query
def held_names(file: FileIndex) -> HeldNames:
    """The names that a file uses as values."""
    nodes = list(walk(file.tree))
    named = {id(item) for node in nodes for item in _named_only(node)}
    held = frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and id(node) not in named
    )
    spread = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg is None}  # `**locals()`
    made = (node for node in nodes if isinstance(node, ast.Call) and id(node) not in spread)
    calls = [(file.names.qualified(node.func), node) for node in made]
    asked = [node for name, node in calls if name == "getattr" and not _asks_by_literal(node)]
    finds_names = any(name in _LOOKS_UP for name, _ in calls) or any(_is_a_module(node, file) for node in asked)
    modules = frozenset(file.names.qualified(node.args[0]) for node in asked if node.args)
    return HeldNames(held, finds_names, finds_names or bool(asked), modules - {""})


def _named_only(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that name something without passing it on: called functions, bases, annotations."""
    if isinstance(node, ast.Call):
        yield node.func
        if dotted(node.func) in _ASKS:
            yield from (item for argument in node.args for item in walk(argument))
    elif isinstance(node, ast.ClassDef):
        yield from node.bases
    elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield from walk(node.annotation)


def _asks_by_literal(call: ast.Call) -> bool:
    """Whether a ``getattr`` has a literal name."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)


def _is_a_module(call: ast.Call, file: FileIndex) -> bool:
    """Whether the object of ``getattr`` may be a module: an imported name, or something computed."""
    if call.args and isinstance(call.args[0], ast.Call) and dotted(call.args[0].func) == "getattr":
        return _is_a_module(call.args[0], file)
    root = dotted(call.args[0]) if call.args else None
    return root is None or file.names.is_bound(root.partition(".")[0])


LOOK_UPS = ("getattr", "eval", "exec", "globals", "locals", "vars", "import_module")
_LISTINGS = ("__dict__", "getmembers")
"""Calls that find classes and functions by computed names."""
_SETTING_UP = ("sys.path.", "sys.setrecursionlimit", "warnings.", "logging.", "os.environ.", "matplotlib.use")
_SETS_UP = frozenset({"seed", "enable_static", "disable_static", "set_printoptions", "switch_backend", "setNumThreads"})
"""Calls after which a module still has not done anything."""
_MADE_UP = frozenset({"rand", "randn", "randint", "uniform", "normal", "ones", "zeros", "full", "summary"})
"""Calls that make meaningless input: code that passes it to a layer only tests whether the layer runs."""
_IN_EARNEST = frozenset(
    {"backward", "minimize", "step", "fit", "train", "train_batch", "evaluate", "test", "predict", "infer", "run"}
    | {"main", "DataLoader", "load", "save", "export", "jit"}
)
"""Calls that train, read or store something: a real program, even if it starts with made-up input."""
_BACKUP = re.compile(r"(.+)[_-](?:bk|bak|backup|old|orig|copy)\d*", re.IGNORECASE)
_RUN = (ast.Expr, ast.For, ast.While, ast.With)
_QUOTES = ('"', "'")

Definition = Class | Scope
"""A class, or a function."""


class InUse(Part):
    """Decides which definitions of one project are used.

    ``Old`` is used only by ``OldNet``, which is unused, so both are left over::

        class Old(nn.Layer): ...
        class OldNet(nn.Layer):
            def __init__(self):
                self.part = Old()
        class Net(nn.Layer): ...

        if __name__ == "__main__":
            train(Net())

    A trial run does not count as a use either: ``if __name__ == "__main__": print(Net()(paddle.rand([1, 3, 64,
    64])).shape)``.

    In doubt a definition counts as used: if a decorator may register it, a package exports it, its name is in quotes
    anywhere, or it is where code looks names up.
    """

    @query(cycle=False)
    def is_used(self, file: FileIndex, definition: Definition) -> bool:
        """Whether some code that may run uses a class, or a function of the module; nested ones always are.

        A file that no program loads is a library for unknown programs, unless it is left over; so is one that a
        ``setup.py`` installs. A program that nothing imports has to use its own functions and classes itself.
        """
        if "." in definition.qualname or definition.decorators or self.is_installed(file):
            return True
        if not self._is_loaded(file):
            return not self.is_left_over(file) and not (_runs_its_own(file) and self._is_dead(file, definition))
        if self._is_named(file, definition) or self.is_looked_up(file):
            return True
        heirs = Hierarchy.of(self._project).descendants(definition) if isinstance(definition, Class) else ()
        return any(self.is_used(*heir) for heir in heirs) or Imports.of(self._project).by_settings(file)

    @query
    def is_left_over(self, file: FileIndex) -> bool:
        """Whether nothing that may run imports a file, although a program loads a module next to it."""
        if file.is_package or file.is_quiet or self.is_installed(file) or self.is_run(file):
            return False
        if Imports.of(self._project).by_settings(file):
            return False
        if any(other.is_quiet for other in Imports.of(self._project).loaders(file)):
            return False
        return any(other is not file for other in self._loaded_in(file.parts[:-1]))

    @query
    def is_backup(self, file: FileIndex) -> bool:
        """Whether a file is kept as it once was, beside what became of it: ``train_bak.py`` and ``train.py``."""
        kept = _BACKUP.fullmatch(file.parts[-1])
        return kept is not None and (*file.parts[:-1], kept[1]) in self._project.modules

    def is_unused(self, file: FileIndex) -> bool:
        """Whether nothing imports a file that does not parse, and programs load others beside it."""
        loaders = Imports.of(self._project).loaders(file)
        return not file.has("__main__") and not any(loaders) and bool(self._loaded_in(file.parts[:-1]))

    @query
    def _loaded_in(self, package: tuple[str, ...]) -> tuple[FileIndex, ...]:
        """Two modules of a package, or of a directory, that programs load, or fewer if there are fewer."""
        modules = _by_package(self._project).get(package, ())
        return tuple(islice((file for file in modules if not file.is_package and self._is_loaded(file)), 2))

    @query
    def is_installed(self, file: FileIndex) -> bool:
        """Whether there is a ``setup.py`` next to the outermost package of a file."""
        modules, top = self._project.modules, len(file.parts) - 1
        while top > 0 and file.parts[:top] in modules:
            top -= 1
        return top < len(file.parts) - 1 and (*file.parts[:top], "setup") in modules

    @query(cycle=False)
    def is_run(self, file: FileIndex) -> bool:
        """Whether a file is a program, or is loaded by one."""
        return not file.is_quiet and (is_program(file) or self._is_loaded(file))

    @query(cycle=False)
    def _is_loaded(self, file: FileIndex) -> bool:
        """Whether a program loads a file: directly or indirectly."""
        return any(self.is_run(other) for other in Imports.of(self._project).loaders(file))

    def is_used_at(self, at: Place) -> bool:
        """Whether the class or module-level function around a place is used; a module always is."""
        holder = _holder(at.scope)
        return holder is None or self.is_used(at.file, holder)

    # -- names -------------------------------------------------------------------------------------------------

    def _is_dead(self, file: FileIndex, definition: Definition) -> bool:
        """Whether a definition of a program that no other file imports is not used by any code that may run."""
        if self.is_looked_up(file) or Imports.of(self._project).by_settings(file) or is_quoted(file, definition.name):
            return False
        if isinstance(definition, Class) and any(
            self.is_used(*heir) for heir in Hierarchy.of(self._project).descendants(definition)
        ):
            return False
        bases = _bases(file)
        return not any(
            isinstance(load.node, ast.Name) and load.node not in bases and self._may_run(file, load, definition)
            for load in file.loads.get(definition.name, ())
        )

    def _is_named(self, file: FileIndex, definition: Definition) -> bool:
        """Whether code that may run names a definition; its own file comes first, since it is already parsed."""
        mentions = self._project.mentions
        for name in sorted(mentions.other_names(definition.name)):
            naming = mentions.of(name)
            if any(is_quoted(other, name) for other in naming):
                return True
            own_first = sorted(naming, key=lambda other: other is not file)
            if any(self._is_named_in(other, name, file, definition) for other in own_first):
                return True
        return False

    def _is_named_in(self, other: FileIndex, name: str, file: FileIndex, definition: Definition) -> bool:
        if other is not file and other.is_package and self._binds(other, name, file, definition):
            return True
        return any(self._may_run(other, load, definition) for load in self._loads_in(other, name, file, definition))

    def loads_of(self, file: FileIndex, definition: Definition) -> Iterator[tuple[FileIndex, Load, bool]]:
        """The places that read a class or a function of a module, in whatever file; the bases of classes are none.

        Each with whether it certainly means it: ``tools.run`` where ``tools`` is an import, and not ``session.run``.
        """
        for name in sorted(self._project.mentions.other_names(definition.name)):
            for other in self._project.mentions.of(name):
                for load in self._loads_in(other, name, file, definition):
                    base = dotted(load.node) if isinstance(load.node, ast.Attribute) else name
                    is_sure = base is not None and (base == name or other.names.is_bound(base.partition(".")[0]))
                    yield other, load, is_sure

    def _loads_in(self, other: FileIndex, name: str, file: FileIndex, definition: Definition) -> Iterator[Load]:
        is_bound = other is file or self._binds(other, name, file, definition)
        if not is_bound and not other.may_be_member(name):
            return
        bases = _bases(other)
        for load in other.loads.get(name, ()):
            is_meant = (
                is_bound if isinstance(load.node, ast.Name) else self._is_member(load.node, other, file, definition)
            )
            if is_meant and load.node not in bases:
                yield load

    def _binds(self, other: FileIndex, name: str, file: FileIndex, definition: Definition) -> bool:
        """Whether an import in another file binds a name to a definition."""
        return any(self._is_meant(meaning, other, file, definition) for meaning in other.names.meanings(name))

    def _is_member(self, node: ast.Attribute, other: FileIndex, file: FileIndex, definition: Definition) -> bool:
        """Whether ``module.Net`` may refer to a definition."""
        name = dotted(node)
        if name is None or not other.names.is_bound(name.partition(".")[0]):
            return True
        return any(self._is_meant(meaning, other, file, definition) for meaning in other.names.meanings(name))

    def _is_meant(self, qualified: str, other: FileIndex, file: FileIndex, definition: Definition) -> bool:
        """Whether a qualified name in a file refers to a definition, or may do so through ``sys.path``."""
        found = Modules.of(self._project).find(qualified, other)
        if found is not None:
            return found[1] is definition
        return file.module.rpartition(".")[2] in qualified.split(".")[:-1]

    def _may_run(self, other: FileIndex, load: Load, definition: Definition) -> bool:
        """Whether a place that names a definition may run, and is not part of the definition."""
        holder = _holder(load.scope) if load.scope is not None else None
        if other.is_quiet:
            return True
        if holder is definition:
            return False
        if holder is not None:
            return self.is_used(other, holder)
        return not self.is_left_over(other) and not is_in(load.statement, trial_of(other))

    @query
    def is_looked_up(self, file: FileIndex) -> bool:
        """Whether a file, or one that imports it, looks definitions up by computed names, or one in its package."""
        importers = [*Imports.of(self._project).importers(file)]
        return any(
            other.has_words(*_LISTINGS) or (other.has_words(*LOOK_UPS) and held_names(other).finds_names)
            for other in (file, *importers)
        ) or any(self._is_looked_into(other) for other in importers if other.is_package)

    @query
    def _is_looked_into(self, package: FileIndex) -> bool:
        """Whether a file has ``getattr(package, name)``."""
        imports = Imports.of(self._project)
        return any(
            package in imports.brought_by(name, other)
            for other in imports.importers(package)
            if other.has_words("getattr")
            for name in held_names(other).modules
        )


@query
def _by_package(project: Project) -> Mapping[tuple[str, ...], list[FileIndex]]:
    """The files of a project by their package or directory."""
    return gathered((file.parts[:-1], file) for file in project.files.values())


@query
def is_program(file: FileIndex) -> bool:
    """Whether a file does something when it runs, or only contains settings, which programs load by path."""
    statements, trial = file.scopes.module.statements, trial_of(file)
    if trial is None and file.has("__main__"):
        return True
    if any(_does_something(statement) and not is_in(statement, trial) for statement in statements):
        return True
    is_plain = len(file.scopes.scopes) == 1 and not file.scopes.classes and not file.is_package
    return is_plain and any(isinstance(statement.node, ast.Assign) for statement in statements)


@query
def is_script(file: FileIndex) -> bool:
    """Whether a file is a program that somebody starts: not a module that does something while it is imported."""
    if file.is_quiet or not is_program(file):
        return False
    if file.has("__main__") and trial_of(file) is None:
        return True
    trial = trial_of(file)
    is_doing = any(_does_something(item) and not is_in(item, trial) for item in file.scopes.module.statements)
    return is_doing and next(Imports.of(file.project).loaders(file), None) is None


@query
def _runs_its_own(file: FileIndex) -> bool:
    """Whether a file is a program: a statement of its module, such as ``main()``, runs what the file defines."""
    if file.is_quiet or file.has_words("fire"):  # `fire.Fire()` makes a command of each function
        return False
    module, trial = file.scopes.module, trial_of(file)
    return any(
        load.scope is module
        and load.statement is not None
        and isinstance(load.statement.node, _RUN)
        and not is_in(load.statement, trial)
        for name in {*module.functions, *file.scopes.classes}
        for load in file.loads.get(name, ())
    )


@query
def trial_of(file: FileIndex) -> ast.If | None:
    """The ``if __name__ == "__main__"`` of a file, if it only tries a class of the file with made-up input.

    A function of the file that it calls has to return something: ``main()`` without a result may do anything.
    """
    if file.is_quiet or not file.has("__main__"):
        return None
    module = file.scopes.module
    tests = [item.node for item in module.statements if isinstance(item.node, ast.If) and asks_for_main(item.node)]
    if len(tests) != 1 or tests[0].orelse:
        return None
    names = {_last(item) for item in walk(tests[0])}
    if names.isdisjoint(_MADE_UP) or names.isdisjoint(file.scopes.classes) or not names.isdisjoint(_IN_EARNEST):
        return None
    alone = (item.value for item in walk(tests[0]) if isinstance(item, ast.Expr))
    starts = any(isinstance(call, ast.Call) and dotted(call.func) in module.functions for call in alone)
    return None if starts else tests[0]


def asks_for_main(node: ast.If) -> bool:
    """Whether a test is ``if __name__ == "__main__":``."""
    return isinstance(node.test, ast.Compare) and dotted(node.test.left) == "__name__"


def _last(item: ast.AST) -> str:
    """The name that a node is, or the part after its last dot."""
    return item.id if isinstance(item, ast.Name) else item.attr if isinstance(item, ast.Attribute) else ""


def is_in(statement: Statement | None, block: ast.If | None) -> bool:
    """Whether a statement is a block, or in it."""
    return statement is not None and block is not None and (statement.node is block or statement.is_in(block))


def _does_something(statement: Statement) -> bool:
    node = statement.node
    return isinstance(node, _RUN) and not (isinstance(node, ast.Expr) and _is_idle(node.value))


def _is_idle(value: ast.expr) -> bool:
    """Whether a statement is a string, or only sets something up, as modules do: ``sys.path.append("..")``."""
    if isinstance(value, ast.Call):
        name = dotted(value.func) or ""
        return name.startswith(_SETTING_UP) or name.rpartition(".")[2] in _SETS_UP
    return isinstance(value, ast.Constant)


@query
def _bases(file: FileIndex) -> frozenset[ast.AST]:
    """The parts of the bases of a file's classes: naming a class there does not create an object of it."""
    return frozenset(item for owner in file.scopes.classes.values() for base in owner.node.bases for item in walk(base))


def _holder(scope: Scope) -> Definition | None:
    """The class or module-level function that a function belongs to; None for the module itself."""
    if scope.parent is None:
        return None
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    return scope.owner or scope


def is_quoted(file: FileIndex, name: str) -> bool:
    """Whether a file contains a name in quotes."""
    return any(file.has(f"{quote}{name}{quote}") for quote in _QUOTES)
