"""One file of the project: its tree, names and scopes, and what becomes known at each statement."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from perflint.index.evaluate import Env
from perflint.index.flow import Flow, with_comprehensions
from perflint.index.kinds import Kind
from perflint.index.mentions import Uses, folded, is_called, is_derived, is_held, places, uses, words
from perflint.index.names import Names
from perflint.index.scopes import FileScopes, Loop, Scope, Statement, headers, statements_on, terminal
from perflint.index.tree import walk
from perflint.query import query
from perflint.text.source import Source

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

_STATIC = re.compile(r"enable_static\(|program_guard\(|static\.Executor\(|fluid\.Executor\(")
_STATIC_WORDS = frozenset({"enable_static", "program_guard", "Executor"})

Answer = TypeVar("Answer")
_NO_KINDS: Env = {}
_MOST_LOOKS = 64
"""Names that a text is searched for one by one; where more are asked for, it is read once for all of them."""
_STAR = re.compile(r"import[\s\\(]*\*")


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
class FileIndex:
    """One parsed file of the project; also the ``Resolver`` of its expressions."""

    source: Source
    parts: tuple[str, ...]
    project: Project
    points: dict[ast.stmt, Point] = field(default_factory=dict)
    _asked_calls: _Calls | None = None
    reading_calls: dict[int, Read] = field(default_factory=dict)
    """Calls in step loops, by offset, of which a helper in another file reads the device; with the read's place."""

    def __post_init__(self) -> None:
        self.memory = self.project.memory

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__.py`` of a package."""
        return self.parts[-1] == "__init__"

    @cached_property
    def module(self) -> str:
        """The dotted name of the module."""
        return ".".join(self.parts[:-1] if self.is_package else self.parts)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the text, comments and strings among them: no name that is missing here is in the file."""
        return words(self.source.text)

    @cached_property
    def _folded(self) -> str:
        return folded(self.source.text)

    @cached_property
    def _known(self) -> dict[tuple[str, str], bool]:
        return {}

    def _told(self, how: str, name: str, answer: Callable[[str, str], bool]) -> bool:
        """What the text says of a name, asked once: functions of the same name in many files ask all files again."""
        key = how, name
        if key not in self._known:
            told = answer(self._folded, name) if len(self._known) < _MOST_LOOKS else name in getattr(self._uses, how)
            self._known[key] = told
        return self._known[key]

    @cached_property
    def _uses(self) -> Uses:
        return uses(self.source.text)

    def may_call(self, name: str) -> bool:
        """Whether something by this name is called, as the text has it."""
        return self._told("called", name, is_called)

    def may_hold(self, name: str) -> bool:
        """Whether something by this name stands in the text without being called."""
        return self._told("others", name, is_held)

    def may_derive(self, name: str) -> bool:
        """Whether a class has a base of this name, as the text has it."""
        return self._told("bases", name, is_derived)

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file; an empty module where it does not parse, which the project is then told."""
        if self.project.parsed is not None:
            self.project.parsed.take(self.source.path)
        try:
            tree = ast.parse(self.source.text)
            self.scopes = FileScopes(tree, Names(self.module, self.is_package))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.project.broken[self.source.path] = error
            tree = ast.Module([], [])
            self.scopes = FileScopes(tree, Names(self.module, self.is_package))
        return tree

    @cached_property
    def scopes(self) -> FileScopes:
        """The functions, classes and statements of the file."""
        _ = self.tree  # sets the scopes of its file when it is first asked for
        return self.scopes

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it; ``question`` names the function and what else it is given."""
        return answer(self.source.text)

    def of_itself(self, question: str, answer: Callable[[FileIndex], Answer]) -> Answer:
        """What a function of this file alone says of it, which it says again after most edits; no nodes of the tree."""
        return answer(self)

    def scopes_where(self, question: str, answer: Callable[[FileIndex, Scope], bool]) -> list[Scope]:
        """The functions for which a function says so that looks at them and at the names of the file alone."""
        return [scope for scope in self.scopes.scopes if answer(self, scope)]

    def of_scope(self, question: Hashable, scope: Scope, answer: Callable[[], Answer]) -> Answer:
        """What a function says of one function of the file, whatever it asks; no rows and offsets."""
        return answer()

    def has(self, piece: str) -> bool:
        """Whether a piece of text stands in the file, be it in a comment."""
        return self.of_text(("has", piece), lambda text: piece in text)

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches somewhere in the text."""
        return self.of_text(("matches", pattern.pattern), lambda text: pattern.search(text) is not None)

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        return self.scopes.names

    @cached_property
    def may_have_stars(self) -> bool:
        """Whether the text allows for a ``from x import *``."""
        return bool(_STAR.search(self.source.text))

    @property
    def syntax_error(self) -> Exception | None:
        """What keeps Python from parsing the file; asks the compiler alone where the tree is not needed."""
        if not self.is_parsed:
            try:
                symtable.symtable(self.source.text, self.source.path, "exec")
            except Exception:  # also of what only the compiler minds, so the parser has to be asked
                _ = self.tree  # tells the project what is wrong
        return self.project.broken.get(self.source.path)

    @property
    def is_parsed(self) -> bool:
        """Whether anything has asked for the tree so far."""
        return "tree" in vars(self)

    @cached_property
    def is_quiet(self) -> bool:
        """Test code: nothing is reported there."""
        return any(_QUIET_PARTS.match(part) for part in self.parts)

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
        if known is None or known.text is not self.source.text:  # after an edit, all begins anew
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
        if self.words.isdisjoint(_OTHER_FRAMEWORKS):
            return False
        packages = self.names.packages
        return bool(packages & _OTHER_FRAMEWORKS) and not any("paddle" in package for package in packages)

    @property
    @query
    def knows_paddle(self) -> bool:
        """Whether the file, or a file of the project that it imports from, imports Paddle or something built on it."""
        if any("paddle" in package for package in self.names.packages):
            return True
        imported = (self.project.find(target, self) for target in self.names.targets)
        return any(found and any("paddle" in package for package in found[0].names.packages) for found in imported)

    @cached_property
    def scales(self) -> bool:
        """Whether the text names a scaler of gradients."""
        return "scaler" in self.source.text.lower()

    @cached_property
    def is_static(self) -> bool:
        """Whether the file builds static graphs."""
        return not self.words.isdisjoint(_STATIC_WORDS) and bool(_STATIC.search(self.source.text))

    @cached_property
    def is_offline(self) -> bool:
        """Code that only predicts, exports or serves: its speed is not the ips of a training run."""
        return any(_OFFLINE_PARTS.search(part) for part in self.parts) and ".backward(" not in self.source.text

    @property
    @query(cycle=_NO_KINDS)  # a global that needs itself is unknown while it is worked out
    def module_env(self) -> Env:
        """The kinds of the module's globals at its end."""
        return Flow(self.scopes.module, self, {}, guess_losses=False).run().final

    def resolve(self, name: str) -> str:
        """The qualified name of a local dotted name."""
        return self.names.resolve(name)

    def call_project(self, name: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a project function or class by qualified name."""
        return self.project.resolving.call_project(self, name, arguments, keywords)

    def call_method(self, owner: str, method: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a method of a project class."""
        return self.project.resolving.call_method(owner, method, arguments, keywords)

    def forward_parts(self, owner: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The parts of what a layer of the project gives when it is called, where some are numbers; None otherwise."""
        return self.project.resolving.forward_parts(owner, arguments, keywords)

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
        return self.project.resolving.call_looked_up(self, call, arguments, keywords)

    def call_function(self, qualified: str, arguments: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """The result of a function that is held as a value."""
        return self.project.resolving.call_function(qualified, arguments, keywords)

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of an attribute of a project class, from the assignments to ``self.name``."""
        return self.project.resolving.attribute(owner, name)


def _add_loads(node: ast.expr, scope: Scope | None, statement: Statement | None, found: dict[str, list[Load]]) -> None:
    for item in walk(node):
        if isinstance(item, (ast.Name, ast.Attribute)) and isinstance(item.ctx, ast.Load):
            name = item.id if isinstance(item, ast.Name) else item.attr
            found.setdefault(name, []).append(Load(item, scope, statement))


def module_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A file's module name in parts, from the parts of its path as seen from the root of the project."""
    last = parts[-1].rpartition(".")[0].lstrip(".") and parts[-1].rpartition(".")[0]
    return tuple(part.replace(".", "_") for part in (*parts[:-1], last or parts[-1]))
