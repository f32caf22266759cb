"""What git says of a working tree: asked of the ``git`` command, which reads all kinds of repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_SETTINGS = ("-c", "core.quotePath=false", "-c", "color.ui=false")
_OF_A_HOOK = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_LITERAL_PATHSPECS",
)


class GitError(Exception):
    """git cannot answer; ``str(error)`` says why, and what to do."""


def ask(directory: Path, *arguments: str, ok: Sequence[int] = (0,)) -> bytes:
    """What ``git ARGUMENTS`` prints in a directory.

    Args:
        directory: where git runs; the repository around it is meant, whatever a hook that runs perflint has set.
        arguments: the command with its options.
        ok: the exit statuses of an answer; after any other, what git printed as its error is raised.

    Raises:
        GitError: git is not installed, or has failed.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", *_SETTINGS, *arguments]
    try:
        run = subprocess.run(command, cwd=directory, env=environment, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise GitError("there is no git command to ask: install git") from error
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror or error}") from error
    if run.returncode not in ok:
        said = " ".join(run.stderr.decode("utf-8", "replace").split()) or f"exit status {run.returncode}"
        raise GitError(f"git failed in {directory}: {said.removeprefix('fatal: ')}")
    return run.stdout


def top_of(directory: Path) -> Path:
    """The top directory of the working tree around a directory.

    Raises:
        GitError: there is none, or git does not trust it.
    """
    try:
        said = ask(directory, "rev-parse", "--show-toplevel")
    except GitError as error:
        if "not a git repository" in str(error):
            raise GitError(f"{directory} is in no git repository") from None
        raise
    return Path(os.path.realpath(os.fsdecode(said).rstrip("\n")))


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
        raise GitError(f"{base} and HEAD share no commit that is here{_more(top)}")
    return shared[0]


def _unknown(top: Path, revision: str) -> str:
    if not ask(top, "rev-list", "-n", "1", "--all"):
        return f"there is no commit yet in {top}"
    return f"git knows no revision {revision!r} in {top}: check the spelling, or get it with git fetch{_more(top)}"


def _more(top: Path) -> str:
    """What else to do where a part of the history alone was fetched, as CI does."""
    if ask(top, "rev-parse", "--is-shallow-repository").strip() != b"true":
        return ""
    return (
        "; this clone is shallow: git fetch --unshallow, or fetch-depth: 0 in GitHub's actions/checkout, gets the rest"
    )
