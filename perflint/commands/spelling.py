"""Understands arguments as people type them: a path without a command, another name for a command, a typo."""

from __future__ import annotations

import os

from perflint.commands import CommandError

TYPE_CHECKING = False
if TYPE_CHECKING:  # the command line imports this at every start
    from collections.abc import Collection, Iterable, Sequence

OTHER_NAMES = {"explain": "rule", "rules": "rule"}
"""Names that other linters use for a command."""
_NEEDLESS = {"--show-fixes": "--fix lists what it fixed"}
"""Options of other linters that perflint needs no counterpart of."""
_OWN_OPTIONS = frozenset({"-h", "--help", "--version"})
"""Options of ``perflint`` itself, which are used without a command."""


def with_command(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments with the command that they mean: ``perflint train.py`` is ``perflint check train.py``.

    Raises:
        CommandError: the first word is neither a command nor a file or directory.
    """
    if not arguments or arguments[0] in _OWN_OPTIONS or arguments[0] in commands:
        return [*arguments]
    first = arguments[0]
    if first == "help" and not _looks_like_path(first):
        return [*arguments[1:2], "--help"]
    if first in OTHER_NAMES:
        return [OTHER_NAMES[first], *arguments[1:]]
    if first.startswith("-") or _looks_like_path(first):
        return ["check", *arguments]
    known = sorted({*commands, *OTHER_NAMES})
    meant = near(first, known)
    hint = f"did you mean {meant}?" if meant else f"the commands are {', '.join(known)}"
    raise CommandError(f"{first!r} is neither a command nor a file or directory: {hint}")


def _looks_like_path(word: str) -> bool:
    return os.path.lexists(word) or word.endswith((".py", ".ipynb")) or "/" in word or os.sep in word


def unknown(word: str, options: Iterable[str]) -> str:
    """The error message for an option that a command does not have."""
    name = word.partition("=")[0]
    if name in _NEEDLESS:
        return f"there is no option {name}: {_NEEDLESS[name]}"
    meant = near(name, options)
    return f"there is no option {name}" + (f": did you mean {meant}?" if meant else "")


def near(word: str, candidates: Iterable[str]) -> str:
    """The candidate that a word most likely means; empty if none is close."""
    from difflib import get_close_matches  # importing it is slow

    found = get_close_matches(word, [*candidates], n=1, cutoff=0.7)
    return found[0] if found else ""
