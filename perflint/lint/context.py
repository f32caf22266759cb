"""What a check can query: the current place of the walk, and what the index knows about the current node."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import libcst as cst

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.facts.programs import Devices
from perflint.findings import Confidence, Finding, Fix, Related
from perflint.flow.evaluate import Evaluator
from perflint.flow.known_values import Known
from perflint.flow.surely import Surely
from perflint.flow.type_tests import impossible
from perflint.index.in_use import InUse
from perflint.index.kinds import UNKNOWN, Kind
from perflint.index.project import FileIndex
from perflint.lint.impacts import Cost, cost
from perflint.lint.units import ParsedUnit
from perflint.suppress import noqa
from perflint.syntax.scopes import Statement, nth_in_block, own_parts
from perflint.syntax.tree import children
from perflint.text.source import LineTable
from perflint.training import every as frequency
from perflint.training.every import Arms, Interval, arms_of, is_never_reached
from perflint.training.outcomes import often
from perflint.training.steps import Point, Step

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

    arms: Arms = field(default_factory=dict)
    """The arms of tests that lead to it within a step."""

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


@dataclass
class Context:
    """The state of the walk over one unit of one file."""

    file: FileIndex
    unit: ParsedUnit
    settings: Settings
    rules: Mapping[str, Rule]
    codes: frozenset[str]
    points: Mapping[int, Point]
    answers: dict[Hashable, Any] = field(default_factory=dict)
    """What ``once`` remembers while one file is checked."""
    node: cst.CSTNode | None = None
    parents: list[cst.CSTNode] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    _statements: list[tuple[cst.CSTNode, Point | None]] = field(default_factory=list)
    _claimed: set[cst.CSTNode] = field(default_factory=set)
    _inside_claimed: dict[cst.CSTNode, tuple[int, bool]] = field(default_factory=dict)
    """Whether a node is inside a claimed one, valid for this number of claims."""
    _expressions: dict[cst.CSTNode, ast.expr | None] = field(default_factory=dict)
    _rare: dict[tuple[cst.CSTNode, bool], bool] = field(default_factory=dict)
    _guarded: list[bool] = field(default_factory=list)
    """For the current node and its parents: whether a test in its statement makes it rare."""

    @property
    def point(self) -> Point | None:
        """The facts of the index at the current statement."""
        return self._statements[-1][1] if self._statements else None

    @property
    def here(self) -> Point:
        """The same for a check that runs at a step, where the facts always exist."""
        assert self.point is not None
        return self.point

    @property
    def statement(self) -> cst.CSTNode | None:
        """The current statement."""
        return self._statements[-1][0] if self._statements else None

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
        return None if point is None or self._guarded[-1] else point.step

    def range(self, node: cst.CSTNode) -> tuple[int, int]:
        """The offsets of a node in the file, without its surrounding space and parentheses."""
        return self.unit.span(node)

    def rows(self, node: cst.CSTNode) -> tuple[int, int]:
        """The first and the last row of a node."""
        position = self.file.source.lines.position
        start, end = self.range(node)
        return position(start)[0], position(end)[0]

    def text(self, node: cst.CSTNode) -> str:
        """The source of a node."""
        start, end = self.range(node)
        return self.file.source.text[start:end]

    def expression(self, node: cst.CSTNode) -> ast.expr | None:
        """The same expression in the tree of the index, about which gates and facts have cached answers."""
        if node not in self._expressions:
            statement = self.point.statement if self.point is not None else None
            lines = self.file.source.lines
            known = self.once((_by_range, statement), lambda: _by_range(statement, lines)) if statement else {}
            self._expressions[node] = known.get(self.range(node)) or _parsed(self.text(node))
        return self._expressions[node]

    def kind(self, node: cst.CSTNode) -> Kind:
        """The kind of value of an expression at the current statement."""
        point, expression = self.point, self.expression(node)
        if expression is None:
            return UNKNOWN
        return Evaluator(self.file, point.full_env if point else {}).kind(expression)

    def is_surely_tensor(self, node: cst.CSTNode) -> bool:
        """Whether an expression of the current statement is a tensor on every path: a safe edit needs that."""
        point, expression = self.point, self.expression(node)
        if point is None or expression is None:
            return False
        return Surely.of(self.file.project).is_tensor(expression, self.file, point.scope)

    def name(self, node: cst.CSTNode) -> str:
        """The qualified name of a dotted expression, ``""`` if it is not one."""
        local = local_name(node)
        return self.file.names.resolve(local) if local else ""

    def callee(self, call: cst.Call) -> str:
        """The qualified name of what a call reaches: through imports, or through the kind of its receiver."""
        name = self.name(call.func)
        if name.startswith("paddle.") or not isinstance(call.func, cst.Attribute):
            return name
        kind = self.kind(call.func.value)
        return f"{kind.type}.{call.func.attr.value}" if kind.type.startswith("paddle.") else name

    def around(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """The nodes around the current one, from the inside out, each with its child that contains the node."""
        for parent in reversed(self.parents):
            yield parent, node
            node = parent

    def once(self, question: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """The answer to a question, computed once and kept for this file, because many of its findings ask it."""
        if question not in self.answers:
            self.answers[question] = answer()
        found: _Answer = self.answers[question]
        return found

    def may_look_around(self) -> bool:
        """Whether the fix of one more finding may look through the whole current function.

        A function of 1,000 statements that all have findings would be searched 1,000 times. So only the first findings
        get such a fix, and after it is applied, the next ones.
        """
        if self.point is None:
            return True
        scope = self.point.scope
        looked: int = self.answers.setdefault((_MOST_LOOKS, scope), 0)
        self.answers[_MOST_LOOKS, scope] = looked + len(scope.statements)
        return looked < _MOST_LOOKS

    def is_within(self, kind: type[cst.CSTNode]) -> bool:
        """Whether the current node is inside a node of this type."""
        return any(isinstance(parent, kind) for parent in self.parents)

    def claim(self, node: cst.CSTNode) -> None:
        """Claim a place: nothing inside ``node`` is reported again."""
        self._claimed.add(node)

    @property
    def claimed(self) -> bool:
        """Whether the current node, or a place around it, is already reported."""
        claimed = self._claimed
        if not claimed or self.node in claimed:
            return bool(claimed)
        now, found = len(claimed), False
        waiting: list[cst.CSTNode] = []
        for parent in reversed(self.parents):  # there may be hundreds, in a chain of ``elif``
            known = self._inside_claimed.get(parent)
            if known is not None and known[0] == now:
                found = known[1]
                break
            waiting.append(parent)
        for parent in reversed(waiting):
            found = found or parent in claimed
            self._inside_claimed[parent] = now, found
        return found

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the file, or everything that runs it, pins the run to the CPU, where a host read costs nothing."""
        return Devices.of(self.file.project).runs_on_cpu(self.file)

    def report(
        self,
        code: str,
        node: cst.CSTNode,
        fix: Fix | None,
        step: Step | None = None,
        related: tuple[Related, ...] = (),
        confidence: Confidence = Confidence.HIGH,
        claims: bool = True,
        costs_on_cpu: bool = False,
        logs: tuple[int, ...] = (),
        otherwise: Fix | None = None,
        event: str = "",
        every: Interval | None = None,
        shown: Shown = (),
        read_for: Shown = (),
        guarded: tuple[int, int] | None = None,
        **fields: str,
    ) -> None:
        """Report a finding at a node, if its rule is selected; ``fields`` fill the placeholders of the rule's message.

        Args:
            claims: nothing inside the node is reported again. False for a rule whose cost differs from that of the code
                inside.
            costs_on_cpu: a run that is pinned to the CPU does not wait for the device; True if this costs time there
                too.
            logs: where the log statements begin without whose fixes this fix gains nothing.
            otherwise: the fix to offer if they have none.
            event: the name of the event that costs the time here, if it differs from the event of the rule.
            every: how many steps lie between two runs of the place, if it does not run at each step.
            shown: the log lines at each step that are the only use of the value that is read here.
            read_for: the log lines without which that value could stay on the device.
            guarded: what the edits put under a test of the step.
        """
        if self.rules[code].bottleneck == "sync" and not costs_on_cpu and self.runs_on_cpu:
            return
        if self.point is not None and is_never_reached(self.point):
            return
        if step is not None and not (step.sure and step.line):
            confidence = min(confidence, Confidence.MEDIUM)
        if self._is_left_over or (step is not None and (self._is_doubtful(step) or (step.forward and not step.sure))):
            confidence = Confidence.LOW
        if claims:  # whether the rule is selected or not, because that must not change what other rules report
            self.claim(node)
        if code not in self.codes:
            return
        start, end = self.range(node)
        statement = self.statement
        fields.setdefault("what", shorten(self.text(node)))
        source = self.file.source
        path, row = source.path, source.lines.position(start)[0]
        around = self.range(statement) if isinstance(statement, cst.BaseSmallStatement) else None
        bare = Finding(code, path, start, end, "", statement=around)
        has_noqa = noqa.suppressed(bare, source)
        place = (code, path, start, end, row)
        known = catalogue.events()[event] if event else self.rules[code].event
        costs = cost(known, self._asked(node), self.point, step, every) if known is not None else None
        project, point = self.file.project, self.point
        arms = arms_of(project, point, step) if point is not None and step is not None else {}
        self.drafts.append(
            Draft(
                *place,
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
                arms,
                shown,
                read_for,
                guarded,
                self._nth() if around is not None else None,
                has_noqa,
            )
        )

    def _nth(self) -> tuple[tuple[int, int], int] | None:
        """The position of the current statement in its block."""
        found = nth_in_block(self.point.scope).get(self.point.statement.node) if self.point is not None else None
        return ((found[0].lineno, found[0].col_offset), found[1]) if found is not None else None

    def _asked(self, node: cst.CSTNode) -> ast.expr | None:
        return self.expression(node) if isinstance(node, cst.BaseExpression) else None

    def enter(self, node: cst.CSTNode, is_statement: bool) -> None:
        """Called by the walk for each node on the way down."""
        self.node = node
        if is_statement:
            known = node in self.unit.spans
            self._statements.append((node, self.points.get(self.unit.span(node)[0]) if known else None))
        is_inside = not is_statement and bool(self._guarded)
        self._guarded.append(is_inside and (self._guarded[-1] or self._guards(self.parents[-1], node)))

    def leave(self, is_statement: bool) -> None:
        """Called by the walk for each node on the way up."""
        self._guarded.pop()
        if is_statement:
            self._statements.pop()

    @property
    def _is_left_over(self) -> bool:
        """Whether the code here is unused, or no program loads the file although programs load its neighbours."""
        in_use, point = InUse.of(self.file.project), self.point
        return in_use.is_left_over(self.file) or (point is not None and not in_use.is_used_at(self.file, point.scope))

    def _is_doubtful(self, step: Step) -> bool:
        point = self.point
        if point is not None and frequency.is_doubtful(point.statement, point.scope, point.file):
            return True
        return frequency.is_doubtful_on_the_way(self.file.project, step)

    def _guards(self, parent: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """Whether a node at a step runs its child only at a few steps, or only to raise an error."""
        if self.point is None or self.point.step is None:
            return False
        if isinstance(parent, cst.Assert):
            return inner is parent.msg
        if isinstance(parent, cst.IfExp) and inner is not parent.test:
            return self._is_rare(parent.test, inner is parent.body)
        if isinstance(parent, cst.BooleanOperation) and inner is parent.right:
            return self._is_rare(parent.left, isinstance(parent.operator, cst.And))
        if isinstance(parent, cst.BaseComp) and not isinstance(inner, cst.CompFor):
            return any(self._is_rare(test.test, True) for test in _tests_of(parent.for_in))
        return isinstance(parent, cst.Lambda)

    def _is_rare(self, test: cst.BaseExpression, value: bool) -> bool:
        key = test, value
        if key not in self._rare:
            if isinstance(test, cst.BooleanOperation):  # in a long chain, each is the left side of the next
                parts = (self._is_rare(part, value) for part in (test.left, test.right))
                self._rare[key] = all(parts) if isinstance(test.operator, cst.And) != value else any(parts)
            else:
                expression = self.expression(test)
                ways = (Known(self.file, self.here.scope, dict(told)) for told in self.here.ways)
                self._rare[key] = expression is not None and (
                    all(often(expression, value, way).is_rare for way in ways)
                    or impossible(expression, value, Evaluator(self.file, self.here.full_env).kind, self.file)
                )
        return self._rare[key]


def _tests_of(part: cst.CompFor | None) -> Iterator[cst.CompIf]:
    """The tests that decide for which items a comprehension evaluates its element."""
    while part is not None:
        yield from part.ifs
        part = part.inner_for_in


def _by_range(statement: Statement, lines: LineTable) -> Mapping[tuple[int, int], ast.expr]:
    """The expressions of a statement by start and end; before Python 3.12, those in f-strings have no position."""
    found: dict[tuple[int, int], ast.expr] = {}
    waiting = own_parts(statement.node)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            found[lines.span(node)] = node
        if not isinstance(node, ast.JoinedStr):
            waiting += children(node)
    return found


def _parsed(text: str) -> ast.expr | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def local_name(node: Any) -> str:
    """``a.b.c`` for a chain of attributes on a name, ``""`` for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def method_of(call: cst.Call) -> str:
    """``item`` for ``loss.item()``, ``""`` if the called function is not an attribute."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def shorten(text: str, limit: int = 40) -> str:
    """Source text on one line, shortened in the middle if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 12]}...{line[-9:]}"
