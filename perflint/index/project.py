"""A project and its files: what is parsed of them, and the memory that keeps what is worked out of them.

Nothing is worked out here.  A question about a project is a function, or a method of a ``Part``, in a module above this
one; ``opening.opened`` makes a project that all of them can be asked about.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from perflint.configuration.settings import Settings
from perflint.index.claims import Claims
from perflint.index.kinds import Kind
from perflint.index.mentions import Mentions
from perflint.inputs.projects import common_root, relative_parts
from perflint.query import Memory
from perflint.syntax.file_text import FileText, module_parts
from perflint.syntax.names import Names
from perflint.syntax.scopes import FileScopes, Scope, Statement, headers, statements_on, terminal
from perflint.syntax.tree import walk
from perflint.syntax.words import places
from perflint.text.source import Source

_OTHER_FRAMEWORKS = frozenset(
    {"torch", "tensorflow", "mxnet", "jax", "mindspore", "oneflow", "keras", "pytorch_lightning"}
)
_MOST_LOOKS = 64
"""Names for whose calls a file is searched one by one; where more are asked for, all of its calls are listed once."""


@dataclass(frozen=True, eq=False)
class Load:
    """A place that reads a name or an attribute; without a statement: in a default, a decorator or the like."""

    node: ast.Name | ast.Attribute
    scope: Scope | None
    statement: Statement | None


class NamedLoad(NamedTuple):
    """A place in a statement that reads a name or an attribute."""

    scope: Scope
    statement: Statement
    node: ast.Name | ast.Attribute


@dataclass(eq=False)
class _Calls:
    """The calls of a text by their last names, as far as they have been asked for (``is_all``: all of them)."""

    text: str
    of: dict[str, list[tuple[Scope, Statement, ast.Call]]] = field(default_factory=dict)
    is_all: bool = False


@dataclass(eq=False)
class FileIndex(FileText):
    """One file of a project, which is parsed when something asks for what is in it."""

    project: Project
    memory: Memory = field(init=False)
    _asked_calls: _Calls | None = None

    def __post_init__(self) -> None:
        self.memory = self.project.memory

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file; an empty module where it does not parse, which the project is then told."""
        if self.project.parsed is not None:
            self.project.parsed.take(self.path)
        try:
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
        _ = self.tree  # sets the scopes of its file when it is first asked for
        return self.scopes

    def scopes_where(self, answer: Callable[[FileIndex, Scope], bool]) -> list[Scope]:
        """The functions for which a function says so that looks at them and at the names of the file alone."""
        return [scope for scope in self.scopes.scopes if answer(self, scope)]

    def row(self, node: ast.AST) -> int:
        """The row of a node.  An answer that is remembered asks for it here, since an edit above moves the node."""
        return node.lineno  # type: ignore[attr-defined, no-any-return]  # a statement or an expression

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        return self.scopes.names

    @property
    def syntax_error(self) -> Exception | None:
        """What keeps Python from parsing the file; asks the compiler alone where the tree is not needed."""
        if not self.is_parsed:
            try:
                symtable.symtable(self.source.text, self.path, "exec")
            except Exception:  # also of what only the compiler minds, so the parser has to be asked
                _ = self.tree  # tells the project what is wrong
        return self.project.broken.get(self.path)

    @property
    def is_parsed(self) -> bool:
        """Whether anything has asked for the tree so far."""
        return "tree" in vars(self)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every name that the file reads or binds (attributes are no names)."""
        found = {
            name
            for node in walk(self.tree)
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

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, ast.Call]]:
        """The calls whose last name is this one, each with its statement: looks only where the text has the name."""
        known = self._asked_calls
        if known is None or known.text is not self.source.text:  # after an edit, all begins again
            known = self._asked_calls = _Calls(self.source.text)
        if name not in known.of and not known.is_all:
            if len(known.of) >= _MOST_LOOKS:
                known.of, known.is_all = self._all_calls(), True
            else:
                known.of[name] = [
                    (scope, statement, call)
                    for scope, statement in self._statements_at(places(self.source.text, name))
                    for call in statement.calls
                    if terminal(call) == name
                ]
        return known.of.get(name, [])

    def loads_named(self, name: str) -> list[NamedLoad]:
        """The places in statements that read a name or an attribute: looks only where the text has the name."""
        return [
            NamedLoad(scope, statement, item)
            for scope, statement in self._statements_at(places(self.source.text, name))
            for header in headers(statement.node)
            for item in walk(header)
            if (isinstance(item, ast.Name) and item.id == name)
            or (isinstance(item, ast.Attribute) and item.attr == name)
            if isinstance(item.ctx, ast.Load)
        ]

    def _all_calls(self) -> dict[str, list[tuple[Scope, Statement, ast.Call]]]:
        """All calls of the file by their last names: quicker than to look for each of hundreds of names."""
        found: dict[str, list[tuple[Scope, Statement, ast.Call]]] = {}
        for scope in self.scopes.scopes:
            for statement in scope.statements:
                for call in statement.calls:
                    found.setdefault(terminal(call) or "", []).append((scope, statement, call))
        return found

    def statements_at(self, pattern: re.Pattern[str]) -> Iterator[tuple[Scope, Statement]]:
        """The statements in whose own rows a match of a pattern begins, scope by scope."""
        return self._statements_at(match.start() for match in pattern.finditer(self.source.text))

    def _statements_at(self, offsets: Iterable[int]) -> Iterator[tuple[Scope, Statement]]:
        rows = list(dict.fromkeys(self.source.lines.position(offset)[0] for offset in offsets))
        return statements_on(self.scopes, rows) if rows else iter(())

    @cached_property
    def is_foreign(self) -> bool:
        """Code for another framework: it imports one, and nothing of Paddle's."""
        if not self.has_words(*_OTHER_FRAMEWORKS):
            return False
        packages = self.names.packages
        return bool(packages & _OTHER_FRAMEWORKS) and not any("paddle" in package for package in packages)

    def close(self) -> None:
        """Take the tree apart, whose parts point at one another."""
        for scope in self.scopes.scopes:
            scope.statements.clear()
            scope.functions.clear()
        for owner in self.scopes.classes.values():
            owner.methods.clear()
            owner.attributes.clear()
        self.tree.body.clear()


def _add_loads(node: ast.expr, scope: Scope | None, statement: Statement | None, found: dict[str, list[Load]]) -> None:
    for item in walk(node):
        if isinstance(item, (ast.Name, ast.Attribute)) and isinstance(item.ctx, ast.Load):
            name = item.id if isinstance(item, ast.Name) else item.attr
            found.setdefault(name, []).append(Load(item, scope, statement))


class Resolver(Protocol):
    """What evaluators of expressions ask of a project: what calls of its functions, classes and attributes give.

    ``resolving.py`` answers, which is above the evaluator because it needs one.
    """

    def call_project(self, file: FileIndex, name: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a function or class of the project by qualified name, None when it is neither."""

    def call_method(self, owner: str, method: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a method of a project class, None when there is none."""

    def forward_parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The parts of what a layer of the project gives when it is called, where some are numbers; None otherwise."""

    def call_looked_up(
        self, file: FileIndex, call: ast.Call, arguments: list[Kind], keywords: dict[str, Kind]
    ) -> Kind | None:
        """The result of a function or class that a call looks up by a literal name, None when it is not known."""

    def call_function(self, qualified: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a function that is held as a value."""

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of an attribute of a project class, from the assignments to ``self.name``."""

    def handed(self, file: FileIndex, scope: Scope) -> Mapping[str, Kind]:
        """The kinds of objects that the known callers hand to a function, by parameter."""


class Project:
    """All files of a run.

    ``files``: by path; files that do not parse hold nothing, and are in ``broken`` with the error once that is known.
    ``modules``: the same by the parts of their modules' names, a package by those of its folder.
    ``parts``: what answers questions about the project, one of each class.
    ``loaders``: the functions that make loaders, by qualified name, as the configuration declares them.
    ``inputs``: what the files of other kinds say that belong to the project.

    Args:
        sources: every readable file by path.
        settings: of the run (default: those of a run without configuration).
        memory: keeps the answers; of its own where none is given.
    """

    resolving: Resolver
    is_edited = False
    """Whether files change while the project is there."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        settings: Settings | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.memory = Memory() if memory is None else memory
        self.parts: dict[type, Any] = {}
        settings = settings or Settings()
        self.loaders, self.inputs = settings.loaders, settings.inputs
        self.broken: dict[str, Exception] = {}
        self.parsed: Claims | None = None
        """Where processes share the project: the files that this one has parsed."""
        self.stepped: Claims | None = None
        """Where processes share the project: the files in which steps have been found so far."""
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
        """Let go of everything.  The parts of an index point at one another, so nothing else would free them before
        the garbage collector runs, and that is paused while a project is checked."""
        for file in self.files.values():
            if file.is_parsed:
                file.close()
        self.files.clear()
        self.modules.clear()
        self.memory.clear()
        self.parts.clear()
