"""A bench report for the terminal: one row for each variant, or one block if the terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perflint.bench import figures
from perflint.bench.figures import Figures, Verdict, folded, number, padded, sentence, shortened, width
from perflint.bench.notes import advice
from perflint.bench.results import BenchReport, Comparison
from perflint.text.visible import Palette, listed, visible, visible_line

_HEADINGS = (
    *("", "ips", "(rounds)", "batch_cost", "reader_cost", "memory"),
    *("ratio", "(95 % interval)", "saved per step", "losses", ""),
)
_MEASURED = 6
"""How many of these columns describe a single variant; the others compare it."""
_LOSSES, _VERDICT = 9, 10
_TO_THE_RIGHT = frozenset({1, 3, 4, 5, 6})
_GAP = "  "
_NARROWEST = 20
"""The least width of a name; it fits a code and a line number."""
_LISTED = 5
"""How many fixes of a variant are named; the others are only counted."""


def table(report: BenchReport, columns: int, palette: Palette | None = None) -> str:
    """The report as lines of at most ``columns`` columns if the figures allow it.

    Paths that are too long lose their middle. If there is no room for all columns, the comparisons are sentences below;
    if there is none for the others either, each variant gets a block.
    """
    palette = palette or Palette()
    rows = _rows(report, True), _rows(report, False)
    lines = next(filter(None, (_aligned(each, columns, report, palette) for each in rows)), [])
    if not lines:
        shorter = ([row[:_MEASURED] for row in each] for each in rows)
        lines = next(filter(None, (_aligned(each, columns, report, palette) for each in shorter)), [])
        lines += _sentences(report, columns, palette) if lines else _blocks(report, rows[0], columns, palette)
    notes = [*report.notes, *advice(report)]
    for texts in (_meanings(report, columns), notes):
        lines += [""] * bool(texts)
        lines += [visible_line(line) for text in texts for line in folded(visible(text), columns, "")]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _rows(report: BenchReport, spread: bool) -> list[Sequence[str]]:
    """The headings and a row for each variant, with the spread of the ips and, if wanted, of the costs."""
    comparisons = figures.by_name(report)
    rows: list[Sequence[str]] = [_HEADINGS]
    for variant in report.variants:
        measured = figures.summary(variant)
        if measured is None:
            rows.append((visible(variant.name), "not measured", *[""] * (len(_HEADINGS) - 2)))
            continue
        memory = "" if measured.memory_mib is None else f"{number(measured.memory_mib)} MiB"
        rounds = f"({measured.ips.ends or 'one round'})"
        cells = (number(measured.ips.mean), rounds, *_costs(measured, spread), memory)
        rows.append((visible(variant.name), *cells, *_compared(comparisons.get(variant.name))))
    return rows


def _compared(comparison: Comparison | None) -> Sequence[str]:
    if comparison is None:
        return [""] * (len(_HEADINGS) - _MEASURED)
    return (
        figures.ratio(comparison),
        f"({figures.interval(comparison)})",
        figures.saved(comparison),
        figures.losses(comparison),
        figures.verdict(comparison).value,
    )


def _costs(measured: Figures, spread: bool) -> Iterator[str]:
    """batch_cost and reader_cost, with those of the fastest and the slowest round if there are several."""
    for cost in (measured.batch_ms, measured.reader_ms):
        yield f"{number(cost.mean)} ms" + (f" ({cost.ends})" if spread and cost.ends else "")


def _aligned(rows: Sequence[Sequence[str]], columns: int, report: BenchReport, palette: Palette) -> list[str]:
    """The rows aligned in columns, beginning with the headings; no lines if names would be cut too short."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    names = min(widths[0], columns - sum(widths[1:]) - len(_GAP) * (len(widths) - 1))
    if names < min(widths[0], _NARROWEST):
        return []
    widths[0] = names
    comparisons = figures.by_name(report)
    lines = [palette.frame(_GAP.join(_padded(rows[0], widths)).rstrip())]
    for row, variant in zip(rows[1:], report.variants, strict=True):
        cells = _padded((shortened(row[0], names), *row[1:]), widths)
        cells[0] = palette.bold(cells[0])
        comparison = comparisons.get(variant.name)
        if comparison is not None and len(cells) > _VERDICT:
            cells[_VERDICT] = _painted(cells[_VERDICT].rstrip(), comparison, palette)
            if comparison.same_losses is False:
                cells[_LOSSES] = palette.removed(cells[_LOSSES])
        lines.append(_GAP.join(cells))
    return lines


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [padded(cell, room, at in _TO_THE_RIGHT) for at, (cell, room) in enumerate(zip(row, widths, strict=True))]


def _sentences(report: BenchReport, columns: int, palette: Palette) -> Iterator[str]:
    for comparison in report.comparisons:
        yield ""
        yield palette.bold(shortened(comparison.variant, columns))
        for line in folded(f"{sentence(comparison)}, losses {_losses(comparison)}", columns, "  "):
            yield _painted(line, comparison, palette)


def _blocks(report: BenchReport, rows: Sequence[Sequence[str]], columns: int, palette: Palette) -> Iterator[str]:
    comparisons = figures.by_name(report)
    for variant, row in zip(report.variants, rows[1:], strict=True):
        yield palette.bold(shortened(variant.name, max(columns, _NARROWEST)))
        comparison = comparisons.get(variant.name)
        if comparison is not None:
            for line in folded(sentence(comparison), columns, "  "):
                yield _painted(line, comparison, palette)
        losses = "" if comparison is None else _losses(comparison)
        costs = zip(_HEADINGS[3:_MEASURED], row[3:_MEASURED], strict=True)
        for label, value in (("ips", f"{row[1]} {row[2]}"), *costs, ("losses", losses)):
            if value:
                yield from folded(f"{label:<13}{value}".rstrip(), columns, "  ")


def _losses(comparison: Comparison) -> str:
    return f"{figures.losses(comparison)} {figures.difference(comparison)}".rstrip()


def _painted(text: str, comparison: Comparison, palette: Palette) -> str:
    """A text in the colour of a verdict."""
    colours = {Verdict.FASTER: palette.added, Verdict.SLOWER: palette.removed, Verdict.NO_GAIN: palette.level}
    return colours[figures.verdict(comparison)](text)


def _meanings(report: BenchReport, columns: int) -> list[str]:
    """The fixes of variants whose names do not show them, if no other variant is named after them."""
    names = {variant.name for variant in report.variants}
    room = max(columns - len(_GAP), _NARROWEST)
    return [
        f"{item.name}: {listed([shortened(fix, room) for fix in item.fixes], _LISTED)}"
        for item in report.variants
        if any(fix not in names and fix != item.name for fix in item.fixes)
    ]
