"""How much of what recorded runs did in a step ``perflint step`` shows, and how much of what it shows they did.

    python benchmarks/step_against_runs.py CHECKOUTS [--only NAME] [--missed]

CHECKOUTS holds each repository of docs/traces.md at its commit, as OWNER+NAME or NAME.  The runs are those of
benchmarks/results/traces.json: nothing is run here.  Of each run, the events that came in at least every second step
are looked for in the static trace of its step loop, by statement (recall), and the events that the static trace has at
each step, outside of alternatives, are looked for among the recorded ones (precision).  Both leave out what only one
of the two can know: work of a ``GradScaler``, and events of alternatives, of which the run took one.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from perflint.flow.resolving import opened
from perflint.inputs.projects import split
from perflint.run.discovery import read_all
from perflint.trace.events import EventKind, StepEvent
from perflint.trace.loading import loadings
from perflint.trace.step_trace import (
    Alternatives,
    Launches,
    Node,
    Occurrence,
    Repeat,
    StepCall,
    StepTrace,
    occurrences,
    traces,
)

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "benchmarks" / "results" / "traces.json"
RESULT = ROOT / "benchmarks" / "results" / "step_against_runs.json"
OFTEN = 0.5
"""The share of steps from which on an event counts as one of each step."""
KINDS = {
    "host read": {EventKind.READ, EventKind.DECISION, EventKind.SIZE, EventKind.INSIDE},
    "sized by values": {EventKind.SIZE, EventKind.READ, EventKind.DECISION},
    "to_tensor": {EventKind.COPY, EventKind.DEVICE_COPY, EventKind.INSIDE},
    "log": {EventKind.LOG},
    "save": {EventKind.SAVE},
}
"""The events of a static trace that a recorded one may be."""
SEEN = {EventKind.READ, EventKind.DECISION, EventKind.SIZE, EventKind.COPY, EventKind.LOG, EventKind.SAVE}
SEEN |= {EventKind.DEVICE_COPY, EventKind.INSIDE}
"""The events that a recorder sees."""


class Compared(NamedTuple):
    """One run against its static trace: the lines of each kind, and those that the other one has too."""

    recorded: list[dict[str, Any]]
    found: list[bool]
    shown: list[Occurrence]
    happened: list[bool]


def compare(run: dict[str, Any], project: Iterable[StepTrace]) -> Compared:
    """What a run did at each step, against the static traces of the loops that it was in."""
    lines = [line for line in run["lines"] if line["phase"] == "step" and line["kind"] in KINDS]
    steady = [line for line in lines if line["share_of_steps"] >= OFTEN]
    rows = {(path, row) for line in lines for path, row in [(line["file"], line["line"]), *line["called"]]}
    here = [trace for trace in project if _leads_through(trace, rows)]
    events = [each for trace in here for each in occurrences(trace)]
    found = [any(_is_at(each, line) and each.event.kind in KINDS[line["kind"]] for each in events) for line in steady]
    sure = {id(event) for trace in here for event in _certain(trace.nodes)}
    shown = {
        (each.event.point.file.path, each.event.row, each.event.kind): each
        for each in events
        if id(each.event) in sure and each.is_at_each_step and each.event.kind in SEEN
    }
    happened = [any(_is_at(each, line) for line in lines) for each in shown.values()]
    return Compared(steady, found, list(shown.values()), happened)


def _leads_through(trace: StepTrace, rows: set[tuple[str, int]]) -> bool:
    """Whether a recorded event, or a call that led to it, is in a step loop."""
    last = getattr(trace.node, "end_lineno", None) or trace.row
    return any(file == trace.place.file.path and trace.row <= row <= last for file, row in rows)


def _is_at(each: Occurrence, line: dict[str, Any]) -> bool:
    node = each.event.point.statement.node
    body: list[ast.stmt] = getattr(node, "body", [])
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    file, row = str(line["file"]), int(line["line"])
    return each.event.point.file.path == file and node.lineno <= row <= max(last, node.lineno)


def _certain(nodes: Iterable[Node]) -> Iterator[StepEvent]:
    """The events that each step has, whatever its tests say: not those of alternatives, or of uncertain calls."""
    for node in nodes:
        if isinstance(node, StepEvent):
            yield node
        elif isinstance(node, StepCall) and node.is_sure and len(node.reached) == 1:
            yield from _certain(node.reached[0].nodes)
        elif isinstance(node, Repeat):
            yield from _certain(node.body)
        else:
            assert isinstance(node, (StepCall, Alternatives, Launches)) or node.why


def _loads(run: dict[str, Any], project: Iterable[StepTrace]) -> tuple[int, int]:
    """How many loops of a run waited for a loader without workers, and how many of these the traces name."""
    waits = [each for each in run["lines"] if each["kind"] == "loader wait" and each["share_of_steps"] >= OFTEN]
    blocking = [each for each in waits if each["blocks"]]
    rows = {(each["file"], each["line"]) for each in blocking}
    named = [trace for trace in project if _leads_through(trace, rows) and loadings(trace.place, trace.loop)]
    return len(blocking), min(len(named), len(blocking))


def main() -> int:
    """Compare all runs whose repository is there, and print a row for each."""
    options = _options()
    results: dict[str, Any] = {}
    total: Counter[str] = Counter()
    for name, run in json.loads(RUNS.read_text(encoding="utf-8")).items():
        root = _checkout(options.checkouts, run["repository"])
        if root is None or (options.only and name != options.only):
            continue
        sources, _ = read_all(sorted(root.rglob("*.py")))
        relative = {str(Path(path).relative_to(root)): source for path, source in sources.items()}
        named = {path: replace(source, path=path) for path, source in relative.items()}
        project = [trace for each in split(named).projects for trace in traces(opened(each))]
        compared = compare(run, project)
        blocking, known = _loads(run, project)
        row = {
            "recorded": len(compared.found),
            "found": sum(compared.found),
            "shown": len(compared.happened),
            "happened": sum(compared.happened),
            "loaders": blocking,
            "loaders named": known,
        }
        results[name] = row
        total.update(row)
        print(f"{name:16}", "  ".join(f"{key} {value}" for key, value in row.items()))
        if options.missed:
            _show(compared)
    results["all"] = dict(total)
    print(f"recall {total['found'] / total['recorded']:.2f}, precision {total['happened'] / total['shown']:.2f}")
    if not options.only:
        RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def _show(compared: Compared) -> None:
    """Print what only one of the two has."""
    for line, is_found in zip(compared.recorded, compared.found, strict=True):
        if not is_found:
            print(f"    not shown: {line['file']}:{line['line']} {line['kind']} {line['what']}")
    for each, came in zip(compared.shown, compared.happened, strict=True):
        if not came:
            print(f"    not recorded: {each.event.point.file.path}:{each.event.row} {each.event.kind.value}")


def _checkout(checkouts: Path, repository: str) -> Path | None:
    names = (repository.replace("/", "+"), repository.rpartition("/")[2])
    return next((checkouts / name for name in names if (checkouts / name).is_dir()), None)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--missed", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
