"""PPF116: a program that trains a pretrained network on a few short texts a step, unless an option says otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.facts.entry_points import DeviceWork, EntryPoint, speaks_of, work_of
from perflint.facts.programs import passed_for
from perflint.findings import Confidence, Related
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.query import query
from perflint.syntax.tree import string_of
from perflint.trace.started import program_entries

RULE = shipped()["PPF116"]
_BATCH = re.compile(r"(?:per_(?:device|gpu)_)?(?:train_)?(?:batch_size|bs)")
_LENGTH = re.compile(r"max_(?:seq_|sequence_|seq|token_)?len(?:gth)?")
_ACCUMULATES = re.compile(r"(?:gradient_|grad_)?accum\w*")
_LARGE = re.compile(r"large|xxl|huge|\d+(?:\.\d+)?b\b", re.IGNORECASE)
"""Names of pretrained networks for which a small batch may fill a device."""
_MEMORY = re.compile(r"memory|\boom\b|显存|内存", re.IGNORECASE)
_FEW, _TOKENS = 4, 1024
"""Up to so many texts, and tokens, are few: a device computes four times as many in one and a half times the time."""


class _Option(NamedTuple):
    """An option of a program, with its default."""

    name: str
    call: ast.Call
    file: FileIndex
    default: object
    node: ast.expr


class _Few(NamedTuple):
    """A default batch of a few short texts: the options for their number and length, and for accumulated batches."""

    size: _Option
    length: _Option
    accumulated: _Option | None
    entry: EntryPoint


def _find(file: FileIndex) -> Iterator[Candidate]:
    return (candidate for where, candidate in _few(file.project) if where is file)


@query
def _few(project: Project) -> list[tuple[FileIndex, Candidate]]:
    """The options of programs with few short texts a step, each with its file."""
    found: dict[ast.Call, tuple[FileIndex, Candidate]] = {}
    for entry in program_entries(project):
        if DeviceWork.ATTENTION not in work_of(entry) or not speaks_of(entry, "from_pretrained"):
            continue
        options = {option.name: option for file in _own(entry) for option in _options(file)}
        few = _of_options(options, entry)
        if few is None or not speaks_of(entry, "tokenizer") or speaks_of(entry, "recompute"):
            continue
        statement = statement_around(few.size.file.tree, few.size.call)
        if statement is not None:
            candidate = Candidate(few.size.call, statement, few, Confidence.MEDIUM)
            found.setdefault(few.size.call, (few.size.file, candidate))
    return [*found.values()]


def _own(entry: EntryPoint) -> list[FileIndex]:
    """The files that a program imports, and itself, which comes last so that its options count."""
    own = [entry.file, entry.driven_from]
    imported = Imports.of(entry.file.project).closure(own)
    return [*sorted(imported.difference(own), key=lambda file: file.path), *own]


@query
def _options(file: FileIndex) -> tuple[_Option, ...]:
    """The options that a file declares with a literal default."""
    found = []
    for _, _, call in file.calls_named("add_argument") if file.has_words("add_argument") else ():
        names = [name.lstrip("-").replace("-", "_") for arg in call.args if (name := string_of(arg) or "")[:1] == "-"]
        default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
        if names and isinstance(default, ast.Constant):
            found.append(_Option(max(names, key=len), call, file, default.value, default))
    return tuple(found)


def _of_options(options: Mapping[str, _Option], entry: EntryPoint) -> _Few | None:
    """The default batch of a program, if it is of few short texts and nothing says why."""
    sizes = sorted((_numbers(options, _BATCH)), key=lambda one: "train" not in one.name)
    lengths, accumulated = _numbers(options, _LENGTH), _numbers(options, _ACCUMULATES)
    if not sizes or not lengths or any(_is_large(option) for option in options.values()):
        return None
    size, length = sizes[0], max(lengths, key=lambda one: str(one.default).zfill(9))
    count, longest = size.default, length.default
    assert isinstance(count, int)
    assert isinstance(longest, int)
    texts = (size.file.source.code(size.call), *(size.file.source.lines.line(size.call.lineno - up) for up in (0, 1)))
    if count > _FEW or count * longest > _TOKENS or any(map(_MEMORY.search, texts)):
        return None
    if any(not number.isdigit() or int(number) > _FEW for number in _passed(size, entry)):
        return None
    several = next((one for one in accumulated if isinstance(one.default, int) and one.default > 1), None)
    return _Few(size, length, several, entry)


def _passed(size: _Option, entry: EntryPoint) -> Iterator[str]:
    """What scripts pass for the batch size."""
    for file in {size.file, entry.driven_from, *Imports.of(entry.file.project).importers(entry.driven_from)}:
        yield from passed_for(file, size.name)


def _numbers(options: Mapping[str, _Option], name: re.Pattern[str]) -> list[_Option]:
    named = (option for key, option in sorted(options.items()) if name.fullmatch(key))
    return [option for option in named if isinstance(option.default, int) and option.default > 0]


def _is_large(option: _Option) -> bool:
    return isinstance(option.default, str) and _LARGE.search(option.default) is not None


@rule(RULE.code, at=At.ANYWHERE, find=_find, claims=False)
def few_short_texts(found: _Few, context: Context) -> None:
    """Report the option whose default makes batches of a few short texts."""
    size, length, several = found.size, found.length, found.accumulated
    assert isinstance(size.default, int)
    clause = ""
    if several is not None and isinstance(several.default, int):
        place = context.where(several.file.path, several.call.lineno)
        whole = size.default * several.default
        clause = RULE.texts["accumulated"].format(option=several.name, number=several.default, place=place, whole=whole)
    entry = found.entry
    context.report(
        RULE.words("accumulated" if several is not None else ""),
        size.node,
        related=(Related(entry.file.path, entry.file.row(entry.call), "the backward pass of the step"),),
        confidence=Confidence.MEDIUM,
        size=str(size.default),
        option=size.name,
        length=str(length.default),
        bound=length.name,
        accumulated=clause,
    )
