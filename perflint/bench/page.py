"""The page of a bench report: its results, pictures, conditions, and all steps as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from perflint.bench import figures, pictures
from perflint.bench.figures import Verdict, number
from perflint.bench.notes import advice
from perflint.bench.results import BenchReport, Comparison, Variant
from perflint.bench.tuning import Tuned
from perflint.bench.web_page import STYLE, colour, conditions, document, markup, templates, two_widths
from perflint.text.visible import counted

_PARTS = templates(Path(__file__).with_name("bench_page.html"))
_WIDE, _CURVE, _HALF = 1080.0, 720.0, 520.0
_TONES = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.NO_GAIN: "none"}
_COMPARED = ("Ratio (95 % interval)", "Saved a step (95 % interval)", "Losses", "Verdict")
_HEADINGS = ("Variant", "ips", "batch_cost", "reader_cost", "Memory", *_COMPARED)
_STEPS = ("variant", "round", "step", "batch_s", "reader_s", "samples", "loss")


def page(report: BenchReport, *sections: str) -> str:
    """The whole page. All text from the report is escaped; paths that UTF-8 cannot hold are shown with backslashes.

    ``sections`` are parts of HTML to put above the table.
    """
    parts = (_opening(report), *sections, _results(report), *_pictures(report), _conditions(report), _numbers(report))
    return document(f"perflint bench: {report.script}", STYLE, parts, "perflint-bench", report.to_json())


def curve_section(report: BenchReport, tuned: Tuned) -> str:
    """A section about a tuned argument: the ips by its value; empty if nothing was measured."""
    drawn = two_widths(partial(pictures.curve, report, tuned), "curve", _CURVE)
    return _PARTS["curve"].substitute(name=markup(tuned.wanted.name), pictures=drawn) if drawn else ""


def _opening(report: BenchReport) -> str:
    last = figures.headline(report)
    lines = ['<p class="headline none">No fix was measured.</p>']
    if last is not None:
        tone = _TONES[figures.verdict(last)]
        lines = [f'<p class="headline {tone}">{markup(last.variant)}: {figures.sentence(last)}.</p>']
        if last.same_losses is False:
            lines.append('<p class="slower">The losses did not stay the same: look at what the fix changes.</p>')
    lines += [f"<p>{markup(note)}</p>" for note in (*report.notes, *advice(report))]
    script, date = markup(report.script), markup(report.date)
    return _PARTS["opening"].substitute(script=script, date=date, lines="\n".join(lines))


def _results(report: BenchReport) -> str:
    comparisons = figures.by_name(report)
    headings = "".join(f'<th scope="col" role="columnheader">{heading}</th>' for heading in _HEADINGS)
    rows = "".join(f"{_row(variant, comparisons.get(variant.name))}\n" for variant in report.variants)
    return _PARTS["results"].substitute(headings=headings, rows=rows)


def _row(variant: Variant, comparison: Comparison | None) -> str:
    fixes = variant.fixes or variant.places
    places = "".join(f"<li>{markup(place)}</li>" for place in fixes)
    listed = f"<ul>{places}</ul>" if len(fixes) > 1 or (variant.fixes and variant.fixes != [variant.name]) else ""
    cells = zip(_HEADINGS[1:], (*_measured(variant), *_compared(comparison)), strict=True)
    return _PARTS["variant"].substitute(
        name=f"<code>{markup(variant.name)}</code>{listed}",
        cells="".join(f'<td role="cell" class="n" data-label="{heading}">{cell}</td>' for heading, cell in cells),
    )


def _measured(variant: Variant) -> Iterator[str]:
    measured = figures.summary(variant)
    if measured is None:
        yield from ("not measured", "", "", "")
        return
    share = f"<small>{100 * measured.reader_share:.0f} % of the step</small>"
    for figure, after in ((measured.ips, ""), (measured.batch_ms, " ms"), (measured.reader_ms, " ms")):
        ends = f"<small>{figure.ends}</small>" if figure.ends else ""
        yield f"<span>{number(figure.mean)}{after}{ends}{share if figure is measured.reader_ms else ''}</span>"
    yield f"{number(measured.memory_mib)} MiB" if measured.memory_mib is not None else "not measured"


def _compared(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        yield from [""] * len(_COMPARED)
        return
    yield f"<span>{figures.ratio(comparison)}<small>{figures.interval(comparison)}</small></span>"
    milliseconds, _, around = figures.saved(comparison).partition(" (")
    yield f"<span>{milliseconds}<small>{around.rstrip(')')}</small></span>" if milliseconds else "not known"
    where = f"<small>{figures.difference(comparison)}</small>" if figures.difference(comparison) else ""
    tone = ' class="slower"' if comparison.same_losses is False else ""
    yield f"<span{tone}>{figures.losses(comparison)}{where}</span>"
    yield f'<strong class="{_TONES[figures.verdict(comparison)]}">{figures.verdict(comparison).value}</strong>'


def _pictures(report: BenchReport) -> Iterator[str]:
    """The sections with pictures, without those that have nothing to show."""
    ratios = two_widths(partial(pictures.forest, report), "ratio", _WIDE)
    if ratios:
        yield _PARTS["ratios"].substitute(pictures=ratios)
    steps = two_widths(partial(pictures.timeline, report), "steps", _WIDE)
    if steps:
        names = enumerate(markup(variant.name) for variant in report.variants)
        rows = (f'<li><span class="swatch {colour(index)}"></span>{name}</li>\n' for index, name in names)
        yield _PARTS["steps"].substitute(legend="".join(rows), pictures=steps)
    spread = two_widths(partial(pictures.distribution, report), "spread", _HALF)
    share = two_widths(partial(pictures.reader_share, report), "share", _HALF)
    if spread and share:
        yield _PARTS["summary"].substitute(spread=spread, share=share)


def _conditions(report: BenchReport) -> str:
    devices = sorted({run.device for variant in report.variants for run in variant.runs})
    rounds = counted(report.rounds, "round")
    known = conditions(
        "bench",
        report.script,
        report.arguments,
        machine=report.machine,
        device=", ".join(devices),
        versions=", ".join(f"{name} {version}" for name, version in report.versions.items()),
        measured=f"{counted(report.steps, 'step')} a run after {report.warmup} of warm-up, {rounds}",
    )
    return _PARTS["conditions"].substitute(facts=known)


def _numbers(report: BenchReport) -> str:
    headings = "".join(f'<th scope="col">{heading}</th>' for heading in _STEPS)
    rows: list[str] = []
    for variant in report.variants:
        for at, run in enumerate(variant.runs, 1):
            steps = zip(run.batch_s, run.reader_s, run.samples, run.losses, strict=False)
            for step, (batch, reader, samples, loss) in enumerate(steps, 1):
                shown = "" if loss is None else f"{loss:.6g}"
                cells = (markup(variant.name), at, step, f"{batch:.6f}", f"{reader:.6f}", samples, shown)
                rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n")
    return _PARTS["numbers"].substitute(headings=headings, rows="".join(rows))
