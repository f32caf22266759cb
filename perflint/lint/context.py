"""What a rule can ask about its candidate, what it needs for its edits, and how it reports."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.facts.programs import Devices
from perflint.findings import Confidence, Edit, Edits, Finding, Fix, Related, in_order
from perflint.flow.evaluate import Evaluator
from perflint.flow.known_values import Known
from perflint.flow.surely import Surely
from perflint.flow.type_tests import impossible
from perflint.index.in_use import InUse
from perflint.index.kinds import Kind
from perflint.index.project import FileIndex, Place
from perflint.lint.impacts import Cost, cost
from perflint.lint.statement_code import Instead, StatementCode, StatementEdit, span_of, statement_around
from perflint.suppress import noqa
from perflint.syntax.names import dotted
from perflint.syntax.scopes import COMPREHENSIONS, FUNCTIONS, nth_in_block
from perflint.trace.started import standing
from perflint.training import every as frequency
from perflint.training.every import Interval, is_never_reached
from perflint.training.outcomes import often
from perflint.training.steps import Point, Step, points_of

_Answer = TypeVar("_Answer")
_MOST_LOOKS = 20_000
"""The most statements that all fixes of one function together may look at."""
TOO_MANY = "this function has too many findings to look around each of them at once"


Shown = tuple[tuple[str, int, int], ...]
"""Log statements: path, row, and the offset where each starts."""


@dataclass(frozen=True)
class Draft:
    """A finding before its message is written: the message will name the other findings of the same loop."""

    code: str
    path: str
    start: int
    end: int
    line: int
    fields: Mapping[str, str]
    step: Step | None
    fix: Fix | None
    related: tuple[Related, ...]
    statement: tuple[int, int] | None
    confidence: Confidence
    is_silenced: bool = False
    """Whether a ``# noqa`` at the place says that it should stay."""

    logs: tuple[int, ...] = ()
    """Where the log statements begin that would then read, at each step, what the fix keeps on the device."""

    otherwise: Fix | None = None
    """The fix that is offered if one of those logs has no fix that makes it run less often."""

    cost: Cost | None = None
    every: Interval | None = None
    """How many steps lie between two runs of the place; None if it runs at each step."""

    shown: Shown = ()
    """The log lines at each step that are the only use of the value that is read."""

    read_for: Shown = ()
    """The log lines without which the value that is read could stay on the device."""

    guarded: tuple[int, int] | None = None
    """What the edits of a log line put under a test of the step: the line, its neighbours, and reads for it."""

    nth: tuple[tuple[int, int], int] | None = None
    """For a place in a simple statement: where its block starts (row, column), and its index in the block."""

    has_noqa: bool = False
    """Whether a ``# noqa`` applies to the place, respected or not."""

    doubt: str = ""
    """Why nothing may train there, in a sentence."""


class Context:
    """One file while its candidates are checked: the current candidate, and the findings so far."""

    def __init__(self, file: FileIndex, settings: Settings, rules: Mapping[str, Rule], codes: frozenset[str]) -> None:
        self.file = file
        self.settings = settings
        self.rules = rules
        self.codes = codes
        self.drafts: list[Draft] = []
        self.node: ast.AST = file.tree
        self.statement: ast.stmt | None = None
        self.point: Point | None = None
        """The facts of the index at the current statement."""
        self._code = ""
        self._step: Step | None = None
        self._claims = True
        self._answers: dict[Hashable, Any] = {}
        self._codes: dict[ast.stmt, StatementCode] = {}
        self._claimed: set[ast.AST] = set()
        self._claimed_definitions: list[ast.stmt] = []
        self._guarded: dict[ast.AST, bool] = {}

    def enter(self, node: ast.AST, statement: ast.stmt | None) -> None:
        """Go to a candidate; ``statement``: the one that it belongs to."""
        self.node, self.statement = node, statement
        self.point = points_of(self.file).get(statement) if statement is not None else None

    def begin(self, code: str, at_step: bool, claims: bool) -> None:
        """Begin a rule at the current candidate; ``claims``: nothing inside what it reports is reported again."""
        self._code, self._step, self._claims = code, self.hot if at_step else None, claims

    # -- where the candidate is --------------------------------------------------------------------------------------

    @property
    def here(self) -> Point:
        """The facts at the current statement, for a rule about steps, where they always exist."""
        assert self.point is not None
        return self.point

    @property
    def place(self) -> Place:
        """The current statement, for questions about a value there."""
        return self.here.place

    @property
    def running(self) -> Step:
        """The step that the current node runs at, for a rule about steps and forward passes."""
        assert self.hot is not None
        return self.hot

    @property
    def step(self) -> Step | None:
        """The step the current node runs at, None outside the hot path (also under a guard within the expression).

        A model's ``forward`` does not count here; it does in ``hot``.
        """
        hot = self.hot
        return None if hot is None or hot.forward else hot

    @property
    def hot(self) -> Step | None:
        """The step the current node runs at, in the training loop or in a ``forward`` (``Step.forward``)."""
        point = self.point
        return None if point is None or point.step is None or self._is_guarded(self.node) else point.step

    def code(self, statement: ast.stmt) -> StatementCode:
        """The nodes of a statement of the file, and their places."""
        if statement not in self._codes:
            self._codes[statement] = StatementCode(statement, self.file.source)
        return self._codes[statement]

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The nodes around one of the current statement, from the inside out, each with its child that contains it."""
        return self.code(self.statement).around(node) if self.statement is not None else iter(())

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around one of the current statement."""
        return next((parent for parent, _ in self.around(node)), None)

    def is_within(self, kind: type[ast.AST]) -> bool:
        """Whether the current node is inside a node of this type, in its statement."""
        return any(isinstance(parent, kind) for parent, _ in self.around(self.node))

    # -- what a node is ----------------------------------------------------------------------------------------------

    def edits(self, *changes: StatementEdit) -> Edits:
        """What changes of some statements of the file replace in its text, by their places."""
        found: list[Edit] = []
        for change in changes:
            node, statement = change.found[0], self.statement
            if statement is None or node not in self.code(statement).order:
                statement = statement_around(self.file.tree, node)
            found += change.edits(self.code(statement)) if statement is not None else []
        return in_order(found)

    def instead(self, node: ast.AST, text: str) -> Edits:
        """The edits that write another expression in place of one."""
        return self.edits(Instead(node, text))

    def range(self, node: ast.AST) -> tuple[int, int]:
        """The offsets of a node in the file, without its surrounding space and parentheses."""
        code = self.code(self.statement) if self.statement is not None else None
        return code.span(node) if code is not None and node in code.order else span_of(node, self.file.source)

    def rows(self, node: ast.AST) -> tuple[int, int]:
        """The first and the last row of a node."""
        position = self.file.source.lines.position
        start, end = self.range(node)
        return position(start)[0], position(end)[0]

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        start, end = self.range(node)
        return self.file.source.text[start:end]

    def where(self, path: str, line: int) -> str:
        """A place of the project in a sentence about a finding here: only the line if it is in this file."""
        return f"line {line}" if path == self.file.path else f"{path}:{line}"

    def kind(self, node: ast.expr) -> Kind:
        """The kind of value of an expression at the current statement."""
        return Evaluator(self.file, self.point.full_env if self.point else {}).kind(node)

    def is_surely_tensor(self, node: ast.expr) -> bool:
        """Whether an expression of the current statement is a tensor on every path: a safe edit needs that."""
        point = self.point
        return point is not None and Surely.of(self.file.project).is_tensor(node, point.function)

    def name(self, node: ast.expr) -> str:
        """The qualified name of a dotted expression, ``""`` if it is not one."""
        local = dotted(node)
        return self.file.names.resolve(local) if local else ""

    def callee(self, call: ast.Call) -> str:
        """The qualified name of what a call reaches: through imports, or through the kind of its receiver."""
        name = self.name(call.func)
        if name.startswith("paddle.") or not isinstance(call.func, ast.Attribute):
            return name
        kind = self.kind(call.func.value)
        return f"{kind.type}.{call.func.attr}" if kind.type.startswith("paddle.") else name

    def once(self, question: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """The answer to a question, computed once and kept for this file, because many of its findings ask it."""
        if question not in self._answers:
            self._answers[question] = answer()
        found: _Answer = self._answers[question]
        return found

    def may_look_around(self) -> bool:
        """Whether the fix of one more finding may look through the whole current function.

        A function of 1,000 statements that all have findings would be searched 1,000 times. So only the first findings
        get such a fix, and after it is applied, the next ones.
        """
        if self.point is None:
            return True
        scope = self.point.scope
        looked: int = self._answers.setdefault((_MOST_LOOKS, scope), 0)
        self._answers[_MOST_LOOKS, scope] = looked + len(scope.statements)
        return looked < _MOST_LOOKS

    # -- reports -----------------------------------------------------------------------------------------------------

    def claim(self, node: ast.AST) -> None:
        """Claim a place: nothing inside ``node`` is reported again."""
        if isinstance(node, FUNCTIONS):
            self._claimed_definitions.append(node)
        else:
            self._claimed.add(node)

    @property
    def claimed(self) -> bool:
        """Whether the current node, or a place around it, is already reported."""
        claimed, node = self._claimed, self.node
        if claimed and (node in claimed or any(outer in claimed for outer, _ in self.around(node))):
            return True
        row = getattr(self.statement, "lineno", 0)
        return any(outer.lineno <= row <= (outer.end_lineno or row) for outer in self._claimed_definitions)

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the file, or everything that runs it, pins the run to the CPU, where a host read costs nothing."""
        return Devices.of(self.file.project).runs_on_cpu(self.file)

    def report(
        self,
        fix: Fix | None,
        node: ast.AST | None = None,
        *,
        code: str = "",
        step: Step | None = None,
        related: tuple[Related, ...] = (),
        confidence: Confidence = Confidence.HIGH,
        costs_on_cpu: bool = False,
        logs: tuple[int, ...] = (),
        otherwise: Fix | None = None,
        event: str = "",
        every: Interval | None = None,
        shown: Shown = (),
        read_for: Shown = (),
        guarded: tuple[int, int] | None = None,
        span: tuple[int, int] | None = None,
        **fields: str,
    ) -> None:
        """Report a finding, if its rule is selected; ``fields`` fill the placeholders of the rule's message.

        Args:
            fix: what to do about it.
            node: its place, if it is not the candidate.
            code: its rule, if the function may report several.
            step: that of the place, for a rule that does not look for steps.
            costs_on_cpu: a run that is pinned to the CPU does not wait for the device; True if this costs time there
                too.
            logs: where the log statements begin without whose fixes this fix gains nothing.
            otherwise: the fix to offer if they have none.
            event: the name of the event that costs the time here, if it differs from the event of the rule.
            every: how many steps lie between two runs of the place, if it does not run at each step.
            shown: the log lines at each step that are the only use of the value that is read here.
            read_for: the log lines without which that value could stay on the device.
            guarded: what the edits put under a test of the step.
            span: what is shown, if it is more than the node: ``"num_workers": 0`` for the number.
        """
        code, node, step = code or self._code, node or self.node, step or self._step
        if self.rules[code].bottleneck == "sync" and not costs_on_cpu and self.runs_on_cpu:
            return
        if self.point is not None and is_never_reached(self.point):
            return
        if step is not None and not (step.sure and step.line):
            confidence = min(confidence, Confidence.MEDIUM)
        if self._is_left_over or (step is not None and (self._is_doubtful(step) or (step.forward and not step.sure))):
            confidence = Confidence.LOW
        if self._claims:  # whether the rule is selected or not, because that must not change what other rules report
            self.claim(node)
        if code not in self.codes:
            return
        doubt = ""
        if self.settings.whole_project and self.point is not None and confidence >= self.settings.min_confidence:
            stands = standing(self.point.function, step)
            if not stands.is_reached:
                return
            doubt, confidence = stands.doubt, Confidence.LOW if stands.doubt else confidence
        source, statement = self.file.source, self.statement
        start, end = span or self.range(node)
        fields.setdefault("what", shorten(source.text[start:end]))
        path, row = source.path, source.lines.position(start)[0]
        is_simple = statement is not None and not hasattr(statement, "body") and not isinstance(statement, ast.Match)
        around = self.range(statement) if statement is not None and is_simple else None
        bare = Finding(code, path, start, end, "", statement=around)
        has_noqa = noqa.suppressed(bare, source)
        known = catalogue.events()[event] if event else self.rules[code].event
        asked = node if isinstance(node, ast.expr) else None
        costs = cost(known, asked, self.point, step, every) if known is not None else None
        self.drafts.append(
            Draft(
                code,
                path,
                start,
                end,
                row,
                fields,
                step,
                fix,
                related,
                around,
                confidence,
                self.settings.noqa and has_noqa,
                logs,
                otherwise,
                costs,
                every,
                shown,
                read_for,
                guarded,
                self._nth() if around is not None else None,
                has_noqa,
                doubt,
            )
        )

    def _nth(self) -> tuple[tuple[int, int], int] | None:
        """The position of the current statement in its block."""
        found = nth_in_block(self.point.scope).get(self.point.statement.node) if self.point is not None else None
        return ((found[0].lineno, found[0].col_offset), found[1]) if found is not None else None

    @property
    def _is_left_over(self) -> bool:
        """Whether the code here is unused, or no program loads the file although programs load its neighbours."""
        in_use, point = InUse.of(self.file.project), self.point
        if in_use.is_left_over(self.file) or in_use.is_backup(self.file):
            return True
        return point is not None and not in_use.is_used_at(point.function)

    def _is_doubtful(self, step: Step) -> bool:
        point = self.point
        if point is not None and frequency.is_doubtful(point.statement, point.function):
            return True
        return frequency.is_doubtful_on_the_way(self.file.project, step)

    def _is_guarded(self, node: ast.AST) -> bool:
        """Whether a test in its statement makes a node of a step rare, or it only runs later, or for an error."""
        known, waiting, found = self._guarded, [], False
        for parent, inner in self.around(node):
            if inner in known:
                found = known[inner]
                break
            waiting.append((parent, inner))
        for parent, inner in reversed(waiting):
            found = known[inner] = found or self._guards(parent, inner)
        return found

    def _guards(self, parent: ast.AST, inner: ast.AST) -> bool:
        """Whether a node at a step runs its child only at a few steps, or only to raise an error."""
        if isinstance(parent, ast.Assert):
            return inner is parent.msg
        if isinstance(parent, ast.IfExp) and inner is not parent.test:
            return self._is_rare(parent.test, inner is parent.body)
        if isinstance(parent, ast.BoolOp):
            before = takewhile(lambda value: value is not inner, parent.values)
            return any(self._is_rare(value, isinstance(parent.op, ast.And)) for value in before)
        if isinstance(parent, COMPREHENSIONS) and not isinstance(inner, ast.comprehension):
            return any(self._is_rare(test, True) for part in parent.generators for test in part.ifs)
        return isinstance(parent, ast.Lambda)

    def _is_rare(self, test: ast.expr, value: bool) -> bool:
        def answer() -> bool:
            if isinstance(test, ast.BoolOp):
                parts = (self._is_rare(part, value) for part in test.values)
                return all(parts) if isinstance(test.op, ast.And) != value else any(parts)
            ways = (Known(self.here.function, dict(told)) for told in self.here.ways)
            return all(often(test, value, way).is_rare for way in ways) or impossible(
                test, value, Evaluator(self.file, self.here.full_env).kind, self.file
            )

        return self.once((often, test, value), answer)


def shorten(text: str, limit: int = 40) -> str:
    """Source text on one line, shortened in the middle if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 12]}...{line[-9:]}"
