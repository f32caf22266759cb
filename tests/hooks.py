"""The hooks as a repository of their own, as pre-commit clones them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = (ROOT / ".pre-commit-hooks.yaml", ROOT / "pre-commit-hooks.yaml")
_INSTALLED = (*MANIFESTS, *(ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE", "perflint", "rules")))


def hooks_repository(place: Path) -> tuple[Path, str]:
    """A repository with what an installation of this checkout needs, and its only commit."""
    for path in _INSTALLED:
        if path.is_dir():
            shutil.copytree(path, place / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, place)
    return place, repository(place)


def repository(place: Path) -> str:
    """Commit what is in a directory; the commit."""
    git(place, "init", "--quiet")
    git(place, "add", "--all", "--force")
    git(place, "commit", "--quiet", "--message", "All")
    return git(place, "rev-parse", "HEAD")


def git(place: Path, *arguments: str) -> str:
    """What git prints."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.strip()
