"""What becomes of a value: the search forward through names, containers, calls, returns and attributes."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Place
from perflint.query import query
from perflint.syntax.bindings import Mention, bindings_of, mentions_in, targets_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import all_parameters, argument_for
from perflint.syntax.scopes import FUNCTIONS, Class, Scope, Statement, once
from perflint.syntax.tree import base_of, walk

# What a function or a module does with each of its names.

_BUILTINS = frozenset({"locals", "vars", "eval", "exec", "globals"})
_FRAMES = frozenset({"currentframe", "_getframe", "inspect.stack"})
_SEES_NAMES = _BUILTINS | _FRAMES | {"stack"}
"""Functions that see all names of their caller."""


class ScopeUses:
    """What a function or a module does with all of its names; ``uses_in`` computes this once for all callers.

    Args:
        scope: the function or the module.
        file: its file.
    """

    def __init__(self, at: Place) -> None:
        self.scope = at.scope
        self.file = at.file
        mentions = mentions_in(at.scope).items()
        self.by_name = {name: found for name, found in mentions if not name.startswith(".")}
        """The places that mention a plain name, in the order of the text."""
        self.sees_all_names = False
        """Whether it calls ``locals()`` or the like, or passes such a function on."""

        self.generators: dict[str, list[ast.GeneratorExp]] = {}
        self._hidden: set[str] = set()
        self._bound = {name for name, found in self.by_name.items() if any(is_stored(each.node) for each in found)}
        self.parameters: set[str] = set()
        """The parameters of the function, and of those in it."""

        asked: set[ast.AST] = set()
        for item in walk(at.scope.node):
            if isinstance(item, (ast.Name, ast.Attribute)):
                self.sees_all_names = self.sees_all_names or self._sees_all(item, item in asked)
            elif isinstance(item, ast.Call) and item.args:
                asked.add(item.func)
            else:
                self._look_at(item)

    @cached_property
    def by_chain(self) -> Mapping[str, Sequence[Mention]]:
        """The places that mention a dotted name, or an attribute of it: ``self.losses.avg`` for ``self.losses``."""
        found: dict[str, list[Mention]] = {}
        for name, mentions in self.by_name.items():
            for mention in mentions:
                chain, node = name, mention.parent
                found.setdefault(chain, []).append(mention)
                while isinstance(node, ast.Attribute):
                    chain, node = f"{chain}.{node.attr}", mention.statement.parents[node]
                    found.setdefault(chain, []).append(mention)
        return found

    def binds(self, name: str) -> bool:
        """Whether the scope binds a name itself."""
        return name in self._bound or name in self.parameters

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
        if isinstance(item, ast.arg):
            self.parameters.add(item.arg)
        elif isinstance(item, (ast.Global, ast.Nonlocal)):
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
def uses_in(at: Place) -> ScopeUses:
    """What a function or a module does with all of its names."""
    return ScopeUses(at)


def is_stored(node: ast.Name | ast.Attribute) -> bool:
    """Whether something is assigned to a name or an attribute there."""
    return isinstance(node.ctx, ast.Store)


# The uses of one value, wherever it goes.


class UseKind(enum.Enum):
    """What the code around a value does with it."""

    CALLED = "it is called"
    ARGUMENT = "a call gets it"
    ATTRIBUTE = "an attribute or a method of it is used"
    ITEM = "an item of it is used"
    INDEX = "it selects an item"
    COMPARED = "it is compared"
    TESTED = "its truth decides"
    CHOSEN = "it is one of two values to choose from"
    OPERAND = "something is computed with it"
    FORMATTED = "it becomes a part of a text"
    PACKED = "it becomes a part of a tuple, a list or the like"
    ITERATED = "its items are drawn"
    LATER = "a lambda uses it when it is called"
    RETURNED = "the function returns or yields it"
    BOUND = "names, attributes or items are bound to it"
    STORED = "an attribute, an item or a part of a target is bound to it, which is not followed"
    ADDED = "it is added to something, or the like"
    RAISED = "it is raised"
    UNUSED = "it is a whole statement"
    OTHER = "anything else"
    LOST = "it is unknown what becomes of it"


_KINDS: Mapping[type[ast.AST], UseKind] = {
    ast.Attribute: UseKind.ATTRIBUTE,
    ast.Slice: UseKind.INDEX,
    ast.Compare: UseKind.COMPARED,
    **dict.fromkeys((ast.BinOp, ast.UnaryOp, ast.BoolOp), UseKind.OPERAND),
    **dict.fromkeys((ast.FormattedValue, ast.JoinedStr), UseKind.FORMATTED),
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred), UseKind.PACKED),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), UseKind.PACKED),
    **dict.fromkeys((ast.Return, ast.Yield, ast.YieldFrom), UseKind.RETURNED),
    **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.NamedExpr), UseKind.BOUND),
    **dict.fromkeys((ast.If, ast.While, ast.Assert, ast.Match), UseKind.TESTED),
    ast.Lambda: UseKind.LATER,
    ast.AugAssign: UseKind.ADDED,
    ast.Raise: UseKind.RAISED,
    ast.Expr: UseKind.UNUSED,
}


def _kind(around: ast.AST, node: ast.AST) -> UseKind:
    if isinstance(around, ast.Call):
        return UseKind.CALLED if node is around.func else UseKind.ARGUMENT
    if isinstance(around, ast.Subscript):
        return UseKind.ITEM if node is around.value else UseKind.INDEX
    if isinstance(around, ast.IfExp):
        return UseKind.TESTED if node is around.test else UseKind.CHOSEN
    if isinstance(around, (ast.For, ast.AsyncFor, ast.comprehension)):
        return UseKind.ITERATED if node is around.iter else UseKind.OTHER
    return _KINDS.get(type(around), UseKind.OTHER)


@dataclass(frozen=True, eq=False)
class Use:
    """One place where a value ends up.

    Attributes:
        kind: what the code around it does with it.
        path: the expression that was asked for, or a name for it, and then the expressions made of it, inside out.
        around: the node around the last of these, or the statement, or the target that it is bound to.
        place: where that is.
        via: the use that led to this statement; None in the first one.
    """

    kind: UseKind
    path: tuple[ast.AST, ...]
    around: ast.AST
    place: Place
    via: Use | None = None

    @property
    def node(self) -> ast.AST:
        """The value there: the outermost expression that is made of it."""
        return self.path[-1]

    @property
    def file(self) -> FileIndex:
        """The file that it is in."""
        return self.place.file

    @property
    def scope(self) -> Scope:
        """The function that it is in."""
        return self.place.scope

    @property
    def statement(self) -> Statement:
        """The statement that it is in."""
        assert self.place.statement is not None
        return self.place.statement


class UseSearch:
    """How far a question follows a value; a question that asks for more, or less, overrides this.

    ``everywhere``: whether all places count that read a name, also in functions inside the one that binds it, not only
    those between the statement that binds it and the one that binds it again.
    """

    everywhere = False

    def passes(self, use: Use) -> bool:
        """Whether the expression around a value has the same value, or one that counts as much."""
        return False

    def follows(self, use: Use) -> bool:
        """Whether to go on from the end of an expression: to what is bound, called with it, or gets it returned."""
        return use.kind is UseKind.BOUND

    def names(self, use: Use) -> Iterable[tuple[ast.expr, ast.expr | None]]:
        """The targets that get a value, each with the key under which its container has it."""
        node = use.around
        targets = [node.target] if isinstance(node, ast.NamedExpr) else targets_of(use.statement.node)
        return [(target, None) for target in targets]

    def sees(self, use: Use, mention: Mention, key: ast.expr | None) -> bool:
        """Whether a place that reads a name gets the value that a use has bound it to."""
        return True

    def callers(self, use: Use) -> Iterable[CallSite] | None:
        """The calls that get what a function returns; None if there may be others."""
        graph = CallGraph.of(use.file.project)
        sites = graph.callers(use.place.function, Certainty.NAME)
        are_all = sites and all(site.certainty > Certainty.NAME for site in sites)
        return sites if are_all and graph.others(use.place.function) is not Certainty.SURE else None


_MOST_USES = 1500
_MOST_READS = 60
"""How many uses a question follows, and how many places that read one name."""


def uses(value: ast.expr | str, at: Place, *, through: UseSearch, budget: int = _MOST_USES) -> Iterator[Use]:
    """What becomes of a value, in the order in which a reader would follow it.

    A use of kind ``LOST`` says that there may be more than was found.

    Args:
        value: an expression of a statement, or a plain name that the statement fills.
        at: the statement.
        through: how far to follow it.
        budget: after how many uses to give up.
    """
    search = _Search(through, budget)
    if isinstance(value, str):
        name = ast.Name(value, ast.Store())
        return search.named(at, value, Use(UseKind.BOUND, (name,), name, at))
    return search.of(value, at, None)


def ends(found: Iterable[Use]) -> list[Use]:
    """The uses of a value from which nothing was followed any further."""
    every = list(found)
    followed = {use.via for use in every}
    return [use for use in every if use not in followed]


class _Search:
    """One question: names, attributes and functions that it has already followed add nothing."""

    def __init__(self, through: UseSearch, budget: int) -> None:
        self._through = through
        self._left = budget
        self._seen: set[object] = set()

    def of(self, node: ast.AST, at: Place, via: Use | None) -> Iterator[Use]:
        """The uses of an expression."""
        assert at.statement is not None
        self._left -= 1
        path: tuple[ast.AST, ...] = (node,)
        position: int | None = None
        while True:
            around = at.statement.parents[node]
            if isinstance(around, ast.keyword):
                around = at.statement.parents[around]
            use = Use(_kind(around, node), path, around, at, via)
            if isinstance(around, ast.stmt) or not self._through.passes(use):
                break
            position = around.elts.index(node) if isinstance(around, ast.Tuple) and isinstance(node, ast.expr) else None
            node, path = around, (*path, around)
        if self._left < 0:
            yield _lost(use)
        elif not self._through.follows(use):
            yield use
        elif use.kind is UseKind.RETURNED:
            yield from self._returned(use, position)
        elif use.kind is UseKind.ARGUMENT:
            yield from self._entered(use)
        else:
            yield use
            for target, key in self._through.names(use):
                yield from self._bound(use, target, key)

    def _bound(self, use: Use, target: ast.expr, key: ast.expr | None) -> Iterator[Use]:
        base = base_of(target)
        owner = use.scope.owner
        if isinstance(base, ast.Name) and (target is base or key is not None):
            yield from self.named(use.place, base.id, use, key)
        elif isinstance(target, ast.Attribute) and dotted(target.value) == "self" and owner is not None:
            kept = replace(use, kind=UseKind.STORED, around=target)
            yield from self._attribute(kept, owner, target.attr) if self._through.follows(kept) else [kept]
        else:
            yield replace(use, kind=UseKind.STORED, around=target)

    def named(self, at: Place, name: str, use: Use, key: ast.expr | None = None) -> Iterator[Use]:
        """The uses of a name that a statement binds, or of the item that its value has under a key."""
        if self._through.everywhere:
            yield from self._read_everywhere(at, name, use)
            return
        if uses_in(Place(at.file, at.scope)).is_shared(name):
            yield _lost(use)
            return
        for mention in read_after(at.scope, name, use.statement):
            if self._left < 0:
                yield _lost(use)
                return
            if self._through.sees(use, mention, key):
                yield from self.of(mention.node, at.at(at.scope, mention.statement), use)

    def _read_everywhere(self, at: Place, name: str, use: Use) -> Iterator[Use]:
        file = at.file
        scope = file.scopes.module if is_global(at.scope, name) else at.scope
        if (scope, name) in self._seen:
            return
        self._seen.add((scope, name))
        reads = [read for read in file.loads.get(name, ()) if isinstance(read.node, ast.Name)]
        if len(reads) > _MOST_READS:
            yield _lost(use)
            return
        for read in reads:
            if read.statement is None or read.scope is None:
                yield _lost(use)  # a default or a decorator
            elif _means(read.scope, scope, name):
                yield from self.of(read.node, at.at(read.scope, read.statement), use)

    def _attribute(self, use: Use, owner: Class, name: str) -> Iterator[Use]:
        """The uses of an attribute of a project class, wherever an attribute of that name is read."""
        file = use.file
        if (owner, name) in self._seen:
            return
        self._seen.add((owner, name))
        related = _family(file, owner)
        getter = re.compile(rf"getattr\([^)]*[\"']{re.escape(name)}[\"']")
        files = [there for there in file.project.mentions.of(name) if not there.is_quiet]
        reads = [(there, read) for there in files for read in there.loads.get(name, ())]
        reads = [(there, read) for there, read in reads if isinstance(read.node, ast.Attribute)]
        if related is None or not 0 < len(reads) <= _MOST_READS or any(there.matches(getter) for there in files):
            yield _lost(use)
        for there, read in reads if related is not None and len(reads) <= _MOST_READS else ():
            if read.statement is None or read.scope is None:
                yield _lost(use)
                continue
            is_own = isinstance(read.node, ast.Attribute) and dotted(read.node.value) == "self"
            reader = read.scope.owner if is_own else None
            if reader is None or _is_related(there, reader, owner, related or set()):
                yield from self.of(read.node, Place(there, read.scope, read.statement), use)

    def _entered(self, use: Use) -> Iterator[Use]:
        """The uses of an argument in the function that gets it; the call itself if that is not known."""
        call = use.around
        assert isinstance(call, ast.Call)
        reached = CallGraph.of(use.file.project).reached(use.place.function, call)
        if not reached:
            yield use
            return
        inner = reached[0].scope
        given = (name for name in all_parameters(inner) if argument_for(inner, call, name) is use.node)
        parameter = next(given, None)
        if parameter is None:
            yield _lost(use)
        else:
            yield from self.named(reached[0], parameter, use)

    def _returned(self, use: Use, position: int | None) -> Iterator[Use]:
        """The uses of what a function returns, by its callers."""
        if (use.scope, position) in self._seen:
            return
        self._seen.add((use.scope, position))
        sites = self._through.callers(use)
        if sites is None:
            yield _lost(use)
        for site in sites or ():
            place = site.place
            part = site.call if position is None else _unpacked(site, position)
            if part is site.call:
                yield from self.of(site.call, place, use)
            elif isinstance(part, ast.Name):
                bound = Use(UseKind.BOUND, (site.call,), part, place, use)
                yield bound
                yield from self.named(place, part.id, bound)
            else:
                yield _lost(use)


def _lost(use: Use) -> Use:
    return replace(use, kind=UseKind.LOST)


def _unpacked(site: CallSite, position: int) -> ast.expr | None:
    """The part of ``train_loader, test_loader = build()`` that gets one part of the result."""
    node = site.statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) and node.value is site.call else None
    return target.elts[position] if isinstance(target, ast.Tuple) and position < len(target.elts) else None


def read_after(scope: Scope, name: str, statement: Statement) -> Iterator[Mention]:
    """The places that read a name after a statement, before it is bound again; ``+=`` adds to the same value."""
    end: Statement | None = None
    for mention in mentions_in(scope).get(name, ()):
        if mention.statement.start <= statement.start:
            continue
        if end is not None and mention.statement.start > end.start:
            return
        if mention.is_read:
            yield mention
        elif not isinstance(mention.statement.node, ast.AugAssign):
            end = end or mention.statement


def _means(inner: Scope, outer: Scope, name: str) -> bool:
    """Whether a name read in one scope is the one bound in another."""
    scope: Scope | None = inner
    while scope is not None and scope is not outer:
        if is_global(scope, name):
            return isinstance(outer.node, ast.Module)
        if name in all_parameters(scope) or name in bindings_of(scope):
            return False
        scope = scope.parent
    return scope is outer


def is_global(scope: Scope, name: str) -> bool:
    """Whether a function declares a name global."""
    return name in _declared(scope)


@once
def _declared(scope: Scope) -> frozenset[str]:
    nodes = (statement.node for statement in scope.statements)
    return frozenset(name for node in nodes if isinstance(node, ast.Global) for name in node.names)


def _family(file: FileIndex, owner: Class) -> set[Class] | None:
    """A class and those it inherits from; None if one of them is unknown and may use its arguments."""
    hierarchy = Hierarchy.of(file.project)
    unseen = hierarchy.unseen(file, owner)
    is_seen = all(base == "object" or base.startswith("paddle.nn.") for base in unseen)
    return {one for _, one in hierarchy.lineage(file, owner)} if is_seen else None


def _is_related(file: FileIndex, reader: Class, owner: Class, related: set[Class]) -> bool:
    """Whether ``self.name`` in one class may be the attribute that another sets."""
    if reader in related:
        return True
    above = _family(file, reader)
    return above is None or owner in above
