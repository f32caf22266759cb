"""Collects the edits of a pass over a text, and decides whether those of another fix can join them.

Edits conflict if they overlap, or if they touch so that their order would matter. Only the edits near the new one are
compared: a file may have thousands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from perflint.findings import Edit, Fix, overlap
from perflint.fix.parsed_text import Reading

_Sort = tuple[bool, str]
"""Whether an edit inserts a complete row, and the indentation of that row."""


class Taken:
    """The edits of the fixes that are applied.

    ``edits`` are all of them, in the order in which they were taken.
    """

    def __init__(self, text: str) -> None:
        self.edits: list[Edit] = []
        self._text = text
        self._known: set[Edit] = set()
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._at: dict[tuple[int, int], dict[_Sort, list[Edit]]] = {}

    def fits(self, fix: Fix) -> bool:
        """Whether a fix can join the edits already taken, and does not contradict itself."""
        own = sorted(set(fix.edits))
        if overlap(own):
            return False
        # An edit shared with an earlier fix is already taken, and that fix has its own edits in a known order around
        # it.
        return not any(self._clashes(edit, own) for edit in own if edit not in self._known)

    def add(self, fix: Fix) -> None:
        """Add the edits of a fix that fits."""
        for edit in dict.fromkeys(fix.edits):
            if edit in self._known:
                continue
            self.edits.append(edit)
            self._known.add(edit)
            place = (edit.start, edit.end)
            if place not in self._at:
                at = bisect_left(self._starts, edit.start)
                while at < len(self._starts) and (self._starts[at], self._ends[at]) < place:
                    at += 1
                self._starts.insert(at, edit.start)
                self._ends.insert(at, edit.end)
            self._at.setdefault(place, {}).setdefault(self._sort(edit), []).append(edit)

    def leaves(self, places: Iterable[int]) -> bool:
        """Whether no edit rewrites the places of new imports."""
        return is_clear(self.edits, places)

    def _clashes(self, edit: Edit, own: list[Edit]) -> bool:
        """Whether an edit overlaps one of another fix, or touches it so that their order matters."""
        first, last = bisect_left(self._ends, edit.start), bisect_right(self._starts, edit.end)
        for place in zip(self._starts[first:last], self._ends[first:last], strict=True):
            for sort, there in self._at[place].items():
                fits = sort[0] and sort == self._sort(edit)
                if not fits and any(other not in own for other in there[: len(own) + 1]):
                    return True
        return False

    def _sort(self, edit: Edit) -> _Sort:
        indent = edit.content[: len(edit.content) - len(edit.content.lstrip())]
        return (True, indent) if _is_row(edit, self._text) else (False, "")


def is_clear(edits: Iterable[Edit], places: Iterable[int]) -> bool:
    """Whether no edit rewrites the text around some places."""
    return all(not edit.start < place < edit.end for place in places for edit in edits)


def _is_row(edit: Edit, text: str) -> bool:
    """Whether an edit inserts one line with a whole statement, as fixes do after a loop for each sum in it."""
    if edit.start != edit.end or text[edit.start - 1 : edit.start] not in ("\n", "\r"):
        return False
    line = edit.content.rstrip("\r\n")
    return line != edit.content and not {"\n", "\r"} & set(line) and Reading(line.strip()).tree is not None
