"""Tries each edit before it is offered, and withdraws those that would make the file worse.

An edit is offered if the edited file compiles and pyflakes reports nothing new: no undefined name, and no variable that
became unused. A safe one must also keep its promises (``promises``). A fix that fails keeps its title and
its reason, so the user still reads what to do, but loses its edit.

For example, ``if step % 10 == 0:`` around a log line is not offered if there is no name ``step``. An import that
becomes unused by the edit may stay. A fix only notes which imports it may leave unused that nothing else needs; the
fixer removes those that all edits together leave unused.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from perflint.findings import Edit, Fix, Level, in_order
from perflint.fix.fit import fitted, usual_limit
from perflint.fix.fixer import complete_edits, spliced
from perflint.fix.import_place import ImportPlace, first_written
from perflint.fix.outline import Outline, Region
from perflint.fix.parsed_text import Messages, Reading
from perflint.fix.promises import broken_promise
from perflint.fix.unused_imports import imports_in, spelling_of
from perflint.syntax.names import imported_name
from perflint.syntax.tree import alike
from perflint.text.source import Source

_BUDGET = 4_000_000
_BUDGET_PER_CHARACTER = 8
"""How many characters the trials of one file may read. Real files stay far below: a trial reads the function that it
edits. This keeps the time linear for a file with thousands of costly calls in one function.
"""

_PER_FUNCTION = 30
"""The cost, in characters, of reading an emptied function or another statement of the module."""


class Trials:
    """The trials of the fixes of one file.

    Args:
        source: the file.
        tree: its tree.
        limit: the greatest length of a row; None if the project does not set one.
        is_needed: whether something besides the code of the file needs a name that it imports.
    """

    def __init__(
        self,
        source: Source,
        tree: ast.Module,
        limit: int | None = None,
        is_needed: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._limit = usual_limit(source.text) if limit is None else limit
        self._source = source
        self._tree = tree
        self._is_needed = is_needed
        self._outline = Outline(source, tree)
        self._left = _BUDGET + _BUDGET_PER_CHARACTER * len(source.text)
        self._verdicts: dict[Fix, Fix] = {}
        self._lost: dict[Fix, Counter[str]] = {}
        self._regions: dict[tuple[int, int], Reading] = {}
        self._insides: dict[Region, Reading] = {}
        self._modules: dict[Region, Reading] = {}

    def tried(self, fix: Fix | None) -> Fix | None:
        """The fix if its edit may be offered; otherwise the fix without its edit, or with a lower level."""
        if fix is None or not fix.edits:
            return fix
        if fix not in self._verdicts:
            self._verdicts[fix] = self._verdict(fix)
        return self._verdicts[fix]

    def tried_together(self, fixes: Sequence[Fix | None]) -> list[Fix | None]:
        """The fixes as ``tried`` returns them, each with the imports that it may leave unused along with the others."""
        results = [self.tried(fix) for fix in fixes]
        together = sum((self._lost[fix] for fix in {*results} if fix in self._lost), Counter[str]())
        return [
            replace(fix, unneeded=tuple(self._unneeded(self._lost[fix], together))) if fix in self._lost else fix
            for fix in results
        ]

    def _verdict(self, fix: Fix) -> Fix:
        edits = in_order(dict.fromkeys(fix.edits))
        region = self._outline.region(edits)
        self._left -= region.end - region.start
        if self._left < 0:
            return _in_words(fix, "this file has too many edits to try each; make some of them, then look again")
        before = self._before(region)
        after = Reading(spliced(self._source.text, region.start, region.end, edits))
        # (The ``await`` of a notebook did not compile before either.)
        if after.tree is None or (before.compiles and not after.compiles):
            return _in_words(fix, "the edit does not fit the code here: the file would not compile")
        inside = self._outline.inside(region, after)
        new = self._new_messages(region, before, inside, fix)
        bad = [said for (kind, _), said in new.items() if kind != "UnusedImport"]
        if bad:
            return _in_words(fix, f"the edit does not fit the code here: {bad[0]}")
        broken = broken_promise(before, after) if fix.level is Level.SAFE else ""
        fix = replace(fix, edits=in_order(self._fitted(region, edits, after)))
        fix = replace(fix, level=Level.UNSAFE, reason=broken) if broken else fix
        self._lost[fix] = self._inside(region, before).reads - inside.reads
        return fix

    def _fitted(self, region: Region, edits: Sequence[Edit], after: Reading) -> list[Edit]:
        """The edits, with rows that get too long broken; ``after``: the text of the region after the edits."""
        text, newline = self._source.text[region.start : region.end], self._source.newline
        near = [Edit(edit.start - region.start, edit.end - region.start, edit.content) for edit in edits]
        fitting = fitted(text, near, self._limit, newline)
        if fitting == near or not _is_same(after, Reading(spliced(text, 0, len(text), fitting))):
            return list(edits)
        return [Edit(edit.start + region.start, edit.end + region.start, edit.content) for edit in fitting]

    def _unneeded(self, lost: Counter[str], lost_together: Counter[str]) -> Iterator[str]:
        """The imports, as pyflakes calls them, that some fixes may leave unused and nothing else needs.

        Args:
            lost: how often a fix no longer reads each name.
            lost_together: the same for all fixes of the file. What is still read after all of them is needed.
        """
        for node in imports_in(self._tree) if lost else ():
            left = self._reads - lost_together if node in self._tree.body else Counter[str]()
            for alias in node.names:
                name = imported_name(alias)
                if name in lost and name not in left and not self._is_needed(name):
                    yield spelling_of(node, alias)

    @cached_property
    def _reads(self) -> Counter[str]:
        """How often the file reads each name."""
        return Reading("", self._tree).reads

    def _new_messages(self, region: Region, before: Reading, inside: Reading, fix: Fix) -> Messages:
        """The messages of pyflakes about the edited file that it did not have about the file before.

        First, functions that the edits do not touch are emptied, which is fast and finds everything, but sometimes too
        much: an import may only be used in another function. So anything found is checked again with the whole file.

        Args:
            region: what the edits touch.
            before: its text before.
            inside: its statements after the edits, with such functions emptied.
            fix: the fix.
        """
        outline, text = self._outline, self._source.text
        missing = ImportPlace(text).missing(fix.imports, first_written(fix)) if fix.imports else []
        if not missing and inside.names == self._inside(region, before).names:
            return {}  # no name was added or removed, so pyflakes has nothing new to report
        self._left -= _PER_FUNCTION * outline.size
        module = outline.around(region, inside, missing)
        if not module.new_messages(self._module(region, before)):
            return {}
        return Reading(spliced(text, 0, len(text), complete_edits(text, fix))).new_messages(self._whole)

    def _inside(self, region: Region, before: Reading) -> Reading:
        if region not in self._insides:
            self._insides[region] = self._outline.inside(region, before)
        return self._insides[region]

    def _module(self, region: Region, before: Reading) -> Reading:
        if region not in self._modules:
            self._modules[region] = self._outline.around(region, self._inside(region, before))
        return self._modules[region]

    def _before(self, region: Region) -> Reading:
        key = (region.start, region.end)
        if key not in self._regions:
            self._regions[key] = Reading(self._source.text[region.start : region.end])
        return self._regions[key]

    @cached_property
    def _whole(self) -> Reading:
        return Reading(self._source.text)


def _is_same(one: Reading, other: Reading) -> bool:
    """Whether two texts are the same program."""
    return one.tree is not None and other.tree is not None and alike(one.tree, other.tree)


def _in_words(fix: Fix, problem: str) -> Fix:
    """The fix without its edit, which the user has to make."""
    reason = fix.reason if fix.level is Level.DISPLAY and fix.reason else problem
    return replace(fix, edits=(), imports=(), unneeded=(), level=Level.DISPLAY, reason=reason)
