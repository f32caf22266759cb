"""A real git repository as the current directory, for the tests of what has changed since a revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def git(*arguments: str, at: str = ".") -> None:
    """Run git as somebody, in a directory.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], cwd=at, check=True, capture_output=True)


def commit(at: str = ".") -> None:
    """Commit all that is in a working tree."""
    git("add", "-A", at=at)
    git("commit", "-q", "--allow-empty", "-m", "state", at=at)


def start(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an empty repository the current directory, without the user's settings."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
        "PERFLINT_DEBUG",
    ):
        monkeypatch.delenv(name, raising=False)
    place.mkdir()
    monkeypatch.chdir(place)
    git("init", "-q", "-b", "main")
    Path("perflint.toml").touch()
