"""Which findings of a run are shown, fixed and counted, and which are left out.

Left out are those in files that were only read, those of low impact, those in a baseline, and those on lines that have
not changed since a revision (``--changed-since``).
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import FILE_CODES
from perflint.commands import CommandError
from perflint.commands.read_files import STDIN, Batch, ReportedPaths, common_directory
from perflint.configuration import selection
from perflint.configuration.settings import Settings
from perflint.files.inside import from_here, outside, repository
from perflint.findings import Finding, ImpactLevel, Related
from perflint.fix.fixer import Check
from perflint.inputs.changed_lines import Changed, ChangedLines, rows_of
from perflint.inputs.git import GitError
from perflint.output import summary
from perflint.output.console import Console
from perflint.run.discovery import SUFFIX
from perflint.suppress import baseline
from perflint.suppress.baseline import Baseline, BaselineError, Entry
from perflint.text.source import Source, UnreadableSource, read
from perflint.text.visible import visible_path
from perflint.text.wording import counted, listed


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

    def closing(self, text: str) -> str:
        """The closing line, with a sentence about what was left out."""
        return " ".join(filter(None, [text, *(each.closing() for each in self._filters)]))

    def tell(self, options: argparse.Namespace, console: Console) -> None:
        """Write the notes to standard error."""
        for line in () if options.quiet else [line for each in self._filters for line in each.notes()]:
            console.note(line)


def filters_of(options: argparse.Namespace, batch: Batch) -> Filters:
    """The filters that the options and the configuration ask for.

    Raises:
        CommandError: the baseline or the revision cannot be used.
    """
    known = known_findings(options, batch)
    filters: list[Filter] = [known] if known is not None else []
    if options.changed_since is not None:
        paths = options.paths if not options.stdin_filename else [options.stdin_filename]
        filters.append(OnChangedLines(options.changed_since, paths, batch))
    everything = not filters
    named = OnlyNamed(batch.naming, batch.settings, is_told=everything)
    return Filters([named, LowImpact(batch.settings, is_told=everything), *filters])


def of_enough_impact(findings: Iterable[Finding], least: ImpactLevel) -> list[Finding]:
    """The findings of at least this impact, and those of rules that have none."""
    return [finding for finding in findings if finding.impact is None or finding.impact.level >= least]


class LowImpact(Filter):
    """The findings of a run that cost too little to be shown under its settings."""

    def __init__(self, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` counts them; a run that shows only new findings need not hear of them each time."""
        self._least = settings.min_impact
        self._is_told = is_told
        self._hidden = 0

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings of enough impact, and those of rules that have none."""
        shown = of_enough_impact(findings, self._least)
        self._hidden = len(findings) - len(shown)
        return shown

    def closing(self) -> str:
        """How many findings the last answer left out, such as ``3 findings of low impact are not shown``"""
        if not self._hidden or not self._is_told:
            return ""
        what = "low impact" if self._least is ImpactLevel.MEDIUM else "lower impact"
        verb = "is" if self._hidden == 1 else "are"
        return f"{counted(self._hidden, 'finding')} of {what} {verb} not shown (--min-impact low)."


_SHOWN = 2
"""How many files are named."""


class OnlyNamed(Filter):
    """The findings of a run in the files that were named."""

    def __init__(self, naming: ReportedPaths, settings: Settings, is_told: bool = True) -> None:
        """``is_told``: ``closing`` names the others; a run that shows only new findings leaves them out silently."""
        self._naming = naming
        self._least = settings.min_impact
        self._is_told = is_told
        self._others: list[Finding] = []
        self._named: list[str] = []

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings in the files that were named."""
        others = [finding for finding in findings if finding.path in self._naming.hidden]
        self._named = [path for path in sources if path not in self._naming.hidden]
        self._others = of_enough_impact(others, self._least)
        return self._naming.reported(findings)

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
        common = common_directory([Path(path) for path in (*paths, *self._named)])
        here = Path.cwd()
        if common == here:
            return []
        return [shlex.quote(visible_path(str(common.relative_to(here) if common.is_relative_to(here) else common)))]


# -- --changed-since --------------------------------------------------------------------------------------------------


class OnChangedLines(Filter):
    """Leaves out findings on lines that have not changed since a revision.

    A finding stays if it, its statement, or a place that explains it (the loop that makes it hot, a call that leads
    there) was changed: then the change caused it, or made it costly.

    Raises:
        CommandError: git cannot list the changes.
    """

    def __init__(self, revision: str, paths: Sequence[Path], batch: Batch) -> None:
        self._before = dict(batch.sources)
        self._is_piped = batch.piped is not None
        self._revision = revision
        self._left_out = 0
        start = common_directory([path for path in paths if path != STDIN] or [Path()])
        try:
            only_python = all(path.endswith(SUFFIX) for path in batch.sources)
            self._changes = ChangedLines(start, revision, [f"*{SUFFIX}"] if only_python else [])
        except GitError as error:
            raise CommandError(f"--changed-since {revision}: {error}") from error

    def left(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that a change affects."""
        known: dict[str, Changed] = {}
        try:
            left = [finding for finding in findings if self._stays(finding, sources, known)]
        except GitError as error:
            raise CommandError(f"--changed-since {self._revision}: {error}") from error
        self._left_out = len(findings) - len(left)
        return left

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
    try:
        return KnownFindings(baseline.read(path), batch)
    except BaselineError as error:
        raise CommandError(str(error)) from error


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
    try:
        baseline.write(path, [*found, *kept])
    except OSError as error:
        raise CommandError(f"--write-baseline {path} cannot be written: {error.strerror or error}") from error
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
    for name, is_given in others.items():
        if is_given:
            raise CommandError(f"--write-baseline writes what is found, so it cannot be used together with {name}")


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
    codes = selection.selected(batch.settings, catalogue.shipped()) | {"PPF003"}
    is_whole = batch.settings.whole_project
    # the files that are reported although not all of their project is read
    alone = {} if is_whole else {path: batch.sources[path] for path in checked if path in batch.sources}
    return known.stale(used, checked, codes, alone)


def _checked(batch: Batch) -> list[str]:
    """The files whose findings are reported."""
    hidden = batch.naming.hidden
    paths = [*batch.sources, *(finding.path for finding in batch.unreadable)]
    return [path for path in paths if path not in hidden]
