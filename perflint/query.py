"""Questions whose answers are remembered: ``@query`` makes a function or method work out each answer once.

    @query
    def callers(project, name):
        return [...]    # asked for the same project and name again, gives the same list

What remembers is the ``memory`` of the first argument, which is a project or a part of one.  An ordinary ``Memory`` is
a dict for each question; that of a project whose files are edited also notes what each answer was worked out from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, update_wrapper
from typing import Any, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

_NONE: Any = object()


class Question(Protocol):
    """A function that ``@query`` has made."""

    again: bool
    """Whether an answer that may have changed is worked out at once, to see whether it has."""

    def __call__(self, *arguments: Any) -> Any:
        """The answer for these arguments."""


class Memory(dict[Any, dict[Any, Any]]):
    """The remembered answers of one project: for each question, the answers by their arguments."""

    def __missing__(self, question: Question) -> dict[Any, Any]:
        table = self[question] = self.table(question)
        return table

    def table(self, question: Question | None = None) -> dict[Any, Any]:
        """A table for the answers to one question."""
        return {}


@overload
def query(work_out: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def query(*, cycle: Any = ..., again: bool = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def query(work_out: Any = None, /, *, cycle: Any = _NONE, again: bool = False) -> Any:
    """Let a function remember its answers.  It takes its arguments by position, and each of them has a hash.

    Args:
        work_out: the function; its first argument has a ``memory``.
        cycle: the answer to a question that is asked again while it is worked out, as by a function that calls itself.
            Without it, such a question never ends.
        again: an answer that an edit may have changed is worked out at once; where it comes out as it was, what was
            worked out from it is kept.  For answers that take little time and that many others go by.
    """
    if work_out is None:
        return partial(_remembering, cycle=cycle, again=again)
    return _remembering(work_out, cycle, again)


def _remembering(work_out: Callable[..., Any], cycle: Any, again: bool) -> Any:
    def ask(*key: Hashable) -> Any:
        answers = key[0].memory[ask]  # type: ignore[attr-defined]
        if key in answers:
            return answers[key]
        if cycle is not _NONE:
            answers[key] = cycle
        found = answers[key] = work_out(*key)
        return found

    ask.again = again  # type: ignore[attr-defined]
    return update_wrapper(ask, work_out)
