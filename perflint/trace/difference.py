"""What a change adds to the steps of a project, and takes from them: two lists of traces, compared.

Lines move, names change and functions are split, so events are matched in several passes, each less strict than the
one before: an event of which only the row has changed is found in the first pass, one whose function has moved in a
later one. Within a pass, events are matched in the order of the step, so the result does not depend on anything else::

    before: loss.item() at each step                       the same event, now every n steps
    after:  if step % 10 == 0: loss.item(); out.numpy()    out.numpy(): a new one
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from perflint.flow.branches import Often
from perflint.syntax.scopes import terminal
from perflint.trace.budget import COUNTS, counts
from perflint.trace.events import StepEvent
from perflint.trace.loading import Loading, loadings
from perflint.trace.step_trace import Occurrence, StepTrace, occurrences, unknown_calls


@dataclass(frozen=True)
class SeenEvent:
    """An event as a step meets it, with what it is recognized by in another revision."""

    occurrence: Occurrence
    code: str
    shape: str

    @property
    def event(self) -> StepEvent:
        """The event."""
        return self.occurrence.event

    @property
    def often(self) -> Often:
        """How often a step meets it."""
        return self.occurrence.every.often

    @property
    def is_sure(self) -> bool:
        """Whether all calls that lead there do so by names and types."""
        return all(call.is_sure for call in self.occurrence.calls)

    @property
    def function(self) -> tuple[str, str]:
        """The file and the function that it is in."""
        return self.event.point.file.path, self.event.point.scope.qualname

    @property
    def trail(self) -> tuple[str, ...]:
        """The functions on the way from the step."""
        return tuple(call.place.scope.qualname for call in self.occurrence.calls)

    @property
    def loops(self) -> int:
        """The number of loops inside the step that it is in."""
        return len(self.occurrence.repeats)


_PASSES: Sequence[Callable[[SeenEvent], Hashable]] = (
    lambda met: (met.function, met.code, met.trail, met.often, met.loops),
    lambda met: (met.function, met.code, met.trail),
    lambda met: (met.function, met.code),
    lambda met: (met.function[1], met.code),
    lambda met: met.code,
    lambda met: (met.function, met.shape),
    lambda met: (met.function[1], met.shape),
)
"""By what events of one kind are matched, most strictly first."""


def _as_rewritten(met: SeenEvent) -> Hashable:
    """By what an event is taken for one in place of another: the same method, in the same function."""
    node = met.event.node
    return met.function, terminal(node) if isinstance(node, ast.Call) else type(node)


def _as_respelled(met: SeenEvent) -> Hashable:
    """By what an event is taken for the same about the same value, spelled differently: ``float(x)``, ``x.numpy()``."""
    found = (node.id for node in ast.walk(met.event.node) if isinstance(node, ast.Name))
    return met.function, frozenset(name for name in found if not hasattr(builtins, name)), met.often, met.loops


def _as_replaced(met: SeenEvent) -> Hashable:
    return _as_rewritten(met), met.often, met.loops


@dataclass(frozen=True)
class EventChange:
    """Events of one place of the code that differ in the same way.

    ``before`` is empty for new ones, and ``after`` for lost ones. ``is_replaced``: another value is read, or another
    line is logged, where one was before.
    """

    before: tuple[SeenEvent, ...]
    after: tuple[SeenEvent, ...]
    is_replaced: bool = False

    @property
    def shown(self) -> SeenEvent:
        """The event where it is now; where it was, for a lost one."""
        return (self.after or self.before)[0]

    @property
    def is_more(self) -> bool:
        """Whether steps do this now, or do it more often."""
        if not self.after or not self.before:
            return bool(self.after)
        now, then = self.after[0], self.before[0]
        return (now.often, now.loops) > (then.often, then.loops)


@dataclass(frozen=True)
class StepDifference:
    """How a step differs. ``before`` is None for a new step, ``after`` for one that is lost.

    ``loaders``: those whose numbers of workers differ, as they were and are. ``counts``: what a step has at most
    of each kind, before and now. ``unknown``: how many calls could not be followed, before and now.
    """

    before: StepTrace | None
    after: StepTrace | None
    events: tuple[EventChange, ...] = ()
    loaders: tuple[tuple[Loading | None, Loading | None], ...] = ()
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unknown: tuple[int, int] = (0, 0)

    @property
    def shown(self) -> StepTrace:
        """The step as it is now; as it was, if it is lost."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def is_same(self) -> bool:
        """Whether nothing differs that is known."""
        known = self.before is not None and self.after is not None
        return known and not self.events and not self.loaders and self.unknown[0] == self.unknown[1]

    @property
    def is_more(self) -> bool:
        """Whether a step that was there before now waits, logs, saves or the like more than it did."""
        if self.before is None or self.after is None:
            return False
        if any(now > then for then, now in self.counts.values()):
            return True
        return any(each.is_more and each.before and each.after[0].loops > each.before[0].loops for each in self.events)


def differences(before: Sequence[StepTrace], after: Sequence[StepTrace]) -> list[StepDifference]:
    """The steps of two states of a project, matched, in the order of those that exist now; lost steps come last."""
    met = {id(each): _events(each) for each in (*before, *after)}
    found = dict(_matched(before, after, met))
    steps = []
    for number, now in enumerate(after):
        then = before[found[number]] if number in found else None
        changes = _changes(met[id(then)], met[id(now)]) if then is not None else []
        steps.append(_difference(then, now, changes))
    lost = set(range(len(before))) - set(found.values())
    return [*steps, *(_difference(before[number], None, []) for number in sorted(lost))]


def _difference(then: StepTrace | None, now: StepTrace | None, changes: Iterable[EventChange]) -> StepDifference:
    sides = then, now
    none = dict.fromkeys(COUNTS, 0)
    before, after = (none if each is None else counts(each) for each in sides)
    unknown = [0 if each is None else len(unknown_calls(each.nodes)) for each in sides]
    loaders = tuple(_loaders(then, now)) if then is not None and now is not None else ()
    both = {name: (before[name], after[name]) for name in COUNTS}
    return StepDifference(then, now, tuple(changes), loaders, both, (unknown[0], unknown[1]))


def _events(trace: StepTrace) -> list[SeenEvent]:
    """The events of a step in order, without those that no step meets."""
    codes: dict[ast.expr, tuple[str, str]] = {}
    found = []
    for each in occurrences(trace):
        if each.every.often is Often.NEVER:
            continue
        node = each.event.node
        if node not in codes:
            codes[node] = ast.unparse(node), _shape(node)
        found.append(SeenEvent(each, *codes[node]))
    return found


def _shape(node: ast.expr) -> str:
    """An expression without the names of variables and without constants: what is left if somebody renames them."""
    return ast.unparse(_Shaped().visit(ast.parse(ast.unparse(node), mode="eval")))


class _Shaped(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.Name:
        return ast.Name("_", ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Name:
        return ast.Name("_", ast.Load())


# Matches steps.

_ALIKE = 0.5
"""The least share of events that two steps in functions of different names have in common if they are one step."""


def _matched(
    before: Sequence[StepTrace], after: Sequence[StepTrace], met: Mapping[int, list[SeenEvent]]
) -> Iterator[tuple[int, int]]:
    """The numbers of the steps that are the same one: after, and before. The surest pairs come first."""
    pairs = []
    codes = {key: {each.code for each in found} for key, found in met.items()}
    for number, now in enumerate(after):
        for other, then in enumerate(before):
            alike = _alike(codes[id(then)], codes[id(now)])
            same_file = then.place.file.path == now.place.file.path
            same_name = then.place.scope.qualname == now.place.scope.qualname
            if (same_file and same_name) or alike >= _ALIKE or (same_name and alike):
                pairs.append((-(2 * same_name + same_file), -alike, abs(number - other), number, other))
    taken: tuple[set[int], set[int]] = set(), set()
    for _, _, _, number, other in sorted(pairs):
        if number not in taken[0] and other not in taken[1]:
            taken[0].add(number)
            taken[1].add(other)
            yield number, other


def _alike(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first or second else 0.0


# Matches the events of one step.


def _changes(before: Iterable[SeenEvent], after: Iterable[SeenEvent]) -> list[EventChange]:
    lost, new = list(before), list(after)
    changed: list[tuple[SeenEvent, SeenEvent, bool]] = []
    for key in _PASSES:
        lost, new, pairs = _paired(lost, new, key)
        changed += [(*pair, False) for pair in pairs if _differs(*pair)]
    for key in (_as_respelled, _as_replaced, _as_rewritten):
        lost, new, pairs = _paired(lost, new, key)
        changed += [(*pair, True) for pair in pairs]
    found = [*_together((None, each, False) for each in new), *_together(changed)]
    found += _together((each, None, False) for each in lost)
    return found


def _differs(then: SeenEvent, now: SeenEvent) -> bool:
    return (then.often, then.loops) != (now.often, now.loops)


def _paired(
    lost: list[SeenEvent], new: list[SeenEvent], key: Callable[[SeenEvent], Hashable]
) -> tuple[list[SeenEvent], list[SeenEvent], list[tuple[SeenEvent, SeenEvent]]]:
    """The events that are left on both sides, and the pairs with the same key, the first with the first."""
    waiting: dict[Hashable, list[SeenEvent]] = defaultdict(list)
    for each in reversed(lost):
        waiting[each.event.kind, key(each)].append(each)
    pairs, left = [], []
    for each in new:
        found = waiting.get((each.event.kind, key(each)))
        if found:
            pairs.append((found.pop(), each))
        else:
            left.append(each)
    taken = {id(then) for then, _ in pairs}
    return [each for each in lost if id(each) not in taken], left, pairs


def _together(changes: Iterable[tuple[SeenEvent | None, SeenEvent | None, bool]]) -> list[EventChange]:
    """The changes of each place in the code that differ in the same way: a function may be called at several places."""
    groups: dict[Hashable, list[tuple[SeenEvent | None, SeenEvent | None, bool]]] = defaultdict(list)
    for then, now, replaced in changes:
        how = tuple(None if each is None else (id(each.event.node), each.often, each.loops) for each in (then, now))
        groups[how, replaced].append((then, now, replaced))
    return [
        EventChange(
            tuple(then for then, _, _ in group if then is not None),
            tuple(now for _, now, _ in group if now is not None),
            group[0][2],
        )
        for group in groups.values()
    ]


def _loaders(before: StepTrace, after: StepTrace) -> Iterator[tuple[Loading | None, Loading | None]]:
    """The loaders of a step that differ; those that have as many workers as before are the same."""
    then, now = (list(loadings(each.place, each.loop)) for each in (before, after))
    for each in list(now):
        same = next((other for other in then if other.workers == each.workers), None)
        if same is not None:
            then.remove(same)
            now.remove(each)
    for number in range(max(len(then), len(now))):
        yield (then[number] if number < len(then) else None, now[number] if number < len(now) else None)
