"""The settings that an editor sends, and the settings of a check that follow from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflint import catalogue
from perflint.configuration import config_files
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings

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

    def overrides(self) -> dict[str, object]:
        """The settings by the keys of the configuration, for ``config_files.load``; None: not set."""
        return {
            "select": self.select,
            "ignore": self.ignore or None,
            "extend-select": self.extend_select or None,
            "min-confidence": self.min_confidence,
            "min-impact": self.min_impact,
            "profile": self.profile,
        }


def read(given: object) -> tuple[EditorSettings, list[str]]:
    """The settings in what an editor sends, and what is wrong with them, one sentence each.

    A key that cannot be used is left out. ``null`` counts as unset: editors send it for settings that are not set.

    Args:
        given: a JSON object; anything else counts as an empty one.
    """
    values = {key: value for key, value in given.items() if value is not None} if isinstance(given, Mapping) else {}
    found: dict[str, Any] = {}
    problems = []
    for key, value in values.items():
        reader = _READERS.get(key)
        if reader is None:
            if key not in _OF_THE_EDITOR:
                problems.append(f"{SECTION}.{key}: there is no such setting; there are {', '.join(_READERS)}")
            continue
        attribute, expected, is_right = reader
        if not is_right(value):
            problems.append(f"{SECTION}.{key}: expected {expected}, found {value!r}")
            continue
        found[attribute] = tuple(value) if isinstance(value, list | tuple) else value
    return EditorSettings(**found), problems


def section(given: object) -> Mapping[str, Any] | None:
    """The part of an editor's settings that is for perflint; None if there is none.

    Editors send the whole object, ``{"perflint": {...}}``, or only the inner part, or (in the initial options) either
    of them under ``settings``.
    """
    if not isinstance(given, Mapping):
        return None
    if "settings" in given and SECTION not in given:
        return section(given["settings"])
    inner = given.get(SECTION, given)
    return inner if isinstance(inner, Mapping) and inner else None


def resolve(start: Path, editor: EditorSettings) -> Settings:
    """The settings of the checks for the code in a directory.

    Raises:
        ConfigError: a file or settings of the editor cannot be used; each problem names its place.
        catalogue.CatalogueError: the installation lacks the rule files.
    """
    known = catalogue.selectors(catalogue.shipped())
    chosen = start / Path(editor.configuration_file).expanduser() if editor.configuration_file else None
    overrides = editor.overrides()
    if editor.profile:  # relative to the folder, not to the configuration
        overrides["profile"] = str(start / Path(editor.profile).expanduser())
    try:
        return config_files.load(start, known=known, config=chosen, overrides=overrides)
    except ConfigError as error:
        raise ConfigError(*map(_in_words_of_editor, error.problems)) from error


def files(start: Path, editor: EditorSettings) -> list[Path]:
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
