"""Which files have to be checked again after edits: what their checks were worked out from is not as it was."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from perflint.incremental.splice import Window
from perflint.incremental.tracking import Log, Remembered, Table
from perflint.index.project import FileIndex
from perflint.lint.context import Draft
from perflint.training.steps import Point, Read, Step, points_of, reads_of

Found = TypeVar("Found")
Move = tuple[str, Window]
"""An edit: the file, and the rows in which its text has changed."""


@dataclass(frozen=True)
class _Seen:
    """What was known of the steps in a file when it was checked, which was after so many ``moves``."""

    points: Mapping[ast.stmt, Point]
    reading_calls: Mapping[int, Read]
    moves: int

    @staticmethod
    def of(file: FileIndex, moves: int) -> _Seen:
        return _Seen(dict(points_of(file)), dict(reads_of(file)), moves)


class Rechecks:
    """What the check of each file was worked out from.

    That is what it has asked of files that are edited, which counts as an answer (``incremental/tracking``); where the
    steps lead in it; and the rows of those files that its findings name.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._asked = Table(log)
        self._seen: dict[str, _Seen] = {}
        self._moves: list[Move] = []
        self._dropped: set[str] = set()

    def checked(self, file: FileIndex, check: Callable[[], Found]) -> Found:
        """Check a file, and note what that was worked out from; the points of the file must be there."""
        path, start = file.path, len(self._log.asked)
        self._seen[path] = _Seen.of(file, len(self._moves))
        self._dropped.discard(path)
        self._asked.release(path)
        found = check()
        self._asked.credit(path, start)
        del self._log.asked[start:]
        return found

    def edited(self, path: str, rows: Window, dropped: Iterable[Remembered]) -> None:
        """Note an edit: the rows in which a file has changed, and the answers that had to be forgotten."""
        self._moves.append((path, rows))
        self._dropped.update(str(entry.key) for entry in dropped if entry.table is self._asked)

    def drop(self, path: str) -> None:
        """Let a file be checked again."""
        self._dropped.add(path)

    def take_stale(self, files: Iterable[FileIndex], drafts: Mapping[str, Sequence[Draft]]) -> list[FileIndex]:
        """The files that have to be checked again since the last time; the points of all files must be there.

        Args:
            files: all files.
            drafts: those of each file, as of its last check.
        """
        stale: list[FileIndex] = []
        for file in files:
            path = file.path
            seen, now = self._seen[path], _Seen.of(file, 0)
            moves = self._moves[seen.moves :]
            if (
                path in self._dropped
                or _differ(seen, now, moves)
                or any(_names_any(draft, moves) for draft in drafts[path])
            ):
                stale.append(file)
            self._seen[path] = now
        self._moves.clear()
        return stale


def _differ(then: _Seen, now: _Seen, moves: Sequence[Move]) -> bool:
    """Whether the steps in a file are not as they were, but for the rows of edited files that they lead through."""
    if then.points.keys() != now.points.keys() or then.reading_calls != now.reading_calls:
        return True
    steps: dict[Step, Step | None] = {}
    for node, before in then.points.items():
        point, step = now.points[node], before.step
        if step is not None and step not in steps:
            steps[step] = moved(step, moves)
        if point.step != (steps[step] if step is not None else None) or (step is None) != (point.step is None):
            return True
        if point.scope is not before.scope or point.loop is not before.loop or point.env != before.env:
            return True
    return False


def _names_any(draft: Draft, moves: Iterable[Move]) -> bool:
    """Whether a finding names a row that an edit has moved or changed, other than on the way from its step loop."""
    return any(
        rows.old[0] <= row and (row <= rows.old[1] or rows.shift)
        for path, rows in moves
        for row in (*_rows_in_words(draft, path), *(place.line for place in draft.related if place.path == path))
    )


def _rows_in_words(draft: Draft, path: str) -> list[int]:
    """The rows of a file that the words of a finding name."""
    return [
        int(row)
        for words in draft.fields.values()
        if path in words
        for row in re.findall(rf"{re.escape(path)}:([0-9]+)", words)
    ]


def moved(step: Step, moves: Iterable[Move]) -> Step | None:
    """A step with the rows that it has after edits; None where one of them is gone."""
    for path, rows in moves:
        if step.path != path and all(where != path for where, _ in step.via):
            continue
        line = rows.now(step.line) if step.path == path and step.line else step.line
        via = [(where, rows.now(row) if where == path else row) for where, row in step.via]
        if line is None or any(row is None for _, row in via):
            return None
        step = replace(step, line=line, via=tuple((where, row or 0) for where, row in via))
    return step
