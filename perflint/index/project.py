"""A project and its files: what was parsed of them, which of them name something, and the memory of all answers."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from perflint.configuration.settings import Settings
from perflint.index.kinds import Kind
from perflint.inputs.projects import common_root, relative_parts
from perflint.query import Memory, gathered
from perflint.stopwatch import phase
from perflint.syntax.bindings import Mention, mentions_in
from perflint.syntax.file_text import FileText, module_parts, places
from perflint.syntax.names import Names, dotted
from perflint.syntax.scopes import FileScopes, Scope, Statement, statements_on, terminal
from perflint.syntax.tree import walk
from perflint.text.source import Source

# Finds by text which files of a project can name something, so that the others need not be parsed for it.

F = TypeVar("F", bound=FileText)


class Mentions(Generic[F]):
    """Looks for names in the texts of one project. Every answer is a superset, in the order of the files.

    Args:
        files: every file of the project.
    """

    def __init__(self, files: Iterable[F]) -> None:
        self._files = list(files)
        self._several: dict[tuple[str, ...], list[F]] = {}
        self._other_names: dict[str, frozenset[str]] = {}

    def of(self, *names: str) -> list[F]:
        """The files that contain one of these words."""
        if len(names) == 1:
            return self._by_word.get(names[0], [])
        if not names:
            return []
        if names not in self._several:
            self._several[names] = [file for file in self._files if file.has_words(*names)]
        return self._several[names]

    @cached_property
    def _by_word(self) -> Mapping[str, list[F]]:
        found: dict[str, list[F]] = {}
        for file in self._files:
            for word in file.words:
                found.setdefault(word, []).append(file)
        return found

    def calls(self, name: str) -> list[F]:
        """The files that can call something by this name: they contain ``name(``, not after ``def``."""
        return [file for file in self.of(name) if file.may_call(name)]

    def values(self, name: str) -> list[F]:
        """The files that can use a function of this name as a value: they contain it without a ``(`` after it."""
        return [file for file in self.of(name) if file.may_hold(name)]

    def assigned(self, name: str) -> list[F]:
        """The files that can bind something to a function of this name: it ends a statement with a ``=``."""
        return [file for file in self.values(name) if file.may_assign(name)]

    def bases(self, name: str) -> list[F]:
        """The files in which a class can name this one as its base."""
        return [file for file in self.of(name) if file.may_derive(name)]

    def other_names(self, name: str) -> frozenset[str]:
        """Other names that a function or class of this name may have, as by ``import name as other``."""
        if name not in self._other_names:
            self._other_names[name] = self._find_other_names(name)
        return self._other_names[name]

    def _find_other_names(self, name: str) -> frozenset[str]:
        found, queue = {name}, [name]
        while queue:
            known = queue.pop()
            for file in self.of(known):
                new = set(file.renamings(known)) - found
                found |= new
                queue += new
        return frozenset(found)


# A project and its files: what was parsed of them, and the memory for what is computed from them.
#
# Nothing is computed here. A question about a project is a function, or a method of a ``Part``, in a module above
# this one; ``opening.opened`` creates a project that can answer all of them.

_OTHER_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "mxnet", "jax", "mindspore", "oneflow", "keras", "pytorch_lightning"}
)


@dataclass(frozen=True, eq=False)
class Load:
    """A place that reads a name or an attribute; without a statement if it is in a default, a decorator or the like."""

    node: ast.Name | ast.Attribute
    scope: Scope | None = None
    statement: Statement | None = None


@dataclass(eq=False)
class FileIndex(FileText):
    """One file of a project, which is parsed when its contents are first needed."""

    project: Project
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.memory = self.project.memory

    @cached_property
    @phase("scopes")
    def tree(self) -> ast.Module:
        """The parsed file; an empty module if it does not parse, which is noted in the project."""
        if self.project.on_parse is not None:
            self.project.on_parse()
        try:
            with phase("ast.parse"):
                tree = ast.parse(self.source.text)
            self.scopes = FileScopes(tree, Names(self.module, self.is_package))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.project.broken[self.path] = error
            tree = ast.Module([], [])
            self.scopes = FileScopes(tree, Names(self.module, self.is_package))
        return tree

    @cached_property
    def scopes(self) -> FileScopes:
        """The functions, classes and statements of the file."""
        _ = self.tree  # sets the scopes of its file when they are first needed
        return self.scopes

    def scopes_where(self, answer: Callable[[Place], bool]) -> list[Scope]:
        """The functions that satisfy a test, which may only look at them and at the names of the file."""
        return [scope for scope in self.scopes.scopes if answer(Place(self, scope))]

    def row(self, node: ast.AST) -> int:
        """The row of a node. Cached answers must get it here, since an edit above moves the node."""
        return node.lineno  # type: ignore[attr-defined, no-any-return]  # a statement or an expression

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        return self.scopes.names

    @property
    @phase("syntax")
    def syntax_error(self) -> Exception | None:
        """The syntax error of the file; only runs the compiler if the tree is not needed."""
        if not self.is_parsed:
            try:
                symtable.symtable(self.source.text, self.path, "exec")
            except Exception:  # includes errors that only the compiler reports, so the parser has to run too
                _ = self.tree  # this notes the error in the project
        return self.project.broken.get(self.path)

    @property
    def is_parsed(self) -> bool:
        """Whether the tree has been needed so far."""
        return "tree" in vars(self)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every name that the file reads or binds (attributes are not names)."""
        found = {
            name
            for node in walk(self.tree)
            for name in (getattr(node, "id", None), getattr(node, "arg", None), getattr(node, "name", None))
            if isinstance(name, str)
        }
        return self.names.bound | found

    @cached_property
    def loads(self) -> Mapping[str, list[Load]]:
        """The places where the file reads a name or an attribute, by that name."""
        found: dict[str, list[Load]] = {}
        definitions: list[ast.expr] = []
        for scope in self.scopes.scopes:
            for name, mentions in mentions_in(scope).items():
                reads = [Load(each.node, scope, each.statement) for each in mentions if each.is_read]
                found.setdefault(name.removeprefix("."), []).extend(reads)
            definitions += (*scope.decorators, *scope.args.defaults, *filter(None, scope.args.kw_defaults))
        for owner in self.scopes.classes.values():
            definitions += owner.node.decorator_list + owner.node.bases + [item.value for item in owner.node.keywords]
        for item in (part for node in definitions for part in walk(node)):
            if isinstance(item, (ast.Name, ast.Attribute)):
                found.setdefault(item.id if isinstance(item, ast.Name) else item.attr, []).append(Load(item))
        return {name: reads for name, reads in found.items() if reads}

    @property
    def statements(self) -> Iterator[tuple[Scope, Statement]]:
        """The statements of the file, scope by scope."""
        return ((scope, statement) for scope in self.scopes.scopes for statement in scope.statements)

    @property
    def calls(self) -> Iterator[tuple[Scope, Statement, ast.Call]]:
        """The calls of the file, each with its statement."""
        return ((scope, statement, call) for scope, statement in self.statements for call in statement.calls)

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, ast.Call]]:
        """The calls whose last name is this one, each with its statement."""
        return self._calls.get(name, [])

    def loads_named(self, name: str) -> list[Mention]:
        """The places in statements that read a name or an attribute: only searches where the text contains the name."""
        scopes = dict.fromkeys(scope for scope, _ in self._statements_at(places(self.source.text, name)))
        found = (mentions_in(scope).get(key, ()) for scope in scopes for key in (name, f".{name}"))
        return [mention for mentions in found for mention in mentions if mention.is_read]

    @cached_property
    def _calls(self) -> Mapping[str, list[tuple[Scope, Statement, ast.Call]]]:
        """All calls of the file by their last names."""
        return gathered((terminal(each[2]) or "", each) for each in self.calls)

    def statements_at(self, pattern: re.Pattern[str]) -> Iterator[tuple[Scope, Statement]]:
        """The statements in whose own rows a match of a pattern begins, scope by scope."""
        return self._statements_at(match.start() for match in pattern.finditer(self.source.rows_text))

    def _statements_at(self, offsets: Iterable[int]) -> Iterator[tuple[Scope, Statement]]:
        rows = list(dict.fromkeys(self.source.lines.position(offset)[0] for offset in offsets))
        return statements_on(self.scopes, rows) if rows else iter(())

    @cached_property
    def is_foreign(self) -> bool:
        """Whether it is code for another framework: it imports one, and uses nothing from Paddle."""
        if not self.has_words(*_OTHER_FRAMEWORKS) or self.names.packages.isdisjoint(_OTHER_FRAMEWORKS):
            return False
        return not any("paddle" in package for package in self.names.packages) or not self._uses_paddle

    @property
    def _uses_paddle(self) -> bool:
        """Whether anything reads a name that is imported from Paddle, or from something built on it."""
        bound = {name for name in self.names.bound if "paddle" in self.names.resolve(name).partition(".")[0]}
        return any("paddle" in star for star in self.names.stars) or any(self.loads.get(name) for name in bound)

    def close(self) -> None:
        """Take the tree apart, whose parts refer to one another."""
        for scope in self.scopes.scopes:
            scope.statements.clear()
            scope.functions.clear()
        for owner in self.scopes.classes.values():
            owner.methods.clear()
            owner.attributes.clear()
        self.tree.body.clear()


class Located(NamedTuple):
    """A call, and where it is."""

    call: ast.Call
    place: Place


@dataclass(frozen=True)
class FunctionRun:
    """One run of a function: the call that starts it, and the one that created the object whose method it is.

    Either is None if it is not known.
    """

    scope: Scope
    call: Located | None = None
    made: Located | None = None


class Place(NamedTuple):
    """Where an expression is evaluated: in a statement of a function, or (``statement`` is None) anywhere in it.

    ``run``: what is known of the run of the function; the place of its call knows the run before it, and so on.
    """

    file: FileIndex
    scope: Scope
    statement: Statement | None = None
    run: FunctionRun | None = None

    def at(self, scope: Scope, statement: Statement | None) -> Place:
        """Another place in the same file."""
        return Place(self.file, scope, statement, self.run)

    @property
    def function(self) -> Place:
        """Anywhere in the same function."""
        return Place(self.file, self.scope)

    def entered(self, call: ast.Call, at: Place) -> Place:
        """The inside of a function, when a call at this place runs it; methods of ``self`` know the same object."""
        is_own = (dotted(call.func) or "").startswith("self.")
        return Place(at.file, at.scope, None, FunctionRun(at.scope, Located(call, self), self.made if is_own else None))

    def before(self, statement: Statement | None) -> Place:
        """The place of a statement of the function: what is bound before it counts there."""
        return Place(self.file, self.scope, statement, self.run)

    @property
    def memory(self) -> Memory:
        """The answers of the project, for queries about a place."""
        return self.file.memory

    @property
    def made(self) -> Located | None:
        """The call that created the object whose method this place is in, if it is known."""
        return self.run.made if self.run is not None and self.run.scope is self.scope else None

    @property
    def runs(self) -> Iterator[FunctionRun]:
        """The runs of functions that lead here, the innermost first."""
        run = self.run
        while run is not None:
            yield run
            run = run.call.place.run if run.call is not None else None

    def run_of(self, scope: Scope) -> FunctionRun | None:
        """The run of a function on the path here whose call is known: this one, or one that led to it."""
        return next((run for run in self.runs if run.scope is scope and run.call is not None), None)


Kinds = list[Kind]
NamedKinds = dict[str, Kind]
"""The kinds of the arguments of a call: by position, and by name."""


class Resolver(NamedTuple):
    """What evaluators of expressions need from a project: the results of calls and attributes.

    ``flow/resolving.py`` fills it in, which is above the evaluator because it needs one.
    """

    call_project: Callable[[FileIndex, str, Kinds, NamedKinds], Kind | None]
    """The result of a function or class of the project by qualified name, None if it is neither."""
    call_method: Callable[[str, str, Kinds, NamedKinds], Kind | None]
    """The result of a method of a project class, None if there is none."""
    call_function: Callable[[str, Kinds, NamedKinds], Kind | None]
    """The result of calling a function that is a value."""
    attribute: Callable[[str, str], Kind | None]
    """The kind of an attribute of a project class, from the assignments to ``self.name``."""
    forward_parts: Callable[[str, Kinds, NamedKinds], Kind | None]
    """The parts of the result of calling a layer of the project, if some are numbers; None otherwise."""
    call_looked_up: Callable[[FileIndex, ast.Call, Kinds, NamedKinds], Kind | None]
    """The result of a function or class that a call looks up by a literal name, None if it is not known."""
    handed: Callable[[Place], Mapping[str, Kind]]
    """The kinds of objects that the known callers pass to a function, by parameter."""


class Project:
    """All files of a run.

    ``files``: by path; files that do not parse are empty, and are in ``broken`` with the error once it is known.
    ``modules``: the same by the parts of their modules' names, a package by those of its folder.
    ``parts``: the parts that answer questions about the project, one of each class.
    ``loaders``: the functions that create loaders, by qualified name, as declared in the configuration.
    ``inputs``: what the files of other kinds say that belong to the project.
    ``budgets``: what its training steps may have at most.

    Args:
        sources: every readable file by path.
        settings: the settings of the run (default: those of a run without configuration).
        memory: stores the answers (default: a new one).
    """

    resolving: Resolver
    is_edited = False
    """Whether files can change while the project exists."""

    @phase("index")
    def __init__(
        self,
        sources: Mapping[str, Source],
        settings: Settings | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.memory = Memory() if memory is None else memory
        self.parts: dict[type, Any] = {}
        settings = settings or Settings()
        self.loaders, self.inputs, self.budgets = settings.loaders, settings.inputs, settings.budgets
        self.broken: dict[str, Exception] = {}
        self.on_parse: Callable[[], None] | None = None
        """Called when a file is parsed, which shows how far the analysis is: most of its time precedes the checks."""
        self.files: dict[str, FileIndex] = {}
        self.modules: dict[tuple[str, ...], FileIndex] = {}
        for path, parts in relative_parts(sources, common_root(sources)).items():
            file = self.files[path] = self._file(sources[path], module_parts(parts))
            self.modules[file.parts[:-1] if file.is_package else file.parts] = file
        self.mentions = self._mentions()

    def _file(self, source: Source, parts: tuple[str, ...]) -> FileIndex:
        return FileIndex(source, parts, self)

    def _mentions(self) -> Mentions[FileIndex]:
        return Mentions(self.files.values())

    def close(self) -> None:
        """Free everything. The parts of an index refer to one another, so otherwise only the garbage collector could
        free them, and it is paused while a project is checked.
        """
        for file in self.files.values():
            if file.is_parsed:
                file.close()
        self.files.clear()
        self.modules.clear()
        self.memory.clear()
        self.parts.clear()


# A part of the index answers one kind of question about a project, such as who calls a function.

P = TypeVar("P", bound="Part")


class Part:
    """Answers questions about one project, cached in the project's memory. Each project has one instance of each class.

    Args:
        project: the project.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self.memory = project.memory

    @classmethod
    def of(cls: type[P], project: Project) -> P:
        """The instance of this class that belongs to a project."""
        known = project.parts.get(cls)
        if known is None:
            known = project.parts[cls] = cls(project)
        return known
