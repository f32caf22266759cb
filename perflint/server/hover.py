"""The hover text for a finding, or for a code in a ``# noqa`` comment: a summary of the rule."""

from __future__ import annotations

import re

from lsprotocol import types

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.findings import Finding
from perflint.output import measured, rule_page
from perflint.output.report import facts
from perflint.server.client import Client
from perflint.server.diagnostics import range_of
from perflint.server.documents import Document
from perflint.server.state import EditorState

_NOQA = re.compile(r"#\s*noqa\s*:(?P<codes>[^#\r\n]*)", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+")

Place = tuple[int, int]
Section = tuple[str, str]


def answer(state: EditorState, client: Client, params: types.HoverParams) -> types.Hover | None:
    """The hover text for a place in a document."""
    document = state.view.documents.get(params.text_document.uri)
    if document is None:
        return None
    offset = document.positions.offset(params.position.line, params.position.character)
    result = state.known(document.uri)
    findings = [each for each in result.findings if each.start <= offset <= each.end] if result is not None else []
    if findings:
        pages = [page(rule, each) for each in findings if (rule := catalogue.shipped().get(each.code)) is not None]
        place = min(((each.start, each.end) for each in findings), key=lambda found: found[1] - found[0])
    else:
        found = _code_at(document, params.position.line, offset)
        if found is None:
            return None
        rule, place = found
        pages = [page(rule)]
    if not pages:
        return None
    return types.Hover(_content(pages, client.reads_markdown), range_of(document, *place))


def page(rule: Rule, finding: Finding | None = None) -> list[Section]:
    """A summary of a rule, in sections with headings, with the fix of a finding.

    It does not contain the message, which editors show as well.
    """
    fix = finding.fix if finding is not None else None
    level, what, reason = rule.fix_level, rule.fix_title, rule.fix_reason
    if fix is not None:
        level, what, reason = fix.level, fix.message, fix.reason
    bottleneck = facts(rule.code).bottleneck
    sections = [
        (f"{rule.code} {rule.name}", rule.summary),
        (f"Why it costs ({bottleneck})" if bottleneck else "Why", rule.why),
        ("When to ignore it", rule.ignore_when),
        (f"Fix ({level})", f"{what}. {reason}" if reason else what),
        ("How much it costs", rule_page.cost(rule.event) if rule.event is not None else ""),
        ("Measured", measured.paragraph(rule)),
        ("Evidence", rule.evidence),
        ("References", "\n".join(rule_page.references(rule))),
    ]
    return [(heading, text.strip()) for heading, text in sections if text.strip()]


def _content(pages: list[list[Section]], is_markdown: bool) -> types.MarkupContent:
    if is_markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(map(_markdown, pages)))
    return types.MarkupContent(types.MarkupKind.PlainText, "\n\n".join(map(_plain, pages)))


def _markdown(sections: list[Section]) -> str:
    (title, text), *others = sections
    link = f"**[{title}]({catalogue.URL.format(code=title.split()[0])})**"
    return "\n\n".join([link, text, *(f"**{heading}**\n\n{body}" for heading, body in others)])


def _plain(sections: list[Section]) -> str:
    (title, text), *others = sections
    return "\n\n".join([f"{title}\n{text}", *(f"{heading}:\n{body}" for heading, body in others)])


def _code_at(document: Document, row: int, offset: int) -> tuple[Rule, Place] | None:
    """The rule whose code is at a place in a ``# noqa`` comment, and where the code begins and ends."""
    start = document.positions.offset(row, 0)
    line = document.positions.line(row)
    comment = _NOQA.search(line)
    if comment is None:
        return None
    for code in _CODE.finditer(line, comment.start("codes"), comment.end("codes")):
        rule = catalogue.shipped().get(code[0])
        if rule is not None and start + code.start() <= offset <= start + code.end():
            return rule, (start + code.start(), start + code.end())
    return None
