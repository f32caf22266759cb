"""Findings as the diagnostics of the protocol."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from perflint.catalogue import FILE_CODES
from perflint.findings import Confidence, Finding, Related
from perflint.lint import unused_noqa
from perflint.output.rule_facts import facts
from perflint.server.client import Client
from perflint.server.client_settings import SECTION
from perflint.server.documents import Document, Result
from perflint.server.uris import uri_of
from perflint.suppress.fingerprints import fingerprints
from perflint.text.source import BOM, Source
from perflint.text.visible import visible

_SEVERITIES = {
    Confidence.HIGH: types.DiagnosticSeverity.Warning,
    Confidence.MEDIUM: types.DiagnosticSeverity.Warning,
    Confidence.LOW: types.DiagnosticSeverity.Information,
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
    return types.Diagnostic(
        range=range_of(document, finding.start, finding.end),
        message=visible(finding.message),
        severity=_severity(finding),
        code=finding.code,
        code_description=types.CodeDescription(url) if url and client.shows_links else None,
        source=SECTION,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == unused_noqa.CODE and client.fades else None,
        related_information=_related(finding, document) if client.shows_related else None,
        data={"fingerprint": name} if name else None,
    )


def _severity(finding: Finding) -> types.DiagnosticSeverity:
    if finding.code in FILE_CODES:
        return types.DiagnosticSeverity.Error
    return _SEVERITIES[finding.confidence]


def _related(finding: Finding, document: Document) -> list[types.DiagnosticRelatedInformation] | None:
    return [_place(place, finding, document) for place in finding.related] or None


def _place(place: Related, finding: Finding, document: Document) -> types.DiagnosticRelatedInformation:
    uri = document.uri if place.path == finding.path else uri_of(place.path)
    row = types.Position(max(place.line - 1, 0), 0)
    return types.DiagnosticRelatedInformation(types.Location(uri, types.Range(row, row)), visible(place.message))
