"""What is to be said about a step: a verdict and a plan, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from perflint.findings import Possibly, Row, StepEdit, StepVerdict
from perflint.query import gathered
from perflint.text.visible import counted

_CODE = 60
"""The most characters of code in a row."""
_MOST_ROWS = 6
_MOST_ASSUMED = 2
_MUCH = 0.1
"""The least share of a step that waits take if they are said to hold it up."""
_NOTHING = "nothing here is worth your time, as far as the source shows"
_BOUND = {
    "loading": "likely bound by loading: a thread of the training process loads the batches",
    "waits": "likely held up by waits, at {places} of each step",
    "few waits": "the waits at {places} of each step cost little, at most {most:.0%} of it",
    "kernels": "no wait or loader that is worth an edit; if kernels bound it, mixed precision helps",
}
"""What is likely to bound a step, by its first edit."""
_DO = {
    "loading": "give the DataLoader at {rows} worker processes",
    "waits": "remove the waits at {rows}",
    "kernels": "train with paddle.amp, if a profile shows that kernels bound it",
    "switched": "turn on paddle.amp, which `{switch}` at {rows} leaves off, if a profile shows that kernels bound it",
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
    for each in verdict.possibly:
        yield f"  {_if(each, names)}: first {_done(each.edit, names)}: at most {each.edit.most:.0%} of the step"
    for edit in verdict.rest:
        yield f"  Not worth it: {_done(edit, names)} (at most {edit.most:.0%})"
    if verdict.carried:
        yield f"  Goes with reads: copying back what the host computes from them, at {_places(verdict.carried, names)}"
    if verdict.needed:
        waits = counted(len(verdict.needed), "wait")
        yield f"  Stays: {waits} for a value that the host needs, at {_places(verdict.needed, names)}"
    if verdict.inside:
        rows = _places(verdict.inside, names)
        by = f" ({', '.join(verdict.made_by)})" if any(verdict.made_by) else ""
        yield f"  Stays: {counted(len(verdict.inside), 'wait')} inside Paddle{by}, at {rows}"
    for one in verdict.assumed[:_MOST_ASSUMED]:
        where = _places([one.at], names)
        yield f"  Assumes: of {one.number} functions that {where} may run, {one.function}, which waits most"
    for test in verdict.left_off[:_MOST_ASSUMED]:
        yield f"  Assumes: `{short(test.test)}` at {_places([test.at], names)} keeps its default"
    if verdict.unknown:
        yield f"  Not known: what {counted(len(verdict.unknown), 'call')} that could not be followed may wait for"


def unseen(verdicts: Iterable[StepVerdict]) -> str:
    """What the source does not show about some steps, as a sentence; ``""`` if that does not matter."""
    kinds = {edit.kind for each in verdicts for edit in each.edits if edit not in each.rest}
    return _ONLY_A_RUN if kinds & {"loading", "kernels"} else ""


def verdict_json(verdict: StepVerdict, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as an object."""
    return {
        "sentence": _sentence(verdict),
        "plan": [_object(edit, names) for edit in verdict.plan],
        "possibly": [{**_object(each.edit, names), "if": _condition(each, names)} for each in verdict.possibly],
        "not_worth_it": [_object(edit, names) for edit in verdict.rest],
        "inside_paddle": [_at(row, names) for row in verdict.inside],
        "needed": [_at(row, names) for row in verdict.needed],
        "goes_with_reads": [_at(row, names) for row in verdict.carried],
        "not_followed": len(verdict.unknown),
    }


def _sentence(verdict: StepVerdict) -> str:
    first = verdict.plan[0] if verdict.plan else None
    said = _NOTHING
    if first is not None:
        kind = "few waits" if first.kind == "waits" and first.most < _MUCH else first.kind
        said = _BOUND[kind].format(places=counted(verdict.waits, "place"), most=first.most)
        is_float32 = first.kind != "kernels" and any(edit.kind == "kernels" for edit in verdict.plan)
        said += "; it trains in float32" if is_float32 else ""
    return f"perhaps bound by loading; otherwise {said}" if verdict.possibly else said


def _if(possibly: Possibly, names: Mapping[str, str]) -> str:
    """When a step draws from a loader that is one of several."""
    test = possibly.decides
    if test is None:
        return "If it draws from this one of its loaders"
    path, row = test.at
    return f"{'If' if test.holds else 'Unless'} `{short(test.test)}` ({names.get(path, path)}:{row})"


def _condition(possibly: Possibly, names: Mapping[str, str]) -> dict[str, Any] | None:
    test = possibly.decides
    if test is None:
        return None
    path, row = test.at
    return {"test": short(test.test), "holds": test.holds, "path": names.get(path, path), "row": row}


def _done(edit: StepEdit, names: Mapping[str, str]) -> str:
    kind = "switched" if edit.switch else edit.kind
    return _DO[kind].format(rows=_places(edit.rows, names), switch=edit.switch)


def _places(rows: Iterable[Row], names: Mapping[str, str]) -> str:
    """``loss.py:20, 23, 46 and train.py:72``."""
    known = sorted(rows)
    by_file = gathered((names.get(path, path), str(row)) for path, row in known[:_MOST_ROWS])
    found = [f"{name}:{', '.join(numbers)}" for name, numbers in by_file.items()]
    *most, last = [*found, *([f"{len(known) - _MOST_ROWS} more"] if len(known) > _MOST_ROWS else [])]
    return f"{', '.join(most)} and {last}" if most else last


def _at(row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    return {"path": names.get(row[0], row[0]), "row": row[1]}


def _object(edit: StepEdit, names: Mapping[str, str]) -> dict[str, Any]:
    places = [_at(row, names) for row in edit.rows]
    return {"kind": edit.kind, "places": places, "usual": round(edit.usual, 3), "at_most": round(edit.most, 3)}


def short(code: str) -> str:
    """Code in one row, without what is too long for it."""
    line = " ".join(code.split())
    return line if len(line) <= _CODE else line[: _CODE - 3] + "..."
