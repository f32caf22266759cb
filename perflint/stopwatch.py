"""Measures where the time of a run goes. The code of each phase names it, with a decorator or in a ``with`` statement.

    @phase("read")
    def read_all(paths): ...

Nothing is measured unless ``perflint check --timing`` has started a `Stopwatch`.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any

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
    "verdicts": "what to do about each step",
    "output": "showing the findings",
    "the rest": "what is in no other phase",
}
"""What each phase does, in the order of a run."""

Clock = Callable[[], float]
Function = Callable[..., Any]


class phase(ContextDecorator):  # noqa: N801 - used like a function
    """Charges the time of a block, or of all calls of a function, to a phase; does nothing if nothing is measured.

    Args:
        name: one of `PHASES`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        if _running is not None:
            _running.enter((self._name, ""))

    def __exit__(self, *_: object) -> None:
        if _running is not None:
            _running.leave()


Account = tuple[str, str]
"""A phase, and the rules whose functions take its time ("": it is not charged to rules)."""


class Stopwatch:
    """Charges all time to one account: that of the measured code entered last that has not been left.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self.seconds: dict[Account, float] = defaultdict(float)
        self._clock = clock
        self._current = ("the rest", "")
        self._outer: list[Account] = []
        self._since = clock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the phases in this block."""
        global _running
        _running = self
        try:
            yield
        finally:
            _running = None
            self.charge()

    def timed(self, function: Function, phase: str, codes: str, collect: bool = False) -> Function:
        """Wrap a function so that its time is charged to rules in a phase.

        Args:
            function: the function.
            phase: the phase.
            codes: the rules.
            collect: the function returns an iterable, which may do its work only when it is iterated.
        """

        @functools.wraps(function)
        def measured(*args: Any, **options: Any) -> Any:
            self.enter((phase, codes))
            try:
                result = function(*args, **options)
                return list(result) if collect else result
            finally:
                self.leave()

        return measured

    def enter(self, account: Account) -> None:
        """Charge the time from now on to an account."""
        self.charge()
        self._outer.append(self._current)
        self._current = account

    def leave(self) -> None:
        """Charge the time from now on to the account before the current one."""
        self.charge()
        self._current = self._outer.pop()

    def charge(self) -> None:
        """Charge the time until now."""
        now = self._clock()
        self.seconds[self._current] += now - self._since
        self._since = now


_running: Stopwatch | None = None
