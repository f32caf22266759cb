"""The steps that findings belong to: which waits each finding is about, and what the step gains without them."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from perflint.findings import Confidence, StepPlace
from perflint.flow.calls import CallGraph, Certainty
from perflint.index.imports import Imports
from perflint.index.project import FileIndex, Place, Project
from perflint.lint.context import Draft
from perflint.lint.impacts import WAITS
from perflint.query import query
from perflint.syntax.scopes import Scope
from perflint.trace.loading import Loading, loadings
from perflint.trace.modelled_step import WORTH_MS, ModelledStep, Span, modelled
from perflint.trace.step_trace import StepTrace, of_function, outermost_loops, reached, trace_around, traces_of
from perflint.training.live import live
from perflint.training.steps import Step

_MOST_MODELS = 20
"""How many alternatives of a step are looked at one by one."""
_MOST_LINES = 6
_MOST_CALLS = 4
"""How many calls may lie between a step loop and a finding beside it."""
_MOST_ALIKE = 60
"""How many findings about one event of a loop are distinguished by whether one step has them together."""
Loop = tuple[str, int, str]
"""Path and line of a step loop, and the function of the step."""


def loop_of(step: Step) -> Loop:
    """The loop of a step."""
    return step.path, step.line, step.function


class Rows:
    """Rows of files, in order; messages name a few of them."""

    def __init__(self, places: Iterable[tuple[str, int]]) -> None:
        self._known = set(places)
        self.count = len(self._known)
        self._rows: dict[str, list[int]] = defaultdict(list)
        for path, row in sorted(self._known):
            self._rows[path].append(row)

    def without(self, places: Collection[tuple[str, int]]) -> int:
        """The number of places without some of them."""
        return self.count - sum((path, row) in self._known for path, row in places)

    def lines(self, path: str, without: Collection[tuple[str, int]] = ()) -> str:
        """The places as text for a message in a file: ``lines 3, 8``, ``line other.py:4``."""
        here = (str(row) for row in self._rows.get(path, ()) if (path, row) not in without)
        others = ((where, row) for where, rows in self._rows.items() if where != path for row in rows)
        elsewhere = (f"{where}:{row}" for where, row in others if (where, row) not in without)
        count = self.without(without)
        shown = ", ".join(islice(chain(here, elsewhere), _MOST_LINES))
        return f"line{'s' if count > 1 else ''} {shown}{', ...' if count > _MOST_LINES else ''}"


class Waits(NamedTuple):
    """The waits that a finding is about, by their keys in the model of its step, which is that of a ``loop``."""

    step: ModelledStep
    keys: frozenset[int]
    loop: Loop


@dataclass
class Edits:
    """The waits that can go away from a step: each set of ``about`` is that of a finding, ``others`` are the rest."""

    step: ModelledStep
    about: frozenset[frozenset[int]]
    others: frozenset[int]

    @cached_property
    def all(self) -> frozenset[int]:
        """All of them."""
        return self.others.union(*self.about)

    @cached_property
    def fewest(self) -> frozenset[int]:
        """The fewest that bring nearly as much as all, rather without those that no finding is about."""
        return self.step.fewest([{frozenset([key]) for key in self.others}, self.about])


@dataclass
class _Traced:
    """The trace of a step, with its models: the usual one, and those in which certain places run."""

    trace: StepTrace
    models: dict[Span | None, ModelledStep] = field(default_factory=dict)

    @property
    def usual(self) -> ModelledStep:
        """The model in which of alternatives those with most waits run."""
        return self._model(None)

    def showing(self, place: Span) -> ModelledStep | None:
        """The model in which a place runs; None if the trace has nothing there, or the step too many alternatives."""
        if place not in self.models and len(self.models) > _MOST_MODELS:
            return self.usual if self.usual.within(place) else None
        return next((model for wanted in (None, place) if (model := self._model(wanted)).within(place)), None)

    def _model(self, wanted: Span | None) -> ModelledStep:
        if wanted not in self.models:
            self.models[wanted] = modelled(self.trace, wanted)
        return self.models[wanted]


class FindingSteps:
    """The steps that the findings of a project belong to.

    Args:
        project: the project, whose steps are known.
        drafts: all drafts of the project.
    """

    def __init__(self, project: Project, drafts: Iterable[Draft]) -> None:
        self._project = project
        self._traced: dict[Loop, _Traced | None] = {}
        self._known: dict[Span, Waits | None] = {}
        self._led: dict[Loop, Loop] = {}
        self._rows: dict[int, Rows] = {}
        self._edits: dict[int, Edits] = {}
        self._alike: dict[tuple[Loop, str], list[Draft]] = {}
        self._drafts: dict[Loop, list[Draft]] = defaultdict(list)
        for draft in drafts:
            if draft.step is not None:
                self._drafts[self._loop(draft, draft.step)].append(draft)

    def waits(self, draft: Draft) -> Waits | None:
        """The waits that a finding is about; None if the trace of its step does not have them."""
        span = place_of(draft)
        if span not in self._known:
            self._known[span] = self._found(draft, span)
        return self._known[span]

    def pay_off(self, drafts: Sequence[Draft]) -> bool | None:
        """Whether a step gains something without the waits of some findings; None if that is not known.

        It may gain only if other waits are gone too, but only if those can go.
        """
        waits = next(filter(None, map(self.waits, drafts)), None)
        if waits is None:
            return None
        step, everything = waits.step, self.edits(waits).all
        if step.is_long:
            return step.gain(everything) >= WORTH_MS
        keys = _keys(step, drafts)
        return max(step.gain(keys), step.gain(keys, gone=everything - keys)) >= WORTH_MS

    def staying(self, drafts: Sequence[Draft]) -> list[tuple[str, int]]:
        """The waits that stay in the step of some findings, whatever is done: path and row of each."""
        waits = next(filter(None, map(self.waits, drafts)), None)
        if waits is None:
            return []
        left = waits.step.waits - self.edits(waits).all - _keys(waits.step, drafts)
        return [waits.step.events[key].row for key in sorted(left)]

    def beside(self, drafts: Sequence[Draft]) -> tuple[int, str]:
        """At how many places the step of some findings of one file waits besides theirs, and these places in words."""
        waits = next(filter(None, map(self.waits, drafts)), None)
        if waits is None:
            return 0, ""
        step = waits.step
        if id(step) not in self._rows:
            self._rows[id(step)] = Rows(step.events[key].row for key in step.waits)
        rows = self._rows[id(step)]
        own = {(each.path, each.line) for each in drafts} | {step.events[key].row for key in _keys(step, drafts)}
        return rows.without(own), rows.lines(drafts[0].path, own)

    def edits(self, waits: Waits) -> Edits:
        """What the findings of the same step can do together."""
        if id(waits.step) not in self._edits:
            self._edits[id(waits.step)] = _edits(waits.step, self._drafts[waits.loop])
        return self._edits[id(waits.step)]

    def same_event(self, draft: Draft) -> list[Draft]:
        """The findings about the same event that the same step has, this one among them; of very many, all."""
        assert draft.step is not None
        assert draft.cost is not None
        loop, name = self._loop(draft, draft.step), draft.cost.event.name
        if (loop, name) not in self._alike:
            alike = (each for each in self._drafts[loop] if each.cost is not None and each.cost.event.name == name)
            self._alike[loop, name] = list(alike)
        found = self._alike[loop, name]
        if len(found) > _MOST_ALIKE:
            return found
        return [draft, *self.together([draft], [each for each in found if each is not draft])]

    def together(self, drafts: Sequence[Draft], others: Sequence[Draft]) -> list[Draft]:
        """Those of some other findings that one step may have together with some that share a loop.

        Of alternatives, a step has one; of several functions that a call may lead to, it runs one.
        """
        step = drafts[0].step
        traced = self._trace(self._loop(drafts[0], step)) if step is not None and others else None
        if traced is None:
            return list(others)
        models = [model for each in drafts if (model := traced.showing(place_of(each))) is not None]
        if not models:
            return list(others)
        return [each for each in others if any(model.within(place_of(each)) for model in models)]

    def step_of(self, draft: Draft) -> StepPlace | None:
        """The step that a finding belongs to: that which runs it, draws from its loader, is around it, or beside it."""
        if draft.step is not None:
            loop: Loop | None = self._loop(draft, draft.step)
        else:
            loop = self._fed_by(draft) or self._around(draft) or self._beside(draft)
        return StepPlace(*loop[:2], "" if loop[1] else loop[2]) if loop is not None else None

    def _fed_by(self, draft: Draft) -> Loop | None:
        """The step that draws from the loader of a finding; None if it is about none, or several draw from it."""
        loops = self._feeding.get((draft.path, draft.line), set()).union(
            *(self._feeding.get((each.path, each.line), ()) for each in draft.related)
        )
        return next(iter(loops)) if len(loops) == 1 else None

    @cached_property
    def _feeding(self) -> Mapping[tuple[str, int], set[Loop]]:
        """The step loops that draw from the loaders of the project, by path and row of what creates a loader."""
        found: dict[tuple[str, int], set[Loop]] = defaultdict(set)
        for loop, _, fed in self._fed:
            for each in fed:
                found[each.made.place.file.path, each.row].add(loop)
        return found

    @cached_property
    def _fed(self) -> list[tuple[Loop, Place, list[Loading]]]:
        """The step loops of the project, each with its function and the loaders that it draws from."""
        loops = ((file, at, loop) for file in live(self._project).files for at, loop in outermost_loops(file))
        return [((file.path, loop.lineno, ""), at, [*loadings(at, loop)]) for file, at, loop in loops]

    @cached_property
    def _in(self) -> Mapping[Scope, set[Loop]]:
        """The step loops that a function contains or whose loaders it creates, else those to which its calls lead."""
        found: dict[Scope, set[Loop]] = defaultdict(set)
        places = dict[Place, set[Loop]]()
        for loop, at, fed in self._fed:
            for each in (at, *(one.made.place for one in fed)):
                found[each.scope].add(loop)
            places.setdefault(at, set()).add(loop)
        for _ in range(_MOST_CALLS):
            above: dict[Place, set[Loop]] = defaultdict(set)
            for at, loops in places.items():
                for caller in self._callers(at):
                    if caller.scope not in found:
                        above[caller] |= loops
            found.update({at.scope: loops for at, loops in above.items()})
            places = above
        return found

    def _beside(self, draft: Draft) -> Loop | None:
        """The only step in the function of a finding, or that it feeds; else that of the nearest functions calling it.

        An evaluation that ``fit`` calls after each epoch belongs to the step of ``fit``.
        """
        file = self._project.files.get(draft.path)
        functions = {Place(file, _scope_at(file, draft.line))} if file else set()
        for _ in range(_MOST_CALLS):
            loops = set[Loop]().union(*(self._in.get(at.scope, ()) for at in functions))
            if loops:
                return next(iter(loops)) if len(loops) == 1 else None
            functions = {caller for at in functions for caller in self._callers(at)}
        return None

    def _callers(self, at: Place) -> set[Place]:
        return {site.function for site in CallGraph.of(self._project).callers(at, Certainty.SURE)}

    def _around(self, draft: Draft) -> Loop | None:
        """The step loop around a finding about a whole step, such as its precision, or around a place it names."""
        for path, row in ((draft.path, draft.line), *((each.path, each.line) for each in draft.related)):
            file = self._project.files.get(path)
            trace = trace_around(file, row) if file is not None else None
            if trace is not None:
                return path, trace.row, ""
        return None

    def _found(self, draft: Draft, span: Span) -> Waits | None:
        if draft.step is None:
            return None
        loop = self._loop(draft, draft.step)
        traced = self._trace(loop)
        step = traced.showing(span) if traced is not None else None
        keys = step.within(span) & step.waits if step is not None else None
        return Waits(step, keys, loop) if step is not None and keys else None

    def _trace(self, loop: Loop) -> _Traced | None:
        if loop not in self._traced:
            trace: StepTrace | None = None
            with suppress(RecursionError):  # code nests too deeply: the findings keep what each costs by itself
                trace = self._trace_of(loop)
            self._traced[loop] = _Traced(trace) if trace is not None else None
        return self._traced[loop]

    def _trace_of(self, loop: Loop) -> StepTrace | None:
        path, row, function = loop
        file = self._project.files.get(path)
        if file is None:
            return None
        if row:
            return trace_around(file, row)
        return next((trace for at in _named(file, function) if (trace := of_function(at)).nodes), None)

    def _loop(self, draft: Draft, step: Step) -> Loop:
        """The loop of a finding: of a wait in a forward pass that no loop is known to lead to, one whose trace does."""
        loop = loop_of(step)
        if step.led_from is not None:
            return *step.led_from, ""
        if step.line or not step.forward or not is_wait(draft):
            return loop
        if loop not in self._led:
            self._led[loop] = loop
            with suppress(RecursionError):
                self._led[loop] = self._leading(loop)
        return self._led[loop]

    def _leading(self, loop: Loop) -> Loop:
        """The first loop in the file of a function, or in one that imports it, whose trace runs the function."""
        path, _, function = loop
        file = self._project.files.get(path)
        if file is None:
            return loop
        scopes = {at.scope for at in _named(file, function)}
        for user in dict.fromkeys([file, *Imports.of(self._project).importers(file)]):
            for trace in traces_of(user):
                if any(each.function.scope in scopes for each in reached(trace.nodes)):
                    return user.path, trace.row, ""
        return loop


@query
def _starts(file: FileIndex) -> tuple[list[int], list[Scope]]:
    """The rows in which the statements of a file begin, in order, each with its function."""
    found = sorted((each.node.lineno, number) for number, (_, each) in enumerate(file.statements))
    scopes = [scope for scope, _ in file.statements]
    return [row for row, _ in found], [scopes[number] for _, number in found]


def _scope_at(file: FileIndex, row: int) -> Scope:
    """The function of the last statement that begins in a row or above it."""
    rows, scopes = _starts(file)
    at = bisect_right(rows, row)
    return scopes[at - 1] if at else file.scopes.module


def _named(file: FileIndex, function: str) -> Iterator[Place]:
    """The functions of a file with a qualified name."""
    return (Place(file, scope) for scope in file.scopes.scopes if scope.qualname == function)


def place_of(draft: Draft) -> Span:
    """The place of a finding."""
    return Span(draft.path, draft.start, draft.end)


def _keys(step: ModelledStep, drafts: Iterable[Draft]) -> frozenset[int]:
    """The waits of a step that some findings are about."""
    return frozenset().union(*(step.within(place_of(each)) for each in drafts)) & step.waits


def _edits(step: ModelledStep, drafts: Sequence[Draft]) -> Edits:
    """What can go away from a step.

    That is more than findings are about: a message names the others, without which nothing would be gained. So are
    those of findings that are not certain.
    """
    about = {step.within(place_of(each)) & step.waits for each in drafts if _is_removable(each)} - {frozenset()}
    staying = _keys(step, [each for each in drafts if is_wait(each) and _stays(each)])
    others = step.waits - step.inside_paddle - staying - frozenset().union(*about)
    return Edits(step, frozenset(about), others)


def _is_removable(draft: Draft) -> bool:
    """Whether a finding is about a wait at each step that an edit, or its advice, can certainly remove."""
    return draft.confidence > Confidence.LOW and is_wait(draft) and not _stays(draft)


def _stays(draft: Draft) -> bool:
    """Whether the wait of a finding stays: its code asks for it, the host needs the value, or most steps have none."""
    return draft.is_silenced or draft.every is not None or draft.cost is None or not draft.cost.milliseconds


def is_wait(draft: Draft) -> bool:
    """Whether a finding is about a wait of the host for the device."""
    return draft.cost is not None and draft.cost.event.name in WAITS
