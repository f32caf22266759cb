"""Configuration: found from a directory upwards, read from TOML, checked, and merged with the command line."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from perflint.configuration.schema import MOST_NUMBER, Schema, array_of, named, number, table_of
from perflint.configuration.selection import ALL, closest, specificity
from perflint.configuration.settings import DeclaredCall, Settings
from perflint.files import plain_files, toml_text
from perflint.files.toml_text import TomlError
from perflint.findings import Confidence, ImpactLevel
from perflint.inputs import line_length
from perflint.inputs.paddle_versions import version_of
from perflint.inputs.patterns import is_valid
from perflint.text.visible import is_plain, visible

Level = TypeVar("Level", Confidence, ImpactLevel)
Item = TypeVar("Item")
Result = TypeVar("Result")

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
"""How large a configuration may be: TOML is read at about a megabyte a second."""

_LONGEST = 60
"""How many characters of a wrong value are shown."""


_MOST_PROBLEMS = 20
"""How many mistakes are told at once: a file of the wrong kind has thousands."""


class ConfigError(Exception):
    """A configuration that cannot be used.

    Each of ``problems`` is a line for a person: the file (and line), the key and what is expected; they come in the
    order in which they stand in the file.  ``str(error)`` has them all, one a line.
    """

    def __init__(self, *problems: str) -> None:
        """Tell what is wrong."""
        super().__init__("\n".join(map(visible, problems)))
        self.problems = problems


def _each(items: Iterable[Item], read: Callable[[Item], Result]) -> list[Result]:
    """What ``read`` makes of each item.

    Raises:
        ConfigError: it raises this for some of them; the problems of all these.
    """
    results: list[Result] = []
    problems: list[str] = []
    for item in items:
        try:
            results.append(read(item))
        except ConfigError as error:
            problems += error.problems
            if len(problems) >= _MOST_PROBLEMS:
                break
    if problems:
        raise ConfigError(*problems)
    return results


@dataclass(frozen=True)
class _Place:
    """Where values come from, to be named in errors: a file with its text, an option, or a pair of ``--config``."""

    origin: str
    text: str = ""
    table: str = ""

    def named(self, key: str) -> str:
        """Where a key has its value, for the beginning of an error."""
        if self.origin == COMMAND_LINE:
            return f"--{key}"
        if self.origin == PAIR:
            return f"--config: {_cut(key)}"
        line = _line_of(self.text, self.table, key)
        place = f"{self.origin}:{line}" if line else self.origin
        return f"{place}: {_cut(key)}"


@dataclass(frozen=True)
class _Key:
    """A key: what its value must be, in words, the function that reads it, which gives None for any other value.

    ``schema`` says to editors which values there are, as JSON Schema does.
    """

    expected: str
    read: Callable[[Any], Any]
    schema: Schema
    selects: bool = False
    patterns: bool = False


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

    ``known`` maps the code of each rule to the words that select it, its name and its groups: entries that select
    rules are checked against it, and such words are turned into codes.  ``config`` is used in place of the file that
    would be found (``isolated``: no file is).  ``pairs`` are texts such as ``log-interval = 50``: each takes the place
    of what the file says of its key, as if the file said so; of two about one key the last holds.

    ``overrides`` holds what the options of the command line give, by key (None: not given).  There ``select`` starts
    the selection afresh, as it does in Ruff; ``ignore`` and the ``extend-`` keys add to those of the file and have the
    last word on the rules they mean; any other key takes the place of the file's.

    Raises:
        ConfigError: a file cannot be read, is no TOML, or holds keys or values that perflint does not know.
    """
    start = Path(os.path.realpath(start.parent if _is_file(start) else start))
    if isolated and config is not None:
        raise ConfigError("--isolated: no configuration is read then, so no file can be given with --config")
    passed_over: list[Path] = []
    found = None if isolated else _find(start, passed_over) if config is None else _named(config)
    place, table = found or (_Place(DEFAULT), {})
    options = {key: value for key, value in (overrides or {}).items() if value is not None}
    sources = [(place, table), *((_Place(PAIR), pair) for pair in _each(pairs, _of_pair))]
    *layers, wanted = _all_checked([*sources, (_Place(COMMAND_LINE), options)], known)
    given = {key: value for layer in layers for key, value in layer.items()}
    given_by = {key: where.origin for where, keys in sources for key in keys}
    values, origins = _merged(given, given_by, wanted, known)
    values.setdefault("exclude", DEFAULT_EXCLUDE)
    project = None if isolated or "line-length" in values else line_length.of_project(start)
    if project is not None:
        values["line-length"], origins["line-length"] = project
    return Settings(
        root=start if found is None else Path(place.origin).parent,
        origins={key: origins.get(key, DEFAULT) for key in KEYS},
        passed_over=tuple(passed_over),
        **{_attribute(key): value for key, value in values.items()},
    )


def describe(settings: Settings) -> str:
    """The settings as TOML, a key a line, each with its origin in a comment; the text ends in a line end."""
    lines = [f"# paths and patterns are seen from {visible(str(settings.root))}"]
    for key in KEYS:
        value = _written(key, getattr(settings, _attribute(key)))
        line = f"# {key} is not set: {_NOT_SET[key]}" if value is None else f"{key} = {_toml(value)}"
        if len(line) > 100 and isinstance(value, tuple):
            line = f"{key} = [\n" + "".join(f"    {_toml(item)},\n" for item in value) + "]"
        lines.append(f"{line}  # {visible(settings.origins.get(key, DEFAULT))}")
    return "\n".join(lines) + "\n"


def _attribute(key: str) -> str:
    return key.replace("-", "_")


# --- reading values


def _strings(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)


def _table_of_strings(value: Any) -> dict[str, tuple[str, ...]] | None:
    if not isinstance(value, Mapping):
        return None
    table = {str(key): _strings(item) for key, item in value.items()}
    return {key: item for key, item in table.items() if item is not None} if None not in table.values() else None


def _whole_number(least: int) -> _Key:
    """A key for a number, from the least to what can be counted."""

    def read(value: Any) -> int | None:
        is_one = isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST_NUMBER
        return value if is_one else None

    expected = f"a whole number of at least {least} and at most {MOST_NUMBER}"
    return _Key(expected, read, number(least))


def _level(levels: Iterable[Level], value: Any) -> Level | None:
    """The level that a word names."""
    return next((level for level in levels if str(level) == value), None)


def _version(value: Any) -> str | None:
    """The number of a release, or nothing at all."""
    is_one = isinstance(value, str) and re.fullmatch(r"(\d{1,4}(\.\d{1,4}){0,3})?", value)
    return value if is_one and (not value or version_of(value)) else None


_EXAMPLE = '"mylib.train.my_function"'


def _declared(first: str, *others: str) -> Callable[[Any], dict[str, DeclaredCall] | None]:
    """A reader of a table that maps the qualified name of a function to the parameter that matters.

    ``first`` is the key for that parameter, ``others`` are keys that may stand beside it.  Where the parameter may be
    left out (all but ``workers``), a list of names will do.
    """

    def read(value: Any) -> dict[str, DeclaredCall] | None:
        names = _strings(value)
        if names is not None and first != "workers":
            value = {name: {} for name in names}
        if not isinstance(value, Mapping):
            return None
        calls = _each(value.items(), lambda item: _declared_call(*item, first=first, others=others))
        return dict(zip(value, calls, strict=True))

    return read


def _names_only(value: Any) -> dict[str, DeclaredCall] | None:
    return None if isinstance(value, Mapping) else _declared("tensor")(value)


def _declared_call(name: str, entry: Any, first: str, others: tuple[str, ...]) -> DeclaredCall:
    if name.count(".") < 1 or not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{_quoted(name)} is no qualified name; write it as in an import, such as {_EXAMPLE}")
    inner: Any = {first: entry} if isinstance(entry, str) else entry
    keys = (first, *others)
    if not isinstance(inner, Mapping) or (first == "workers" and first not in inner):
        shape = f"the name of a parameter, or a table with {first}" + (
            f" and maybe {' and '.join(others)}" if others else ""
        )
        raise ConfigError(f"{_quoted(name)}: found {_found(entry)}, expected {shape}")
    count = _whole_number(0)

    def check(item: tuple[str, Any]) -> None:
        key, value = item
        if key not in keys:
            hint = _suggestion(key, keys) or f"the keys are {', '.join(keys)}"
            raise ConfigError(f"{_quoted(name)}: {_cut(key)}: there is no such key; {hint}")
        if key == first and not (isinstance(value, str) and value.isidentifier()):
            raise ConfigError(f"{_quoted(name)}: {key}: found {_found(value)}, expected the name of a parameter")
        if key != first and count.read(value) is None:
            raise ConfigError(f"{_quoted(name)}: {key}: found {_found(value)}, expected {count.expected}")

    _each(inner.items(), check)
    return DeclaredCall(inner.get(first, ""), inner.get("position"), inner.get("default", 0))


_RULES = _Key('a list of rules, such as ["PPF1", "PPF202"]', _strings, array_of("rule"), selects=True)
_SWITCH = _Key("true or false", lambda value: value if isinstance(value, bool) else None, {"type": "boolean"})
_PATHS = _Key('a list of directories and files, such as ["."] or ["src", "tools"]', _strings, array_of("text"))
_PATTERNS = _Key(
    'a list of patterns, such as ["third_party", "*_pb2.py"]', _strings, array_of("pattern"), patterns=True
)

_CALLS = _Key(
    "a list of qualified names, or a table from them to the parameter with the tensor, "
    f'such as {{ {_EXAMPLE} = "loss" }}',
    _declared("tensor", "position"),
    {"anyOf": [array_of("function"), table_of("function", "call")]},
)


def _file(example: str) -> _Key:
    return _Key(
        f'the name of a file, such as "{example}"',
        lambda value: value if isinstance(value, str) else None,
        named("text"),
    )


def _of_levels(levels: Iterable[Level]) -> _Key:
    return _Key(
        '"low", "medium" or "high"',
        partial(_level, levels),
        {"type": "string", "enum": [str(level) for level in levels]},
    )


_KEYS: Mapping[str, _Key] = {
    "select": _RULES,
    "ignore": _RULES,
    "extend-select": _RULES,
    "per-file-ignores": _Key(
        'a table from patterns to lists of rules, such as { "tests/*" = ["PPF202"] }',
        _table_of_strings,
        {**table_of("pattern", "rule"), "additionalProperties": array_of("rule")},
        selects=True,
        patterns=True,
    ),
    "exclude": _PATTERNS,
    "extend-exclude": _PATTERNS,
    "respect-gitignore": _SWITCH,
    "context": _PATHS,
    "baseline": _file("perflint-baseline.json"),
    "profile": _file("train-profile.json"),
    "default-workers": _whole_number(1),
    "log-interval": _whole_number(2),
    "min-confidence": _of_levels(Confidence),
    "min-impact": _of_levels(ImpactLevel),
    "join-lines": _SWITCH,
    "extend-safe-fixes": _RULES,
    "extend-unsafe-fixes": _RULES,
    "loaders": _Key(
        f'a table from qualified names to the parameter with the workers, such as {{ {_EXAMPLE} = "num_workers" }}',
        _declared("workers", "position", "default"),
        table_of("function", "loader"),
    ),
    "sync-calls": _CALLS,
    "checkpoint-calls": _Key(f"a list of qualified names, such as [{_EXAMPLE}]", _names_only, array_of("function")),
    "logging-calls": _CALLS,
    "line-length": _whole_number(40),
    "target-paddle": _Key('the number of a release of Paddle, such as "2.4"', _version, named("release")),
}
KEYS = tuple(_KEYS)
SCHEMAS = {key: kind.schema for key, kind in _KEYS.items()}
_NOT_SET = {
    "select": "the rules that are on by default",
    "line-length": "88, or the longest row of the file",
}
"""What holds for a key that has no value, which TOML cannot say."""


def _all_checked(
    sources: Iterable[tuple[_Place, Mapping[str, Any]]], known: Mapping[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """The values of several places.

    Raises:
        ConfigError: some cannot be used; where there are too many mistakes to show, it says so at the end.
    """
    try:
        return _each(sources, lambda source: _checked(*source, known=known))
    except ConfigError as error:
        first = error.problems[:_MOST_PROBLEMS]
        if len(first) < _MOST_PROBLEMS:
            raise
        raise ConfigError(*first, f"mend these {_MOST_PROBLEMS} first: the rest has not been looked at") from None


def _checked(place: _Place, table: Mapping[str, Any], known: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The values of a table, each of its kind, with rule names turned into codes.

    Raises:
        ConfigError: some cannot be used.
    """

    def read(item: tuple[str, Any]) -> Any:
        key, value = item
        try:
            return _checked_value(key, value, known)
        except ConfigError as error:
            where = place.named(key)
            raise ConfigError(*(f"{where}: {problem}" for problem in error.problems)) from None

    return dict(zip(table, _each(table.items(), read), strict=True))


def _checked_value(key: str, value: Any, known: Mapping[str, tuple[str, ...]]) -> Any:
    """The value of a key; the problems of the error that it may raise follow the name of the key."""
    kind = _KEYS.get(key)
    if kind is None:
        raise ConfigError(f"there is no such key; {_suggestion(key, KEYS) or 'the keys are ' + ', '.join(KEYS)}")
    if _holds_null(value):
        raise ConfigError(f"found {_found(value)}, which holds a null character; no path or name may")
    read = kind.read(value)
    if read is None:
        raise ConfigError(f"found {_found(value)}, expected {kind.expected}")
    if kind.patterns:
        _each(read, partial(_check_pattern, key))
    if not kind.selects:
        return read
    if isinstance(read, dict):
        return dict(zip(read, _each(read.values(), lambda entries: _codes(entries, known)), strict=True))
    return _codes(read, known)


def _check_pattern(key: str, pattern: str) -> None:
    # In per-file-ignores a leading "!" turns a pattern round and is no part of it.
    body = pattern.removeprefix("!") if key == "per-file-ignores" else pattern
    if not body.strip() or not is_valid(body):
        raise ConfigError(f"{_quoted(pattern)} is no pattern; write it as in a .gitignore file")


def _holds_null(value: Any) -> bool:
    """Whether a null character stands in a text, or in one of the keys and values below it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and "\0" in item:
            return True
        if isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    return False


def _codes(selectors: Iterable[str], known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(code for codes in _each(selectors, lambda selector: _meant(selector, known)) for code in codes)


def _meant(selector: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A selector as the rest of perflint uses it: the name of a rule, or of a group, becomes the codes it means."""
    if selector == ALL:
        return (selector,)
    named = tuple(code for code, words in known.items() if selector in words)
    if named:
        return named
    if any(specificity(selector, code) >= 0 for code in known):
        return (selector,)
    words = dict.fromkeys(word for words in known.values() for word in words)
    hint = _suggestion(selector, [ALL, *known, *words])
    raise ConfigError(
        f"{_quoted(selector)} is not ALL and no rule has such a code, beginning of a code, name, or group; "
        + (hint or "`perflint rule` lists the rules and the groups"),
    )


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(word.lower().replace("_", "-"), by_lower, n=1)
    return f"did you mean {by_lower[near[0]]}?" if near else ""


# --- merging


_ADDING = ("ignore", "extend-select", "extend-exclude", "extend-safe-fixes", "extend-unsafe-fixes")


def _merged(
    given: Mapping[str, Any],
    given_by: Mapping[str, str],
    wanted: Mapping[str, Any],
    known: Mapping[str, tuple[str, ...]],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a file and of ``--config`` under those of the options, and where each came from."""
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
    """The lists of the file, without the entries that would overrule the command line on a rule."""
    on, off = wanted.get("extend-select", ()), wanted.get("ignore", ())
    chosen = {code: rank for code in known if (rank := closest(on, code)) > closest(off, code)}
    dropped = {code: rank for code in known if (rank := closest(off, code)) >= 0 and code not in chosen}
    result = dict(values)
    # Between alike entries the ignoring one wins, so it takes more to be outdone by a selecting one.
    for key, ranks, least in (("ignore", chosen, 0), ("select", dropped, 1), ("extend-select", dropped, 1)):
        if values.get(key):
            outdone = {code: rank + least for code, rank in ranks.items()}
            result[key] = tuple(code for entry in values[key] for code in _without(entry, outdone, known))
    return result


def _without(entry: str, ranks: Mapping[str, int], known: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """An entry as it is; or, where it would overrule the command line on some codes, the other codes that it means."""
    meant = {code: rank for code in known if (rank := specificity(entry, code)) >= 0}
    lost = {code for code, rank in meant.items() if code in ranks and rank >= ranks[code]}
    return (code for code in meant if code not in lost) if lost else (entry,)


# --- files


def places(start: Path) -> list[Path]:
    """The files that may hold the configuration of a directory, which need not be there; the first one counts."""
    return [directory / name for directory in (start, *start.parents) for name in (*OWN_FILES, PYPROJECT)]


def _find(start: Path, passed_over: list[Path]) -> tuple[_Place, Mapping[str, Any]] | None:
    """The nearest file with a configuration, in ``start`` or above it.

    Pipes and devices of such names that are met on the way are added to ``passed_over``.
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
    """The file of ``--config``; where it is a link, its directory is that of the link."""
    path = Path(os.path.realpath(config.parent)) / config.name
    found = _read_file(path)
    if found is None:
        raise ConfigError(f"{path}: there is no [{TABLE}] table in it")
    return found


def _of_pair(text: str) -> Mapping[str, Any]:
    """The key and the value of ``--config KEY=VALUE``."""
    shown = f"--config {visible(_cut(text))}"
    try:
        table = toml_text.parse(text)
    except TomlError as error:
        raise ConfigError(
            f"{shown}: there is no such file, and as a setting it is {error}; "
            """write one key and its value as in a file, texts in quotation marks: --config 'min-impact="high"'"""
        ) from error
    if len(table) != 1:
        raise ConfigError(f"{shown}: found {len(table)} keys, expected one; give --config once for each")
    return table


def _read_file(path: Path) -> tuple[_Place, Mapping[str, Any]] | None:
    """A configuration, its keys and values; None for a ``pyproject.toml`` without a table for perflint."""
    text = _text(path)
    data = _parse(path, text)
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


def _parse(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return toml_text.parse(text)
    except TomlError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise ConfigError(f"{place}: {error}") from error


def _own_table(path: Path, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tool = data.get("tool", {})
    table = tool.get("perflint") if isinstance(tool, Mapping) else None
    if table is not None and not isinstance(table, Mapping):
        raise ConfigError(f"{path}: {TABLE}: found {_found(table)}, expected a table")
    return table


def _line_of(text: str, table: str, key: str) -> int | None:
    """The line that sets a key, where it is written plainly (tomllib keeps no lines); None otherwise."""
    inner = f"{table}.{key}" if table else key
    here = ""
    for row, line in enumerate(text.split("\n"), 1):
        header = _header(line.strip())
        if header:
            here = header
            if here == inner or here.startswith(inner + "."):
                return row
        elif here == table and _sets(line.lstrip(), key):
            return row
    return None


def _sets(line: str, key: str) -> bool:
    """Whether a line gives a value to a key, or to one below it."""
    return re.match(rf"""(["']?){re.escape(key)}\1\s*[=.]""", line) is not None


def _header(line: str) -> str:
    """The name of the table that a line begins, without blanks and quotation marks; empty for any other line.

    >>> _header('[ tool . "perflint" ]  # ours')
    'tool.perflint'
    """
    match = re.match(r"\[([^\]]*)\]\s*(?:#|$)", line)
    name = re.sub(r"""[\s"']+""", "", match[1]) if match is not None else ""
    return name if re.fullmatch(r"[\w.-]+", name) else ""


# --- showing values


def _written(key: str, value: Any) -> Any:
    """A value in the form in which it is written into a file."""
    if key == "checkpoint-calls":
        return tuple(value)
    if key not in ("loaders", "sync-calls", "logging-calls"):
        return value
    names = {"parameter": "workers" if key == "loaders" else "tensor", "position": "position"}
    if key == "loaders":
        names["default"] = "default"
    return {
        name: {names[field]: item for field, item in vars(call).items() if field in names and item not in ("", None)}
        for name, call in value.items()
    }


def _found(value: Any) -> str:
    for kind, word in (
        (bool, "a boolean"),
        (str, "a string"),
        (int, "a whole number"),
        (float, "a decimal number"),
        (Mapping, "a table"),
        (list | tuple, "a list"),
    ):
        if isinstance(value, kind):
            return f"{_quoted(value)} ({word})"
    return f"{value} (a date or time)"


def _quoted(value: Any) -> str:
    """A value as TOML has it, cut short where it is long."""
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:  # which Python may not be able to write
        return "a number of too many digits"
    try:
        return _cut(_toml(value))
    except (RecursionError, ValueError):  # ValueError: such a number further down
        return "too much to show"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _toml(value: Any) -> str:
    if isinstance(value, (Confidence, ImpactLevel)):
        return _toml(str(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "".join(map(_toml_char, json.dumps(value, ensure_ascii=False))).replace("##", r"#\u0023")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        items = ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    return str(value)


def _toml_char(char: str) -> str:
    """A character in a string of TOML; what steers terminals becomes an escape."""
    if is_plain(char):
        return char
    return f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"
