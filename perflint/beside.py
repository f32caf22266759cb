"""Which findings of a step loop belong together: a program that pays for one pays for the others in the same step."""

from __future__ import annotations

from collections.abc import Iterable

from perflint.context import Draft
from perflint.index.file import Step

HOST_READS = frozenset({"PPF201", "PPF202", "PPF203", "PPF206", "PPF208", "PPF209"})
Loop = tuple[str, int, str]
"""Path and line of a step loop, and the function of the step."""

Trail = tuple[tuple[str, int], ...]
"""The way from a loop to a place: path and line of each call, then of the place."""


def loop_of(step: Step) -> Loop:
    """The loop of a step."""
    return step.path, step.line, step.function


def trail_of(draft: Draft, step: Step) -> Trail:
    """The way from the loop of a step to a finding."""
    return (*step.via, (draft.path, draft.line))


def may_meet(first: Trail, second: Trail) -> bool:
    """Whether two places run in one program: a call that leads to two files reaches one of two implementations."""
    for (path, line), (other_path, other_line) in zip(first, second, strict=False):
        if path != other_path or line != other_line:
            return path == other_path
    return True


def is_read(draft: Draft) -> bool:
    """Whether a finding is about a host read, at the place of the read itself and not at a call that leads there."""
    return draft.code in HOST_READS and "place" not in draft.fields


def lines_of(places: Iterable[tuple[str, int]], path: str, most: int) -> str:
    """Some places, as a message in a file names them: ``lines 3, 8``, ``line other.py:4``.

    Args:
        path: the file of the message, which is not named.
        most: how many places are named at most.
    """
    known = set(places)
    shown = [str(line) for where, line in sorted(known) if where == path]
    shown += [f"{where}:{line}" for where, line in sorted(known) if where != path]
    return f"line{'s' if len(shown) > 1 else ''} {', '.join(shown[:most])}{', ...' if len(shown) > most else ''}"
