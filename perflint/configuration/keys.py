"""The keys of a configuration: which values each may have, and how they are read. Errors are reported all together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from perflint.configuration.settings import ALL, BUDGETED, DeclaredCall, specificity
from perflint.configuration.toml_text import cut, quoted, with_kind
from perflint.findings import Confidence, ImpactLevel
from perflint.inputs.input_files import version_of
from perflint.inputs.patterns import is_valid
from perflint.text.visible import visible

# --- errors

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_PROBLEMS = 20
"""How many mistakes are reported together: a file of the wrong kind has thousands."""


class ConfigError(Exception):
    """A configuration that cannot be used.

    Each of ``problems`` is a line with the file (and row), the key and what is expected; they are in the order of the
    file. ``str(error)`` contains all of them, one per line.
    """

    def __init__(self, *problems: str) -> None:
        """Store the problems."""
        super().__init__("\n".join(map(visible, problems)))
        self.problems = problems


def each(items: Iterable[Item], read: Callable[[Item], Result]) -> list[Result]:
    """Apply ``read`` to each item, and collect all errors.

    Raises:
        ConfigError: ``read`` raises this for some of them; with the problems of all of them.
    """
    results: list[Result] = []
    problems: list[str] = []
    for item in items:
        try:
            results.append(read(item))
        except ConfigError as error:
            problems += error.problems
            if len(problems) >= MOST_PROBLEMS:
                break
    if problems:
        raise ConfigError(*problems)
    return results


# --- keys

MOST_NUMBER = 1_000_000
"""The largest number for anything that is counted; a larger one is a mistake, or an attempt to exhaust the memory."""

Level = TypeVar("Level", Confidence, ImpactLevel)


@dataclass(frozen=True)
class _Key:
    """A key: what its value must be, in words, and the function that reads it, which returns None for any other value.

    ``selects``: it contains selectors of rules. ``patterns``: it contains patterns of paths, or is a table from these.
    """

    expected: str
    read: Callable[[Any], Any]
    selects: bool = False
    patterns: bool = False


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
    """A key for a whole number between the least value and ``MOST_NUMBER``."""

    def read(value: Any) -> int | None:
        is_one = isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST_NUMBER
        return value if is_one else None

    expected = f"a whole number of at least {least} and at most {MOST_NUMBER}"
    return _Key(expected, read)


def _level(levels: Iterable[Level], value: Any) -> Level | None:
    """The level that a word names."""
    return next((level for level in levels if str(level) == value), None)


def _version(value: Any) -> str | None:
    """The number of a release, or an empty string."""
    is_one = isinstance(value, str) and re.fullmatch(r"(\d{1,4}(\.\d{1,4}){0,3})?", value)
    return value if is_one and (not value or version_of(value)) else None


_EXAMPLE = '"mylib.train.my_function"'


def _declared(first: str, *others: str) -> Callable[[Any], dict[str, DeclaredCall] | None]:
    """A reader of a table that maps the qualified name of a function to the parameter that matters.

    ``first`` is the key for that parameter, ``others`` are further keys that are allowed. If the parameter may be left
    out (for all but ``workers``), a list of names is enough.
    """

    def read(value: Any) -> dict[str, DeclaredCall] | None:
        names = _strings(value)
        if names is not None and first != "workers":
            value = {name: {} for name in names}
        if not isinstance(value, Mapping):
            return None
        calls = each(value.items(), lambda item: _declared_call(*item, first=first, others=others))
        return dict(zip(value, calls, strict=True))

    return read


def _declared_call(name: str, entry: Any, first: str, others: tuple[str, ...]) -> DeclaredCall:
    if name.count(".") < 1 or not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{quoted(name)} is not a qualified name; write it as in an import, such as {_EXAMPLE}")
    inner: Any = {first: entry} if isinstance(entry, str) else entry
    keys = (first, *others)
    if not isinstance(inner, Mapping) or (first == "workers" and first not in inner):
        shape = f"the name of a parameter, or a table with {first}" + (
            f" and optionally {' and '.join(others)}" if others else ""
        )
        raise ConfigError(f"{quoted(name)}: found {with_kind(entry)}, expected {shape}")
    count = _whole_number(0)

    def check(item: tuple[str, Any]) -> None:
        key, value = item
        if key not in keys:
            hint = _suggestion(key, keys) or f"the keys are {', '.join(keys)}"
            raise ConfigError(f"{quoted(name)}: {cut(key)}: there is no such key; {hint}")
        if key == first and not (isinstance(value, str) and value.isidentifier()):
            raise ConfigError(f"{quoted(name)}: {key}: found {with_kind(value)}, expected the name of a parameter")
        if key != first and count.read(value) is None:
            raise ConfigError(f"{quoted(name)}: {key}: found {with_kind(value)}, expected {count.expected}")

    each(inner.items(), check)
    return DeclaredCall(inner.get(first, ""), inner.get("position"), inner.get("default", 0))


def _budget(value: Any) -> dict[str, int | dict[str, int]] | None:
    """A budget: limits by what they limit, or tables of such limits by patterns of files."""
    if not isinstance(value, Mapping):
        return None

    def read(item: tuple[str, Any]) -> int | dict[str, int]:
        name, limit = item
        if not isinstance(limit, Mapping):
            return _limit("", name, limit)
        _check_pattern("budget", name)
        return dict(zip(limit, each(limit.items(), lambda inner: _limit(f"{quoted(name)}: ", *inner)), strict=True))

    return dict(zip(value, each(value.items(), read), strict=True))


def _limit(where: str, name: str, limit: Any) -> int:
    if name not in BUDGETED:
        hint = _suggestion(name, BUDGETED) or f"the keys are {', '.join(BUDGETED)}"
        raise ConfigError(f"{where}{cut(name)}: there is no such key; {hint}")
    count = _whole_number(0)
    if count.read(limit) is None:
        raise ConfigError(f"{where}{name}: found {with_kind(limit)}, expected {count.expected}")
    return int(limit)


_RULES = _Key('a list of rules, such as ["PPF1", "PPF202"]', _strings, selects=True)
_SWITCH = _Key("true or false", lambda value: value if isinstance(value, bool) else None)
_PATHS = _Key('a list of directories and files, such as ["."] or ["src", "tools"]', _strings)
_PATTERNS = _Key('a list of patterns, such as ["third_party", "*_pb2.py"]', _strings, patterns=True)

_CALLS = _Key(
    "a list of qualified names, or a table from them to the parameter with the tensor, "
    f'such as {{ {_EXAMPLE} = "loss" }}',
    _declared("tensor", "position"),
)


def _file(example: str) -> _Key:
    return _Key(f'the name of a file, such as "{example}"', lambda value: value if isinstance(value, str) else None)


def _of_levels(levels: Iterable[Level]) -> _Key:
    return _Key('"low", "medium" or "high"', partial(_level, levels))


_KEYS: Mapping[str, _Key] = {
    "select": _RULES,
    "ignore": _RULES,
    "extend-select": _RULES,
    "per-file-ignores": _Key(
        'a table from patterns to lists of rules, such as { "tests/*" = ["PPF202"] }',
        _table_of_strings,
        selects=True,
        patterns=True,
    ),
    "exclude": _PATTERNS,
    "extend-exclude": _PATTERNS,
    "respect-gitignore": _SWITCH,
    "context": _PATHS,
    "baseline": _file("perflint-baseline.json"),
    "profile": _file("train-profile.json"),
    "budget": _Key(
        f"a table with {', '.join(BUDGETED)}, or from patterns to such tables, such as {{ waits = 2 }}", _budget
    ),
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
    ),
    "sync-calls": _CALLS,
    "checkpoint-calls": _Key(
        f"a list of qualified names, such as [{_EXAMPLE}]",
        lambda value: None if isinstance(value, Mapping) else _declared("tensor")(value),
    ),
    "logging-calls": _CALLS,
    "line-length": _whole_number(40),
    "target-paddle": _Key('the number of a release of Paddle, such as "2.4"', _version),
}
KEYS = tuple(_KEYS)
NOT_SET = {"select": "the rules that are on by default", "line-length": "88, or the longest row of the file"}
"""What applies if a key is not set; TOML has no way to write that."""


def checked_value(key: str, value: Any, known: Mapping[str, tuple[str, ...]]) -> Any:
    """The value of a key; an error describes the problems without the name of the key."""
    kind = _KEYS.get(key)
    if kind is None:
        raise ConfigError(f"there is no such key; {_suggestion(key, KEYS) or 'the keys are ' + ', '.join(KEYS)}")
    if _holds_null(value):
        raise ConfigError(f"found {with_kind(value)}, which holds a null character; no path or name may")
    read = kind.read(value)
    if read is None:
        raise ConfigError(f"found {with_kind(value)}, expected {kind.expected}")

    def check_patterns() -> None:
        each(read if kind.patterns else (), partial(_check_pattern, key))

    def with_codes() -> Any:
        if not kind.selects:
            return read
        if isinstance(read, dict):
            return dict(zip(read, each(read.values(), lambda entries: _codes(entries, known)), strict=True))
        return _codes(read, known)

    _, result = each((check_patterns, with_codes), lambda step: step())
    return result


def _check_pattern(key: str, pattern: str) -> None:
    # In per-file-ignores a leading "!" inverts a pattern and is not part of it.
    body = pattern.removeprefix("!") if key == "per-file-ignores" else pattern
    if not body.strip() or not is_valid(body):
        raise ConfigError(f"{quoted(pattern)} is not a pattern; write it as in a .gitignore file")


def _holds_null(value: Any) -> bool:
    """Whether a text contains a null character, or any key or value nested in it does."""
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
    return tuple(code for codes in each(selectors, lambda selector: _meant(selector, known)) for code in codes)


def _meant(selector: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A selector with the name of a rule or group replaced by the codes that it means."""
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
        f"{quoted(selector)} is not ALL and no rule has such a code, beginning of a code, name, or group; "
        + (hint or "`perflint rule` lists the rules and the groups"),
    )


_CODE = re.compile(r"ppf\d{3}")


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    """What may have been meant; no other number for a code, since another rule is no likely meaning of it."""
    word = word.lower().replace("_", "-")
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    others = by_lower if not _CODE.fullmatch(word) else {word} & {*by_lower}
    near = difflib.get_close_matches(word, others, n=1, cutoff=0.7)
    return f"did you mean {by_lower[near[0]]}?" if near else ""


def written(key: str, value: Any) -> Any:
    """A value in the form in which it is written to a file."""
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
