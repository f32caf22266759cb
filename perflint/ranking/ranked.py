"""Matches findings with profiles, computes how much each can save, and sorts them by that."""

from __future__ import annotations

import ast
import enum
import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from perflint.catalogue import Rule
from perflint.findings import Finding
from perflint.query import gathered
from perflint.ranking.shares import AT_LINE, AT_PLACE, MOST_SHARE, LineShare, Profiled
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import terminal
from perflint.syntax.tree import Reading, string_of
from perflint.text.source import Source
from perflint.text.visible import counted, listed, visible, visible_path

LAYER, RANGE = "class", "range"
"""The kinds of blocks that a trace can name."""
_RANGES = frozenset({"RecordEvent", "annotate", "nvtx_range"})
"""The last names of calls that name the block below a ``with``: those of Paddle, and of the package ``nvtx``."""
_NOTHING_LEFT = 0.0005
"""The largest share that may only be lost by rounding."""
_WAITS = frozenset({"read", "sized", "copy", "wait"})
_MOST_NAMES = 3
_FIRST = 3
"""How many findings the closing line names."""


class Grade(enum.IntEnum):
    """How exactly a profile matches a finding; ordered, so that the best match is the largest."""

    NONE = 0
    """Nothing: its share is not known."""
    PHASE = 1
    """The phase of the step that its rule is about."""
    CLASS = 2
    """The layer, or the named range, that contains its place."""
    EXACT = 3
    """Its line, in the current text."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Bound:
    """What one finding can save, according to one profile.

    ``share`` is its share of the step's time, from 0 to 1 (None: not known); ``by`` names what was found, such as
    ``phase reader``; ``key`` is the same for findings that share it, and ``shared`` counts them; ``profile`` is the
    name of the file. ``more`` says in a clause why the fix may save more than that, if it may.
    """

    grade: Grade = Grade.NONE
    share: float | None = None
    by: str = ""
    key: Hashable = None
    profile: str = ""
    more: str = ""
    shared: int = 1

    @property
    def at_most(self) -> float | None:
        """How many times as fast a step can get, ``1 / (1 - share)``; None if nothing limits it."""
        if self.share is None or self.more or self.share >= MOST_SHARE:
            return None
        return 1 / (1 - self.share)

    def is_below(self, share: float) -> bool:
        """Whether it is known that the finding can save less than a share of the step."""
        return self.share is not None and not self.more and self.share < share

    @property
    def text(self) -> str:
        """The bound in words; empty if nothing is known.

        >>> Bound(Grade.EXACT, 0.033).text
        '3.3 % of the step (exact): at most 1.03x'
        """
        if self.share is None:
            return ""
        found = "exact" if self.grade is Grade.EXACT else self.by
        shared = f", shared by {counted(self.shared, 'finding')}" if self.shared > 1 else ""
        begun = f"{percent(self.share)} of the step ({found}{shared})"
        if self.more:
            return f"{begun}, and it may gain more: {self.more}"
        return begun if self.at_most is None else f"{begun}: at most {self.at_most:.2f}x"


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.0333), percent(0.0001), percent(0.0)
    ('3.3 %', 'under 0.1 %', '0.0 %')
    """
    return "under 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


@dataclass(frozen=True)
class Block:
    """Rows (from 1, both included) whose time a trace may show under a name; ``kind``: a ``class``, or a ``range``."""

    kind: str
    name: str
    first: int
    last: int


def blocks(source: Source) -> list[Block]:
    """All such blocks of a file; none if it cannot be parsed."""
    tree = Reading(source.text).tree
    if tree is None:
        return []
    found: list[Block] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found += _forward(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            found += [Block(RANGE, name, node.lineno, node.end_lineno or node.lineno) for name in _names(node)]
    return found


def _forward(node: ast.ClassDef) -> Iterator[Block]:
    """The methods of a class that its ``forward`` calls, starting with itself: they run within the forward pass."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    waiting, seen = ["forward"], {"forward"}
    while waiting:
        method = methods.get(waiting.pop())
        if method is None:
            continue
        yield Block(LAYER, node.name, method.lineno, method.end_lineno or method.lineno)
        attributes = (each for each in ast.walk(method) if isinstance(each, ast.Attribute))
        called = {each.attr for each in attributes if isinstance(each.value, ast.Name) and each.value.id == "self"}
        waiting += called - seen
        seen |= called


def _names(node: ast.With | ast.AsyncWith) -> Iterator[str]:
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and terminal(call) in _RANGES:
            given = argument_of(call, "name", 0) or argument_of(call, "message", None)
            if given is not None and (name := string_of(given)) is not None:
                yield name


@dataclass
class Matcher:
    """Matches one profile with the files of a run.

    ``sources`` are the files, by the paths that findings have; ``rules`` the rules by code. ``stale`` has the files
    with findings whose text differs from the profiled one.
    """

    profile: Profiled
    sources: Mapping[str, Source]
    rules: Mapping[str, Rule]
    stale: set[str] = field(default_factory=set)
    _blocks: dict[str, list[Block]] = field(default_factory=dict)

    def bounds(self, findings: Iterable[Finding]) -> list[Bound]:
        """What each finding can save by this profile."""
        findings = list(findings)
        lines = [self._lines(finding) for finding in findings]
        claimed = {line for found in lines for line in found}
        return [
            self._exact(finding, found) if found else self._around(finding, claimed)
            for finding, found in zip(findings, lines, strict=True)
        ]

    def _lines(self, finding: Finding) -> list[LineShare]:
        """The events of the profile at the rows of a finding, if its file is the same as when it was profiled."""
        known, rule = self._known.get(finding.path), self.rules.get(finding.code)
        phases = AT_LINE.intersection(rule.phase) if rule is not None else set()
        if known is None or not phases:
            return []
        if not self._is_fresh(finding.path, known):
            self.stale.add(finding.path)
            return []
        rows = _rows(finding, self.sources[finding.path])
        return [line for line in self._by_path.get(known, ()) if line.row in rows and {line.kind, line.phase} & phases]

    def _exact(self, finding: Finding, lines: Sequence[LineShare]) -> Bound:
        named = list(dict.fromkeys(f"{line.what or line.kind} in line {line.row}" for line in lines))
        key = finding.path, frozenset(lines)
        share = min(sum(line.share for line in lines), 1.0)
        more = self.rules[finding.code].beyond_line
        return Bound(Grade.EXACT, share, " and ".join(named), key, self.profile.name, more)

    def _around(self, finding: Finding, claimed: set[LineShare]) -> Bound:
        """The tightest bound from the layer, the range and the phase of a finding."""
        rule = self.rules.get(finding.code)
        if rule is None or not rule.phase:
            return Bound()
        name, more = self.profile.name, rule.beyond_line
        found = [
            Bound(Grade.CLASS, share, f"{kind} {block}", (name, kind, block), name, more)
            for kind, block, share in self._shares_around(finding, rule)
        ]
        left = self._left_of_phase(rule, claimed)
        if left is not None:
            share, phases = left
            by = f"phase {' and '.join(phases)}"
            found.append(Bound(Grade.PHASE, share, by, (name, by), name, more or rule.beyond_phase))
        return min(found, key=lambda bound: (bound.share, -bound.grade), default=Bound())

    def _shares_around(self, finding: Finding, rule: Rule) -> Iterator[tuple[str, str, float]]:
        """The kind, the name and the share of each block that a finding is in."""
        source, named = self.sources.get(finding.path), {LAYER: self.profile.classes, RANGE: self.profile.names}
        if source is None or not AT_PLACE.issuperset(rule.phase) or not any(named.values()):
            return
        if finding.path not in self._blocks:
            self._blocks[finding.path] = blocks(source)
        row = source.lines.position(finding.start)[0]
        for block in self._blocks[finding.path]:
            if block.first <= row <= block.last and block.name in named[block.kind]:
                yield block.kind, block.name, named[block.kind][block.name]

    def _left_of_phase(self, rule: Rule, claimed: set[LineShare]) -> tuple[float, tuple[str, ...]] | None:
        """The share of a rule's phases without the lines of other findings, and the names of the phases."""
        found = self.profile.share_of(rule.phase)
        if found is None or not AT_PLACE.issuperset(rule.phase):
            return found
        share, phases = found
        others = sum(line.share for line in claimed if {line.kind, line.phase} & {*phases})
        if not others:
            return found
        return (share - others, phases) if share - others > _NOTHING_LEFT else None

    @cached_property
    def _by_path(self) -> dict[str, list[LineShare]]:
        return gathered((line.path, line) for line in self.profile.lines)

    @cached_property
    def _known(self) -> dict[str, str]:
        """The paths of files in the profile, by those of the run: relative to the directory that fits most of them."""
        by_name = gathered((path.rpartition("/")[2], path) for path in {*self.profile.files, *self._by_path})
        found: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for path in self.sources if by_name else ():
            whole = Path(path).absolute().as_posix()
            for known in by_name.get(whole.rpartition("/")[2], ()):
                if whole.endswith(f"/{known}"):
                    found[whole.removesuffix(known)][path] = known
        return max(found.values(), key=self._fits, default={})

    def _fits(self, paths: Mapping[str, str]) -> tuple[int, int]:
        counts = Counter(self._is_fresh(path, known) for path, known in paths.items())
        return counts[True], counts[False]

    def _is_fresh(self, path: str, known: str) -> bool:
        return self.profile.files.get(known) == _sum(self.sources[path])


def _rows(finding: Finding, source: Source) -> set[int]:
    """The rows of a finding: those of its expressions, and of its statement if that is a simple one."""
    spans = [*(finding.places or [(finding.start, finding.end)]), *([finding.statement] if finding.statement else [])]
    rows: set[int] = set()
    for start, end in spans:
        first, last = source.lines.rows_of(start, end)
        rows.update(range(first, last + 1))
    return rows


def _sum(source: Source) -> str:
    try:
        return hashlib.sha256(source.encode(source.text)).hexdigest()
    except UnicodeEncodeError:
        return ""


@dataclass(frozen=True)
class Ranking:
    """The findings of a run, ranked by profiles.

    ``notes``: notes for the user, one sentence each. ``hidden``: how many findings were left out because they can save
    less than ``least``, a share.
    """

    bounds: Mapping[Finding, Bound] = field(default_factory=dict)
    notes: Sequence[str] = ()
    hidden: int = 0
    least: float = 0.0

    def of(self, finding: Finding) -> Bound:
        """What a finding can save; unknown for findings that were not ranked."""
        return self.bounds.get(finding, Bound())

    def in_order(self) -> list[Finding]:
        """The findings, those that can save most first, and those about which nothing is known last."""
        return sorted(self.bounds, key=self._place)

    def _place(self, finding: Finding) -> tuple[float, int, float, str, int, int, str]:
        bound, impact = self.bounds[finding], finding.impact
        share = -1.0 if bound.share is None else bound.share
        rank = impact.level * 1e6 + impact.milliseconds if impact is not None else -1.0
        return -share, -bound.grade, -rank, finding.path, finding.start, finding.end, finding.code

    def most_to_win(self, sources: Mapping[str, Source]) -> str:
        """Where to begin, in a sentence: three findings, at most one per rule and file; or "" if nothing is known."""
        places: dict[tuple[str, str], str] = {}
        for finding in self.in_order():
            bound, source = self.bounds[finding], sources.get(finding.path)
            if bound.share is not None and source is not None:
                row, _ = source.lines.position(finding.start)
                said = f"{visible_path(finding.path)}:{row} {finding.code} ({percent(bound.share)}, {bound.grade})"
                places.setdefault((finding.path, finding.code), said)
        return f" By the profile, start with: {', '.join(list(places.values())[:_FIRST])}." if places else ""

    def closing(self) -> str:
        """What was left out, and what could not be ranked, for the end of a report; empty if that is nothing."""
        unknown = sum(bound.share is None for bound in self.bounds.values())
        said = []
        if unknown:
            said.append(f" The profile does not show what {counted(unknown, 'finding')} can gain.")
        if self.hidden:
            said.append(f" --min-share hides {self.hidden} that can gain less than {percent(self.least)} of the step.")
        return "".join(said)


def rank(
    profiles: Sequence[Profiled],
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    rules: Mapping[str, Rule],
    least: float = 0.0,
) -> Ranking:
    """Rank findings by profiles.

    With several profiles, the one that matches a finding best counts, or else the one with the larger share.

    Args:
        profiles: the profiles.
        findings: the findings.
        sources: the files, by the paths that findings have.
        rules: the rules by code.
        least: leave out findings that are known to save less than this share of the step.
    """
    matchers = [Matcher(profile, sources, rules) for profile in profiles]
    found = zip(*(matcher.bounds(findings) for matcher in matchers), strict=True)
    best = [max(each, key=lambda bound: (bound.grade, bound.share or 0.0)) for each in found]
    shared = Counter((bound.profile, bound.key) for bound in best)
    bounds = [replace(bound, shared=shared[bound.profile, bound.key]) for bound in best]
    known = dict(zip(findings, bounds, strict=True))
    kept = {finding: bound for finding, bound in known.items() if not (least and bound.is_below(least))}
    notes = [*_notes(profiles, matchers), *_on_gpu(profiles, kept, rules)]
    return Ranking(kept, notes, len(known) - len(kept), least)


def _notes(profiles: Sequence[Profiled], matchers: Sequence[Matcher]) -> list[str]:
    notes: list[str] = []
    for profile, matcher in zip(profiles, matchers, strict=True):
        notes += profile.notes
        if matcher.stale:
            paths = listed([visible(path) for path in sorted(matcher.stale)], _MOST_NAMES)
            what = "this file" if len(matcher.stale) == 1 else "these files"
            notes.append(
                f"{profile.name} was made with another text of {what}, so its lines are not matched, and the phases of "
                f"a step stand in for them: {paths}; profile again"
            )
    return notes


def _on_gpu(profiles: Sequence[Profiled], kept: Mapping[Finding, Bound], rules: Mapping[str, Rule]) -> list[str]:
    names = {profile.name for profile in profiles if profile.device == "gpu"}
    matched = [finding for finding, bound in kept.items() if bound.grade is not Grade.NONE and bound.profile in names]
    if not any(_WAITS.intersection(rules[finding.code].phase) for finding in matched):
        return []
    return [
        "on a GPU the time of a read or a copy is mostly a wait for what the device has still to do, so a bound says "
        "what the finding can cost at most; where the device is busy all the time, the gain is smaller"
    ]
