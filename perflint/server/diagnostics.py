"""Turns findings into diagnostics of the protocol."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from perflint.findings import Finding, Related
from perflint.lint import unused_noqa
from perflint.output.rule_facts import facts, message, severity
from perflint.server.client import Client
from perflint.server.client_settings import SECTION
from perflint.server.documents import Document, Result
from perflint.server.uris import uri_of
from perflint.suppress.baseline import fingerprints
from perflint.text.source import BOM, Source
from perflint.text.visible import visible

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


def diagnostics(result: Result, client: Client) -> list[types.Diagnostic]:
    """The diagnostics of a document, in the order of its findings."""
    names = _fingerprints(result) if client.keeps_data else [""] * len(result.findings)
    return [
        _diagnostic(finding, name, result.document, client)
        for finding, name in zip(result.findings, names, strict=True)
    ]


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
