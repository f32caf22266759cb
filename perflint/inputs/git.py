"""Queries a working tree with the ``git`` command, which can read all kinds of repositories.

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
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from perflint.files.inside import repository

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
