"""``perflint check --profile``: reads profiles, and sorts the findings of a report by the time they can save."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from perflint import catalogue
from perflint.commands import CommandError
from perflint.configuration.settings import Settings
from perflint.output.console import Console
from perflint.output.report import Report

if TYPE_CHECKING:
    from perflint.ranking.shares import Profiled

_NO_REPORT = (("diff", "--diff"), ("add_noqa", "--add-noqa"), ("write_baseline", "--write-baseline"))


def given(options: argparse.Namespace, settings: Settings, console: Console) -> list[Profiled]:
    """The profiles of a run: those given on the command line, or else the one in the configuration.

    Raises:
        CommandError: a profile cannot be used, or another option leaves nothing to rank.
    """
    named = options.profile
    _refuse(options, bool(named or settings.profile))
    if named:
        return [_opened(path, f"--profile {path}", str(path)) for path in named]
    path = settings.root / settings.profile if settings.profile else None
    if path is None or any(_is_given(options, attribute) for attribute, _ in _NO_REPORT):
        return []
    if not os.path.lexists(path):
        if not options.quiet:
            console.note(
                f"warning: the profile {path}, which the configuration names, does not exist: findings are not ranked"
            )
        return []
    return [_opened(path, f"profile ({settings.origins['profile']}): {path}", settings.profile)]


def ranked(options: argparse.Namespace, report: Report, profiles: Sequence[Profiled], console: Console) -> Report:
    """A report with its findings sorted by what they can save; unchanged if there is no profile."""
    if not profiles:
        return report
    from perflint.ranking.ranked import rank

    ranking = rank(profiles, report.findings, report.sources, catalogue.shipped(), options.min_share or 0.0)
    if not options.quiet:
        for profile in profiles:
            console.note(f"note: {profile.described}")
        for line in ranking.notes:
            console.note(f"warning: {line}")
    return replace(report, findings=ranking.in_order(), ranking=ranking)


def _refuse(options: argparse.Namespace, has_profile: bool) -> None:
    """Raise an error if there would be nothing to rank or to hide."""
    if options.min_share is not None and not has_profile:
        raise CommandError("--min-share needs a profile: name one with --profile FILE")
    if options.min_share is not None and options.fix:
        raise CommandError(
            "--min-share hides findings from a report, but --fix would still fix them: leave out one of the two"
        )
    for attribute, option in _NO_REPORT:
        if (options.profile or options.min_share is not None) and _is_given(options, attribute):
            raise CommandError(
                f"--profile ranks the findings of a report, and {option} shows none: leave out one of the two"
            )


def _is_given(options: argparse.Namespace, attribute: str) -> bool:
    return getattr(options, attribute) not in (None, False)


def _opened(path: Path, place: str, name: str) -> Profiled:
    from perflint.ranking.shares import UnusableProfile

    try:
        status = path.stat()
        return _read(path, name, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError) as error:
        raise CommandError(f"{place} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except UnusableProfile as error:
        raise CommandError(f"{place} cannot be used as a profile: {error}") from error


@lru_cache(maxsize=8)
def _read(path: Path, name: str, *_: int) -> Profiled:
    """The profile, read once for all checks of ``--watch``; other stamp values mean that the file has changed."""
    from perflint.ranking.profile_files import open_profile

    return open_profile(path, name)
