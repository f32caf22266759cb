"""Finds checkpoints that every process of a distributed program writes: saves without a rank test."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, CallSite
from perflint.dataflow.paddle_api import PARALLEL
from perflint.dataflow.values import Values
from perflint.facts.rank_ways import leaves_out, stops
from perflint.facts.ranks import Ranks, contradict, facts
from perflint.facts.save_targets import targets_of, writes_memory
from perflint.findings import Confidence
from perflint.index.callers import Callers
from perflint.index.imports import Imports
from perflint.query import Memory, query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import Place, Scope, Statement
from perflint.syntax.vocabulary import exports, is_no_training

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

SAVES = frozenset({"paddle.save", "paddle.async_save", "paddle.static.save", "paddle.fluid.save"})
"""Calls that write a file in whichever process they run."""

_STARTS = frozenset(
    {
        "paddle.distributed.init_parallel_env",
        "paddle.distributed.parallel.init_parallel_env",
        "paddle.distributed.fleet.init",
        "paddle.distributed.fleet.fleet.init",
        "paddle.fluid.dygraph.parallel.prepare_context",
        "paddle.fluid.dygraph.prepare_context",
    }
)
_SPAWNS = frozenset({"paddle.distributed.spawn"})
# Programs whose processes have different parts of the model, or some of whose processes do not train.
_OTHER_WAYS = re.compile(
    r"group_sharded|save_state_dict\(|hybrid_communicate_group|HybridParallel|hybrid_configs|model_parallel|pipeline_parallel"
    r"|init_server|run_server|is_server\(|stop_worker\(|sharding_stage|GroupSharded",
)
_SAVE = re.compile(r"\b(async_)?save(_dygraph)?\(")
_MAX_DEPTH = 4

Facts = frozenset[tuple[str, bool]]


@dataclass(frozen=True)
class EveryRank:
    """A save that every process does.

    ``line``: its row; ``via``: the calls that lead to it from the place where the program becomes distributed, as
    (path, line), outermost first; ``start``: the place that makes the program distributed; ``more``: how many saves
    follow it in the same block.
    """

    line: int
    via: tuple[tuple[str, int], ...]
    start: tuple[str, int]
    confidence: Confidence
    more: int = 0


@dataclass(frozen=True)
class _Path:
    """How every rank gets into a function; ``facts``: the tests known to be true there."""

    via: tuple[tuple[str, int], ...]
    start: tuple[str, int]
    confidence: Confidence
    facts: Facts = frozenset()
    wrapped: bool = False
    """Whether only a wrapped model shows it, in a program without other signs of distribution."""


@query
def every_rank(project: Project) -> Mapping[str, Mapping[int, EveryRank]]:
    """The saves of a project that every rank does, by path and by the offset of the call."""
    return _Finder(project).found()


@query
def every_rank_in(file: FileIndex) -> Mapping[int, EveryRank]:
    """The saves of a file that every rank does, by the offset of the call."""
    return every_rank(file.project).get(file.path, {})


class _Finder:
    def __init__(self, project: Project) -> None:
        self._project = project
        self.memory = Memory()

    def found(self) -> dict[str, dict[int, EveryRank]]:
        if not self._initial and not self._spawned:
            return {}
        result: dict[str, dict[int, EveryRank]] = {}
        for file in self._files:
            if not file.matches(_SAVE) or file.matches(_OTHER_WAYS):
                continue
            for scope, saves in open_saves(file).items():
                for call, more in _first_of_each_block(saves):
                    statement = next(each for each in scope.statements if call in each.calls)
                    path = self._path(file, scope, 0, statement)
                    if path is not None and not contradict(facts(statement.place), path.facts):
                        offset = file.source.lines.offset(call.lineno, call.col_offset)
                        entry = EveryRank(file.row(call), path.via, path.start, path.confidence, more)
                        result.setdefault(file.path, {})[offset] = entry
        return result

    @cached_property
    def _files(self) -> list[FileIndex]:
        return [
            file
            for file in self._project.files.values()
            if not file.is_quiet and not file.is_foreign and not file.is_offline and not exports(file.parts[-1])
        ]

    # -- from where every rank comes ---------------------------------------------------------------------------

    @query(cycle=None)  # a function that calls itself
    def _path(self, file: FileIndex, scope: Scope, depth: int = 0, at: Statement | None = None) -> _Path | None:
        """How every rank of a distributed program gets into a function, or to a statement of it; None if it does not.

        A call that leaves ``save_every`` at None does not reach code under ``if save_every is not None:``.
        """
        ranks = Ranks.of(self._project)
        if ranks.decorated(scope) or is_no_training(scope.name) or file.matches(_OTHER_WAYS):
            return None
        own = self._start(file, scope)
        if own is not None:
            return own
        if depth >= _MAX_DEPTH:
            return None
        sites = CallGraph.of(self._project).calls(file, scope)
        open_sites = [
            site
            for site in sites
            if site.file in self._files
            and site.scope is not scope
            and not ranks.guarded(site.statement, site.call, site.scope, site.file)
            and not any(ranks.is_per_rank(item, site.scope, site.file) for item in arguments_of(site.call))
            and not (at is not None and leaves_out(site, file, scope, at))
        ]
        for site in open_sites:
            path = self._path(site.file, site.scope, depth + 1, site.statement)
            if path is not None and not contradict(facts(site.statement.place), path.facts):
                # A method without known callers is made for other code; the methods that it calls itself run on every
                # rank.
                own_method = scope.owner is not None and site.scope.owner is scope.owner
                sure = max(path.confidence, Confidence.HIGH if own_method and not path.wrapped else Confidence.LOW)
                via = (*path.via, (site.file.path, site.file.row(site.call)))
                return _Path(via, path.start, sure, wrapped=path.wrapped)
        return self._from_class(file, scope, sites, open_sites)

    def _from_class(
        self, file: FileIndex, scope: Scope, sites: list[CallSite], open_sites: list[CallSite]
    ) -> _Path | None:
        """A method of an object that made the program distributed when it was built."""
        if scope.owner is None:
            return None
        starts = (self._start(file, method) for method in scope.owner.methods.values())
        found = next((start for start in starts if start is not None), None)
        if found is None or (sites and not open_sites):
            return None
        own = [site for site in sites if site.scope.owner is scope.owner]
        if own and all(self._is_confined(site) for site in own):
            return None  # code called from elsewhere may not run where this class makes the program distributed
        if not open_sites:
            return _Path((), found.start, Confidence.LOW, wrapped=found.wrapped)
        place = open_sites[0].file.path, open_sites[0].file.row(open_sites[0].call)
        return _Path((place,), found.start, found.confidence, wrapped=found.wrapped)

    def _is_confined(self, site: CallSite, depth: int = 0) -> bool:
        """Whether a call runs on one rank only: under a test of it, or in a function all of whose calls are."""
        if Ranks.of(self._project).guarded(site.statement, site.call, site.scope, site.file):
            return True
        calls = CallGraph.of(self._project).calls(site.file, site.scope) if depth < _MAX_DEPTH else []
        return bool(calls) and all(self._is_confined(call, depth + 1) for call in calls)

    def _start(self, file: FileIndex, scope: Scope) -> _Path | None:
        """The statement of a function that makes the program distributed, or finds it so.

        None if the distributed program stops with an error before it saves anything.
        """
        found = self._begins(file, scope)
        return None if found is not None and stops(file, scope) else found

    def _begins(self, file: FileIndex, scope: Scope) -> _Path | None:
        if scope in self._spawned:
            return _Path((), self._spawned[scope], Confidence.HIGH)
        for statement in scope.statements:
            for call in statement.calls:
                name = dotted(call.func)
                last = name.rpartition(".")[2] if name else ""
                if not name or (last not in self._names and last not in _LAST):
                    continue
                place = file.path, file.row(call)
                qualified = file.names.resolve(name)
                if qualified in _STARTS or self._reaches_start(file, scope, call):
                    return _Path((), place, Confidence.HIGH, facts(statement.place))
                if qualified in PARALLEL:
                    sure = self._is_started(file)
                    confidence = Confidence.HIGH if sure else Confidence.LOW
                    return _Path((), place, confidence, facts(statement.place), wrapped=not sure)
        return None

    def _is_started(self, file: FileIndex) -> bool:
        """Whether the program that a file belongs to is distributed by any file that it loads, or that loads it."""
        starters = {start for start, _ in self._initial}
        loaded = self._imports.closure([file])
        return bool(loaded & starters) or any(file in self._imports.closure([start]) for start in starters)

    @cached_property
    def _imports(self) -> Imports:
        return Imports.of(self._project)

    def _reaches_start(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        return any(function in self._initial for function in CallGraph.of(self._project).reached(file, scope, call))

    @cached_property
    def _initial(self) -> frozenset[tuple[FileIndex, Scope]]:
        """The functions that make the program distributed."""
        found = {
            (file, scope)
            for file in self._files
            if any(file.has(word) for word in ("init_parallel_env", "fleet", "prepare_context"))
            for scope in file.scopes_where(_starts)
        }
        return frozenset(found)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(
            scope.owner.name if scope.owner is not None and scope.name == "__init__" else scope.name
            for _, scope in self._initial
        )

    @cached_property
    def _spawned(self) -> dict[Scope, tuple[str, int]]:
        """The functions that ``paddle.distributed.spawn`` runs in each process."""
        found: dict[Scope, tuple[str, int]] = {}
        if not any(file.has("distributed") and file.has("spawn(") for file in self._files):
            return found
        for file, scope, _, call in Callers.of(self._project).named("spawn"):
            target = dotted(call.args[0]) if call.args else None
            if target and file.names.resolve(dotted(call.func) or "") in _SPAWNS:
                reached = Values.of(self._project).callee(file, scope, target, {})
                if reached is not None:
                    found[reached[1]] = (file.path, file.row(call))
        return found


_LAST = frozenset(name.rpartition(".")[2] for name in _STARTS | PARALLEL)


@query
def open_saves(file: FileIndex) -> dict[Scope, list[tuple[ast.Call, Place | None]]]:
    """The saves of a file without a rank test in their own function that write one common file."""
    found = {scope: list(_open_saves(file, scope)) for scope in file.scopes_where(_saves)}
    return {scope: saves for scope, saves in found.items() if saves}


def _open_saves(file: FileIndex, scope: Scope) -> Iterator[tuple[ast.Call, Place | None]]:
    ranks = Ranks.of(file.project)
    if is_no_training(scope.name) or exports(scope.name) or ranks.decorated(scope):
        return
    for statement in scope.statements:
        for call in statement.calls:
            if file.names.resolve(dotted(call.func) or "") not in SAVES or ranks.guarded(statement, call, scope, file):
                continue
            is_own = any(ranks.is_per_rank(path, scope, file) for path in targets_of(call))
            if not is_own and not writes_memory(call, file, scope):
                yield call, statement.place


def _saves(file: FileIndex, scope: Scope) -> bool:
    return _calls_one(file, scope, SAVES)


def _starts(file: FileIndex, scope: Scope) -> bool:
    return _calls_one(file, scope, _STARTS)


def _calls_one(file: FileIndex, scope: Scope, names: Container[str]) -> bool:
    """Whether a function calls one of these by name."""
    return any(
        file.names.resolve(dotted(call.func) or "") in names
        for statement in scope.statements
        for call in statement.calls
    )


def _first_of_each_block(saves: list[tuple[ast.Call, Place | None]]) -> Iterator[tuple[ast.Call, int]]:
    """The first save of each block, with how many follow it there."""
    blocks: dict[tuple[int, str], list[ast.Call]] = defaultdict(list)
    for call, place in saves:
        blocks[(id(place.node), place.branch) if place else (0, "")].append(call)
    for calls in blocks.values():
        yield min(calls, key=lambda call: call.lineno), len(calls) - 1
