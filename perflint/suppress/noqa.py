"""Comments that silence findings: ``# noqa`` as flake8 reads it, and ``# perflint: skip-file``."""

from __future__ import annotations

import re
import tokenize
from functools import lru_cache

from perflint.findings import Finding
from perflint.text.code_lines import CodeLine, code_lines, tokens
from perflint.text.source import Source

# What flake8 7 accepts: one space after "#", the colon right after the word, at most one space after the colon.
# Anything else after the word is not a list of codes, and the comment then applies to all codes.
DIRECTIVE = re.compile(r"# noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
CODE_END = re.compile(r"[,\s]+")
_NOT_FOR_FLAKE8 = re.compile(r"(?:^|[\r\n])[^\S\r\n]*# flake8[:=][^\S\r\n]*noqa", re.IGNORECASE)
_SKIP_FILE = re.compile(r"(?:^|[\r\n])[ \t\f]*#[ \t]*perflint:[ \t]*skip-file(?![\w-])")


def suppressed(finding: Finding, source: Source) -> bool:
    """Whether a ``# noqa`` comment silences a finding of this source.

    It counts on each line of the finding, and on the first and the last line of the statement around it, or of its
    header if it has a body: a comment in the body is about the body. As in flake8, a line that continues in a
    triple-quoted string or after a backslash counts as one line with those that follow, text in a string counts like a
    comment, a listed code silences all codes that begin with it, and codes are case-sensitive.
    """
    rows = _rows(source)
    return rows is not None and any(rows.silence(row, finding.code) for row in rows_of(finding, source))


def skips_file(source: Source) -> bool:
    """Whether a line is the comment ``# perflint: skip-file``, or begins with ``# flake8: noqa``.

    As in flake8 7, the second counts in a string as well, and codes or other words after it change nothing.
    """
    text = source.text
    if ("flake8" in text or "FLAKE8" in text) and _NOT_FOR_FLAKE8.search(text):
        return True
    if "skip-file" not in text:
        return False
    # (The match may start with the line end before the comment.)
    rows = {source.lines.position(match.end())[0] for match in _SKIP_FILE.finditer(text)}
    return bool(rows) and _has_comment(source, rows)


def rows_of(finding: Finding, source: Source) -> set[int]:
    """The rows on which a comment counts, before joining: those of the finding, and the ends of its statement."""
    statements = _statements(source)
    rows = set(_ends(finding.statement, source)) if finding.statement is not None else set()
    for place in finding.places or ((finding.start, finding.end),):
        first, last = _ends(place, source)
        begins, ends = statements.get(first, (first, last))
        rows.update(range(first, min(last, ends) + 1), () if finding.statement is not None else (begins, ends))
    return rows


def _ends(place: tuple[int, int], source: Source) -> tuple[int, int]:
    """The first and the last row of a place."""
    start, end = place
    return source.lines.position(start)[0], source.lines.position(max(start, end - 1))[0]


@lru_cache(maxsize=16)
def _statements(source: Source) -> dict[int, tuple[int, int]]:
    """The first and last row of the statement, or of its header, at each row that has one."""
    ends = {line.statement: line.last for line in code_lines(source) or () if line.statement is not None}
    return {row: (first, last) for first, last in ends.items() for row in range(first, last + 1)}


class _Rows:
    """What the comments of a file silence: each line is examined only once, however long it is."""

    def __init__(self, source: Source) -> None:
        self._source = source
        # Without lines, each row counts separately, as in flake8 for a file that cannot be tokenized to its end.
        lines = [line for line in code_lines(source) or () if line.first < line.last]
        self._lines = {row: line for line in lines for row in range(line.first, line.last + 1)}
        self._codes: dict[CodeLine | int, tuple[str, ...]] = {}

    def silence(self, row: int, code: str) -> bool:
        """Whether a comment on the line of a row silences findings of a rule there."""
        line = self._lines.get(row, row)
        if line not in self._codes:
            text = joined_text(self._source, line) if isinstance(line, CodeLine) else self._source.lines.line(row)
            self._codes[line] = _silenced(text)
        return code.startswith(self._codes[line])


def _silenced(line: str) -> tuple[str, ...]:
    """The prefixes of codes that a line silences."""
    match = DIRECTIVE.search(line)
    if match is None:
        return ()
    codes = match["codes"]
    return ("",) if codes is None else tuple(filter(None, CODE_END.split(codes)))


@lru_cache(maxsize=16)
def _rows(source: Source) -> _Rows | None:
    """The rows of a file; None if the file has no ``# noqa`` at all."""
    return _Rows(source) if DIRECTIVE.search(source.text) is not None else None


def joined_text(source: Source, line: CodeLine) -> str:
    """The rows of a line, each with ``\\n`` at its end."""
    return "".join(source.lines.line(row) + "\n" for row in range(line.first, line.last + 1))


def _has_comment(source: Source, rows: set[int]) -> bool:
    """Whether one of these rows has a comment. In a file that cannot be tokenized, any text counts as one."""
    row = 1
    try:
        for token in tokens(source):
            row = token.start[0]
            if token.type == tokenize.COMMENT and row in rows:
                return True
    except (tokenize.TokenError, SyntaxError):
        return max(rows) >= row
    return False
