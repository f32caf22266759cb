"""The rows of configuration files in YAML and JSON that set something, each with the keys that lead to it.

Only rows with one plain value count, by their indentation, without a parser of YAML: a suite has hundreds of such
files. For example ::

    Train:
      loader: {batch_size: 64, num_workers: 0}
      # Train.loader.batch_size is 64, Train.loader.num_workers is 0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

Plain = bool | int | float | str | None
"""A value without parts."""
_LONGEST_ROW = 2_000
_KEY = r"[\"']?(?P<key>[A-Za-z_][\w-]*)[\"']?[ \t]*:"
_ROW = re.compile(rf"(?P<indent>[ \t]*(?:-[ \t]+)*){_KEY}(?:[ \t]+(?P<rest>[^#\n]*))?")
_PLAIN = re.compile(r"[\"']?(~|[-+.\w/]{1,60})[\"']?[ \t]*,?[ \t]*$")
_INLINE = re.compile(r"[\"']?([A-Za-z_][\w-]*)[\"']?[ \t]*:[ \t]*[\"']?([-+.\w/]{1,60})[\"']?[ \t]*(?=[,}])")
_WORDS: dict[str, Plain] = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WORDS |= {"null": None, "none": None, "~": None}


class Setting(NamedTuple):
    """A row that sets something: the keys that lead there, and the text of the value."""

    row: int
    keys: tuple[str, ...]
    text: str


Rows = tuple[Setting, ...]
Keys = tuple[str | None, ...]
"""Keys from the outermost one to that of a value; None stands for any."""


def rows_of(text: str) -> Rows:
    """The rows of a file that set something.

    >>> rows_of("train:\\n  workers: 0  # none\\n  steps: {log: 10}\\n")
    (Setting(row=2, keys=('train', 'workers'), text='0'), Setting(row=3, keys=('train', 'steps', 'log'), text='10'))
    """
    return tuple(_set_by(text.splitlines()))


def _set_by(rows: Iterable[str]) -> Iterator[Setting]:
    above: list[tuple[int, str]] = []
    for number, row in enumerate(rows, 1):
        found = _ROW.match(row) if len(row) < _LONGEST_ROW else None
        if found is None:
            continue
        while above and above[-1][0] >= len(found["indent"]):
            above.pop()
        above.append((len(found["indent"]), found["key"]))
        keys, rest = tuple(key for _, key in above), (found["rest"] or "").strip()
        if (plain := _PLAIN.match(rest)) is not None:
            yield Setting(number, keys, plain[1])
        elif rest.startswith("{") and rest.count("{") == 1:
            yield from (Setting(number, (*keys, inner[1]), inner[2]) for inner in _INLINE.finditer(rest))


def value_of(text: str) -> Plain:
    """What a plain text of YAML means.

    >>> [value_of(text) for text in ("yes", "4", "1e-3", "null", "fp16")]
    [True, 4, 0.001, None, 'fp16']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


class SettingFiles:
    """The settings of all configuration files of a project, to look some up by their keys.

    Args:
        files: the rows of each file, by its path.
    """

    def __init__(self, files: Mapping[str, Rows]) -> None:
        self._rows: dict[str, list[tuple[str, Setting]]] = {}
        """The rows by the last of their keys."""
        self._parents: dict[tuple[str, ...], set[str]] = {}
        """The files that have a mapping, by the keys that lead to it; a whole file has none."""
        for path, rows in files.items():
            for each in rows:
                self._rows.setdefault(each.keys[-1], []).append((path, each))
                for count in range(len(each.keys)):
                    self._parents.setdefault(each.keys[:count], set()).add(path)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def at(self, keys: Keys) -> list[tuple[str, Setting]]:
        """The rows that set what some keys lead to, each with the path of its file."""
        last = keys[-1] if keys else None
        return [] if last is None else [each for each in self._rows.get(last, ()) if _fits(each[1].keys, keys)]

    def has_parts(self, keys: Keys) -> bool:
        """Whether some keys lead to a mapping, in any of the files."""
        return bool(self._with(keys))

    def may_lack(self, keys: Keys) -> bool:
        """Whether a file has the mapping around what some keys lead to, but not that itself."""
        return not self._with(keys[:-1]) <= {path for path, _ in self.at(keys)} | self._with(keys)

    def _with(self, keys: Keys) -> set[str]:
        """The files in which some keys lead to a mapping."""
        if None not in keys:
            return self._parents.get(tuple(key for key in keys if key is not None), set())
        return set[str]().union(*(paths for known, paths in self._parents.items() if _fits(known, keys)))

    def values(self, key: str) -> set[Plain]:
        """The values that the files give a key, whatever it belongs to there."""
        return {value_of(each.text) for _, each in self._rows.get(key, ())}


def _fits(known: tuple[str, ...], keys: Keys) -> bool:
    return len(known) == len(keys) and all(key is None or key == at for key, at in zip(keys, known, strict=True))
