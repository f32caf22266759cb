"""``perflint completion``: a script that lets a shell complete the commands and options of perflint."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from perflint.commands import CommandError
from perflint.output.console import Console


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell; return 0.

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
    console = Console()
    console.write(shtab.complete(options.parser, options.shell).rstrip("\n") + "\n")
    console.close()
    return 0


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser, and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)
