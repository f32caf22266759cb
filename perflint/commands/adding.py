"""``perflint check --add-noqa``: a ``# noqa`` for each finding, so that only new ones are reported from now on."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from perflint.commands import CommandError, saving, showing
from perflint.commands.reading import Batch
from perflint.findings import Finding, Level, by_place
from perflint.fix.fixer import Check, FixOutcome, fix_all
from perflint.lint.unused_noqa import CODE as UNUSED
from perflint.output import summary
from perflint.output.console import Console
from perflint.output.report import Report
from perflint.suppress.noqa import with_noqa_as_fix
from perflint.text.source import Source

Reporting = Callable[[Sequence[Finding], Mapping[str, Source]], Report]
"""Makes the report of the findings in these files."""


def run(options: argparse.Namespace, batch: Batch, check: Check, report: Reporting, console: Console) -> int:
    """Silence what ``check`` finds, or show how with ``--diff``; then ``report`` the rest.

    Returns:
        The exit status: 0, or 2 if a file could not be written; with ``--diff`` 1 if there is something to add.

    Raises:
        CommandError: an option cannot be used with ``--add-noqa``.
    """
    if options.fix:
        raise CommandError("--add-noqa cannot be used together with --fix: run --fix first, then silence what is left")
    tried = batch.naming.outcome(fix_all(batch.sources, _silencing(check, options.add_noqa), Level.SAFE))
    batch = batch.shown()
    if options.diff:
        showing.changes(options, batch.sources, tried.changed, console)
        showing.shortcomings(tried, console)
        if not options.quiet:
            console.note(_closing(tried, batch, "Would silence"))
        return 1 if tried.changed and not options.exit_zero else 0
    lost = saving.save(tried, batch, console)
    outcome = tried.without(lost)
    showing.shortcomings(outcome, console)
    left = report(outcome.remaining, {**batch.sources, **outcome.changed})
    showing.findings(options, left, _closing(outcome, batch, "Silenced", bool(lost)), console)
    return 2 if lost or outcome.rejected else 0


def _silencing(check: Check, reason: str) -> Check:
    """The check, with a ``# noqa`` as the fix of each finding; an unused ``# noqa`` is removed as usual."""

    def checked(sources: Mapping[str, Source]) -> list[Finding]:
        by_path: dict[str, list[Finding]] = defaultdict(list)
        found = []
        for finding in check(sources):
            if finding.code == UNUSED:
                found.append(finding)
            else:
                by_path[finding.path].append(finding)
        for path, findings in by_path.items():
            source = sources.get(path) or Source(path, "")  # the file could not be read
            found += with_noqa_as_fix(source, findings, reason)
        return by_place(found)

    return checked


def _closing(outcome: FixOutcome, batch: Batch, what: str, is_lost: bool = False) -> str:
    left = len(outcome.remaining)
    why = "" if is_lost or outcome.rejected else ", which no comment can silence"
    out = sum(count for (_, code), count in outcome.fixed.items() if code == UNUSED)
    counts = summary.in_files(outcome.fixed_count - out, outcome.changed.keys(), batch.sources)
    notes = [f"{out} unused # noqa removed"] if out else []
    notes += [f"{left} left{why}"] if left else []
    return f"{what} {counts}" + (f" ({'; '.join(notes)})." if notes else ".")
