"""The settings of the editor, whichever way it sends them: at the start, with a change, or on request."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from perflint.server.client_settings import SECTION, EditorSettings, read, section
from perflint.server.uris import uri_of

log = logging.getLogger(__name__)


class Preferences:
    """The settings that the editor has sent.

    If the editor supports it, the settings of each folder are requested; what it leaves out stays as at the start.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._given: Mapping[str, Any] = {}
        self._told: set[str] = set()

    def start_with(self, options: object) -> None:
        """Take the settings in the first message of the editor."""
        self._given = section(options) or {}

    def change(self, given: object) -> None:
        """Take the settings that the editor has sent after a change."""
        self._given = section(given) or self._given

    def known(self) -> dict[str, EditorSettings]:
        """The settings that are known, without a request."""
        return {"": self._read(self._given)}

    async def asked(self, folders: Sequence[str]) -> dict[str, EditorSettings]:
        """Request the settings for each folder, and under "" for everything else."""
        items = [types.ConfigurationItem(section=SECTION)]
        items += [types.ConfigurationItem(scope_uri=uri_of(folder), section=SECTION) for folder in folders]
        answers = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
        return {
            folder: self._read({**self._given, **_given(answer)})
            for folder, answer in zip(("", *folders), answers, strict=False)
        }

    def _read(self, given: object) -> EditorSettings:
        settings, problems = read(given)
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                log.error(problem)
                self._server.window_show_message(
                    types.ShowMessageParams(types.MessageType.Error, f"perflint: {problem}")
                )
        return settings


def _given(answer: object) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if value is not None} if isinstance(answer, Mapping) else {}
