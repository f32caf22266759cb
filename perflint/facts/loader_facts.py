"""Training loaders without workers whose 0 is elsewhere: an option, a default, a constant, an entry, a wrapper."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from perflint.dataflow.evaluate import Evaluator
from perflint.dataflow.flow import Flow
from perflint.dataflow.values import Values
from perflint.facts.loader_sites import LOADER, Purpose, Site, is_loader_class, purpose
from perflint.facts.loader_uses import LoaderReading, Worth, reading
from perflint.facts.samples import Obstacle, obstacle
from perflint.facts.worker_values import WorkerOrigin, left_out, zeros
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import ITERABLE_TAG
from perflint.index.modules import Modules
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_zero
from perflint.syntax.scopes import Class, Scope, Statement, terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_WORKERS, _POSITION = "num_workers", 9
_DEFAULTS = frozenset({"option", "fallback", "unknown", "parameter"})
"""Zeros that only apply by default: reported only for training."""
_SHAPES = frozenset({"batch_size", "batch_sampler", "shuffle", "collate_fn"})
"""A loader without any of these reads one sample at a time, so it is not for training."""


@dataclass(frozen=True)
class WorkerDefault:
    """A place that leaves a training loader without workers.

    ``kind``: see ``WorkerOrigin``. ``insert``: the keyword to add to a call, empty if there is a 0 to replace.
    ``path``/``line``: the loader that gets it, ``loader`` its name there, ``reading`` what draws from it.
    ``obstacle``: what its workers could not pass on. ``callers``: the calls, by path and row, that leave the number
    out, so that a default applies.
    """

    kind: str
    insert: str
    path: str
    line: int
    loader: str
    reading: LoaderReading
    obstacle: Obstacle | None = None
    callers: tuple[tuple[str, int], ...] = ()


Found = dict[str, dict[tuple[int, int], WorkerDefault]]


@query
def worker_defaults(project: Project) -> Mapping[str, Mapping[tuple[int, int], WorkerDefault]]:
    """The places in a whole project, by path and by the offsets of the 0 or of the call."""
    return _Facts(project).found()


@query
def worker_defaults_in(file: FileIndex) -> Mapping[tuple[int, int], WorkerDefault]:
    """The places in a file, by the offsets of the 0 or of the call."""
    return worker_defaults(file.project).get(file.path, {})


@dataclass(frozen=True, eq=False)
class _Loader:
    """A call that creates a loader. ``own``: a call that the rule for ``paddle.io.DataLoader`` does not check."""

    site: Site
    call: ast.Call
    workers: str = _WORKERS
    position: int | None = _POSITION
    own: bool = False
    absent: bool = True
    """Whether leaving the number out means 0."""


class _Facts:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._readings: dict[tuple[ast.Call, frozenset[ast.Call]], LoaderReading] = {}

    def found(self) -> Found:
        """Follow the workers of every loader."""
        found: Found = {}
        for file in self._project.files.values():
            if file.is_quiet or file.is_foreign or file.is_offline or not self._may_load(file):
                continue
            for loader in self._loaders(file):
                for origin in self._origins(loader):
                    self._add(origin, loader, found)
        return found

    def _may_load(self, file: FileIndex) -> bool:
        names = {"DataLoader", *(name.rpartition(".")[2] for name in self._project.loaders), *self._loader_classes}
        return any(file.has(name) for name in names)

    @cached_property
    def _loader_classes(self) -> frozenset[str]:
        """The names of the project's own subclasses of the loader."""
        found: set[str] = set()
        queue = ["DataLoader"]
        while queue:
            for file in self._project.mentions.of(*sorted(self._project.mentions.other_names(queue.pop()))):
                for owner in file.scopes.classes.values():
                    if owner.name not in found and is_loader_class(self._project, file, owner):
                        found.add(owner.name)
                        queue.append(owner.name)
        return frozenset(found)

    def _loaders(self, file: FileIndex) -> Iterator[_Loader]:
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for call in statement.calls:
                    loader = self._loader(file, scope, statement, call)
                    if loader is not None:
                        yield loader

    def _loader(self, file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> _Loader | None:
        site = Site(file, scope, statement, ((file, scope, statement, call),))
        name = dotted(call.func)
        if name is None:
            return self._from_super(site, call)
        qualified = file.names.resolve(name)
        if qualified == LOADER:
            return _Loader(site, call)
        declared = Values.of(self._project).declared(self._project.loaders, file, scope, name, {})
        if declared is not None:
            position = declared.position
            if position is None:
                position = Values.of(self._project).place_of(file, scope, name, declared.parameter)
            return _Loader(site, call, declared.parameter, position, True, declared.default == 0)
        if terminal(call) not in self._loader_classes:
            return None
        found = Modules.of(self._project).find(qualified, file)
        if found is None or not isinstance(found[1], Class) or not is_loader_class(self._project, found[0], found[1]):
            return None
        lineage = Hierarchy.of(self._project).lineage(found[0], found[1])
        return None if any("__init__" in one.methods for _, one in lineage) else _Loader(site, call, own=True)

    def _from_super(self, site: Site, call: ast.Call) -> _Loader | None:
        """``super().__init__(...)`` in a subclass of the loader."""
        func, owner = call.func, site.scope.owner
        if owner is None or not isinstance(func, ast.Attribute) or func.attr != "__init__":
            return None
        if not isinstance(func.value, ast.Call) or dotted(func.value.func) != "super":
            return None
        return _Loader(site, call, absent=False) if LOADER in owner.bases else None

    def _origins(self, loader: _Loader) -> list[WorkerOrigin]:
        site, call = loader.site, loader.call
        given = argument_of(call, loader.workers, loader.position)
        if given is not None:
            if is_zero(given) and not loader.own:
                return []  # the rule's match covers it
            return zeros(given, site)
        spread = any(keyword.arg is None for keyword in call.keywords)
        if not spread and not (loader.own and loader.absent):
            return []
        origins = left_out(loader.workers, site, call)
        return [origin for origin in origins if origin.kind != "missing" or _is_whole(origin, loader)]

    def _add(self, origin: WorkerOrigin, loader: _Loader, found: Found) -> None:
        file = origin.file
        if file.is_quiet or file.is_offline or file.is_foreign:
            return
        feeds = purpose(origin.site, self._project)
        certain = feeds is Purpose.TRAINING or (feeds is Purpose.UNKNOWN and origin.kind not in _DEFAULTS)
        if not certain or self._loads_iterable(loader):
            return
        read = self._reading(origin)
        if read.worth is Worth.NOTHING:
            return
        start, end = file.source.lines.span(origin.node)
        made, scope, _, call = self._made(origin) or loader.site.calls[0]
        path, name = made.path, dotted(call.func) or "super().__init__"
        hinders = obstacle(loader.site.file, loader.site.scope, loader.call) or obstacle(made, scope, call)
        default = WorkerDefault(origin.kind, origin.insert, path, made.row(call), name, read, hinders)
        places = found.setdefault(file.path, {})
        known = places.get((start, end))
        best = default if known is None or known.reading.worth > read.worth else known
        callers = {**dict.fromkeys(known.callers if known is not None else ()), **dict.fromkeys(_callers(origin))}
        places[start, end] = replace(best, callers=tuple(callers))

    def _reading(self, origin: WorkerOrigin) -> LoaderReading:
        """What draws from the loader; nothing if the calls that leave a default unchanged do nothing with it."""
        made = self._made(origin)
        if made is None:
            return LoaderReading(Worth.TRAINS)
        if origin.kind == "parameter":
            left = self._read(made, frozenset(call for _, _, _, call in origin.site.calls))
            if left.worth is Worth.NOTHING:
                return left
        return self._read(made, frozenset())

    def _read(self, made: tuple[FileIndex, Scope, Statement, ast.Call], through: frozenset[ast.Call]) -> LoaderReading:
        key = made[3], through
        if key not in self._readings:
            self._readings[key] = reading(*made, through)
        return self._readings[key]

    @staticmethod
    def _made(origin: WorkerOrigin) -> tuple[FileIndex, Scope, Statement, ast.Call] | None:
        """The call that creates the loader; for a subclass with its own ``__init__``, that of the subclass."""
        return next((call for call in origin.site.calls if dotted(call[3].func) is not None), None)

    def _loads_iterable(self, loader: _Loader) -> bool:
        """Whether the loader reads an ``IterableDataset``: each worker would yield all of it."""
        dataset = argument_of(loader.call, "dataset", 0)
        if dataset is None:
            return False
        file, scope, statement = loader.site.file, loader.site.scope, loader.site.statement
        flow = Flow(scope, file, Values.of(self._project).base_env(file, scope, {}), guess_losses=False).run()
        env = flow.before.get(statement.node, {}) if statement is not None else {}
        return Evaluator(file, env).kind(dataset).tag == ITERABLE_TAG


def _callers(origin: WorkerOrigin) -> list[tuple[str, int]]:
    """The call that leaves the default of a parameter unchanged, if any."""
    if origin.kind != "parameter" or len(origin.site.calls) < 2:
        return []
    file, _, _, call = origin.site.calls[-1]
    return [(file.path, file.row(call))]


def _is_whole(origin: WorkerOrigin, loader: _Loader) -> bool:
    """Whether a call without a number of workers creates batches, like a loader for training."""
    return loader.own or not _SHAPES.isdisjoint(origin.names)
