"""Shows how training steps differ from those of a revision: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from perflint.flow.branches import Often
from perflint.index.project import Place
from perflint.output.step_text import code_of
from perflint.text.visible import counted, visible_line
from perflint.trace.budget import COUNTS
from perflint.trace.difference import EventChange, SeenEvent, StepDifference
from perflint.trace.events import EventKind
from perflint.trace.loading import Loading
from perflint.trace.step_trace import StepTrace

_OFTEN = {
    Often.EACH_STEP: "at each step",
    Often.EVERY_N: "every n steps",
    Often.EACH_EPOCH: "each epoch",
    Often.ONCE: "once",
    Often.NEVER: "never",
    Often.SOMETIMES: "sometimes",
}
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
    where = f"{_named(step.place, names)}:{step.row}, {step.place.scope.qualname or 'the module'}"
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
        if _often(now[0]) == _often(then[0]):
            return f"= {one} {_often(now[0])}: {what}{through}{instead}"
        return f"~ {one} now {_often(now[0])}, was {_often(then[0])}: {what}{through}{instead}"
    sign, found = ("+", change.after) if now else ("-", change.before)
    of = "" if now else f" of {revision}"
    perhaps = "" if change.shown.is_sure else "perhaps "
    shown = f"{perhaps}{sign}{len(found)} {_what(change.shown, len(found))} {_often(change.shown)}"
    return f"{shown}: {what}{of}{_through(found, names)}"


def _what(met: SeenEvent, count: int) -> str:
    one, many = _NAMES.get(met.event.kind, ("wait", "waits"))
    return one if count == 1 else many


def _often(met: SeenEvent) -> str:
    again = " in each pass of a loop inside it" if met.loops else ""
    return _OFTEN[met.often] + again


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


def _workers(loading: Loading) -> str:
    numbers = " or ".join("an unknown number of" if each is None else str(each) for each in loading.workers)
    return f"{numbers} worker{'' if loading.workers == (1,) else 's'}"


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


def _named(place: Place, names: Mapping[str, str]) -> str:
    return names.get(place.file.path, place.file.path)


def difference_json(each: StepDifference, names: Mapping[str, str]) -> dict[str, Any]:
    """The same for programs; also for steps that are the same."""
    events = [_event(change, names) for change in each.events]
    loaders = [{"before": _made(then, names), "after": _made(now, names)} for then, now in each.loaders]
    return {
        "before": _step(each.before, names),
        "after": _step(each.after, names),
        "same": each.is_same,
        "more": each.is_more,
        "events": events,
        "loaders": loaders,
        "most_at_each_step": {name: {"before": then, "after": now} for name, (then, now) in each.counts.items()},
        "not_followed": {"before": each.unknown[0], "after": each.unknown[1]},
    }


def _step(trace: StepTrace | None, names: Mapping[str, str]) -> dict[str, Any] | None:
    if trace is None:
        return None
    return {"path": _named(trace.place, names), "row": trace.row, "function": trace.place.scope.qualname}


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
    calls = [
        {"path": _named(call.place, names), "row": call.node.lineno, "code": code_of(call.node)}
        for call in found[0].occurrence.calls
    ]
    return {
        "path": _named(place, names),
        "row": found[0].event.row,
        "function": place.scope.qualname,
        "code": code_of(found[0].event.node),
        "every": found[0].often.name.lower(),
        "loops": found[0].loops,
        "calls": calls,
    }


def _made(loading: Loading | None, names: Mapping[str, str]) -> dict[str, Any] | None:
    if loading is None:
        return None
    return {"path": _named(loading.made.place, names), "row": loading.row, "workers": [*loading.workers]}
