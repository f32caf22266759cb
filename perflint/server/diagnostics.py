"""Turns findings into diagnostics of the protocol, and delivers them; and into the text shown on hovering.

Editors that can be asked to refresh request them; to others they are pushed. The text for a finding, or for a code in a
``# noqa`` comment, is a summary of the rule.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.findings import Finding, Related
from perflint.lint import unused_noqa
from perflint.output import measured, rule_page
from perflint.output.report import facts, message, severity
from perflint.server.client import SECTION, Client, uri_of
from perflint.server.documents import Document, Result
from perflint.server.state import EditorState
from perflint.suppress.baseline import fingerprints
from perflint.text.source import BOM, Source
from perflint.text.visible import visible

log = logging.getLogger(__name__)


_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


def diagnostics(result: Result, client: Client) -> list[types.Diagnostic]:
    """The diagnostics of a document, in the order of its findings."""
    names = _fingerprints(result) if client.keeps_data else [""] * len(result.findings)
    return [_diagnostic(*pair, result.document, client) for pair in zip(result.findings, names, strict=True)]


def range_of(document: Document, start: int, end: int) -> types.Range:
    """The range between two offsets."""
    return types.Range(*(types.Position(*document.positions.place(offset)) for offset in (start, end)))


def _fingerprints(result: Result) -> list[str]:
    source = Source("", result.document.text.removeprefix(BOM))
    sources = {finding.path: source for finding in result.findings}
    return fingerprints(result.findings, sources, str(Path(result.document.path).parent))


def _diagnostic(finding: Finding, name: str, document: Document, client: Client) -> types.Diagnostic:
    url = facts(finding.code).url
    related = [_related(place, finding, document) for place in finding.related] if client.shows_related else []
    return types.Diagnostic(
        range=range_of(document, finding.start, finding.end),
        message=visible(message(finding)),
        severity=_SEVERITIES[severity(finding)],
        code=finding.code,
        code_description=types.CodeDescription(url) if url and client.shows_links else None,
        source=SECTION,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == unused_noqa.CODE and client.fades else None,
        related_information=related or None,
        data={"fingerprint": name} if name else None,
    )


def _related(place: Related, finding: Finding, document: Document) -> types.DiagnosticRelatedInformation:
    uri = document.uri if place.path == finding.path else uri_of(place.path)
    row = types.Position(max(place.line - 1, 0), 0)
    return types.DiagnosticRelatedInformation(types.Location(uri, types.Range(row, row)), visible(place.message))


class Publisher:
    """Pushes diagnostics, or answers requests for them."""

    def __init__(self, sender: LanguageServer, client: Client) -> None:
        self._sender = sender
        self._client = client
        self._shown: dict[str, tuple[int, list[types.Diagnostic]]] = {}
        self._ids: dict[str, tuple[Result, str]] = {}
        self._numbers = count(1)

    def show(self, results: Sequence[Result]) -> None:
        """Inform the editor of new results."""
        if self._client.pulls:
            self._refresh(results)
            return
        for result in results:
            document, found = result.document, self._diagnostics(result)
            if self._shown.get(document.uri) != (document.version, found):
                self._shown[document.uri] = document.version, found
                self._send(document.uri, found, document.version)

    def close(self, uri: str) -> None:
        """Remove the diagnostics of a closed document."""
        self._ids.pop(uri, None)
        if self._shown.pop(uri, None) is not None:
            self._send(uri, [], None)

    def report(self, result: Result | None, previous: str | None) -> types.DocumentDiagnosticReport:
        """The answer to a request for diagnostics.

        Args:
            result: the result for the document; None: it is not open.
            previous: the id of the answer that the editor already has.
        """
        if result is None:
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        name = self._id_of(result)
        if name == previous:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=name)
        return types.RelatedFullDocumentDiagnosticReport(items=self._diagnostics(result), result_id=name)

    def _id_of(self, result: Result) -> str:
        """An id for the diagnostics of a document, which changes when they do."""
        uri, known = result.document.uri, self._ids.get(result.document.uri)
        if known is None or self._diagnostics(known[0]) != self._diagnostics(result):
            known = result, str(next(self._numbers))
        self._ids[uri] = result, known[1]
        return known[1]

    def _diagnostics(self, result: Result) -> list[types.Diagnostic]:
        """The diagnostics of a document; none, and a line in the log, if they cannot be computed."""
        try:
            return diagnostics(result, self._client)
        except Exception:
            log.exception("the findings in %s cannot be shown", result.document.uri)
            return []

    def _refresh(self, results: Sequence[Result]) -> None:
        """Ask the editor to refresh if an answer that it has for the current version is outdated."""
        for result in results:
            known = self._ids.get(result.document.uri)
            if known is not None and known[0].document is result.document and known[0].findings != result.findings:
                self._sender.workspace_diagnostic_refresh(None)
                return

    def _send(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self._sender.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))


_NOQA = re.compile(r"#\s*noqa\s*:(?P<codes>[^#\r\n]*)", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+")

Place = tuple[int, int]
Section = tuple[str, str]


def hover_at(state: EditorState, client: Client, params: types.HoverParams) -> types.Hover | None:
    """The hover text for a place in a document."""
    document = state.view.documents.get(params.text_document.uri)
    if document is None:
        return None
    offset = document.positions.offset(params.position.line, params.position.character)
    result = state.known(document.uri)
    findings = [each for each in result.findings if each.start <= offset <= each.end] if result is not None else []
    if findings:
        pages = [summary(rule, each) for each in findings if (rule := catalogue.shipped().get(each.code)) is not None]
        place = min(((each.start, each.end) for each in findings), key=lambda found: found[1] - found[0])
    else:
        found = _code_at(document, params.position.line, offset)
        if found is None:
            return None
        rule, place = found
        pages = [summary(rule)]
    if not pages:
        return None
    return types.Hover(_content(pages, client.reads_markdown), range_of(document, *place))


def summary(rule: Rule, finding: Finding | None = None) -> list[Section]:
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
