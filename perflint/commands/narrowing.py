"""Which findings of a run are shown, fixed and counted: of enough impact, not in a baseline, on changed lines."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Protocol

from perflint.commands.low_impact import LowImpact
from perflint.commands.only_named import OnlyNamed
from perflint.commands.reading import Batch
from perflint.findings import Finding
from perflint.fix.fixer import Check
from perflint.output.console import Console
from perflint.text.source import Source


class Filter(Protocol):
    """Leaves findings out."""

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings to keep, of all findings in these files."""

    def closing(self) -> str:
        """A sentence about the findings just left out; empty if there are none."""

    def notes(self) -> list[str]:
        """Further notes for the user, one line each."""


class Narrowing:
    """The filters of a run, one after the other."""

    def __init__(self, filters: Sequence[Filter] = ()) -> None:
        self._filters = filters

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that are shown."""
        left = list(findings)
        for each in self._filters:
            left = each.left(left, sources)
        return left

    def check(self, check: Check) -> Check:
        """A check that finds only what is shown."""
        if not self._filters:
            return check
        return lambda sources: self.left(check(sources), sources)

    def closing(self, text: str) -> str:
        """The closing line, with a sentence about what was left out."""
        return " ".join(filter(None, [text, *(each.closing() for each in self._filters)]))

    def tell(self, options: argparse.Namespace, console: Console) -> None:
        """Write the notes to standard error."""
        for line in () if options.quiet else [line for each in self._filters for line in each.notes()]:
            console.note(line)


def narrowing(options: argparse.Namespace, batch: Batch) -> Narrowing:
    """The filters that the options and the configuration ask for.

    Raises:
        CommandError: the baseline or the revision cannot be used.
    """
    filters: list[Filter] = []
    if options.baseline or batch.settings.baseline:
        from perflint.commands import baselining

        known = baselining.known(options, batch)
        filters += [known] if known is not None else []
    if options.changed_since is not None:
        from perflint.commands.changed import OnChangedLines

        paths = options.paths if not options.stdin_filename else [options.stdin_filename]
        filters.append(OnChangedLines(options.changed_since, paths, batch))
    everything = not filters
    named = OnlyNamed(batch.naming, batch.settings, is_told=everything)
    return Narrowing([named, LowImpact(batch.settings, is_told=everything), *filters])
