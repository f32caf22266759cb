"""Which findings of a run are shown, fixed and counted, and which are left out.

Left out are those in files that were only read, and those of low impact; ``old_code`` has more filters.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perflint.commands.read_files import ReportedPaths, common_directory
from perflint.configuration.settings import Settings
from perflint.files.plain_files import from_here
from perflint.findings import Finding, ImpactLevel
from perflint.fix.fixer import Check
from perflint.output.console import Console
from perflint.text.source import Source
from perflint.text.visible import counted, listed, visible_path


class Filter:
    """Leaves findings out."""

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings to keep, of all findings in these files."""
        raise NotImplementedError

    def closing(self) -> str:
        """A sentence about the findings just left out; empty if there are none."""
        return ""

    def notes(self) -> list[str]:
        """Further notes for the user, one line each."""
        return []

    def small(self) -> Sequence[Finding]:
        """The findings just left out for their low impact, which a report may name."""
        return ()


class Filters:
    """The filters of a run, one after the other."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self._filters = filters

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that are shown."""
        left = list(findings)
        for each in self._filters:
            left = each.left(left, sources)
        return left

    def check(self, check: Check) -> Check:
        """A check that finds only what is shown."""
        return lambda sources: self.left(check(sources), sources)

    def small(self) -> list[Finding]:
        """The findings left out for their low impact."""
        return [finding for each in self._filters for finding in each.small()]

    def closing(self, text: str) -> str:
        """The closing line, with a sentence about what was left out."""
        return " ".join(filter(None, [text, *(each.closing() for each in self._filters)]))

    def tell(self, options: argparse.Namespace, console: Console) -> None:
        """Write the notes to standard error."""
        for line in () if options.quiet else [line for each in self._filters for line in each.notes()]:
            console.note(line)


def of_enough_impact(findings: Iterable[Finding], least: ImpactLevel) -> list[Finding]:
    """The findings of at least this impact, and those of rules that have none."""
    return [finding for finding in findings if finding.impact is None or finding.impact.level >= least]


class LowImpact(Filter):
    """The findings of a run that cost too little to be shown under its settings."""

    def __init__(self, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` counts them; a run that shows only new findings need not hear of them each time."""
        self._least = settings.min_impact
        self._is_told = is_told
        self._hidden: list[Finding] = []

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings of enough impact, and those of rules that have none."""
        shown = of_enough_impact(findings, self._least)
        self._hidden = [finding for finding in findings if finding.impact and finding.impact.level < self._least]
        return shown

    def small(self) -> Sequence[Finding]:
        """Those of a step; none in a run that shows only new findings."""
        return [finding for finding in self._hidden if self._is_told and finding.step is not None]

    def closing(self) -> str:
        """How many findings the last answer left out, such as ``3 findings of low impact are not shown``"""
        if not self._hidden or not self._is_told:
            return ""
        what = "low impact" if self._least is ImpactLevel.MEDIUM else "lower impact"
        verb = "is" if len(self._hidden) == 1 else "are"
        return f"{counted(len(self._hidden), 'finding')} of {what} {verb} not shown (--min-impact low)."


_SHOWN = 2
"""How many files are named."""


class OnlyNamed(Filter):
    """The findings of a run in the files that were named."""

    def __init__(self, paths: ReportedPaths, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` names the others; a run that shows only new findings leaves them out silently."""
        self._paths = paths
        self._least = settings.min_impact
        self._is_told = is_told
        self._others: list[Finding] = []
        self._named: list[str] = []

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings in the files that were named."""
        others = [finding for finding in findings if finding.path in self._paths.hidden]
        self._named = [path for path in sources if path not in self._paths.hidden]
        self._others = of_enough_impact(others, self._least)
        return self._paths.reported(findings)

    def closing(self) -> str:
        """Where the others are, and how to see them.

        Example: ``3 findings are in a file that was only read: engine.py (to see them: perflint check).``
        """
        paths = list(dict.fromkeys(finding.path for finding in self._others))
        if not paths or not self._is_told:
            return ""
        verb = "is" if len(self._others) == 1 else "are"
        where = "a file that was only read" if len(paths) == 1 else "files that were only read"
        names = listed([visible_path(path) for path in paths], _SHOWN)
        them = "it" if len(self._others) == 1 else "them"
        command = " ".join(["perflint check", *self._directory(paths)])
        return f"{counted(len(self._others), 'finding')} {verb} in {where}: {names} (to see {them}: {command})."

    def _directory(self, paths: Iterable[str]) -> list[str]:
        """The directory of these files and of those that were named, as an argument; empty if it is the current one."""
        common = from_here(common_directory([Path(path) for path in (*paths, *self._named)]))
        return [shlex.quote(visible_path(str(common)))] if common != Path() else []
