"""PPF114: a ``map`` of PaddleNLP that tokenizes each sample again in each epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.loaders import LOADER, Worth, reading, training_places
from perflint.facts.sample_calls import SELF_GIVING, Conversion, LazyMap, conversion, lazy_maps
from perflint.findings import Confidence, Fix, Related
from perflint.flow.calls import CallGraph
from perflint.flow.sources import asked
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import Instead, StatementEdit, statement_around
from perflint.query import query
from perflint.rules.edits import WithArgument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import LOOPS, Scope, Statement
from perflint.trace.lengths import passes
from perflint.trace.loading import workers_of
from perflint.training.every import whole_number

RULE = shipped()["PPF114"]
_TRAINER = re.compile(r"paddlenlp\.trainer\.(?:\w+\.)?(?:\w*Trainer)$")
_IN_WORKERS = "sample that workers convert again"
"""The event if worker processes convert the samples."""


class _Reader(NamedTuple):
    """What reads a dataset: the loader or the trainer, and where a training draws from it, if known.

    ``in_process``: the process that trains may convert the samples.
    """

    call: ast.Call
    at: Place
    dataset: ast.expr
    worth: Worth
    row: tuple[str, int]
    in_process: bool = True


@dataclass(frozen=True)
class RepeatedMap:
    """The lazy maps of one function, the first of which converts the samples of a training.

    ``reader``: where the samples are read in each epoch. ``in_workers``: worker processes convert them.
    """

    maps: tuple[LazyMap, ...]
    reader: tuple[str, int]
    in_workers: bool


# Finds the loaders and the trainers that read the same samples in each epoch, and the lazy maps behind them.


@query
def repeated_maps(project: Project) -> Mapping[str, Mapping[ast.Call, RepeatedMap]]:
    """The lazy maps of a project that tokenize the samples of a training again in each epoch, by path."""
    found: dict[Scope, tuple[str, RepeatedMap]] = {}
    beside: dict[Scope, dict[ast.Call, LazyMap]] = {}
    for file in project.files.values() if project.mentions.of("paddlenlp") else ():
        if not (file.is_quiet or file.is_foreign or file.is_offline):
            for reader in (*_loaders(file), *_trainers(file)):
                for each in lazy_maps(reader.dataset, reader.at):
                    does = conversion(each.converts)
                    if Conversion.TOKENIZES not in does or (Conversion.DRAWS | Conversion.READS_FILES) & does:
                        continue
                    beside.setdefault(each.place.scope, {})[each.call] = each
                    if reader.worth is Worth.TRAINS and each.place.scope not in found:
                        here = RepeatedMap((each,), reader.row, not reader.in_process)
                        found[each.place.scope] = each.place.file.path, here
    places: dict[str, dict[ast.Call, RepeatedMap]] = {}
    for scope, (path, one) in found.items():
        first = one.maps[0].call
        others = sorted(
            (each for call, each in beside[scope].items() if call is not first),
            key=lambda one: one.place.file.row(one.call),
        )
        places.setdefault(path, {})[first] = replace(one, maps=(*one.maps, *others))
    return places


def _loaders(file: FileIndex) -> Iterator[_Reader]:
    """The loaders from which a training, or an evaluation that it waits for, draws in each epoch."""
    for scope, statement, call in file.calls_named("DataLoader"):
        dataset, at = argument_of(call, "dataset", 0), Place(file, scope)
        if dataset is None or file.names.qualified(call.func) != LOADER:
            continue
        if next(lazy_maps(dataset, at.before(statement)), None) is None:  # cheaper than what follows
            continue
        read = reading(at, statement, call)
        if read.worth is Worth.EVALUATES_OFTEN or (read.worth is Worth.TRAINS and reads_again(at, statement, call)):
            in_process = not {0, None}.isdisjoint(workers_of(call, at.before(statement)))
            yield _Reader(call, at.before(statement), dataset, read.worth, (read.path, read.line), in_process)


def _trainers(file: FileIndex) -> Iterator[_Reader]:
    """The trainers of PaddleNLP, and of classes that inherit from these, with the datasets that they get."""
    for scope, statement, call in file.calls if file.has("train_dataset") else ():
        if argument_of(call, "train_dataset", None) is None or not _is_trainer(file, call):
            continue
        at = Place(file, scope, statement)
        if _trains_once(call, at):
            continue
        for name, worth in (("train_dataset", Worth.TRAINS), ("eval_dataset", Worth.EVALUATES_OFTEN)):
            dataset = argument_of(call, name, None)
            if dataset is not None:
                yield _Reader(call, at, dataset, worth, (file.path, file.row(call)))


def _trains_once(call: ast.Call, at: Place) -> bool:
    """Whether the arguments of a trainer say that it trains for one epoch."""
    given = argument_of(call, "args", None)
    for source in asked(given, at).sources() if given is not None else ():
        epochs = argument_of(source.node, "num_train_epochs", None) if isinstance(source.node, ast.Call) else None
        if epochs is not None and whole_number(epochs, source.place) == 1:
            return True
    return False


def _is_trainer(file: FileIndex, call: ast.Call) -> bool:
    made = Modules.of(file.project).class_at(file, call.func)
    names = {file.names.qualified(call.func)} if made is None else Hierarchy.of(file.project).unseen(*made)
    return any(map(_TRAINER.match, names))


def reads_again(at: Place, statement: Statement, call: ast.Call) -> bool:
    """Whether a training reads the samples of the loader that a call creates more than once; assumed if none is known.

    A loader for evaluations is not read by a training.
    """
    loops = [*training_places(at, statement, call)]
    return not loops or any(map(_is_repeated, loops))


def _is_repeated(at: Place) -> bool:
    """Whether a training goes through a loop more than once; one in a function that nothing calls may be an epoch."""
    if at.statement is None or (
        not _loops_around(at.statement) and not CallGraph.of(at.file.project).callers(at.function)
    ):
        return at.scope is not at.file.scopes.module
    return _runs_again(at.function, at.statement)


@query(cycle=False)
def _runs_again(at: Place, statement: Statement) -> bool:
    """Whether a statement runs more than once: in a loop over epochs, or in a function that one calls.

    A loop that is known to run once, ``for epoch in range(1)``, does not count.
    """
    if not all(_runs_once(loop, at) for loop in _loops_around(statement)):
        return True
    sites = CallGraph.of(at.file.project).callers(at) if at.scope is not at.file.scopes.module else []
    return any(site.scope is at.scope or _runs_again(site.function, site.statement) for site in sites)


def _loops_around(statement: Statement) -> list[ast.stmt]:
    return [link.node for link in statement.around if isinstance(link.node, LOOPS) and link.branch == "body"]


def _runs_once(loop: ast.stmt, at: Place) -> bool:
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    if passes(loop.iter, at) == 1:
        return True
    limits = loop.iter.args if isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range" else []
    return len(limits) == 1 and whole_number(limits[0], at) == 1


# PPF114: the first of the lazy maps of a function; its edit makes all of them convert the samples once.


def _places(file: FileIndex) -> Iterator[Candidate]:
    for call, found in repeated_maps(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, call)
        if statement is not None:
            yield Candidate(call, statement, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def lazy_map(found: RepeatedMap, context: Context) -> None:
    """Report a map that converts each sample of a training again in each epoch."""
    path, row = found.reader
    place = context.where(path, row) if row else ""
    others = found.maps[1:]
    context.report(
        _fix(found, context),
        related=tuple(Related(context.file.path, context.file.row(each.call), "is lazy, too") for each in others),
        confidence=Confidence.HIGH,
        event=_IN_WORKERS if found.in_workers else "",
        what=dotted(found.maps[0].call.func) or "map",
        reader=RULE.texts["at a place" if row else "somewhere"].format(place=place),
    )


def _fix(found: RepeatedMap, context: Context) -> Fix:
    if any(_is_changed_further(each) for each in found.maps):
        return RULE.words("changed further")
    changes = (_eager(each.call) for each in found.maps)
    return RULE.fix([edit for change in changes for edit in context.edits(change)])


def _eager(call: ast.Call) -> StatementEdit:
    lazy = argument_of(call, "lazy", 1)
    return WithArgument(call, "lazy=False") if lazy is None else Instead(lazy, "False")


def _is_changed_further(each: LazyMap) -> bool:
    """Whether the dataset is filtered or mapped again: then the order in which the functions run would change."""
    name = dotted(each.call.func.value) if isinstance(each.call.func, ast.Attribute) else None
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("map", *SELF_GIVING)
        and call is not each.call
        and (call.func.value is each.call or (name is not None and dotted(call.func.value) == name))
        for call in each.place.scope.calls
    )
