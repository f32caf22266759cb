"""Variants of a script that differ in one argument of its training loader: ``num_workers`` of 0, 2, 4 and 8."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.bench.results import BEFORE
from perflint.bench.variants import VariantFiles
from perflint.facts.loaders import LOADER, Purpose, Site, feeds_training, purpose
from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.fix.parsed_text import Reading
from perflint.flow.resolving import opened
from perflint.flow.values import Values
from perflint.rules.edits import insert_argument
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.text.source import Source
from perflint.text.wording import listed

if TYPE_CHECKING:
    from perflint.configuration.settings import Settings
    from perflint.index.project import FileIndex

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
_SHOWN = 5


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
        return BEFORE if self.is_current(value) else variant_name(self.wanted.name, value)

    def is_current(self, value: int | bool) -> bool:
        """Whether the script already has this value."""
        return self.value is not None and self.value == value


@dataclass(frozen=True, eq=False)
class _Loader:
    file: FileIndex
    scope: Scope
    statement: Statement
    call: ast.Call

    def place(self, root: Path) -> str:
        """``train.py:31``, relative to the project."""
        return _place(self.file, self.call, root)


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


def variant_name(name: str, value: int | bool) -> str:
    """``num_workers=4``."""
    return f"{name}={value}"


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
    loader = _chosen([each for file in files for each in _loaders(file)], root, at)
    file, call, argument = _holder(loader, asked.name)
    written = "" if argument is None else ast.get_source_segment(file.source.text, argument) or ""
    default = DEFAULTS[asked.name]
    value = default if argument is None else _literal(argument)
    place = _place(file, call, root)
    varied = Tuned(asked, place, written, value, [VariantFiles(BEFORE)])
    for each in asked.values:
        if not varied.is_current(each):
            text = _with(file, call, argument, asked.name, each)
            changed = {Path(file.path).resolve().relative_to(root): file.source.encode(text)}
            varied.states.append(VariantFiles(variant_name(asked.name, each), [], [place], changed))
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


def _loaders(file: FileIndex) -> Iterator[_Loader]:
    """The calls of Paddle's loader in a file."""
    for scope in file.scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                name = dotted(call.func)
                if name is not None and file.names.resolve(name) == LOADER:
                    yield _Loader(file, scope, statement, call)


def _chosen(loaders: list[_Loader], root: Path, at: str) -> _Loader:
    """The loader that provides the training data."""
    if at:
        there = [loader for loader in loaders if _is_at(loader.place(root), at)]
        if len(there) != 1:
            raise CannotTune(f"--loader {at}: no call of paddle.io.DataLoader is there; {_named(loaders, root)}")
        return there[0]
    feeding = [each for each in loaders if feeds_training(each.file, each.scope, each.statement, each.call)]
    said = feeding or [each for each in loaders if _is_named_so(each)] or loaders
    if len(said) != 1:
        what = (
            "more than one loader may provide the training data" if said else "the script calls no paddle.io.DataLoader"
        )
        hint = "; name it with --loader FILE:LINE" if said else " by itself"
        raise CannotTune(f"{what}{hint}{'; ' + _named(said, root) if said else ''}")
    return said[0]


def _is_at(place: str, at: str) -> bool:
    path, _, row = place.rpartition(":")
    file, _, line = at.rpartition(":")
    return row == line and (path == file or path.endswith(f"/{file}") or not file)


def _named(loaders: list[_Loader], root: Path) -> str:
    return f"there are {listed([loader.place(root) for loader in loaders], _SHOWN)}" if loaders else "there is none"


def _is_named_so(loader: _Loader) -> bool:
    """Whether names or shuffling show that a loader is for training."""
    way = (loader.file, loader.scope, loader.statement, loader.call)
    return purpose(Site(*way[:3], (way,)), loader.file.project) is Purpose.TRAINING


def _holder(loader: _Loader, name: str) -> tuple[FileIndex, ast.Call, ast.expr | None]:
    """The call that has an argument, and the argument: the loader, or its sampler for the batch size."""
    call = loader.call
    sampler = argument_of(call, *_SAMPLER) if name == "batch_size" else None
    if sampler is None or _is_none(sampler):
        return loader.file, call, argument_of(call, name, _POSITIONS.get(name))
    if isinstance(sampler, ast.Name):
        sampler = Values.of(loader.file.project).definitions(loader.file, loader.scope).get(sampler.id, sampler)
    if not isinstance(sampler, ast.Call) or (terminal(sampler) or "") not in _SAMPLER_POSITIONS:
        row = loader.file.row(call)
        raise CannotTune(f"{loader.file.path}:{row} leaves the batch size to a sampler that is made elsewhere")
    return loader.file, sampler, argument_of(sampler, name, _SAMPLER_POSITIONS[terminal(sampler) or ""])


def _with(file: FileIndex, call: ast.Call, argument: ast.expr | None, name: str, value: int | bool) -> str:
    """The text of a file in which the call gets another value."""
    source = file.source
    place = f"{file.path}:{file.row(call)}"
    if argument is not None:
        edits = [Edit(*source.lines.span(argument), str(value))]
    elif any(keyword.arg is None for keyword in call.keywords) or any(
        isinstance(arg, ast.Starred) for arg in call.args
    ):
        raise CannotTune(
            f"{place} takes arguments from a dict or a list, so {name} may be among them: write it out there"
        )
    else:
        edits = _added(call, f"{name}={value}", file)
    text = spliced(source.text, 0, len(source.text), edits)
    if not edits or not Reading(text).compiles:
        raise CannotTune(f"{place}: {name} could not be inserted there: write it out, as in {name}={value}")
    return text


def _added(call: ast.Call, argument: str, file: FileIndex) -> list[Edit]:
    """A keyword before the first one that a call has, or after its last argument."""
    if not call.keywords:
        return insert_argument(call, argument, file)
    first = call.keywords[0]
    start = file.source.lines.offset(first.lineno, first.col_offset)
    return [Edit(start, start, f"{argument}, ")]


def _literal(node: ast.expr) -> int | bool | None:
    """The number or truth value of a literal expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _place(file: FileIndex, call: ast.Call, root: Path) -> str:
    return f"{Path(file.path).resolve().relative_to(root).as_posix()}:{file.row(call)}"
