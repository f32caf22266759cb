"""What a run has found, kept for the next run over the same files: nothing is parsed, and LibCST not even imported.

An entry is the answer for a whole run, or for one of its projects: no finding depends on another project, so a change
in one lets the others be.  Its name is a digest of all that the answer depends on: every file with its path, the
settings, the files of perflint itself (rules among them), and the versions of Python and LibCST.  An entry for several
projects also holds what the directories said of where one ends.  So an entry is never wrong, only no longer asked for,
and nothing has to be locked: an entry is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from typing import Any

from perflint import __version__, plain_files
from perflint.catalogue import rules_directory
from perflint.findings import Confidence, Edit, Finding, Fix, Level, Related
from perflint.projects import is_project
from perflint.settings import Settings
from perflint.source import Source
from perflint.writing import write_new

VARIABLE = "PERFLINT_CACHE_DIR"
"""The environment variable that says where entries are kept; empty: nowhere."""

_MOST_ENTRIES = 1024
_MOST_BYTES = 64 * 2**20
_SUFFIX = ".json"


def directory() -> Path | None:
    """Where entries are kept: ``PERFLINT_CACHE_DIR``, else the user's cache directory; None: nothing is kept."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    above = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    try:
        return Path(above) / "perflint" if above else Path.home() / ".cache" / "perflint"
    except RuntimeError:  # a process without a home
        return None


def key(sources: Mapping[str, Source], settings: Settings) -> str:
    """The name of the entry for a run: a digest of everything that its findings depend on."""
    digest = hashlib.sha256()
    # Where the sources come from does not matter: a whole check, and one of a file in its context, share entries.
    for part in (*_versions(), repr(replace(settings, origins={}, context=()))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    for path in sorted(sources):
        text = sources[path].text.encode("utf-8", "surrogatepass")
        digest.update(f"{path}\0{len(text)}\0".encode("utf-8", "surrogatepass"))
        digest.update(text)
    return digest.hexdigest()


def load(name: str) -> list[Finding] | None:
    """The findings of an entry, None where there is none that can be read."""
    place = directory()
    if place is None:
        return None
    entry = place / (name + _SUFFIX)
    try:
        data = json.loads(plain_files.read(entry))
        if any(is_project(root) != answer for root, answer in data["roots"].items()):
            return None
        found = [_finding(item) for item in data["findings"]]
        os.utime(entry)  # what is used stays
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
    return found


def store(name: str, findings: Sequence[Finding], roots: Mapping[str, bool] | None = None) -> None:
    """Keep the findings of a run or project, and let go of what has not been used for longest.

    Does nothing where it cannot.

    Args:
        name: what ``key`` gives.
        findings: the findings.
        roots: see ``projects.Split``.
    """
    place = directory()
    if place is None:
        return
    entry = {"roots": roots or {}, "findings": [_plain(item) for item in findings]}
    data = json.dumps(entry, separators=(",", ":")).encode("ascii")
    try:
        place.mkdir(parents=True, exist_ok=True)
        write_new(place / (name + _SUFFIX), data)
        _shrink(place)
    except OSError:
        return


def clean() -> tuple[Path | None, int]:
    """Remove all entries; the directory and how many there were.

    Raises:
        OSError: an entry cannot be removed.
    """
    place = directory()
    entries = _entries(place) if place is not None else []
    for entry in entries:
        entry.unlink(missing_ok=True)
    return place, len(entries)


def _entries(place: Path) -> list[Path]:
    """The entries, and what a process that was killed has left of one."""
    try:
        return [path for path in place.iterdir() if path.suffix in (_SUFFIX, ".tmp")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _shrink(place: Path) -> None:
    status = []
    for path in _entries(place):
        try:
            status.append((path.stat(), path))
        except FileNotFoundError:  # another run was faster
            continue
    left = 0
    for count, (stat, path) in enumerate(sorted(status, key=lambda item: -item[0].st_mtime_ns), 1):
        left += stat.st_size
        if count > _MOST_ENTRIES or left > _MOST_BYTES:
            path.unlink(missing_ok=True)


@cache
def _versions() -> tuple[str, ...]:
    return (__version__, sys.version, *_our_stamps())


def _our_stamps() -> Iterator[str]:
    found = importlib.util.find_spec("libcst")  # where it is, without importing it
    yield from _stamps([Path(found.origin)] if found is not None and found.origin else [])
    yield from _stamps(sorted(Path(__file__).parent.rglob("*.py")))
    yield from _stamps(sorted(rules_directory().glob("*.yaml")))


def _stamps(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        stat = path.stat()
        yield f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _plain(finding: Finding) -> list[Any]:
    fix = finding.fix
    return [
        finding.code,
        finding.path,
        finding.start,
        finding.end,
        finding.message,
        fix
        and [
            fix.message,
            [astuple(edit) for edit in fix.edits],
            fix.level.value,
            fix.reason,
            list(fix.imports),
            fix.paddle,
        ],
        [astuple(item) for item in finding.related],
        finding.statement,
        finding.confidence.value,
    ]


def _finding(data: list[Any]) -> Finding:
    code, path, start, end, message, fix, related, statement, confidence = data
    return Finding(
        code,
        path,
        start,
        end,
        message,
        fix and _fix(*fix),
        tuple(Related(*item) for item in related),
        statement and tuple(statement),
        Confidence(confidence),
    )


def _fix(message: str, edits: list[list[Any]], level: int, reason: str, imports: list[str], paddle: str) -> Fix:
    return Fix(message, tuple(Edit(*edit) for edit in edits), Level(level), reason, tuple(imports), paddle)
