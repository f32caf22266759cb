"""Tries each edit before it is offered, and takes back those that would leave the file worse.

An edit is offered if the edited file compiles and pyflakes says nothing of it that it did not say before: no name
that does not exist, no import or variable that nothing uses any more.  A safe one must also keep its promises
(``promises``).  What fails keeps its title and its reason, so a person still reads what to do, but loses its edit.

For example, ``if step % 10 == 0:`` around a log line is not offered where nothing is called ``step``.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property

from perflint.findings import Fix, Level
from perflint.fix.outline import Outline, Region
from perflint.fix.promises import broken_promise
from perflint.fix.reading import Reading
from perflint.fixer import complete_edits, spliced
from perflint.import_place import ImportPlace
from perflint.source import Source

_BUDGET = 4_000_000
_BUDGET_PER_CHARACTER = 8
"""How many characters the trials of one file may read.  Real files stay far below: a trial reads the function that it
edits.  A file made up of thousands of costly calls in one function takes time that grows with its size, no faster.
"""


class Trials:
    """The trials of the fixes of one file.

    Args:
        source: the file, which parses.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = _BUDGET + _BUDGET_PER_CHARACTER * len(source.text)
        self._verdicts: dict[Fix, Fix] = {}
        self._regions: dict[tuple[int, int], Reading] = {}

    def tried(self, fix: Fix | None) -> Fix | None:
        """The fix if its edit may be offered; else the same without the edit, or trusted less."""
        if fix is None or not fix.edits:
            return fix
        if fix not in self._verdicts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python says of the edited code ("invalid escape sequence")
                self._verdicts[fix] = self._verdict(fix)
        return self._verdicts[fix]

    def _verdict(self, fix: Fix) -> Fix:
        edits = sorted(dict.fromkeys(fix.edits))
        region = self._outline.region(edits)
        self._left -= region.end - region.start
        if self._left < 0:
            return _in_words(fix, "this file has too many edits to try each; make some of them, then look again")
        before = self._before(region)
        after = Reading(spliced(self._source.text, region.start, region.end, edits))
        if not _is_valid(before, after):
            return _in_words(fix, "the edit does not fit the code here: the file would not compile")
        new = self._new_message(region, before, after, fix)
        if new:
            return _in_words(fix, f"the edit does not fit the code here: {new}")
        broken = broken_promise(before, after) if fix.level is Level.SAFE else ""
        return replace(fix, level=Level.UNSAFE, reason=broken) if broken else fix

    def _new_message(self, region: Region, before: Reading, after: Reading, fix: Fix) -> str:
        """What pyflakes says of the edited file and not of the file before; empty where that is nothing.

        The functions that the edits leave alone are emptied first, which is quick and finds all there is, and sometimes
        too much: an import may be used in another function alone.  So what it finds is asked of the whole file again.
        """
        outline, text = self._outline, self._source.text
        missing = ImportPlace(text).missing(fix.imports) if fix.imports else ()
        if not outline.around(region, after, missing).new_message(outline.around(region, before)):
            return ""
        return Reading(spliced(text, 0, len(text), complete_edits(text, fix))).new_message(self._whole)

    def _before(self, region: Region) -> Reading:
        key = (region.start, region.end)
        if key not in self._regions:
            self._regions[key] = Reading(self._source.text[region.start : region.end])
        return self._regions[key]

    @cached_property
    def _outline(self) -> Outline:
        return Outline(self._source)

    @cached_property
    def _whole(self) -> Reading:
        return Reading(self._source.text)


def _is_valid(before: Reading, after: Reading) -> bool:
    """Whether the edited code parses, and compiles if it did so before (a notebook's ``await`` may not)."""
    return after.tree is not None and (after.compiles or not before.compiles)


def _in_words(fix: Fix, problem: str) -> Fix:
    """The fix without its edit: a person makes it."""
    reason = fix.reason if fix.level is Level.DISPLAY and fix.reason else problem
    return replace(fix, edits=(), imports=(), level=Level.DISPLAY, reason=reason)
