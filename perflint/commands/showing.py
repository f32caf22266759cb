"""Shows what ``perflint check`` found, changed, or could not do, where and how the options ask."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from perflint.commands import REPORT_TO, CommandError
from perflint.fixer import FixOutcome
from perflint.output import concise, diff, full, statistics
from perflint.output import json as json_output
from perflint.output.colour import Palette, wants_colour
from perflint.output.console import Console
from perflint.output.report import Report
from perflint.source import Source

_RENDERERS: Mapping[str, Callable[[Report], Iterator[str]]] = {
    "full": full.render,
    "concise": concise.render,
    "json": json_output.render,
}


def findings(options: argparse.Namespace, report: Report, closing: str, console: Console) -> None:
    """The findings or their statistics, then the closing line (in JSON nothing but JSON).

    Raises:
        CommandError: ``--output-file`` cannot be written.
    """
    # The new text of standard input goes to standard output, so the findings cannot.
    aside = (options.fix or options.add_noqa is not None) and _is_piped(options)
    colour = not options.output_file and wants_colour(sys.stderr if aside else sys.stdout)
    chunks = _rendered(options, replace(report, palette=Palette(colour)))
    if options.output_format != "json" and not options.quiet:
        chunks = _ended(chunks, closing)
    if options.output_file:
        _to_file(options.output_file, chunks)
        return
    for chunk in chunks:
        (console.write_aside if aside else console.write)(chunk)


def changes(
    options: argparse.Namespace, before: Mapping[str, Source], after: Mapping[str, Source], console: Console
) -> None:
    """A unified diff of each file of ``after``, for people on a terminal and for ``patch`` elsewhere."""
    palette = Palette(wants_colour(sys.stdout))
    for path in sorted(after):
        lines = diff.unified(before[path], after[path])
        if palette.enabled:
            console.write("".join(diff.paint(lines, palette)))
        else:
            console.write_bytes(diff.encode(lines, before[path]))


def shortcomings(outcome: FixOutcome, console: Console) -> None:
    """What fixing could not do, a line each."""
    for rejected in outcome.rejected:
        what = f"{rejected.path}: the fix for {', '.join(rejected.codes)} was not made: {rejected.reason}"
        if rejected.bug:
            console.note(f"error: {what}. This is a bug in perflint: please report it, with the file, at {REPORT_TO}")
        else:
            console.note(f"warning: {what}")
    if not outcome.settled:
        console.note("warning: there is more to fix: run the same command again")


def _is_piped(options: argparse.Namespace) -> bool:
    return bool(options.stdin_filename) or Path("-") in options.paths


def _rendered(options: argparse.Namespace, report: Report) -> Iterator[str]:
    if not options.statistics:
        return _RENDERERS[options.output_format](report)
    return statistics.render_json(report) if options.output_format == "json" else statistics.render(report)


def _ended(chunks: Iterator[str], closing: str) -> Iterator[str]:
    yield from chunks
    yield closing + "\n"


def _to_file(path: Path, chunks: Iterator[str]) -> None:
    try:
        with path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(chunks)
    except OSError as error:
        raise CommandError(f"--output-file {path} cannot be written: {error.strerror or error}") from error
