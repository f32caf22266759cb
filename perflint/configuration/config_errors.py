"""What is wrong with a configuration: all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from perflint.text.visible import visible

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_PROBLEMS = 20
"""How many mistakes are told at once: a file of the wrong kind has thousands."""


class ConfigError(Exception):
    """A configuration that cannot be used.

    Each of ``problems`` is a line for a person: the file (and line), the key and what is expected; they come in the
    order in which they stand in the file.  ``str(error)`` has them all, one a line.
    """

    def __init__(self, *problems: str) -> None:
        """Tell what is wrong."""
        super().__init__("\n".join(map(visible, problems)))
        self.problems = problems


def each(items: Iterable[Item], read: Callable[[Item], Result]) -> list[Result]:
    """What ``read`` makes of each item.

    Raises:
        ConfigError: it raises this for some of them; the problems of all these.
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
