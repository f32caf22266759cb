"""Delivers diagnostics: editors that can be asked to refresh request them; to others they are pushed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import count

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from perflint.server.client import Client
from perflint.server.diagnostics import diagnostics
from perflint.server.documents import Result

log = logging.getLogger(__name__)


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
