"""Writes the ``# noqa`` comments that silence findings, where flake8 and perflint both look for them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from perflint.catalogue import FILE_CODES
from perflint.findings import Edit, Finding, Fix, Level
from perflint.suppress.noqa import CODE_END, DIRECTIVE, joined_text
from perflint.text.code_lines import CodeLine, code_lines
from perflint.text.source import Source

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
