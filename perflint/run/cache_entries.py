"""Encodes an entry of the cache as bytes, and decodes it without trusting anything that was not checked.

It is JSON after a line with its digest, so that a truncated file, or one written by something else, is recognized. The
digest does not prevent forged entries, so every value is checked too: an entry may be wrong, but only in ways that a
check could have reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from perflint.findings import Confidence, Edit, Finding, Fix, Impact, ImpactLevel, Level, Related
from perflint.text.source import Source

BEGINNING = b"perflint cache entry "
"""How an entry of any version begins."""
_MARK = BEGINNING + b"5 "
"""The version of the format, increased when the following data is written differently."""


class BadEntry(Exception):
    """Bytes that are not an entry, or not one for these files."""


def encode(findings: Sequence[Finding], roots: Mapping[str, bool]) -> bytes:
    """Encode an entry; the arguments are those of ``cache.store``."""
    entry = {"roots": dict(roots), "findings": [_plain(item) for item in findings]}
    data = json.dumps(entry, separators=(",", ":")).encode("ascii")
    return _MARK + _digest(data) + b"\n" + data


def decode(data: bytes, sources: Mapping[str, Source]) -> tuple[list[Finding], dict[str, bool]]:
    """Decode an entry: its findings, and the directories that they depend on.

    Args:
        data: the bytes.
        sources: the files that the findings are about.

    Raises:
        BadEntry: it is not an entry, or it is one for other files.
    """
    head, _, rest = data.partition(b"\n")
    if head != _MARK + _digest(rest):
        raise BadEntry("it is cut off, or something else")
    try:
        entry = json.loads(rest)
        found = [_finding(item, sources) for item in _list(entry["findings"])]
        roots = {str(root): _is(answer, bool) for root, answer in entry["roots"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadEntry("a value is none that perflint writes") from error
    return found, roots


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode("ascii")


def _plain(finding: Finding) -> list[Any]:
    fix = finding.fix
    return [
        finding.code,
        finding.path,
        finding.start,
        finding.end,
        finding.message,
        fix
        and [
            fix.message,
            [astuple(edit) for edit in fix.edits],
            fix.level.value,
            fix.reason,
            list(fix.imports),
            fix.paddle,
            list(fix.unneeded),
        ],
        [astuple(item) for item in finding.related],
        finding.statement,
        finding.confidence.value,
        finding.impact and [finding.impact.level.value, finding.impact.reason, finding.impact.milliseconds],
        finding.places,
    ]


def _finding(data: Any, sources: Mapping[str, Source]) -> Finding:
    code, path, start, end, message, fix, related, statement, confidence, impact, places = _list(data)
    size = len(sources[_is(path, str)].text)
    return Finding(
        _is(code, str),
        path,
        *_range(start, end, size),
        _is(message, str),
        None if fix is None else _fix(*_list(fix), size=size),
        tuple(_related(*_list(item)) for item in _list(related)),
        None if statement is None else _place(*_list(statement), size=size),
        Confidence(_is(confidence, int)),
        None if impact is None else _impact(*_list(impact)),
        tuple(_place(*_list(place), size=size) for place in _list(places)),
    )


def _fix(
    message: str, edits: Any, level: int, reason: str, imports: Any, paddle: str, unneeded: Any, *, size: int
) -> Fix:
    return Fix(
        _is(message, str),
        tuple(_edit(*_list(edit), size=size) for edit in _list(edits)),
        Level(_is(level, int)),
        _is(reason, str),
        tuple(_is(item, str) for item in _list(imports)),
        _is(paddle, str),
        tuple(_is(item, str) for item in _list(unneeded)),
    )


def _edit(start: int, end: int, content: str, *, size: int) -> Edit:
    return Edit(*_range(start, end, size), _is(content, str))


def _place(start: int, end: int, *, size: int) -> tuple[int, int]:
    return _range(start, end, size)


def _impact(level: int, reason: str, milliseconds: float) -> Impact:
    return Impact(ImpactLevel(_is(level, int)), _is(reason, str), _is(milliseconds, float))


def _related(path: str, line: int, message: str) -> Related:
    if _is(line, int) < 0:
        raise ValueError(line)
    return Related(_is(path, str), line, _is(message, str))


def _range(start: int, end: int, size: int) -> tuple[int, int]:
    if not 0 <= _is(start, int) <= _is(end, int) <= size:
        raise ValueError(start, end)
    return start, end


def _list(value: Any) -> list[Any]:
    found: list[Any] = _is(value, list)
    return found


def _is(value: Any, kind: type) -> Any:
    """``value``, if it has exactly that type: True is not a number."""
    if type(value) is not kind:
        raise TypeError(value)
    return value
