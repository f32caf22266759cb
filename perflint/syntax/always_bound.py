"""Finds which names an import has always bound when a statement runs, so that an edit may use them there.

An import under ``if``, in a ``try`` that goes on without it, in another function or further down may not have run; a
parameter or an assignment may give its name to something else. ``if TYPE_CHECKING:`` never runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from perflint.query import gathered
from perflint.syntax.names import dotted, imported_name
from perflint.syntax.scopes import COMPREHENSIONS, FUNCTIONS, TRIES, Function, leaves
from perflint.syntax.tree import children, walk

_SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS)
_LET_THROUGH = frozenset(
    {"catch_warnings", "chdir", "closing", "device_guard", "guard", "nullcontext", "no_grad", "open", "patch"}
    | {"program_guard", "redirect_stderr", "redirect_stdout", "unique_name", "TemporaryDirectory"}
)
"""Context managers that let an error in their block through; another one may hide it, as ``suppress`` does."""


Code = ast.stmt | ast.expr


class Given(NamedTuple):
    """What an import binds a name to: ``import paddle.nn`` binds ``paddle`` to ``paddle``, and loads ``paddle.nn``."""

    name: str
    target: str
    loads: str


class _Step(NamedTuple):
    """One step of the way to a statement: a node, the block of it that the way goes through, and where."""

    node: ast.AST
    block: list[ast.stmt]
    at: int


def given_by(node: ast.stmt) -> list[Given]:
    """What an import statement binds; nothing for other statements, and relative or star imports."""
    if isinstance(node, ast.Import):
        return [Given(imported_name(alias), *_module(alias)) for alias in node.names]
    if not isinstance(node, ast.ImportFrom) or node.level:
        return []
    named = [(imported_name(alias), f"{node.module}.{alias.name}") for alias in node.names if alias.name != "*"]
    return [Given(name, target, target) for name, target in named]


def _module(alias: ast.alias) -> tuple[str, str]:
    return (alias.name if alias.asname else alias.name.partition(".")[0]), alias.name


def always_does(
    node: ast.stmt, does: Callable[[ast.stmt], bool], passes: Callable[[ast.Try], bool] | None = None
) -> bool:
    """Whether a statement, once it is complete, has always run a simple statement that passes a test.

    Args:
        node: the statement.
        does: the test.
        passes: which ``try`` statements get through their body in any case.
    """

    def some(block: Iterable[ast.stmt]) -> bool:
        return any(always_does(item, does, passes) for item in block)

    def each(block: list[ast.stmt]) -> bool:
        return bool(block) and (some(block) or leaves(block))

    if isinstance(node, ast.If):
        return each(node.orelse) and (is_for_types(node.test) or each(node.body))
    if isinstance(node, TRIES):
        is_through = passes is not None and passes(node)
        tried = some([*node.body, *node.orelse]) and (is_through or all(each(item.body) for item in node.handlers))
        return tried or some(node.finalbody)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return not any(map(_may_hide_errors, node.items)) and some(node.body)
    return does(node)


def is_for_types(test: ast.expr) -> bool:
    """Whether a test is only true for a type checker: ``if TYPE_CHECKING:``."""
    return (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


def _may_hide_errors(item: ast.withitem) -> bool:
    call = item.context_expr
    return not isinstance(call, ast.Call) or (dotted(call.func) or "").rpartition(".")[2] not in _LET_THROUGH


class AlwaysBound:
    """The names of one file that imports have always bound, by the place of a statement.

    Args:
        tree: the file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._of: dict[ast.AST, dict[str, list[ast.AST]]] = {}

    def spelled(self, target: str, root: str, node: Code, is_loaded: bool = False) -> str | None:
        """How code can write a qualified name: ``P.no_grad`` for ``paddle.no_grad``; None without such an import.

        Args:
            target: the name.
            root: the module that must have been imported: for ``paddle.fluid.io``, ``import paddle`` may not be enough.
            node: the code, or the function above which a decorator is put.
            is_loaded: whether the code only runs in a program that could import the package. Then a ``try`` of
                that import, and of nothing else, has not failed.
        """
        for item in self._given:
            is_in = f"{target}.".startswith(f"{item.target}.") and _is_part(item, root)
            if is_in and self._is_always(item, root, node, is_loaded):
                return item.name + target[len(item.target) :]
        return None

    def _is_always(self, given: Given, root: str, node: Code, is_loaded: bool) -> bool:
        """Whether a name always means what an import gives it where some code runs."""
        name, way, package = given.name, self._way(node), root.partition(".")[0]
        owner = self._owner(name, way)

        def alike(item: ast.stmt) -> list[Given]:
            return [each for each in given_by(item) if each[:2] == given[:2]]

        def gives(item: ast.stmt) -> bool:
            return any(_is_part(each, root) for each in alike(item))

        def passes(item: ast.Try) -> bool:
            return is_loaded and _tries_only(item, package)

        if owner is None:
            return False
        excused = [item for item in self._tries if passes(item)] if is_loaded else []
        allowed = {id(part) for item in excused for handler in item.handlers for part in walk(handler)}
        others = (item for item in self._bindings(owner).get(name, ()) if id(item) not in allowed)
        if not all(isinstance(item, ast.stmt) and alike(item) for item in others):
            return False
        return any(always_does(item, gives, passes) for item in _before(way, owner))

    def is_bound(self, name: str, node: Code) -> bool:
        """Whether the file gives a name any meaning that some code sees."""
        return self._owner(name, self._way(node)) is not None

    def is_looped_over(self, name: str) -> bool:
        """Whether a loop anywhere in the file binds a name, which would shadow an import of it."""
        loops = (ast.For, ast.AsyncFor, ast.comprehension)
        targets = (item.target for item in walk(self._tree) if isinstance(item, loops))
        return any(isinstance(part, ast.Name) and part.id == name for target in targets for part in walk(target))

    def is_another(self, name: str, target: str, node: Code) -> bool:
        """Whether a name may mean something else than a module there: a parameter, a function, another module."""
        owner = self._owner(name, self._way(node))
        found = self._bindings(owner).get(name, ()) if owner is not None else ()
        nothing = {id(part) for part in self._set_to_none} if found else set()
        return any(
            not any((each.name, each.target) == (name, target) for each in given_by(item))
            if isinstance(item, (ast.Import, ast.ImportFrom))
            else id(item) not in nothing
            for item in found
        )

    @property
    def of_module(self) -> frozenset[str]:
        """The names that the module binds, whether always or not."""
        return frozenset(self._bindings(self._tree))

    def function_of(self, node: Code) -> Function | None:
        """The function that a statement runs in; None for code of the module or of a class."""
        scope = next(step.node for step in reversed(self._way(node)) if isinstance(step.node, _SCOPES))
        return scope if isinstance(scope, FUNCTIONS) else None

    def above(self, node: Code) -> list[ast.stmt]:
        """The statements of the module that have run before the one that contains a statement."""
        first = self._way(node)[0]
        return first.block[: first.at]

    @cached_property
    def _tries(self) -> list[ast.Try]:
        return [item for item in walk(self._tree) if isinstance(item, TRIES)]

    @cached_property
    def _given(self) -> list[Given]:
        found = [item for item in walk(self._tree) if isinstance(item, (ast.Import, ast.ImportFrom))]
        return [each for item in sorted(found, key=lambda item: item.lineno) for each in given_by(item)]

    @cached_property
    def _set_to_none(self) -> list[ast.expr]:
        """The targets of ``paddle = None``."""
        found = (item for item in walk(self._tree) if isinstance(item, ast.Assign))
        nothing = [item for item in found if isinstance(item.value, ast.Constant) and item.value.value is None]
        return [target for item in nothing for target in item.targets]

    # -- scopes ------------------------------------------------------------------------------------------------

    def _way(self, node: Code) -> list[_Step]:
        """The way from the module to a statement, or to the one that contains an expression."""
        current: ast.AST | None = node if node in self._step_to else self._statement_of.get(node)
        way: list[_Step] = []
        while current in self._step_to:
            way.append(self._step_to[current])
            current = way[-1].node
        return way[::-1]

    @cached_property
    def _step_to(self) -> dict[ast.AST | None, _Step]:
        """The last step of the way to each statement."""
        return {step.block[step.at]: step for node in walk(self._tree) for step in _steps(node)}

    @cached_property
    def _statement_of(self) -> dict[ast.AST, ast.stmt]:
        """The statement that contains each expression, the innermost one."""
        found: dict[ast.AST, ast.stmt] = {}
        for item in walk(self._tree):  # outer nodes come first
            around = item if isinstance(item, ast.stmt) else found.get(item)
            if around is not None:
                found.update((part, around) for part in children(item) if not isinstance(part, ast.stmt))
        return found

    def _owner(self, name: str, way: list[_Step]) -> ast.AST | None:
        """The module, function or class in which a name is looked up at the end of a way; None if none binds it."""
        scopes = [step.node for step in way if isinstance(step.node, _SCOPES)]
        for at, scope in enumerate(reversed(scopes)):
            bindings = self._bindings(scope)
            if name not in bindings or (at and isinstance(scope, ast.ClassDef)):
                continue
            if any(isinstance(item, ast.Global) for item in bindings[name]):
                return self._tree if name in self._bindings(self._tree) else None
            if not any(isinstance(item, ast.Nonlocal) for item in bindings[name]):
                return scope
        return None

    def _bindings(self, scope: ast.AST) -> dict[str, list[ast.AST]]:
        """What binds or deletes names in a scope, by name: imports as statements, other things as they are."""
        if scope not in self._of:
            found = gathered(_bound_in(scope))
            for inner in self._reaching_out if isinstance(scope, (ast.Module, *FUNCTIONS)) else ():
                self._add_outer(scope, inner, found)
            self._of[scope] = found
        return self._of[scope]

    @cached_property
    def _reaching_out(self) -> list[ast.AST]:
        """The functions and classes that bind names of others: with ``global`` or ``nonlocal``."""
        declared = {id(item) for item in walk(self._tree) if isinstance(item, (ast.Global, ast.Nonlocal))}
        if not declared:
            return []
        inner = (item for item in walk(self._tree) if isinstance(item, (ast.ClassDef, *FUNCTIONS)))
        return [item for item in inner if any(id(each) in declared for each in _own(item))]

    def _add_outer(self, scope: ast.AST, inner: ast.AST, found: dict[str, list[ast.AST]]) -> None:
        """Add what a function binds for a scope around it: ``global paddle``, ``import paddle``."""
        kind = ast.Global if isinstance(scope, ast.Module) else ast.Nonlocal
        is_around = inner is not scope and (kind is ast.Global or any(item is inner for item in walk(scope)))
        declared = (
            {name for item in _own(inner) if isinstance(item, kind) for name in item.names} if is_around else set()
        )
        for name, item in _bound_in(inner) if declared else ():
            if name in declared and not isinstance(item, kind):
                found.setdefault(name, []).append(item)


def _is_part(given: Given, root: str) -> bool:
    """Whether an import loads a module: it names it, or something in it."""
    return f"{given.loads}.".startswith(f"{root}.")


def _tries_only(node: ast.Try, package: str) -> bool:
    """Whether a ``try`` only imports from one package, so that it succeeds where the package is there."""
    return all(
        isinstance(item, (ast.Import, ast.ImportFrom))
        and all(each.loads.partition(".")[0] == package for each in given_by(item))
        and bool(given_by(item))
        for item in node.body
    )


def _before(way: list[_Step], owner: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope that are complete when the end of a way is reached, or, of a function in it, its
    ``def``.
    """
    is_inside = False
    for step in way:
        if isinstance(step.node, _SCOPES):
            is_inside = step.node is owner
        if is_inside:
            yield from step.block[: step.at]


def _steps(node: ast.AST) -> Iterator[_Step]:
    if not isinstance(node, (ast.Module, ast.stmt)):
        return  # the blocks of a handler belong to its statement; those of a lambda are expressions
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(part, name, [])
            for at in range(len(block)):
                yield _Step(node, block, at)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of functions and classes in it."""
    nodes: list[ast.AST] = [*scope.body] if isinstance(scope, _SCOPES) else []
    if isinstance(scope, FUNCTIONS):
        nodes.append(scope.args)
    while nodes:
        item = nodes.pop()
        yield item
        if isinstance(item, (ast.ClassDef, *FUNCTIONS)):
            nodes += item.decorator_list
        elif isinstance(item, COMPREHENSIONS):
            inside = [part for part in children(item) if not isinstance(part, ast.comprehension)]
            nodes += [*inside, *(part for each in item.generators for part in (each.iter, *each.ifs))]
        elif not isinstance(item, ast.Lambda):
            nodes += children(item)


def _bound_in(scope: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for item in _own(scope):
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            yield item.id, item
        elif isinstance(item, (ast.Import, ast.ImportFrom)):
            yield from ((imported_name(alias), item) for alias in item.names)
        elif isinstance(item, (ast.Global, ast.Nonlocal)):
            yield from ((name, item) for name in item.names)
        elif isinstance(item, ast.arg):
            yield item.arg, item
        elif isinstance(item, (ast.ClassDef, *FUNCTIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if item.name is not None:
                yield item.name, item
        elif isinstance(item, ast.MatchMapping) and item.rest is not None:
            yield item.rest, item
