"""Which files have a forward pass that can call something: their text tells, so that the others need not be parsed."""

from __future__ import annotations

import re

from perflint.syntax.function_text import function_texts

_CALLED = re.compile(r"\b(\w+)\s*\(")


def may_call(text: str, names: frozenset[str]) -> bool:
    """Whether a ``forward``, or a function of the same file that it calls, can call one of these by its last name."""
    if "forward" not in text:
        return False
    functions = list(function_texts(text))
    called = _called(functions, {"forward"})
    return not names.isdisjoint(called) or not names.isdisjoint(_called(functions, called))


def _called(functions: list[tuple[str, str]], wanted: set[str]) -> set[str]:
    """The last names of what the functions of these names call."""
    return {name for known, text in functions if known in wanted for name in _CALLED.findall(text)}
