"""Configuration: found in a directory or above it, read from TOML, checked, and merged with the command line.

If it sets no line length, that of the formatter or linter of the project is used: ``[tool.black]`` with
``line-length = 100`` in ``pyproject.toml`` gives 100; without that key it is 88. Read are ``pyproject.toml`` (black,
Ruff), ``ruff.toml``, ``.flake8``, ``setup.cfg``, ``tox.ini``, ``.style.yapf`` and ``.editorconfig`` in a directory and
those above it, up to the top of the repository.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perflint.configuration import toml_text
from perflint.configuration.keys import KEYS, MOST_PROBLEMS, NOT_SET, ConfigError, checked_value, each, written
from perflint.configuration.settings import Settings, closest, specificity
from perflint.configuration.toml_text import TomlError, cut, toml, with_kind
from perflint.files import plain_files
from perflint.text.visible import visible

OWN_FILES = (".perflint.toml", "perflint.toml")
PYPROJECT = "pyproject.toml"
TABLE = "tool.perflint"
DEFAULT = "default"
COMMAND_LINE = "command line"
PAIR = "command line (--config)"

DEFAULT_EXCLUDE = (
    *(".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pyenv"),
    *(".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__"),
    *("_build", "build", "dist", "node_modules", "site-packages", "venv"),
)

_MOST_BYTES = 4_000_000
"""The largest size of a configuration: TOML is read at about a megabyte per second."""


@dataclass(frozen=True)
class _Place:
    """Where values come from, for error messages: a file with its text, an option, or a pair of ``--config``."""

    origin: str
    text: str = ""
    table: str = ""

    def named(self, key: str) -> str:
        """Where a key gets its value, for the beginning of an error message."""
        if self.origin == COMMAND_LINE:
            return f"--{key}"
        if self.origin == PAIR:
            return f"--config: {cut(key)}"
        line = _line_of(self.text, self.table, key)
        place = f"{self.origin}:{line}" if line else self.origin
        return f"{place}: {cut(key)}"


def load(
    start: Path,
    *,
    known: Mapping[str, tuple[str, ...]],
    config: Path | None = None,
    pairs: Iterable[str] = (),
    isolated: bool = False,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """The settings for a run started in ``start`` (a directory, or a file in it).

    ``known`` maps the code of each rule to the words that select it, its name and its groups: entries that select rules
    are checked against it, and such words are turned into codes. ``config`` is used instead of the file that would be
    found (``isolated``: no file is used). ``pairs`` are texts such as ``log-interval = 50``: each replaces the value of
    its key in the file; if there are two for one key, the last one counts.

    ``overrides`` contains the values of command-line options, by key (None: not given). ``select`` replaces the
    selection of the file, as in Ruff; ``ignore`` and the ``extend-`` keys add to those of the file and override it for
    the rules they mean; any other key replaces the value of the file.

    Raises:
        ConfigError: a file cannot be read, is not TOML, or contains keys or values that perflint does not know.
    """
    start = Path(os.path.realpath(start.parent if _is_file(start) else start))
    if isolated and config is not None:
        raise ConfigError("--isolated: no configuration file is read, so none can be given with --config")
    passed_over: list[Path] = []
    found = None if isolated else _find(start, passed_over) if config is None else _named(config)
    place, table = found or (_Place(DEFAULT), {})
    options = {key: value for key, value in (overrides or {}).items() if value is not None}
    sources = [(place, table), *((_Place(PAIR), pair) for pair in each(pairs, _of_pair))]
    *layers, wanted = _all_checked([*sources, (_Place(COMMAND_LINE), options)], known)
    given = {key: value for layer in layers for key, value in layer.items()}
    given_by = {key: where.origin for where, keys in sources for key in keys}
    values, origins = _merged(given, given_by, wanted, known)
    values.setdefault("exclude", DEFAULT_EXCLUDE)
    project = None if isolated or "line-length" in values else line_length_of(start)
    if project is not None:
        values["line-length"], origins["line-length"] = project
    return Settings(
        root=start if found is None else Path(place.origin).parent,
        origins={key: origins.get(key, DEFAULT) for key in KEYS},
        passed_over=tuple(passed_over),
        **{_attribute(key): value for key, value in values.items()},
    )


def describe(settings: Settings) -> str:
    """The settings as TOML, one key per line, each with its origin in a comment; the text ends with a newline."""
    lines = [f"# paths and patterns are relative to {visible(str(settings.root))}"]
    for key in KEYS:
        value = written(key, getattr(settings, _attribute(key)))
        line = f"# {key} is not set: {NOT_SET[key]}" if value is None else f"{key} = {toml(value)}"
        if len(line) > 100 and isinstance(value, tuple):
            line = f"{key} = [\n" + "".join(f"    {toml(item)},\n" for item in value) + "]"
        lines.append(f"{line}  # {visible(settings.origins.get(key, DEFAULT))}")
    return "\n".join(lines) + "\n"


def _attribute(key: str) -> str:
    return key.replace("-", "_")


def _all_checked(
    sources: Iterable[tuple[_Place, Mapping[str, Any]]], known: Mapping[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """The values of several places.

    Raises:
        ConfigError: some cannot be used; if there are too many mistakes to show, the last line says so.
    """
    try:
        return each(sources, lambda source: _checked(*source, known=known))
    except ConfigError as error:
        first = error.problems[:MOST_PROBLEMS]
        if len(first) < MOST_PROBLEMS:
            raise
        raise ConfigError(*first, f"correct these {MOST_PROBLEMS} first: the rest was not checked") from None


def _checked(place: _Place, table: Mapping[str, Any], known: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The values of a table, each of its kind, with rule names turned into codes.

    Raises:
        ConfigError: some cannot be used.
    """

    def read(item: tuple[str, Any]) -> Any:
        key, value = item
        try:
            return checked_value(key, value, known)
        except ConfigError as error:
            where = place.named(key)
            raise ConfigError(*(f"{where}: {problem}" for problem in error.problems)) from None

    return dict(zip(table, each(table.items(), read), strict=True))


# --- merging


_ADDING = ("ignore", "extend-select", "extend-exclude", "extend-safe-fixes", "extend-unsafe-fixes")


def _merged(
    given: Mapping[str, Any],
    given_by: Mapping[str, str],
    wanted: Mapping[str, Any],
    known: Mapping[str, tuple[str, ...]],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a file and of ``--config``, overridden by those of the options, and where each came from."""
    values = dict(given)
    origins = dict(given_by)
    if "select" in wanted:
        for key in ("ignore", "extend-select"):
            if values.pop(key, None) is not None:
                values[key] = ()
                origins[key] = COMMAND_LINE
    else:
        values = _last_word(values, wanted, known)
    for key, value in wanted.items():
        adds = key in _ADDING and values.get(key)
        values[key] = (*values[key], *value) if adds else value
        origins[key] = f"{given_by[key]} and {COMMAND_LINE}" if adds else COMMAND_LINE
    return values, origins


def _last_word(
    values: dict[str, Any], wanted: Mapping[str, Any], known: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The lists in the file, without entries that would override the command line for a rule."""
    on, off = wanted.get("extend-select", ()), wanted.get("ignore", ())
    chosen = {code: rank for code in known if (rank := closest(on, code)) > closest(off, code)}
    dropped = {code: rank for code in known if (rank := closest(off, code)) >= 0 and code not in chosen}
    result = dict(values)
    # If two entries are equally specific, the ignoring one counts, so a selecting one has to be more specific.
    for key, ranks, least in (("ignore", chosen, 0), ("select", dropped, 1), ("extend-select", dropped, 1)):
        if values.get(key):
            outdone = {code: rank + least for code, rank in ranks.items()}
            result[key] = tuple(code for entry in values[key] for code in _without(entry, outdone, known))
    return result


def _without(entry: str, ranks: Mapping[str, int], known: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """An entry; or, if it would override the command line for some codes, only the other codes that it means."""
    meant = {code: rank for code in known if (rank := specificity(entry, code)) >= 0}
    lost = {code for code, rank in meant.items() if code in ranks and rank >= ranks[code]}
    return (code for code in meant if code not in lost) if lost else (entry,)


# --- files


def places(start: Path) -> list[Path]:
    """The files that may contain the configuration of a directory, existing or not; the first existing one counts."""
    return [directory / name for directory in (start, *start.parents) for name in (*OWN_FILES, PYPROJECT)]


def _find(start: Path, passed_over: list[Path]) -> tuple[_Place, Mapping[str, Any]] | None:
    """The nearest file with a configuration, in ``start`` or above it.

    Pipes and devices with such names are added to ``passed_over``.
    """
    for path in places(start):
        if not _is_file(path):
            passed_over += [path] if plain_files.problem(path) else []
        elif (found := _read_file(path)) is not None:
            return found
    return None


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - which never raises, also where a directory may not be entered


def _named(config: Path) -> tuple[_Place, Mapping[str, Any]]:
    """The file of ``--config``; if it is a link, its directory is that of the link."""
    path = Path(os.path.realpath(config.parent)) / config.name
    found = _read_file(path)
    if found is None:
        raise ConfigError(f"{path}: there is no [{TABLE}] table in it")
    return found


def _of_pair(text: str) -> Mapping[str, Any]:
    """The key and the value of ``--config KEY=VALUE``."""
    shown = f"--config {visible(cut(text))}"
    try:
        table = toml_text.parse(text)
    except TomlError as error:
        raise ConfigError(
            f"{shown}: there is no such file, and as a setting it is {error}; "
            """write one key and its value as in a file, strings in quotation marks: --config 'min-impact="high"'"""
        ) from error
    if len(table) != 1:
        raise ConfigError(f"{shown}: found {len(table)} keys, expected one; give --config once for each")
    return table


def _read_file(path: Path) -> tuple[_Place, Mapping[str, Any]] | None:
    """Read the keys and values of a configuration; None for a ``pyproject.toml`` without a table for perflint."""
    text = _text(path)
    try:
        data = toml_text.parse(text)
    except TomlError as error:
        raise ConfigError(f"{path}:{error.line}: {error}" if error.line else f"{path}: {error}") from error
    if path.name != PYPROJECT:
        return _Place(str(path), text), data
    table = _own_table(path, data)
    return None if table is None else (_Place(str(path), text, TABLE), table)


def _text(path: Path) -> str:
    try:
        return plain_files.read(path, _MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not valid TOML: it is not UTF-8 text") from error


def _own_table(path: Path, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tool = data.get("tool", {})
    table = tool.get("perflint") if isinstance(tool, Mapping) else None
    if table is not None and not isinstance(table, Mapping):
        raise ConfigError(f"{path}: {TABLE}: found {with_kind(table)}, expected a table")
    return table


def _line_of(text: str, table: str, key: str) -> int | None:
    """The line that sets a key, if it is written in the usual way (tomllib keeps no lines); otherwise None."""
    inner = f"{table}.{key}" if table else key
    setting = re.compile(rf"""(["']?){re.escape(key)}\1\s*[=.]""")  # also of a key below it
    here = ""
    for row, line in enumerate(text.split("\n"), 1):
        header = _header(line.strip())
        if header:
            here = header
            if here == inner or here.startswith(inner + "."):
                return row
        elif here == table and setting.match(line.lstrip()):
            return row
    return None


def _header(line: str) -> str:
    """The name of the table that starts on this line, without spaces and quotation marks; empty for any other line.

    >>> _header('[ tool . "perflint" ]  # ours')
    'tool.perflint'
    """
    match = re.match(r"\[([^\]]*)\]\s*(?:#|$)", line)
    name = re.sub(r"""[\s"']+""", "", match[1]) if match is not None else ""
    return name if re.fullmatch(r"[\w.-]+", name) else ""


_MOST_BYTES_OF_OTHERS = 1_000_000
_BLACK = 88
_LEAST, _MOST = 40, 1_000
"""Other numbers are not line lengths: 0 and -1 mean "any"."""

_INI = (
    ("flake8", "max-line-length"),
    ("flake8", "max_line_length"),
    ("pycodestyle", "max-line-length"),
    ("pycodestyle", "max_line_length"),
    ("pep8", "max-line-length"),
    ("yapf", "column_limit"),
    ("style", "column_limit"),
)
_BLANKS = re.compile(r"(?<=\S)\s{2,}")
_PYTHON = re.compile(r"(?:^|[.,{*])py(?:$|[,}])")


def line_length_of(start: Path) -> tuple[int, str] | None:
    """The line length, and the file that sets it; None if no file does.

    Args:
        start: a directory of the project.
    """
    for directory in (start, *start.parents):
        for name, read in _READERS.items():
            length = _length(read, directory / name)
            if length is not None:
                return length, str(directory / name)
        if (directory / ".git").exists():
            break
    return None


def _length(read: Callable[[str], int | None], path: Path) -> int | None:
    """The length in one file; None if the file is unreadable or broken."""
    try:
        length = read(plain_files.read(path, _MOST_BYTES_OF_OTHERS).decode("utf-8", "replace").removeprefix("\ufeff"))
    except (OSError, ValueError, configparser.Error, AttributeError):
        # AttributeError: configparser raises it at a row that continues below a key without a value.
        return None
    return length if length is not None and _LEAST <= length <= _MOST else None


def _pyproject(text: str) -> int | None:
    tool = toml_text.parse(text).get("tool")
    if not isinstance(tool, Mapping):
        return None
    black, ruff = tool.get("black"), tool.get("ruff")
    if isinstance(black, Mapping):
        return _number(black.get("line-length", black.get("line_length", _BLACK)))
    return _number(ruff.get("line-length", _BLACK)) if isinstance(ruff, Mapping) else None


def _ruff(text: str) -> int | None:
    return _number(toml_text.parse(text).get("line-length", _BLACK))


def _ini(text: str) -> int | None:
    parser = _parsed(text)
    found = (parser.get(section, key, fallback=None) for section, key in _INI)
    return next((_number(value) for value in found if value is not None), None)


def _editorconfig(text: str) -> int | None:
    """The length for Python files: from the last section that applies to them and sets one."""
    parser = _parsed(f"[top]\n{text}")
    lengths = [
        _number(parser.get(section, "max_line_length", fallback=None))
        for section in parser.sections()
        if section == "*" or _PYTHON.search(section)
    ]
    return next((length for length in reversed(lengths) if length is not None), None)


def _parsed(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    # The time that configparser takes for a row grows with the square of its number of spaces.
    parser.read_string("\n".join(_BLANKS.sub(" ", line) for line in text.split("\n")))
    return parser


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


_READERS: Mapping[str, Callable[[str], int | None]] = {
    "pyproject.toml": _pyproject,
    "ruff.toml": _ruff,
    ".ruff.toml": _ruff,
    ".flake8": _ini,
    "setup.cfg": _ini,
    "tox.ini": _ini,
    ".style.yapf": _ini,
    ".editorconfig": _editorconfig,
}
