"""Whether a text is Python for the interpreter that runs perflint."""

from __future__ import annotations

import ast
import warnings


def parses(text: str) -> bool:
    """Whether ``text`` is Python for the interpreter that runs perflint."""
    return _accepted(text, ast.PyCF_ONLY_AST)


def compiles(text: str) -> bool:
    """The stricter question: compiling also finds a keyword given twice or a ``return`` outside a function."""
    return _accepted(text, 0)


def _accepted(text: str, flags: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
