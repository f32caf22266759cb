"""Errors in a configuration, reported all together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from perflint.text.visible import visible

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_PROBLEMS = 20
"""How many mistakes are reported together: a file of the wrong kind has thousands."""


class ConfigError(Exception):
    """A configuration that cannot be used.

    Each of ``problems`` is a line with the file (and row), the key and what is expected; they are in the order of the
    file. ``str(error)`` contains all of them, one per line.
    """

    def __init__(self, *problems: str) -> None:
        """Store the problems."""
        super().__init__("\n".join(map(visible, problems)))
        self.problems = problems


def each(items: Iterable[Item], read: Callable[[Item], Result]) -> list[Result]:
    """Apply ``read`` to each item, and collect all errors.

    Raises:
        ConfigError: ``read`` raises this for some of them; with the problems of all of them.
    """
    results: list[Result] = []
    problems: list[str] = []
    for item in items:
        try:
            results.append(read(item))
        except ConfigError as error:
            problems += error.problems
            if len(problems) >= MOST_PROBLEMS:
                break
    if problems:
        raise ConfigError(*problems)
    return results
