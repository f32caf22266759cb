"""Measures where the time of a run goes, by phase and by rule, for ``perflint check --timing``.

The code of each phase names it (``stopwatch.phase``). The functions that rules have registered are replaced in the
registry by ones that read the clock, and restored at the end: naming them there would make each call slower.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perflint.lint.registry import Check

from perflint.stopwatch import PHASES, Clock, Stopwatch, phase

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
def measured(clock: Clock = time.process_time, *, from_start: bool = False) -> Iterator[Times]:
    """Measure the code in this block, in this process; the times are available after the block.

    Args:
        clock: gives seconds.
        from_start: also count what the clock already shows: the time it took to start the program.
    """
    times = Times()
    stopwatch = Stopwatch(clock)
    stopwatch.seconds |= {(name, ""): 0.0 for name in PHASES}
    if from_start:
        stopwatch.seconds["start", ""] = clock()
    with ExitStack() as undo:
        undo.callback(_write, stopwatch, times)
        undo.enter_context(stopwatch.running())
        with phase("imports"):
            from perflint.rules import load_checks  # it imports LibCST, whose time is part of what is measured

            load_checks()
            _replace_rules(stopwatch, undo)
        yield times


def _write(stopwatch: Stopwatch, times: Times) -> None:
    """Write down what was measured."""
    for (name, codes), seconds in stopwatch.seconds.items():
        times.phases[name] = times.phases.get(name, 0.0) + seconds
        by_rule = {GATES: times.gates, CHECKS: times.checks}.get(name)
        if by_rule is not None and codes and seconds:
            by_rule[codes] = seconds


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


def _replace_rules(stopwatch: Stopwatch, undo: ExitStack) -> None:
    from perflint.lint import registry

    undo.callback(registry.replace_checks, list(registry.checks))
    registry.replace_checks([_timed_check(check, stopwatch) for check in registry.checks])


def _timed_check(check: Check, stopwatch: Stopwatch) -> Check:
    find = {code: stopwatch.timed(finder, GATES, code, collect=True) for code, finder in check.finders().items()}
    codes = ", ".join(sorted(check.codes))
    find_at = stopwatch.timed(check.find_at, GATES, codes, collect=True) if check.find_at is not None else None
    return replace(check, judge=stopwatch.timed(check.judge, CHECKS, codes), find=find, find_at=find_at)
