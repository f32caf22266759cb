"""Shows the traces of training steps, by program, and how they differ from those of a revision: as text and JSON."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from perflint.flow.branches import Every, Often
from perflint.index.project import Place
from perflint.output.verdict_text import short, unseen, verdict_json, verdict_lines
from perflint.text.visible import counted, visible_line
from perflint.trace.budget import COUNTS, SyncVerdict, counts, limits_of, over_budget, verdicts_about
from perflint.trace.difference import EventChange, SeenEvent, StepDifference
from perflint.trace.events import EventKind, StepEvent
from perflint.trace.loading import Loading, loadings
from perflint.trace.started import Program, ProgramPurpose, Programs
from perflint.trace.step_trace import (
    Alternatives,
    Launches,
    Node,
    Repeat,
    StepCall,
    StepTrace,
    Summary,
    most_at_each_step,
    occurrences,
    possible,
    unknown_calls,
    without_launches,
)
from perflint.trace.verdict import verdict

_MOST_POSSIBLE = 40
"""The most functions that are listed of those which calls may run that could not be followed."""
OFTEN = {
    Often.EVERY_N: "every n steps",
    Often.EACH_EPOCH: "each epoch",
    Often.ONCE: "once",
    Often.NEVER: "never",
    Often.SOMETIMES: "sometimes",
}
"""How often something happens that does not happen at each step, for people."""
_COUNTED = [COUNTS[name] for name in ("waits", "logs", "saves", "collectives")]


def text(trace: StepTrace, names: Mapping[str, str]) -> str:
    """The rows of one step: the row of the file, what, and how often; then what a step has at most.

    A row that leads into another file says into which; the rows below it that are indented further are of that file.
    """
    kept = [*promises(trace, names)]
    whole, trace = trace, without_launches(trace)
    first = next(line for line in ast.unparse(trace.node).splitlines() if not line.startswith("@")).rstrip(":")
    one = "each iteration is a step" if trace.loop is not None else "each call is a step"
    rows = [(trace.row, short(first), one), *_rows(trace.nodes, "  ", set(), names)]
    heading = f"{_named(trace.place, names)}, {trace.place.scope.qualname or 'the module'}"
    said = verdict(whole)
    unknown = [f"  {words}" for words in (unseen([said]),) if words]
    parts = (
        verdict_lines(said, names),
        unknown,
        batches(trace, names),
        _aligned(rows),
        totals(trace),
        kept,
        _possible(trace, names),
    )
    lines = [heading, *(line for part in parts for line in part)]
    return "".join(visible_line(line) + "\n" for line in lines)


def _aligned(rows: list[tuple[int, str, str]]) -> list[str]:
    digits = len(str(max(row for row, _, _ in rows)))
    return [f"{row:>{digits}}  {code}{f'  -- {said}' if said else ''}" for row, code, said in rows]


def _possible(trace: StepTrace, names: Mapping[str, str]) -> Iterator[str]:
    """What the calls that could not be followed may run, as far as it does something that a step counts."""
    counted = ((each, _counts(each.nodes)) for each in _shown(trace))
    found = [(each.function, parts) for each, parts in counted if parts]
    if found:
        yield "A caller or a configuration says what these run. It may be, perhaps (JSON has all rows of them):"
    for function, parts in found[:_MOST_POSSIBLE]:
        yield f"  {function.scope.qualname} of {_named(function, names)}:{function.scope.row}: {', '.join(parts)}"
    if len(found) > _MOST_POSSIBLE:
        yield f"  ... and {len(found) - _MOST_POSSIBLE} more functions"


def _shown(trace: StepTrace) -> list[Summary]:
    """What calls of a step may run that could not be followed, without launches."""
    return [replace(each, nodes=without_launches(replace(trace, nodes=each.nodes)).nodes) for each in possible(trace)]


def batches(trace: StepTrace, names: Mapping[str, str]) -> Iterator[str]:
    """Where the batches come from."""
    for each in loadings(trace.place, trace.loop):
        where = f"{_named(each.made.place, names)}:{each.row}"
        inside = ": a thread of the training process loads them" if each.is_in_process else ""
        rows = [f"{path}:{row}" for path, row in each.settings]
        by = f" ({', '.join(rows[:_MOST_SETTINGS])}{', ...' if len(rows) > _MOST_SETTINGS else ''})" if rows else ""
        yield f"Batches: DataLoader at {where}, {_workers(each)}{by}{inside}."


def _workers(loading: Loading) -> str:
    numbers = " or ".join("an unknown number of" if each is None else str(each) for each in loading.workers)
    return f"{numbers} worker{'' if loading.workers == (1,) else 's'}"


def _counts(nodes: Iterable[Node]) -> list[str]:
    """What some nodes have at most, at each step, in words."""
    counted = ((most_at_each_step(nodes, wanted), one, many) for one, many, wanted in _COUNTED)
    return [f"{number} {one if number == 1 else many}" for number, one, many in counted if number]


def totals(trace: StepTrace) -> Iterator[str]:
    """What it has at most at each step, in sentences, the main one first."""
    parts = _counts(trace.nodes)
    yield f"At most, at each step: {', '.join(parts) or 'nothing that keeps the device waiting'}."
    waits = (each for each in occurrences(trace) if each.event.kind.waits and each.is_at_each_step)
    repeated = dict.fromkeys(each.event.node for each in waits if each.repeats)
    if repeated:
        yield f"In loops inside the step, again in each pass: {len(repeated)} of the waits."
    unknown = len(unknown_calls(trace.nodes))
    if unknown:
        yield f"Not followed: {unknown} call{'s' if unknown > 1 else ''} (marked ?)."


def _rows(
    nodes: Iterable[Node], indent: str, seen: set[Summary], names: Mapping[str, str]
) -> Iterator[tuple[int, str, str]]:
    inner = f"{indent}  "
    for node in nodes:
        row = node.node.lineno
        if isinstance(node, StepEvent):
            yield row, indent + code_of(node.node), _said(node)
        elif isinstance(node, StepCall):
            for reached in node.reached:
                if reached.nodes:
                    yield row, indent + code_of(node.node), _entered(node, reached, reached in seen, names)
                    if reached not in seen:
                        seen.add(reached)
                        yield from _rows(reached.nodes, inner, seen, names)
        elif isinstance(node, Repeat):
            times = "" if node.count is None else f"{node.count} times"
            yield row, f"{indent}for each of {short(node.times)}", times
            yield from _rows(node.body, inner, seen, names)
        elif isinstance(node, Alternatives):
            for number, (test, arm) in enumerate(node.arms):
                if arm:
                    said = f"{'elif' if number else 'if'} {short(test)}" if test else "else"
                    yield row, f"{indent}{said}", ""
                    yield from _rows(arm, inner, seen, names)
        elif not isinstance(node, Launches):
            yield row, f"{indent}? {code_of(node.node)}", node.why


def _entered(call: StepCall, reached: Summary, is_known: bool, names: Mapping[str, str]) -> str:
    """What a call runs: the function, and its file if that is another one."""
    function = reached.function
    where = "" if function.file is call.place.file else f" of {_named(function, names)}"
    known = ", as above" if is_known else ""
    often = _often(call.every)
    perhaps = "" if call.is_sure else "perhaps "
    return f"{perhaps}{function.scope.qualname}{where}{known}{f', {often}' if often else ''}"


def _said(event: StepEvent) -> str:
    often = _often(event.every)
    return f"{event.words}, {often}" if often else event.words


def _often(every: Every) -> str:
    return OFTEN.get(every.often, "")


def as_json(trace: StepTrace, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as nested objects, each with its ``type``."""
    kept, said = promises_json(trace, names), verdict_json(verdict(trace), names)
    trace = without_launches(trace)
    seen = set[Summary]()
    return {
        **_reference(trace, names),
        "loaders": [_made(each, names) for each in loadings(trace.place, trace.loop)],
        "most_at_each_step": {many: most_at_each_step(trace.nodes, wanted) for _, many, wanted in _COUNTED},
        "verdict": said,
        "promises": kept,
        "nodes": _objects(trace.nodes, seen, names),
        "possible": [{"path": _named(each.function, names), **_reached(each, seen, names)} for each in _shown(trace)],
    }


def _objects(nodes: Iterable[Node], seen: set[Summary], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_object(node, seen, names) for node in nodes]


def _object(node: Node, seen: set[Summary], names: Mapping[str, str]) -> dict[str, Any]:
    place = node.point.place if isinstance(node, StepEvent) else node.place
    found = _at(place, node.node.lineno, names)
    if isinstance(node, StepEvent):
        kind = {"kind": node.kind.value, "waits": node.kind.waits, "what": node.words}
        return {"type": "event", **found, **kind, **_when(node.every), "code": code_of(node.node)}
    if isinstance(node, StepCall):
        runs, how = [_reached(each, seen, names) for each in node.reached], {**_when(node.every), "sure": node.is_sure}
        return {"type": "call", **found, "code": code_of(node.node), **how, "runs": runs}
    if isinstance(node, Repeat):
        nodes = _objects(node.body, seen, names)
        return {"type": "loop", **found, "over": short(node.times), "times": node.count, "nodes": nodes}
    if isinstance(node, Alternatives):
        arms = [{"test": test, "nodes": _objects(arm, seen, names)} for test, arm in node.arms]
        return {"type": "choice", **found, "arms": arms}
    assert not isinstance(node, Launches)
    return {"type": "unknown", **found, "code": code_of(node.node), "why": node.why}


def _reached(reached: Summary, seen: set[Summary], names: Mapping[str, str]) -> dict[str, Any]:
    """What a function does, where it is first reached; later only that it is the same."""
    function = reached.function
    place = _at(function, function.scope.row, names)
    known = {"function": function.scope.qualname, **place, "as_above": reached in seen}
    if reached in seen:
        return known
    seen.add(reached)
    return {**known, "nodes": _objects(reached.nodes, seen, names)}


def _when(every: Every) -> dict[str, str]:
    return {"every": every.often.name.lower()}


def code_of(node: ast.AST) -> str:
    """The source of an expression in a few words of a row."""
    return short(ast.unparse(node))


# Budgets, and loops and functions that a comment calls sync-free.


def promises(trace: StepTrace, names: Mapping[str, str]) -> Iterator[str]:
    """A line for the budget of a step, if it has one, and one for each comment about it or a function that it runs."""
    limits = limits_of(trace.place.file)
    if limits:
        known = counts(trace)
        parts = [f"{known[name]} of {limit} {COUNTS[name].many}" for name, limit in limits.items()]
        over = ", ".join(each.name for each in over_budget(trace))
        yield f"Budget: {', '.join(parts)}{f': too many {over}' if over else ''}."
    for about in verdicts_about(trace):
        yield f"{_claim(about, names)}: sync-free: {sync_words(about)}."


def sync_words(about: SyncVerdict) -> str:
    """What the trace says of something that a comment calls sync-free.

    ``proved``, ``proved, except 2 calls that could not be followed``, or how often it waits.
    """
    if about.waits:
        return f"not true, it waits for the device at {counted(len(about.waits), 'place')}"
    doubts = []
    if about.perhaps:
        number = len(about.perhaps)
        doubts.append(f"{counted(number, 'wait')} that only the name{'s' if number > 1 else ''} of a method leads to")
    if about.unknown:
        doubts.append(f"{counted(len(about.unknown), 'call')} that could not be followed")
    found = f"proved, except {' and '.join(doubts)}" if doubts else "proved"
    return f"{found}; {counted(len(about.rare), 'wait')} at some steps" if about.rare else found


def _claim(about: SyncVerdict, names: Mapping[str, str]) -> str:
    place = about.claim.place
    what = "loop" if about.claim.loop is not None else place.scope.qualname
    return f"{_named(place, names)}:{about.claim.row}, {what}"


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


_VERBS = {
    ProgramPurpose.TRAINS: "trains",
    ProgramPurpose.EVALUATES: "evaluates",
    ProgramPurpose.PREDICTS: "predicts",
    ProgramPurpose.TESTS: "tests",
    ProgramPurpose.EXERCISE: "is an exercise",
    ProgramPurpose.OTHER: "has no training step",
}
_MOST_SETTINGS = 3


def programs_text(found: Programs, names: Mapping[str, str]) -> str:
    """Each program with its steps; a step that an earlier program has reached is only referred to."""
    seen: set[tuple[Place, int]] = set()
    parts: list[str] = []
    for program in found.programs:
        for number, step in enumerate(program.steps):
            heading = f"== {_line(_heading(program, names))}" if number == 0 else ""
            key = (step.place.function, step.row)
            parts.append(heading + (f"{_where(step, names)}: as above\n" if key in seen else text(step, names)))
            seen.add(key)
    return "\n".join(parts)


def unreached_text(found: Programs, names: Mapping[str, str]) -> str:
    """The steps that no program reaches, a row each, with the reason."""
    return "".join(_line(f"{_where(step, names)}: {why}") for step, why in found.unreached)


def _line(text: str) -> str:
    return visible_line(text) + "\n"


def _heading(program: Program, names: Mapping[str, str]) -> str:
    name = _named(program.place, names)
    named = f"{name}, {program.function}" if program.function else name
    reads = f"; reads {', '.join(program.settings[:_MOST_SETTINGS])} by default" if program.settings else ""
    perhaps = "" if program.is_sure else "perhaps "
    return f"{named} ({_started(program)}), {perhaps}{_VERBS[program.purpose]}{reads}"


def _started(program: Program) -> str:
    """How a program is started, and what shows that."""
    if program.lines:
        line, more = program.lines[0], len(program.lines) - 1
        others = f" and {more} more line{'s' if more > 1 else ''}" if more else ""
        return f"started by {line.path}:{line.row}{others}"
    return f"function of a library, row {program.row}" if program.function else f"script, row {program.row}"


def _where(step: StepTrace, names: Mapping[str, str]) -> str:
    return f"{_named(step.place, names)}:{step.row}, {step.place.scope.qualname or 'the module'}"


def programs_json(found: Programs, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as objects; a step that an earlier program has reached is only referred to (``as_above``)."""
    seen: set[tuple[Place, int]] = set()
    return {
        "programs": [_program(program, seen, names) for program in found.programs],
        "unreached": [{**_reference(step, names), "why": why} for step, why in found.unreached],
    }


def _program(program: Program, seen: set[tuple[Place, int]], names: Mapping[str, str]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for step in program.steps:
        key = (step.place.function, step.row)
        steps.append({**_reference(step, names), "as_above": True} if key in seen else as_json(step, names))
        seen.add(key)
    return {
        "path": _named(program.place, names),
        "row": program.row,
        "function": program.function,
        "started_by": [{"path": line.path, "row": line.row, "as": line.started.value} for line in program.lines],
        "purpose": program.purpose.value,
        "sure": program.is_sure,
        "why": program.why,
        "settings": [*program.settings],
        "steps": steps,
    }


def _reference(step: StepTrace, names: Mapping[str, str]) -> dict[str, Any]:
    return {**_at(step.place, step.row, names), "function": step.place.scope.qualname}


# Shows how training steps differ from those of a revision: for people, and as JSON.

_NAMES = {
    EventKind.COPY: ("copy to the device", "copies to the device"),
    EventKind.DEVICE_COPY: ("copy on the device", "copies on the device"),
    EventKind.LOG: ("log line", "log lines"),
    EventKind.SAVE: ("save", "saves"),
    EventKind.COLLECTIVE: ("collective", "collectives"),
    EventKind.COLLECT: ("garbage collection", "garbage collections"),
    EventKind.PAUSE: ("pause", "pauses"),
    EventKind.EVALUATION: ("evaluation", "evaluations"),
    EventKind.BACKWARD: ("backward pass", "backward passes"),
    EventKind.OPTIMIZER: ("optimizer step", "optimizer steps"),
}
"""An event, and several; those that are not listed wait for the device."""
_MOST_CALLS = 3
"""How many calls on the way to an event are named."""


def difference_text(found: Iterable[StepDifference], names: Mapping[str, str], revision: str) -> str:
    """The steps that differ, each with what is new in it and what is gone, and then what it has at most."""
    every = list(found)
    differing = [each for each in every if not each.is_same]
    parts = ["".join(f"{visible_line(line)}\n" for line in _lines(each, names, revision)) for each in differing]
    same = len(every) - len(differing)
    if not parts:
        return f"No step does anything else than in {visible_line(revision)}.\n" if every else ""
    if same:
        verb = "does" if same == 1 else "do"
        parts.append(f"{counted(same, 'step')} {verb} the same as in {visible_line(revision)}.\n")
    return "\n".join(parts)


def _lines(each: StepDifference, names: Mapping[str, str], revision: str) -> Iterator[str]:
    step = each.shown
    where = _where(step, names)
    if each.before is None:
        yield f"{where}: a new step"
    elif each.after is None:
        yield f"{where}: this step of {revision} is gone"
        return
    else:
        yield where
    for change in each.events:
        yield f"  {_change(change, names, revision)}"
    for then, now in each.loaders:
        yield f"  {_loader(then, now, names)}"
    yield _totals(each)


def _change(change: EventChange, names: Mapping[str, str], revision: str) -> str:
    now, then = change.after[:1], change.before[:1]
    what = _place(change.shown, names)
    if now and then:
        one, through = _what(now[0], 1), _through(change.after, names)
        instead = f", in place of `{code_of(then[0].event.node)}`" if change.is_replaced else ""
        if _how_often(now[0]) == _how_often(then[0]):
            return f"= {one} {_how_often(now[0])}: {what}{through}{instead}"
        return f"~ {one} now {_how_often(now[0])}, was {_how_often(then[0])}: {what}{through}{instead}"
    sign, found = ("+", change.after) if now else ("-", change.before)
    of = "" if now else f" of {revision}"
    perhaps = "" if change.shown.is_sure else "perhaps "
    shown = f"{perhaps}{sign}{len(found)} {_what(change.shown, len(found))} {_how_often(change.shown)}"
    return f"{shown}: {what}{of}{_through(found, names)}"


def _what(met: SeenEvent, count: int) -> str:
    one, many = _NAMES.get(met.event.kind, ("wait", "waits"))
    return one if count == 1 else many


def _how_often(met: SeenEvent) -> str:
    again = " in each pass of a loop inside it" if met.loops else ""
    return OFTEN.get(met.often, "at each step") + again


def _place(met: SeenEvent, names: Mapping[str, str]) -> str:
    return f"{_named(met.event.point.place, names)}:{met.event.row} `{code_of(met.event.node)}`"


def _through(found: tuple[SeenEvent, ...], names: Mapping[str, str]) -> str:
    """The calls that lead from the step to an event; for one that several calls lead to, those of the first."""
    calls: list[str] = [f"{_named(call.place, names)}:{call.node.lineno}" for call in found[0].occurrence.calls]
    if not calls:
        return ""
    shown = calls if len(calls) <= _MOST_CALLS else [*calls[: _MOST_CALLS - 1], "...", calls[-1]]
    more = f", and {counted(len(found) - 1, 'more way')}" if len(found) > 1 else ""
    return f" (called from {', '.join(shown)}{more})"


def _loader(then: Loading | None, now: Loading | None, names: Mapping[str, str]) -> str:
    if now is None:
        return f"- DataLoader with {_workers(then)}" if then is not None else ""
    where = f"DataLoader at {_named(now.made.place, names)}:{now.row}"
    return f"~ {where}: {_workers(now)}, was {_workers(then)}" if then is not None else f"+ {where}: {_workers(now)}"


def _totals(each: StepDifference) -> str:
    parts = []
    for name, (then, now) in each.counts.items():
        one, many, _ = COUNTS[name]
        if then or now:
            was = f" (was {then})" if then != now and each.before is not None else ""
            parts.append(f"{now} {one if now == 1 else many}{was}")
    then, now = each.unknown
    followed = f" Not followed: {counted(now, 'call')} (was {then})." if then != now and each.before is not None else ""
    return f"At most, at each step: {', '.join(parts) or 'nothing that keeps the device waiting'}.{followed}"


def difference_json(each: StepDifference, names: Mapping[str, str]) -> dict[str, Any]:
    """The same for programs; also for steps that are the same."""
    events = [_event(change, names) for change in each.events]
    loaders = [{"before": _made(then, names), "after": _made(now, names)} for then, now in each.loaders]
    return {
        "before": _reference(each.before, names) if each.before is not None else None,
        "after": _reference(each.after, names) if each.after is not None else None,
        "same": each.is_same,
        "more": each.is_more,
        "events": events,
        "loaders": loaders,
        "most_at_each_step": {name: {"before": then, "after": now} for name, (then, now) in each.counts.items()},
        "not_followed": {"before": each.unknown[0], "after": each.unknown[1]},
    }


def _event(change: EventChange, names: Mapping[str, str]) -> dict[str, Any]:
    kind = change.shown.event.kind
    change_of = "replaced" if change.is_replaced else "changed" if change.before and change.after else ""
    return {
        "change": change_of or ("added" if change.after else "removed"),
        "kind": kind.value,
        "waits": kind.waits,
        "count": len(change.after or change.before),
        "sure": change.shown.is_sure,
        "before": _met(change.before, names),
        "after": _met(change.after, names),
    }


def _met(found: tuple[SeenEvent, ...], names: Mapping[str, str]) -> dict[str, Any] | None:
    if not found:
        return None
    place = found[0].event.point.place
    calls = found[0].occurrence.calls
    return {
        **_at(place, found[0].event.row, names),
        "function": place.scope.qualname,
        "code": code_of(found[0].event.node),
        "every": found[0].often.name.lower(),
        "loops": found[0].loops,
        "calls": [{**_at(call.place, call.node.lineno, names), "code": code_of(call.node)} for call in calls],
    }


def _made(loading: Loading | None, names: Mapping[str, str]) -> dict[str, Any] | None:
    if loading is None:
        return None
    return {**_at(loading.made.place, loading.row, names), "workers": [*loading.workers]}
