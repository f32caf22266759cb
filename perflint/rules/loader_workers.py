"""PPF101 where the 0 stands elsewhere: in an option, a default, a constant, a dict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from perflint.facts.dataset_samples import obstacles
from perflint.facts.loaders import LOADER, LoaderReading, Purpose, Worth, is_loader_class, purpose, reading
from perflint.facts.sample_calls import lazy_maps
from perflint.findings import Confidence, Fix, Related
from perflint.flow.by_statement import Flow
from perflint.flow.calls import CallGraph, CallSite, Certainty
from perflint.flow.constant_values import Found, OriginStep, Special, Value, ValueOrigin
from perflint.flow.constants import Constants
from perflint.flow.evaluate import Evaluator
from perflint.flow.objects import Object, entries_of
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import ITERABLE_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Located, Place, Project
from perflint.inputs.input_files import numbers_passed
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.query import query
from perflint.rules import loader_advice
from perflint.rules.edits import WithArgument
from perflint.rules.excuses import explained
from perflint.rules.lazy_map import reads_again
from perflint.rules.loader_advice import RULE
from perflint.syntax.names import dotted, super_method
from perflint.syntax.parameters import argument_of, is_zero
from perflint.syntax.scopes import Class, terminal
from perflint.syntax.tree import string_of

# Finds where the number of a loader's workers comes from: the zeros among its possible values.

_EXPLAINED = re.compile(r"windows|must be 0|only 0|必须|只能", re.IGNORECASE)
_KINDS = {ValueOrigin.OPTION: "option", ValueOrigin.FALLBACK: "fallback", ValueOrigin.DEFAULT: "parameter"}


@dataclass(frozen=True, eq=False)
class WorkerOrigin:
    """A place that makes the number of workers 0.

    ``node``: the 0, or the call that leaves the number out; ``insert`` is then the keyword to add. ``kind``: ``option``
    (argparse), ``fallback`` (of a lookup; ``unknown``: in an unknown object), ``parameter`` (a default), ``value`` or
    ``missing``. ``calls``: the call that creates the loader, and those that lead from it to the place, inside out.
    """

    file: FileIndex
    node: ast.expr
    kind: str
    calls: tuple[Located, ...]
    insert: str = ""
    names: frozenset[str] = frozenset()
    """The arguments that a call without the number does name, including those in its ``**``."""


def _zeros(values: Found, name: str, loader: Located) -> Iterator[WorkerOrigin]:
    """The places of the values that are 0 or missing, if the path there is known."""
    for value in values:
        if value.node is None or value.place is None or not all(map(_leads_there, value.calls)) or _is_doubtful(value):
            continue
        calls = (loader, *(Located(site.call, site.place) for site in value.calls))
        if value.value is Special.LEFT_OUT and isinstance(value.node, ast.Call):
            names = _names(calls, value.node, value.place)
            yield WorkerOrigin(value.place.file, value.node, "missing", calls, name, names)
        elif is_zero(value.node) and type(value.value) is int:
            yield from _written(value.node, value.place, value.steps, calls)


def _written(
    zero: ast.expr, place: Place, steps: tuple[OriginStep, ...], calls: tuple[Located, ...]
) -> Iterator[WorkerOrigin]:
    """A 0, with its kind; none if it is explained."""
    last = steps[-1] if steps else None
    kind = _KINDS.get(last.origin, "value") if last is not None else "value"
    if last is not None and last.site is not None and kind == "parameter" and _is_of_loader(last):
        # It has the default of Paddle's loader, which is also right for other purposes.
        yield WorkerOrigin(last.site.file, last.site.call, "missing", calls, last.name)
    elif kind != "option" or not (_is_explained(zero, place) or _is_always_passed(zero, place)):
        is_unknown = any(step.origin is ValueOrigin.UNKNOWN for step in steps)
        yield WorkerOrigin(place.file, zero, "unknown" if is_unknown else kind, calls)


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
    file, scope = step.function.file, step.function.scope
    owner = scope.owner if scope.name == "__init__" else None
    return owner is not None and is_loader_class(file.project, file, owner)


def _is_explained(default: ast.expr, place: Place) -> bool:
    """Whether the help of an option says why it is 0."""
    call = _declaration(default, place)
    said = argument_of(call, "help", None) if call is not None else None
    return said is not None and _EXPLAINED.search(string_of(said) or "") is not None


def _is_always_passed(default: ast.expr, place: Place) -> bool:
    """Whether each shell script that starts the program of an option passes a number for it."""
    call = _declaration(default, place)
    name = string_of(call.args[0]) if call is not None and call.args else None
    key, file = (name or "").lstrip("-").replace("-", "_"), place.file
    passed = numbers_passed(file.path, file.parts[-1], key, file.project.inputs)
    found = [number for path, number in passed if path.endswith(".sh") and _is_beside(PurePosixPath(path), file)]
    return bool(found) and all(number.isdecimal() and int(number) > 0 for number in found)


def _is_beside(script: PurePosixPath, file: FileIndex) -> bool:
    """Whether a script, named from the top of the project, is in the folder of a file."""
    folder, inside = PurePosixPath(file.path).parts[:-1], script.parts[:-1]
    return folder[-len(inside) :] == inside if inside else len(file.parts) == 1


def _declaration(default: ast.expr, place: Place) -> ast.Call | None:
    """The call that declares an option with a default."""
    calls = place.statement.calls if place.statement is not None else []
    return next((call for call in calls if any(item.value is default for item in call.keywords)), None)


def _names(calls: tuple[Located, ...], call: ast.Call, place: Place) -> frozenset[str]:
    """The keywords of some calls, and the entries of the dicts that the outermost one gets with ``**``."""
    names = {keyword.arg for each in calls for keyword in each.call.keywords if keyword.arg}
    for keyword in call.keywords:
        for value in Constants.of(place.file.project).possible(keyword.value, place) if keyword.arg is None else ():
            entries = entries_of(value.value) if isinstance(value.value, Object) else None
            names.update(entries.values if entries is not None else ())
    return frozenset(names)


# Training loaders without workers whose 0 is elsewhere: an option, a default, a constant, an entry, a wrapper.

_DEFAULTS = frozenset({"option", "fallback", "unknown", "parameter"})
"""Zeros that only apply by default: reported only for training."""
_SHAPES = frozenset({"batch_size", "batch_sampler", "shuffle", "collate_fn"})
"""A loader without any of these reads one sample at a time, so it is not for training."""


@dataclass(frozen=True)
class WorkerDefault:
    """A place that leaves a training loader without workers.

    ``kind``: see ``WorkerOrigin``. ``insert``: the keyword to add to a call, empty if there is a 0 to replace.
    ``path``/``line``: the loader that gets it, ``loader`` its name there, ``reading`` what draws from it.
    ``callers``: the calls, by path and row, that leave the number out, so that a default applies.
    """

    kind: str
    insert: str
    path: str
    line: int
    loader: str
    reading: LoaderReading
    samples: loader_advice.Samples
    callers: tuple[tuple[str, int], ...] = ()


@query
def worker_defaults(project: Project) -> Mapping[str, Mapping[ast.expr, WorkerDefault]]:
    """The places in a whole project, by path: the 0, or the call that leaves the number out."""
    found: dict[str, dict[ast.expr, WorkerDefault]] = {}
    names = {"DataLoader", *(name.rpartition(".")[2] for name in project.loaders), *_loader_classes(project)}
    for file in project.files.values():
        if not (file.is_quiet or file.is_foreign or file.is_offline) and any(map(file.has, names)):
            for loader in _loaders(file):
                for origin in _origins(loader):
                    _add(origin, loader, found)
    return found


class _Loader(NamedTuple):
    """A call that creates a loader. ``own``: a call that the rule for ``paddle.io.DataLoader`` does not check."""

    call: ast.Call
    place: Place
    workers: str = "num_workers"
    position: int | None = 9
    own: bool = False
    absent: bool = True
    """Whether leaving the number out means 0."""


@query
def _loader_classes(project: Project) -> frozenset[str]:
    """The names of the project's own subclasses of the loader."""
    found: set[str] = set()
    queue = ["DataLoader"]
    while queue:
        for file in project.mentions.of(*sorted(project.mentions.other_names(queue.pop()))):
            for owner in file.scopes.classes.values():
                if owner.name not in found and is_loader_class(project, file, owner):
                    found.add(owner.name)
                    queue.append(owner.name)
    return frozenset(found)


def _loaders(file: FileIndex) -> Iterator[_Loader]:
    found = (_loader(call, Place(file, scope, statement)) for scope, statement, call in file.calls)
    yield from (loader for loader in found if loader is not None)


def _loader(call: ast.Call, place: Place) -> _Loader | None:
    file, scope, project = place.file, place.scope, place.file.project
    name = dotted(call.func)
    if name is None:  # `super().__init__(...)` in a subclass of the loader leaves the number to it
        is_super = super_method(call) == "__init__" and scope.owner is not None and LOADER in scope.owner.bases
        return _Loader(call, place, absent=False) if is_super else None
    qualified = file.names.resolve(name)
    if qualified == LOADER:
        return _Loader(call, place)
    graph = CallGraph.of(project)
    declared = graph.declared(project.loaders, place.function, name)
    if declared is not None:
        position = declared.position
        if position is None:
            position = graph.place_of(place.function, name, declared.parameter)
        return _Loader(call, place, declared.parameter, position, True, declared.default == 0)
    if terminal(call) not in _loader_classes(project):
        return None
    found = Modules.of(project).find(qualified, file)
    if found is None or not isinstance(found[1], Class) or not is_loader_class(project, found[0], found[1]):
        return None
    lineage = Hierarchy.of(project).lineage(found[0], found[1])
    return None if any("__init__" in one.methods for _, one in lineage) else _Loader(call, place, own=True)


def _origins(loader: _Loader) -> list[WorkerOrigin]:
    call, place = loader.call, loader.place
    given, constants = argument_of(call, loader.workers, loader.position), Constants.of(place.file.project)
    if given is not None:
        if is_zero(given) and not loader.own:
            return []  # the rule's match covers it
        return list(_zeros(constants.possible(given, place), "", Located(call, place)))
    spread = any(keyword.arg is None for keyword in call.keywords)
    if not spread and not (loader.own and loader.absent):
        return []
    values = constants.handed(call, loader.workers, place)
    origins = _zeros(values, loader.workers, Located(call, place))
    # a call without a number of workers has to create batches, like a loader for training
    return [each for each in origins if each.kind != "missing" or loader.own or not _SHAPES.isdisjoint(each.names)]


def _add(origin: WorkerOrigin, loader: _Loader, found: dict[str, dict[ast.expr, WorkerDefault]]) -> None:
    file = origin.file
    if file.is_quiet or file.is_offline or file.is_foreign:
        return
    feeds = purpose(origin.calls)
    certain = feeds is Purpose.TRAINING or (feeds is Purpose.UNKNOWN and origin.kind not in _DEFAULTS)
    if not certain or _loads_iterable(loader):
        return
    read = _reading(origin)
    if read.worth is Worth.NOTHING:
        return
    call, place = _made(origin) or origin.calls[0]
    path, name = place.file.path, dotted(call.func) or "super().__init__"
    hinders = obstacles(loader.call, loader.place) or obstacles(call, place)
    mapped = next(lazy_maps(argument_of(loader.call, "dataset", 0), loader.place), None)
    if mapped is not None and place.statement is not None and not reads_again(place.function, place.statement, call):
        mapped = None
    samples = loader_advice.Samples(hinders, mapped)
    default = WorkerDefault(origin.kind, origin.insert, path, place.file.row(call), name, read, samples)
    places = found.setdefault(file.path, {})
    known = places.get(origin.node)
    best = default if known is None or known.reading.worth > read.worth else known
    callers = {**dict.fromkeys(known.callers if known is not None else ()), **dict.fromkeys(_callers(origin))}
    places[origin.node] = replace(best, callers=tuple(callers))


def _reading(origin: WorkerOrigin) -> LoaderReading:
    """What draws from the loader; nothing if the calls that leave a default unchanged do nothing with it."""
    made = _made(origin)
    if made is None:
        return LoaderReading(Worth.TRAINS)
    if origin.kind == "parameter":
        left = _read(made.place.file, made, frozenset(each.call for each in origin.calls))
        if left.worth is Worth.NOTHING:
            return left
    return _read(made.place.file, made, frozenset())


@query
def _read(file: FileIndex, made: Located, through: frozenset[ast.Call]) -> LoaderReading:
    assert made.place.statement is not None
    return reading(Place(file, made.place.scope), made.place.statement, made.call, through)


def _made(origin: WorkerOrigin) -> Located | None:
    """The call that creates the loader; for a subclass with its own ``__init__``, that of the subclass."""
    return next((each for each in origin.calls if dotted(each.call.func) is not None), None)


def _loads_iterable(loader: _Loader) -> bool:
    """Whether the loader reads an ``IterableDataset``: each worker would yield all of it."""
    dataset, place = argument_of(loader.call, "dataset", 0), loader.place
    if dataset is None:
        return False
    start = Values.of(place.file.project).base_env(place.function, {})
    flow = Flow(place.function, start, guess_losses=False).run()
    env = flow.before.get(place.statement.node, {}) if place.statement is not None else {}
    return Evaluator(place.file, env).kind(dataset).tag == ITERABLE_TAG


def _callers(origin: WorkerOrigin) -> list[tuple[str, int]]:
    """The call that leaves the default of a parameter unchanged, if any."""
    if origin.kind != "parameter" or len(origin.calls) < 2:
        return []
    call, place = origin.calls[-1]
    return [(place.file.path, place.file.row(call))]


# PPF101 if the 0 is elsewhere: in an option, a default, a constant, a dict, or a wrapper's call.

_MOST_CALLERS = 5
"""How many calls a finding names: one edit of the default fixes them all."""
_LIKE = {"unknown": "fallback", "parameter": "option"}
# A constant or a call is certain; a default may be overridden on each start, and an unread configuration usually sets
# the number of workers.
_CONFIDENCE = {"value": Confidence.HIGH, "missing": Confidence.HIGH, "unknown": Confidence.LOW}


def _places(file: FileIndex) -> Iterator[Candidate]:
    for node, found in worker_defaults(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, node)
        if statement is not None:
            yield Candidate(node, statement, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def workers_elsewhere(found: WorkerDefault, context: Context) -> None:
    """Report the place that leaves a training loader in this or another file without workers."""
    node = context.node
    if explained(node, RULE.match[0].unless_comment, context):
        return
    shown = context.range(node) if isinstance(node, ast.Call) else _shown(context)
    text = context.file.source.text[slice(*shown)]
    written = f"{text}=0" if isinstance(context.parent(node), ast.arguments) else shorten(text)
    kind = _LIKE.get(found.kind, found.kind)
    advice = RULE.texts[f"advice for {kind}"].format(workers=context.settings.default_workers, insert=found.insert)
    related = [] if isinstance(node, ast.Call) else [Related(found.path, found.line, f"feeds `{found.loader}` here")]
    related += [Related(*place, "keeps this default here") for place in found.callers[:_MOST_CALLERS]]
    context.report(
        _fix(node, found, context),
        related=tuple(related),
        confidence=_confidence(found),
        event=loader_advice.event(found.reading),
        message=RULE.texts[f"message for {kind}"],
        what=written,
        span=shown,
        place=context.where(found.path, found.line),
        consequence=loader_advice.consequence(found.reading, context),
        advice=loader_advice.advice(found.samples, advice, found.reading, context),
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
        names = [(context.range(item)[0], item.arg) for item in (*parent.posonlyargs, *parent.args, *parent.kwonlyargs)]
        begin, name = max(each for each in names if each[0] < start)
        return begin, begin + len(name)
    return start, end


def _fix(node: ast.AST, found: WorkerDefault, context: Context) -> Fix:
    value = str(context.settings.default_workers)
    if found.samples.obstacles:
        return loader_advice.words(found.samples.obstacles, RULE.fix_title, context)
    if isinstance(node, ast.Call):
        return RULE.fix(context.edits(WithArgument(node, f"{found.insert}={value}")))
    return RULE.fix(context.instead(node, value))
