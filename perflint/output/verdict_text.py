"""What is to be said about a step: a verdict and a plan, in words and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from perflint.catalogue import events, shipped
from perflint.findings import ADVISED, Finding, ImpactLevel, Possibly, Row, StepEdit, StepVerdict
from perflint.query import gathered
from perflint.text.visible import counted
from perflint.trace.modelled_step import PASSES

_CODE = 60
"""The most characters of code in a row."""
_MOST_ROWS = 6
_MOST_ASSUMED = _MOST_ADVISED = 2
_SAID = ("wait", "copy", "printed wait", "batch", "float32 step")
"""The events of findings that the plan has by itself, if they are worth it: as waits, loaders and mixed precision."""
_STEP_MS, _SHORT_MS, _LONG_MS = 100, 8, 10
"""The step that costs of findings are compared with; and a short one, of which they are a larger part. What takes so
long that it is more than a short step, such as a save, is of a large network, which has no short steps."""
_NOTHING = "nothing here is worth your time, as far as the source shows"
_BOUND = {
    "loading": "likely bound by loading: a thread of the training process loads the batches",
    "read": "likely bound by loading: the process that trains reads each batch between the steps",
    "little loading": "a thread of the training process loads the batches, at a cost of at most {most:.0%} of the step",
    "waits": "likely held up by waits, at {places} of each step",
    "few waits": "the waits at {places} of each step cost little, at most {most:.0%} of it",
    "repeated waits": "the waits at {places} of each step cost at most {most:.0%} of it, if {loops}",
    "kernels": "no wait or loader that is worth an edit; if kernels bound it, mixed precision helps",
    "launches": "likely bound by its operations, at least {launched:,}{loop}",
}
"""What is likely to bound a step, by its first edit."""
_DO = {
    "loading": "give the DataLoader at {rows} worker processes",
    "waits": "remove the waits at {rows}",
    "repeated": "remove the waits in loops at {often}, and those at {rows}",
    "kernels": "train with paddle.amp, if a profile shows that kernels bound it",
    "switched": "turn on paddle.amp, which `{switch}` at {rows} leaves off, if a profile shows that kernels bound it",
    **dict.fromkeys(ADVISED, "{title}, at {rows}"),
}
_ONLY_A_RUN = "what a sample costs to load, and how long kernels take, only a run shows: perflint profile."
_AN_EVALUATION = "how long an evaluation takes, "


def with_advice(verdict: StepVerdict, findings: Iterable[tuple[Finding, Row]], names: Mapping[str, str]) -> StepVerdict:
    """A verdict whose plan also has what findings of the step advise about other things, each with its row."""
    named = {(names.get(path, path), row) for edit in verdict.edits for path, row in edit.rows}
    is_told = bool(verdict.possibly) or any(edit.kind == "loading" for edit in verdict.edits)
    groups: dict[tuple[str, str], list[tuple[Finding, Row]]] = defaultdict(list)
    for finding, row in findings:
        event, impact, fix = _event(finding.code), finding.impact, finding.fix
        is_said = event.startswith(_SAID) and (is_told or event != "batch")
        if row in named or is_said or impact is None or fix is None:
            continue
        if impact.level > ImpactLevel.LOW and not impact.reason.startswith(events()["wait"].what):
            groups[finding.code, fix.message].append((finding, row))
    advised = [_advice(code, title, found) for (code, title), found in groups.items()]
    advised.sort(key=lambda edit: -edit.most if edit.most else -1.0)
    often, inside, others = ([edit for edit in advised if edit.kind == kind][:_MOST_ADVISED] for kind in ADVISED)
    first = [edit for edit in advised if edit.kind == "loading"]
    first += [edit for edit in verdict.plan if edit.is_large and edit.kind != "kernels"]
    last = [edit for edit in verdict.plan if edit not in first]
    plan = [*often, *inside, *first, *others, *last] if often else [*first, *others, *last, *inside]
    return replace(verdict, plan=tuple(plan))


def _event(code: str) -> str:
    """The name of the event that a rule is about; that of what is said anyway if it is about none."""
    rule = shipped().get(code)
    return rule.event.name if rule is not None and rule.event is not None else _SAID[0]


def _advice(code: str, title: str, found: list[tuple[Finding, Row]]) -> StepEdit:
    """What some findings of one rule advise; ``usual`` and ``most`` are 0 if no time says what it costs a step."""
    impacts = [finding.impact for finding, _ in found if finding.impact is not None]
    cost, event = max(impact.milliseconds for impact in impacts), events()[_event(code)]
    kind = ADVISED[0 if event.name == "evaluation" and cost else 1 if shipped()[code].phase == ("evaluate",) else 2]
    kind = "loading" if event.name == "batch" else kind
    cost = 0.0 if kind in ("loading", ADVISED[1]) else cost
    most = cost / ((_STEP_MS if event.milliseconds >= _LONG_MS else _SHORT_MS) + cost)
    reason = impacts[0].reason if kind == ADVISED[0] else event.what
    rows = tuple(dict.fromkeys(row for _, row in found))
    return StepEdit(kind, rows, cost / (_STEP_MS + cost), most, cost, title=title, reason=reason)


def verdict_lines(verdict: StepVerdict, names: Mapping[str, str]) -> Iterator[str]:
    """The verdict about a step, the plan, what is not worth it, and what the source does not show.

    Args:
        verdict: what to do.
        names: how the files are named, by their paths.
    """
    yield f"Verdict: {_sentence(verdict, names)}."
    for number, edit in enumerate(verdict.plan, 1):
        yield f"  {number}. {'then ' if number > 1 else ''}{_done(edit, names)}{_brings(edit, is_first=number == 1)}"
    for each in verdict.possibly:
        yield f"  {_if(each, names)}: first {_done(each.edit, names)}: at most {each.edit.most:.0%} of the step"
    for edit in verdict.rest:
        yield f"  Not worth it: {_done(edit, names)} (at most {edit.most:.0%})"
    if verdict.idle:
        waits = counted(len(verdict.idle), "wait")
        yield f"  No gain: {waits} right beside one that stays, at {_places(verdict.idle, names)}"
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
        kept = f"stays as {_places([test.set_by], names)} sets it" if test.set_by is not None else "keeps its default"
        yield f"  Assumes: `{short(test.test)}` at {_places([test.at], names)} {kept}"
    if verdict.unknown:
        calls = counted(len(verdict.unknown), "call")
        yield f"  Not known: what {calls} that could not be followed may wait for, at {_places(verdict.unknown, names)}"


def unseen(verdicts: Iterable[StepVerdict]) -> str:
    """What the source does not show about some steps, as a sentence; ``""`` if that does not matter."""
    kinds = {edit.kind for each in verdicts for edit in each.edits if edit not in each.rest}
    if not kinds & {"loading", "kernels", "evaluations"}:
        return ""
    text = f"{_AN_EVALUATION if 'evaluations' in kinds else ''}{_ONLY_A_RUN}"
    return text[0].upper() + text[1:]


def verdict_json(verdict: StepVerdict, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as an object."""
    return {
        "sentence": _sentence(verdict, names),
        "plan": [_object(edit, names) for edit in verdict.plan],
        "possibly": [{**_object(each.edit, names), "if": _condition(each, names)} for each in verdict.possibly],
        "not_worth_it": [_object(edit, names) for edit in verdict.rest],
        "inside_paddle": [_at(row, names) for row in verdict.inside],
        "needed": [_at(row, names) for row in verdict.needed],
        "no_gain": [_at(row, names) for row in verdict.idle],
        "goes_with_reads": [_at(row, names) for row in verdict.carried],
        "not_followed": len(verdict.unknown),
    }


def _sentence(verdict: StepVerdict, names: Mapping[str, str]) -> str:
    advised = [edit for edit in verdict.plan if edit.kind in ADVISED]
    plan = [edit for edit in verdict.plan if edit not in advised]
    first = next((edit for edit in plan if edit.kind != "kernels"), plan[0] if plan else None)
    said, kind = "" if advised else _NOTHING, ""
    if first is not None:
        few = {"waits": "repeated waits" if first.repeated else "few waits", "loading": "little loading"}
        kind = "read" if first.title else first.kind if first.is_large else few.get(first.kind, first.kind)
        loops = f"the loops around {len(first.repeated)} of them have {PASSES} passes, and more if more"
        said = _BOUND[kind].format(places=counted(verdict.waits, "place"), most=first.most, loops=loops)
        is_float32 = first.kind != "kernels" and any(edit.kind == "kernels" for edit in plan)
        said += "; it trains in float32" if is_float32 else ""
    if verdict.launched and kind not in ("loading", "read", "waits"):
        loop = f", most of them in the loop at {_places([verdict.loop], names)}" if verdict.loop is not None else ""
        launches = _BOUND["launches"].format(launched=verdict.launched // 100 * 100, loop=loop)
        said = f"{launches}; {said}" if said else launches
    if also := [edit.reason for edit in advised if edit.kind != "evaluations" and (edit.is_large or not edit.most)]:
        said = f"{said}; also worth an edit: {' and '.join(also)}" if said else f"worth an edit: {' and '.join(also)}"
    if often := next((edit.reason for edit in advised if edit.kind == "evaluations"), ""):
        said = f"{often} may cost most" + (f"; in the step, {said}" if said else "")
    return f"perhaps bound by loading; otherwise {said}" if verdict.possibly else said


def _brings(edit: StepEdit, *, is_first: bool) -> str:
    """What an edit brings at most, after those before it."""
    if edit.kind == "evaluations":
        return f": about {edit.usual:.0%} of the time if a hundred batches are evaluated, and more with more"
    if not edit.most:
        return ""
    passes = f" with {PASSES} passes of each loop, and more with more" if edit.repeated else ""
    return f": at most {edit.most:.0%} of the step{'' if is_first else ' that is left'}{passes}"


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
    rest = [row for row in edit.rows if row not in edit.repeated]
    kind = (
        "others" if edit.title else "switched" if edit.switch else "repeated" if edit.repeated and rest else edit.kind
    )
    often, rows = _places(edit.repeated or edit.rows, names), _places(rest or edit.rows, names)
    return _DO[kind].format(rows=rows, switch=edit.switch, title=edit.title, often=often)


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
    places, often = ([_at(row, names) for row in rows] for rows in (edit.rows, edit.repeated))
    shares = {"usual": round(edit.usual, 3), "at_most": round(edit.most, 3)}
    return {"kind": edit.kind, "places": places, "in_loops": often, **shares}


def short(code: str) -> str:
    """Code in one row, without what is too long for it."""
    line = " ".join(code.split())
    return line if len(line) <= _CODE else line[: _CODE - 3] + "..."
