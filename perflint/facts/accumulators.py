"""A number or a list that a loop adds to: its initial value, and what can read it before the end of the loop.

A fix makes the loop add tensors and converts them to numbers afterwards. In between nothing else may read them. This
module finds what may: a second name of a list, a closure, a handler of an exception in the loop, a `finally`, the code
after a `with` that suppresses errors. ``onlookers.py`` finds code elsewhere that may.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from perflint.facts.onlookers import may_look_at
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.scopes import FUNCTIONS, LOOPS, TRIES, Loop, Place, Scope, Statement, exits, stops_errors
from perflint.syntax.tree import children, walk

_BUILTINS = frozenset({"locals", "vars", "eval", "exec", "globals"})
_FRAMES = frozenset({"currentframe", "_getframe", "inspect.stack"})
_SEES_NAMES = _BUILTINS | _FRAMES | {"stack"}
"""Functions that see all names of their caller."""

_INTERRUPTS = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration", "BdbQuit"})
"""Exceptions after which the device can still be read."""

_LEAVES_THE_FUNCTION = (ast.Return, ast.Raise)


@dataclass(frozen=True)
class Use:
    """One place that mentions a name.

    Attributes:
        node: the name.
        parents: the nodes around it, from its statement to its parent.
        statement: the statement that it is in.
    """

    node: ast.Name
    parents: tuple[ast.AST, ...]
    statement: Statement

    @property
    def parent(self) -> ast.AST:
        """The parent node of the name."""
        return self.parents[-1]


class ScopeUses:
    """What a function or a module does with all of its names; ``uses_in`` computes this once for all callers.

    Args:
        scope: the function or the module.
        file: its file.
    """

    def __init__(self, scope: Scope, file: FileIndex) -> None:
        self.scope = scope
        self.file = file
        self.by_name: dict[str, list[Use]] = {}
        self.statements = {statement.node: statement for statement in scope.statements}
        self.jumps = [item for item in scope.statements if isinstance(item.node, (ast.Break, ast.Continue))]
        self.sees_all_names = False
        """Whether it calls ``locals()`` or the like, or passes such a function on."""

        self.generators: dict[str, list[ast.GeneratorExp]] = {}
        self._hidden: set[str] = _names_of_functions(scope, file)
        for statement in scope.statements:
            for use in _uses(statement):
                self.by_name.setdefault(use.node.id, []).append(use)
        self._bound = {
            use.node.id for uses in self.by_name.values() for use in uses if isinstance(use.node.ctx, ast.Store)
        }
        self._bound |= {item.arg for item in walk(scope.node) if isinstance(item, ast.arg)}
        asked: set[ast.AST] = set()
        for item in walk(scope.node):
            if isinstance(item, (ast.Name, ast.Attribute)):
                self.sees_all_names = self.sees_all_names or self._sees_all(item, item in asked)
            elif isinstance(item, ast.Call) and item.args:
                asked.add(item.func)
            else:
                self._look_at(item)

    @cached_property
    def by_chain(self) -> Mapping[str, Sequence[Use]]:
        """The places that mention a dotted name, or an attribute of it: ``self.losses.avg`` for ``self.losses``."""
        found: dict[str, list[Use]] = {}
        for name, uses in self.by_name.items():
            for use in uses:
                chain = name
                found.setdefault(chain, []).append(use)
                for parent in reversed(use.parents):
                    if not isinstance(parent, ast.Attribute):
                        break
                    chain = f"{chain}.{parent.attr}"
                    found.setdefault(chain, []).append(use)
        return found

    def binds(self, name: str) -> bool:
        """Whether the scope binds a name itself."""
        return name in self._bound

    def is_hidden(self, name: str) -> bool:
        """Whether something may read or change the value of a name without a visible use.

        That is a function, a lambda or a class with the name in it, or an import, a ``global`` or an ``except ... as``
        that binds it.
        """
        return self.sees_all_names or self.is_shared(name)

    def is_shared(self, name: str) -> bool:
        """Whether a function, a lambda, a class, an import or the like in the scope uses a name, too."""
        return name in self._hidden

    def _look_at(self, item: ast.AST) -> None:
        if isinstance(item, (ast.Global, ast.Nonlocal)):
            self._hidden.update(item.names)
        elif isinstance(item, (ast.Lambda, ast.ClassDef, *FUNCTIONS)):
            self._hidden |= set() if item is self.scope.node else plain_names(item)
        elif isinstance(item, ast.GeneratorExp):
            for name in plain_names(item):
                self.generators.setdefault(name, []).append(item)
        elif isinstance(item, ast.comprehension):
            self._hidden |= plain_names(item.target)
        elif isinstance(item, ast.alias):
            self._hidden.add(item.asname or item.name)
        else:  # `except ... as name`, `case name`
            self._hidden |= {name for name in (getattr(item, "name", None), getattr(item, "rest", None)) if name}

    def _sees_all(self, node: ast.Name | ast.Attribute, is_asked: bool) -> bool:
        """Whether a function that sees the names of its caller is meant; ``is_asked``: it is called with arguments."""
        last = node.id if isinstance(node, ast.Name) else node.attr
        if last not in _SEES_NAMES and not (isinstance(node, ast.Name) and self.file.names.is_bound(last)):
            return False
        meant = self.file.names.resolve(dotted(node) or f"?.{last}").removeprefix("builtins.")
        if meant in _BUILTINS:
            return not (meant == "vars" and is_asked) and not self.binds(meant)
        return meant in _FRAMES or meant.rpartition(".")[2] in _FRAMES


@query
def uses_in(file: FileIndex, scope: Scope) -> ScopeUses:
    """What a function or a module does with all of its names."""
    return ScopeUses(scope, file)


@dataclass(frozen=True)
class Ending:
    """Where the tensors that a loop has collected become numbers again.

    Attributes:
        last: the statement after which that is done: the loop, or the ``try`` or ``with`` around it whose handlers may
            continue after an exception in the loop.
        is_read: whether anything after ``last`` reads the value.
        after_errors: whether some of the code that reads the value runs after an exception of any kind.
    """

    last: ast.stmt
    is_read: bool
    after_errors: bool


class Accumulator:
    """What a scope does with one name that a loop adds to.

    Args:
        name: a plain name, such as ``total``.
        loop: the loop that adds to it.
        scope: what the function or the module of the loop does with its names.
    """

    def __init__(self, name: str, loop: Loop, scope: ScopeUses) -> None:
        self.name = name
        self.uses = scope.by_name.get(name, [])
        self._loop = loop
        self._scope = scope

    @property
    def is_hidden(self) -> bool:
        """Whether something may read or change the value without a visible use of the name: a closure, a generator."""
        made_before = [item for item in self._scope.generators.get(self.name, ()) if not _is_inside(item, self._loop)]
        return self._scope.is_hidden(self.name) or bool(made_before)

    @property
    def is_seen_elsewhere(self) -> bool:
        """Whether code outside of the function, or of the module, may read the name while the loop runs."""
        return may_look_at(self._scope.file, self._scope.scope, self.name)

    @property
    def has_other_names(self) -> bool:
        """Whether a statement that makes the value also gives it another name: ``self.losses = losses = []``."""
        nodes = [item.node for item in self.bindings]
        return any(not isinstance(node, ast.AnnAssign) and len(getattr(node, "targets", ())) != 1 for node in nodes)

    @cached_property
    def bindings(self) -> list[Statement]:
        """The statements that bind the name or add to it."""
        return list(dict.fromkeys(use.statement for use in self.uses if not isinstance(use.node.ctx, ast.Load)))

    @cached_property
    def entering(self) -> list[Statement] | None:
        """The statements that may have given the name its value at the start of the loop.

        None if the value may not come from this scope: a parameter, or a name that is only bound in a branch.
        """
        outside = [item for item in self.bindings if not self.is_in_loop(item)]
        before = [item for item in outside if _position(item.node) < _position(self._loop)]
        first = next(filter(self._binds_for_sure, reversed(before)), None)
        if first is None:
            return None
        again = [loop for loop in self._loops_around if not _is_in(first, loop)]
        return [
            item
            for item in outside
            if _position(item.node) >= _position(first.node)
            and (item in before or any(_is_in(item, loop) for loop in again))
        ]

    def _binds_for_sure(self, statement: Statement) -> bool:
        """Whether a statement before the loop always binds the name."""
        around = {(link.node, link.branch) for link in self._chain}
        links = ((link.node, link.branch) for link in statement.around)
        return not isinstance(statement.node, ast.AugAssign) and around.issuperset(links)

    @cached_property
    def ending(self) -> Ending | None:
        """Where the value may be converted to a number again; None if a jump skips every such place."""
        last, after_errors = self._last_with_handlers()
        beyond = [use for use in self.uses if self._is_behind(use.statement, last)]
        is_read = bool(beyond) or isinstance(self._scope.scope.node, ast.Module)
        if is_read and self._is_jumped_over(last):
            return None
        return Ending(last, is_read, after_errors)

    def is_in_loop(self, statement: Statement) -> bool:
        """Whether a statement is the loop or inside it."""
        return _is_in(statement, self._loop)

    def comes_before(self, statement: Statement) -> bool:
        """Whether a statement outside the loop may run before the loop, or before it runs again."""
        if _position(statement.node) < _position(self._loop):
            return True
        entering = self.entering or []
        return any(
            _is_in(statement, loop) and not any(_is_in(item, loop) for item in entering) for loop in self._loops_around
        )

    @cached_property
    def _chain(self) -> list[Place]:
        """The compound statements around the loop, from the inside out."""
        own = self._scope.statements.get(self._loop)
        return list(own.around) if own is not None else []

    @cached_property
    def _loops_around(self) -> list[ast.stmt]:
        return [link.node for link in self._chain if isinstance(link.node, LOOPS) and link.branch == "body"]

    def _is_behind(self, statement: Statement, last: ast.stmt) -> bool:
        """Whether a statement outside of ``last`` may run after it."""
        if _is_in(statement, last):
            return False
        loops = [link for link in self._loops_around if link is not last and _is_inside(last, link)]
        return _position(statement.node) > _position(last) or any(_is_in(statement, loop) for loop in loops)

    def _last_with_handlers(self) -> tuple[ast.stmt, bool]:
        """The outermost statement around the loop whose handlers, ``finally`` or exit lead to a use of the name."""
        last: ast.stmt = self._loop
        after_errors = False
        for link in self._chain:
            node = link.node
            if isinstance(node, TRIES):
                looks, errors = self._looked_at_by(node, link.branch)
                last, after_errors = (node, after_errors or errors) if looks else (last, after_errors)
            elif isinstance(node, (ast.With, ast.AsyncWith)) and self._is_used_behind(node):
                kinds = [stops_errors(item.context_expr) for item in node.items]
                if any(kind is not False for kind in kinds):
                    last, after_errors = node, after_errors or True in kinds
        return last, after_errors

    def _looked_at_by(self, node: ast.Try, branch: str) -> tuple[bool, bool]:
        """Whether an exception in a part of a ``try`` leads to a use of the name, and whether an error does."""
        finally_looks = any(self._is_used_in(item) for item in node.finalbody)
        looks, errors = finally_looks, finally_looks
        for handler in node.handlers if branch == "body" else ():
            goes_on = not (isinstance(handler.body[-1], _LEAVES_THE_FUNCTION) or exits(handler.body))
            if any(map(self._is_used_in, handler.body)) or (goes_on and self._is_used_behind(node)):
                looks = True
                errors = errors or not _is_interrupt(handler.type)
        return looks, errors

    def _is_used_in(self, node: ast.stmt) -> bool:
        return any(_is_in(use.statement, node) for use in self.uses)

    def _is_used_behind(self, node: ast.stmt) -> bool:
        return isinstance(self._scope.scope.node, ast.Module) or any(
            self._is_behind(use.statement, node) for use in self.uses
        )

    def _is_jumped_over(self, last: ast.stmt) -> bool:
        """Whether a ``break`` or ``continue`` for a loop around ``last`` leaves it."""
        return any(
            _is_in(item, last) and item.loop is not None and item.loop is not last and _is_inside(last, item.loop)
            for item in self._scope.jumps
        )


def _is_in(statement: Statement, node: ast.stmt) -> bool:
    """Whether a statement is a node, or anywhere inside it."""
    return statement.node is node or any(link.node is node and link.branch != "after" for link in statement.around)


def _is_inside(inner: ast.AST, outer: ast.AST) -> bool:
    """Whether a node is within the rows and columns of another."""
    return _position(outer) <= _position(inner) and _end(inner) <= _end(outer)


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_within(inner: Scope, outer: Scope) -> bool:
    scope: Scope | None = inner
    while scope is not None and scope is not outer:
        scope = scope.parent
    return scope is outer


def _uses(statement: Statement) -> Iterator[Use]:
    """The places in a statement's own parts that mention a name, in the order of the text."""
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]]
    stack = [(part, (statement.node,)) for part in reversed(_own_parts(statement.node))]
    while stack:
        item, parents = stack.pop()
        if isinstance(item, ast.Name):
            yield Use(item, parents, statement)
        else:
            inner = (*parents, item)
            stack += [(child, inner) for child in reversed(children(item))]


def _names_of_functions(scope: Scope, file: FileIndex) -> set[str]:
    """The names in nested functions of a scope; for a module, in all functions of the file."""
    is_module = isinstance(scope.node, ast.Module)
    return {
        name
        for other in file.scopes.scopes
        if other is not scope and (is_module or _is_within(other, scope))
        for name in plain_names(other.node)
    }


def _own_parts(node: ast.stmt) -> Sequence[ast.AST]:
    """The parts of a statement itself, without nested statements."""
    if isinstance(node, TRIES):
        return [handler.type for handler in node.handlers if handler.type is not None]
    if isinstance(node, ast.Match):
        guards = [case.guard for case in node.cases if case.guard is not None]
        return [node.subject, *(case.pattern for case in node.cases), *guards]
    return [child for child in children(node) if not isinstance(child, ast.stmt)]


def _is_interrupt(kind: ast.expr | None) -> bool:
    """Whether a handler is for exceptions that end a run from outside, not for errors."""
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(part is not None and (dotted(part) or "").rpartition(".")[2] in _INTERRUPTS for part in parts)
