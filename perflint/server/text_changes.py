"""Turns changes of a document into edits of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from lsprotocol import types

from perflint.findings import Edit
from perflint.server.client import Client
from perflint.server.diagnostics import range_of
from perflint.server.documents import Document
from perflint.text.source import lines_of


def workspace_edit(document: Document, edits: Iterable[Edit], client: Client) -> types.WorkspaceEdit:
    """Edits of one version of a document.

    Args:
        document: the version.
        edits: by offsets into the text without its byte order mark; they do not overlap.
        client: some editors also take the version, and refuse edits of another one.
    """
    changes = [types.TextEdit(range_of(document, edit.start, edit.end), edit.content) for edit in edits]
    if not client.takes_versions:
        return types.WorkspaceEdit(changes={document.uri: changes})
    name = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(name, changes)])


def between(before: str, after: str) -> Iterator[Edit]:
    """Edits of whole rows that turn one text into another; the editor keeps its cursors and marks in all other rows."""
    old, new = lines_of(before), lines_of(after)
    starts = [0]
    for row in old:
        starts.append(starts[-1] + len(row))
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Edit(starts[first], starts[last], "".join(new[new_first:new_last]))
