"""Finds the lines of a working tree that were added or changed since a revision, with ``git diff``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from perflint.files import plain_files
from perflint.files.inside import repository
from perflint.inputs import git

_DIFF = (
    *("--unified=0", "--inter-hunk-context=0", "--no-color", "--text"),
    *("--find-renames", "--no-relative", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True)
class Changed:
    """The changed rows of a file, counted from 1 as git counts them: only ``\\n`` ends one.

    ``gaps`` are the rows that now follow deleted rows. ``is_new``: all rows were added.
    """

    rows: frozenset[int] = frozenset()
    gaps: frozenset[int] = frozenset()
    is_new: bool = False

    def __bool__(self) -> bool:
        return self.is_new or bool(self.rows) or bool(self.gaps)

    def touches(self, first: int, last: int) -> bool:
        """Whether a change is within a range of rows: one of them is new, or some between them are deleted."""
        return (
            self.is_new
            or any(row in self.rows for row in range(first, last + 1))
            or any(row in self.gaps for row in range(first + 1, last + 1))
        )

    def moved(self, before: str, after: str) -> Changed:
        """The changes for another text of the file, plus the changes to that text."""
        if self.is_new or before == after:
            return self
        rows: set[int] = set()
        gaps: set[int] = set()
        old, new = before.split("\n"), after.split("\n")
        for tag, low, high, left, right in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal":
                rows |= {row + left - low for row in self.rows if low < row <= high}
                gaps |= {row + left - low for row in self.gaps if low < row <= high}
            elif tag == "delete":
                gaps.add(left + 1)
            else:
                rows |= set(range(left + 1, right + 1))
        return Changed(frozenset(rows), frozenset(gaps))


NEW = Changed(is_new=True)
SAME = Changed()


class ChangedLines:
    """The changes since a revision in the repository around a directory, and in its submodules.

    Args:
        directory: a directory of the working tree.
        revision: anything that names one commit for git, or ``A...`` for the last commit that ``A`` and HEAD share.
        names: patterns for the names of the files of interest (none: any).

    Raises:
        git.GitError: git is not installed, has no such revision, or there is no repository.
    """

    def __init__(self, directory: Path, revision: str, names: Sequence[str] = ()) -> None:
        self._names = names
        self._top = git.top_of(directory)
        self._trees = {self._top: _Tree(self._top, git.commit_of(self._top, revision), names)}

    def of(self, path: str) -> Changed:
        """The changes of a file; it is new if git does not track it, as one behind a link out of the repository.

        Raises:
            git.GitError: it is in another repository, or in a submodule whose history was not fetched.
        """
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self._top):
            if Path(os.path.realpath(os.path.dirname(path))).is_relative_to(self._top):  # noqa: PTH120 - "" is a directory
                return NEW
            raise git.GitError(f"{path} is not in {self._top}: check the files of one repository at a time")
        tree = self._trees.get(_top_of(real.parent)) or self._tree(_top_of(real.parent))
        return tree.of(real) if tree is not None else NEW

    def _tree(self, top: Path) -> _Tree | None:
        """The tree of a submodule at the commit that the outer tree recorded; None if it recorded none."""
        outer = _top_of(top.parent)
        around = self._trees.get(outer) or self._tree(outer)
        commit = around.submodule(top) if around is not None else None
        if commit is None:
            return None
        git.top_of(top)  # git reports what is wrong with it
        self._trees[top] = _Tree(top, git.commit_of(top, commit), self._names)
        return self._trees[top]


@cache
def _top_of(directory: Path) -> Path:
    """The directory with the repository around a directory; the root of the file system if there is none."""
    return repository(directory) or Path(directory.anchor)


class _Tree:
    """One working tree, compared with one of its commits."""

    def __init__(self, top: Path, commit: str, names: Sequence[str]) -> None:
        self._top = top
        self._commit = commit
        self._kept = frozenset(top / os.fsdecode(name) for name in git.ask(top, "ls-files", "-z").split(b"\0") if name)
        self._changed = {top / name: changed for name, changed in _hunks(self._diff(names))}

    def of(self, path: Path) -> Changed:
        return self._changed.get(path, SAME if path in self._kept else NEW)

    def _diff(self, names: Sequence[str]) -> bytes:
        """The differences from the commit, without files that are now pipes, on which git would fail."""
        arguments = (*_DIFF, self._commit, "--", *names)
        try:
            return git.diff(self._top, *arguments)
        except git.GitError:
            odd = [path.relative_to(self._top).as_posix() for path in sorted(self._kept) if plain_files.problem(path)]
            if not odd:
                raise
        return git.diff(self._top, *arguments, *(f":(exclude,top,literal){name}" for name in odd))

    def submodule(self, top: Path) -> str | None:
        """The commit of a submodule that this tree's commit names."""
        name = top.relative_to(self._top).as_posix()
        said = os.fsdecode(git.ask(self._top, "ls-tree", "-z", self._commit, "--", name)).split()
        return said[2] if said[:2] == ["160000", "commit"] else None


def _hunks(diff: bytes) -> Iterator[tuple[str, Changed]]:
    """The changes of each file in a diff without context, by its current name, without deleted files."""
    lines = iter(diff.split(b"\n"))
    name, is_new, rows, gaps = "", False, set[int](), set[int]()

    def found() -> Iterator[tuple[str, Changed]]:
        if name:
            yield name, NEW if is_new else Changed(frozenset(rows), frozenset(gaps))

    for line in lines:
        if line.startswith(b"diff --git "):
            yield from found()
            name, is_new, rows, gaps = "", False, set(), set()
        elif line.startswith(b"new file mode"):
            is_new = True
        elif line.startswith(b"+++ "):
            name = _name(line[4:])
        elif match := _HUNK.match(line):
            old, start, new = int(match[1] or 1), int(match[2]), int(match[3] or 1)
            if new:
                rows |= set(range(start, start + new))
            else:
                gaps.add(start + 1)
            _skip(lines, old + new)
    yield from found()


def _skip(lines: Iterator[bytes], number: int) -> None:
    """Skip the rows of a hunk, which may contain anything."""
    while number:
        number -= not next(lines).startswith(b"\\")


def _name(shown: bytes) -> str:
    """A name as git shows it after ``+++``; empty for a deleted file."""
    shown = shown.rstrip(b"\t")  # git adds a tab after a name with a space
    if shown.startswith(b'"') and shown.endswith(b'"'):
        shown = _ESCAPE.sub(_unescaped, shown[1:-1])
    return os.fsdecode(shown[2:]) if shown != b"/dev/null" else ""


def _unescaped(match: re.Match[bytes]) -> bytes:
    word = match[1]
    return bytes([int(word, 8)]) if len(word) == 3 else _ESCAPED.get(word, word)


def rows_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The first and last row, as git counts them, of the text between two offsets."""
    first = text.count("\n", 0, start) + 1
    return first, first + text.count("\n", start, max(start, end - 1))
