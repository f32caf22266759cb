"""Varies one argument of a script's training loader (``num_workers`` of 0, 2, 4 and 8), and recommends a value."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from perflint.bench.figures import by_name, interval, ratio
from perflint.bench.results import BEFORE, BenchReport, Comparison, Variant, compare
from perflint.bench.variants import VariantFiles
from perflint.configuration.settings import Settings
from perflint.facts.loaders import LOADER, feeds_training, is_for_training
from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.flow.resolving import opened
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.lint.statement_code import StatementCode, statement_around
from perflint.rules.edits import WithArgument
from perflint.syntax.parameters import argument_of, is_none, is_spread
from perflint.syntax.scopes import Statement, terminal
from perflint.syntax.tree import Reading
from perflint.text.source import Source
from perflint.text.visible import listed

DEFAULTS: dict[str, int | bool] = {
    "num_workers": 0,
    "batch_size": 1,
    "prefetch_factor": 2,
    "use_shared_memory": True,
    "use_buffer_reader": True,
    "persistent_workers": False,
}
"""Arguments of ``paddle.io.DataLoader`` that can be tuned, with their defaults (Paddle 3.3.1)."""
_POSITIONS = {"num_workers": 9, "batch_size": 5}
"""The positions of those that have had the same position in all releases since 2.0."""
_SAMPLER_POSITIONS = {"BatchSampler": 3, "DistributedBatchSampler": 1}
"""The position of ``batch_size`` in Paddle's samplers."""
_SAMPLER = "batch_sampler", 4
_COSTLY = frozenset({"num_workers", "prefetch_factor", "batch_size"})
"""Arguments whose smallest equally fast value is best: workers and batches take memory."""
_SHOWN = 5

_Loader = tuple[Place, Statement, ast.Call]
"""A call of Paddle's loader: its function, its statement, and the call."""


class CannotTune(Exception):
    """There is nothing to vary; ``str(error)`` says why, and what to do."""


@dataclass(frozen=True)
class Wanted:
    """An argument and the values to measure, as Python values."""

    name: str
    values: tuple[int | bool, ...]


@dataclass(frozen=True)
class Tuned:
    """The argument that is varied, and its variants.

    ``place`` is the row (``train.py:31``) of the call that has the argument. ``written`` is the argument's source text,
    empty if it is left out, and ``value`` its value, None if only a run could tell. ``states`` are the variants,
    beginning with the unchanged script; no other one has its value.
    """

    wanted: Wanted
    place: str
    written: str
    value: int | bool | None
    states: list[VariantFiles]

    def name(self, value: int | bool) -> str:
        """The name of the variant with a value."""
        return BEFORE if self.is_current(value) else f"{self.wanted.name}={value}"

    def is_current(self, value: int | bool) -> bool:
        """Whether the script already has this value."""
        return self.value is not None and self.value == value


def wanted(text: str) -> Wanted:
    """Read ``num_workers=0,2,4,8``.

    Raises:
        CannotTune: it has another form, or names an argument that cannot be tuned.
    """
    name, equals, given = text.partition("=")
    name = name.strip()
    if name not in DEFAULTS:
        raise CannotTune(f"--tune {text}: {name or 'nothing'} cannot be tuned: use one of {', '.join(DEFAULTS)}")
    values = [_value(name, item.strip(), text) for item in given.split(",")] if equals else []
    kept = tuple(dict.fromkeys(values))
    if not kept:
        raise CannotTune(f"--tune {text}: name the values too, as in --tune num_workers=0,2,4")
    return Wanted(name, kept)


def tuned(
    asked: Wanted, sources: Mapping[str, Source], run: Collection[Path], root: Path, settings: Settings, at: str = ""
) -> Tuned:
    """The variants of a script whose training loader gets each of the values.

    Args:
        asked: the argument and its values.
        sources: the files of the project by path.
        run: the files that the script runs, relative to ``root``.
        root: the project.
        settings: the settings of the run.
        at: ``FILE:LINE`` of the loader, if it is unclear which one is for training.

    Raises:
        CannotTune: no loader, or more than one, provides the training data; or the argument cannot be written there.
    """
    project = opened(sources, settings)
    files = [file for path, file in project.files.items() if Path(path).resolve().relative_to(root) in run]
    loaders = [
        (Place(file, scope), statement, call)
        for file in files
        for scope, statement, call in file.calls
        if file.names.qualified(call.func) == LOADER
    ]
    loader = _chosen(loaders, root, at)
    file = loader[0].file
    call, argument = _holder(loader, asked.name)
    written, value = "", DEFAULTS[asked.name] if argument is None else None
    if argument is not None:
        written = ast.get_source_segment(file.source.text, argument) or ""
        if isinstance(argument, ast.Constant) and isinstance(argument.value, int):
            value = argument.value
    place = _place((*loader[:2], call), root)
    varied = Tuned(asked, place, written, value, [VariantFiles(BEFORE)])
    for each in asked.values:
        if not varied.is_current(each):
            text = _with(file, call, argument, asked.name, each)
            changed = {Path(file.path).resolve().relative_to(root): file.source.encode(text)}
            varied.states.append(VariantFiles(varied.name(each), [], [place], changed))
    if len(varied.states) == 1:
        raise CannotTune(f"{place} has {asked.name}={value} already: name other values to compare it with")
    return varied


def _value(name: str, item: str, text: str) -> int | bool:
    try:
        value = ast.literal_eval(item)
    except (ValueError, SyntaxError):
        value = None
    if type(value) is not type(DEFAULTS[name]) or (type(value) is int and value < 0):
        kind = "True or False" if type(DEFAULTS[name]) is bool else "a number from 0 on"
        raise CannotTune(f"--tune {text}: {item or 'an empty value'} is not {kind}")
    found: int | bool = value
    return found


def _chosen(loaders: list[_Loader], root: Path, at: str) -> _Loader:
    """The loader that provides the training data."""
    if at:
        there = [each for each in loaders if _is_at(_place(each, root), at)]
        if len(there) != 1:
            raise CannotTune(f"--loader {at}: no call of paddle.io.DataLoader is there; {_named(loaders, root)}")
        return there[0]
    feeding = [each for each in loaders if feeds_training(*each)]
    named = [each for each in loaders if is_for_training(*each)]
    said = feeding or named or loaders
    if not said:
        raise CannotTune("the script calls no paddle.io.DataLoader by itself")
    if len(said) > 1:
        which = f"name it with --loader FILE:LINE; {_named(said, root)}"
        raise CannotTune(f"more than one loader may provide the training data; {which}")
    return said[0]


def _is_at(place: str, at: str) -> bool:
    path, _, row = place.rpartition(":")
    file, _, line = at.rpartition(":")
    return row == line and (path == file or path.endswith(f"/{file}") or not file)


def _named(loaders: list[_Loader], root: Path) -> str:
    places = [_place(loader, root) for loader in loaders]
    return f"there are {listed(places, _SHOWN)}" if loaders else "there is none"


def _holder(loader: _Loader, name: str) -> tuple[ast.Call, ast.expr | None]:
    """The call that has an argument, and the argument: the loader, or its sampler for the batch size."""
    at, _, call = loader
    sampler = argument_of(call, *_SAMPLER) if name == "batch_size" else None
    if sampler is None or is_none(sampler):
        return call, argument_of(call, name, _POSITIONS.get(name))
    if isinstance(sampler, ast.Name):
        sampler = Values.of(at.file.project).definitions(at).get(sampler.id, sampler)
    position = _SAMPLER_POSITIONS.get(terminal(sampler) or "") if isinstance(sampler, ast.Call) else None
    if not isinstance(sampler, ast.Call) or position is None:
        row = at.file.row(call)
        raise CannotTune(f"{at.file.path}:{row} leaves the batch size to a sampler that is made elsewhere")
    return sampler, argument_of(sampler, name, position)


def _with(file: FileIndex, call: ast.Call, argument: ast.expr | None, name: str, value: int | bool) -> str:
    """The text of a file in which the call gets another value."""
    source = file.source
    place = f"{file.path}:{file.row(call)}"
    if argument is not None:
        edits = [Edit(*source.lines.span(argument), str(value))]
    elif is_spread(call):
        raise CannotTune(
            f"{place} takes arguments from a dict or a list, so {name} may be among them: write it out there"
        )
    else:
        statement = statement_around(file.tree, call) or file.tree.body[0]
        edits = WithArgument(call, f"{name}={value}").edits(StatementCode(statement, source))
    text = spliced(source.text, 0, len(source.text), edits)
    if not edits or not Reading(text).compiles:
        raise CannotTune(f"{place}: {name} could not be inserted there: write it out, as in {name}={value}")
    return text


def _place(loader: _Loader, root: Path) -> str:
    file, call = loader[0].file, loader[2]
    return f"{Path(file.path).resolve().relative_to(root).as_posix()}:{file.row(call)}"


@dataclass(frozen=True)
class TunedPoint:
    """One value: its variant, and its comparison with the unchanged script (None for the unchanged script)."""

    value: int | bool | None
    variant: Variant
    comparison: Comparison | None

    @property
    def ratio(self) -> float:
        """Its ips divided by those of the unchanged script."""
        return self.comparison.ratio if self.comparison is not None else 1.0


@dataclass(frozen=True)
class Recommendation:
    """The recommended value; ``keep``: the script's own value. ``as_good``: others that are not surely slower."""

    value: int | bool | None
    keep: bool
    as_good: list[int | bool | None]


def points(report: BenchReport, tuned: Tuned) -> list[TunedPoint]:
    """The measured values in order, including that of the script, which comes first if it is not known."""
    compared = by_name(report)
    values = {tuned.name(value): value for value in tuned.wanted.values}
    found = [
        TunedPoint(tuned.value if item.name == BEFORE else values[item.name], item, compared.get(item.name))
        for item in report.variants
    ]
    return sorted(found, key=lambda point: -1 if point.value is None else point.value)


def recommendation(report: BenchReport, tuned: Tuned) -> Recommendation:
    """The value to recommend.

    Only a value that is surely faster than the script's own can replace it. Among the fastest of these and those that
    it is not surely faster than, the smallest is chosen if that saves memory, otherwise the fastest.
    """
    measured = points(report, tuned)
    current = next(point for point in measured if point.comparison is None)
    faster = [point for point in measured if point.comparison is not None and point.comparison.low > 1]
    fastest = max(faster or [current], key=lambda point: point.ratio)
    # those that the fastest is not surely faster than
    as_good = [
        point
        for point in measured
        if point is fastest or compare(point.variant.runs, fastest.variant.runs, pilot=report.pilot).low <= 1
    ]
    is_costly = tuned.wanted.name in _COSTLY
    best = next(point for point in as_good if point in (faster or [current])) if is_costly else fastest
    return Recommendation(best.value, best is current, [point.value for point in as_good if point is not best])


def said(report: BenchReport, tuned: Tuned) -> list[str]:
    """The recommendation in sentences, with notes about it."""
    found = recommendation(report, tuned)
    name, has = tuned.wanted.name, tuned.written or tuned.value
    lines = [_advice(report, tuned, found, has)]
    if name == "batch_size":
        lines.append(
            "Another batch_size changes the training: it makes more or fewer updates, and may need another learning "
            "rate. ips counts samples, so the sizes can be compared by it."
        )
    if name == "num_workers" and any(item.same_losses is False for item in report.comparisons):
        lines.append("Workers draw their own random numbers, so losses are expected to differ.")
    if len(tuned.states) > 2 and not found.keep:
        lines.append(
            f"The best of {len(tuned.states)} looks a little better than it is, since luck helped to pick it: "
            f"--tune {name}={found.value} measures it alone."
        )
    return lines


def _advice(report: BenchReport, tuned: Tuned, found: Recommendation, has: object) -> str:
    name = tuned.wanted.name
    if found.keep:
        return f"Recommended: keep {name}={has} ({tuned.place}): no other value that was measured is surely faster."
    comparison = by_name(report)[tuned.name(found.value if found.value is not None else 0)]
    value = f"{found.value} workers" if name == "num_workers" else f"{name}={found.value}"
    gain = f"{ratio(comparison)}x ({interval(comparison)}) of the ips with {name}={has} at {tuned.place}"
    more = [
        str(each)
        for each in found.as_good
        if each is not None and (found.value is None or each > found.value or isinstance(each, bool))
    ]
    names = " and ".join(filter(None, (", ".join(more[:-1]), *more[-1:])))
    others = f"; {names} {'is' if len(more) == 1 else 'are'} not surely faster" if more else ""
    # Only the user can decide on another batch size.
    return f"{'Fastest' if name == 'batch_size' else 'Recommended'}: {value}: {gain}{others}."
