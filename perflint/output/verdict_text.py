"""Says what to do first about a step: a verdict in a sentence, then a plan, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from perflint.text.visible import counted
from perflint.trace.verdict import Row, StepEdit, StepVerdict

_MOST_ROWS = 6
_NOTHING = "nothing here is worth your time, as far as the source shows"
_BOUND = {
    "loading": "likely bound by loading: each batch is loaded in the process that trains",
    "waits": "likely held up by waits, at {places} of each step",
    "kernels": "no wait or loader that is worth an edit; if kernels bound it, mixed precision helps",
}
"""What is likely to bound a step, by its first edit."""
_DO = {
    "loading": "give the DataLoader at {rows} worker processes",
    "waits": "remove the waits at {rows}",
    "kernels": "train with paddle.amp, if a profile shows that kernels bound it",
}
_ONLY_A_RUN = "What a sample costs to load, and how long kernels take, only a run shows: perflint profile."


def verdict_lines(verdict: StepVerdict, names: Mapping[str, str]) -> Iterator[str]:
    """The verdict about a step, the plan, what is not worth it, and what the source does not show.

    Args:
        verdict: what to do.
        names: how the files are named, by their paths.
    """
    yield f"Verdict: {_sentence(verdict)}."
    for number, edit in enumerate(verdict.plan, 1):
        then, left = ("then ", " that is left") if number > 1 else ("", "")
        yield f"  {number}. {then}{_done(edit, names)}: at most {edit.most:.0%} of the step{left}"
    for edit in verdict.rest:
        yield f"  Not worth it: {_done(edit, names)} (at most {edit.most:.0%})"
    if verdict.inside:
        rows = _places(verdict.inside, names)
        yield f"  Stays: {counted(len(verdict.inside), 'wait')} inside Paddle, at {rows}"
    if verdict.unknown:
        yield f"  Not known: what {counted(len(verdict.unknown), 'call')} that could not be followed may wait for"
    if any(edit.kind in ("loading", "kernels") for edit in verdict.plan):
        yield f"  {_ONLY_A_RUN}"


def verdict_json(verdict: StepVerdict, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as an object."""
    return {
        "sentence": _sentence(verdict),
        "plan": [_object(edit, names) for edit in verdict.plan],
        "not_worth_it": [_object(edit, names) for edit in verdict.rest],
        "inside_paddle": [{"path": names.get(path, path), "row": row} for path, row in verdict.inside],
        "not_followed": len(verdict.unknown),
    }


def _sentence(verdict: StepVerdict) -> str:
    if not verdict.plan:
        return _NOTHING
    first = verdict.plan[0]
    return _BOUND[first.kind].format(places=counted(verdict.waits, "place"))


def _done(edit: StepEdit, names: Mapping[str, str]) -> str:
    return _DO[edit.kind].format(rows=_places(edit.rows, names))


def _places(rows: Iterable[Row], names: Mapping[str, str]) -> str:
    """``loss.py:20, 23, 46 and train.py:72``."""
    by_file: dict[str, list[str]] = {}
    known = list(rows)
    for path, row in known[:_MOST_ROWS]:
        by_file.setdefault(names.get(path, path), []).append(str(row))
    found = [f"{name}:{', '.join(numbers)}" for name, numbers in by_file.items()]
    more = [f"{len(known) - _MOST_ROWS} more"] if len(known) > _MOST_ROWS else []
    return " and ".join([*found, *more])


def _object(edit: StepEdit, names: Mapping[str, str]) -> dict[str, Any]:
    places = [{"path": names.get(path, path), "row": row} for path, row in edit.rows]
    return {"kind": edit.kind, "places": places, "usual": round(edit.usual, 3), "at_most": round(edit.most, 3)}
