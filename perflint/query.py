"""Cached functions: ``@query`` makes a function or method compute each answer once; and answers by a key.

    @query
    def callers(project, name):
        return [...]    # a second call with the same project and name returns the same list

The answers are kept in the ``memory`` of the first argument, which is a project or a part of one. An ordinary
``Memory`` is a dict for each question; the memory of a project whose files are edited also notes what each answer was
computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial, update_wrapper
from itertools import islice
from typing import Any, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")
Key = TypeVar("Key", bound=Hashable)

_NONE: Any = object()
_NEVER = 1 << 30
_MOST_ROUNDS = 32
"""How often an answer that depends on itself is computed again before we stop, because it never stays the same."""


class Question(Protocol):
    """A function decorated with ``@query``."""

    __module__: str
    __qualname__: str

    def __call__(self, *arguments: Any) -> Any:
        """The answer for these arguments."""


class Memory(dict[Any, dict[Any, Any]]):
    """The remembered answers of one project: for each question, the answers by their arguments."""

    revision = 0
    """How often files have been edited, if the memory tracks that."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []
        """What has been asked for so far, if the memory tracks edits."""
        self.begun: dict[tuple[Question, Hashable], int] = {}
        """The questions being computed that must not depend on themselves, each with how many were ``running`` then."""
        self.running: dict[Hashable, _Run] = {}
        """The questions being computed that may depend on themselves, outermost first."""
        self.outermost = _NEVER
        """The place in ``running`` of the outermost question whose provisional answer the current one has used."""
        self.provisional: dict[Hashable, tuple[Any, _Run]] = {}
        """Answers that used provisional answers, kept until those change, each with the outermost of their questions.

        In the order in which they were computed: an answer that depends on a running question was computed after that
        question was begun.
        """
        self.so_far: dict[Hashable, tuple[Any]] = {}
        """With what questions are begun again if they depend on the provisional answer of a question further out."""

    def __missing__(self, question: Question) -> dict[Any, Any]:
        table = self[question] = self.table(question)
        return table

    def table(self, question: Question | None = None) -> dict[Any, Any]:
        """A table for the answers to one question."""
        return {}

    def note(self, part: Hashable) -> None:
        """Note that a part of a file was used, for memories that track edits."""

    def keep_provisional(self, question: Hashable, answer: Any) -> _Run:
        """Remember an answer until the provisional answers that it used change; return the outermost of those."""
        run = next(islice(self.running.values(), self.outermost, None))
        self.provisional[question] = answer, run
        return run

    def known_provisional(self, question: Hashable) -> tuple[Any] | None:
        """A provisional answer, which counts as used from now on; None if there is none."""
        known = self.provisional.get(question)
        if known is None:
            return None
        self.outermost = min(self.outermost, known[1].running().place)
        return (known[0],)

    def circle(self, question: tuple[Question, Hashable]) -> CircularQueryError:
        """The error for a question that is asked again while it is being computed."""
        begun = list(self.begun)
        return CircularQueryError(asked for asked, _ in begun[begun.index(question) :])

    def keep(self, answers: dict[Any, Any], key: Any, answer: Any, start: int) -> None:
        """Remember an answer; ``start`` is the length of ``asked`` when its computation began."""
        answers[key] = answer


def _drop_from(table: dict[Hashable, Any], count: int) -> None:
    """Forget the entries of a table except for the first ``count``."""
    while len(table) > count:
        table.popitem()


@dataclass(eq=False)
class _Run:
    """A question that is being computed: its place among the running ones, and its provisional answer.

    ``is_to_repeat``: whether it has to be computed again, because a question that used it got another answer than the
    provisional one.
    ``part_of``: after its computation, the outer question whose provisional answer it depends on.
    """

    place: int
    so_far: Any
    is_used: bool = False
    is_to_repeat: bool = False
    part_of: _Run | None = None

    def running(self) -> _Run:
        """This question, or the outer one that it has become a part of."""
        run = self
        while run.part_of is not None:
            run = run.part_of
        return run


class CircularQueryError(Exception):
    """A query without a start value (``cycle``) needs its own answer; the message names the queries of the circle."""

    def __init__(self, questions: Iterable[Question]) -> None:
        names = [f"{question.__module__}.{question.__qualname__}" for question in questions]
        super().__init__(
            f"{' needs '.join([*names, names[0]])}: give one of them a start value, as in @query(cycle=None)"
        )


@overload
def query(compute: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def query(*, cycle: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def query(compute: Any = None, /, *, cycle: Any = _NONE) -> Any:
    """Make a function remember its answers. Its arguments are positional and hashable.

    Args:
        compute: the function; its first argument has a ``memory``.
        cycle: the start value of a query that depends on itself, such as one about a recursive function: its
            provisional answer, which is computed again until it no longer changes, so it does not depend on which query
            of a circle was asked first. Without it, a query that depends on itself raises `CircularQueryError`.
    """
    if compute is None:
        return partial(_ask_recursive, cycle=cycle)
    return _ask(compute)


def _ask(compute: Callable[..., Any]) -> Any:
    def ask(*key: Hashable) -> Any:
        memory: Memory = key[0].memory  # type: ignore[attr-defined]  # a project, or a part of one
        answers = memory[ask]
        if key in answers:
            return answers[key]
        question = (ask, key)
        if memory.provisional and (known := memory.known_provisional(question)):
            return known[0]
        earlier, running = memory.begun.get(question), len(memory.running)
        if earlier == running:  # no recursive query has begun since, which would have ended the circle
            raise memory.circle(question)
        memory.begun[question] = running
        before, memory.outermost, start = memory.outermost, _NEVER, len(memory.asked)
        try:
            found = compute(*key)
            if memory.outermost == _NEVER:
                memory.keep(answers, key, found, start)
            else:
                memory.keep_provisional(question, found)
        finally:
            memory.outermost = min(before, memory.outermost)
            if earlier is None:
                del memory.begun[question]
            else:
                memory.begun[question] = earlier
        return found

    return update_wrapper(ask, compute)


def _ask_recursive(compute: Callable[..., Any], cycle: Any) -> Any:
    def ask_recursive(*key: Hashable) -> Any:
        memory: Memory = key[0].memory  # type: ignore[attr-defined]  # a project, or a part of one
        run = memory.running.get((ask_recursive, key))
        if run is not None:
            run.is_used = True
            memory.outermost = min(memory.outermost, run.place)
            return run.so_far
        answers = memory[ask_recursive]
        if key in answers:
            return answers[key]
        if known := memory.known_provisional((ask_recursive, key)):
            return known[0]
        return _to_a_fixed_point(compute, ask_recursive, key, cycle)

    return update_wrapper(ask_recursive, compute)


def _to_a_fixed_point(compute: Callable[..., Any], question: Any, key: tuple[Any, ...], first: Any) -> Any:
    """Compute an answer that depends on itself until it no longer changes (a fixed point).

    If an inner query used the outer query's provisional answer, its own answer is dropped as soon as that one changes.
    It is computed once for each time the outer query is computed, and not until it no longer changes: that would double
    the time for each circle within a circle.
    """
    memory: Memory = key[0].memory
    begun = memory.so_far.get((question, key))
    run = memory.running[question, key] = _Run(len(memory.running), first if begun is None else begun[0])
    before, start = memory.outermost, len(memory.asked)
    standing, others = len(memory.provisional), len(memory.so_far)
    try:
        for _ in range(_MOST_ROUNDS):
            run.is_used, run.is_to_repeat, memory.outermost = False, False, _NEVER
            found = compute(*key)
            is_settled = not run.is_used or found == run.so_far
            if memory.outermost < run.place:
                run.part_of = memory.keep_provisional((question, key), found)
                run.part_of.is_to_repeat |= run.is_to_repeat or not is_settled
                memory.so_far[question, key] = (found,)
                break
            if is_settled and not run.is_to_repeat:
                break
            run.so_far = found
            _drop_from(memory.provisional, standing)
        if run.part_of is None:
            memory.keep(memory[question], key, found, start)
    finally:
        if run.part_of is None:
            _drop_from(memory.provisional, standing)
            _drop_from(memory.so_far, others)
        further_out = memory.outermost if run.part_of is not None else _NEVER
        del memory.running[question, key]
        memory.outermost = min(before, further_out)
    return found


def gathered(pairs: Iterable[tuple[Key, R]]) -> dict[Key, list[R]]:
    """The second parts of some pairs by their first ones, both in the order in which they come."""
    found: dict[Key, list[R]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
