"""The files of a run as they were in a revision of git, to compare what their steps do.

Files that have not changed are those of the run; the others come from git. Nothing is written, and nothing is run.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perflint.configuration.settings import Settings
from perflint.files.plain_files import from_here
from perflint.inputs.git import FilesThen
from perflint.inputs.patterns import Patterns, relative
from perflint.inputs.projects import imported_files
from perflint.run.discovery import SUFFIX
from perflint.text.source import Source, UnreadableSource, decode, read


@dataclass(frozen=True)
class RunReads:
    """What a run reads now, and why.

    ``paths``: those that were named. ``hidden``: files that are read, but not reported. ``imports_only``: single files
    were named, and are read together with what they import.
    """

    sources: Mapping[str, Source]
    paths: Sequence[Path]
    hidden: frozenset[str]
    settings: Settings
    imports_only: bool


@dataclass(frozen=True)
class SourcesThen:
    """The files of a run in a revision. ``changed``: the paths of the run's own files that are different now."""

    sources: Mapping[str, Source]
    hidden: frozenset[str]
    changed: frozenset[str]


def sources_then(now: RunReads, then: FilesThen) -> SourcesThen:
    """The files that the same run would have read in a revision.

    Raises:
        git.GitError: git cannot read a file.
    """
    changed = frozenset(path for path in now.sources if then.is_changed(path))
    found = {path: source for path, source in now.sources.items() if path not in changed}
    hidden = set(now.hidden)
    for path in changed:
        found |= _decoded(path, then)
    for path in _gone(now, then):
        if path not in now.sources:
            found |= _decoded(path, then)
            hidden |= {path} if now.imports_only else set()
    if now.imports_only:
        texts = {os.path.realpath(path): source.text for path, source in found.items()}
        for other in imported_files([Path(path) for path in found], now.settings.root, texts):
            if str(other) not in found and not then.is_changed(str(other)):
                found |= _on_disk(other)
                hidden.add(str(other))
    return SourcesThen({path: found[path] for path in sorted(found)}, frozenset(hidden), changed)


def is_other_code(source: Source, then: FilesThen) -> bool:
    """Whether a file had other code in a revision, and not only other comments and blank rows.

    Raises:
        git.GitError: git cannot read the file.
    """
    if not then.is_changed(source.path):
        return False
    before = _decoded(source.path, then).get(source.path)
    try:
        return before is None or ast.dump(ast.parse(before.text)) != ast.dump(ast.parse(source.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _decoded(path: str, then: FilesThen) -> dict[str, Source]:
    """A file of the revision; nothing if it did not exist, or is no text that Python can decode."""
    data = then.data(path)
    try:
        return {} if data is None else {path: decode(path, data)}
    except UnreadableSource:
        return {}


def _on_disk(path: Path) -> dict[str, Source]:
    try:
        return {str(path): read(path)}
    except UnreadableSource:
        return {}


def _gone(now: RunReads, then: FilesThen) -> Iterable[str]:
    """The files that a run of the revision would also have read: those below a directory that was named.

    Where only single files were named, one of them may have imported any file that is gone.
    """
    excluded = Patterns((*now.settings.exclude, *now.settings.extend_exclude))
    directories = {os.path.realpath(path): path for path in now.paths if path.is_dir()}
    for real in sorted(then.changed):
        if real.suffix != SUFFIX or real.exists() or excluded.covers(relative(str(real), str(now.settings.root))):
            continue
        around = next((each for each in directories if real.is_relative_to(each)), None)
        if around is not None:
            yield str(directories[around] / real.relative_to(around))
        elif now.imports_only:
            yield str(from_here(real))
