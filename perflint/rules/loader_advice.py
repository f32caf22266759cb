"""What a finding about a loader says: what draws from it, what its samples are, how many workers others have."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NamedTuple

from perflint.catalogue import ArgumentMatch, shipped
from perflint.facts.dataset_samples import Obstacle, Work, obstacles, work_of
from perflint.facts.loaders import LOADER, LoaderReading, Worth, reading
from perflint.facts.programs import has_no_gpu, is_toy
from perflint.facts.sample_calls import LazyMap, lazy_maps
from perflint.findings import Confidence, Fix, Level
from perflint.index.kinds import LOADER_TAG
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, named, rule
from perflint.rules.edits import insert_row_above
from perflint.rules.lazy_map import reads_again
from perflint.rules.spelled import spelling
from perflint.syntax.bindings import bindings_of, bound_by
from perflint.syntax.names import dotted, dotted_names, plain_names
from perflint.syntax.parameters import all_parameters, argument_of, is_zero
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk
from perflint.text.source import spans_rows
from perflint.training.intent import runs_while_training
from perflint.training.steps import Point

# Describes what draws batches from a loader, and what it costs that the loader has no workers.

_FITS = {"paddle.Model.fit": "train_data", "paddle.Model.evaluate": "eval_data"}
_EVALUATED, _OTHER = "evaluated batch", "other batch"
_TRAINS = {Work.NONE: "ready batch", Work.ROWS: "batch of rows"}
"""What happens at each batch of a training, by the work for a sample; else it is a batch."""
_REPEATED = (Worth.TRAINS, Worth.EVALUATES_OFTEN)
"""What reads a dataset again and again."""
RULE = shipped()["PPF101"]


def of_call(call: ast.Call, callee: str, context: Context) -> LoaderReading | None:
    """What draws from the loader that a call creates; None for a call that creates none."""
    point = context.point
    if callee not in (LOADER, *_FITS):
        return None
    if point is None:
        return LoaderReading(Worth.TRAINS)
    if callee == LOADER:
        return reading(point.function, point.statement, call)
    worth = Worth.TRAINS
    if callee == "paddle.Model.evaluate":
        often = runs_while_training(point.function, point.statement)
        worth = Worth.EVALUATES_OFTEN if often else Worth.EVALUATES
    data = argument_of(call, _FITS[callee], 0)
    work = work_of(data, point.place)
    is_small = work is not Work.SOME and is_toy(context.file)
    return LoaderReading(worth, work, context.file.path, context.file.row(call), has_no_gpu(context.file), is_small)


def event(found: LoaderReading) -> str:
    """The name of what happens at each batch: an entry of ``rules/events.yaml``."""
    if found.on_cpu or found.for_toy:
        return _OTHER
    if found.worth is Worth.TRAINS:
        return _TRAINS.get(found.work, "batch")
    return _EVALUATED if found.worth is Worth.EVALUATES_OFTEN and found.work is Work.SOME else _OTHER


def consequence(found: LoaderReading | None, context: Context) -> str:
    """What follows from a loader without workers, in a clause."""
    if found is None:
        return ""
    who = found.worth.name.lower()
    seen = RULE.texts.get(f"{who} at a place") if found.line else None
    if seen is not None:
        return seen.format(reader=context.where(found.path, found.line))
    return RULE.texts.get(f"{who} somewhere", RULE.texts["unknown somewhere"])


class Samples(NamedTuple):
    """What is known of the samples of a loader.

    ``obstacles``: what its workers could not pass on. ``mapped``: the call that converts them again in each epoch.
    """

    obstacles: tuple[Obstacle, ...] = ()
    mapped: LazyMap | None = None


def advice(samples: Samples, otherwise: str, found: LoaderReading | None, context: Context) -> str:
    """What to do about a loader without workers, in a clause.

    Args:
        samples: its samples.
        otherwise: what to do if workers can pass on all of them.
        found: what draws from the loader.
        context: the finding.
    """
    hinders, mapped = samples
    said = otherwise if not hinders else RULE.texts[f"{_case(hinders)} first"].format_map(_named(hinders, context))
    if mapped is None or found is None or found.worth not in _REPEATED:
        return said
    where = context.where(mapped.place.file.path, mapped.place.file.row(mapped.call))
    name = dotted(mapped.call.func) or "map"
    return f"{said}{RULE.texts['or convert once'].format(text=name, place=where)}"


def _case(hinders: tuple[Obstacle, ...]) -> str:
    """What workers could not pass on, in a word or two of the rule's texts."""
    if hinders[0].starts or hinders[0].empty:
        return "start" if hinders[0].starts else "empty"
    return "both" if len(hinders) > 1 else "collated" if hinders[0].collated else "samples"


def _named(hinders: tuple[Obstacle, ...], context: Context) -> dict[str, str]:
    """The places in the texts of the rule."""
    first, last = hinders[0], hinders[-1]
    return {
        "text": first.text,
        "place": context.where(first.path, first.line),
        "also": last.text,
        "also_place": context.where(last.path, last.line),
        "collate": f"the collate function `{last.collate}`" if last.collate else "the collate function",
    }


# Loaders whose samples workers cannot pass on: the fix is only words, since workers alone would crash.

_DATASETS = {
    LOADER: (("dataset", 0),),
    "paddle.Model.fit": (("train_data", 0), ("eval_data", 1)),
    "paddle.Model.evaluate": (("eval_data", 0),),
}


def samples_of_call(call: ast.Call, callee: str, context: Context) -> Samples:
    """What is known of the samples of a loader; ``callee``: the qualified name of the call that creates it."""
    point, datasets = context.point, _DATASETS.get(callee)
    if point is None or datasets is None:
        return Samples()
    mapped = next(lazy_maps(argument_of(call, *datasets[0]), point.place), None)
    if mapped is not None and callee == LOADER and not reads_again(point.function, point.statement, call):
        mapped = None
    return Samples(obstacles(call, point.function, *datasets), mapped)


def words(found: tuple[Obstacle, ...], title: str, context: Context, shared_memory: bool = False) -> Fix:
    """The fix in words; ``shared_memory``: this is what should be turned on; there are workers already."""
    case = _case(found)
    if shared_memory:
        case = f"shared memory, {'empty' if found[-1].empty else 'tensors'}"
    elif case in ("samples", "collated") and found[0].text.startswith("paddlenlp.data."):
        case = "collator"
    elif case == "samples" and found[0].text.endswith("ToTensor"):
        case = "transforms"
    return replace(RULE.words(case, **_named(found, context)), message=title)


# Finds how many workers the other loaders of a file have: the fix uses the same number.

WORKERS = "num_workers"
_POSITION = 9
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Load)


def sibling_workers(call: ast.Call, match: ArgumentMatch, context: Context) -> str:
    """The number of workers of another loader as source text, if it can be used here; "" if there is none.

    ``cfg["num_workers"]`` of the loader above is better than a number that perflint makes up. The expression has to
    mean the same here: it consists of numbers, of names that the module binds once, or, in the same function, of its
    parameters and of names bound above both loaders.
    """
    point = context.point
    if match.parameter != WORKERS or point is None:
        return ""
    source = context.file.source
    for scope, statement, value in _given(context.file, call):
        if _means_the_same(value, scope, statement, point):
            text = source.code(value)
            return "" if spans_rows(text) else text
    return ""


def _given(file: FileIndex, own: ast.Call) -> list[tuple[Scope, Statement, ast.expr]]:
    """The numbers of workers of the other loaders in the file, the nearest first."""
    found: list[tuple[Scope, Statement, ast.expr]] = []
    for scope, statement, call in file.calls_named("DataLoader"):
        value = argument_of(call, WORKERS, _POSITION)
        if call is own or value is None or is_zero(value) or file.names.qualified(call.func) != LOADER:
            continue
        if isinstance(value, ast.Constant) and not (isinstance(value.value, int) and value.value > 1):
            continue
        found.append((scope, statement, value))
    return sorted(found, key=lambda item: abs(item[1].node.lineno - own.lineno))


def _means_the_same(value: ast.expr, scope: Scope, statement: Statement, point: Point) -> bool:
    if not all(isinstance(part, _PLAIN) for part in walk(value)):
        return False
    both = (statement, point.statement)
    return all(_is_the_same(name, scope, point.scope, both, point.file) for name in plain_names(value))


def _is_the_same(name: str, there: Scope, here: Scope, both: tuple[Statement, Statement], file: FileIndex) -> bool:
    """Whether a name means the same at two statements in two functions."""
    if name == "self":
        return there.owner is here.owner is not None
    bound = bindings_of(here).get(name, [])
    module = file.scopes.module
    if there is here:
        if name in all_parameters(here):
            return not bound
        if bound:
            return _is_bound_above(bound, both)
    elif any(name in {*all_parameters(scope), *bindings_of(scope)} for scope in (there, here) if scope is not module):
        return False
    in_module = bindings_of(module).get(name, [])
    return _is_bound_above(in_module, ()) if in_module else file.names.is_bound(name)


def _is_bound_above(bindings: list[Statement], uses: tuple[Statement, ...]) -> bool:
    """Whether there is only one binding, which always runs before each of the uses."""
    if len(bindings) != 1:
        return False
    place, row = bindings[0].place, bindings[0].node.lineno
    around = [{None, *use.around} for use in uses] or [{None}]
    return all(place in links for links in around) and all(row < use.node.lineno for use in uses)


# PPF107: a loader, or its iterator with its workers, created again at each step.

REBUILT = shipped()["PPF107"]


@rule(REBUILT.code, at=At.STEP, calls=["iter"], names=named(LOADER, code=REBUILT.code), claims=False)
def loader_rebuilt(call: ast.Call, context: Context) -> None:
    """Report ``next(iter(loader))``, ``it = iter(loader)`` and ``DataLoader(...)`` at each step."""
    point = context.here
    if context.callee(call) == LOADER:
        if point.loop is not None and not _changes(call, point):
            context.report(REBUILT.words("rebuilt"), message=REBUILT.texts["rebuilt"])
        return
    if not _is_builtin("iter", call, context) or len(call.args) != 1 or call.keywords:
        return
    loader = call.args[0]
    if context.kind(loader).tag != LOADER_TAG or _changes(loader, point):
        return
    drawn = _drawn(call, context)
    if drawn is None and not _is_drawn_from(call, point):
        return
    known = point.full_env.get(dotted(loader) or "")
    confidence = Confidence.HIGH if known is not None and known.tag == LOADER_TAG else Confidence.MEDIUM
    context.report(_fix(call, drawn, point, context), drawn or call, confidence=confidence)


def _is_builtin(name: str, call: ast.Call, context: Context) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name and not context.file.names.is_bound(name)


def _drawn(call: ast.Call, context: Context) -> ast.Call | None:
    """The ``next(...)`` around a call."""
    outer = context.parent(call)
    is_argument = isinstance(outer, ast.Call) and call in outer.args
    return outer if isinstance(outer, ast.Call) and is_argument and _is_builtin("next", outer, context) else None


def _is_drawn_from(call: ast.Call, point: Point) -> bool:
    """Whether ``it = iter(loader)`` is used for one ``next(it)`` each time: no separate loop draws from it."""
    place = point.statement
    if not isinstance(place.node, ast.Assign) or place.node.value is not call:
        return False
    names = bound_by(place.node)
    return any(
        isinstance(other.func, ast.Name) and other.func.id == "next" and other.args and dotted(other.args[0]) in names
        for near in point.scope.statements
        if near.loop is place.loop
        for other in near.calls
    )


def _changes(expression: ast.expr, point: Point) -> bool:
    """Whether an expression contains a name that the loop, or its function, binds: another loader each time."""
    loop, bound = point.loop, set[str]()
    for statement in point.scope.statements:
        if loop is None or statement.node is loop or statement.is_in(loop):
            bound.update(bound_by(statement.node))
            for item in getattr(statement.node, "items", ()):
                bound |= dotted_names(item.optional_vars or ast.Constant(None))
    return not bound.isdisjoint(dotted_names(expression))


def _fix(call: ast.Call, drawn: ast.Call | None, point: Point, context: Context) -> Fix:
    loader = dotted(call.args[0]) or ""
    name = f"{loader.rpartition('.')[2]}_batches"
    count = spelling("itertools.count", point.statement.node, context.file)
    if (
        count is None
        or drawn is None
        or not loader
        or point.loop is None
        or len(drawn.args) + len(drawn.keywords) != 1
        or name in context.file.identifiers
    ):
        return REBUILT.words("by hand")
    line = f"{name} = (batch for _ in {count.name}() for batch in {loader})"
    edits = (insert_row_above(context.file.source, point.loop, line), *context.instead(call, name))
    return count.trusted(REBUILT.fix(edits, Level.UNSAFE, REBUILT.texts["reason"]))
