"""PPF004: a step with more waits, copies or log lines than its budget, or a comment, allows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.findings import Confidence, Related
from perflint.flow.branches import Often
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, Candidate, rule
from perflint.syntax.scopes import LOOPS, Loop
from perflint.trace.budget import COUNTS, OverBudget, SyncVerdict, exceeded, verdicts_of
from perflint.trace.events import WORDS
from perflint.trace.step_trace import Occurrence

RULE = shipped()["PPF004"]
_MOST = 6
"""How many places a message names; the related places name more."""
_MOST_RELATED = 20


def _found(file: FileIndex) -> Iterator[Candidate]:
    """The steps, loops and functions of a file that do more than they may."""
    for over in exceeded(file.project):
        if over.trace.place.file is file and isinstance(over.trace.node, ast.stmt):
            yield Candidate(over.trace.node, over.trace.node, over)
    for verdict in verdicts_of(file):
        if not verdict.is_proved and isinstance(verdict.claim.node, ast.stmt):
            confidence = Confidence.LOW if verdict.is_kept else Confidence.HIGH
            yield Candidate(verdict.claim.node, verdict.claim.node, verdict, confidence)


@rule(RULE.code, at=At.ANYWHERE, find=_found, claims=False, heeds_claims=False, needs_kinds=False)
def step_over_budget(found: OverBudget | SyncVerdict, context: Context) -> None:
    """Report a step over its budget, or a loop or a function that waits although a comment calls it sync-free."""
    said = _of_budget(found, context) if isinstance(found, OverBudget) else _of_comment(found, context)
    context.report(
        RULE.words(),
        related=tuple(dict.fromkeys(_related(said.events)))[:_MOST_RELATED],
        confidence=said.confidence,
        costs_on_cpu=True,
        span=_header(said.place, said.loop),
        message=said.message,
        count=said.number,
        limit=said.limit,
        places=said.places,
    )


class _Said(NamedTuple):
    """What is said about a loop, or about a function (``loop`` is None), which does too much at some events."""

    place: Place
    loop: Loop | None
    events: Sequence[Occurrence]
    places: str
    message: str = ""
    number: str = ""
    limit: str = ""
    confidence: Confidence = Confidence.HIGH


def _of_budget(over: OverBudget, context: Context) -> _Said:
    one, many, _ = COUNTS[over.name]
    return _Said(
        over.trace.place,
        over.trace.loop,
        over.events,
        _listed([_named(each, context) for each in over.events]),
        RULE.texts["budget"],
        f"{over.count} {one if over.count == 1 else many}",
        str(over.limit),
    )


def _of_comment(verdict: SyncVerdict, context: Context) -> _Said:
    events = verdict.waits or verdict.perhaps
    places = [_named(each, context) for each in events]
    calls = [_at(each.place.file, each.node, context) for each in verdict.unknown]
    claim = verdict.claim.place, verdict.claim.loop
    if verdict.is_kept:
        listed = _listed([*places, *calls])
        return _Said(*claim, events, listed, RULE.texts["perhaps"], confidence=Confidence.LOW)
    more = RULE.texts["unknown"].format(places=_listed(calls)) if calls else ""
    return _Said(*claim, events, _listed(places) + more)


def _header(place: Place, loop: Loop | None) -> tuple[int, int]:
    """The offsets of ``for x in loader``, or of ``def name``."""
    source, node = place.file.source, place.scope.node if loop is None else loop
    assert isinstance(node, ast.stmt)
    start, _ = source.lines.span(node)
    if isinstance(node, LOOPS):
        return start, source.lines.span(node.test if isinstance(node, ast.While) else node.iter)[1]
    return start, source.text.index(place.scope.name, start) + len(place.scope.name)


def _related(events: Iterable[Occurrence]) -> Iterator[Related]:
    for each in events:
        file = each.event.point.file
        text = RULE.texts["event" if each.every.often is Often.EACH_STEP else "rarer"]
        yield Related(file.path, file.row(each.event.node), text.format(does=WORDS[each.event.kind]))
        for call in reversed(each.calls):
            yield Related(call.place.file.path, call.place.file.row(call.node), RULE.texts["call"])


def _named(each: Occurrence, context: Context) -> str:
    return _at(each.event.point.file, each.event.node, context)


def _at(file: FileIndex, node: ast.expr, context: Context) -> str:
    return f"{context.where(file.path, file.row(node))} `{shorten(ast.unparse(node))}`"


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:_MOST])
    return f"{shown} and {len(places) - _MOST} more" if len(places) > _MOST else shown
