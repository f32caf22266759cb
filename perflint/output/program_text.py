"""Shows the training steps of a project by the programs that reach them: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perflint.index.project import Place
from perflint.output.step_text import as_json, text
from perflint.text.visible import visible_line
from perflint.trace.started import Program, ProgramPurpose, Programs
from perflint.trace.step_trace import StepTrace

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
    return "\n".join(_parts(found, names))


def _parts(found: Programs, names: Mapping[str, str]) -> Iterator[str]:
    seen: set[tuple[Place, int]] = set()
    for program in found.programs:
        for number, step in enumerate(program.steps):
            heading = f"== {_line(_heading(program, names))}" if number == 0 else ""
            key = (step.place.function, step.row)
            yield heading + (f"{_where(step, names)}: as above\n" if key in seen else text(step, names))
            seen.add(key)


def unreached_text(found: Programs, names: Mapping[str, str]) -> str:
    """The steps that no program reaches, a row each, with the reason."""
    return "".join(_line(f"{_where(step, names)}: {why}") for step, why in found.unreached)


def _line(text: str) -> str:
    return visible_line(text) + "\n"


def _heading(program: Program, names: Mapping[str, str]) -> str:
    name = _path(program.place, names)
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
    return f"{_path(step.place, names)}:{step.row}, {step.place.scope.qualname or 'the module'}"


def _path(place: Place, names: Mapping[str, str]) -> str:
    return names.get(place.file.path, place.file.path)


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
        "path": _path(program.place, names),
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
    return {"path": _path(step.place, names), "row": step.row, "function": step.place.scope.qualname}
