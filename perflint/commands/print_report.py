"""Shows what ``perflint check`` found, changed, or could not do, in the places and formats that the options name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from perflint import catalogue
from perflint.commands import CommandError, as_command_error
from perflint.commands.read_files import STDIN, Batch, reads_imports_only
from perflint.configuration.settings import Settings
from perflint.files.plain_files import outside, project_around
from perflint.files.writing import is_stream, write_whole
from perflint.inputs.projects import importer_of
from perflint.output import formats, summary
from perflint.output.console import Console, terminal_width
from perflint.output.formats import FOR_PEOPLE
from perflint.output.report import Report
from perflint.run import discovery
from perflint.run.discovery import first_python_files
from perflint.stopwatch import phase
from perflint.text.visible import Palette, palette, visible, visible_path

if TYPE_CHECKING:
    from perflint.ranking.shares import Profiled


@phase("output")
def print_findings(
    options: argparse.Namespace,
    report: Report,
    closing: str,
    console: Console,
    more: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> None:
    """Show the findings or their statistics and then, in formats for people, the lines about what was ``fixed``, the
    closing line and ``more`` lines.

    Raises:
        CommandError: a file cannot be written; everything else has then been shown and written.
    """
    # The new text of standard input goes to standard output, so the findings cannot go there too.
    aside = (options.fix or options.add_noqa is not None) and (options.stdin_filename or STDIN in options.paths)
    lost = []
    for output in wanted_outputs(options):
        shown = output.place == STANDARD
        stream = sys.stderr if aside else sys.stdout
        colours = palette(stream, options.color) if shown else Palette()
        width = terminal_width(stream) if shown else None
        chunks = _rendered(options, replace(report, palette=colours, width=width), output)
        if output.format in formats.FOR_PEOPLE and not options.quiet:
            is_whole = output.format == "full" and not (options.statistics and output.main)
            last = [*fixed, closing, summary.explained(report) if is_whole else "", *(more if shown else ())]
            chunks = _ended(chunks, last, width)
        if shown:
            for chunk in chunks:
                (console.write_aside if aside else console.write)(chunk)
        else:
            try:
                write_whole(Path(output.place), "".join(chunks).encode("utf-8", "surrogateescape"))
            except OSError as error:
                lost.append(f"{output.option} cannot be written: {error.strerror or error}")
        if not options.quiet:
            for line in formats.shortcomings(output.format, report):
                console.note(f"warning: {line}")
    if lost:
        raise CommandError("; ".join(lost))


def _rendered(options: argparse.Namespace, report: Report, output: Output) -> Iterator[str]:
    render = formats.renderer(output.format)
    by = grouping(options, report)
    if not output.main or not (options.statistics or by != "none"):
        return render(report)
    from perflint.output import grouped

    if not options.statistics:
        if by == grouped.BY_STEP:
            return grouped.render_steps(report, render, is_whole=options.group_by is not None)
        return grouped.render_groups(report, by, render)
    return grouped.render_counts_json(report) if output.format == "json" else grouped.render_counts(report)


def grouping(options: argparse.Namespace, report: Report) -> str:
    """How the main report groups the findings: as the option says; otherwise by step, unless a profile ranks them."""
    is_full = any(each.main and each.format == "full" for each in wanted_outputs(options))
    return options.group_by or ("step" if is_full and report.ranking is None else "none")


def _ended(chunks: Iterator[str], closing: list[str], width: int | None) -> Iterator[str]:
    """The report and its last lines, wrapped between words for a terminal of this width."""
    yield from chunks
    for line in filter(None, closing):
        text = visible(line)
        if width is not None:
            indent = " " * (len(text) - len(text.lstrip(" ")) + 2)
            text = fill(text, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        yield text + "\n"


# -- the outputs ------------------------------------------------------------------------------------------------------

STANDARD = "-"
WITH_STATISTICS = (*FOR_PEOPLE, "json")


@dataclass(frozen=True)
class Output:
    """One report: a format, and a place to write it to (a path, or ``-`` for standard output).

    ``option`` is the option that the user gave, for error messages. One output of a run is the ``main`` one, which
    shows statistics if requested.
    """

    format: str
    place: str
    option: str
    main: bool = False


def wanted_outputs(options: argparse.Namespace) -> list[Output]:
    """All outputs of a run, with the one for standard output first.

    An ``--output`` to ``-`` replaces the usual report on standard output.

    Raises:
        CommandError: two outputs have the same place, a place cannot be written, or another option rules them out.
    """
    outputs = [Output(name, place, f"--output {name}:{place}") for name, place in options.output]
    taken = next((output for output in outputs if output.place == STANDARD), None)
    if taken is not None and not options.output_format and not options.output_file:
        outputs[outputs.index(taken)] = replace(taken, main=True)
    else:
        name, file = options.output_format or "full", options.output_file
        option = f"--output-file {file}" if file else f"--output-format {name}"
        outputs.append(Output(name, str(file or STANDARD), option, main=True))
    _refuse(options, outputs)
    return sorted(outputs, key=lambda output: output.place != STANDARD)


def _refuse(options: argparse.Namespace, outputs: list[Output]) -> None:
    if options.diff and options.output:
        raise CommandError(
            "--diff shows what --fix would change and reports no findings, so there is nothing to write with --output: "
            "leave out one of the two"
        )
    has_groups = options.group_by not in (None, "none")
    for output in outputs:
        if has_groups and output.main and (options.statistics or output.format not in FOR_PEOPLE):
            what = "--statistics" if options.statistics else output.option
            raise CommandError(f"{what} cannot show groups: leave out --group-by, or use {' or '.join(FOR_PEOPLE)}")
        if options.statistics and output.main and output.format not in WITH_STATISTICS:
            raise CommandError(
                f"{output.option} cannot show statistics: use {', '.join(WITH_STATISTICS[:-1])} or "
                f"{WITH_STATISTICS[-1]}; --output FORMAT:FILE writes the findings to a file as well"
            )
    _refuse_places(outputs)


def _refuse_places(outputs: list[Output]) -> None:
    seen: dict[str, Output] = {}
    for output in outputs:
        place = output.place if output.place == STANDARD else os.path.realpath(output.place)
        if place in seen:
            what = "standard output" if place == STANDARD else "one file"
            raise CommandError(f"{seen[place].option} and {output.option} both write to {what}: use different ones")
        seen[place] = output
        if output.place != STANDARD:
            _refuse_place(output)


def _refuse_place(output: Output) -> None:
    """Raise an error for a place that cannot be written, before a long check instead of after it."""
    path = Path(output.place)
    is_new = suppress(FileNotFoundError, NotADirectoryError)
    with as_command_error(OSError, place=f"{output.option} cannot be written: "), is_new:  # a name may be too long
        path.stat()
    if path.is_dir():
        raise CommandError(f"{output.option} cannot be written: {path} is a directory: name a file in it")
    insist_inside(output.option, path)
    # for example --output-file train.py, where the output file was forgotten
    if path.suffix == discovery.SUFFIX and path.exists():
        raise CommandError(f"{output.option} would replace {path}, which is Python code: name another file")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{output.option} cannot be written: there is no directory {path.parent}: create it first")


def insist_inside(option: str, path: Path) -> None:
    """Raise an error if a path in a project leads out of it through a link, which anybody may have committed.

    Raises:
        CommandError: it does; the user can name the outside path directly.
    """
    elsewhere = None if is_stream(path) else outside(path, project_around(path))
    if elsewhere is not None:
        raise CommandError(
            f"{option} would write {elsewhere}, which is outside of the project: {path} leads there through a link. "
            f"Remove the link, or name {elsewhere} itself"
        )


# -- --profile --------------------------------------------------------------------------------------------------------

_NO_REPORT = (("diff", "--diff"), ("add_noqa", "--add-noqa"), ("write_baseline", "--write-baseline"))


def given_profiles(options: argparse.Namespace, settings: Settings, console: Console) -> list[Profiled]:
    """The profiles of a run: those given on the command line, or else the one in the configuration.

    Raises:
        CommandError: a profile cannot be used, or another option leaves nothing to rank.
    """
    named = options.profile
    _refuse_profile_options(options, bool(named or settings.profile))
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


def ranked_report(
    options: argparse.Namespace, report: Report, profiles: Sequence[Profiled], console: Console
) -> Report:
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


def _refuse_profile_options(options: argparse.Namespace, has_profile: bool) -> None:
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

    with (
        as_command_error(UnusableProfile, place=f"{place} cannot be used as a profile: "),
        as_command_error(OSError, ValueError, place=f"{place} cannot be read: "),
    ):
        status = path.stat()
        return _read(path, name, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, name: str, *_: int) -> Profiled:
    """The profile, read once for all checks of ``--watch``; other stamp values mean that the file has changed."""
    from perflint.ranking.profile_files import open_profile

    return open_profile(path, name)


# -- why nothing was found --------------------------------------------------------------------------------------------

_MOST = 5000
"""How many files are looked at: a check of one file should not take as long as one of a large repository."""


def remark_on_callers(paths: list[Path], batch: Batch) -> str:
    """A sentence for the end of a report without findings, after a space; empty if no such file is found.

    They are searched for in the current directory, because that is the one to name.

    Args:
        paths: those on the command line.
        batch: what was read for them.

    Example: ``" train.py imports it and was not read: add --context ."``
    """
    here = Path.cwd()
    named = [Path(path) for path in batch.shown().sources]
    if not paths or STDIN in paths or not reads_imports_only(paths, batch.settings):
        return ""
    if here in (Path.home(), Path(here.anchor)) or not all(path.absolute().is_relative_to(here) for path in named):
        return ""
    others = [path for path in first_python_files(Path(), batch.settings, _MOST) if str(path) not in batch.sources]
    found = importer_of(named, others, here)
    if found is None:
        return ""
    what = "it" if len(named) == 1 else "one of them"
    return f" {visible_path(str(found))} imports {what} and was not read: add --context ."
