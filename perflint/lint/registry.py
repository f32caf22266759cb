"""Registers rules, and finds their candidates: the places of a file that a selected rule has to look at.

A rule is a function with the decorator ``rule``, which says where its candidates are. It is called for these only, gets
what was found there, and reports with the node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Flag, auto
from functools import cache
from typing import Any, NamedTuple

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Confidence
from perflint.flow.by_statement import Flow
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context, Draft
from perflint.query import query
from perflint.stopwatch import phase
from perflint.syntax.names import dotted, spellings
from perflint.syntax.scopes import terminal
from perflint.training.clues import Clues
from perflint.training.steps import Point, points_of


class At(Flag):
    """Where candidates are."""

    STEP = auto()
    """In statements that run at each step, outside of models."""

    FORWARD = auto()
    """In the forward pass of a model."""

    HOT = STEP | FORWARD
    ANYWHERE = auto()


class Candidate(NamedTuple):
    """A place that a rule has to look at.

    ``statement``: the one that contains it. ``fact``: what the rule gets in place of the node. ``confidence``: the
    highest that a finding there can have; what will not be shown is not looked at.
    """

    node: ast.AST
    statement: ast.stmt
    fact: Any = None
    confidence: Confidence = Confidence.HIGH


Judge = Callable[[Any, Context], None]
InFile = Callable[[FileIndex], Iterable[Candidate]]
AtPoint = Callable[[Point], Iterable[Any]]
MayMatch = Callable[[ast.Call], bool]


@dataclass(frozen=True, eq=False)
class Check:
    """A function that is a rule, with what makes code its candidate.

    Attributes:
        codes: those that it may report.
        judge: the function. It gets each candidate (or what was found there), and the context.
        at: where its candidates are.
        calls: last names of calls that are candidates, in statements that run at each step or in a forward pass.
        names: qualified names of calls that are candidates; by code, with a quick look at their arguments, where a
            selected rule decides whether there is something to look at.
        declared: the setting (``sync_calls``) that names calls which are candidates.
        find: what finds candidates in a file, for each code if they differ. It is called for every file, so it should
            look at the words of the file first.
        find_at: what finds candidates in a statement of a step: nodes, or tuples of a node, what is known about it,
            and the highest confidence that a finding can have.
        clues: calls without which a forward pass need not be looked at; those in ``calls``, unless given.
        decided: the same for calls whose result Python also has to test (``training.clues``).
        is_close: the clues are not worth following calls of functions that contain nothing else.
        claims: nothing inside what it reports is reported again.
        heeds_claims: it says nothing inside a place that is reported already.
        needs_kinds: it needs the kinds of values outside of steps.
    """

    codes: tuple[str, ...]
    judge: Judge
    at: At
    calls: Collection[str] = ()
    names: Mapping[str, Mapping[str, MayMatch]] = field(default_factory=dict)
    declared: str = ""
    find: InFile | Mapping[str, InFile] | None = None
    find_at: AtPoint | None = None
    clues: Collection[str] = ()
    decided: Collection[str] = ()
    is_close: bool = False
    claims: bool = True
    heeds_claims: bool = True
    needs_kinds: bool = True

    def finders(self) -> Mapping[str, InFile]:
        """The functions that find candidates in a file, by code."""
        if self.find is None or isinstance(self.find, Mapping):
            return self.find or {}
        return dict.fromkeys(self.codes, self.find)


checks: list[Check] = []
"""All rules, in no particular order."""


def rule(*codes: str, at: At, **asked: Any) -> Callable[[Judge], Judge]:
    """Register a function as a rule; see ``Check`` for what it may ask for."""

    def register(function: Judge) -> Judge:
        checks.append(Check(codes, function, at, **asked))
        return function

    return register


def named(*names: str, code: str) -> Mapping[str, Mapping[str, MayMatch]]:
    """Calls for ``Check.names`` that one rule looks at, whatever their arguments."""
    return {name: {code: any_call} for name in names}


def calls_with(question: Callable[[Point, ast.Call], Any]) -> AtPoint:
    """What finds the calls of a statement about which a question has an answer, for ``Check.find_at``."""
    return lambda point: (
        (call, known) for call in point.statement.calls if (known := question(point, call)) is not None
    )


def any_call(_: ast.Call) -> bool:
    """Look at every call."""
    return True


def forward_clues_of(codes: frozenset[str], sure: bool = False) -> Clues:
    """What makes a model's forward pass worth checking for these rules; ``sure``: if it certainly leads there."""
    chosen = [each for each in checks if not codes.isdisjoint(each.codes) and At.FORWARD in each.at]
    calls = frozenset().union(*(each.clues or each.calls for each in chosen))
    far = frozenset().union(*(each.clues or each.calls for each in chosen if not each.is_close))
    return Clues(calls, frozenset().union(*(each.decided for each in chosen)), sure, calls - far)


# Finds the candidates of one file.

Found = tuple[Check, Candidate]


@phase("gates")
def candidates(file: FileIndex, codes: frozenset[str], settings: Settings) -> list[Found]:
    """The candidates of a file for some rules, in no particular order; the steps and their kinds must be known.

    A rule that is not selected is asked as well where a selected one has candidates, if it may claim the place: what is
    selected must not change which rule a place belongs to.
    """
    chosen, others = _chosen(codes)
    found = _Finding(file, codes, settings).of(chosen)
    at = frozenset(candidate.statement for each, candidate in found if each.heeds_claims)
    everywhere = _Finding(file, None, settings).of(others, at) if at else []
    beside = [each for each in everywhere if each[1].statement in at]
    _type(file, [*found, *beside])
    return [*found, *beside]


def replace_checks(others: Iterable[Check]) -> None:
    """Use other rules from now on: the same ones, measured."""
    checks[:] = list(others)
    _chosen.cache_clear()


@cache
def _chosen(codes: frozenset[str]) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """The rules that may report one of these codes, and those of the others that may claim a place."""
    chosen = tuple(each for each in checks if not codes.isdisjoint(each.codes))
    return chosen, tuple(each for each in checks if each.claims and each not in chosen)


@dataclass
class _Finding:
    """Finds candidates in one file; ``codes``: those that may be reported, None for all."""

    file: FileIndex
    codes: frozenset[str] | None
    settings: Settings

    def of(self, some: tuple[Check, ...], only: frozenset[ast.stmt] | None = None) -> list[Found]:
        """The candidates of some rules, in all statements or only in these."""
        found = [*self._in_steps(some, only), *self._named(some, only), *self.anywhere(some)]
        least = self.settings.min_confidence
        return [(each, candidate) for each, candidate in found if candidate.confidence >= least]

    def anywhere(self, some: tuple[Check, ...]) -> Iterator[Found]:
        """What functions find in the whole file."""
        for each in some:
            for finder in dict.fromkeys(finder for code, finder in each.finders().items() if self._may_report(code)):
                yield from ((each, candidate) for candidate in _answers(finder, self.file))

    def _may_report(self, code: str) -> bool:
        return self.codes is None or code in self.codes

    def _in_steps(self, some: tuple[Check, ...], only: frozenset[ast.stmt] | None) -> Iterator[Found]:
        tables = {kind: self._by_call(some, kind) for kind in (At.STEP, At.FORWARD)}
        for node, point in points_of(self.file).items():
            if point.step is None or (only is not None and node not in only):
                continue
            by_call, finding = tables[At.FORWARD if point.step.forward else At.STEP]
            for call in point.statement.calls:
                for each in by_call.get(terminal(call) or "", ()):
                    yield each, Candidate(call, node)
            for each in finding:
                for item in _answers(each.find_at, point) if each.find_at is not None else ():
                    place, *known = item if isinstance(item, tuple) else (item,)
                    yield each, Candidate(place, node, *known)

    def _by_call(self, some: tuple[Check, ...], kind: At) -> tuple[Mapping[str, list[Check]], list[Check]]:
        """The rules by the last names of the calls that they look at, and those that find candidates themselves."""
        by_call: dict[str, list[Check]] = {}
        names = self.file.names
        for each in some:
            if kind not in each.at:
                continue
            known = {name for name, codes in each.names.items() if any(map(self._may_report, codes))}
            renamed = {name for name in names.bound if names.resolve(name) in known} if known else set()
            said = getattr(self.settings, each.declared) if each.declared else ()
            for name in {*each.calls, *renamed, *(name.rpartition(".")[2] for name in (*known, *said))}:
                by_call.setdefault(name, []).append(each)
        return by_call, [each for each in some if kind in each.at and each.find_at is not None]

    def _named(self, some: tuple[Check, ...], only: frozenset[ast.stmt] | None) -> Iterator[Found]:
        """The calls anywhere that rules know by their qualified names."""
        methods, words = _words(some, self.codes)
        if not self.file.has_words(*words, *(methods if self.file.has("paddle") else ())):
            return
        for scope in self.file.scopes.scopes:
            for each, call, node in _named_in(Place(self.file, scope), some, self.codes):
                if only is None or node in only:
                    yield each, Candidate(call, node)


def _answers(finder: Callable[[Any], Iterable[Any]], asked: Any) -> list[Any]:
    """What a finder answers; nothing where the code nests, or calls, too deeply to be followed."""
    try:
        return list(finder(asked))
    except RecursionError:  # the rest of the file is still worth checking
        return []


@cache
def _words(some: tuple[Check, ...], codes: frozenset[str] | None) -> tuple[frozenset[str], frozenset[str]]:
    """The methods that some rules look for anywhere, and the words without which a file has none of their calls."""
    anywhere = [each for each in some if At.ANYWHERE in each.at]
    known = {name for each in anywhere for name, by in each.names.items() if codes is None or not codes.isdisjoint(by)}
    return frozenset(filter(None, map(_method, known))), frozenset(name.rpartition(".")[2] for name in spellings(known))


def _method(name: str) -> str:
    """``fit`` for ``paddle.Model.fit``, which is called on an object; empty for a function."""
    owner, _, last = name.rpartition(".")
    return last if owner.rpartition(".")[2][:1].isupper() else ""


@query
def _named_in(
    at: Place, some: tuple[Check, ...], codes: frozenset[str] | None
) -> list[tuple[Check, ast.Call, ast.stmt]]:
    """The calls of a function that some rules know by name, each with its statement."""
    anywhere = [each for each in some if At.ANYWHERE in each.at]
    methods = _words(some, codes)[0] if at.file.has("paddle") else frozenset()
    found = []
    for statement in at.scope.statements:
        for call in (*statement.calls, *statement.later):
            local = dotted(call.func)
            name = at.file.names.resolve(local) if local is not None else ""
            method = call.func.attr if isinstance(call.func, ast.Attribute) and call.func.attr in methods else ""
            for each in anywhere:
                asked = each.names.get(name, {})
                if (method and any(method == _method(known) for known in each.names)) or any(
                    (codes is None or code in codes) and may_match(call) for code, may_match in asked.items()
                ):
                    found.append((each, call, statement.node))
    return found


def _type(file: FileIndex, found: Iterable[Found]) -> None:
    """Compute the kinds of values in the functions with candidates whose rules need them outside of steps."""
    asked = {candidate.statement for each, candidate in found if At.ANYWHERE in each.at and each.needs_kinds}
    for scope in file.scopes.scopes if asked else ():
        if any(statement.node in asked for statement in scope.statements):
            ensure_points(Place(file, scope))


@phase("kinds")
def ensure_points(at: Place) -> None:
    """Compute the kinds of values at each statement of a scope outside the hot path."""
    if all(statement.node in points_of(at.file) for statement in at.scope.statements):
        return
    flow = Flow(at, Values.of(at.file.project).base_env(at, {}), guess_losses=False).run()
    for statement in at.scope.statements:
        if statement.node not in points_of(at.file):
            env = flow.before.get(statement.node, {})
            points_of(at.file)[statement.node] = Point(statement, at.scope, None, env, None, at.file)


# Checks one file.


def drafts_of(file: FileIndex, settings: Settings, asked: Settings, codes: frozenset[str]) -> list[Draft]:
    """The findings of some rules in a file before their messages are written.

    Args:
        file: the file; the steps of its project must be known.
        settings: those of the run.
        asked: the same, unless findings count that would not be shown.
        codes: those of the rules.
    """
    found = candidates(file, codes, asked)
    if not found:
        return []
    context = Context(file, settings, catalogue.shipped(), codes)

    def place(item: Found) -> tuple[int, int, int, int]:
        each, candidate = item
        statement = candidate.statement
        order = context.code(statement).order.get(candidate.node, 0)
        return statement.lineno, statement.col_offset, order, _rank(each)

    for each, candidate in sorted(found, key=place):
        context.enter(candidate.node, candidate.statement)
        at_step = At.ANYWHERE not in each.at
        is_left_out = context.code(candidate.statement).is_too_deep or (each.heeds_claims and context.claimed)
        if is_left_out or (at_step and context.hot is None):
            continue
        context.begin(each.codes[0] if each.codes else "", at_step, each.claims)
        with suppress(RecursionError):  # the rest of the file is still worth checking
            each.judge(candidate.node if candidate.fact is None else candidate.fact, context)
    return context.drafts


@cache
def _rank(each: Check) -> int:
    """The place of a rule in the order of those that report a shared place."""
    return min(map(catalogue.order().index, each.codes), default=-1)
