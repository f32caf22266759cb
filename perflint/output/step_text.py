"""Shows the traces of training steps: as a tree for people, and as JSON."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from perflint.flow.branches import Every, Often
from perflint.index.project import Place
from perflint.output.verdict_text import code_of, promises, promises_json, short, verdict_lines
from perflint.text.visible import visible_line
from perflint.trace.budget import COUNTS
from perflint.trace.events import StepEvent
from perflint.trace.loading import loadings
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
    said = "each iteration is a step" if trace.loop is not None else "each call is a step"
    rows = [(trace.row, short(first), said), *_rows(trace.nodes, "  ", set(), names)]
    heading = f"{_named(trace.place, names)}, {trace.place.scope.qualname or 'the module'}"
    told = verdict_lines(verdict(whole), names)
    parts = (told, batches(trace, names), _aligned(rows), totals(trace), kept, _possible(trace, names))
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
        numbers = " or ".join("an unknown number of" if number is None else str(number) for number in each.workers)
        inside = ": a thread of the training process loads them" if each.is_in_process else ""
        yield f"Batches: DataLoader at {where}, {numbers} worker{'' if each.workers == (1,) else 's'}{inside}."


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
                    yield (
                        row,
                        f"{indent}{'if' if number == 0 else 'elif'} {short(test)}" if test else f"{indent}else",
                        "",
                    )
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


def _named(place: Place, names: Mapping[str, str]) -> str:
    return names.get(place.file.path, place.file.path)


def _said(event: StepEvent) -> str:
    often = _often(event.every)
    return f"{event.words}, {often}" if often else event.words


def _often(every: Every) -> str:
    return OFTEN.get(every.often, "")


def as_json(trace: StepTrace, names: Mapping[str, str]) -> dict[str, Any]:
    """The same as nested objects, each with its ``type``."""
    kept = promises_json(trace, names)
    trace = without_launches(trace)
    seen = set[Summary]()
    return {
        "path": names.get(trace.place.file.path, trace.place.file.path),
        "row": trace.row,
        "function": trace.place.scope.qualname,
        "loaders": [
            {"path": _named(each.made.place, names), "row": each.row, "workers": [*each.workers]}
            for each in loadings(trace.place, trace.loop)
        ],
        "most_at_each_step": {many: most_at_each_step(trace.nodes, wanted) for _, many, wanted in _COUNTED},
        "promises": kept,
        "nodes": _objects(trace.nodes, seen, names),
        "possible": [{"path": _named(each.function, names), **_reached(each, seen, names)} for each in _shown(trace)],
    }


def _objects(nodes: Iterable[Node], seen: set[Summary], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_object(node, seen, names) for node in nodes]


def _object(node: Node, seen: set[Summary], names: Mapping[str, str]) -> dict[str, Any]:
    place = node.point.place if isinstance(node, StepEvent) else node.place
    found: dict[str, Any] = {"path": _named(place, names), "row": node.node.lineno}
    if isinstance(node, StepEvent):
        kind = {"kind": node.kind.value, "waits": node.kind.waits, "what": node.words}
        return {"type": "event", **found, **kind, **_when(node.every), "code": code_of(node.node)}
    if isinstance(node, StepCall):
        runs = [_reached(each, seen, names) for each in node.reached]
        return {
            "type": "call",
            **found,
            "code": code_of(node.node),
            **_when(node.every),
            "sure": node.is_sure,
            "runs": runs,
        }
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
    place = {"path": _named(function, names), "row": function.scope.row}
    known = {"function": function.scope.qualname, **place, "as_above": reached in seen}
    if reached in seen:
        return known
    seen.add(reached)
    return {**known, "nodes": _objects(reached.nodes, seen, names)}


def _when(every: Every) -> dict[str, str]:
    return {"every": every.often.name.lower()}
