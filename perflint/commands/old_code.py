"""The options for old code: ``--add-noqa``, ``--changed-since``, ``--baseline`` and ``--write-baseline``.

``--add-noqa`` adds a ``# noqa`` for each finding, as a fix; the others leave findings out, so that only new ones are
reported. This is imported only if one of these options is used.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import FILE_CODES
from perflint.commands import CommandError, as_command_error, refuse_options
from perflint.commands.filters import Filter
from perflint.commands.read_files import STDIN, Batch, common_directory
from perflint.commands.step import RunReads, files_then, newly_met, reading
from perflint.configuration.settings import Settings, selected
from perflint.files.plain_files import from_here, outside, repository
from perflint.findings import Finding, Related, by_place
from perflint.fix.fixer import Check, FixOutcome
from perflint.inputs.git import Changed, ChangedLines, GitError, rows_of
from perflint.lint.unused_noqa import CODE as UNUSED
from perflint.output import summary
from perflint.output.console import Console
from perflint.query import gathered
from perflint.run.discovery import SUFFIX
from perflint.run.engine import undisturbed
from perflint.suppress import baseline
from perflint.suppress.baseline import Baseline, BaselineError, Entry
from perflint.suppress.noqa import with_noqa_as_fix
from perflint.text.source import Source, UnreadableSource, read
from perflint.text.visible import listed
from perflint.trace.difference import SeenEvent


def filters_of_old_code(options: argparse.Namespace, batch: Batch) -> list[Filter]:
    """The filters of these options, and of the baseline that the configuration names.

    Raises:
        CommandError: the baseline or the revision cannot be used.
    """
    known = known_findings(options, batch)
    filters: list[Filter] = [known] if known is not None else []
    if options.changed_since is not None:
        paths = options.paths if not options.stdin_filename else [options.stdin_filename]
        filters.append(OnChangedLines(options.changed_since, paths, batch, reading(options, batch)))
    return filters


# -- --changed-since --------------------------------------------------------------------------------------------------


class OnChangedLines(Filter):
    """Leaves out findings on lines that have not changed since a revision.

    A finding stays if it, its statement, or a place that explains it (the loop that makes it hot, a call that leads
    there) was changed: then the change caused it, or made it costly. It also stays if a training step meets it now, and
    did not before, as where a new call leads there from another file.

    Raises:
        CommandError: git cannot list the changes.
    """

    def __init__(self, revision: str, paths: Sequence[Path], batch: Batch, now: RunReads) -> None:
        self._now = now
        self._before = dict(batch.sources)
        self._is_piped = batch.piped is not None
        self._revision = revision
        self._left_out = 0
        start = common_directory([path for path in paths if path != STDIN] or [Path()])
        names = [f"*{SUFFIX}"] if all(path.endswith(SUFFIX) for path in batch.sources) else []
        with as_command_error(GitError, place=f"--changed-since {revision}: "):
            self._changes = ChangedLines(start, revision, names)

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that a change affects."""
        known: dict[str, Changed] = {}
        with as_command_error(GitError, place=f"--changed-since {self._revision}: "):
            left = [finding for finding in findings if self._stays(finding, sources, known)]
            if len(left) < len(findings):
                stays = {*left}
                brought = (self._brought(each, sources, known) for each in findings if each not in stays)
                left = by_place([*left, *(each for each in brought if each is not None)])
        self._left_out = len(findings) - len(left)
        return left

    def _brought(self, finding: Finding, sources: Mapping[str, Source], known: dict[str, Changed]) -> Finding | None:
        """A finding on lines that have not changed, but that a change has brought into a step; None for any other."""
        text = sources[finding.path].text
        same = text == self._now.sources[finding.path].text if finding.path in self._now.sources else False
        for met in self._new_events.get(finding.path, ()):
            start, end = met.event.point.file.source.lines.span(met.event.node)
            is_it = (
                finding.start < end and start < finding.end if same else met.code in text[finding.start : finding.end]
            )
            if is_it:
                place = self._cause(met, sources, known)
                return replace(finding, related=tuple(dict.fromkeys((*finding.related, place))))
        return None

    def _cause(self, met: SeenEvent, sources: Mapping[str, Source], known: dict[str, Changed]) -> Related:
        """The changed call that leads from a step to an event; the first call, if none of them has changed."""
        said = f"brings it into the step, since {self._revision}"
        places = [Related(call.place.file.path, call.node.lineno, said) for call in met.occurrence.calls]
        own = Related(met.event.point.file.path, met.event.row, f"met at more steps than in {self._revision}")
        return next((each for each in places if self._is_touched(each, sources, known)), [*places, own][0])

    @cached_property
    def _new_events(self) -> Mapping[str, list[SeenEvent]]:
        """What steps meet now and did not before, by file."""
        with undisturbed():
            met = newly_met(self._now, files_then(self._now.paths, self._now.sources, self._revision))
            return gathered((each.event.point.file.path, each) for each in met)

    def closing(self) -> str:
        """How many findings were left out."""
        more = self._left_out
        return (
            f"{more} more {'is' if more == 1 else 'are'} not on lines changed since {self._revision}." if more else ""
        )

    def _stays(self, finding: Finding, sources: Mapping[str, Source], known: dict[str, Changed]) -> bool:
        changed = self._changed(finding.path, sources, known)
        if finding.code in FILE_CODES:
            return bool(changed)  # a syntax error can come from a change anywhere in the file
        ranges = [(finding.start, finding.end), *([finding.statement] if finding.statement else [])]
        text = sources[finding.path].text
        if any(changed.touches(*rows_of(text, start, end)) for start, end in ranges):
            return True
        return any(self._is_touched(place, sources, known) for place in finding.related)

    def _is_touched(self, place: Related, sources: Mapping[str, Source], known: dict[str, Changed]) -> bool:
        source = sources.get(place.path)
        row = place.line
        if source is not None and row <= source.lines.rows:
            row, _ = rows_of(source.text, source.lines.line_start(row), source.lines.line_start(row))
        return self._changed(place.path, sources, known).touches(row, row)

    def _changed(self, path: str, sources: Mapping[str, Source], known: dict[str, Changed]) -> Changed:
        """The changed lines of a file, including changes by fixes and unsaved changes in an editor."""
        if path not in known:
            changed, source = self._changes.of(path), sources.get(path)
            known[path] = changed if source is None else changed.moved(self._on_disk(path), source.text)
        return known[path]

    def _on_disk(self, path: str) -> str:
        if not self._is_piped and path in self._before:
            return self._before[path].text
        try:
            return read(Path(path)).text
        except UnreadableSource:
            return ""


# -- --baseline and --write-baseline ----------------------------------------------------------------------------------

_MOST_NAMES = 5


class KnownFindings(Filter):
    """Leaves out the findings listed in the baseline of a run."""

    def __init__(self, known: Baseline, batch: Batch) -> None:
        self._known = known
        self._batch = batch
        self._hidden = 0
        self._stale: list[Entry] = []

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that are not in the baseline."""
        parts = self._known.split(findings, sources)
        self._hidden = len(parts.hidden)
        self._stale = _stale(self._known, parts.used, self._batch)
        return parts.new

    def closing(self) -> str:
        """How many findings were left out, for the end of the output."""
        return f"The baseline hides {self._hidden} more." if self._hidden else ""

    def notes(self) -> list[str]:
        """Notes about the baseline: which entries have no finding any more."""
        if not self._stale:
            return []
        shown = listed([f"{entry.path} {entry.code}" for entry in self._stale], _MOST_NAMES)
        number = "1 entry has no finding" if len(self._stale) == 1 else f"{len(self._stale)} entries have no finding"
        return [f"note: {self._known.path}: {number} any more ({shown}): --write-baseline removes them"]


def known_findings(options: argparse.Namespace, batch: Batch) -> KnownFindings | None:
    """The baseline of a run, None if it has none.

    Raises:
        CommandError: it cannot be used.
    """
    path = _named(options, batch.settings)
    if path is None or options.write_baseline is not None:
        return None
    with as_command_error(BaselineError):
        return KnownFindings(baseline.read(path), batch)


def write_baseline(options: argparse.Namespace, batch: Batch, findings: Sequence[Finding], console: Console) -> int:
    """Write the findings of a run to the baseline; entries of files and rules that it did not check are kept.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: the file cannot be written, or is not a baseline.
    """
    path = Path(options.write_baseline) if options.write_baseline else _named(options, batch.settings)
    is_named = path is not None
    path = path or Path(baseline.NAME)
    if not (options.write_baseline or options.baseline):
        _insist_inside(path, batch.settings, is_named)
    # os.path.exists does not raise if a name is too long; writing then reports it.
    if os.path.exists(path) and not baseline.looks_like_one(path):  # noqa: PTH110
        raise CommandError(f"--write-baseline would replace {path}, which is not a baseline: name another file")
    root = str(path.absolute().parent)
    found = baseline.entries(findings, batch.sources, root)
    kept = _unchecked(path, batch, {entry.fingerprint for entry in found})
    with as_command_error(OSError, place=f"--write-baseline {path} cannot be written: "):
        baseline.write(path, [*found, *kept])
    if not options.quiet:
        counts = summary.in_files(len(findings), {finding.path for finding in findings}, _checked(batch))
        others = f", and kept {len(kept)} of files or rules that were not checked." if kept else "."
        console.note(f"Wrote {counts} to {path}{others}")
        if not is_named:
            console.note(f'Use it with --baseline {path}, or with baseline = "{path}" in the configuration.')
    return 0


def refuse_with_baseline(options: argparse.Namespace) -> None:
    """Raises CommandError if an option cannot be used with ``--write-baseline``."""
    others = {
        "--fix": options.fix,
        "--diff": options.diff,
        "--watch": options.watch,
        "--add-noqa": options.add_noqa is not None,
        "--changed-since": options.changed_since is not None,
    }
    refuse_options(others, "--write-baseline writes what is found, so it cannot be used together with")


def _named(options: argparse.Namespace, settings: Settings) -> Path | None:
    """The file named on the command line, or else in the configuration."""
    if options.no_baseline:
        return None
    if options.baseline:
        return Path(options.baseline)
    return from_here(settings.root / settings.baseline) if settings.baseline else None


def _insist_inside(path: Path, settings: Settings, is_named: bool) -> None:
    """Raise an error if the baseline to write lies outside the repository or in ``.git``, unless the user named it."""
    place = settings.root if is_named else Path.cwd()
    project = repository(place) or place
    elsewhere = outside(path, project)
    real = Path(os.path.realpath(path))
    if elsewhere is None and ".git" not in real.relative_to(os.path.realpath(project)).parts:
        return
    named = f" (baseline in {settings.origins.get('baseline', 'the settings')})" if is_named else ""
    raise CommandError(
        f"--write-baseline would write {real}, where {path}{named} leads, and that is "
        f"{'in .git' if elsewhere is None else f'outside of {project}'}: nothing was written; if you want it there, "
        "name the file on the command line with --write-baseline=FILE"
    )


def _unchecked(path: Path, batch: Batch, found: Collection[str]) -> list[Entry]:
    """The entries to keep: those of files and rules that this run has not checked, except for those found again."""
    try:
        before = baseline.read(path)
    except BaselineError:
        return []  # there is no baseline, or it will be replaced
    stale = set(_stale(before, (), batch))
    return [entry for entry in before.entries.values() if entry not in stale and entry.fingerprint not in found]


def _stale(known: Baseline, used: Collection[str], batch: Batch) -> list[Entry]:
    """The entries without a finding, of files and rules that this run has checked."""
    checked = _checked(batch)
    codes = selected(batch.settings, catalogue.shipped()) | {"PPF003"}
    is_whole = batch.settings.whole_project
    # the files that are reported although not all of their project is read
    alone = {} if is_whole else {path: batch.sources[path] for path in checked if path in batch.sources}
    return known.stale(used, checked, codes, alone)


def _checked(batch: Batch) -> list[str]:
    """The files whose findings are reported."""
    hidden = batch.paths.hidden
    paths = [*batch.sources, *(finding.path for finding in batch.unreadable)]
    return [path for path in paths if path not in hidden]


# -- --add-noqa -------------------------------------------------------------------------------------------------------


def silencing(check: Check, reason: str) -> Check:
    """The check, with a ``# noqa`` as the fix of each finding; an unused ``# noqa`` is removed as usual.

    What is unused in a comment that gets other codes is left for the next round, so that all findings are silenced in
    the first one: a wait that is silenced stays in its step, and then other waits of the step may be worth nothing.
    """

    def checked(sources: Mapping[str, Source]) -> list[Finding]:
        by_path: dict[str, list[Finding]] = defaultdict(list)
        unused: list[Finding] = []
        for finding in check(sources):
            (unused if finding.code == UNUSED else by_path[finding.path]).append(finding)
        found: list[Finding] = []
        for path, findings in by_path.items():
            source = sources.get(path) or Source(path, "")  # the file could not be read
            found += with_noqa_as_fix(source, findings, reason)
        return by_place([*found, *(each for each in unused if not _is_written(each, found))])

    return checked


def _is_written(unused: Finding, written: Sequence[Finding]) -> bool:
    """Whether the fix of another finding writes to the comment of an unused code."""
    edits = unused.fix.edits if unused.fix is not None else ()
    others = [edit for each in written if each.path == unused.path and each.fix is not None for edit in each.fix.edits]
    return any(one.start <= other.end and other.start <= one.end for one in edits for other in others)


def closing_of_noqa(outcome: FixOutcome, batch: Batch, what: str, is_lost: bool = False) -> str:
    """The closing line of ``--add-noqa``: how many findings were silenced, and how many are left.

    Args:
        outcome: what was silenced.
        batch: the files that are reported.
        what: the first word, such as "Silenced".
        is_lost: whether a file could not be written.
    """
    left = len(outcome.remaining)
    why = "" if is_lost or outcome.rejected else ", which no comment can silence"
    out = sum(count for (_, code), count in outcome.fixed.items() if code == UNUSED)
    counts = summary.in_files(outcome.fixed_count - out, outcome.changed.keys(), batch.sources)
    notes = [f"{out} unused # noqa removed"] if out else []
    notes += [f"{left} left{why}"] if left else []
    return f"{what} {counts}" + (f" ({'; '.join(notes)})." if notes else ".")
