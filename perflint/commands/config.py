"""``perflint config``: the settings of a run and where each value comes from."""

from __future__ import annotations

import argparse

from perflint.commands.run_settings import resolve
from perflint.configuration.config_files import describe
from perflint.output.console import Console


def run(options: argparse.Namespace) -> int:
    """Print the settings that ``perflint check`` would use for the same path and options.

    Raises:
        CommandError: the configuration cannot be used.
    """
    console = Console()
    console.write(describe(resolve(options, [options.path])))
    console.close()
    return 0
