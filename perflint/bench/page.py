"""A bench report as one self-contained HTML page: no network, no script, and inline pictures.

The page's policy (Content-Security-Policy in a meta element) allows only its own style, by hash; the figures for
programs are in a block of JSON, which browsers do not run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from perflint.bench.figures import (
    Figures,
    Verdict,
    by_name,
    difference,
    figures,
    headline,
    interval,
    losses,
    number,
    ratio,
    saved,
    sentence,
    verdict,
)
from perflint.bench.labels import markup
from perflint.bench.notes import advice
from perflint.bench.pictures import distribution, forest, reader_share, timeline
from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.bench.style import STYLE
from perflint.bench.web_page import colour, data_block, head
from perflint.text.wording import counted

_WIDE, _NARROW, _HALF = 1080.0, 340.0, 520.0
_Draw = Callable[[BenchReport, str, float, str], str]
_TONES = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.NO_GAIN: "none"}


def page(report: BenchReport, *sections: str) -> str:
    """The whole page. All text from the report is escaped; paths that UTF-8 cannot hold are shown with backslashes.

    ``sections`` are parts of HTML to put above the table.
    """
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            *head(f"perflint bench: {report.script}", STYLE),
            "<body><main>",
            *_opening(report),
            *sections,
            *_results(report),
            *_ratios(report),
            *_over_time(report),
            *_summed_up(report),
            *_conditions(report),
            *_raw(report),
            data_block("perflint-bench", report.to_json()),
            "</main></body>",
            "</html>",
            "",
        )
    )


def _opening(report: BenchReport) -> Iterator[str]:
    yield f'<h1>{markup(report.script)}</h1><p class="dim">perflint bench, {markup(report.date)}</p>'
    last = headline(report)
    if last is not None:
        words = f"{markup(last.variant)}: {sentence(last)}."
        yield f'<p class="headline {_TONES[verdict(last)]}">{words}</p>'
        if last.same_losses is False:
            yield '<p class="slower">The losses did not stay the same: look at what the fix changes.</p>'
    else:
        yield '<p class="headline none">No fix was measured.</p>'
    yield from (f"<p>{markup(note)}</p>" for note in (*report.notes, *advice(report)))


def _results(report: BenchReport) -> Iterator[str]:
    compared = "Ratio (95 % interval)", "Saved a step (95 % interval)", "Losses", "Verdict"
    headings = ("Variant", "ips", "batch_cost", "reader_cost", "Memory", *compared)
    comparisons = by_name(report)
    yield '<h2>Results</h2><table class="results" role="table"><thead role="rowgroup"><tr role="row">'
    yield "".join(f'<th scope="col" role="columnheader">{heading}</th>' for heading in headings)
    yield '</tr></thead><tbody role="rowgroup">'
    for variant in report.variants:
        cells = zip(headings[1:], _cells(variant, comparisons.get(variant.name)), strict=True)
        yield f'<tr role="row"><th scope="row" role="rowheader">{_named(variant)}</th>'
        yield "".join(f'<td role="cell" class="n" data-label="{heading}">{cell}</td>' for heading, cell in cells)
        yield "</tr>"
    yield "</tbody></table>"
    yield '<p class="dim">ips is samples a second, the mean of the rounds; below it the slowest and the fastest round. '
    yield "batch_cost is the mean time of a step, reader_cost the part of it spent waiting for the loader. "
    yield "Memory is the peak of the training process (on a GPU: of what Paddle allocated there); worker "
    yield "processes of a loader are not included.</p>"


def _named(variant: Variant) -> str:
    fixes = variant.fixes or variant.places
    places = "".join(f"<li>{markup(place)}</li>" for place in fixes)
    listed = f"<ul>{places}</ul>" if len(fixes) > 1 or (variant.fixes and variant.fixes != [variant.name]) else ""
    return f"<code>{markup(variant.name)}</code>{listed}"


def _cells(variant: Variant, comparison: Comparison | None) -> Iterator[str]:
    measured = figures(variant)
    if measured is None:
        yield from ("not measured", "", "", "")
    else:
        yield f"<span>{number(measured.ips)}{_spread(measured, (measured.slowest, measured.fastest))}</span>"
        yield f"<span>{number(measured.batch_ms)} ms{_spread(measured, measured.batch_spread)}</span>"
        share = f"<small>{100 * measured.reader_share:.0f} % of the step</small>"
        yield f"<span>{number(measured.reader_ms)} ms{_spread(measured, measured.reader_spread)}{share}</span>"
        yield f"{number(measured.memory_mib)} MiB" if measured.memory_mib is not None else "not measured"
    if comparison is None:
        yield from ("", "", "", "")
        return
    yield f"<span>{ratio(comparison)}<small>{interval(comparison)}</small></span>"
    milliseconds, _, around = saved(comparison).partition(" (")
    yield f"<span>{milliseconds}<small>{around.rstrip(')')}</small></span>" if milliseconds else "not known"
    where = f"<small>{difference(comparison)}</small>" if difference(comparison) else ""
    tone = ' class="slower"' if comparison.same_losses is False else ""
    yield f"<span{tone}>{losses(comparison)}{where}</span>"
    yield f'<strong class="{_TONES[verdict(comparison)]}">{verdict(comparison).value}</strong>'


def _spread(measured: Figures, ends: tuple[float, float]) -> str:
    return f"<small>{number(ends[0])} to {number(ends[1])}</small>" if measured.rounds > 1 else ""


def _pictures(draw: _Draw, report: BenchReport, name: str, width: float = _WIDE) -> str:
    """A wide and a narrow version of a picture, of which the style shows one; empty for no picture."""
    return draw(report, f"{name}-wide", width, "wide") + draw(report, f"{name}-narrow", _NARROW, "narrow")


def _ratios(report: BenchReport) -> Iterator[str]:
    pictures = _pictures(forest, report, "ratio")
    if pictures:
        yield "<h2>Ratio of each fix</h2><figure><figcaption>The square is ips after the fix, over ips before it; the "
        yield "line is the 95 % interval. Where it crosses the dashed line at 1, no gain is measured.</figcaption>"
        yield f"{pictures}</figure>"


def _over_time(report: BenchReport) -> Iterator[str]:
    pictures = _pictures(timeline, report, "steps")
    if pictures:
        yield "<h2>Steps over time</h2><figure><figcaption>Each run's steps, their median as a line. In every round "
        yield "the variants stand in the order of the legend; a triangle is a step above the picture.</figcaption>"
        yield '<ul class="legend">'
        for index, variant in enumerate(report.variants):
            yield f'<li><span class="swatch {colour(index)}"></span>{markup(variant.name)}</li>'
        yield f"</ul>{pictures}</figure>"


def _summed_up(report: BenchReport) -> Iterator[str]:
    spread = _pictures(distribution, report, "spread", _HALF)
    share = _pictures(reader_share, report, "share", _HALF)
    if spread and share:
        yield '<div class="pair"><figure><h2>Step times</h2><figcaption>How many steps took how long; the line is the '
        yield f"median, and the last bar holds all that is longer.</figcaption>{spread}</figure>"
        yield "<figure><h2>Waiting for the loader</h2><figcaption>The solid part of a step is spent in the loader: "
        yield f"that is reader_cost.</figcaption>{share}</figure></div>"


def _conditions(report: BenchReport) -> Iterator[str]:
    command = shlex.join(["perflint", "bench", report.script, *(["--", *report.arguments] if report.arguments else [])])
    devices = sorted({run.device for variant in report.variants for run in variant.runs})
    facts = {
        "Command": f"<code>{markup(command)}</code>",
        "Machine": markup(report.machine),
        "Device": markup(", ".join(devices)),
        "Versions": markup(", ".join(f"{name} {version}" for name, version in report.versions.items())),
        "Measured": f"{counted(report.steps, 'step')} a run after {report.warmup} of warm-up, "
        f"{counted(report.rounds, 'round')}",
    }
    yield "<h2>How it was measured</h2><p>perflint copied the project, applied the fixes to the copy, and ran the "
    yield "script with and without them in turn. The two runs of a round meet the same machine, so what counts is the "
    yield "ratio of their ips; the interval comes from how much these ratios differ from round to round (Student's t)."
    yield "</p><dl>"
    yield "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items() if value)
    yield "</dl>"


def _raw(report: BenchReport) -> Iterator[str]:
    headings = ("variant", "round", "step", "batch_s", "reader_s", "samples", "loss")
    yield "<details><summary>All steps as numbers</summary>"
    yield '<div class="scroll" tabindex="0" role="region" aria-label="All steps"><table><thead><tr>'
    yield "".join(f'<th scope="col">{heading}</th>' for heading in headings) + "</tr></thead><tbody>"
    for variant in report.variants:
        for at, run in enumerate(variant.runs):
            steps = zip(run.batch_s, run.reader_s, run.samples, run.losses, strict=False)
            for step, (batch, reader, samples, loss) in enumerate(steps):
                cells = (
                    at + 1,
                    step + 1,
                    f"{batch:.6f}",
                    f"{reader:.6f}",
                    samples,
                    "" if loss is None else f"{loss:.6g}",
                )
                row = "".join(f"<td>{cell}</td>" for cell in cells)
                yield f"<tr><td>{markup(variant.name)}</td>{row}</tr>"
    yield "</tbody></table></div></details>"
