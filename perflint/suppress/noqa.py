"""Comments that silence findings: ``# noqa`` as flake8 reads it, and ``# perflint: skip-file``.

Those that silence given findings are written where flake8 and perflint both look for them.
"""

from __future__ import annotations

import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from perflint.catalogue import FILE_CODES
from perflint.findings import Edit, Finding, Fix, Level
from perflint.text.source import CodeLine, Source, code_lines, tokens

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
    silenced = _silenced(source)
    return bool(silenced) and any(finding.code.startswith(silenced.get(row, ())) for row in rows_of(finding, source))


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
    rows = set(source.lines.rows_of(*finding.statement)) if finding.statement is not None else set()
    for place in finding.places or ((finding.start, finding.end),):
        first, last = source.lines.rows_of(*place)
        begins, ends = statements.get(first, (first, last))
        rows.update(range(first, min(last, ends) + 1), () if finding.statement is not None else (begins, ends))
    return rows


@lru_cache(maxsize=16)
def _statements(source: Source) -> dict[int, tuple[int, int]]:
    """The first and last row of the statement, or of its header, at each row that has one."""
    ends = {line.statement: line.last for line in code_lines(source) or () if line.statement is not None}
    return {row: (first, last) for first, last in ends.items() for row in range(first, last + 1)}


@lru_cache(maxsize=16)
def _silenced(source: Source) -> dict[int, tuple[str, ...]]:
    """The prefixes of codes that comments silence, by row; each line is examined only once, however long it is."""
    found: dict[int, tuple[str, ...]] = {}
    # Without lines, each row counts separately, as in flake8 for a file that cannot be tokenized to its end.
    comments = [source.lines.position(match.start())[0] for match in DIRECTIVE.finditer(source.text)]
    lines = [line for line in code_lines(source) or () if line.first < line.last] if comments else []
    joined = {row: line for line in lines for row in range(line.first, line.last + 1)}
    for row in comments:
        line = joined.get(row, CodeLine(row, row, None, None))
        match = DIRECTIVE.search(joined_text(source, line)) if row not in found else None
        if match is not None:
            codes = ("",) if match["codes"] is None else tuple(filter(None, CODE_END.split(match["codes"])))
            found |= dict.fromkeys(range(line.first, line.last + 1), codes)
    return found


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


# --- writing comments

_CODE = re.compile(r"[A-Z]+[0-9]+")
_BLANKS = " \t\f"


def noqa_edits(source: Source, findings: Sequence[Finding], reason: str = "") -> list[Edit]:
    """The edits that silence findings of one file: at most one for a line, in the order of the lines.

    flake8 looks for ``# noqa`` on the row where a finding starts, and on all rows joined with it by a string or a
    backslash; perflint looks there too. So the comment is put at the end of the joined rows. Codes are added to an
    existing list; a comment without a list needs nothing.

    There is no edit for findings about whole files (`FILE_CODES`), for those in a file that cannot be tokenized to its
    end, and where a string contains ``# noqa`` before any comment: both tools read only that one.

    Args:
        source: the file.
        findings: findings in this file; any other finding of these codes on their lines is silenced as well.
        reason: why they are accepted, put after the codes; a comment that already has text there keeps it.
    """
    return [edit for _, edit in _edits(source, findings, reason) if edit is not None]


def with_noqa_as_fix(source: Source, findings: Sequence[Finding], reason: str = "") -> list[Finding]:
    """The findings of a file, in the order of their lines, with the edits that silence them as their only fix.

    The arguments are those of `noqa_edits`; findings that no comment can silence get no fix.
    """
    edits: dict[int, list[Edit | None]] = defaultdict(list)
    known: dict[int, Finding] = {id(finding): finding for finding in findings if finding.code in FILE_CODES}
    for group, edit in _edits(source, findings, reason):
        for finding in group:
            known[id(finding)] = finding
            edits[id(finding)].append(edit)
    return [replace(finding, fix=_silencing(edits[id(finding)])) for finding in known.values()]


def _silencing(edits: Sequence[Edit | None]) -> Fix | None:
    """The fix that silences a finding, at each of its lines; None if a line has no place for the comment."""
    made = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    return Fix("Add # noqa", made, Level.SAFE) if made and None not in edits else None


def _edits(source: Source, findings: Iterable[Finding], reason: str) -> Iterator[tuple[list[Finding], Edit | None]]:
    """For each line, its findings and the edit that silences all of them there."""
    by_row: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.code not in FILE_CODES:
            for row in sorted({source.lines.position(start)[0] for start in finding.starts}):
                by_row[row].append(finding)
    reason = " ".join(reason.split())
    for line in code_lines(source) or () if by_row else ():
        group = [finding for row in range(line.first, line.last + 1) for finding in by_row.pop(row, ())]
        if group:
            yield group, _edit(source, line, sorted({finding.code for finding in group}), reason)
    yield from ((group, None) for group in by_row.values())


def _edit(source: Source, line: CodeLine, codes: list[str], reason: str) -> Edit | None:
    text = joined_text(source, line)
    match = DIRECTIVE.search(text)
    if match is None:
        return _new_comment(source, line.last, codes, reason)
    # Only the last row can contain a comment, so what precedes it is counted from the start of that row.
    last_row = source.lines.line_start(line.last) - (len(text) - len(source.lines.line(line.last)) - 1)
    listed = match["codes"]
    if listed is None or line.comment is None or last_row + match.start() < line.comment:
        return None
    missing = [code for code in codes if not code.startswith(tuple(filter(None, CODE_END.split(listed))))]
    return _longer_list(source, last_row + match.start("codes"), listed, missing, reason) if missing else None


def _new_comment(source: Source, row: int, codes: list[str], reason: str) -> Edit:
    start, text = source.lines.line_start(row), source.lines.line(row)
    comment = f"  # noqa: {', '.join(codes)}" + (f" - {reason}" if reason else "")
    return Edit(start + len(text.rstrip(_BLANKS)), start + len(text), comment)


def _longer_list(source: Source, start: int, listed: str, codes: list[str], reason: str) -> Edit:
    """Add codes to those at the start of a list, and the reason after them if the row ends there.

    A word like ``py37`` looks like a code to flake8, but belongs to the text after the codes.
    """
    end = start
    between = ", "
    for place in re.finditer(r"[^,\s]+", listed):
        if _CODE.fullmatch(place[0]) is None:
            break
        if end > start:
            between = source.text[end : start + place.start()]
        end = start + place.end()
    if end == start:
        return Edit(start, start, "".join(code + between for code in codes))
    added = "".join(between + code for code in codes)
    row = source.lines.position(start)[0]
    row_end = source.lines.line_start(row) + len(source.lines.line(row))
    if not reason or source.text[end:row_end].strip(_BLANKS):
        return Edit(end, end, added)
    return Edit(end, row_end, f"{added} - {reason}")
