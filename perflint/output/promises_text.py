"""Says whether a step keeps to its budget, and whether what a comment calls sync-free is: in words, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perflint.index.project import Place
from perflint.text.visible import counted
from perflint.trace.budget import COUNTS, SyncVerdict, counts, limits_of, over_budget, verdicts_about
from perflint.trace.step_trace import StepTrace


def promises(trace: StepTrace, names: Mapping[str, str]) -> Iterator[str]:
    """A line for the budget of a step, if it has one, and one for each comment about it or a function that it runs."""
    limits = limits_of(trace.place.file)
    if limits:
        known = counts(trace)
        parts = [f"{known[name]} of {limit} {COUNTS[name].many}" for name, limit in limits.items()]
        over = ", ".join(each.name for each in over_budget(trace))
        yield f"Budget: {', '.join(parts)}{f': too many {over}' if over else ''}."
    for verdict in verdicts_about(trace):
        yield f"{_claim(verdict, names)}: sync-free: {said(verdict)}."


def said(verdict: SyncVerdict) -> str:
    """What the trace says of something that a comment calls sync-free.

    ``proved``, ``proved, except 2 calls that could not be followed``, or how often it waits.
    """
    if verdict.waits:
        return f"not true, it waits for the device at {counted(len(verdict.waits), 'place')}"
    doubts = []
    if verdict.perhaps:
        number = len(verdict.perhaps)
        doubts.append(f"{counted(number, 'wait')} that only the name{'s' if number > 1 else ''} of a method leads to")
    if verdict.unknown:
        doubts.append(f"{counted(len(verdict.unknown), 'call')} that could not be followed")
    found = f"proved, except {' and '.join(doubts)}" if doubts else "proved"
    return f"{found}; {counted(len(verdict.rare), 'wait')} at some steps" if verdict.rare else found


def _claim(verdict: SyncVerdict, names: Mapping[str, str]) -> str:
    place = verdict.claim.place
    what = "loop" if verdict.claim.loop is not None else place.scope.qualname
    return f"{_named(place, names)}:{verdict.claim.row}, {what}"


def _named(place: Place, names: Mapping[str, str]) -> str:
    return names.get(place.file.path, place.file.path)


def promises_json(trace: StepTrace, names: Mapping[str, str]) -> dict[str, Any]:
    """The same for programs."""
    limits, known = limits_of(trace.place.file), counts(trace)
    return {
        "budget": {name: {"limit": limit, "count": known[name]} for name, limit in limits.items()},
        "sync_free": [
            {
                "path": _named(each.claim.place, names),
                "row": each.claim.row,
                "function": None if each.claim.loop is not None else each.claim.place.scope.qualname,
                "proved": each.is_proved,
                "kept": each.is_kept,
                "waits": [_at(wait.event.point.place, wait.event.row, names) for wait in each.waits],
                "perhaps": [_at(wait.event.point.place, wait.event.row, names) for wait in each.perhaps],
                "not_followed": [_at(call.place, call.node.lineno, names) for call in each.unknown],
            }
            for each in verdicts_about(trace)
        ],
    }


def _at(place: Place, row: int, names: Mapping[str, str]) -> dict[str, Any]:
    return {"path": _named(place, names), "row": row}
