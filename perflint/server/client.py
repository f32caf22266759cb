"""What the server knows about the editor (its capabilities, its settings, how it names files), and what it tells it."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from perflint import catalogue
from perflint.commands import is_debugging
from perflint.configuration import config_files
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings
from perflint.inputs import input_files
from perflint.inputs.projects import ROOT_MARKS
from perflint.suppress import baseline
from perflint.text.visible import visible

log = logging.getLogger(__name__)


def _told(path: str) -> bool:
    """A field that is true if a client names a capability, under this path in what it sends."""
    found: bool = field(default=False, metadata={"path": path})
    return found


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
    resolves_edits: bool = False
    reads_markdown: bool = False
    takes_versions: bool = _told("workspace.workspace_edit.document_changes")
    """Edits may name the document version that they apply to."""
    has_action_kinds: bool = _told("text_document.code_action.code_action_literal_support")
    shows_disabled_actions: bool = _told("text_document.code_action.disabled_support")
    shows_preferred_actions: bool = _told("text_document.code_action.is_preferred_support")
    keeps_action_data: bool = _told("text_document.code_action.data_support")
    shows_progress: bool = _told("window.work_done_progress")
    answers_configuration: bool = _told("workspace.configuration")
    registers_configuration: bool = _told("workspace.did_change_configuration.dynamic_registration")
    registers_watchers: bool = _told("workspace.did_change_watched_files.dynamic_registration")

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
            resolves_edits="edit" in values("text_document.code_action.resolve_support.properties"),
            reads_markdown=next(formats, "") == types.MarkupKind.Markdown,
            **{each.name: has(each.metadata["path"]) for each in fields(Client) if each.metadata},
        )


# -- settings of the editor -------------------------------------------------------------------------------------------

SECTION = "perflint"

_LEVELS = ("low", "medium", "high")


@dataclass(frozen=True)
class EditorSettings:
    """The settings that the user has made in the editor; None or empty: not set.

    ``select`` replaces the selection, the others add to the configuration file, as on the command line.
    """

    enable: bool = True
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    min_confidence: str | None = None
    min_impact: str | None = None
    profile: str | None = None
    configuration_file: str | None = None


def read_settings(given: object) -> tuple[EditorSettings, list[str]]:
    """The settings in what an editor sends, and what is wrong with them, one sentence each.

    A key that cannot be used is left out. ``null`` counts as unset: editors send it for settings that are not set.

    Args:
        given: a JSON object; anything else counts as an empty one.
    """
    found: dict[str, Any] = {}
    problems = []
    for key, value in _values(given).items():
        attribute, expected, is_right = _READERS.get(key, ("", "", None))
        if is_right is not None and is_right(value):
            found[attribute] = tuple(value) if isinstance(value, list | tuple) else value
        elif is_right is not None:
            problems.append(f"{SECTION}.{key}: expected {expected}, found {value!r}")
        elif key not in _OF_THE_EDITOR:
            problems.append(f"{SECTION}.{key}: there is no such setting; there are {', '.join(_READERS)}")
    return EditorSettings(**found), problems


def own_section(given: object) -> Mapping[str, Any] | None:
    """The part of an editor's settings that is for perflint; None if there is none.

    Editors send the whole object, ``{"perflint": {...}}``, or only the inner part, or (in the initial options) either
    of them under ``settings``.
    """
    if not isinstance(given, Mapping):
        return None
    if "settings" in given and SECTION not in given:
        return own_section(given["settings"])
    inner = given.get(SECTION, given)
    return inner if isinstance(inner, Mapping) and inner else None


def resolve_settings(start: Path, editor: EditorSettings) -> Settings:
    """The settings of the checks for the code in a directory.

    Raises:
        ConfigError: a file or settings of the editor cannot be used; each problem names its place.
        catalogue.CatalogueError: the installation lacks the rule files.
    """
    known = catalogue.selectors(catalogue.shipped())
    chosen = start / Path(editor.configuration_file).expanduser() if editor.configuration_file else None
    overrides = {
        "select": editor.select,
        "ignore": editor.ignore or None,
        "extend-select": editor.extend_select or None,
        "min-confidence": editor.min_confidence,
        "min-impact": editor.min_impact,
        # relative to the folder, not to the configuration
        "profile": str(start / Path(editor.profile).expanduser()) if editor.profile else None,
    }
    try:
        return config_files.load(start, known=known, config=chosen, overrides=overrides)
    except ConfigError as error:
        raise ConfigError(*map(_in_words_of_editor, error.problems)) from error


def configuration_files(start: Path, editor: EditorSettings) -> list[Path]:
    """The files that contain the configuration of a directory, or would if they existed."""
    if editor.configuration_file:
        return [start / Path(editor.configuration_file).expanduser()]
    return config_files.places(start)


def _in_words_of_editor(message: str) -> str:
    """Turn an error about a command-line option into one about a setting."""
    option = re.match(r"--([a-z-]+):", message)
    if option is None:
        return message
    words = option[1].split("-")
    return f"{SECTION}.{words[0]}{''.join(map(str.capitalize, words[1:]))}:{message[option.end() :]}"


def _is_strings(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


_RULES = 'a list of rules, such as ["PPF1", "PPF202"]'
_READERS: dict[str, tuple[str, str, Callable[[object], bool]]] = {
    "enable": ("enable", "true or false", lambda value: isinstance(value, bool)),
    "select": ("select", _RULES, _is_strings),
    "ignore": ("ignore", _RULES, _is_strings),
    "extendSelect": ("extend_select", _RULES, _is_strings),
    "minConfidence": ("min_confidence", '"low", "medium" or "high"', lambda value: value in _LEVELS),
    "minImpact": ("min_impact", '"low", "medium" or "high"', lambda value: value in _LEVELS),
    "profile": ("profile", "the path of a file", lambda value: isinstance(value, str)),
    "configurationFile": ("configuration_file", "the path of a file", lambda value: isinstance(value, str)),
}
_OF_THE_EDITOR = ("trace", "server", "path", "interpreter", "command", "importStrategy")
"""Settings under the same name that an extension may use for itself."""


# -- URIs and paths ---------------------------------------------------------------------------------------------------


def path_of(uri: str) -> str | None:
    """The path of a file; None if the URI is not that of a file.

    >>> path_of("file:///tmp/a%20b%3Bc.py")
    '/tmp/a b;c.py'
    >>> path_of("untitled:Untitled-1") is None
    True
    >>> path_of("file:///tmp/a%00b.py") is None  # no file has such a name
    True
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or not parts.path or "\0" in unquote(parts.path):
        return None
    if os.name == "nt":
        path = url2pathname(parts.path)
        return os.path.normpath(rf"\\{parts.netloc}{path}" if parts.netloc else path)
    # As Python represents file names: bytes that are not UTF-8 become surrogates.
    return os.path.normpath(unquote(parts.path, errors="surrogateescape"))


def uri_of(path: str) -> str:
    """The URI of an absolute path.

    >>> uri_of("/tmp/a b.py")
    'file:///tmp/a%20b.py'
    """
    return Path(path).absolute().as_uri()


# -- the settings, whichever way they are sent ------------------------------------------------------------------------


class Preferences:
    """The settings that the editor has sent.

    If the editor supports it, the settings of each folder are requested; what it leaves out stays as at the start.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._given: Mapping[str, Any] = {}
        self._told: set[str] = set()

    def take(self, given: object) -> None:
        """Take the settings that the editor has sent, in its first message or after a change."""
        self._given = own_section(given) or self._given

    def known(self) -> dict[str, EditorSettings]:
        """The settings that are known, without a request."""
        return {"": self._read(self._given)}

    async def asked(self, folders: Sequence[str]) -> dict[str, EditorSettings]:
        """Request the settings for each folder, and under "" for everything else."""
        items = [types.ConfigurationItem(section=SECTION)]
        items += [types.ConfigurationItem(scope_uri=uri_of(folder), section=SECTION) for folder in folders]
        answers = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
        return {
            folder: self._read({**self._given, **_values(answer)})
            for folder, answer in zip(("", *folders), answers, strict=False)
        }

    def _read(self, given: object) -> EditorSettings:
        settings, problems = read_settings(given)
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                log.error(problem)
                shown = types.ShowMessageParams(types.MessageType.Error, f"perflint: {problem}")
                self._server.window_show_message(shown)
        return settings


def _values(given: object) -> dict[str, Any]:
    """The settings that are set; none if this is not an object."""
    return {key: value for key, value in given.items() if value is not None} if isinstance(given, Mapping) else {}


# -- what the editor is asked to watch --------------------------------------------------------------------------------

_NAMES = (*config_files.OWN_FILES, config_files.PYPROJECT, ".gitignore", baseline.NAME, *ROOT_MARKS)


async def register_watchers(server: LanguageServer, client: Client) -> None:
    """Register for changes of files and settings, if the editor supports that."""
    wanted = []
    if client.registers_watchers:
        beside = dict.fromkeys([*(f"**/{name}" for name in _NAMES), *input_files.patterns()])
        patterns = ["**/*.py", *(pattern for pattern in beside if not pattern.endswith(".py"))]
        watchers = [types.FileSystemWatcher(pattern) for pattern in patterns]
        files = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        wanted.append(types.Registration("perflint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files))
    if client.registers_configuration:
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        wanted.append(types.Registration("perflint-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if wanted:
        await server.client_register_capability_async(types.RegistrationParams(wanted))


# -- logging, to standard error and to the editor ---------------------------------------------------------------------


@dataclass(frozen=True)
class Tell:
    """Two ways to inform the user: ``note`` writes to the log, ``complain`` also shows a message."""

    note: Callable[[str], None]
    complain: Callable[[str], None]


class Complaint:
    """A problem with something ("" for none), which is shown to the user only when it changes."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._now = ""

    def update(self, problem: str) -> str:
        """Set the current problem; return the previous one."""
        before, self._now = self._now, problem
        if problem and problem != before:
            self._tell.complain(f"perflint: {problem}")
        return before


class EditorHandler(logging.Handler):
    """Passes log records to the editor, on one line without the traceback unless ``PERFLINT_DEBUG=1``."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(Brief("%(message)s"))
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        with suppress(Exception):  # the connection is closed
            self._send(record.levelno, self.format(record))


class Brief(logging.Formatter):
    """Formats each record on one line; tracebacks are only shown if requested."""

    def formatException(self, info: Any) -> str:  # noqa: N802 - the name of the base class
        """The error on one line, or its traceback."""
        if is_debugging():
            return super().formatException(info)
        error = info[1] if isinstance(info, tuple) else info
        return f"{type(error).__name__}: {error} (PERFLINT_DEBUG=1 in the environment shows where)"

    def format(self, record: logging.LogRecord) -> str:
        """The formatted record."""
        record.exc_text = None  # another formatter may have left it
        return visible(super().format(record), keep="\n\t")


def log_to_stderr() -> None:
    """Send perflint's log, and warnings of the libraries it uses, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Brief("perflint server: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("perflint").setLevel(logging.INFO)
    logging.getLogger("pygls").setLevel(logging.DEBUG if is_debugging() else logging.CRITICAL)
