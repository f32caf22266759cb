"""Notes about a measurement that are printed with its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perflint import REPORT_TO, catalogue
from perflint.bench.figures import least_seen
from perflint.bench.losses import largest_difference
from perflint.bench.results import BEFORE, Comparison, Variant
from perflint.bench.stopping import Rounds
from perflint.findings import Level
from perflint.text.visible import counted, listed

_SHOWN = 5
"""How many files are named; the others are only counted."""


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
        alone = largest_difference(first, before.runs[1:])
        fixed = largest_difference(first, [run for other in others for run in other.runs])
        return [
            "The script gives other losses each time it runs, so a fix cannot be told to change them: "
            f"{_alone(before)} they differ by {_part(alone)} between runs, "
            f"and {_others(others)} by {_part(fixed)} from the first run."
        ]
    codes = {variant.name: variant.codes for variant in others}
    return [_differing(item, before.name, codes[item.variant]) for item in comparisons if item.same_losses is False]


def _alone(before: Variant) -> str:
    return "as it is" if before.name == BEFORE else f"in {before.name}"


def _others(others: Sequence[Variant]) -> str:
    return "with fixes" if any(other.codes for other in others) else f"in {', '.join(other.name for other in others)}"


def _part(difference: float | None) -> str:
    return "more than a number says" if difference is None else f"up to {difference:.2g} of the loss"


def _differing(item: Comparison, before: str, codes: Sequence[str]) -> str:
    by = "" if item.differ_by is None else f", by {_part(item.differ_by)}"
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
