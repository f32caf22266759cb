"""The settings of a run, from the arguments of the commands that take them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from perflint import catalogue, config
from perflint.commands import CommandError
from perflint.settings import Settings


def resolve(options: argparse.Namespace, start: Path) -> Settings:
    """The settings for code in the directory ``start``, under what the command line says.

    Raises:
        CommandError: the configuration cannot be used, a rule is unknown, or the installation lacks the rule files.
    """
    overrides = {"select": options.select, "ignore": options.ignore, "extend-select": options.extend_select}
    overrides["min-confidence"] = options.min_confidence
    try:
        known = {code: rule.name for code, rule in catalogue.shipped().items()}
        return config.load(start, known=known, config=options.config, isolated=options.isolated, overrides=overrides)
    except (config.ConfigError, catalogue.CatalogueError) as error:
        raise CommandError(str(error)) from error


def common_directory(paths: Sequence[Path]) -> Path:
    """The deepest directory above all of ``paths``; their configuration is looked for from there upwards."""
    places = [path.absolute() if path.is_dir() else path.absolute().parent for path in paths]
    try:
        return Path(os.path.commonpath(places))
    except ValueError:  # on different drives
        return Path.cwd()
