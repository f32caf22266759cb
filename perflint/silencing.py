"""Writes the ``# noqa`` comments that silence findings, where flake8 and perflint both look for them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from perflint.code_lines import CodeLine, code_lines
from perflint.findings import Edit, Finding
from perflint.noqa import CODE_END, DIRECTIVE, joined_text
from perflint.output.facts import FILE_CODES
from perflint.source import Source

_CODE = re.compile(r"[A-Z]+[0-9]+")
_BLANKS = " \t\f"


def noqa_edits(source: Source, findings: Sequence[Finding], reason: str = "") -> list[Edit]:
    """The edits that silence findings of one file: at most one for a line, in the order of the lines.

    flake8 looks for ``# noqa`` on the row where a finding starts, and where a string or a backslash joins rows, on all
    of these; perflint looks there too.  So the comment goes to the end of the rows that the first row is joined with.
    Codes are added to a list that is there; a comment without a list needs nothing.

    There is no edit for findings about whole files (`FILE_CODES`), for those of a file that has no tokens up to its
    end, and where a string holds ``# noqa`` before any comment can: both tools read that one and no other.

    Args:
        source: the file.
        findings: findings in this file; any other finding of these codes on their lines is silenced as well.
        reason: why they are accepted, put behind the codes; a comment that has text there keeps its own.
    """
    found = []
    for line, codes in _by_line(source, findings):
        edit = _edit(source, line, codes, " ".join(reason.split()))
        if edit is not None:
            found.append(edit)
    return found


def _by_line(source: Source, findings: Iterable[Finding]) -> list[tuple[CodeLine, list[str]]]:
    """The lines where the findings start, with their codes in order."""
    codes: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        if finding.code not in FILE_CODES:
            codes[source.lines.position(finding.start)[0]].add(finding.code)
    found = []
    for line in code_lines(source) or () if codes else ():
        wanted = {code for row in range(line.first, line.last + 1) for code in codes.get(row, ())}
        if wanted:
            found.append((line, sorted(wanted)))
    return found


def _edit(source: Source, line: CodeLine, codes: list[str], reason: str) -> Edit | None:
    text = joined_text(source, line)
    match = DIRECTIVE.search(text)
    if match is None:
        return _new_comment(source, line.last, codes, reason)
    # Only the last row can hold a comment, so what is before it counts from the start of that row.
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
    """Put codes behind those at the start of a list, and the reason behind them where the row ends there.

    A word like ``py37`` looks like a code to flake8, and belongs to the text behind.
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
