"""Sorts findings by what they can save according to profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from perflint.catalogue import Rule
from perflint.findings import Finding
from perflint.ranking.matching import Bound, Grade, Matcher, percent
from perflint.ranking.shares import Profiled
from perflint.text.source import Source
from perflint.text.visible import visible, visible_path
from perflint.text.wording import counted, listed

_WAITS = frozenset({"read", "sized", "copy", "wait"})
_MOST_NAMES = 3
_FIRST = 3
"""How many findings the closing line names."""


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
