"""Caches the findings of a run for the next run over the same files, which then parses nothing, nor imports LibCST.

An entry is the answer for a whole run, or for one of its projects: no finding depends on another project, so a change
in one does not affect the others. Its name is a digest of everything that the answer depends on: every file with its
path, the settings, the files of perflint itself (including rules), and the versions of Python and LibCST. An entry for
several projects also stores which directories are the projects. So an entry is never wrong, only no longer used, and no
locks are needed: an entry is written completely or not at all.

An entry is JSON after a line with its digest, so that a truncated file, or one written by something else, is
recognized. The digest does not prevent forged entries, so every value is checked too: an entry may be wrong, but only
in ways that a check could have reported.

The directory may contain other files, since the user can choose any: only files are removed that have the name of an
entry and begin like one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields, is_dataclass, replace
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from perflint import __version__
from perflint.catalogue import rules_directory
from perflint.configuration.settings import Settings
from perflint.files import writing
from perflint.files.writing import write_new
from perflint.findings import EDIT_KINDS, Checked, Finding
from perflint.inputs.projects import is_project
from perflint.text.source import Source

# --- the contents of an entry

BEGINNING = b"perflint cache entry "
"""How an entry of any version begins."""
_MARK = BEGINNING + b"7 "
"""The version of the format, increased when the following data is written differently."""


class BadEntry(Exception):
    """Bytes that are not an entry, or not one for these files."""


def encode(checked: Checked, roots: Mapping[str, bool]) -> bytes:
    """Encode an entry; the arguments are those of ``cache.store``."""
    entry = {"roots": dict(roots), "checked": astuple(checked)}
    data = json.dumps(entry, separators=(",", ":")).encode("ascii")
    return _MARK + _digest(data) + b"\n" + data


def decode(data: bytes, sources: Mapping[str, Source]) -> tuple[Checked, dict[str, bool]]:
    """Decode an entry: what was found, and the directories that this depends on.

    Args:
        data: the bytes.
        sources: the files that the findings are about.

    Raises:
        BadEntry: it is not an entry, or it is one for other files.
    """
    head, _, rest = data.partition(b"\n")
    if head != _MARK + _digest(rest):
        raise BadEntry("it is cut off, or something else")
    try:
        entry = json.loads(rest)
        found: Checked = _reader(Checked)(entry["checked"])
        for item in found.findings:
            _insist(item, sources)
        if any(edit.kind not in EDIT_KINDS for step in found.steps or () for edit in step.verdict.edits):
            raise BadEntry("a step has an edit of no known kind")
        roots = {str(root): _is(answer, bool) for root, answer in entry["roots"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadEntry("a value is none that perflint writes") from error
    return found, roots


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode("ascii")


def _insist(finding: Finding, sources: Mapping[str, Source]) -> None:
    """Raise an error for a finding whose places are not in its file.

    Raises:
        ValueError, KeyError: they are not.
    """
    size = len(sources[finding.path].text)
    edits = finding.fix.edits if finding.fix is not None else ()
    statement = (finding.statement,) if finding.statement is not None else ()
    places = [(finding.start, finding.end), *statement, *finding.places, *((edit.start, edit.end) for edit in edits)]
    if not all(0 <= start <= end <= size for start, end in places) or any(item.line < 0 for item in finding.related):
        raise ValueError(finding)


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """A function that reads a value of JSON as a type hint says; a list stands for the fields of a dataclass.

    It raises ValueError or TypeError for anything else.
    """
    inner = get_args(kind)
    if get_origin(kind) is list:
        read = _reader(inner[0])
        return lambda value: [read(item) for item in _is(value, list)]
    if NoneType in inner:
        read = _reader(inner[0])
        return lambda value: None if value is None else read(value)
    if Ellipsis in inner:
        read = _reader(inner[0])
        return lambda value: tuple([read(item) for item in _is(value, list)])
    if not inner and issubclass(kind, IntEnum):
        return lambda value: kind(_is(value, int))
    if not inner and not is_dataclass(kind):
        return lambda value: _is(value, kind)
    hints = get_type_hints(kind) if not inner else {}
    readers = [_reader(each) for each in inner or [hints[each.name] for each in fields(kind)]]
    make = kind if not inner else lambda *items: items
    return lambda value: make(*[read(item) for read, item in zip(readers, _is(value, list), strict=True)])


def _is(value: Any, kind: type) -> Any:
    """``value``, if it has exactly that type: True is not a number."""
    if type(value) is not kind:
        raise TypeError(value)
    return value


VARIABLE = "PERFLINT_CACHE_DIR"
"""The environment variable that says where entries are stored; empty: nowhere."""

_MOST_ENTRIES = 1024
_MOST_BYTES = 64 * 2**20
_NAME = re.compile(r"perflint-[0-9a-z]+\.entry")
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This directory holds what perflint keeps from run to run; `perflint clean` removes it.
# About such tags: https://bford.info/cachedir/
"""


def directory() -> Path | None:
    """Where entries are stored: ``PERFLINT_CACHE_DIR``, or the user's cache directory; None: nothing is cached."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    above = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    try:
        return Path(above) / "perflint" if above else Path.home() / ".cache" / "perflint"
    except RuntimeError:  # the process has no home directory
        return None


def key(sources: Mapping[str, Source], settings: Settings) -> str:
    """The name of the entry for a run, a digest of everything that its findings depend on."""
    digest = hashlib.sha256()
    # Where the sources come from does not matter: a full check, and one of a file in its context, share entries.
    for part in (*_versions(), repr(replace(settings, origins={}, context=(), profile=""))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    for path in sorted(sources):
        text = sources[path].text.encode("utf-8", "surrogatepass")
        digest.update(f"{path}\0{len(text)}\0".encode("utf-8", "surrogatepass"))
        digest.update(text)
    return digest.hexdigest()


def load(name: str, sources: Mapping[str, Source]) -> Checked | None:
    """What an entry says; None if there is no valid one.

    Args:
        name: the result of ``key``.
        sources: the checked files.
    """
    place = directory()
    if place is None:
        return None
    try:
        data = _read(_path(place, name))
        found, roots = decode(data, sources)
        return None if any(is_project(root) != answer for root, answer in roots.items()) else found
    except (OSError, ValueError, BadEntry):
        return None


def store(name: str, checked: Checked, roots: Mapping[str, bool] | None = None) -> None:
    """Store what was found in a run or project, and remove the least recently used entries.

    Does nothing if that is impossible.

    Args:
        name: the result of ``key``.
        checked: what was found.
        roots: see ``projects.Split``.
    """
    place = directory()
    if place is None:
        return
    try:
        _make(place)
        write_new(_path(place, name), encode(checked, roots or {}))
        writing.sweep(place)
        _shrink(place)
    except OSError:
        return


def clean() -> tuple[Path | None, int]:
    """Remove all entries, including partial ones of killed runs; return the directory and the number of entries.

    Raises:
        OSError: an entry cannot be removed.
    """
    place = directory()
    if place is None:
        return None, 0
    writing.sweep(place)
    entries = [entry for entry in _entries(place) if _is_ours(entry)]
    for entry in entries:
        entry.unlink(missing_ok=True)
    return place, len(entries)


def _path(place: Path, name: str) -> Path:
    return place / f"perflint-{name}.entry"


def _make(place: Path) -> None:
    """Create the directory, marked as one that backups can skip; an existing one may have other contents."""
    try:
        place.mkdir(parents=True)
    except FileExistsError:
        return
    (place / "CACHEDIR.TAG").write_text(_TAG, encoding="ascii")


def _entries(place: Path) -> list[Path]:
    """The files that have the name of an entry."""
    try:
        return [path for path in place.iterdir() if _NAME.fullmatch(path.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_ours(path: Path) -> bool:
    """Whether a file with the name of an entry was written by perflint: it begins like all of them."""
    try:
        with os.fdopen(_open(path), "rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except (OSError, ValueError):
        return False


def _read(path: Path) -> bytes:
    """The bytes of an entry that only this user can have written; it is marked as used.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a regular file, belongs to somebody else, or is too large.
    """
    with os.fdopen(_open(path), "rb") as file:
        status = os.fstat(file.fileno())
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            raise ValueError(f"{path} may be somebody else's")
        if status.st_size > _MOST_BYTES:
            raise ValueError(f"{path} is too large")
        data = file.read(_MOST_BYTES)
        with contextlib.suppress(OSError):
            os.utime(file.fileno() if os.utime in os.supports_fd else path)  # entries that are used are kept
        return data


def _open(path: Path) -> int:
    """Open a file for reading, but never a link or something that could block forever.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is not a regular file.
    """
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    handle = os.open(path, sum(flags, os.O_RDONLY))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError(f"{path} is not a regular file")
    return handle


def _shrink(place: Path) -> None:
    found = []
    for path in _entries(place):
        try:
            found.append((path.lstat(), path))
        except FileNotFoundError:  # another run has removed it first
            continue
    left = 0
    for count, (status, path) in enumerate(sorted(found, key=lambda item: -item[0].st_mtime_ns), 1):
        left += status.st_size
        if (count > _MOST_ENTRIES or left > _MOST_BYTES) and _is_ours(path):
            path.unlink(missing_ok=True)


@cache
def _versions() -> tuple[str, ...]:
    """The versions of Python and perflint, and stamps of the files of LibCST, perflint and the rules."""
    found = importlib.util.find_spec("libcst")  # finds it without importing it
    paths = [Path(found.origin)] if found is not None and found.origin else []
    paths += sorted(Path(__file__).parents[1].rglob("*.py")) + sorted(rules_directory().glob("*.yaml"))
    known = [(path, path.stat()) for path in paths]
    return (__version__, sys.version, *(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in known))
