"""Where loaders are created, what for, and which code draws batches from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NamedTuple

from perflint.facts.dataset_samples import Work, work_of
from perflint.facts.programs import has_no_gpu, is_toy
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.constants import Constants
from perflint.flow.place import Place
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.syntax.bindings import bindings_of, bound_by, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_for, argument_of, keyword_only
from perflint.syntax.scopes import Class, Scope, Statement, headers, terminal
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import evaluates, predicts, retrieves, snake, trains
from perflint.training import evidence, intent
from perflint.training.intent import BatchUse, runs_while_training
from perflint.training.training_calls import TrainingCalls

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Load, Project


# Where loaders are created, and for what: the calls of ``paddle.io.DataLoader``, of its subclasses and of wrappers.

LOADER = "paddle.io.DataLoader"


class Purpose(Enum):
    """What a loader is for."""

    TRAINING = 1
    EVALUATION = 2
    UNKNOWN = 3


@dataclass(frozen=True, eq=False)
class Site:
    """A place in the code, and the calls that led there from the loader, inside out."""

    file: FileIndex
    scope: Scope
    statement: Statement | None
    calls: tuple[tuple[FileIndex, Scope, Statement, ast.Call], ...] = ()

    def at(self, file: FileIndex, scope: Scope, statement: Statement | None) -> Site:
        """Another place on the same path."""
        return replace(self, file=file, scope=scope, statement=statement)

    def called_from(self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> Site:
        """The place of a call of the function that this place is in."""
        return Site(file, scope, statement, (*self.calls, (file, scope, statement, call)))

    def callers(self) -> Iterator[Site]:
        """The places of the calls of the function that this place is in; without programs that only predict."""
        for site in CallGraph.of(self.file.project).callers(self.file, self.scope):
            if not (site.file.is_offline or site.is_unbound):
                yield self.called_from(site.file, site.scope, site.statement, site.call)


def is_loader_class(project: Project, file: FileIndex, owner: Class) -> bool:
    """Whether a class of the project inherits from Paddle's loader."""
    return LOADER in Hierarchy.of(project).base_names(file, owner)


def purpose(site: Site, project: Project, depth: int = 0) -> Purpose:
    """What the loader at the start of a site's calls is for, judging by names, loops and callers."""
    found = Purpose.UNKNOWN
    for file, scope, statement, call in site.calls:
        one = _purpose(file, scope, statement, call, project)
        if one is Purpose.EVALUATION:
            return one
        found = one if found is Purpose.UNKNOWN else found
    if found is not Purpose.UNKNOWN or depth > 2 or not site.calls:
        return found
    file, scope, statement, call = site.calls[-1]
    if not _is_returned(scope, statement):
        return found
    answers = {purpose(caller, project, depth + 1) for caller in site.at(file, scope, statement).callers()}
    return Purpose.TRAINING if Purpose.TRAINING in answers else found


def _purpose(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, project: Project) -> Purpose:
    targets = bound_by(statement.node)
    for words in ([name.rpartition(".")[2] for name in targets], _dataset_words(call)):
        said = _said(words)
        if said is not Purpose.UNKNOWN:
            return said
    if _shuffles(call, scope):
        return Purpose.TRAINING
    used = _used(file, scope, set(targets), project)
    if used is not Purpose.UNKNOWN:
        return used
    said = _said([scope.name])
    if said is not Purpose.UNKNOWN:
        return said
    return Purpose.EVALUATION if _said([file.parts[-1]]) is Purpose.EVALUATION else Purpose.UNKNOWN


def _said(words: list[str]) -> Purpose:
    training, evaluation = any(map(trains, words)), any(map(_evaluates, words))
    if training == evaluation:
        return Purpose.UNKNOWN
    return Purpose.TRAINING if training else Purpose.EVALUATION


def _evaluates(word: str) -> bool:
    return evaluates(word) or predicts(word) or retrieves(word)


def _dataset_words(call: ast.Call) -> list[str]:
    """Names in the data that a call loads: its first argument, its dataset and its sampler."""
    given = [*call.args[:1], *(item.value for item in call.keywords if item.arg in ("dataset", "batch_sampler"))]
    return [
        item.id if isinstance(item, ast.Name) else item.attr
        for argument in given
        for item in walk(argument)
        if isinstance(item, (ast.Name, ast.Attribute))
    ]


def _shuffles(call: ast.Call, scope: Scope) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "shuffle" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            return True
        if keyword.arg == "batch_sampler" and isinstance(keyword.value, ast.Name):
            made = [
                statement.node.value
                for statement in bindings_of(scope).get(keyword.value.id, ())
                if isinstance(statement.node, ast.Assign)
            ]
            return any(isinstance(value, ast.Call) and _shuffles(value, scope) for value in made)
    return False


def _used(file: FileIndex, scope: Scope, targets: set[str], project: Project) -> Purpose:
    """What a scope does with the loaders that it binds to these names."""
    if not targets:
        return Purpose.UNKNOWN
    for loop in evidence.step_loops(scope, lambda call: TrainingCalls.of(project).call_trains(file, scope, call)):
        if not isinstance(loop, ast.While) and any(dotted(node) in targets for node in expressions(loop.iter)):
            return Purpose.TRAINING
    handed = [
        terminal(call) or ""
        for statement in scope.statements
        for call in statement.calls
        if any(dotted(argument) in targets for argument in [*call.args, *(item.value for item in call.keywords)])
    ]
    said = [_said([name]) for name in handed]
    return next((one for one in (Purpose.TRAINING, Purpose.EVALUATION) if one in said), Purpose.UNKNOWN)


def _is_returned(scope: Scope, statement: Statement) -> bool:
    if isinstance(statement.node, ast.Return):
        return True
    targets = set(bound_by(statement.node))
    return any(
        isinstance(other.node, ast.Return)
        and other.node.value is not None
        and any(dotted(node) in targets for node in expressions(other.node.value))
        for other in scope.statements
    )


def expressions(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and those in it."""
    return (item for item in walk(node) if isinstance(item, ast.expr))


# Follows a loader to its uses: the places that read its name, and the callers of the function that returns it.
#
# A loader without workers costs most where its batches train a model, less where they evaluate one between the
# epochs. If all uses are known, and none of them does either, the loader costs a training run nothing.

_PASSES_ON = frozenset({"enumerate", "tqdm", "zip", "iter", "islice", "track", "trange", "list", "reversed"})
_ASKS = frozenset({"len", "print", "type", "isinstance", "repr", "str", "id", "bool", "hasattr"})
_SETTINGS = frozenset({"dataset", "batch_sampler", "batch_size", "return_list", "num_workers", "drop_last", "__len__"})
_MEMORY = frozenset({"paddle.io.TensorDataset", "list", "zip", "tuple"})
_MAX_DEPTH = 8
_MOST_READS = 60
_TRAINS = re.compile(r"_*(?:train|fit|fine_?tune|distill)(?:_|$)")
_EVALUATION_DATA = frozenset({"eval_data", "valid_data", "val_data", "test_data", "eval_loader", "val_loader"})


class Worth(IntEnum):
    """What draws from a loader, and so how much its speed matters to a training run: the lowest number matters most."""

    TRAINS = 1
    """A step loop, or unknown uses while the name or the shuffling of the loader says training."""
    EVALUATES_OFTEN = 2
    """An evaluation that training waits for repeatedly, as after each epoch."""
    UNKNOWN = 3
    """Unknown uses, and no name says what it is for."""
    EVALUATES = 4
    """An evaluation that runs once, or for which that is unknown."""
    PREDICTS = 5
    """It is for predictions, an export or a measurement."""
    NOTHING = 6
    """At most a batch or two are drawn from it, or its samples are in memory."""


@dataclass(frozen=True)
class LoaderReading:
    """What draws from a loader, and what its samples are.

    ``path``, ``line``: where that is, ``""`` and 0 if unknown. ``work``: the work for each sample.
    ``on_cpu``: no GPU waits, because the program runs on the CPU. ``for_toy``: not much waits in a program that trains
    a layer or two, unless a file is read or an image decoded for each sample.
    """

    worth: Worth
    work: Work = Work.UNKNOWN
    path: str = ""
    line: int = 0
    on_cpu: bool = False
    for_toy: bool = False


class _Use(NamedTuple):
    """One use of a loader, with its statement or call; ``often``: repeatedly during a training."""

    kind: BatchUse
    file: FileIndex | None = None
    node: ast.AST | None = None
    often: bool = False

    @property
    def place(self) -> tuple[str, int]:
        """Its path and row, ``""`` and 0 if unknown."""
        return ("", 0) if self.file is None or self.node is None else (self.file.path, self.file.row(self.node))


_Uses = Iterator[_Use]
_UNSEEN = _Use(BatchUse.UNKNOWN)


def reading(
    file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, through: frozenset[ast.Call] = frozenset()
) -> LoaderReading:
    """What workers could do for the loader that a call creates.

    ``through``: which callers of the functions that create the loader to follow; empty: all.
    """
    if loads_from_memory(file, scope, call) or _yields_whole_batches(call) or _is_refused(file, scope, statement, call):
        return LoaderReading(Worth.NOTHING)
    said = intent.says_predict(scope.name, *bound_by(statement.node))
    worth, best = Worth.PREDICTS if said else Worth.NOTHING, _UNSEEN
    predicts = is_unseen = False
    for use in _Follower(scope, statement, through).of(file, scope, statement, call, 0):
        found = _worth(use, said)
        predicts, is_unseen = predicts or found is Worth.PREDICTS, is_unseen or found is Worth.UNKNOWN
        if found < worth:
            worth, best = found, use
        if found is Worth.TRAINS:
            break
    if worth is Worth.NOTHING:
        return LoaderReading(worth)
    if worth is not Worth.TRAINS and is_unseen and not predicts and _is_for_training(file, scope, statement, call):
        worth, best = Worth.TRAINS, _UNSEEN
    path, line = best.place
    work = work_of(file, scope, statement, argument_of(call, "dataset", 0))
    return LoaderReading(worth, work, path, line, has_no_gpu(file), work is not Work.SOME and is_toy(file))


def feeds_training(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> bool:
    """Whether a training loop is known to draw from the loader that a call creates, whatever its samples are."""
    uses = _Follower(scope, statement, frozenset()).of(file, scope, statement, call, 0)
    return any(use.kind is BatchUse.TRAINS for use in uses)


def _worth(use: _Use, predicts: bool) -> Worth:
    """How much one use matters; ``predicts``: names say that the loader is for predictions."""
    if use.kind is BatchUse.TRAINS:
        return Worth.TRAINS
    if use.kind in (BatchUse.ONCE, BatchUse.LOOKS):
        return Worth.NOTHING
    if predicts or use.kind is BatchUse.PREDICTS:
        return Worth.PREDICTS
    if use.kind is BatchUse.UNKNOWN:
        return Worth.UNKNOWN
    return Worth.EVALUATES_OFTEN if use.often else Worth.EVALUATES


def _is_for_training(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> bool:
    """Whether names, or the shuffling, show that a loader is for training."""
    site = Site(file, scope, statement, ((file, scope, statement, call),))
    return purpose(site, file.project) is Purpose.TRAINING


def loads_from_memory(file: FileIndex, scope: Scope, call: ast.Call) -> bool:
    """Whether the samples are the items of a list or of tensors: then there is no work for workers."""
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
    """Whether a dataset keeps tensors of Paddle, which a worker process may not use if they are on a GPU."""
    return any(
        isinstance(item, ast.Call) and file.names.resolve(dotted(item.func) or "") == "paddle.to_tensor"
        for assigned in owner.attributes.values()
        for value, _ in assigned
        for item in walk(value)
    )


def _yields_whole_batches(call: ast.Call) -> bool:
    """``batch_size=None``: the dataset creates the batches, usually as a stream that each worker would repeat."""
    given, sampler = argument_of(call, "batch_size", 5), argument_of(call, "batch_sampler", 4)
    return isinstance(given, ast.Constant) and given.value is None and (sampler is None or _is_none(sampler))


def _is_refused(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> bool:
    """Whether Paddle refuses to create a loader: a ``batch_sampler`` rules out ``shuffle`` and any batch size but 1.

    A sampler that may be None counts as none; an unknown size counts as not 1.
    """
    sampler, size = argument_of(call, "batch_sampler", 4), argument_of(call, "batch_size", 5)
    if isinstance(sampler, ast.Name):
        sampler = Values.of(file.project).definitions(file, scope).get(sampler.id)
    if not isinstance(sampler, ast.Call) or not (terminal(sampler) or "")[:1].isupper():
        return False
    shuffle = argument_of(call, "shuffle", 6)
    if isinstance(shuffle, ast.Constant) and shuffle.value:
        return True
    sizes = Constants.of(file.project).possible(size, Place(file, scope, statement)) if size is not None else ()
    return size is not None and all(value.value != 1 for value in sizes)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Follower:
    """Follows one loader; names and functions that were already followed add nothing."""

    def __init__(self, scope: Scope, made: Statement, through: frozenset[ast.Call]) -> None:
        self._made_in = scope
        self._made = made
        self._through = through
        self._seen: set[tuple[object, ...]] = set()

    def of(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        """The uses of a value at its place in a statement."""
        if depth > _MAX_DEPTH:
            yield _UNSEEN
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
                    yield _UNSEEN
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
                yield _UNSEEN
            return
        yield from self._whole(file, scope, statement, node, depth)

    def _whole(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        """The uses of a value that is the whole expression of a statement."""
        outer = statement.node
        if isinstance(outer, (ast.For, ast.AsyncFor)):
            yield self._use(file, scope, statement, intent.use_of(file, scope, outer), outer)
        elif isinstance(outer, ast.Return):
            yield from self._returned(file, scope, depth, None)
        elif isinstance(outer, (ast.Assign, ast.AnnAssign)):
            for target in targets_of(outer):
                if isinstance(target, ast.Name) and not _is_in_class(file, scope, outer):
                    yield from self.named(file, scope, target.id, depth)
                elif isinstance(target, ast.Attribute) and dotted(target.value) == "self" and scope.owner is not None:
                    yield from self._kept(file, scope.owner, target.attr, depth)
                else:
                    yield _UNSEEN
        elif not isinstance(outer, (ast.Expr, ast.If, ast.Assert)) or isinstance(node, ast.Call):
            yield _UNSEEN

    @staticmethod
    def _use(file: FileIndex, scope: Scope, statement: Statement, kind: BatchUse, node: ast.AST) -> _Use:
        if kind is BatchUse.UNKNOWN:
            return _UNSEEN
        often = kind is BatchUse.EVALUATES and runs_while_training(file, scope, statement)
        return _Use(kind, file, node, often)

    def _named_use(self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, node: ast.expr) -> _Use:
        """The use shown by the name of an unknown call: ``model.fit(loader)``, ``model.evaluate(loader)``."""
        last = terminal(call) or ""
        keyword = next((item.arg for item in call.keywords if item.value is node), None)
        if _TRAINS.match(snake(last)):
            if keyword in _EVALUATION_DATA or any(map(evaluates, (dotted(node) or "").split("."))):
                return _Use(BatchUse.EVALUATES, file, call, often=True)
            return _Use(BatchUse.TRAINS, file, call)
        return self._use(file, scope, statement, BatchUse.EVALUATES, call) if evaluates(last) else _UNSEEN

    def named(self, file: FileIndex, scope: Scope, name: str, depth: int) -> _Uses:
        """The uses of a name that a scope binds."""
        if _is_global(scope, name):
            scope = file.scopes.module
        if (scope, name) in self._seen:
            return
        self._seen.add((scope, name))
        reads = file.loads.get(name, ())
        if len(reads) > _MOST_READS:
            yield _UNSEEN
            return
        is_read = False
        for read in reads:
            if not isinstance(read.node, ast.Name):
                continue
            if read.statement is None or read.scope is None:
                yield _UNSEEN  # a default or a decorator
            elif _sees(read.scope, scope, name):
                is_read = True
                yield from self.of(file, read.scope, read.statement, read.node, depth + 1)
        if scope is file.scopes.module and not self._is_private(scope, name) and _is_for_others(file, name, is_read):
            yield _UNSEEN

    @staticmethod
    def _is_private(module: Scope, name: str) -> bool:
        """Whether all bindings of a global are under ``if __name__ == "__main__"``, so no import sees it."""
        return all(map(_is_main, bindings_of(module).get(name, ())))

    def _kept(self, file: FileIndex, owner: Class, name: str, depth: int) -> _Uses:
        """The uses of an attribute of a project class, wherever an attribute of that name is read."""
        if (owner, name) in self._seen:
            return
        self._seen.add((owner, name))
        project, getter = file.project, re.compile(rf"getattr\([^)]*[\"']{re.escape(name)}[\"']")
        related = _family(file, owner)
        if related is None:
            yield _UNSEEN
            return
        reads: list[tuple[FileIndex, Load]] = []
        for there in project.mentions.of(name):
            if there.is_quiet:
                continue
            if there.matches(getter):
                yield _UNSEEN
            reads += [(there, read) for read in there.loads.get(name, ()) if isinstance(read.node, ast.Attribute)]
        if not 0 < len(reads) <= _MOST_READS:
            yield _UNSEEN
            return
        for there, read in reads:
            if read.statement is None or read.scope is None:
                yield _UNSEEN
            elif not _is_own(read) or read.scope.owner is None or _is_related(there, read.scope.owner, owner, related):
                yield from self._read(there, read.scope, read.statement, read.node, depth)

    def _read(self, file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> _Uses:
        if file.is_offline:
            yield _Use(BatchUse.PREDICTS, file, node)
        else:
            yield from self.of(file, scope, statement, node, depth + 1)

    def _drawn(self, file: FileIndex, scope: Scope, statement: Statement) -> _Uses:
        """``next(iter(loader))``: one batch, unless a loop draws more or the batch is passed on."""
        kept = isinstance(statement.node, ast.Return) or any("." in name for name in bound_by(statement.node))
        if kept or intent.runs_on(statement) or not intent.gives_nothing(file, scope):
            yield _UNSEEN
        else:
            yield _Use(BatchUse.ONCE)

    def _handed(
        self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call, node: ast.expr, depth: int
    ) -> _Uses:
        """The uses of an argument: those of the parameter, or those that the function's name shows."""
        name = dotted(call.func)
        last = name.rpartition(".")[2] if name else ""
        if intent.says_predict(last):
            kind = BatchUse.EVALUATES if _is_between_epochs(node) else BatchUse.PREDICTS
            yield self._use(file, scope, statement, kind, call)
            return
        reached = CallGraph.of(file.project).reached(file, scope, call)
        if not reached:
            yield self._named_use(file, scope, statement, call, node)
            return
        there, inner = reached[0]
        names = [*inner.parameters, *keyword_only(inner)]
        parameter = next((one for one in names if argument_for(inner, call, one) is node), None)
        if parameter is None:
            yield _UNSEEN
        else:
            yield from self.named(there, inner, parameter, depth + 1)

    def _returned(self, file: FileIndex, scope: Scope, depth: int, position: int | None) -> _Uses:
        """The uses of what a function returns, by its callers."""
        if (scope, position) in self._seen:
            return
        self._seen.add((scope, position))
        graph = CallGraph.of(file.project)
        sites = graph.calls(file, scope, Certainty.NAME)
        are_seen = sites and all(site.certainty > Certainty.NAME for site in sites)
        if not are_seen or graph.others(file, scope) is Certainty.SURE:
            yield _UNSEEN
            return
        for site in [site for site in sites if site.call in self._through] or sites:
            if scope is self._made_in and _leaves_out(site, file, scope, self._made):
                continue
            if site.file.is_offline:
                yield _Use(BatchUse.PREDICTS, site.file, site.call)
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
            yield _UNSEEN


def _leaves_out(site: CallSite, file: FileIndex, scope: Scope, statement: Statement) -> bool:
    """Whether a call never runs a statement of the function that it reaches: ``build(data, is_test=False)``."""
    tests = [(link.node.test, link.branch == "body") for link in statement.around if isinstance(link.node, ast.If)]
    place = Place(site.file, site.scope, site.statement)
    constants = Constants.of(file.project)
    inside = constants.entered(site.call, place, file, scope) if tests else None
    if inside is None:
        return False
    for test, wanted in tests:
        values = constants.possible(test, inside)
        if values and all(value.is_known and bool(value.value) != wanted for value in values):
            return True
    return False


def _parents(node: ast.stmt) -> dict[ast.AST, ast.expr]:
    """The parts of a statement's own expressions, each with what it is part of."""
    return {
        child: outer  # type: ignore[misc]  # what is inside an expression is an expression, a keyword or the like
        for header in headers(node)
        for outer in walk(header)
        for child in children(outer)
    }


def _sees(inner: Scope, outer: Scope, name: str) -> bool:
    """Whether a name read in one scope is the one bound in another."""
    scope: Scope | None = inner
    while scope is not None and scope is not outer:
        if _is_global(scope, name):
            return isinstance(outer.node, ast.Module)
        if name in scope.parameters or name in keyword_only(scope) or name in bindings_of(scope):
            return False
        scope = scope.parent
    return scope is outer


def _is_global(scope: Scope, name: str) -> bool:
    return name in scope.once("globals", lambda: _globals_of(scope))


def _globals_of(scope: Scope) -> frozenset[str]:
    """The names that a function declares global."""
    nodes = (statement.node for statement in scope.statements)
    return frozenset(name for node in nodes if isinstance(node, ast.Global) for name in node.names)


def _is_for_others(file: FileIndex, name: str, is_read: bool) -> bool:
    """Whether another file may read a global of this one; assumed if the file neither reads it nor trains."""
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
    """Whether a statement is in the body of a class, and so binds an attribute."""
    first = 0 if isinstance(scope.node, ast.Module) else scope.node.lineno
    return any(
        first <= owner.node.lineno <= node.lineno <= (owner.node.end_lineno or 0)
        for owner in file.scopes.classes.values()
    )


def _is_main(statement: Statement) -> bool:
    """Whether a statement of a module is under ``if __name__ == "__main__"``: no import reaches it."""
    tests = (
        [link.node.test for link in statement.place.chain() if isinstance(link.node, ast.If)] if statement.place else []
    )
    return any(isinstance(test, ast.Compare) and dotted(test.left) == "__name__" for test in tests)


def _is_own(read: Load) -> bool:
    return isinstance(read.node, ast.Attribute) and dotted(read.node.value) == "self"


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


def _is_between_epochs(node: ast.expr) -> bool:
    """Whether a loader is named as one for evaluation between epochs: a test set is often used after the training."""
    names = (dotted(node) or "").split(".")
    return any(evaluates(name) and not name.lower().startswith("test") for name in names)
