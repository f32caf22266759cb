"""``perflint check --baseline`` and ``--write-baseline``: hides known findings, or writes all findings to a file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from perflint import catalogue
from perflint.commands import CommandError
from perflint.commands.reading import Batch
from perflint.configuration.settings import Settings, selected
from perflint.files.plain_files import from_here, outside, repository
from perflint.findings import Finding
from perflint.output import summary
from perflint.output.console import Console
from perflint.suppress import baseline
from perflint.suppress.baseline import Baseline, BaselineError, Entry
from perflint.text.source import Source
from perflint.text.visible import listed

_MOST_NAMES = 5


class KnownFindings:
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
        self._stale = self._known.stale(
            parts.used, _checked(self._batch), _codes(self._batch.settings), _alone(self._batch)
        )
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


def known(options: argparse.Namespace, batch: Batch) -> KnownFindings | None:
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


def write(options: argparse.Namespace, batch: Batch, findings: Sequence[Finding], console: Console) -> int:
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
        console.note(_written(counts, len(kept), path))
        if not is_named:
            console.note(f'Use it with --baseline {path}, or with baseline = "{path}" in the configuration.')
    return 0


def refuse(options: argparse.Namespace) -> None:
    """Raises CommandError if an option cannot be used with ``--write-baseline``."""
    others = {
        "--fix": options.fix,
        "--diff": options.diff,
        "--watch": options.watch,
        "--add-noqa": options.add_noqa is not None,
        "--changed-since": options.changed_since is not None,
    }
    for name, is_given in others.items():
        if options.write_baseline is not None and is_given:
            raise CommandError(f"--write-baseline writes what is found, so it cannot be used together with {name}")


def _written(counts: str, kept: int, path: Path) -> str:
    return f"Wrote {counts} to {path}" + (
        f", and kept {kept} of files or rules that were not checked." if kept else "."
    )


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
    stale = set(before.stale((), _checked(batch), _codes(batch.settings), _alone(batch)))
    return [entry for entry in before.entries.values() if entry not in stale and entry.fingerprint not in found]


def _alone(batch: Batch) -> dict[str, Source]:
    """The files that are reported although not all of their project is read."""
    return (
        {}
        if batch.settings.whole_project
        else {path: batch.sources[path] for path in _checked(batch) if path in batch.sources}
    )


def _checked(batch: Batch) -> list[str]:
    """The files whose findings are reported."""
    hidden = batch.naming.hidden
    paths = [*batch.sources, *(finding.path for finding in batch.unreadable)]
    return [path for path in paths if path not in hidden]


def _codes(settings: Settings) -> frozenset[str]:
    return selected(settings, catalogue.shipped()) | {"PPF003"}
