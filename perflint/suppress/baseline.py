"""The baseline: a file that lists known findings, so that only new ones are reported.

Its entries identify findings by content (`fingerprints`), so they stay valid when lines move. There is one line for
each, sorted by path, code and text, so that a change of the code gives a small diff, and two branches merge.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflint.files import plain_files
from perflint.files.writing import write_whole
from perflint.findings import Finding, by_path
from perflint.inputs.patterns import relative
from perflint.text.source import Source, lines_of

# --- what identifies a finding

_LENGTH = 32


def fingerprints(findings: Sequence[Finding], sources: Mapping[str, Source], root: str) -> list[str]:
    """The fingerprint of each finding: 32 hexadecimal digits, all different.

    They stay the same when other lines are added or removed, or when the indentation changes. The message is not part
    of it, since it names rows and counts other findings. Findings of one rule with the same text are numbered in the
    order of ``findings``.

    Args:
        findings: in the order of their places in each file.
        sources: the texts that they point into, by path; a file that could not be read may be missing.
        root: the directory that paths are relative to, so that a checkout elsewhere gives the same fingerprints.
    """
    seen: Counter[bytes] = Counter()
    begun: dict[tuple[str, str, int, int], hashlib._Hash] = {}
    found = []
    for finding in findings:
        source = sources.get(finding.path)
        first, last = source.lines.rows_of(finding.start, finding.end) if source is not None else (0, 0)
        place = finding.code, finding.path, first, last
        if place not in begun:  # the row may be megabytes long, and contain thousands of findings
            rows = [source.lines.line(row) for row in range(first, last + 1)] if source is not None else []
            words = " ".join(" ".join(rows).split())  # the text without its formatting
            text = "\0".join((finding.code, relative(finding.path, root), words, ""))
            begun[place] = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
        alike = begun[place].digest()
        digest = begun[place].copy()
        digest.update(str(seen[alike]).encode())
        seen[alike] += 1
        found.append(digest.hexdigest()[:_LENGTH])
    return found


NAME = "perflint-baseline.json"
"""The file used if none is named."""

VERSION = 1
_ABOUT = "Findings that perflint does not report; perflint check --write-baseline writes them again."
_LONGEST = 100
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: |$)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_MOVES = 10_000
"""How many pairs of files are compared to find renamed ones."""


class BaselineError(Exception):
    """A baseline that cannot be used; ``str(error)`` says which one, where the problem is, and what to do."""


@dataclass(frozen=True, order=True)
class Entry:
    """One finding. ``path`` is relative to the directory of the baseline; ``text`` is for readers."""

    path: str
    code: str
    text: str
    fingerprint: str


@dataclass(frozen=True)
class BaselineSplit:
    """Findings that are ``new``, those that are ``hidden``, and the entries ``used`` to hide them."""

    new: list[Finding]
    hidden: list[Finding]
    used: frozenset[str]


@dataclass(frozen=True)
class Baseline:
    """The entries of a file by fingerprint; ``path`` need not exist."""

    path: Path
    entries: Mapping[str, Entry]

    @property
    def root(self) -> str:
        """The directory that its paths are relative to."""
        return str(self.path.absolute().parent)

    def split(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> BaselineSplit:
        """Split the findings of a run, which are sorted by place in each file, into new and hidden ones."""
        own = fingerprints(findings, sources, self.root)
        known = [each if each in self.entries else None for each in own]
        moved = self._moved([item for item, each in zip(findings, known, strict=True) if each is None], sources)
        new, hidden, used = [], [], set()
        for finding, each in zip(findings, known, strict=True):
            entry = each or moved.get(id(finding))
            if entry is None:
                new.append(finding)
            else:
                hidden.append(finding)
                used.add(entry)
        return BaselineSplit(new, hidden, frozenset(used))

    def stale(
        self, used: Collection[str], paths: Iterable[str], codes: Collection[str], alone: Mapping[str, Source]
    ) -> list[Entry]:
        """The entries of checked files and selected rules that are not used for a finding any more.

        Args:
            used: the fingerprints of the used entries.
            paths: the checked files.
            codes: the rules.
            alone: files that were read without their callers, which may lead to more findings: their entries are only
                stale if the line is gone, too.
        """
        checked = {_place(path, self.root) for path in paths}
        lines = {_place(path, self.root): _texts(source) for path, source in alone.items()}
        return sorted(
            entry
            for entry in self.entries.values()
            if entry.fingerprint not in used
            and entry.code in codes
            and (entry.path in checked or not _is_there(Path(self.root) / entry.path))
            and entry.text not in lines.get(entry.path, ())
        )

    def _moved(self, findings: Sequence[Finding], sources: Mapping[str, Source]) -> dict[int, str]:
        """The entries for findings in renamed files, by the ``id`` of the finding."""
        known = {entry.path for entry in self.entries.values()}
        by_new = by_path(finding for finding in findings if _place(finding.path, self.root) not in known)
        gone = [path for path in sorted(known) if by_new and not _is_there(Path(self.root) / path)]
        found: dict[int, str] = {}
        if len(gone) * len(by_new) > _MOST_MOVES:
            return found
        for old in gone:
            options = {
                path: self._as_if(old, items, sources[path]) for path, items in by_new.items() if path in sources
            }
            best = max(options, key=lambda path: len(options[path]), default=None)
            if best is not None and options[best]:
                found |= options[best]
                del by_new[best]
        return found

    def _as_if(self, old: str, findings: Sequence[Finding], source: Source) -> dict[int, str]:
        """The entries that findings of one file would have under its old name."""
        path = str(Path(self.root) / old)
        there = [replace(finding, path=path) for finding in findings]
        prints = fingerprints(there, {path: source}, self.root)
        return {id(item): each for item, each in zip(findings, prints, strict=True) if each in self.entries}


def entries(findings: Sequence[Finding], sources: Mapping[str, Source], root: str) -> list[Entry]:
    """The entries for findings, for a baseline in the directory ``root``; the arguments are those of `fingerprints`."""
    places = {path: _place(path, root) for path in {finding.path for finding in findings}}
    texts: dict[tuple[str, int], str] = {}
    found = []
    for finding, each in zip(findings, fingerprints(findings, sources, root), strict=True):
        source = sources.get(finding.path)
        row = source.lines.position(finding.start)[0] if source is not None else 0
        if (finding.path, row) not in texts:
            texts[finding.path, row] = _shortened(source.lines.line(row)) if source is not None else ""
        found.append(Entry(places[finding.path], finding.code, texts[finding.path, row], each))
    return found


def _place(path: str, root: str) -> str:
    """A path relative to ``root``, with ``/`` between its parts."""
    below = relative(path, root)
    if _is_there(Path(root) / below):
        return below
    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:  # the paths are on different drives
        return below


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - which does not raise where a name is too long


def _texts(source: Source) -> set[str]:
    """All lines of a file as stored in entries."""
    return {_shortened(line) for line in lines_of(source.text)}


def _shortened(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def write(path: Path, found: Iterable[Entry]) -> None:
    """Write a complete baseline.

    Raises:
        OSError: it cannot be written.
    """
    lines = [f"    {_dumped(entry)}" for entry in sorted(set(found))]
    listed = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    text = f'{{\n  "version": {VERSION},\n  "about": "{_ABOUT}",\n  "findings": {listed}\n}}\n'
    write_whole(path, text.encode("utf-8"))


def _dumped(entry: Entry) -> str:
    item = {"path": entry.path, "code": entry.code, "fingerprint": entry.fingerprint, "text": entry.text}
    # A path may contain bytes that are not UTF-8.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(item, ensure_ascii=False))


def read(path: Path) -> Baseline:
    """The baseline at ``path``.

    Raises:
        BaselineError: it does not exist, cannot be read, or is not a baseline of this version.
    """
    try:
        handed_over = _is_handed_over(path)
        text = path.read_text(encoding="utf-8") if handed_over else plain_files.read(path).decode()
    except FileNotFoundError:
        raise BaselineError(f"{path}: there is no such baseline: --write-baseline writes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(
            f"{path}: the baseline cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    for number, line in enumerate(text.splitlines(), 1):
        if _CONFLICT.match(line):
            raise BaselineError(
                f"{path}:{number}: the baseline contains a merge conflict: keep the lines of both sides, or write it "
                "again with --write-baseline"
            )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, or a number with thousands of digits
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BaselineError(f"{path}{line}: the baseline is not valid JSON: {error}: {_ANEW}") from error
    return Baseline(path, _entries(path, data))


_ANEW = "write it again with --write-baseline"


def _entries(path: Path, data: object) -> dict[str, Entry]:
    if not isinstance(data, dict) or "version" not in data:
        raise BaselineError(f"{path}: this is not a baseline of perflint: name another file, or {_ANEW}")
    if data["version"] != VERSION:
        raise BaselineError(
            f"{path}: the baseline has version {data['version']}, and this perflint reads version {VERSION}: use the "
            f"perflint that wrote it, or {_ANEW}"
        )
    found = data.get("findings")
    if not isinstance(found, list):
        raise BaselineError(f"{path}: the baseline has no list of findings: {_ANEW}")
    result = {}
    for number, item in enumerate(found, 1):
        keys = ("path", "code", "text", "fingerprint")
        if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in keys):
            raise BaselineError(
                f"{path}: finding {number} of the baseline does not have the form that perflint writes: {_ANEW}"
            )
        result[item["fingerprint"]] = Entry(*(item[key] for key in keys))
    return result


def _is_handed_over(path: Path) -> bool:
    """Whether a path is a pipe from the shell: ``--baseline <(git show ...)``."""
    return stat.S_ISFIFO(path.stat().st_mode) and path.parts[1:2] in (("dev",), ("proc",))


def looks_like_one(path: Path) -> bool:
    """Whether an existing file may be replaced by a baseline: it is one, possibly with merge conflicts."""
    if plain_files.problem(path):
        return False  # a pipe or a device
    try:
        head = plain_files.read(path)
    except OSError:
        return True  # writing will report what is wrong
    return not head.strip() or (b'"version"' in head and b'"findings"' in head) or b'"fingerprint"' in head
