"""Finds the finding meant by ``PPF201:train.py:70``, or by ``PPF201:70`` if only one file has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from perflint.bench.variants import Fixes, has_edit
from perflint.findings import Finding
from perflint.text.visible import listed

_WRITTEN = re.compile(r"(?P<code>[A-Za-z]+[0-9]+)(?:[: ](?P<path>.+))?[: ](?P<row>[0-9]+)")
_NEAR = 3
"""How many nearby findings are named instead of one that does not exist."""


class NotPicked(Exception):
    """A text means no finding that can be measured, or several; ``str(error)`` says which findings there are."""


@dataclass(frozen=True)
class _Place:
    """One expression of a finding."""

    finding: Finding
    path: Path
    row: int

    def __str__(self) -> str:
        return f"{self.finding.code}:{self.path.as_posix()}:{self.row}"


def picked(fixes: Fixes, wanted: Sequence[str]) -> list[Finding]:
    """The findings that texts mean, plus those that share their fixes, without duplicates.

    Args:
        fixes: the fixes to search.
        wanted: ``CODE:PATH:ROW`` or ``CODE:ROW``, or with a space after the code, as in reports.

    Raises:
        NotPicked: a text means none or several, or one without an edit.
    """
    found = fixes.found()
    places = list(_places(fixes, found))
    chosen = [_one(places, text) for text in wanted]
    return [item for group in fixes.of_one_fix(found) if any(item in chosen for item in group) for item in group]


def _places(fixes: Fixes, findings: Sequence[Finding]) -> Iterator[_Place]:
    for item in findings:
        for place in fixes.places([item]):
            path, _, row = place.rpartition(":")
            yield _Place(item, Path(path), int(row))


def _one(places: Sequence[_Place], text: str) -> Finding:
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise NotPicked(
            f"--fix {text}: write the rule, the file and the line, as in --fix PPF201:train.py:70 "
            "(or PPF201:70, if only one file has it)"
        )
    code, path, row = written["code"].upper(), written["path"], int(written["row"])
    there = [each for each in places if each.finding.code == code and each.row == row and _is(each.path, path)]
    if not there:
        raise NotPicked(
            f"--fix {text}: there is no finding there in the files that the script runs{_near(places, code, path, row)}"
        )
    files = dict.fromkeys(each.path for each in there)
    if len(files) > 1:
        raise NotPicked(f"--fix {text} means several: {listed([*map(str, there)], _NEAR)}; name the file too")
    with_edit = [each for each in there if has_edit(each.finding)]
    if not with_edit:
        raise NotPicked(f"--fix {text}: perflint has no edit for this finding, so there is nothing to measure")
    return with_edit[0].finding


def _is(path: Path, written: str | None) -> bool:
    """Whether a file of the project is meant; the end of its path, or a path from the current directory, is enough."""
    if written is None:
        return True
    meant = [part for part in PurePath(written).parts if part != "."]
    mine = [*path.parts]
    if PurePath(written).is_absolute():
        return meant[-len(mine) :] == mine
    return mine[-len(meant) :] == meant


def _near(places: Sequence[_Place], code: str, path: str | None, row: int) -> str:
    def distance(place: _Place) -> tuple[bool, bool, int]:
        return not _is(place.path, path), place.finding.code != code, abs(place.row - row)

    names = dict.fromkeys(str(place) for place in sorted(places, key=distance))
    return f"; near it: {', '.join([*names][:_NEAR])}" if names else ""
