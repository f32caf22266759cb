"""PPF101 where the 0 stands elsewhere: in an option, a default, a constant, a dict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from perflint import catalogue
from perflint.facts.dataset_samples import Obstacle, obstacle
from perflint.facts.loaders import LOADER, LoaderReading, Purpose, Site, Worth, is_loader_class, purpose, reading
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.flow.calls import CallSite, Certainty
from perflint.flow.constant_values import Found, OriginStep, Special, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.evaluate import Evaluator
from perflint.flow.flow import Flow
from perflint.flow.objects import Object, entries_of
from perflint.flow.place import Place
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import ITERABLE_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, Candidate, nodes_at, rule
from perflint.query import query
from perflint.rules import loader_advice
from perflint.rules.edits import insert_argument
from perflint.rules.excuses import explained
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, is_zero
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import string_of

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project


# Finds where the number of a loader's workers comes from: the zeros among its possible values.

_EXPLAINED = re.compile(r"windows|must be 0|only 0|必须|只能", re.IGNORECASE)
_KINDS = {ValueOrigin.OPTION: "option", ValueOrigin.FALLBACK: "fallback", ValueOrigin.DEFAULT: "parameter"}


@dataclass(frozen=True, eq=False)
class WorkerOrigin:
    """A place that makes the number of workers 0.

    ``node``: the 0, or the call that leaves the number out; ``insert`` is then the keyword to add. ``kind``: ``option``
    (argparse), ``fallback`` (of a lookup; ``unknown``: in an unknown object), ``parameter`` (a default), ``value`` or
    ``missing``.
    """

    file: FileIndex
    node: ast.expr
    kind: str
    site: Site
    insert: str = ""
    names: frozenset[str] = frozenset()
    """The arguments that a call without the number does name, including those in its ``**``."""


def zeros(node: ast.expr, site: Site) -> list[WorkerOrigin]:
    """The zeros that an expression may get its value from; none if unknown."""
    values = Constants.of(site.file.project).possible(node, Place(site.file, site.scope, site.statement))
    return _origins(values, "", site)


def left_out(name: str, site: Site, call: ast.Call) -> list[WorkerOrigin]:
    """The value of a parameter that a call does not name: from its ``**``, or none at all."""
    place = Place(site.file, site.scope, site.statement)
    values = Constants.of(site.file.project).handed(call, name, place)
    return _origins(values, name, site)


def _origins(values: Found, name: str, site: Site) -> list[WorkerOrigin]:
    """The places of the values that are 0 or missing, if the path there is known."""
    found: list[WorkerOrigin] = []
    for value in values:
        if value.node is None or value.place is None or not all(map(_leads_there, value.calls)) or _is_doubtful(value):
            continue
        there = replace(site, calls=(*site.calls, *(call[:4] for call in value.calls)))
        if value.value is Special.LEFT_OUT and isinstance(value.node, ast.Call):
            names = _names(there, value.place, value.node)
            found.append(WorkerOrigin(value.place.file, value.node, "missing", there, name, names))
        elif is_zero(value.node) and type(value.value) is int:
            found += _written(value.node, value.place, value.steps, there)
    return found


def _written(zero: ast.expr, place: Place, steps: tuple[OriginStep, ...], site: Site) -> Iterator[WorkerOrigin]:
    """A 0, with its kind; none if it is explained."""
    last = steps[-1] if steps else None
    kind = _KINDS.get(last.origin, "value") if last is not None else "value"
    if last is not None and last.site is not None and kind == "parameter" and _is_of_loader(last):
        # It has the default of Paddle's loader, which is also right for other purposes.
        yield WorkerOrigin(last.site.file, last.site.call, "missing", site, last.name)
    elif kind != "option" or not _is_explained(zero, place):
        is_unknown = any(step.origin is ValueOrigin.UNKNOWN for step in steps)
        yield WorkerOrigin(place.file, zero, "unknown" if is_unknown else kind, site)


def _leads_there(site: CallSite) -> bool:
    """Whether a call surely reaches the function, in a program that does more than predict."""
    return site.certainty is Certainty.SURE and not (site.is_unbound or site.file.is_offline)


def _is_doubtful(value: Value) -> bool:
    """Whether unknown code may give another value; a fallback of a lookup still counts."""
    steps = value.steps
    if len(steps) > 1 and steps[-1].origin is ValueOrigin.FALLBACK and "worker" in steps[-1].name.lower():
        steps = steps[:-2]
    return any(step.origin is ValueOrigin.UNKNOWN for step in steps)


def _is_of_loader(step: OriginStep) -> bool:
    """Whether a parameter is that of the ``__init__`` of a class that inherits from Paddle's loader."""
    if step.function is None:
        return False
    file, scope = step.function
    owner = scope.owner if scope.name == "__init__" else None
    return owner is not None and is_loader_class(file.project, file, owner)


def _is_explained(default: ast.expr, place: Place) -> bool:
    """Whether the help of an option says why it is 0."""
    calls = place.statement.calls if place.statement is not None else []
    texts = (
        string_of(item.value)
        for call in calls
        if any(item.value is default for item in call.keywords)
        for item in call.keywords
        if item.arg == "help"
    )
    return any(text is not None and _EXPLAINED.search(text) for text in texts)


def _names(site: Site, place: Place, call: ast.Call) -> frozenset[str]:
    """The keywords of some calls, and the entries of the dicts that the outermost one gets with ``**``."""
    names = {keyword.arg for _, _, _, each in site.calls for keyword in each.keywords if keyword.arg}
    for keyword in call.keywords:
        for value in Constants.of(place.file.project).possible(keyword.value, place) if keyword.arg is None else ():
            entries = entries_of(value.value) if isinstance(value.value, Object) else None
            names.update(entries.values if entries is not None else ())
    return frozenset(names)


# Training loaders without workers whose 0 is elsewhere: an option, a default, a constant, an entry, a wrapper.

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


FoundLoader = dict[str, dict[tuple[int, int], WorkerDefault]]


@query(portable=True)
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

    def found(self) -> FoundLoader:
        """Follow the workers of every loader."""
        found: FoundLoader = {}
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

    def _add(self, origin: WorkerOrigin, loader: _Loader, found: FoundLoader) -> None:
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


# PPF101 if the 0 is elsewhere: in an option, a default, a constant, a dict, or a wrapper's call.

CODE = "PPF101"
_MESSAGES = {
    "option": "The default `{what}` gives the loader at {place} no workers, so {consequence}; {advice}.",
    "fallback": "A configuration without this setting gets `{what}` from here, so the loader at {place} has no "
    "workers, and {consequence}; {advice}.",
    "value": "`{what}` gives the loader at {place} no workers, so {consequence}; {advice}.",
    "missing": "`{what}` makes a loader without workers, so {consequence}; {advice}.",
}
_ADVICE = {
    "option": "make {workers} the default",
    "fallback": "fall back to {workers}",
    "value": "write {workers}",
    "missing": "give it {insert}={workers} to load in the background",
}
_MOST_CALLERS = 5
"""How many calls a finding names: one edit of the default fixes them all."""
_LIKE = {"unknown": "fallback", "parameter": "option"}
# A constant or a call is certain; a default may be overridden on each start, and an unread configuration usually sets
# the number of workers.
_CONFIDENCE = {"value": Confidence.HIGH, "missing": Confidence.HIGH, "unknown": Confidence.LOW}


def _places(file: FileIndex) -> Iterator[Candidate]:
    known = worker_defaults_in(file)
    for node, statement in nodes_at(file, {start for start, _ in known}):
        found = known.get(file.source.lines.span(node))
        if found is not None:
            yield Candidate(node, statement, found)


@rule(CODE, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def workers_elsewhere(found: WorkerDefault, context: Context) -> None:
    """Report the place that leaves a training loader in this or another file without workers."""
    node = context.node
    if explained(node, catalogue.shipped()[CODE].match[0].unless_comment, context):
        return
    shown = context.range(node) if isinstance(node, ast.Call) else _shown(context)
    text = context.file.source.text[slice(*shown)]
    written = f"{text}=0" if isinstance(context.parent(node), ast.arguments) else shorten(text)
    path, kind = context.file.path, _LIKE.get(found.kind, found.kind)
    advice = _ADVICE[kind].format(workers=context.settings.default_workers, insert=found.insert)
    where = f"line {found.line}" if found.path == path else f"{found.path}:{found.line}"
    related = [] if isinstance(node, ast.Call) else [Related(found.path, found.line, f"feeds `{found.loader}` here")]
    related += [Related(*place, "keeps this default here") for place in found.callers[:_MOST_CALLERS]]
    context.report(
        _fix(node, found, context),
        related=tuple(related),
        confidence=_confidence(found),
        event=loader_advice.event(found.reading),
        message=_MESSAGES[kind],
        what=written,
        span=shown,
        place=where,
        consequence=loader_advice.consequence(found.reading, context),
        advice=loader_advice.advice(found.obstacle, advice, context),
    )


def _confidence(found: WorkerDefault) -> Confidence:
    predicts = found.reading.worth is Worth.PREDICTS
    return Confidence.LOW if predicts else _CONFIDENCE.get(found.kind, Confidence.MEDIUM)


def _shown(context: Context) -> tuple[int, int]:
    """What to point at: the whole ``default=0``, ``num_workers=0``, ``"num_workers": 0`` or assignment."""
    node, parent = context.node, context.parent(context.node)
    start, end = context.range(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        return context.range(parent)  # `config.get("num_workers", 0)`
    if isinstance(parent, (ast.keyword, ast.Assign, ast.AnnAssign)):
        return context.range(parent)
    if isinstance(parent, ast.Dict):
        key = next(key for key, value in zip(parent.keys, parent.values, strict=True) if value is node)
        return (context.range(key)[0], end) if key is not None else (start, end)
    if isinstance(parent, ast.arguments):
        before = [item for item in (*parent.posonlyargs, *parent.args, *parent.kwonlyargs) if _is_before(item, node)]
        name = max(before, key=lambda item: (item.lineno, item.col_offset))
        start = context.range(name)[0]
        return start, start + len(name.arg)
    return start, end


def _is_before(parameter: ast.arg, node: ast.AST) -> bool:
    return (parameter.lineno, parameter.col_offset) < (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _fix(node: ast.AST, found: WorkerDefault, context: Context) -> Fix:
    said, value = catalogue.shipped()[CODE], str(context.settings.default_workers)
    if found.obstacle is not None:
        return loader_advice.words(found.obstacle, said.fix_title, context)
    if isinstance(node, ast.Call):
        edits = insert_argument(node, f"{found.insert}={value}", context.file)
    else:
        edits = [Edit(*context.range(node), value)]
    return Fix(said.fix_title, tuple(edits), Level.UNSAFE, said.fix_reason)
