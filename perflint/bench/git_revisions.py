"""Makes variants from two revisions of a project: git says which files differ, and the user's own tree stays unchanged.

A revision is a copy of the working tree in which the files tracked by git are as they were then. Untracked files, such
as data and ignored configurations, are in both as they are now: without them most scripts do not run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from perflint.bench.variants import VariantFiles
from perflint.inputs import git

NOW = "working tree"
"""The name of the current files, committed or not."""
_FILE = "100"
"""How the mode of a regular file begins; links and submodules have other modes."""
_ABSENT = "0" * 6
_STORED_ELSEWHERE = b"version https://git-lfs."
"""How the text begins that Git LFS commits instead of a large file."""
_SHORT = 9
"""The number of characters of a commit's name to show."""


@dataclass
class Revisions:
    """The states of a project at two revisions.

    ``differing`` are the files that differ between them, ``left_alone`` those for which git has no content (links,
    submodules, files in Git LFS): both variants have them as they are now.
    """

    before: VariantFiles
    after: VariantFiles
    differing: list[Path]
    left_alone: list[str]


@dataclass
class _Then:
    """The files of a revision that differ from those of the working tree."""

    name: str
    changed: dict[Path, bytes] = field(default_factory=dict)
    removed: set[Path] = field(default_factory=set)
    left_alone: list[str] = field(default_factory=list)

    def state(self, path: Path) -> bytes | bool | None:
        """The content of a file; False if it does not exist then, None if it is that of the working tree."""
        return False if path in self.removed else self.changed.get(path)


def revisions(root: Path, wanted: str) -> Revisions:
    """The states for ``REV`` (against the working tree) or ``A..B`` (commit against commit).

    Args:
        root: the top of the repository.
        wanted: a revision, or two with ``..`` between them, where a missing one means HEAD; ``A...`` is the commit
            where the checked-out branch left ``A``.

    Raises:
        git.GitError: there is no such revision, or git cannot list the differences.
    """
    git.top_of(root)  # git reports it in words if there is no repository
    first, second = _split(wanted)
    older, newer = _then(root, first), _Then(NOW) if second is None else _then(root, second)
    touched = {*older.changed, *older.removed, *newer.changed, *newer.removed}
    return Revisions(
        VariantFiles(older.name, changed=older.changed, removed=older.removed),
        VariantFiles(newer.name, changed=newer.changed, removed=newer.removed),
        sorted(path for path in touched if older.state(path) != newer.state(path)),
        sorted({*older.left_alone, *newer.left_alone}),
    )


def _split(wanted: str) -> tuple[str, str | None]:
    first, dots, second = wanted.partition("..")
    if not dots or second.startswith("."):  # ``A...`` is one revision
        return wanted, None
    return first or "HEAD", second or "HEAD"


def _then(root: Path, revision: str) -> _Then:
    commit = git.commit_of(root, revision)
    found = _Then(f"{revision} ({commit[:_SHORT]})")
    # mode and object at the commit, and path, of each file that differs from the working tree
    said = git.diff(root, "--raw", "-z", "--no-renames", "--no-abbrev", commit, "--").split(b"\0")
    for what, name in zip(said[::2], said[1::2], strict=False):
        path = Path(os.fsdecode(name))
        mode, _, blob, *_ = os.fsdecode(what).removeprefix(":").split(" ")
        if mode == _ABSENT:
            found.removed.add(path)
            continue
        data = git.ask(root, "cat-file", "blob", blob) if mode.startswith(_FILE) else _STORED_ELSEWHERE
        if data.startswith(_STORED_ELSEWHERE):
            found.left_alone.append(path.as_posix())
        elif not _is_now(root / path, data):
            found.changed[path] = data
    return found


def _is_now(path: Path, data: bytes) -> bool:
    """Whether a file already has this content, so that git has only reported another mode."""
    try:
        return not path.is_symlink() and path.read_bytes() == data
    except OSError:
        return False
