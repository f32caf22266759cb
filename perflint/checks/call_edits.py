"""Edits of one argument of a call, given by the trees of the index: for calls other than the checked one."""

from __future__ import annotations

import ast

from perflint.findings import Edit
from perflint.text.source import LineTable, Source


def add_keyword(call: ast.Call, argument: str, source: Source) -> Edit | None:
    """Insert ``axis=1`` after the last argument of a call, on the same row; None if a comment ends the arguments."""
    start, end = source.lines.span(call)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    last = max((source.lines.span(value)[1] for value in given), default=end - 1)
    if "#" in source.text[last:end]:
        return None
    at = start + len(source.text[start : end - 1].rstrip())
    separator = "" if not given else " " if source.text[at - 1] == "," else ", "
    return Edit(at, at, separator + argument)


def drop_keyword(call: ast.Call, name: str, source: Source) -> Edit | None:
    """Remove ``name=value`` from a call, with a comma; None if it is missing, or a comment is in the way."""
    lines = source.lines
    spans = sorted([*map(lines.span, call.args), *(_keyword_span(keyword, lines) for keyword in call.keywords)])
    keyword = next((keyword for keyword in call.keywords if keyword.arg == name), None)
    if keyword is None:
        return None
    own = _keyword_span(keyword, lines)
    at = spans.index(own)
    if at + 1 < len(spans):
        edit = Edit(own[0], spans[at + 1][0], "")
    elif at:
        edit = Edit(spans[at - 1][1], own[1], "")
    else:
        edit = Edit(*own, "")
    return None if set(source.text[edit.start : edit.end]) & set("#()") else edit


def _keyword_span(keyword: ast.keyword, lines: LineTable) -> tuple[int, int]:
    return lines.offset(keyword.lineno, keyword.col_offset), lines.span(keyword.value)[1]
