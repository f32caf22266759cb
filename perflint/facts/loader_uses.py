"""What becomes of a loader: the places that read the name it is bound to, or what calls the function that returns it.

A loader without workers is worth a word where its batches train a model, or evaluate one between the epochs.  Where
everything that uses it is seen, and none of it does, the loader costs a training run nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, CallSite, Certainty
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.syntax.bindings import bindings_of, bound_by, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for, argument_of, keyword_only
from perflint.syntax.scopes import Class, Scope, Statement, headers
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import evaluates
from perflint.training import batch_loops
from perflint.training.batch_loops import BatchUse
from perflint.training.training_calls import TrainingCalls

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Load

_PASSES_ON = frozenset({"enumerate", "tqdm", "zip", "iter", "islice", "track", "trange", "list", "reversed"})
_ASKS = frozenset({"len", "print", "type", "isinstance", "repr", "str", "id", "bool", "hasattr"})
_SETTINGS = frozenset({"dataset", "batch_sampler", "batch_size", "return_list", "num_workers", "drop_last", "__len__"})
_MEMORY = frozenset({"paddle.io.TensorDataset", "list", "zip", "tuple"})
_MAX_DEPTH = 4
_MOST_READS = 60
_Uses = Iterator[BatchUse]


class Worth(Enum):
    """How much a loader's speed is worth to a training run."""

    FULL = 1
    LITTLE = 2
    """It feeds predictions, an export or a measurement."""
    NONE = 3
    """Nothing draws more than a batch or two from it, or its samples lie in memory."""


def worth(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> Worth:
    """What workers could do for the loader that a call makes."""
    if loads_from_memory(file, scope, call) or _yields_whole_batches(call):
        return Worth.NONE
    said = batch_loops.says_predict(scope.name, *bound_by(statement.node))
    predicts = said
    for use in _Follower().of(file, scope, statement, call, 0):
        if use is BatchUse.TRAINS or (not said and use in (BatchUse.EVALUATES, BatchUse.UNKNOWN)):
            return Worth.FULL
        predicts = predicts or use is BatchUse.PREDICTS
    return Worth.LITTLE if predicts else Worth.NONE


def loads_from_memory(file: FileIndex, scope: Scope, call: ast.Call) -> bool:
    """Whether the samples are the items of a list or of tensors: there is no work that workers could take over."""
    dataset = argument_of(call, "dataset", 0)
    if isinstance(dataset, ast.Name):
        dataset = Values.of(file.project).definitions(file, scope).get(dataset.id, dataset)
    if isinstance(dataset, (ast.List, ast.ListComp, ast.Tuple)):
        return True
    made = dotted(dataset.func) if isinstance(dataset, ast.Call) else None
    if made is None:
        return False
    found = Modules.of(file.project).find(file.names.resolve(made), file)
    return file.names.resolve(made) in _MEMORY or (
        found is not None and isinstance(found[1], Class) and _holds_tensors(found[0], found[1])
    )


def _holds_tensors(file: FileIndex, owner: Class) -> bool:
    """Whether a dataset keeps tensors of Paddle, which a worker process may not touch where they are on a GPU."""
    return any(
        isinstance(item, ast.Call) and file.names.resolve(dotted(item.func) or "") == "paddle.to_tensor"
        for assigned in owner.attributes.values()
        for value, _ in assigned
        for item in walk(value)
    )


def _yields_whole_batches(call: ast.Call) -> bool:
    """``batch_size=None``: the dataset makes the batches, most often as a stream that each worker would repeat."""
    given, sampler = argument_of(call, "batch_size", 5), argument_of(call, "batch_sampler", 4)
    return isinstance(given, ast.Constant) and given.value is None and (sampler is None or _is_none(sampler))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Follower:
    """Follows one loader; names and functions that were met before add nothing."""

    def __init__(self) -> None:
        self._seen: set[tuple[object, ...]] = set()

    def of(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        """The uses of a value where it stands in a statement."""
        if depth > _MAX_DEPTH:
            yield BatchUse.UNKNOWN
            return
        parents = _parents(statement.node)
        while (parent := parents.get(node)) is not None:
            if isinstance(parent, ast.keyword):
                parent = parents[parent]
            if isinstance(parent, ast.Call):
                if node is parent.func:
                    node = parent
                    continue
                last = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
                if last in _ASKS:
                    return
                if last in _PASSES_ON:
                    node = parent
                    continue
                yield from (
                    self._drawn(file, scope, statement)
                    if last == "next"
                    else self._handed(file, scope, statement, parent, node, depth)
                )
                return
            if isinstance(parent, ast.Attribute):
                if parent.attr not in _SETTINGS:
                    yield BatchUse.UNKNOWN
                return
            if isinstance(parent, (ast.Compare, ast.FormattedValue)):
                return
            if isinstance(parent, ast.IfExp):
                if node is parent.test:
                    return
                node = parent
                continue
            if isinstance(parent, ast.Tuple) and isinstance(statement.node, ast.Return):
                yield from self._returned(file, scope, depth, parent.elts.index(node))
            else:
                yield BatchUse.UNKNOWN
            return
        yield from self._whole(file, scope, statement, node, depth)

    def _whole(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        """The uses of what makes up all of a statement's expression."""
        outer = statement.node
        if isinstance(outer, (ast.For, ast.AsyncFor)):
            yield batch_loops.use_of(file, scope, outer)
        elif isinstance(outer, ast.Return):
            yield from self._returned(file, scope, depth, None)
        elif isinstance(outer, (ast.Assign, ast.AnnAssign)):
            for target in targets_of(outer):
                if isinstance(target, ast.Name) and not _is_in_class(file, scope, outer):
                    yield from self.named(file, scope, target.id, depth)
                elif isinstance(target, ast.Attribute) and dotted(target.value) == "self" and scope.owner is not None:
                    yield from self._kept(file, scope.owner, target.attr, depth)
                else:
                    yield BatchUse.UNKNOWN
        elif not isinstance(outer, (ast.Expr, ast.If, ast.Assert)) or isinstance(node, ast.Call):
            yield BatchUse.UNKNOWN

    def named(self, file: FileIndex, scope: Scope, name: str, depth: int) -> _Uses:
        """The uses of a name that a scope binds."""
        if _is_global(scope, name):
            scope = file.scopes.module
        if (scope, name) in self._seen:
            return
        self._seen.add((scope, name))
        reads = file.loads.get(name, ())
        if len(reads) > _MOST_READS:
            yield BatchUse.UNKNOWN
            return
        is_read = False
        for read in reads:
            if not isinstance(read.node, ast.Name):
                continue
            if read.statement is None or read.scope is None:
                yield BatchUse.UNKNOWN  # a default or a decorator
            elif _sees(read.scope, scope, name):
                is_read = True
                yield from self.of(file, read.scope, read.statement, read.node, depth + 1)
        if scope is file.scopes.module and not self._is_private(scope, name) and _is_for_others(file, name, is_read):
            yield BatchUse.UNKNOWN

    @staticmethod
    def _is_private(module: Scope, name: str) -> bool:
        """Whether all that binds a global stands under ``if __name__ == "__main__"``: no import sees it."""
        return all(map(_is_main, bindings_of(module).get(name, ())))

    def _kept(self, file: FileIndex, owner: Class, name: str, depth: int) -> _Uses:
        """The uses of an attribute of a project class, wherever an attribute of that name is read."""
        if (owner, name) in self._seen:
            return
        self._seen.add((owner, name))
        project, getter = file.project, re.compile(rf"getattr\([^)]*[\"']{re.escape(name)}[\"']")
        related = _family(file, owner)
        if related is None:
            yield BatchUse.UNKNOWN
            return
        reads: list[tuple[FileIndex, Load]] = []
        for there in project.mentions.of(name):
            if there.is_quiet:
                continue
            if there.matches(getter):
                yield BatchUse.UNKNOWN
            reads += [(there, read) for read in there.loads.get(name, ()) if isinstance(read.node, ast.Attribute)]
        if not 0 < len(reads) <= _MOST_READS:
            yield BatchUse.UNKNOWN
            return
        for there, read in reads:
            if read.statement is None or read.scope is None:
                yield BatchUse.UNKNOWN
            elif not _is_own(read) or read.scope.owner is None or _is_related(there, read.scope.owner, owner, related):
                yield from self._read(there, read.scope, read.statement, read.node, depth)

    def _read(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        if file.is_offline:
            yield BatchUse.PREDICTS
        else:
            yield from self.of(file, scope, statement, node, depth + 1)

    def _drawn(self, file: FileIndex, scope: Scope, statement: Statement) -> _Uses:
        """``next(iter(loader))``: one batch, unless a loop asks for more or the batch goes elsewhere."""
        kept = isinstance(statement.node, ast.Return) or any("." in name for name in bound_by(statement.node))
        if kept or batch_loops.runs_on(statement) or not batch_loops.gives_nothing(file, scope):
            yield BatchUse.UNKNOWN
        else:
            yield BatchUse.ONCE

    def _handed(
        self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, node: ast.expr, depth: int
    ) -> _Uses:
        """The uses of what a call is handed: those of the parameter, or what the function's name says."""
        name = dotted(call.func)
        last = name.rpartition(".")[2] if name else ""
        if batch_loops.says_predict(last):
            yield (
                BatchUse.EVALUATES
                if any(map(_is_between_epochs, (dotted(node) or "").split(".")))
                else BatchUse.PREDICTS
            )
            return
        reached = CallGraph.of(file.project).reached(file, scope, call)
        if not reached:
            yield BatchUse.UNKNOWN
            return
        there, inner = reached[0]
        names = [*inner.parameters, *keyword_only(inner)]
        parameter = next((one for one in names if argument_for(inner, call, one) is node), None)
        if parameter is None:
            yield BatchUse.UNKNOWN
        else:
            yield from self.named(there, inner, parameter, depth + 1)

    def _returned(self, file: FileIndex, scope: Scope, depth: int, position: int | None) -> _Uses:
        """The uses of what a function returns, by those who call it."""
        if (scope, position) in self._seen:
            return
        self._seen.add((scope, position))
        graph = CallGraph.of(file.project)
        sites = graph.calls(file, scope, Certainty.NAME)
        are_seen = sites and all(site.certainty > Certainty.NAME for site in sites)
        if not are_seen or graph.others(file, scope) is Certainty.SURE:
            yield BatchUse.UNKNOWN
            return
        for site in sites:
            if site.file.is_offline:
                yield BatchUse.PREDICTS
            elif position is None:
                yield from self.of(site.file, site.scope, site.statement, site.call, depth + 1)
            else:
                yield from self._unpacked(site, position, depth)

    def _unpacked(self, site: CallSite, position: int, depth: int) -> _Uses:
        """``train_loader, test_loader = build()``"""
        node = site.statement.node
        target = node.targets[0] if isinstance(node, ast.Assign) and node.value is site.call else None
        part = target.elts[position] if isinstance(target, ast.Tuple) and position < len(target.elts) else None
        if isinstance(part, ast.Name):
            yield from self.named(site.file, site.scope, part.id, depth + 1)
        else:
            yield BatchUse.UNKNOWN


def _parents(node: ast.stmt) -> dict[ast.AST, ast.expr]:
    """The parts of a statement's own expressions, each with what it is part of."""
    return {
        child: outer  # type: ignore[misc]  # what is inside an expression is an expression, a keyword or the like
        for header in headers(node)
        for outer in walk(header)
        for child in children(outer)
    }


def _sees(inner: Scope, outer: Scope, name: str) -> bool:
    """Whether a name that one scope reads is the one that another binds."""
    scope: Scope | None = inner
    while scope is not None and scope is not outer:
        if _is_global(scope, name):
            return isinstance(outer.node, ast.Module)
        if name in scope.parameters or name in keyword_only(scope) or name in bindings_of(scope):
            return False
        scope = scope.parent
    return scope is outer


def _is_global(scope: Scope, name: str) -> bool:
    return any(isinstance(item.node, ast.Global) and name in item.node.names for item in scope.statements)


def _is_for_others(file: FileIndex, name: str, is_read: bool) -> bool:
    """Whether another file may read a global of this one, as one does of a file that neither reads it nor trains."""
    module = file.scopes.module
    if not is_read and not any(
        TrainingCalls.of(file.project).call_trains(file, module, call)
        for statement in module.statements
        if statement.loop is not None
        for call in statement.calls
    ):
        return True
    return any(
        name in other.names.bound or name in other.loads or other.names.stars
        for other in Imports.of(file.project).importers(file)
    )


def _is_in_class(file: FileIndex, scope: Scope, node: ast.stmt) -> bool:
    """Whether a statement stands in the body of a class, and so binds an attribute."""
    first = 0 if isinstance(scope.node, ast.Module) else scope.node.lineno
    return any(
        first <= owner.node.lineno <= node.lineno <= (owner.node.end_lineno or 0)
        for owner in file.scopes.classes.values()
    )


def _is_main(statement: Statement) -> bool:
    """Whether a statement of a module stands under ``if __name__ == "__main__"``: no import reaches it."""
    tests = (
        [link.node.test for link in statement.place.chain() if isinstance(link.node, ast.If)] if statement.place else []
    )
    return any(isinstance(test, ast.Compare) and dotted(test.left) == "__name__" for test in tests)


def _is_own(read: Load) -> bool:
    return isinstance(read.node, ast.Attribute) and dotted(read.node.value) == "self"


def _family(file: FileIndex, owner: Class) -> set[Class] | None:
    """A class and those it inherits from; None where one of them is not seen and may read what it is given."""
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


def _is_between_epochs(name: str) -> bool:
    """Whether a loader is named as one for evaluation between epochs: a test set is often for after the training."""
    return evaluates(name) and not name.lower().startswith("test")
