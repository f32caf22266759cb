"""Applies fixes to texts: one pass (`apply`), and round after round until nothing changes (`fix_all`).

A fix is applied whole or not at all. Edits of two fixes conflict if they overlap, or if they touch so that their order
would matter; only the edits near a new one are compared, since a file may have thousands. A result that is not valid
Python, or that the file's encoding cannot represent, is discarded: the file keeps its previous text, and the outcome
says which rules caused it.

At last, all edits of a run are tried together: each was tried alone, and one may remove what another needs. For
example, one fix removes the last use of ``import paddle``, and another one writes ``@paddle.no_grad()``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate

from perflint.findings import Edit, Finding, Fix, Level, by_path, by_place, in_order, merged, overlap
from perflint.fix.import_edits import ImportPlace, first_written, imports_in, removals, spelling_of, unused_imports
from perflint.index.imports import is_taken
from perflint.index.project import Project
from perflint.inputs.projects import split
from perflint.query import gathered
from perflint.syntax.always_bound import AlwaysBound
from perflint.syntax.names import imported_name
from perflint.syntax.tree import Reading, alike
from perflint.text.source import Source

# --- the edits of a pass

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


# --- all edits of a run together

_HARMLESS = "UnusedImport"


def broken_files(before: Mapping[str, Source], after: Mapping[str, Source]) -> dict[str, tuple[str, bool]]:
    """The changed files that must keep their old text, each with the reason, and whether it is a mistake of perflint.

    It is none if another file takes a name that an edit changes, such as the name that a loop counts with.

    Args:
        before: all files by path.
        after: the new sources of those that changed.
    """
    broken = {path: (reason, True) for path in after if (reason := _broken(before[path], after[path]))}
    lost = {path: names for path in after.keys() - broken.keys() if (names := _lost(before[path], after[path]))}
    return {**broken, **dict(_missed(before, lost))}


def _broken(before: Source, after: Source) -> str:
    """What is wrong with the new text of a file itself; empty if nothing is."""
    old, new = Reading(before.text), Reading(after.text)
    if new.tree is None or (old.compiles and not new.compiles):
        return "the result of all edits together is not valid Python"
    messages = new.new_messages(old).items()
    said = next((said for (kind, name), said in messages if kind != _HARMLESS and not _is_of_one(kind, name, old)), "")
    return f"all edits together do not fit: {said}" if said else ""


def _is_of_one(kind: str, name: str, old: Reading) -> bool:
    """Whether a message is about a name that the text never had: then it is about one edit, and no other has a part."""
    return kind == "UndefinedName" and not any(name in names for names in old.names[:2]) and name not in _imported(old)


def _imported(old: Reading) -> set[str]:
    nodes = imports_in(old.tree) if old.tree is not None else ()
    return {imported_name(alias) for node in nodes for alias in node.names}


def _lost(before: Source, after: Source) -> frozenset[str]:
    """The names that a module no longer binds."""
    old, new = Reading(before.text).tree, Reading(after.text).tree
    if old is None or new is None:
        return frozenset()
    return AlwaysBound(old).of_module - AlwaysBound(new).of_module


def _missed(before: Mapping[str, Source], lost: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The files that have lost a name which another file takes from them, each with the reason."""
    for sources in split(before).projects if lost else ():
        project = Project(sources)
        for path in lost.keys() & sources.keys():
            file = project.files[path]
            name = next((name for name in sorted(lost[path]) if is_taken(file, name)), None)
            if name is not None:
                yield path, (f"another file takes `{name}` from it", False)


Check = Callable[[Mapping[str, Source]], list[Finding]]
_Mark = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Applied:
    """The result of one pass over one text. ``skipped`` are fixes that conflicted with an applied one."""

    text: str
    fixes: tuple[Fix, ...]
    skipped: tuple[Fix, ...]
    edits: tuple[Edit, ...]

    @cached_property
    def _shifts(self) -> tuple[list[int], list[int]]:
        ends, shifts, shift = [], [], 0
        for edit in self.edits:
            shift += len(edit.content) - (edit.end - edit.start)
            ends.append(edit.end)
            shifts.append(shift)
        return ends, shifts

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """Where the old range ``start:end`` is in the new text; a range inside an edit becomes the whole edit."""
        ends, shifts = self._shifts
        before = bisect_right(ends, start)
        low = start + (shifts[before - 1] if before else 0)
        if before < len(self.edits) and self.edits[before].start < start:
            low = self.edits[before].start + (shifts[before - 1] if before else 0)
        until = bisect_right(ends, end)
        high = end + (shifts[until - 1] if until else 0)
        if until < len(self.edits) and self.edits[until].start < end:
            high = ends[until] + shifts[until]
        return low, max(low, high)


@dataclass(frozen=True)
class Rejected:
    """Fixes that were not applied because their result cannot be kept; ``reason`` is shown to the user.

    ``bug`` is True for a mistake of perflint (the result does not parse), and False for a file that cannot represent
    the text, or whose names another file takes.
    """

    path: str
    codes: tuple[str, ...]
    reason: str
    bug: bool


@dataclass(frozen=True)
class Made:
    """A finding whose fix was applied, and the text of its row at that time, stripped."""

    finding: Finding
    row: str


@dataclass(frozen=True)
class FixOutcome:
    """The outcome of fixing.

    ``changed`` has the new sources of the files that changed, ``remaining`` the findings of the last check and
    ``fixed`` how many findings of each (path, code) had their fix applied and are gone. ``settled`` is False if the
    rounds were used up while there was still something to apply. ``applied`` lists what was applied in each round.
    """

    level: Level
    first: tuple[Finding, ...]
    changed: Mapping[str, Source]
    remaining: tuple[Finding, ...]
    fixed: Mapping[tuple[str, str], int]
    rejected: tuple[Rejected, ...] = ()
    settled: bool = True
    applied: tuple[tuple[Made, ...], ...] = ()

    @property
    def fixed_count(self) -> int:
        """How many findings were fixed."""
        return sum(self.fixed.values())

    def without(self, paths: Iterable[str]) -> FixOutcome:
        """The outcome if these files keep their old text (because they could not be written)."""
        lost = frozenset(paths)
        kept = [finding for finding in self.remaining if finding.path not in lost]
        back = [finding for finding in self.first if finding.path in lost]
        return replace(
            self,
            changed={path: source for path, source in self.changed.items() if path not in lost},
            remaining=tuple(by_place([*kept, *back])),
            fixed={key: count for key, count in self.fixed.items() if key[0] not in lost},
        )


def apply(text: str, fixes: Iterable[Fix]) -> Applied:
    """One pass: apply every fix that does not conflict with an earlier one, in the order of their first edits.

    Edits conflict if they overlap, or if they touch so that their order would matter; an edit that two fixes share is
    applied once. Missing imports are added below the imports above the first edit that needs them.
    """
    chosen: list[Fix] = []
    skipped: list[Fix] = []
    taken = Taken(text)
    wanted: dict[str, int] = {}
    place = ImportPlace(text)
    for fix in sorted(dict.fromkeys(fixes), key=lambda fix: (min(fix.edits, default=Edit(0, 0, "")), fix.edits)):
        start = first_written(fix)
        missing = [statement for statement in place.missing(fix.imports, start) if statement not in wanted]
        new = {statement: place.at(start) for statement in missing}
        fits = (
            bool(fix.edits) and taken.fits(fix) and taken.leaves(new.values()) and is_clear(fix.edits, wanted.values())
        )
        if not fits or not is_clear(fix.edits, new.values()):
            skipped.append(fix)
            continue
        chosen.append(fix)
        wanted.update(new)
        taken.add(fix)
    # The sort is stable and compares positions only: edits of one fix at one place keep the order the rule gave.
    added = [
        place.edit([item for item, at in wanted.items() if at == spot], spot) for spot in sorted({*wanted.values()})
    ]
    edits = _tidied(text, in_order([*added, *taken.edits]), {name for fix in chosen for name in fix.unneeded})
    return Applied(spliced(text, 0, len(text), edits), tuple(chosen), tuple(skipped), edits)


def complete_edits(text: str, fix: Fix) -> tuple[Edit, ...]:
    """All edits of a fix in order of place, including those of the imports that it needs or leaves unused."""
    return merged(_tidied(text, in_order([*_import_place(text).edits(fix), *fix.edits]), fix.unneeded))


def _tidied(text: str, edits: tuple[Edit, ...], unneeded: Collection[str]) -> tuple[Edit, ...]:
    """Some edits of a text, with those that remove the imports which all of them together leave unused.

    Args:
        text: the text.
        edits: the edits, in order of place, not overlapping.
        unneeded: the imports that nothing else needs, as pyflakes names them; only these are removed.
    """
    before, after = _reading(text), Reading(spliced(text, 0, len(text), edits))
    if not unneeded or before.tree is None or after.tree is None:
        return edits
    old = list(imports_in(before.tree))
    bound = [(spelling_of(node, alias), imported_name(alias)) for node in old for alias in node.names]
    lost = before.reads - after.reads
    spellings = Counter(spelled for spelled, _ in bound)
    less = {spelled for spelled, own in bound if own in lost or spellings[spelled] > 1}
    names = [name for name in unneeded if name in less]
    unused = unused_imports(before, after) if names else None
    added = [node for node in imports_in(after.tree) if not any(alike(node, other) for other in old)] if unused else ()
    extra = removals(Source("", text), before.tree, [name for name in unused or () if name in names], added, after.tree)
    if not extra or any(one.start < two.end and two.start < one.end for one in extra for two in edits):
        return edits
    result = in_order((*edits, *extra))
    return result if Reading(spliced(text, 0, len(text), result)).tree is not None else edits


_reading = lru_cache(maxsize=4)(Reading)  # these read the text, and are called for each finding of a file
_import_place = lru_cache(maxsize=4)(ImportPlace)


def spliced(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """``text[start:end]`` after ``edits`` (sorted, not overlapping, all of them inside)."""
    parts = []
    for edit in edits:
        parts += [text[start : edit.start], edit.content]
        start = edit.end
    return "".join([*parts, text[start:end]])


def fix_all(sources: Mapping[str, Source], check: Check, level: Level, max_rounds: int = 10) -> FixOutcome:
    """Apply all fixes of ``level`` and above, check again, and so on until nothing changes.

    The first check's level for a place is final: a suggestion, or a fix below ``level``, is not applied in a
    later round, even if the code around it has changed so that the rule would trust it then. A fix whose rule still
    reports the place afterwards is not kept. At last, all edits are tried together: a file that they break keeps its
    old text.

    Args:
        sources: the files by path.
        check: finds the findings in all of them; it gets all files each time, since a finding can depend on another
            file.
        level: the lowest level of fixes to apply.
        max_rounds: the greatest number of rounds.
    """
    current = dict(sources)
    first = findings = check(current)
    fixed: Counter[tuple[str, str]] = Counter()
    applied: list[tuple[Made, ...]] = []
    refused = _Refused()
    shown = _Shown(first, level)
    while len(applied) < max_rounds and (results := _round(current, shown.without(findings), level, refused)):
        edited = {**current, **{path: replace(current[path], text=result.text) for path, result in results.items()}}
        after = check(edited)
        made, gone, useless = _judge(findings, after, results)
        if useless:
            for finding in useless:
                refused.add(current[finding.path], [finding], f"{finding.code} still reports the place", True)
            continue
        applied.append(tuple(Made(item, _row(current[item.path], item)) for item in made))
        fixed += gone
        shown.move(results)
        current, findings = edited, after
    settled = not _round(current, shown.without(findings), level, refused)
    changed = {path: source for path, source in current.items() if source.text != sources[path].text}
    reports = tuple(refused.reports)
    outcome = FixOutcome(level, tuple(first), changed, tuple(findings), dict(fixed), reports, settled, tuple(applied))
    while broken := broken_files(sources, outcome.changed):
        outcome = _taken_back(outcome, broken)
    return outcome


def _taken_back(outcome: FixOutcome, broken: Mapping[str, tuple[str, bool]]) -> FixOutcome:
    """The outcome without the edits of some files, each with the reason."""
    made = [item.finding for items in outcome.applied for item in items]
    reports = [
        Rejected(path, tuple(sorted({item.code for item in made if item.path == path})), reason, is_bug)
        for path, (reason, is_bug) in broken.items()
    ]
    applied = (tuple(item for item in items if item.finding.path not in broken) for items in outcome.applied)
    return replace(outcome.without(broken), rejected=(*outcome.rejected, *reports), applied=tuple(applied))


class _Shown:
    """The places from the first check whose fixes are below ``level``, followed as edits move them."""

    def __init__(self, first: Iterable[Finding], level: Level) -> None:
        shown = (finding for finding in first if finding.fix is None or finding.fix.level < level)
        self._places = gathered(((item.path, item.code), item.statement or (item.start, item.end)) for item in shown)
        self._sorted: dict[tuple[str, str], tuple[list[int], list[int]]] = {}

    def without(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings whose fixes may be applied: those at none of these places."""
        self._sorted = {}
        return [finding for finding in findings if not self._is_shown(finding)]

    def move(self, results: Mapping[str, Applied]) -> None:
        """Follow the places through the edits of a round."""
        for (path, code), places in self._places.items():
            if path in results:
                self._places[path, code] = [results[path].moved(*place) for place in places]

    def _is_shown(self, finding: Finding) -> bool:
        starts, ends = self._ends_up_to(finding.path, finding.code)
        before = bisect_right(starts, finding.start)
        return before > 0 and finding.start < ends[before - 1]

    def _ends_up_to(self, path: str, code: str) -> tuple[list[int], list[int]]:
        """The starts of the places of a rule in a file, in order, and for each the largest end so far."""
        key = path, code
        if key not in self._sorted:
            places = sorted((start, max(end, start + 1)) for start, end in self._places.get(key, ()))
            self._sorted[key] = [start for start, _ in places], list(accumulate((end for _, end in places), max))
        return self._sorted[key]


@dataclass
class _Refused:
    """The fixes rejected so far; a fix with a bad result is recognized by its code, line and contents."""

    marks: dict[str, set[_Mark]] = field(default_factory=dict)
    reports: list[Rejected] = field(default_factory=list)

    def allows(self, source: Source, finding: Finding) -> bool:
        marks = self.marks.get(source.path)
        return not marks or _mark(source, finding) not in marks

    def add(self, source: Source, findings: Sequence[Finding], reason: str, bug: bool) -> None:
        self.marks.setdefault(source.path, set()).update(_mark(source, finding) for finding in findings)
        codes = tuple(sorted({finding.code for finding in findings}))
        report = Rejected(source.path, codes, reason, bug)
        if report not in self.reports:
            self.reports.append(report)


def _mark(source: Source, finding: Finding) -> _Mark:
    contents = tuple(edit.content for edit in finding.fix.edits) if finding.fix else ()
    return finding.code, _row(source, finding), contents


def _row(source: Source, finding: Finding) -> str:
    return source.lines.line(source.lines.position(finding.start)[0]).strip()


def _round(
    sources: Mapping[str, Source], findings: Sequence[Finding], level: Level, refused: _Refused
) -> dict[str, Applied]:
    """One pass over each file that has something to apply; only for results that change it and may be kept."""
    results = {}
    for path, candidates in by_path(findings).items():
        source = sources.get(path)
        if source is None:
            continue
        wanted = [item for item in candidates if item.fix and item.fix.level >= level and refused.allows(source, item)]
        result = _apply_checked(source, wanted, refused)
        if result and result.text != source.text:
            results[path] = result
    return results


def _apply_checked(source: Source, findings: Sequence[Finding], refused: _Refused) -> Applied | None:
    """Apply the fixes of these findings; leave out those that cause a result that cannot be kept."""
    while findings:
        result = apply(source.text, _fixes(findings))
        problem = _problem(source, result.text)
        if problem is None:
            return result
        if Reading(source.text).tree is None:
            return None
        made = frozenset(result.fixes)
        used = [finding for finding in findings if finding.fix in made]
        blamed = [item for item in used if _problem(source, apply(source.text, _fixes([item])).text)] or used
        refused.add(source, blamed, *problem)
        findings = [finding for finding in findings if refused.allows(source, finding)]
    return None


def _problem(source: Source, text: str) -> tuple[str, bool] | None:
    """Why ``text`` cannot be written to this file, and whether that is perflint's fault."""
    before, after = Reading(source.text), Reading(text)
    if after.tree is None or (before.compiles and not after.compiles):
        return "the result is not valid Python", True
    try:
        source.encode(text)
    except UnicodeEncodeError as error:
        return (
            f"the file's encoding ({source.encoding}) cannot represent {error.object[error.start : error.end]!r}",
            False,
        )
    return None


def _fixes(findings: Iterable[Finding]) -> list[Fix]:
    return [finding.fix for finding in findings if finding.fix]


def _judge(
    before: Iterable[Finding], after: Iterable[Finding], results: Mapping[str, Applied]
) -> tuple[list[Finding], Counter[tuple[str, str]], list[Finding]]:
    """Check that findings whose fix was applied are no longer reported at their place.

    Returns all whose fix was applied; how many of each (path, code) are gone; and those whose fix did not remove its
    finding.
    """
    now = by_path(after)
    gone: Counter[tuple[str, str]] = Counter()
    applied: list[Finding] = []
    useless: set[tuple[str, Fix | None]] = set()
    for path, findings in by_path(before).items():
        if path not in results:
            continue
        result = results[path]
        made, left = frozenset(result.fixes), Counter((item.code, item.start) for item in now.get(path, ()))
        # Findings that were not touched claim their own places first, so that each applied one is judged by its own
        # place.
        for finding in sorted(findings, key=lambda item: item.fix in made):
            # A finding that begins inside the place is a different one, which the first had kept from being reported.
            place = finding.code, result.moved(finding.start, finding.end)[0]
            left[place] -= 1
            if finding.fix not in made:
                continue
            applied.append(finding)
            if left[place] >= 0:
                useless.add((path, finding.fix))
            else:
                gone[path, finding.code] += 1
    return applied, gone, [item for item in applied if (item.path, item.fix) in useless]
