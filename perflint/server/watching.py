"""Asks the editor to watch files: the code, and the files that decide how it is checked."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from perflint.configuration import config_files
from perflint.inputs import input_files
from perflint.inputs.projects import ROOT_MARKS
from perflint.server.client import Client
from perflint.server.client_settings import SECTION
from perflint.suppress import baseline

_NAMES = (*config_files.OWN_FILES, config_files.PYPROJECT, ".gitignore", baseline.NAME, *ROOT_MARKS)


async def register(server: LanguageServer, client: Client) -> None:
    """Register for changes of files and settings, if the editor supports that."""
    wanted = []
    if client.registers_watchers:
        beside = dict.fromkeys([*(f"**/{name}" for name in _NAMES), *input_files.patterns()])
        patterns = ["**/*.py", *(pattern for pattern in beside if not pattern.endswith(".py"))]
        watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
        wanted.append(
            types.Registration(
                "perflint-files",
                types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                types.DidChangeWatchedFilesRegistrationOptions(watchers),
            )
        )
    if client.registers_configuration:
        wanted.append(
            types.Registration(
                "perflint-settings",
                types.WORKSPACE_DID_CHANGE_CONFIGURATION,
                types.DidChangeConfigurationRegistrationOptions(section=SECTION),
            )
        )
    if wanted:
        await server.client_register_capability_async(types.RegistrationParams(wanted))
