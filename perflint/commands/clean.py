"""``perflint clean``: remove the cache of earlier runs."""

from __future__ import annotations

import argparse

from perflint.commands import CommandError
from perflint.output.console import Console
from perflint.run import cache
from perflint.text.visible import counted


def run(_: argparse.Namespace) -> int:
    """Remove the entries of the cache, and print how many there were.

    Raises:
        CommandError: an entry cannot be removed.
    """
    try:
        place, count = cache.clean()
    except OSError as error:
        raise CommandError(f"{error.filename}: cannot be removed: {error.strerror or error}") from error
    console = Console()
    console.note(f"Removed {counted(count, 'result')} from {place}." if place is not None else "The cache is empty.")
    console.close()
    return 0
