"""The settings of a run, from the command line and the configuration."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from perflint import catalogue
from perflint.commands import CommandError
from perflint.configuration import config_files
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings
from perflint.stopwatch import phase


@phase("settings")
def resolve(options: argparse.Namespace, paths: Sequence[Path]) -> Settings:
    """The settings for the code in ``paths``, with the options of the command line.

    Raises:
        CommandError: the configuration cannot be used, a rule is unknown, or the installation lacks the rule files.
    """
    overrides = {"select": options.select, "ignore": options.ignore, "extend-select": options.extend_select}
    overrides["exclude"] = options.exclude
    overrides["extend-exclude"] = options.extend_exclude
    overrides["min-confidence"] = options.min_confidence
    overrides["min-impact"] = options.min_impact
    context: list[Path] | None = options.context
    if context is not None:
        overrides["context"] = [str(path.absolute()) for path in context]
    start = common_directory([*paths, *(context or ())])
    return _loaded(start, options.config, options.config_pairs, options.isolated, overrides)


def configured(path: Path) -> Settings:
    """The settings for the code in a file, from its configuration alone.

    Raises:
        CommandError: the configuration cannot be used, or the installation lacks the rule files.
    """
    return _loaded(common_directory([path]))


def _loaded(
    start: Path,
    config: Path | None = None,
    pairs: Sequence[str] = (),
    isolated: bool = False,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    try:
        known = catalogue.selectors(catalogue.shipped())
        return config_files.load(start, known=known, config=config, pairs=pairs, isolated=isolated, overrides=overrides)
    except ConfigError as error:
        first, *others = error.problems
        raise CommandError(first, [f"perflint: {problem}" for problem in others]) from error
    except catalogue.CatalogueError as error:
        raise CommandError(str(error)) from error


def context_paths(settings: Settings) -> list[Path]:
    """The paths of the context, relative to the current directory."""
    return [_spelled(os.path.normpath(settings.root / entry), settings.root) for entry in settings.context]


def _spelled(path: str, root: Path) -> Path:
    here = Path.cwd()
    try:
        relative = Path(os.path.relpath(path, here))
    except ValueError:  # the paths are on different drives
        return Path(path)
    return relative if ".." not in relative.parts or here.is_relative_to(root) else Path(path)


def common_directory(paths: Sequence[Path]) -> Path:
    """The deepest directory above all of ``paths``; the search for their configuration starts there."""
    # isdir, because it does not raise if a name is too long
    places = [path.absolute() if os.path.isdir(path) else path.absolute().parent for path in paths]  # noqa: PTH112
    try:
        return Path(os.path.commonpath(places))
    except ValueError:  # the paths are on different drives
        return Path.cwd()
