"""Notes that are printed with the figures of a measurement: what is odd about it, left out, or could not be shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from perflint import REPORT_TO, catalogue
from perflint.bench.figures import Verdict, by_name, least_seen, shortened, times, verdict
from perflint.bench.results import (
    BEFORE,
    BenchReport,
    Comparison,
    Rounds,
    Variant,
    difference_in_words,
    largest_difference,
)
from perflint.bench.variants import Fixes, has_edit
from perflint.findings import Finding, Level
from perflint.text.visible import counted, listed

_WORTH = 0.05
"""A gain that is worth more rounds, if the rounds that were run could not have shown it."""
_SHOWN = 5
"""How many variants, or files, are named; the others are only counted."""
_PLACES = 3
"""How many places of each kind of finding are named."""
_NAME = 36
"""The width of a name."""


def advice(report: BenchReport) -> list[str]:
    """Sentences to print below the figures."""
    return [*_events(report), *_more_rounds(report)]


def _more_rounds(report: BenchReport) -> Iterator[str]:
    """If no gain was measured: which gains could have been seen, and how to see smaller ones."""
    hidden = {
        item.variant: least_seen(item)
        for item in report.comparisons
        if verdict(item) is Verdict.NO_GAIN and 1 + _WORTH < least_seen(item) < math.inf
    }
    if not hidden:
        return
    each = [f"{times(least)} or more of {shortened(name, _NAME)}" for name, least in hidden.items()]
    # The width decreases with the square root of the number of rounds.
    rounds = math.ceil(report.rounds * (math.log(max(hidden.values())) / math.log1p(_WORTH)) ** 2)
    yield (
        f"No gain measured does not mean that there is none: these {counted(report.rounds, 'round')} could only have "
        f"shown {listed(each, _SHOWN)}. To see {times(1 + _WORTH)}, ask for --until {100 * _WORTH:g}%, or for "
        f"--rounds {rounds}, if the runs keep differing this much."
    )


def _events(report: BenchReport) -> Iterator[str]:
    """What the saved milliseconds mean if a fix has removed one event from each step."""
    found = by_name(report)
    for variant in report.variants:
        comparison = found.get(variant.name)
        if not variant.event or comparison is None or comparison.saved_ms is None:
            continue
        if verdict(comparison) is Verdict.FASTER:
            yield (
                f"{variant.fixes[0]} is about {variant.event}, once a step: the time saved per step is what one costs "
                "here, minus what the fix itself costs."
            )


def of_failures(errors: Iterable[Exception]) -> list[str]:
    """The variants that could not be measured, and why."""
    return [f"Left out: {str(error).splitlines()[0]}" for error in errors]


def of_time(stop: Rounds, rounds: int, comparisons: Sequence[Comparison]) -> list[str]:
    """A note if the time limit ended the rounds early."""
    if stop.until is None:
        cut = rounds < stop.least
        return [f"The time limit was reached after {rounds} of {stop.least} rounds: those are compared."] if cut else []
    widest = max((least_seen(item) for item in comparisons), default=1.0) - 1
    if widest <= stop.until * (1 + 1e-9):
        return []
    return [
        f"The time limit was reached after {counted(rounds, 'round')}, before all intervals were within "
        f"{100 * stop.until:g} %: the widest reaches {100 * widest:.2g} % above its ratio."
    ]


def of_steps(wanted: int, variants: Sequence[Variant]) -> list[str]:
    """A note if the script made fewer steps than requested."""
    made = min(len(run.batch_s) for variant in variants for run in variant.runs)
    return [f"The script made {made} of the {wanted} steps to be measured."] if made < wanted else []


def of_losses(before: Variant, others: Sequence[Variant], comparisons: Sequence[Comparison]) -> list[str]:
    """Notes on where losses differ, or why nothing is known about them."""
    if all(loss is None for run in before.runs for loss in run.losses):
        return ["No loss was seen, so whether the losses stay the same is not known."]
    if any(item.same_losses is None for item in comparisons):
        first = before.runs[0]
        unchanged = "as it is" if before.name == BEFORE else f"in {before.name}"
        names = ", ".join(other.name for other in others)
        compared = "with fixes" if any(other.codes for other in others) else f"in {names}"
        alone = largest_difference(first, before.runs[1:])
        fixed = largest_difference(first, [run for other in others for run in other.runs])
        return [
            "The script gives other losses each time it runs, so a fix cannot be told to change them: "
            f"{unchanged} they differ by {difference_in_words(alone)} between runs, "
            f"and {compared} by {difference_in_words(fixed)} from the first run."
        ]
    codes = {variant.name: variant.codes for variant in others}
    return [_differing(item, before.name, codes[item.variant]) for item in comparisons if item.same_losses is False]


def _differing(item: Comparison, before: str, codes: Sequence[str]) -> str:
    by = "" if item.differ_by is None else f", by {difference_in_words(item.differ_by)}"
    says = f"{item.variant}: the losses differ from {before} from measured step {item.differ_from} on{by}."
    return f"{says} {_explanation(codes)}".rstrip()


def _explanation(codes: Sequence[str]) -> str:
    """Which fixes may change losses; if none of them may, it is a bug in perflint."""
    rules = [catalogue.shipped()[code] for code in codes]
    unsafe = [f"{rule.code} ({rule.fix_reason})" for rule in rules if rule.fix_level is not Level.SAFE]
    if unsafe:
        return f"That can come from {', '.join(unsafe)}."
    return f"Safe fixes must not do that: please report it at {REPORT_TO}." if codes else ""


def of_files(linked: Sequence[str], written: Sequence[str]) -> list[str]:
    """Notes on which files were linked, and which the script has changed through a link."""
    found = [f"Linked into the copies rather than copied: {listed(linked, _SHOWN)}."] if linked else []
    if written:
        found.append(
            f"CHANGED in your own project, since the script wrote to them as linked files: {listed(written, _SHOWN)}."
        )
    return found


def not_measured(fixes: Fixes, with_suggestions: bool) -> list[str]:
    """A sentence about the findings in files that the script runs that are not part of any variant, if there are any.

    Args:
        fixes: all findings.
        with_suggestions: whether edits that perflint only shows are measured too.
    """
    left = [] if with_suggestions else fixes.suggested()
    bare = [item for item in fixes.found() if not has_edit(item)]
    kinds = [
        (_of_level(left, Level.UNSAFE), "needs --unsafe-fixes", "need --unsafe-fixes"),
        (
            _of_level(left, Level.DISPLAY),
            "is a suggestion, which --suggestions measures as it is shown",
            "are suggestions, which --suggestions measures as they are shown",
        ),
        (bare, "has no edit", "have no edit"),
    ]
    parts = []
    for items, one, many in kinds:
        if items:
            named = [f"{item.code} {fixes.places([item])[0]}" for item in items]
            parts.append(f"{len(items)} {one if len(items) == 1 else many} ({listed(named, _PLACES)})")
    count = len(left) + len(bare)
    verb = "was" if count == 1 else "were"
    return [f"{counted(count, 'finding')} {verb} not measured: {'; '.join(parts)}."] if parts else []


def _of_level(findings: Sequence[Finding], level: Level) -> list[Finding]:
    return [item for item in findings if item.fix is not None and item.fix.level is level]
