"""Measures where the time of a run goes, by phase and by rule, for ``perflint check --timing``.

Nothing here runs unless requested. Then the functions of the phases, and those registered by the rules, are replaced by
ones that read the clock, and restored at the end.
"""

from __future__ import annotations

import ast
import functools
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from perflint.lint.registry import Check

Clock = Callable[[], float]
Function = Callable[..., Any]

PHASES = {
    "start": "Python and the command line",
    "imports": "LibCST, perflint's modules and the rules",
    "settings": "the configuration",
    "discovery": "which files there are",
    "read": "the files as text",
    "projects": "which files belong together",
    "index": "names of modules",
    "ast.parse": "the files that are needed for an answer",
    "scopes": "names, functions and statements of parsed files",
    "syntax": "whether the other files are valid Python",
    "step loops": "what runs at each step, and the kinds of values there",
    "gates": "which statements can hold a finding",
    "kinds": "kinds of values that a check needs elsewhere",
    "LibCST parse": "the statements that an edit changes",
    "checks": "what is wrong, and which edit fixes it",
    "messages": "the sentences of the findings",
    "output": "showing the findings",
    "the rest": "what is in no other phase",
}
"""What each phase does, in the order of a run."""

GATES, CHECKS = "gates", "checks"


@dataclass
class Times:
    """CPU seconds of one process: no time is counted twice for phases, nor for rules.

    Time belongs to the innermost phase: when looking for candidates causes a file to be parsed, that counts as
    ``ast.parse``. ``gates`` (what looks for candidates) and ``checks`` say how much of these phases the functions of a
    rule took, by its code; rules that share a function are named together ("PPF202, PPF405"). What perflint computes
    once and caches counts for the first that uses it.
    """

    phases: dict[str, float] = field(default_factory=dict)
    gates: dict[str, float] = field(default_factory=dict)
    checks: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """All seconds."""
        return sum(self.phases.values())

    @property
    def rules(self) -> dict[str, float]:
        """The seconds of each rule, or of rules that share a function, most expensive first."""
        sums = {codes: self.gates.get(codes, 0.0) + self.checks.get(codes, 0.0) for codes in self.gates | self.checks}
        return _most_expensive_first(sums)


@contextmanager
def measured(
    clock: Clock = time.process_time,
    *,
    from_start: bool = False,
    outside: Callable[[], Mapping[object, str]] = dict,
) -> Iterator[Times]:
    """Measure the code in this block, in this process; the times are available after the block.

    Args:
        clock: gives seconds.
        from_start: also count what the clock already shows: the time it took to start the program.
        outside: returns functions around the checks that have their own phase, with its name.
    """
    times = Times()
    stopwatch = Stopwatch(clock)
    if from_start:
        stopwatch.account("start").seconds += clock()
    with ExitStack() as undo:
        undo.callback(stopwatch.into, times)
        with stopwatch.running("imports"):
            _replace_all(stopwatch, undo, outside)
        yield times


def table(times: Times) -> str:
    """Phases, then rules, most expensive first, as text ending with a newline."""
    phases = [(name, [seconds], PHASES[name]) for name, seconds in _most_expensive_first(times.phases).items()]
    rules = [
        (codes, [times.gates.get(codes, 0.0), times.checks.get(codes, 0.0), seconds], "")
        for codes, seconds in times.rules.items()
    ]
    width = max(len(name) for name, _, _ in (*phases, *rules))
    lines = [
        f"Where the time went: {times.total:.3f} s of CPU in one process, without a cache.",
        "",
        *_rows("phase", ["s"], phases, times.total, width),
        "",
        *_rows("rule", ["gates", "checks", "s"], rules, times.total, width),
        "",
        "Each moment counts once, for the innermost phase; those of the rules are part of the phases gates and checks.",
        "What several ask for is worked out once, and counts for the first of them.",
    ]
    return "\n".join(lines) + "\n"


def _rows(
    what: str, head: Sequence[str], rows: Iterable[tuple[str, list[float], str]], total: float, width: int
) -> Iterator[str]:
    yield f"{what:{width}}" + "".join(f"{name:>9}" for name in head) + "    share"
    for name, seconds, words in rows:
        share = 100 * seconds[-1] / total if total else 0.0
        yield f"{name:{width}}{''.join(f'{value:9.3f}' for value in seconds)}{share:7.1f} %  {words}".rstrip()


def _most_expensive_first(seconds: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


# -- the clock -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Account:
    """Seconds of one phase, or of the functions of one rule in it."""

    phase: str
    codes: str
    seconds: float = 0.0


class Stopwatch:
    """Charges all time to one account: that of the measured function entered last that has not returned."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._accounts: dict[tuple[str, str], _Account] = {}
        self._current = self.account("the rest")
        self._outer: list[_Account] = []
        self._since = clock()

    def account(self, phase: str, codes: str = "") -> _Account:
        """The account of a phase, or of rules in a phase."""
        return self._accounts.setdefault((phase, codes), _Account(phase, codes))

    def timed(self, function: Function, phase: str, codes: str = "", collect: bool = False) -> Function:
        """Wrap a function so that its time is charged to a phase, and to rules.

        Args:
            function: the function.
            phase: the phase.
            codes: the rules.
            collect: the function returns an iterable, which may do its work only when it is iterated.
        """
        account, enter, leave = self.account(phase, codes), self._enter, self._leave

        @functools.wraps(function)
        def measured(*args: Any, **options: Any) -> Any:
            enter(account)
            try:
                result = function(*args, **options)
                return list(result) if collect else result
            finally:
                leave()

        return measured

    @contextmanager
    def running(self, phase: str) -> Iterator[None]:
        """Charge the time of this block to a phase."""
        self._enter(self.account(phase))
        try:
            yield
        finally:
            self._leave()

    def into(self, times: Times) -> None:
        """Write what has been measured so far."""
        self._charge()
        phases: defaultdict[str, float] = defaultdict(float)
        for account in self._accounts.values():
            phases[account.phase] += account.seconds
        times.phases = dict(phases)
        times.gates, times.checks = self._by_rule(GATES), self._by_rule(CHECKS)

    def _by_rule(self, phase: str) -> dict[str, float]:
        wanted = (item for item in self._accounts.values() if item.phase == phase and item.codes and item.seconds)
        return {item.codes: item.seconds for item in wanted}

    def _enter(self, account: _Account) -> None:
        self._charge()
        self._outer.append(self._current)
        self._current = account

    def _leave(self) -> None:
        self._charge()
        self._current = self._outer.pop()

    def _charge(self) -> None:
        now = self._clock()
        self._current.seconds += now - self._since
        self._since = now


# -- what is measured ----------------------------------------------------------------------------------------------


def _replace_all(stopwatch: Stopwatch, undo: ExitStack, outside: Callable[[], Mapping[object, str]]) -> None:
    # Imported here, because they import LibCST, whose time is part of what is measured.
    from perflint.rules import load_checks

    load_checks()
    _replace_phases(stopwatch, undo, outside())
    _replace_rules(stopwatch, undo)


def _replace_phases(stopwatch: Stopwatch, undo: ExitStack, outside: Mapping[object, str]) -> None:
    from perflint.index import project
    from perflint.inputs import projects
    from perflint.lint import messages, registry, statement_code
    from perflint.run import discovery, intake
    from perflint.training import hot

    functions: dict[object, str] = {
        discovery.python_files: "discovery",
        intake.read_all: "read",
        projects.split: "projects",
        hot.analyse: "step loops",
        registry.candidates: GATES,
        registry.ensure_points: "kinds",
        messages.write: "messages",
        **outside,
    }
    members = [
        (project.Project, "__init__", "index"),
        (project.FileIndex, "tree", "scopes"),
        (project.FileIndex, "syntax_error", "syntax"),
        (statement_code.StatementCode, "written", "LibCST parse"),
    ]
    timed = {function: stopwatch.timed(cast(Function, function), phase) for function, phase in functions.items()}
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "perflint"]:
        for name, value in list(vars(module).items()):  # also if another module has imported the function
            if isinstance(value, FunctionType) and value in timed:
                _put(module, name, timed[value], undo)
    for owner, name, phase in members:
        _put(owner, name, _timed_member(vars(owner)[name], owner, name, phase, stopwatch), undo)
    # These do not belong to perflint, and other modules may use them.
    _put(project, "ast", _with_timed(ast, "parse", "ast.parse", stopwatch), undo)


def _put(owner: object, name: str, value: object, undo: ExitStack) -> None:
    undo.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)


def _timed_member(member: Any, owner: type, name: str, phase: str, stopwatch: Stopwatch) -> object:
    """The measured replacement of a method or property of a class."""
    if isinstance(member, property) and member.fget is not None:
        return property(stopwatch.timed(member.fget, phase))
    if isinstance(member, functools.cached_property):
        stand_in = functools.cached_property(stopwatch.timed(member.func, phase))
        stand_in.__set_name__(owner, name)
        return stand_in
    return stopwatch.timed(member, phase)


def _with_timed(module: ModuleType, name: str, phase: str, stopwatch: Stopwatch) -> ModuleType:
    """A copy of a module in which one function is measured."""
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, stopwatch.timed(getattr(module, name), phase))
    return copy


def _replace_rules(stopwatch: Stopwatch, undo: ExitStack) -> None:
    from perflint.lint import registry

    undo.callback(registry.replace_checks, list(registry.checks))
    registry.replace_checks([_timed_check(check, stopwatch) for check in registry.checks])


def _timed_check(check: Check, stopwatch: Stopwatch) -> Check:
    find = {code: stopwatch.timed(finder, GATES, code, collect=True) for code, finder in check.finders().items()}
    codes = ", ".join(sorted(check.codes))
    find_at = stopwatch.timed(check.find_at, GATES, codes, collect=True) if check.find_at is not None else None
    return replace(check, judge=stopwatch.timed(check.judge, CHECKS, codes), find=find, find_at=find_at)
