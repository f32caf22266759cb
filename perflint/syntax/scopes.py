"""The statements of a file by scope, each with its place: the chain of blocks around it."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import chain
from typing import Any, TypeVar

from perflint.syntax.names import Names, dotted
from perflint.syntax.tree import children, string_of, walk

# The statements of a file by scope, each with its place, which is the chain of loops and branches around it.

Loop = ast.For | ast.AsyncFor | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
if sys.version_info >= (3, 11):
    TRIES = (ast.Try, ast.TryStar)
else:
    TRIES = (ast.Try,)
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_PASSES_ERRORS_ON = frozenset({"open", "tqdm", "LogWriter", "SummaryWriter", "nullcontext", "no_grad", "enable_grad"})
_NO_PARAMETERS = ast.arguments([], [], None, [], [], None, [])
_Answer = TypeVar("_Answer")
_MOST_LINKS = 64
"""Links in a chain of places, not counting the bodies of compound statements: of hundreds of ``elif``, or of tests
that leave early, only the first ones are recorded, since each later statement is checked against all.
"""


class Link:
    """The place of a statement in its scope: one link in the chain of compound statements around it.

    ``branch`` says which part of ``node`` the statement is in: ``body``, ``else``, ``handler``, ``finally``, or
    ``after`` (it follows an ``if`` whose body leaves the block, so it only runs if that test was false). ``loop`` is
    the innermost loop around it in this scope. ``block`` has the statements of that part: for ``after``, those that
    follow the ``if``.
    """

    __slots__ = ("_from", "_links", "_whole", "branch", "loop", "node", "parent")

    def __init__(
        self, parent: Link | None, node: ast.stmt, branch: str, block: list[ast.stmt] | None = None, start: int = 0
    ) -> None:
        self.parent = parent
        self._links: int = parent._links + 1 if parent else 1
        self.node = node
        self.branch = branch
        self._whole = block
        self._from = start
        inherited = parent.loop if parent else None
        self.loop: Loop | None = node if branch == "body" and isinstance(node, LOOPS) else inherited

    @property
    def is_deep(self) -> bool:
        """Whether the chain is too long for further false tests to be added."""
        return self._links >= _MOST_LINKS

    @property
    def block(self) -> list[ast.stmt]:
        """The statements of this part of the node."""
        if self._whole is not None:
            return self._whole[self._from :]
        block: list[ast.stmt] = getattr(self.node, "orelse" if self.branch == "else" else "body")
        return block

    def chain(self) -> Iterator[Link]:
        """This link and those around it, from the inside out."""
        link: Link | None = self
        while link is not None:
            yield link
            link = link.parent


class Statement:
    """One statement of a scope: its node and its place."""

    __slots__ = ("_parents", "_parts", "node", "place")

    def __init__(self, node: ast.stmt, place: Link | None) -> None:
        self.node = node
        self.place = place
        self._parents: dict[ast.AST, ast.AST] | None = None
        self._parts: tuple[list[ast.Call], bool, list[ast.Call]] | None = None

    @property
    def calls(self) -> list[ast.Call]:
        """The calls in its own expressions (not in nested statements)."""
        return (self._parts or self._look())[0]

    @property
    def nodes(self) -> list[ast.AST]:
        """The nodes of its own expressions and targets (not of nested statements)."""
        return [item for part in own_parts(self.node) for item in walk(part)]

    @property
    def formats(self) -> bool:
        """Whether it formats values to a string (an f-string or ``%``)."""
        return (self._parts or self._look())[1]

    @property
    def later(self) -> list[ast.Call]:
        """The calls inside its lambdas, and in the defaults of a function."""
        return (self._parts or self._look())[2]

    def _look(self) -> tuple[list[ast.Call], bool, list[ast.Call]]:
        self._parts = _own_calls(self.node)  # this is never needed for most statements
        return self._parts

    @property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The nodes of its own expressions, each with the node around it: at the top, the statement's."""
        if self._parents is None:
            self._parents = dict.fromkeys(own_parts(self.node), self.node)
            waiting = list(self._parents)
            for item in waiting:  # grows during the loop
                for child in children(item):
                    self._parents.setdefault(child, item)
                    waiting.append(child)
        return self._parents

    def path_to(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """The nodes around one of its own expressions, from the statement's to the parent."""
        path = []
        while node is not self.node:
            node = self.parents[node]
            path.append(node)
        return tuple(reversed(path))

    @property
    def start(self) -> tuple[int, int]:
        """Its row and column, to see which of two statements comes first."""
        return self.node.lineno, self.node.col_offset

    @property
    def loop(self) -> Loop | None:
        """The innermost loop around the statement in its scope."""
        return self.place.loop if self.place else None

    @property
    def around(self) -> Iterator[Link]:
        """The links of its place, from the inside out: one for each compound statement around it in its scope."""
        return self.place.chain() if self.place is not None else iter(())

    @property
    def branches(self) -> list[tuple[ast.stmt, str]]:
        """The compound statements around it, from the inside out, each with the part that it is in."""
        return [(link.node, link.branch) for link in self.around]

    @property
    def conditions(self) -> Iterator[tuple[ast.expr, bool]]:
        """The tests of the ``if`` statements around it, from the inside out, each with its result there."""
        return ((link.node.test, link.branch == "body") for link in self.around if isinstance(link.node, ast.If))

    @property
    def tests(self) -> Iterator[ast.expr]:
        """The tests of the ``if`` statements whose body it is in, from the inside out."""
        return (test for test, truth in self.conditions if truth)

    def is_in(self, block: ast.stmt) -> bool:
        """Whether it is in the body of a loop, or of another compound statement."""
        return any(link.node is block and link.branch == "body" for link in self.around)


@dataclass(eq=False)
class Class:
    """A class of the file: its methods by name and the names of its bases as resolved in this file."""

    name: str
    qualname: str
    node: ast.ClassDef
    bases: tuple[str, ...]
    methods: dict[str, Scope] = field(default_factory=dict)
    attributes: dict[str, list[tuple[ast.expr, Scope]]] = field(default_factory=dict)

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the class."""
        return self.node.decorator_list


@dataclass(eq=False)
class Scope:
    """A module body or a function: its statements in source order."""

    name: str
    qualname: str
    node: ast.Module | Function
    parent: Scope | None
    owner: Class | None
    statements: list[Statement] = field(default_factory=list)
    functions: dict[str, Scope] = field(default_factory=dict)
    _answers: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _answered: list[Statement] | None = field(default=None, repr=False)

    def once(self, question: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """An answer that depends only on the statements of the scope, computed when first needed.

        It must not depend on another scope, and must consist of names or nodes: an edit elsewhere in the file moves
        rows.
        """
        if self._answered is not self.statements:  # an edit replaces the statements, but not the scope
            self._answers, self._answered = {}, self.statements
        if question not in self._answers:
            self._answers[question] = answer()
        found: _Answer = self._answers[question]
        return found

    @property
    def is_special(self) -> bool:
        """Whether Python itself calls it: ``__init__``, ``__call__``, but not ``__train_epoch``, which is private."""
        return self.name.startswith("__") and self.name.endswith("__")

    @property
    def calls(self) -> Iterator[ast.Call]:
        """The calls in its statements."""
        return (call for statement in self.statements for call in statement.calls)

    @property
    def outwards(self) -> Iterator[Scope]:
        """The function itself, then the ones around it, and last the module."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def object_class(self) -> Class | None:
        """The class of the object that ``self`` means: in a function inside a method, that of the method."""
        return next((each.owner for each in self.outwards if each.owner or "self" in each.parameters), None)

    @property
    def row(self) -> int:
        """The row of its ``def``; 1 for a module."""
        return 1 if isinstance(self.node, ast.Module) else self.node.lineno

    @property
    def args(self) -> ast.arguments:
        """The parameters of the function as they are written; a module has none."""
        return _NO_PARAMETERS if isinstance(self.node, ast.Module) else self.node.args

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the function; a module has none."""
        return [] if isinstance(self.node, ast.Module) else self.node.decorator_list

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters in order, without ``self``/``cls`` of methods."""
        args = self.args
        names = [arg.arg for arg in [*args.posonlyargs, *args.args]]
        return names[1:] if self.owner is not None and names and not self.is_static else names

    def values_of(self, name: str) -> list[ast.expr]:
        """What the class sets an attribute of its object to, by the name in a method: ``self.x``; else nothing."""
        first, _, last = name.partition(".")
        return [value for value, _ in self.owner.attributes.get(last, ())] if self.owner and first == "self" else []

    def statements_in(self, loop: ast.stmt) -> list[Statement]:
        """The statements in the body of one of its loops."""
        starts = self.once("starts", lambda: [statement.start for statement in self.statements])
        first = bisect_right(starts, (loop.lineno, loop.col_offset))
        end = bisect_left(starts, (loop.end_lineno or loop.lineno, loop.end_col_offset or 0), lo=first)
        return [statement for statement in self.statements[first:end] if statement.is_in(loop)]

    @property
    def is_property(self) -> bool:
        """Whether it is the getter of a property: reading the attribute runs it."""
        names = ((dotted(each) or "").rpartition(".")[2] for each in self.decorators)
        return not {"property", "cached_property"}.isdisjoint(names)

    @property
    def is_static(self) -> bool:
        """Whether the function is a ``staticmethod``."""
        return any(dotted(decorator) == "staticmethod" for decorator in self.decorators)


def once(answer: Callable[[Scope], _Answer]) -> Callable[[Scope], _Answer]:
    """Cache the answers of a function that depends only on the statements of a scope: see ``Scope.once``."""

    @wraps(answer)
    def ask(scope: Scope) -> _Answer:
        return scope.once(answer, lambda: answer(scope))

    return ask


def is_abstract(scope: Scope) -> bool:
    """Whether a function is only to be overridden: its body only raises, passes or documents."""
    if isinstance(scope.node, ast.Module):
        return False
    body = scope.node.body
    said = body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body
    return all(isinstance(node, (ast.Pass, ast.Raise)) or _is_ellipsis(node) for node in said)


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


class FileScopes:
    """Every scope and class of one parsed file, and its names."""

    def __init__(self, tree: ast.Module, names: Names) -> None:
        self.names = names
        self.classes: dict[str, Class] = {}
        self.scopes: list[Scope] = []
        self.module = Scope("<module>", "", tree, None, None)
        self.scopes.append(self.module)
        self._block(self.module, tree.body, None)
        names.add_definitions(node.name for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef)))
        for owner in self.classes.values():
            owner.bases = tuple(names.resolve(base) for base in owner.bases)

    @cached_property
    def classes_by_qualname(self) -> dict[str, Class]:
        """The classes by qualified name, such as ``Outer.Inner``; of several with the same name, the first."""
        owners = (*self.classes.values(), *(scope.owner for scope in self.scopes if scope.owner is not None))
        return {owner.qualname: owner for owner in reversed(owners)}

    @cached_property
    def scopes_by_qualname(self) -> dict[str, Scope]:
        """The functions by qualified name, such as ``Class.method``; of several with the same name, the last."""
        return {scope.qualname: scope for scope in self.scopes}

    def _block(self, scope: Scope, body: list[ast.stmt], place: Link | None) -> None:
        for index, node in enumerate(body):
            self._statement(scope, node, place)
            if isinstance(node, ast.If) and not node.orelse and leaves(node.body) and not (place and place.is_deep):
                place = Link(place, node, "after", body, index + 1)

    def _statement(self, scope: Scope, node: ast.stmt, place: Link | None) -> None:
        if isinstance(node, FUNCTIONS):
            self._function(scope, node, None)
        elif isinstance(node, ast.ClassDef):
            self._class(scope, node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.names.add_import(node)
        else:
            scope.statements.append(Statement(node, place))
            if isinstance(node, ast.Assign):
                self._self_attribute(scope, node.targets, node.value)
            elif not isinstance(node, (ast.Expr, ast.Return)):
                self._compound(scope, node, place)

    def _compound(self, scope: Scope, node: ast.stmt, place: Link | None) -> None:
        if isinstance(node, ast.If):
            self._if(scope, node, place)
        elif isinstance(node, LOOPS):
            self._block(scope, node.body, Link(place, node, "body"))
            if node.orelse:
                self._block(scope, node.orelse, Link(place, node, "else"))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self._block(scope, node.body, Link(place, node, "body"))
        elif isinstance(node, TRIES):
            self._try(scope, node, place)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self._block(scope, case.body, Link(place, node, "body", case.body))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._self_attribute(scope, [node.target], node.value)

    def _if(self, scope: Scope, node: ast.If, place: Link | None) -> None:
        # An ``elif`` is an ``if`` alone in the previous ``else``; a chain of them must not nest our calls.
        while True:
            self._block(scope, node.body, Link(place, node, "body"))
            if not node.orelse:
                return
            if not (place and place.is_deep):
                place = Link(place, node, "else")
            inner = node.orelse[0]
            if len(node.orelse) > 1 or not isinstance(inner, ast.If):
                self._block(scope, node.orelse, place)
                return
            scope.statements.append(Statement(inner, place))
            node = inner

    def _try(self, scope: Scope, node: ast.Try, place: Link | None) -> None:
        self._block(scope, node.body, Link(place, node, "body"))
        for handler in node.handlers:
            self._block(scope, handler.body, Link(place, node, "handler", handler.body))
        self._block(scope, node.orelse, Link(place, node, "else"))
        self._block(scope, node.finalbody, Link(place, node, "finally", node.finalbody))

    def _function(self, scope: Scope, node: Function, owner: Class | None) -> None:
        prefix = owner.qualname + "." if owner else (scope.qualname + "." if scope.qualname else "")
        inner = Scope(node.name, prefix + node.name, node, scope, owner)
        self.scopes.append(inner)
        (owner.methods if owner else scope.functions)[node.name] = inner
        self._block(inner, node.body, None)

    def _class(self, scope: Scope, node: ast.ClassDef) -> None:
        qualname = f"{scope.qualname}.{node.name}" if scope.qualname else node.name
        bases = tuple(name for name in map(dotted, node.bases) if name)
        owner = Class(node.name, qualname, node, bases)
        self.classes.setdefault(node.name, owner)
        for item in node.body:
            if isinstance(item, FUNCTIONS):
                self._function(scope, item, owner)
            else:
                self._statement(scope, item, None)

    def _self_attribute(self, scope: Scope, targets: list[ast.expr], value: ast.expr) -> None:
        if scope.owner is None:
            return
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for part, item in zip(target.elts, value.elts, strict=True):
                    self._self_attribute(scope, [part], item)  # of `self.x, self.y = x, y`
            name = dotted(target) if isinstance(target, ast.Attribute) else None
            if name and name.startswith("self.") and name.count(".") == 1:
                scope.owner.attributes.setdefault(name[5:], []).append((value, scope))


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a block ends by leaving: ``continue``, ``break``, ``return``, ``raise`` or an exit call."""
    return isinstance(body[-1], _LEAVES) or exits(body)


def exits(body: list[ast.stmt]) -> bool:
    """Whether a block ends the run: ``raise``, ``sys.exit()``, ``exit()`` and the like."""
    last = body[-1]
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    name = dotted(call.func) if isinstance(call, ast.Call) else None
    return name in ("sys.exit", "exit", "quit", "os._exit")


def stops_errors(manager: ast.expr) -> bool | None:
    """Whether a ``with`` suppresses exceptions; None if unknown."""
    called = dotted(manager.func if isinstance(manager, ast.Call) else manager) or ""
    last = called.rpartition(".")[2]
    if last in ("suppress", "raises"):
        return True
    if last in _PASSES_ERRORS_ON or called.startswith("paddle.") or last.endswith(("guard", "autocast", "auto_cast")):
        return False
    return None


def headers(node: ast.stmt) -> list[ast.expr]:
    """The expressions that belong to a compound statement itself, or all of a simple one."""
    if isinstance(node, ast.Expr):
        return [node.value]
    if isinstance(node, ast.Assign):
        return [*node.targets, node.value]
    if isinstance(node, (ast.If, ast.While)):
        return [node.test]
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [item.context_expr for item in node.items]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, TRIES):
        return []
    return [child for child in children(node) if isinstance(child, ast.expr)]


def own_parts(node: ast.stmt) -> list[ast.AST]:
    """The direct parts of a statement without nested statements: its headers, its targets, those of its branches."""
    if isinstance(node, TRIES):
        return [handler.type for handler in node.handlers if handler.type is not None]
    if isinstance(node, ast.Match):
        return [node.subject, *(part for case in node.cases for part in (case.pattern, case.guard) if part is not None)]
    return [child for child in children(node) if not isinstance(child, ast.stmt)]


def terminal(call: ast.Call) -> str | None:
    """The last name of the called function: ``step`` for ``self.optimizer.step()``."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else None


def last_row(node: ast.stmt) -> int:
    """The last row of a statement itself: of its header, if it contains other statements."""
    if isinstance(node, (*TRIES, ast.Match)):
        return node.subject.end_lineno or node.lineno if isinstance(node, ast.Match) else node.lineno
    if isinstance(node, (*LOOPS, ast.If, ast.With, ast.AsyncWith)):
        return max(header.end_lineno or node.lineno for header in headers(node))
    return node.end_lineno or node.lineno


def statements_on(scopes: FileScopes, rows: list[int]) -> Iterator[tuple[Scope, Statement]]:
    """The statements whose own rows include one of the given rows, scope by scope; at least one row, in order."""
    for scope in scopes.scopes:
        if not isinstance(scope.node, ast.Module) and not _any_within(rows, scope.node.lineno, scope.node.end_lineno):
            continue
        for statement in scope.statements:
            node = statement.node
            if _any_within(rows, node.lineno, node.end_lineno) and _any_within(rows, node.lineno, last_row(node)):
                yield scope, statement


def statements_calling(scopes: FileScopes, row: int) -> Iterator[tuple[Scope, Statement]]:
    """The statements with a call that begins on a row, each with its scope: only examines those around the row."""
    innermost = scopes.scopes[bisect_right(scopes.scopes, row, lo=1, key=lambda each: each.row) - 1]
    for scope in innermost.outwards:
        at = bisect_right(scope.statements, row, key=lambda statement: statement.node.lineno) - 1
        while at >= 0 and last_row(scope.statements[at].node) >= row:
            if any(call.lineno == row for call in scope.statements[at].calls):
                yield scope, scope.statements[at]
            at -= 1


def _any_within(rows: list[int], first: int, last: int | None) -> bool:
    at = bisect_left(rows, first)
    return at < len(rows) and rows[at] <= (last or first)


def _own_calls(node: ast.stmt) -> tuple[list[ast.Call], bool, list[ast.Call]]:
    calls: list[ast.Call] = []
    lambdas: list[ast.AST] = [node.args] if isinstance(node, FUNCTIONS) else []
    formats = False
    stack: list[ast.AST] = list(headers(node))
    while stack:
        item: Any = stack.pop()
        kind = item.__class__
        if kind is ast.Name or kind is ast.Constant:
            continue
        if kind is ast.Attribute:
            stack.append(item.value)
        elif kind is ast.Call:
            calls.append(item)
            stack.append(item.func)
            stack += item.args
            stack += item.keywords
        elif kind is ast.keyword:
            stack.append(item.value)
        elif kind is ast.Tuple or kind is ast.List:
            stack += item.elts
        elif kind is ast.Lambda:
            lambdas.append(item)
        else:
            formats = formats or kind is ast.JoinedStr or (kind is ast.BinOp and item.op.__class__ is ast.Mod)
            stack += children(item)
    return calls, formats, [item for inner in lambdas for item in walk(inner) if isinstance(item, ast.Call)]


# Finds the positions of statements in their blocks, to see which of them are neighbours.

_PARTS = ("body", "orelse", "finalbody")


@once
def nth_in_block(scope: Scope) -> Mapping[ast.stmt, tuple[ast.stmt, int]]:
    """For each statement of a scope, the first statement of its block, and its index in the block."""
    return {node: (block[0], index) for block in blocks(scope) for index, node in enumerate(block)}


def blocks(scope: Scope) -> Iterator[list[ast.stmt]]:
    """The blocks of a scope: its own, and those of its compound statements."""
    owners: list[ast.AST] = [scope.node]
    owners += (statement.node for statement in scope.statements)
    for owner in owners:
        for part in _PARTS:
            block = getattr(owner, part, None)
            if isinstance(block, list) and block:
                yield block
        for inner in (*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
            yield inner.body


# Finds where a statement tests whether something is true.

QUANTIFIERS = frozenset({"any", "all"})


def candidates(node: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions of a statement that may read a tensor for a decision, with whether their own truth is tested."""
    inside = [item for header in headers(node) for item in walk(header)]
    tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.Assert)) else []
    asked = {part for test in (*tests, *chain.from_iterable(map(_tests_in, inside))) for part in _joined(test)}
    for item in inside:
        if item in asked or isinstance(item, (ast.Call, ast.Compare)):
            yield item, item in asked


def _joined(test: ast.expr) -> Iterator[ast.expr]:
    """The values whose truth a test asks for: those of ``and``, ``or`` and ``(name := value)``."""
    test = leaf(test)
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _joined(value)
    else:
        yield test


def is_for_another_program(statement: Statement, module: str) -> bool:
    """Whether a statement is under a test of ``__name__`` that fails however its module is started.

    ``if __name__ == "main":``, which should have been ``"__main__"``, is only true in a module named ``main``.
    """
    return any(_compared_name(test) not in (None, "__main__", module) for test in statement.tests)


def _compared_name(test: ast.expr) -> str | None:
    """The text that a test compares ``__name__`` with."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    return string_of(test.comparators[0]) if dotted(test.left) == "__name__" else None


def _tests_in(item: ast.AST) -> Sequence[ast.expr]:
    if isinstance(item, ast.BoolOp):
        return item.values[:-1]  # the last one is what it returns
    if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not):
        return [item.operand]
    if isinstance(item, ast.IfExp):
        return [item.test]
    if isinstance(item, ast.comprehension):
        return item.ifs
    if isinstance(item, ast.Call) and dotted(item.func) in QUANTIFIERS and item.args:
        return [item.args[0].elt] if isinstance(item.args[0], (ast.GeneratorExp, ast.ListComp)) else []
    return []


def operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that ``and``, ``or`` and ``not`` join."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from operands(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from operands(node.operand)
    else:
        yield node


def required(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that all have to be true."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from required(value)
    else:
        yield test


def required_parts(test: ast.expr, value: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The parts of a test that must all have certain values for the whole test to be ``value``."""
    waiting = [(test, value)]
    while waiting:
        part, truth = waiting.pop()
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            waiting.append((part.operand, not truth))
        elif isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And) == truth:
            waiting += [(inner, truth) for inner in reversed(part.values)]
        else:
            yield part, truth


def leaf(node: ast.expr) -> ast.expr:
    """The value that ``(name := value)`` tests."""
    while isinstance(node, ast.NamedExpr):
        node = node.value
    return node
