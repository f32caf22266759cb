"""``perflint check --changed-since``: only findings that involve lines changed since a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perflint.catalogue import FILE_CODES
from perflint.commands import CommandError
from perflint.commands.reading import STDIN, Batch
from perflint.commands.run_settings import common_directory
from perflint.findings import Finding, Related
from perflint.inputs.git import Changed, ChangedLines, GitError, rows_of
from perflint.run.discovery import SUFFIX
from perflint.text.source import Source, UnreadableSource, read


class OnChangedLines:
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

    def notes(self) -> list[str]:
        """There are none."""
        return []

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
