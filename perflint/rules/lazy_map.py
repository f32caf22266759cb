"""PPF109: a ``map`` of PaddleNLP that tokenizes each sample again in each epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.lazy_maps import SELF_GIVING, Does, LazyMap, conversion, lazy_maps
from perflint.facts.loaders import LOADER, Worth, reading, training_places
from perflint.findings import Confidence, Fix, Related
from perflint.flow.calls import CallGraph
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import Instead, StatementEdit, statement_around
from perflint.query import query
from perflint.rules.edits import WithArgument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import LOOPS, Scope, Statement
from perflint.trace.lengths import passes
from perflint.training.every import whole_number

RULE = shipped()["PPF109"]
_TRAINER = re.compile(r"paddlenlp\.trainer\.(?:\w+\.)?(?:\w*Trainer)$")
_WORKERS, _WORKERS_PLACE = "num_workers", 9
_IN_WORKERS = "sample that workers convert again"
"""The event if worker processes convert the samples."""


class _Reader(NamedTuple):
    """What reads a dataset: the loader or the trainer, and where a training draws from it, if known."""

    call: ast.Call
    at: Place
    dataset: ast.expr
    worth: Worth
    row: tuple[str, int]


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
                    if Does.TOKENIZES not in does or (Does.DRAWS | Does.READS_FILES) & does:
                        continue
                    beside.setdefault(each.place.scope, {})[each.call] = each
                    if reader.worth is Worth.TRAINS and each.place.scope not in found:
                        here = RepeatedMap((each,), reader.row, _has_workers(reader))
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
        loops = [*training_places(at, statement, call)] if read.worth is Worth.TRAINS else []
        if read.worth is Worth.EVALUATES_OFTEN or (
            read.worth is Worth.TRAINS and (not loops or any(_runs_again(loop, loop.statement) for loop in loops))
        ):
            yield _Reader(call, at.before(statement), dataset, read.worth, (read.path, read.line))


def _trainers(file: FileIndex) -> Iterator[_Reader]:
    """The trainers of PaddleNLP, and of classes that inherit from these, with the datasets that they get."""
    for scope, statement, call in file.calls if file.has("train_dataset") else ():
        if argument_of(call, "train_dataset", None) is None or not _is_trainer(file, call):
            continue
        for name, worth in (("train_dataset", Worth.TRAINS), ("eval_dataset", Worth.EVALUATES_OFTEN)):
            dataset = argument_of(call, name, None)
            if dataset is not None:
                yield _Reader(call, Place(file, scope, statement), dataset, worth, (file.path, file.row(call)))


def _is_trainer(file: FileIndex, call: ast.Call) -> bool:
    made = Modules.of(file.project).class_at(file, call.func)
    names = {file.names.qualified(call.func)} if made is None else Hierarchy.of(file.project).unseen(*made)
    return any(map(_TRAINER.match, names))


def _has_workers(reader: _Reader) -> bool:
    """Whether worker processes certainly read the samples."""
    given = argument_of(reader.call, _WORKERS, _WORKERS_PLACE)
    if given is None or is_spread(reader.call):
        return False
    number = whole_number(given, reader.at)  # None for 0
    return number is not None


@query(cycle=False)
def _runs_again(at: Place, statement: Statement | None) -> bool:
    """Whether a statement runs more than once: in a loop over epochs, or in a function that one calls.

    A loop that is known to run once, ``for epoch in range(1)``, does not count; unknown callers of a function do.
    """
    if statement is None:
        return True
    loops = [link.node for link in statement.around if isinstance(link.node, LOOPS) and link.branch == "body"]
    if loops or at.scope is at.file.scopes.module:
        return not all(_runs_once(loop, at) for loop in loops)
    sites = CallGraph.of(at.file.project).callers(at.function)
    return not sites or any(site.scope is at.scope or _runs_again(site.function, site.statement) for site in sites)


def _runs_once(loop: ast.stmt, at: Place) -> bool:
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    if passes(loop.iter, at) == 1:
        return True
    limits = loop.iter.args if isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range" else []
    return len(limits) == 1 and whole_number(limits[0], at) == 1


# PPF109: the first of the lazy maps of a function; its edit makes all of them convert the samples once.


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
