"""The small commands about perflint itself: ``perflint --version``, ``config``, ``clean`` and ``completion``."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from perflint.commands import CommandError
from perflint.output.console import Console

# PyPI's distribution ``perflint`` (a Pylint plugin) has the same import package and the same command. pip installs both
# without a warning; the later one overwrites files of the earlier one, and removing either also removes files of the
# other.
_REPAIR = ("    python -m pip uninstall -y perflint perflint-paddle", "    python -m pip install perflint-paddle")


def show_version(_: argparse.Namespace, console: Console) -> int:
    """Print the version, and check that this is the only perflint in the environment.

    Raises:
        CommandError: the other perflint is installed too, or has left this one damaged.
    """
    other = _other_version() if _other_may_be_there() else None
    if other is None:
        console.write(f"perflint {_own_version()}\n")
        return 0
    raise CommandError(
        f'another distribution named "perflint" ({other}, the Pylint plugin) is installed in this environment. It has '
        "the same import package and command as perflint-paddle, and each overwrites files of the other. "
        "Keep perflint-paddle with:",
        (*_REPAIR, "To use both, install each in its own environment (for example: pipx install perflint-paddle)."),
    )


def _other_may_be_there() -> bool:
    """Whether a directory of installed packages seems to contain a distribution ``perflint``.

    ``importlib.metadata`` is more reliable, but importing it takes half of the time that ``perflint --version`` may
    take.
    """
    for place in sys.path:
        with suppress(OSError):
            names = [path.name.lower() for path in Path(place).iterdir()]
            if any(name.startswith("perflint-") and name.endswith(("-info", ".egg")) for name in names):
                return True
    return False


def _other_version() -> str | None:
    from importlib import metadata

    try:
        return metadata.version("perflint")
    except metadata.PackageNotFoundError:
        return None


def _own_version() -> str:
    try:
        from perflint import __version__
    except ImportError as error:
        raise CommandError(
            "files of perflint-paddle are missing (was another perflint removed?). Install it again:", _REPAIR
        ) from error
    return __version__


def show_config(options: argparse.Namespace, console: Console) -> int:
    """Print the settings that ``perflint check`` would use for the same path and options.

    Raises:
        CommandError: the configuration cannot be used.
    """
    from perflint.commands.read_files import resolve_settings  # imported late, as is the cache: --version needs neither
    from perflint.configuration.config_files import describe

    console.write(describe(resolve_settings(options, [options.path])))
    return 0


def clean_cache(_: argparse.Namespace, console: Console) -> int:
    """Remove the entries of the cache, and print how many there were.

    Raises:
        CommandError: an entry cannot be removed.
    """
    from perflint.run import cache
    from perflint.text.visible import counted

    try:
        place, count = cache.clean()
    except OSError as error:
        raise CommandError(f"{error.filename}: cannot be removed: {error.strerror or error}") from error
    console.note(f"Removed {counted(count, 'result')} from {place}." if place is not None else "The cache is empty.")
    return 0


def print_completion(options: argparse.Namespace, console: Console) -> int:
    """Print a script that lets a shell complete the commands and options of perflint; return 0.

    Raises:
        CommandError: shtab, which writes such scripts, is not installed.
    """
    if importlib.util.find_spec("shtab") is None:
        raise CommandError(
            'completion needs shtab: install it with python -m pip install "perflint-paddle[completion]"'
        )
    import shtab

    for parser in _parsers(options.parser):
        parser.description = None  # several sentences; a shell's menu only has room for a command's short help
        for action in parser._actions:  # argparse has no public list of them
            name = str(action.metavar)
            if name == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.type is Path or name.startswith("FILE"):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            if ":" in name:
                action.metavar = name.replace(":", " ")  # zsh gives what follows a colon another meaning
    console.write(shtab.complete(options.parser, options.shell).rstrip("\n") + "\n")
    return 0


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser, and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)
