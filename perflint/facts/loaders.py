"""Where loaders are created, what for, and which code draws batches from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NamedTuple

from perflint.facts.dataset_samples import Work, work_of
from perflint.facts.programs import has_no_gpu, is_toy
from perflint.flow.branches import is_left_out
from perflint.flow.calls import CallGraph, CallSite
from perflint.flow.constants import Constants
from perflint.flow.uses import Use, UseKind, UseSearch, is_global, uses
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.index.project import Located, Place
from perflint.paddle.call_results import LOOPED
from perflint.syntax.bindings import bindings_of, bound_by, targets_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_none, keyword_only
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import evaluates, predicts, retrieves, snake, trains
from perflint.training import evidence, intent
from perflint.training.intent import BatchUse, runs_while_training
from perflint.training.step_loops import loops_around, step_loops
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


def is_loader_class(project: Project, file: FileIndex, owner: Class) -> bool:
    """Whether a class of the project inherits from Paddle's loader."""
    return LOADER in Hierarchy.of(project).base_names(file, owner)


def loader_calls(project: Project) -> Iterator[Located]:
    """The calls of Paddle's loader in code that trains, each with its place."""
    for file in project.mentions.of("DataLoader"):
        if not (file.is_quiet or file.is_foreign or file.is_offline):
            for scope, statement, call in file.calls_named("DataLoader"):
                if file.names.qualified(call.func) == LOADER:
                    yield Located(call, Place(file, scope).before(statement))


def purpose(calls: tuple[Located, ...]) -> Purpose:
    """What a loader is for, judging by names, loops and callers.

    Args:
        calls: the call that creates the loader, and those that led to it, inside out.
    """
    found, waiting = _of_calls(calls), [calls]
    while waiting:
        answers = {path: _of_calls(path) for path in waiting}
        if Purpose.TRAINING in answers.values():
            return Purpose.TRAINING
        waiting = [
            (*path, Located(site.call, site.place))
            for path, answer in answers.items()
            if answer is Purpose.UNKNOWN and path and _is_returned(path[-1].place)
            for site in CallGraph.of(path[-1].place.file.project).callers(
                Place(path[-1].place.file, path[-1].place.scope)
            )
            if not (site.file.is_offline or site.is_unbound or any(site.scope is call.place.scope for call in path))
        ]
    return found


def _of_calls(calls: tuple[Located, ...]) -> Purpose:
    answers = [_of_call(call, place) for call, place in calls]
    if Purpose.EVALUATION in answers:
        return Purpose.EVALUATION
    return Purpose.TRAINING if Purpose.TRAINING in answers else Purpose.UNKNOWN


def _of_call(call: ast.Call, place: Place) -> Purpose:
    file, scope = place.file, place.scope
    targets = bound_by(place.statement.node) if place.statement is not None else []
    for words in ([name.rpartition(".")[2] for name in targets], _dataset_words(call)):
        said = _said(words)
        if said is not Purpose.UNKNOWN:
            return said
    if shuffling(call, scope):
        return Purpose.TRAINING
    used = _used(Place(file, scope), set(targets))
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


def shuffling(call: ast.Call, scope: Scope) -> bool | None:
    """Whether a loader, or its sampler, shuffles the samples; None if the call does not say it."""
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "shuffle" and isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return value.value
        if keyword.arg == "batch_sampler" and isinstance(value, (ast.Name, ast.Call)):
            named = bindings_of(scope).get(value.id, ()) if isinstance(value, ast.Name) else ()
            bound = [each.node.value for each in named if isinstance(each.node, ast.Assign)]
            made = [value] if isinstance(value, ast.Call) else bound
            said = {shuffling(each, scope) for each in made if isinstance(each, ast.Call)}
            return True if True in said else False if said == {False} else None
    return None


def _used(at: Place, targets: set[str]) -> Purpose:
    """What a scope does with the loaders that it binds to these names."""
    if not targets:
        return Purpose.UNKNOWN
    for loop in evidence.step_loops(at.scope, lambda call: TrainingCalls.of(at.file.project).call_trains(at, call)):
        if not isinstance(loop, ast.While) and any(dotted(node) in targets for node in expressions(loop.iter)):
            return Purpose.TRAINING
    handed = [
        terminal(call) or ""
        for statement in at.scope.statements
        for call in statement.calls
        if any(dotted(argument) in targets for argument in [*call.args, *(item.value for item in call.keywords)])
    ]
    said = [_said([name]) for name in handed]
    return next((one for one in (Purpose.TRAINING, Purpose.EVALUATION) if one in said), Purpose.UNKNOWN)


def _is_returned(place: Place) -> bool:
    scope, statement = place.scope, place.statement
    if statement is None or isinstance(statement.node, ast.Return):
        return statement is not None
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

_PASSES_ON = LOOPED | {"list", "trange"}
_ASKS = frozenset({"len", "print", "type", "isinstance", "repr", "str", "id", "bool", "hasattr"})
_SETTINGS = frozenset({"dataset", "batch_sampler", "batch_size", "return_list", "num_workers", "drop_last", "__len__"})
_MEMORY = frozenset({"paddle.io.TensorDataset", "list", "zip", "tuple"})
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
    """One use of a loader, with its statement or call; ``often``: repeatedly during a training.

    ``at``: the place of the loop, or of the call that gets the loader, if that is known.
    """

    kind: BatchUse
    file: FileIndex | None = None
    node: ast.AST | None = None
    often: bool = False
    at: Place | None = None

    @property
    def place(self) -> tuple[str, int]:
        """Its path and row, ``""`` and 0 if unknown."""
        return ("", 0) if self.file is None or self.node is None else (self.file.path, self.file.row(self.node))


_UNSEEN = _Use(BatchUse.UNKNOWN)


def reading(
    at: Place, statement: Statement, call: ast.Call, through: frozenset[ast.Call] = frozenset()
) -> LoaderReading:
    """What workers could do for the loader that a call creates.

    ``through``: which callers of the functions that create the loader to follow; empty: all.
    """
    if loads_from_memory(at, call) or _yields_whole_batches(call) or _is_refused(at, statement, call):
        return LoaderReading(Worth.NOTHING)
    said = intent.says_predict(at.scope.name, *bound_by(statement.node))
    worth, best = Worth.PREDICTS if said else Worth.NOTHING, _UNSEEN
    predicts = is_unseen = False
    for use in _drawing(at, statement, call, through):
        found = _worth(use, said)
        predicts, is_unseen = predicts or found is Worth.PREDICTS, is_unseen or found is Worth.UNKNOWN
        if found < worth:
            worth, best = found, use
        if found is Worth.TRAINS:
            break
    if worth is Worth.NOTHING:
        return LoaderReading(worth)
    keeps_order = shuffling(call, at.scope) is False  # where nothing shows what draws from it, its name is not enough
    is_open = worth is not Worth.TRAINS and is_unseen and not predicts and not keeps_order
    if is_open and is_for_training(at, statement, call):
        worth, best = Worth.TRAINS, _UNSEEN
    path, line = best.place
    work = work_of(argument_of(call, "dataset", 0), at.before(statement))
    return LoaderReading(worth, work, path, line, has_no_gpu(at.file), work is not Work.SOME and is_toy(at.file))


def training_on(call: ast.Call, at: Place) -> LoaderReading | None:
    """What trains on the batches of a loader, also where its samples are in memory; None if nothing is known to.

    In memory it does not count whether the program trains much: there is no work for workers, but maybe for others.
    """
    assert at.statement is not None
    read = reading(at.function, at.statement, call)
    if read.worth is Worth.NOTHING and loads_from_memory(at.function, call):
        trains = next(training_places(at.function, at.statement, call), None)
        if trains is not None and trains.statement is not None:
            where = trains.file.path, trains.file.row(trains.statement.node)
            return LoaderReading(Worth.TRAINS, Work.NONE, *where, has_no_gpu(at.file))
    return read if read.worth is Worth.TRAINS else None


def feeds_training(at: Place, statement: Statement, call: ast.Call) -> bool:
    """Whether a training loop is known to draw from the loader that a call creates, whatever its samples are."""
    return any(use.kind is BatchUse.TRAINS for use in _drawing(at, statement, call))


def training_places(at: Place, statement: Statement, call: ast.Call) -> Iterator[Place]:
    """The loops that train on the batches of the loader that a call creates, and the calls that get it for that."""
    for use in _drawing(at, statement, call):
        if use.kind is BatchUse.TRAINS and use.at is not None:
            yield use.at


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


def is_for_training(at: Place, statement: Statement, call: ast.Call) -> bool:
    """Whether names, or the shuffling, show that a loader is for training."""
    return purpose((Located(call, at.before(statement)),)) is Purpose.TRAINING


def loads_from_memory(at: Place, call: ast.Call) -> bool:
    """Whether the samples are the items of a list or of tensors: then there is no work for workers."""
    dataset = argument_of(call, "dataset", 0)
    if isinstance(dataset, ast.Name):
        dataset = Values.of(at.file.project).definitions(at).get(dataset.id, dataset)
    if isinstance(dataset, (ast.List, ast.ListComp, ast.Tuple)):
        return True
    made = dotted(dataset.func) if isinstance(dataset, ast.Call) else None
    if made is None:
        return False
    found = Modules.of(at.file.project).find(at.file.names.resolve(made), at.file)
    return at.file.names.resolve(made) in _MEMORY or (
        found is not None and isinstance(found[1], Class) and _holds_tensors(found[0], found[1])
    )


def _holds_tensors(file: FileIndex, owner: Class) -> bool:
    """Whether a dataset keeps its samples as tensors of Paddle, which a worker may not use if they are on a GPU."""
    held = {
        f"self.{name}"
        for name, assigned in owner.attributes.items()
        for value, _ in assigned
        for item in walk(value)
        if isinstance(item, ast.Call) and file.names.resolve(dotted(item.func) or "") == "paddle.to_tensor"
    }
    get = owner.methods.get("__getitem__")
    if get is None or not held:
        return bool(held)
    return any(isinstance(item, ast.Subscript) and dotted(item.value) in held for item in walk(get.node))


def _yields_whole_batches(call: ast.Call) -> bool:
    """``batch_size=None``: the dataset creates the batches, usually as a stream that each worker would repeat."""
    given, sampler = argument_of(call, "batch_size", 5), argument_of(call, "batch_sampler", 4)
    return isinstance(given, ast.Constant) and given.value is None and (sampler is None or is_none(sampler))


def _is_refused(at: Place, statement: Statement, call: ast.Call) -> bool:
    """Whether Paddle refuses to create a loader: a ``batch_sampler`` rules out ``shuffle`` and any batch size but 1.

    A sampler that may be None counts as none; an unknown size counts as not 1.
    """
    sampler, size = argument_of(call, "batch_sampler", 4), argument_of(call, "batch_size", 5)
    if isinstance(sampler, ast.Name):
        sampler = Values.of(at.file.project).definitions(at).get(sampler.id)
    if not isinstance(sampler, ast.Call) or not (terminal(sampler) or "")[:1].isupper():
        return False
    shuffle = argument_of(call, "shuffle", 6)
    if isinstance(shuffle, ast.Constant) and shuffle.value:
        return True
    sizes = Constants.of(at.file.project).possible(size, at.before(statement)) if size is not None else ()
    return size is not None and all(value.value != 1 for value in sizes)


class _Readers(UseSearch):
    """Follows a loader to all code that may draw from it, also in other functions and files.

    Args:
        scope: the function that creates it.
        made: the statement there.
        through: which callers of the functions that create the loader to follow; empty: all.
    """

    everywhere = True

    def __init__(self, scope: Scope, made: Statement, through: frozenset[ast.Call]) -> None:
        self._made_in, self._made, self._through = scope, made, through
        self._is_item = False

    def passes(self, use: Use) -> bool:
        """Whether an expression has the loader, or draws from it what its own reader gets."""
        if _only_predicts(use):
            return False
        if isinstance(use.around, ast.Tuple):
            return isinstance(use.statement.node, ast.Return)
        if isinstance(use.around, ast.Subscript):
            return self._is_item and use.around.value is use.node
        return use.kind in (UseKind.CALLED, UseKind.CHOSEN) or (
            isinstance(use.around, ast.Call) and terminal(use.around) in _PASSES_ON
        )

    def follows(self, use: Use) -> bool:
        """Whether it is known which code gets the loader."""
        if _only_predicts(use):
            return False
        if use.kind is UseKind.BOUND:
            return use.around is use.statement.node and not _is_in_class(use.place.function, use.statement.node)
        if use.kind is UseKind.ARGUMENT and isinstance(use.around, ast.Call):
            last = terminal(use.around) or ""
            return last not in _ASKS and last != "next" and not intent.says_predict(_last_name(use.around))
        return use.kind is UseKind.STORED or isinstance(use.around, ast.Return)

    def names(self, use: Use) -> list[tuple[ast.expr, ast.expr | None]]:
        """The targets that get the loader; all of a container if it is an item of it that only a run knows."""
        found: list[tuple[ast.expr, ast.expr | None]] = []
        for target, key in super().names(use):
            is_item = isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant)
            self._is_item |= is_item
            found.append((target.value, None) if isinstance(target, ast.Subscript) and is_item else (target, key))
        return found

    def callers(self, use: Use) -> list[CallSite] | None:
        """The calls that run the statement of the loader; None if there may be others."""
        sites = super().callers(use)
        if sites is None:
            return None
        known = [site for site in sites if site.call in self._through] or list(sites)
        if use.scope is not self._made_in:
            return known
        return [site for site in known if not is_left_out(site, use.place.function, self._made)]

    def drawn(self, use: Use) -> Iterator[_Use]:
        """What one use draws from the loader; nothing if it only looks at it, or if its reader is another use."""
        around, is_call = use.around, isinstance(use.node, ast.Call)
        if _only_predicts(use):
            yield _Use(BatchUse.PREDICTS, use.file, use.node)
        elif use.kind is UseKind.ITERATED and isinstance(around, (ast.For, ast.AsyncFor)):
            yield _drawn(use, intent.use_of(use.place.function, around))
        elif use.kind is UseKind.ARGUMENT and isinstance(around, ast.Call):
            yield from _handed(use, around)
        elif use.kind is UseKind.BOUND and (around is not use.statement.node or self.follows(use)):
            yield from (_UNSEEN for name in _globals(use) if _is_for_others(use.file, name))
        elif isinstance(around, ast.Attribute):
            yield from () if around.attr in _SETTINGS else (_UNSEEN,)
        elif not (
            isinstance(around, (ast.Compare, ast.FormattedValue, ast.IfExp))
            or (isinstance(around, (ast.Expr, ast.If, ast.Assert)) and not is_call)
        ):
            yield _UNSEEN


def _drawing(
    at: Place, statement: Statement, call: ast.Call, through: frozenset[ast.Call] = frozenset()
) -> Iterator[_Use]:
    """What draws from the loader that a call creates, as far as it is known."""
    readers = _Readers(at.scope, statement, through)
    for use in uses(call, at.before(statement), through=readers):
        yield from readers.drawn(use) if use.kind is not UseKind.LOST else (_UNSEEN,)


def _only_predicts(use: Use) -> bool:
    """Whether a loader is an object's, or has been returned, where the code only predicts."""
    via = use.via
    if via is None or not use.file.is_offline:
        return False
    return via.kind in (UseKind.STORED, UseKind.RETURNED) or (via.via is not None and via.via.kind is UseKind.RETURNED)


def _drawn(use: Use, kind: BatchUse) -> _Use:
    if kind is BatchUse.UNKNOWN:
        return _UNSEEN
    often = kind is BatchUse.EVALUATES and runs_while_training(use.place.function, use.statement)
    return _Use(kind, use.file, use.around, often, use.place)


def _handed(use: Use, call: ast.Call) -> Iterator[_Use]:
    """What a call draws whose function is not known, as its name shows: ``model.fit(loader)``, ``evaluate(loader)``."""
    last = terminal(call) or ""
    keyword = next((item.arg for item in call.keywords if item.value is use.node), None)
    if last in _ASKS:
        return
    if last == "next":
        unseen = _Use(BatchUse.ONCE) if _is_one_batch(use) else _UNSEEN
        yield unseen if isinstance(use.node, ast.Call) else _drawn_in_steps(use) or unseen
    elif intent.says_predict(_last_name(call)):
        yield _drawn(use, BatchUse.EVALUATES if _is_between_epochs(use.node) else BatchUse.PREDICTS)
    elif _TRAINS.match(snake(last)):
        is_for_evaluation = keyword in _EVALUATION_DATA or any(map(evaluates, (dotted(use.node) or "").split(".")))
        kind = BatchUse.EVALUATES if is_for_evaluation else BatchUse.TRAINS
        yield _Use(kind, use.file, call, is_for_evaluation, use.place)
    else:
        yield _drawn(use, BatchUse.EVALUATES) if evaluates(last) else _UNSEEN


def _is_one_batch(use: Use) -> bool:
    """Whether ``next(iter(loader))`` draws one batch: no loop draws more, and it is not passed on."""
    node = use.statement.node
    kept = isinstance(node, ast.Return) or any("." in name for name in bound_by(node))
    return not kept and not intent.runs_on(use.statement) and intent.gives_nothing(use.place.function)


def _drawn_in_steps(use: Use) -> _Use | None:
    """``next(batches)`` in a step loop of a training, or in a function that such a loop calls for each batch."""
    at = use.place.function
    sites = CallGraph.of(use.file.project).callers(at) if _is_given_back(use.statement, at.scope) else ()
    for place in (use.place, *(site.place for site in sites)):
        if place.statement is not None and any(loops_around(place.statement, step_loops(place.function))):
            return _Use(BatchUse.TRAINS, place.file, place.statement.node, at=place)
    return None


def _is_given_back(statement: Statement, scope: Scope) -> bool:
    """Whether a function returns what a statement draws: ``return next(batches)``, or a name that it binds."""
    if isinstance(statement.node, ast.Return):
        return True
    names = set(bound_by(statement.node))
    returned = (each.node.value for each in scope.statements if isinstance(each.node, ast.Return))
    return any(not names.isdisjoint(plain_names(value)) for value in returned if value is not None)


def _last_name(call: ast.Call) -> str:
    return (dotted(call.func) or "").rpartition(".")[2]


def _globals(use: Use) -> list[str]:
    """The names of the file that a statement binds to a loader, and that an import of the file may see."""
    module = use.file.scopes.module
    targets = targets_of(use.statement.node) if use.around is use.statement.node else [use.around]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if use.scope is not module:
        names = [name for name in names if is_global(use.scope, name)]
    return [name for name in names if not all(map(_is_main, bindings_of(module).get(name, ())))]


def _is_of_file(read: Load, name: str) -> bool:
    """Whether a name that a statement reads is the global of its file, not one that a function around it binds."""
    scope = read.scope
    while scope is not None and not isinstance(scope.node, ast.Module) and not is_global(scope, name):
        if name in scope.parameters or name in keyword_only(scope) or name in bindings_of(scope):
            return False
        scope = scope.parent
    return scope is not None


def _is_for_others(file: FileIndex, name: str) -> bool:
    """Whether another file may read a global of this one; assumed if the file neither reads it nor trains."""
    module = file.scopes.module
    is_read = any(isinstance(read.node, ast.Name) and _is_of_file(read, name) for read in file.loads.get(name, ()))
    if not is_read and not any(
        TrainingCalls.of(file.project).call_trains(Place(file, module), call)
        for statement in module.statements
        if statement.loop is not None
        for call in statement.calls
    ):
        return True
    return any(
        name in other.names.bound or name in other.loads or other.names.stars
        for other in Imports.of(file.project).importers(file)
    )


def _is_in_class(at: Place, node: ast.stmt) -> bool:
    """Whether a statement is in the body of a class, and so binds an attribute."""
    first = 0 if isinstance(at.scope.node, ast.Module) else at.scope.node.lineno
    return any(
        first <= owner.node.lineno <= node.lineno <= (owner.node.end_lineno or 0)
        for owner in at.file.scopes.classes.values()
    )


def _is_main(statement: Statement) -> bool:
    """Whether a statement of a module is under ``if __name__ == "__main__"``: no import reaches it."""
    tests = (
        [link.node.test for link in statement.place.chain() if isinstance(link.node, ast.If)] if statement.place else []
    )
    return any(isinstance(test, ast.Compare) and dotted(test.left) == "__name__" for test in tests)


def _is_between_epochs(node: ast.AST) -> bool:
    """Whether a loader is named as one for evaluation between epochs: a test set is often used after the training."""
    names = (dotted(node) or "").split(".")
    return any(evaluates(name) and not name.lower().startswith("test") for name in names)
