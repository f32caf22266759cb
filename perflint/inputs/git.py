"""Queries a working tree with the ``git`` command, which can read all kinds of repositories, and finds changed lines.

The configuration of a repository may name programs: filters, hooks, diff drivers, a file system monitor, a command that
fetches what is missing. A check of somebody's files would run them, so git is told to run none:

* programs that one setting switches off are switched off here, for each call, overriding every configuration;
* filters have names, and are switched off by the names that the configuration gives them (`diff`);
* nothing is fetched: no protocol is allowed;
* git starts where the nearest ``.git`` is, so that it does not take a directory for a repository because the checked
  files in it include ``HEAD``, ``objects`` and ``refs``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from perflint.files import plain_files
from perflint.files.plain_files import repository

PATIENCE = 300
"""Seconds after which git is stopped: its files may be pipes, which it would wait for."""

_OPTIONS = ("--no-pager", "--no-optional-locks")
_SETTINGS = {
    "core.quotePath": "false",
    "color.ui": "false",
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.alternateRefsCommand": "",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "credential.helper": "",
    "protocol.allow": "never",
}
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",  # overrides what a configuration allows
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TEST_ASSUME_DIFFERENT_OWNER")
"""Git variables that a user sets permanently; a hook that runs perflint sets others for itself."""


class GitError(Exception):
    """git cannot answer; ``str(error)`` says why, and what to do."""


def ask(directory: Path, *arguments: str, ok: Sequence[int] = (0,)) -> bytes:
    """Run ``git ARGUMENTS`` in a directory, and return what it prints.

    Use it for commands that read no file of the working tree; `diff` is for the others.

    Args:
        directory: where git runs, in the repository around it, whatever variables a hook that runs perflint has set.
        arguments: the command with its options.
        ok: the exit statuses of success; any other raises the error that git printed.

    Raises:
        GitError: git is not installed, has failed, or does not answer.
    """
    return _run(directory, _SETTINGS, arguments, ok)


def diff(directory: Path, *arguments: str) -> bytes:
    """Run ``git diff ARGUMENTS`` in a directory without running filters, and return what it prints.

    Raises:
        GitError: as for `ask`; or a filter has a name that cannot be written on a command line.
    """
    quiet = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "-O/dev/null")
    return _run(directory, {**_SETTINGS, **_without_filters(directory)}, ("diff", *quiet, *arguments), (0,))


def _without_filters(directory: Path) -> dict[str, str]:
    """The settings that switch off every filter that the configuration of a repository has."""
    listed = ask(directory, "config", "--list", "--null", "--name-only").split(b"\0")
    keys = [os.fsdecode(key) for key in listed if key.lower().startswith(b"filter.") and key.count(b".") > 1]
    names = dict.fromkeys(key.partition(".")[2].rpartition(".")[0] for key in keys)
    for name in names:
        if "=" in name or "\n" in name:
            raise GitError(
                f"a filter in the configuration of git has the name {name!r}, so perflint cannot switch it off"
            )
    return {
        f"filter.{name}.{key}": value
        for name in names
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _run(directory: Path, settings: Mapping[str, str], arguments: Sequence[str], ok: Sequence[int]) -> bytes:
    environment = {name: value for name, value in os.environ.items() if _is_kept(name)} | _ENVIRONMENT
    given = [item for key, value in settings.items() for item in ("-c", f"{key}={value}")]
    command = [_program(), *_OPTIONS, *given, *arguments]
    try:
        run = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git has not answered in {PATIENCE} seconds in {directory}") from error
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror or error}") from error
    if run.returncode not in ok:
        said = " ".join(run.stderr.decode("utf-8", "replace").split()) or f"exit status {run.returncode}"
        raise GitError(f"git failed in {directory}: {said.removeprefix('fatal: ')}")
    return run.stdout


def _is_kept(name: str) -> bool:
    return not name.upper().startswith("GIT_") or name.upper().startswith(_KEPT)


def _program() -> str:
    """The path of git, but never a ``git`` that is only found because the current directory is searched."""
    for place in os.get_exec_path():
        found = shutil.which(os.path.join(place, "git")) if os.path.isabs(place) else None  # noqa: PTH117, PTH118
        if found is not None:
            return found
    raise GitError("there is no git command: install git")


def top_of(directory: Path) -> Path:
    """The top directory of the working tree around a directory.

    Raises:
        GitError: there is none, or git does not trust it.
    """
    place = repository(Path(os.path.realpath(directory)))
    if place is None:
        _program()
        raise GitError(f"{directory} is in no git repository")
    try:
        said = ask(place, "rev-parse", "--show-toplevel")
    except GitError as error:
        if "not a git repository" in str(error):
            raise GitError(f"{directory} is in no git repository") from None
        raise
    top = Path(os.path.realpath(os.fsdecode(said).rstrip("\n")))
    if not top.samefile(place):
        raise GitError(f"{place / '.git'} does not belong to a working tree there: git uses it for {top}")
    return top


def commit_of(top: Path, revision: str) -> str:
    """The full name of the commit that a revision means; ``A...`` is the last commit that ``A`` and HEAD share.

    Raises:
        GitError: there is no such commit here.
    """
    base, dots, other = revision.partition("...")
    if ".." in (base if dots else revision) or (dots and other not in ("", "HEAD")):
        raise GitError(
            f"{revision!r} names two states, and the files are compared as they are now: name one revision, or "
            f"{base.partition('..')[0]}... for where the branch began"
        )
    is_option = base.startswith("-")
    found = b"" if is_option else ask(top, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}", ok=(0, 1, 128))
    if not found:
        raise GitError(_unknown(top, base))
    commit = found.decode().strip()
    if not dots:
        return commit
    shared = ask(top, "merge-base", commit, "HEAD", ok=(0, 1)).decode().split()
    if not shared:
        raise GitError(f"{base} and HEAD share no commit in this clone{_more(top)}")
    return shared[0]


def _unknown(top: Path, revision: str) -> str:
    if not ask(top, "rev-list", "-n", "1", "--all"):
        return f"there is no commit yet in {top}"
    return f"git knows no revision {revision!r} in {top}: check the spelling, or get it with git fetch{_more(top)}"


def _more(top: Path) -> str:
    """A further hint if only a part of the history was fetched, as in CI."""
    if ask(top, "rev-parse", "--is-shallow-repository").strip() != b"true":
        return ""
    return (
        "; this clone is shallow: git fetch --unshallow, or fetch-depth: 0 in GitHub's actions/checkout, gets the rest"
    )


# --- lines that were added or changed since a revision

_DIFF = (
    *("--unified=0", "--inter-hunk-context=0", "--no-color", "--text"),
    *("--find-renames", "--no-relative", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"),
)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
_NAME = re.compile(rb"^\+\+\+ (.*)$", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


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
        is_same = self.rows.isdisjoint(range(first, last + 1)) and self.gaps.isdisjoint(range(first + 1, last + 1))
        return self.is_new or not is_same

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
        self._top = top_of(directory)
        self._trees = {self._top: _Tree(self._top, commit_of(self._top, revision), names)}

    def of(self, path: str) -> Changed:
        """The changes of a file; it is new if git does not track it, as one behind a link out of the repository.

        Raises:
            git.GitError: it is in another repository, or in a submodule whose history was not fetched.
        """
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self._top):
            if Path(os.path.realpath(os.path.dirname(path))).is_relative_to(self._top):  # noqa: PTH120 - "" is a directory
                return NEW
            raise GitError(f"{path} is not in {self._top}: check the files of one repository at a time")
        tree = self._trees.get(_top_of(real.parent)) or self._tree(_top_of(real.parent))
        return tree.of(real) if tree is not None else NEW

    def _tree(self, top: Path) -> _Tree | None:
        """The tree of a submodule at the commit that the outer tree recorded; None if it recorded none."""
        outer = _top_of(top.parent)
        around = self._trees.get(outer) or self._tree(outer)
        commit = around.submodule(top) if around is not None else None
        if commit is None:
            return None
        top_of(top)  # git reports what is wrong with it
        self._trees[top] = _Tree(top, commit_of(top, commit), self._names)
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
        self._kept = _tracked(top)
        self._changed = {top / name: changed for name, changed in _hunks(self._diff(names))}

    def of(self, path: Path) -> Changed:
        return self._changed.get(path, SAME if path in self._kept else NEW)

    def _diff(self, names: Sequence[str]) -> bytes:
        """The differences from the commit, without files that are now pipes, on which git would fail."""
        arguments = (*_DIFF, self._commit, "--", *names)
        try:
            return diff(self._top, *arguments)
        except GitError:
            odd = [path.relative_to(self._top).as_posix() for path in sorted(self._kept) if plain_files.problem(path)]
            if not odd:
                raise
        return diff(self._top, *arguments, *(f":(exclude,top,literal){name}" for name in odd))

    def submodule(self, top: Path) -> str | None:
        """The commit of a submodule that this tree's commit names."""
        name = top.relative_to(self._top).as_posix()
        said = os.fsdecode(ask(self._top, "ls-tree", "-z", self._commit, "--", name)).split()
        return said[2] if said[:2] == ["160000", "commit"] else None


def _hunks(diff: bytes) -> Iterator[tuple[str, Changed]]:
    """The changes of each file in a diff without context, by its current name, without deleted files.

    A row of a file begins with its sign there, so none is taken for the head of a hunk or of the next file.
    """
    for part in _FILE.split(diff)[1:]:
        head = part.partition(b"\n@@ ")[0]
        named = _NAME.search(head)
        name = _name(named[1]) if named is not None else ""
        places = [(int(start), int(count or 1)) for start, count in _HUNK.findall(part)]
        rows = frozenset(row for start, count in places for row in range(start, start + count))
        gaps = frozenset(start + 1 for start, count in places if not count)
        if name:
            yield name, NEW if b"\nnew file mode" in head else Changed(rows, gaps)


def _name(shown: bytes) -> str:
    """A name as git shows it after ``+++``; empty for a deleted file."""
    shown = shown.rstrip(b"\t")  # git adds a tab after a name with a space
    if shown.startswith(b'"') and shown.endswith(b'"'):
        shown = shown[1:-1].decode("unicode_escape").encode("latin-1")  # the escapes of C are among those of Python
    return os.fsdecode(shown[2:]) if shown != b"/dev/null" else ""


# --- files as they were in a revision

_RAW = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-relative")
_PLAIN = b":100"
"""How the entry of a file that was a plain one begins, and not a link or a submodule."""


class FilesThen:
    """The files of the repository around a directory as they were in a revision; nothing is checked out.

    ``changed``: the objects of the files that are different now, by real path; None for those that did not exist.

    Args:
        directory: a directory of the working tree.
        revision: anything that names one commit for git, or ``A...`` for the last commit that ``A`` and HEAD share.
        names: patterns for the names of the files of interest.

    Raises:
        git.GitError: git is not installed, has no such revision, or there is no repository.
    """

    def __init__(self, directory: Path, revision: str, names: Sequence[str]) -> None:
        self._top = top_of(directory)
        self._kept = _tracked(self._top)
        self.changed: dict[Path, str | None] = {}
        entries = diff(self._top, *_RAW, commit_of(self._top, revision), "--", *names).split(b"\0")
        for entry, name in zip(entries[::2], entries[1::2], strict=False):
            known = entry.split()[2].decode() if entry.startswith(_PLAIN) else None
            self.changed[self._top / os.fsdecode(name)] = known

    def is_changed(self, path: str) -> bool:
        """Whether a file was another one, or none; files of other repositories count as the same."""
        real = Path(os.path.realpath(path))
        return real in self.changed or (_top_of(real.parent) == self._top and real not in self._kept)

    def data(self, path: str) -> bytes | None:
        """What a changed file contained; None if it did not exist.

        Raises:
            git.GitError: git cannot read it, as in a clone that has only parts of the history.
        """
        known = self.changed.get(Path(os.path.realpath(path)))
        return None if known is None else ask(self._top, "cat-file", "blob", known)


def _tracked(top: Path) -> frozenset[Path]:
    """The files of a working tree that git tracks."""
    return frozenset(top / os.fsdecode(name) for name in ask(top, "ls-files", "-z").split(b"\0") if name)


def rows_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The first and last row, as git counts them, of the text between two offsets."""
    first = text.count("\n", 0, start) + 1
    return first, first + text.count("\n", start, max(start, end - 1))
