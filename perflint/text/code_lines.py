"""Logical lines for reading comments: a string or a backslash joins several rows of a file to one line.

Brackets do not join rows to one line, because each of their rows can have its own comment; they join lines to one
statement.
"""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from perflint.text.source import Source

_STRING_STARTS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")} - {None}
_STRING_ENDS = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")} - {None}
"""Python 3.12 and later tokenize f-strings, and see the row ends in them."""


@dataclass(frozen=True)
class CodeLine:
    """Rows ``first`` to ``last`` (from 1); ``comment`` is the offset of the comment at their end, if there is one.

    ``statement`` is the row where its simple statement or the header of its compound statement begins (the first of
    them, if semicolons separate several); None between statements.
    """

    first: int
    last: int
    comment: int | None
    statement: int | None


@lru_cache(maxsize=16)
def code_lines(source: Source) -> tuple[CodeLine, ...] | None:
    """The lines of a file in order; None if unknown, because the file cannot be tokenized to its end."""
    try:
        return tuple(_found(source))
    except (tokenize.TokenError, SyntaxError):
        return None


def _found(source: Source) -> Iterator[CodeLine]:
    first = strings = 0
    comment = statement = None
    for token in tokens(source):
        if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
            continue
        first = first or token.start[0]
        if statement is None and token.type not in (tokenize.COMMENT, tokenize.NL):
            statement = token.start[0]
        strings += (token.type in _STRING_STARTS) - (token.type in _STRING_ENDS)
        if strings:
            continue
        if token.type == tokenize.COMMENT:
            comment = source.lines.line_start(token.start[0]) + token.start[1]
        elif token.type in (tokenize.NL, tokenize.NEWLINE):
            yield CodeLine(first, token.end[0], comment, statement)
            first, comment = 0, None
            if token.type == tokenize.NEWLINE:
                statement = None


def tokens(source: Source) -> Iterator[tokenize.TokenInfo]:
    """The tokens, with the rows of ``source.lines`` (which, unlike a text file, also end at a lone ``\\r``).

    Raises:
        tokenize.TokenError, SyntaxError: the text cannot be tokenized from here on.
    """
    lines = source.lines
    return tokenize.generate_tokens(iter([lines.line(row) + "\n" for row in range(1, lines.rows + 1)]).__next__)
