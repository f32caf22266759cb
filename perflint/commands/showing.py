"""Shows what ``perflint check`` found, changed, or could not do, in the places and formats that the options name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill

from perflint import REPORT_TO
from perflint.commands import CommandError, outputs
from perflint.fix.fixer import FixOutcome
from perflint.output import formats, summary
from perflint.output.console import Console, terminal_width
from perflint.output.report import Report
from perflint.stopwatch import phase
from perflint.text.source import Source
from perflint.text.visible import Palette, palette, visible


@phase("output")
def findings(
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
    aside = (options.fix or options.add_noqa is not None) and _is_piped(options)
    lost = []
    for output in outputs.wanted(options):
        shown = output.place == outputs.STANDARD
        stream = sys.stderr if aside else sys.stdout
        colours = palette(stream, options.color) if shown else Palette()
        width = terminal_width(stream) if shown else None
        chunks = _rendered(options, replace(report, palette=colours, width=width), output)
        if output.format in formats.FOR_PEOPLE and not options.quiet:
            is_whole = output.format == "full" and not (options.statistics and output.main)
            last = [*fixed, closing, summary.explained(report) if is_whole else "", *(more if shown else ())]
            chunks = _ended(chunks, last, width)
        if not shown:
            lost += _written(output, chunks)
        else:
            for chunk in chunks:
                (console.write_aside if aside else console.write)(chunk)
        if not options.quiet:
            for line in formats.shortcomings(output.format, report):
                console.note(f"warning: {line}")
    if lost:
        raise CommandError("; ".join(lost))


def changes(
    options: argparse.Namespace,
    before: Mapping[str, Source],
    after: Mapping[str, Source],
    console: Console,
    outcome: FixOutcome | None = None,
) -> None:
    """A unified diff of each file of ``after``: for people, and for ``patch``.

    Args:
        options: the arguments.
        before: the files as they are.
        after: the files that would be written.
        console: where the diff goes.
        outcome: the findings whose edits these are; the diff then says above each file what it repairs.
    """
    from perflint.output import diff
    from perflint.output.diff_reasons import reasons

    colours = palette(sys.stdout, options.color)
    for path in sorted(after):
        lines = diff.unified(before[path], after[path])
        why = list(reasons(outcome, before[path])) if outcome is not None else []
        if colours.enabled or sys.stdout.isatty():
            console.write("".join([*map(colours.frame, why), *diff.paint(lines, colours)]))
        else:
            console.write_bytes("".join(why).encode("utf-8", "surrogateescape") + diff.encode(lines, before[path]))


def shortcomings(outcome: FixOutcome, console: Console) -> None:
    """Report what fixing could not do, one line each."""
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


def _rendered(options: argparse.Namespace, report: Report, output: outputs.Output) -> Iterator[str]:
    if not (options.statistics and output.main):
        render = formats.renderer(output.format)
        if options.group_by == "none" or not output.main:
            return render(report)
        from perflint.output import groups

        return groups.render(report, options.group_by, render)
    from perflint.output import rule_counts

    return rule_counts.render_json(report) if output.format == "json" else rule_counts.render(report)


def _written(output: outputs.Output, chunks: Iterator[str]) -> list[str]:
    """Write a file; return what went wrong, if anything."""
    try:
        output.write(chunks)
    except CommandError as error:
        return [str(error)]
    return []


def _ended(chunks: Iterator[str], closing: list[str], width: int | None) -> Iterator[str]:
    """The report and its last lines, wrapped between words for a terminal of this width."""
    yield from chunks
    for line in filter(None, closing):
        text = visible(line)
        if width is not None:
            text = fill(
                text, max(width, 20), subsequent_indent=_indented(text), break_long_words=False, break_on_hyphens=False
            )
        yield text + "\n"


def _indented(text: str) -> str:
    """The blanks before a text, and two more."""
    return " " * (len(text) - len(text.lstrip(" ")) + 2)
