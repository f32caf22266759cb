"""What the editor offers to do about a finding: its fix, all fixes, or a comment that silences it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any

from lsprotocol import types

from perflint.catalogue import FILE_CODES
from perflint.findings import Edit, Finding, Fix, Level
from perflint.fix.fixer import fix_all
from perflint.server.client import Client
from perflint.server.diagnostics import diagnostics, range_of
from perflint.server.documents import Document, Result, source_of
from perflint.server.state import EditorState
from perflint.suppress.noqa import noqa_edits
from perflint.text.source import BOM, Source, lines_of


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
    starts = [*accumulate(map(len, old), initial=0)]
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Edit(starts[first], starts[last], "".join(new[new_first:new_last]))


FIX_ALL = "source.fixAll.perflint"
_MOST_OF_A_REASON = 120

Actions = list[types.CodeAction]


def options(client: Client) -> types.CodeActionOptions:
    """The code actions that the server offers."""
    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll, FIX_ALL]
    return types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=client.resolves_edits)


async def answer(state: EditorState, client: Client, params: types.CodeActionParams) -> Actions | None:
    """The actions for a range of a document; None if the document has changed meanwhile."""
    document = state.view.documents.get(params.text_document.uri)
    result = await state.current(params.text_document.uri, at_once=True)
    if result is None or result.document is not document:
        return None
    found = await asyncio.to_thread(_actions, result, params, client)
    if not client.resolves_edits:
        found = [action for action in found if await _has_edit(state, client, action)]
    for action in found:
        if not client.keeps_action_data:
            action.data = None
    return found if state.view.documents.get(document.uri) is document else None


async def resolve(state: EditorState, client: Client, action: types.CodeAction) -> types.CodeAction:
    """An action with its edit, unless the document has changed since it was offered."""
    await _has_edit(state, client, action)
    return action


async def _has_edit(state: EditorState, client: Client, action: types.CodeAction) -> bool:
    """Compute the edit of an action, unless it has one or a reason for having none; return whether to offer it."""
    data: Any = action.data
    if action.edit is not None or action.disabled is not None:
        return True
    if not isinstance(data, dict):
        return False
    result = await state.current(str(data.get("uri")), at_once=True)
    if result is None or result.document.version != data.get("version"):
        return False
    document = result.document
    code = data.get("code")  # Neovim leaves out keys whose value is null
    future = state.checking.fixed(document, Level(data["level"]), code)
    text = await asyncio.wrap_future(future)
    before = document.text.removeprefix(BOM)
    if text is None or text == before or state.view.documents.get(document.uri) is not document:
        return False
    action.edit = workspace_edit(document, between(before, text), client)
    return True


def _actions(result: Result, params: types.CodeActionParams, client: Client) -> Actions:
    """The actions for the findings in a range, and those for the document; some have no edit yet."""
    actions: Actions = []
    only = params.context.only
    source = source_of(result.document.path, result.document.text)
    if not isinstance(source, Source):
        return actions
    if _is_wanted(types.CodeActionKind.QuickFix, only):
        actions += _quick_fixes(result, source, params.range, client)
    if _is_wanted(FIX_ALL, only) and any(_level(finding) is Level.SAFE for finding in result.findings):
        data = _data(result.document, Level.SAFE, None)
        actions.append(types.CodeAction("Fix all safe perflint findings", kind=FIX_ALL, data=data))
    return actions


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether an editor asks for a kind, by its name or a more general one: ``source`` includes ``source.fixAll``."""
    return not only or any(kind == each or kind.startswith(f"{each}.") for each in map(_text, only))


def _text(kind: str) -> str:
    return str(getattr(kind, "value", kind))


def _quick_fixes(result: Result, source: Source, place: types.Range, client: Client) -> Iterator[types.CodeAction]:
    touched = [
        (finding, diagnostic)
        for finding, diagnostic in zip(result.findings, diagnostics(result, client), strict=True)
        # The cursor need not be on the finding itself: users think of the row.
        if diagnostic.range.start.line <= place.end.line and place.start.line <= diagnostic.range.end.line
    ]
    for finding, diagnostic in touched:
        action = _fix(finding, source, result.document, client)
        if action is not None:
            action.diagnostics = [diagnostic]
            yield action
    yield from _everywhere(result, [finding for finding, _ in touched])
    for finding, diagnostic in touched:
        edits = noqa_edits(source, [finding]) if finding.code not in FILE_CODES else []
        if edits:
            edit = workspace_edit(result.document, edits, client)
            title = f"Disable {finding.code} for {'this line' if len(edits) == 1 else f'these {len(edits)} lines'}"
            yield types.CodeAction(title, kind=types.CodeActionKind.QuickFix, diagnostics=[diagnostic], edit=edit)


def _fix(finding: Finding, source: Source, document: Document, client: Client) -> types.CodeAction | None:
    """The fix of one finding; a suggestion is shown, if the editor can, but not applied."""
    fix = finding.fix
    if fix is None or finding.code in FILE_CODES:
        return None
    action = types.CodeAction(f"{finding.code}: {_titled(fix)}", kind=types.CodeActionKind.QuickFix)
    if fix.level is Level.DISPLAY:
        action.disabled = types.CodeActionDisabled(reason=fix.reason or "It has to be made by hand.")
        return action if client.shows_disabled_actions else None
    outcome = fix_all({source.path: source}, lambda now: [finding] if now[source.path] is source else [], fix.level)
    if source.path not in outcome.changed:
        return None
    edits = between(source.text, outcome.changed[source.path].text)
    action.edit = workspace_edit(document, edits, client)
    action.is_preferred = True if fix.level is Level.SAFE and client.shows_preferred_actions else None
    return action


def _titled(fix: Fix) -> str:
    reason = " ".join(fix.reason.split())
    if len(reason) > _MOST_OF_A_REASON:
        reason = reason[:_MOST_OF_A_REASON].rsplit(" ", 1)[0] + " ..."
    return f"{fix.message} ({fix.level}{f': {reason}' if reason and fix.level is Level.UNSAFE else ''})"


def _everywhere(result: Result, touched: Sequence[Finding]) -> Iterator[types.CodeAction]:
    """One action for each rule with more findings of the same kind to fix in the document."""
    for code, level in dict.fromkeys((finding.code, _level(finding)) for finding in touched):
        if level is None or level is Level.DISPLAY:
            continue
        alike = [each for each in result.findings if each.code == code and (_level(each) or Level.DISPLAY) >= level]
        if len(alike) > 1:
            title = f"Fix all {len(alike)} {code} in this file ({level})"
            data = _data(result.document, level, code)
            yield types.CodeAction(title, kind=types.CodeActionKind.QuickFix, data=data)


def _level(finding: Finding) -> Level | None:
    return finding.fix.level if finding.fix is not None and finding.fix.edits else None


def _data(document: Document, level: Level, code: str | None) -> dict[str, Any]:
    return {"uri": document.uri, "version": document.version, "level": level.value, "code": code}
