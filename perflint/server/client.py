"""The capabilities of the editor: the server uses no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability


@dataclass(frozen=True)
class Client:
    """The capabilities that matter to this server."""

    pulls: bool = False
    """It requests diagnostics, and can be asked to refresh them; otherwise they are pushed to it."""
    shows_related: bool = False
    shows_links: bool = False
    fades: bool = False
    """It can show code as unused."""
    keeps_data: bool = False
    takes_versions: bool = False
    """Edits may name the document version that they apply to."""
    has_action_kinds: bool = False
    shows_disabled_actions: bool = False
    shows_preferred_actions: bool = False
    keeps_action_data: bool = False
    resolves_edits: bool = False
    reads_markdown: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    registers_watchers: bool = False

    @staticmethod
    def of(capabilities: types.ClientCapabilities) -> Client:
        """Read the capabilities that a client has sent."""

        def has(path: str) -> bool:
            return bool(get_capability(capabilities, path))

        def values(path: str) -> Sequence[str | int]:
            return get_capability(capabilities, path) or ()

        published = "text_document.publish_diagnostics"
        pulled = "text_document.diagnostic"
        pulls = has(pulled) and has("workspace.diagnostics.refresh_support")
        shown = pulled if pulls else published
        known = (types.MarkupKind.Markdown, types.MarkupKind.PlainText)
        formats = (each for each in values("text_document.hover.content_format") if each in known)
        return Client(
            pulls=pulls,
            shows_related=has(f"{shown}.related_information") or has(f"{published}.related_information"),
            shows_links=has(f"{shown}.code_description_support") or has(f"{published}.code_description_support"),
            fades=types.DiagnosticTag.Unnecessary in values(f"{published}.tag_support.value_set"),
            keeps_data=has(f"{shown}.data_support") or has(f"{published}.data_support"),
            takes_versions=has("workspace.workspace_edit.document_changes"),
            has_action_kinds=has("text_document.code_action.code_action_literal_support"),
            shows_disabled_actions=has("text_document.code_action.disabled_support"),
            shows_preferred_actions=has("text_document.code_action.is_preferred_support"),
            keeps_action_data=has("text_document.code_action.data_support"),
            resolves_edits="edit" in values("text_document.code_action.resolve_support.properties"),
            reads_markdown=next(formats, "") == types.MarkupKind.Markdown,
            shows_progress=has("window.work_done_progress"),
            answers_configuration=has("workspace.configuration"),
            registers_configuration=has("workspace.did_change_configuration.dynamic_registration"),
            registers_watchers=has("workspace.did_change_watched_files.dynamic_registration"),
        )
