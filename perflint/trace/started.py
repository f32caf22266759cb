"""The programs of a project: how each is started, what it is for, what it reads, and which steps it reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from perflint.facts.entry_points import EntryPoint, are_copies, entries_by, one_of
from perflint.facts.gradient_graphs import FITTED
from perflint.facts.programs import is_toy
from perflint.flow.calls import Certainty
from perflint.flow.sources import sources
from perflint.index.imports import Imports
from perflint.index.in_use import asks_for_main, is_script
from perflint.index.project import FileIndex, Place, Project
from perflint.inputs.launch_lines import LaunchLine, is_settings
from perflint.query import query
from perflint.syntax.scopes import LOOPS, statements_on, terminal
from perflint.syntax.tree import string_of
from perflint.syntax.vocabulary import evaluates, predicts
from perflint.trace.events import EventKind
from perflint.trace.reached import (
    By,
    Reached,
    is_of_library,
    is_test,
    may_be_used_by,
    reached,
    reached_by,
    share_a_program,
    starters,
    sure_uses,
)
from perflint.trace.step_trace import StepTrace, occurrences
from perflint.training.evidence import takes_optimizer_step
from perflint.training.intent import optimizes_an_input
from perflint.training.steps import Step

_TRAINING = ("minimize", "fit", "train_batch", "step", "train")
"""The last names of calls that train."""


_READS = ("open", "load", "read", "parse", "config", "from_file", "fromfile")
"""Parts of the names of calls that read configuration files."""


class ProgramPurpose(Enum):
    """What a program is for."""

    TRAINS = "trains"
    EVALUATES = "evaluates"
    PREDICTS = "predicts"
    TESTS = "tests"
    EXERCISE = "exercise"
    OTHER = "other"


@dataclass(frozen=True)
class Program:
    """Something that a person starts.

    Attributes:
        place: the module that is started; of a library or a console script, the function that is called.
        row: where the module starts to run, or the function begins.
        lines: the lines that start it, in scripts, documents and CI files.
        purpose: what it is for; ``why`` says it in words.
        settings: the configuration files that it reads by default.
        steps: the training steps that its code reaches, in order.
        is_sure: whether it certainly reaches one of them; otherwise a name leads there, or a comment.
    """

    place: Place
    row: int
    lines: tuple[LaunchLine, ...]
    purpose: ProgramPurpose
    why: str
    settings: tuple[str, ...]
    steps: tuple[StepTrace, ...]
    is_sure: bool = True

    @property
    def file(self) -> FileIndex:
        """Its file."""
        return self.place.file

    @property
    def function(self) -> str:
        """The function that is called; ``""`` for a script or a module."""
        return self.place.scope.qualname if self.place.scope.parent is not None else ""


@dataclass(frozen=True)
class Programs:
    """The programs of a project, and the steps that none of them reaches, each with the reason."""

    programs: Sequence[Program] = ()
    unreached: Sequence[tuple[StepTrace, str]] = ()

    @property
    def steps(self) -> list[StepTrace]:
        """The steps of the programs, each once."""
        found = {(step.place.function, step.row): step for program in self.programs for step in program.steps}
        return list(found.values())


def programs_of(
    project: Project, steps: Iterable[StepTrace], lines: Mapping[str, Sequence[LaunchLine]], *, is_whole: bool
) -> Programs:
    """The programs of a project.

    Args:
        project: the project.
        steps: its training steps.
        lines: by the path of a file, the lines that start it.
        is_whole: whether there is no other code that may call its functions.
    """
    by_start: dict[Place, list[tuple[tuple[int, ...], StepTrace]]] = {}
    left: list[tuple[StepTrace, Reached]] = []
    for step in steps:
        found = reached(step.place)
        best = max(found.programs.values(), default=Certainty.SURE)
        starts = {
            Place(file, file.scopes.module): found.paths[file]
            for file, certainty in found.programs.items()
            if certainty is best
        }
        starts |= dict.fromkeys((each for each in found.functions if _console_lines(each, lines)), ())
        for start, rows in starts.items():
            by_start.setdefault(start, []).append((rows, step))
        if not starts:
            left.append((step, found))
    unreached: list[tuple[StepTrace, str]] = []
    for step, found in left:
        if found.is_open or not is_whole:
            for start in _tops(found, step):
                by_start.setdefault(start, []).append(((), step))
        else:
            unreached.append((step, _why_unreached(step, found)))
    for file in project.files.values():
        if is_script(file):
            by_start.setdefault(Place(file, file.scopes.module), [])
    order = {file: number for number, file in enumerate(project.files.values())}
    places = sorted(by_start, key=lambda at: (order[at.file], at.scope.row))
    return Programs([_program(at, by_start[at], lines) for at in places], unreached)


def _program(
    at: Place, found: list[tuple[tuple[int, ...], StepTrace]], lines: Mapping[str, Sequence[LaunchLine]]
) -> Program:
    steps = tuple(step for _, step in sorted(found, key=lambda each: (*each[0], each[1].row)))
    is_function = at.scope.parent is not None
    known = (
        _console_lines(at, lines)
        if is_function
        else [line for line in lines.get(at.file.path, ()) if not line.function]
    )
    purpose, why = _purpose(at.file, steps)
    settings = dict.fromkeys([*(_settings_of(at.file)), *(name for line in known[:1] for name in line.settings)])
    is_sure = is_function or any(reached(step.place).programs[at.file] is Certainty.SURE for step in steps)
    return Program(at, _row_of(at), tuple(known), purpose, why, tuple(settings), steps, is_sure)


def _console_lines(at: Place, lines: Mapping[str, Sequence[LaunchLine]]) -> list[LaunchLine]:
    """The lines that make a function a command."""
    return [line for line in lines.get(at.file.path, ()) if line.function and line.function == at.scope.qualname]


def _row_of(at: Place) -> int:
    """Where a program starts to run: ``if __name__ == "__main__"``, or the first statement that is no definition."""
    if at.scope.parent is not None:
        return at.scope.row
    module = [statement.node for statement in at.scope.statements if statement.place is None]
    main = (node.lineno for node in module if isinstance(node, ast.If) and asks_for_main(node))
    runs = (node.lineno for node in module if not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)))
    return next(main, next(runs, 1))


def _tops(found: Reached, step: StepTrace) -> list[Place]:
    """The functions of a library that lead to a step and that nothing of the library calls, or else its own."""
    sure = [each for each, certainty in found.functions.items() if certainty is Certainty.SURE]
    tops = [each for each in sure if not each.scope.name.startswith("_") and next(sure_uses(each), None) is None]
    return tops or [step.place.function]


def _why_unreached(step: StepTrace, found: Reached) -> str:
    """Why no program reaches a step, in words."""
    name = step.place.scope.qualname or step.place.file.path
    if found.tests:
        return f"only tests call {name}"
    others = [each.scope.qualname for each in found.functions if each.scope is not step.place.scope]
    return f"nothing calls {name}" if not others else f"only {others[-1]} leads to it, which nothing calls"


# -- what a program is for ---------------------------------------------------------------------------------------------


def _purpose(file: FileIndex, steps: Sequence[StepTrace]) -> tuple[ProgramPurpose, str]:
    """What a program is for, and why, in words."""
    if is_test(file):
        return ProgramPurpose.TESTS, "it contains tests"
    if steps and all(each.loop is not None and optimizes_an_input(each.place, each.loop) for each in steps):
        return ProgramPurpose.EXERCISE, "its steps optimize an input, no model"
    if steps and is_toy(file):
        return ProgramPurpose.EXERCISE, "it trains only one or two small linear layers"
    for step in steps:
        row = next((each.event.row for each in occurrences(step) if each.event.kind is EventKind.OPTIMIZER), None)
        if row is not None:
            return ProgramPurpose.TRAINS, f"the optimizer steps in the loop at row {step.row}"
    if steps:
        return ProgramPurpose.TRAINS, f"the loop at row {steps[0].row} makes a backward pass"
    calls = (call for scope, each, call in file.calls if _is_training(Place(file, scope, each), call))
    call = next(calls, None)
    if call is not None:
        return ProgramPurpose.TRAINS, f"row {call.lineno} calls {ast.unparse(call.func)}"
    if evaluates(file.parts[-1]):
        return ProgramPurpose.EVALUATES, "it reaches no training step, and its name says so"
    if predicts(file.parts[-1]):
        return ProgramPurpose.PREDICTS, "it reaches no training step, and its name says so"
    return ProgramPurpose.OTHER, "it reaches no training step"


@query
def _settings_of(file: FileIndex) -> tuple[str, ...]:
    """The configuration files that a program reads by default: defaults of its options, and what it opens."""
    found = [text for each in (file, *_options_of(file)) for text in _defaults(each)]
    opened = (
        text
        for _, _, call in file.calls
        if any(part in (terminal(call) or "").lower() for part in _READS)
        for argument in call.args
        if (text := string_of(argument)) is not None and is_settings(text)
    )
    return tuple(dict.fromkeys([*found, *opened]))


def _options_of(file: FileIndex) -> list[FileIndex]:
    """The files that a program imports and that declare options."""
    return [each for each in Imports.of(file.project).direct(file) if each.has_words("add_argument")]


def _defaults(file: FileIndex) -> Iterator[str]:
    for name in ("add_argument", "option"):
        for _, _, call in file.calls_named(name):
            for keyword in call.keywords:
                text = string_of(keyword.value) if keyword.arg == "default" else None
                if text is not None and is_settings(text):
                    yield text


# -- what that means for a finding -------------------------------------------------------------------------------------


class Standing(NamedTuple):
    """What a finding at a place is worth, as far as the programs that reach it show.

    ``doubt``: a sentence, why it may not matter: nothing trains there; ``""`` if there is no doubt.
    """

    is_reached: bool = True
    doubt: str = ""


_UNREACHED = Standing(is_reached=False)
ONLY_TESTS = "Only tests reach this code."
OPTIMIZES_AN_INPUT = "This loop optimizes an input, and trains no model."
NOTHING_TRAINS = "No program that uses this code trains."


def standing(at: Place, step: Step | None) -> Standing:
    """What the programs of the project mean for a finding in a function that runs at a step, or at none.

    Where a loop certainly leads to the function, who reaches the loop reaches it.
    """
    loop = _place_of(at.file.project, step) if step is not None else None
    leads = _leading_to(at.file.project, step) if step is not None and step.sure else None
    by = {reached_by(each) for each in ((at, loop) if leads is None else (leads,)) if each is not None}
    if By.NOBODY in by:
        return _UNREACHED
    if By.TESTS in by:
        return Standing(doubt=ONLY_TESTS)
    if step is None:
        return Standing()
    if loop is not None and isinstance(step.loop, LOOPS) and optimizes_an_input(loop, step.loop):
        return Standing(doubt=OPTIMIZES_AN_INPUT)
    is_led_to = loop is not None or leads is not None
    return Standing() if is_led_to or _may_be_trained(at) else Standing(doubt=NOTHING_TRAINS)


def _place_of(project: Project, step: Step) -> Place | None:
    """The function of the loop of a step."""
    file = project.files.get(step.path)
    return _around(file, step.loop) if file is not None and step.loop is not None else None


def _leading_to(project: Project, step: Step) -> Place | None:
    """The function of the loop whose calls certainly lead to what a step runs."""
    if step.led_from is None:
        return _place_of(project, step)
    path, row = step.led_from
    file = project.files.get(path)
    return _with_loop_at(file, row) if file is not None else None


@query
def _with_loop_at(file: FileIndex, row: int) -> Place | None:
    """The function with a loop that begins in a row."""
    found = (scope for scope, each in statements_on(file.scopes, [row]) if isinstance(each.node, LOOPS))
    return next((Place(file, scope) for scope in found), None)


@query
def _around(file: FileIndex, loop: ast.stmt) -> Place | None:
    found = (scope for scope, statement in file.statements if statement.node is loop)
    return next((Place(file, scope) for scope in found), None)


@query
def _may_be_trained(at: Place) -> bool:
    """Whether one of the programs that reach a function trains, as far as is known."""
    return is_trained(at.file) and may_be_used_by(at, is_trained)


@query
def is_trained(file: FileIndex) -> bool:
    """Whether a program that loads a file trains, as far as is known."""
    if is_of_library(file) or is_test(file):
        return True
    return any(
        share_a_program(at.file, file) and reached_by(at) is By.PROGRAMS for at in _training_places(file.project)
    )


@query
def _training_places(project: Project) -> tuple[Place, ...]:
    """The functions of a project that train a model."""
    found = (
        Place(file, scope)
        for file in project.mentions.of(*_TRAINING)
        if not (file.is_quiet or file.is_foreign)
        for scope in file.scopes.scopes
        if _trains(Place(file, scope))
    )
    return tuple(found)


def _trains(at: Place) -> bool:
    """Whether a function itself has a call that trains a model."""
    return any(
        _is_training(at.at(at.scope, statement), call)
        and not (statement.loop is not None and optimizes_an_input(at, statement.loop))
        for statement in at.scope.statements
        for call in statement.calls
    )


def _is_training(at: Place, call: ast.Call) -> bool:
    name = terminal(call) or ""
    if name in ("fit", "train_batch"):
        made = [each.qualified for each in sources(call.func.value, at)] if isinstance(call.func, ast.Attribute) else []
        return not made or not all(each.startswith(FITTED) for each in made)
    if name == "train":
        return isinstance(call.func, ast.Attribute) and "trainer" in ast.unparse(call.func.value).lower()
    return takes_optimizer_step(call)


# -- which of their steps are worth advice -----------------------------------------------------------------------------


@query
def program_entries(project: Project) -> Sequence[EntryPoint]:
    """The entry points that are worth advice, one for the programs of each file with step loops.

    The steps of such a file that are in other files, as the updaters of a trainer are, belong together if the same
    programs reach them. Copies of another program, or of one next to it, count as that.
    """
    kept: list[list[EntryPoint]] = []
    groups = [part for group in entries_by(lambda entry: entry.driven_from, project) for part in _by_programs(group)]
    for group in sorted(groups, key=lambda each: len(each[0].driven_from.parts)):
        known = next((each for each in kept if _is_variant(each[0], group[0])), None)
        if known is None:
            kept.append(group)
        else:
            known.extend(group)
    return [one_of(group) for group in kept]


def _by_programs(group: Sequence[EntryPoint]) -> list[list[EntryPoint]]:
    """The steps that the loops of a file do, by the programs that reach them if they are in several files."""
    parts: dict[object, list[EntryPoint]] = {}
    for entry in group:
        is_one = all(each.file is entry.file for each in group)
        parts.setdefault(() if is_one else starters(Place(entry.file, entry.scope)), []).append(entry)
    return [*parts.values()]


def _is_variant(first: EntryPoint, second: EntryPoint) -> bool:
    """Whether a program is a backup or a variant next to another one, or a copy of it that lies further inside."""
    one, other = first.driven_from, second.driven_from
    folder = one.parts[:-1]
    is_inside = other.parts[: len(folder)] == folder and other.parts[-1] == one.parts[-1]
    if is_inside and one is not other and one.source.text == other.source.text:
        return True
    beside = (first.file.parts[:-1], folder) == (second.file.parts[:-1], other.parts[:-1])
    return beside and are_copies(first, second)
