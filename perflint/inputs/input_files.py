"""Reads files other than Python that provide facts: where they are searched for, and what each of them says.

A kind is declared once, like `REQUIREMENTS`, and listed in `KINDS`. What its files say is part of the settings of a
run, so the cache, an open session, the server and ``--watch`` notice changes automatically; facts and checks use
``project.inputs``.

The first kind is the requirements: they say which releases of Paddle a project supports, so that no edit is offered
that the oldest of them cannot run. ``paddle.full([], 0.5)`` makes a tensor without dimensions, which Paddle supports
since 2.5. If ``requirements.txt`` says ``paddlepaddle>=2.2``, that line would fail for some of the users. So such an
edit says which release it needs (``Fix.paddle``), and ``hold_back`` turns it into words if the project accepts an older
one. The code itself may require a release, too, as ``paddle.utils.require_version("2.2")`` does
(``lint/version_checks.py``).
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from perflint.files import plain_files
from perflint.files.plain_files import outwards
from perflint.findings import Fix, Level
from perflint.inputs.setting_files import Rows as SettingRows
from perflint.inputs.setting_files import SettingFiles, rows_of

Version = tuple[int, ...]
"""The numbers of a release without zeros at the end: ``(2, 5)`` for 2.5 and for 2.5.0."""

_LONGEST_ROW = 2_000

_NAME = r"(?<![\w.-])paddlepaddle(?:[-_.][a-z][a-z0-9]*)*(?:\[[^\]]*\])?"
_ONE = r"(?:===?|~=|>=|<=|!=|>|<|=|\^|~)\s*v?\d[\w.*+-]*"
_REQUIREMENT = re.compile(rf"{_NAME}\s*\(?\s*(?P<wanted>{_ONE}(?:\s*,\s*{_ONE})*)", re.IGNORECASE)
_POETRY = re.compile(
    r"""^\s*["']?paddlepaddle[\w.-]*["']?\s*=\s*(?:\{.*?\bversion\s*=\s*)?["'](?P<wanted>[^"']*)["']""", re.IGNORECASE
)
_WHEEL = re.compile(r"paddlepaddle(?:_[a-z0-9]+)?-(?P<version>\d+(?:\.\d+)+)[\w.+%]*-(?:cp|py)\d", re.IGNORECASE)
_PART = re.compile(r"(?P<sign>===?|~=|>=|<=|!=|>|<|=|\^|~)?\s*v?(?P<version>\d+(?:\.\d+)*)")
_COMMENT = re.compile(r"(?:^|\s)#")


@dataclass(frozen=True)
class Admitted:
    """The oldest Paddle that one place accepts.

    ``path`` and ``line``: that place (line 0: no particular line). ``excluded``: the place accepts only releases before
    ``version``, as ``paddlepaddle<2.5`` does.
    """

    version: Version
    path: str
    line: int = 0
    excluded: bool = False

    def lacks(self, needed: Version) -> bool:
        """Whether the place accepts a release before ``needed``."""
        return needed > self.version or (self.excluded and needed == self.version)

    def __str__(self) -> str:
        place = f"{self.path} line {self.line}" if self.line else self.path
        version = ".".join(map(str, self.version))
        return f"{place} admits nothing from {version} on" if self.excluded else f"{place} admits {version}"


def version_of(text: str) -> Version | None:
    """The release that a text names: ``(2, 2, 2)`` for ``2.2.2.post112``; None for ``develop``."""
    match = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9})*)", text)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers) or None


def lower_bound(specifier: str) -> tuple[Version, bool] | None:
    """The oldest release that a specifier such as ``>=2.2,<3`` accepts, and whether that one itself is excluded.

    An upper bound alone gives that bound: ``<2.5`` says that 2.5 is excluded. None if no release is named.
    """
    least: list[Version] = []
    most: list[tuple[Version, bool]] = []
    for part in specifier.split(","):
        match = _PART.match(part.strip())
        version = version_of(match["version"]) if match is not None else None
        if match is None or version is None:
            continue
        if match["sign"] in ("<", "<="):
            most.append((version, match["sign"] == "<"))
        elif match["sign"] != "!=":
            least.append(version)
    if least:
        return max(least), False
    return min(most, key=lambda item: (item[0], not item[1])) if most else None


def stated(name: str, text: str) -> Iterator[tuple[int, Version, bool]]:
    """The rows of a file that require some Paddle: row, oldest release, and whether that one is excluded.

    Args:
        name: the name of the file, which shows its format.
        text: all of it.
    """
    for row, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_ROW or "paddlepaddle" not in line.lower():
            continue
        line = " ".join(line.split())  # the patterns below would try a run of spaces in many ways
        comment = _COMMENT.search(line)
        found = _bound(name, line[: comment.start()] if comment else line)
        if found is not None:
            yield row, *found


def _bound(name: str, line: str) -> tuple[Version, bool] | None:
    poetry = _POETRY.match(line) if name.endswith(".toml") else None
    if poetry is not None:
        return lower_bound(poetry["wanted"])
    wheel = _WHEEL.search(line)
    if wheel is not None:
        version = version_of(wheel["version"])
        return (version, False) if version else None
    match = _REQUIREMENT.search(line)
    return lower_bound(match["wanted"]) if match is not None else None


def oldest(admitted: Iterable[Admitted]) -> Admitted | None:
    """The one of several places that accepts the oldest release."""
    return min(admitted, key=lambda item: (item.version, not item.excluded, item.path, item.line), default=None)


def hold_back(fix: Fix, admitted: Admitted | None) -> Fix:
    """The fix, without its edits if the project accepts a Paddle that lacks what they use."""
    needed = version_of(fix.paddle)
    if admitted is None or needed is None or not fix.edits or not admitted.lacks(needed):
        return fix
    reason = f"the edit needs Paddle {fix.paddle}, and {admitted}"
    return replace(fix, edits=(), imports=(), unneeded=(), level=Level.DISPLAY, reason=reason)


T = TypeVar("T")

_MOST_BYTES = 1_000_000
_MOST_REMEMBERED = 4_096
_MARKS = frozenset({".git", "setup.py", "pyproject.toml", "setup.cfg"})
"""What the top directory of a project contains."""
_ANY_DIRECTORIES = "**"


@dataclass(frozen=True)
class InputKind(Generic[T]):
    """A kind of file that provides facts.

    Args:
        name: unique among the kinds.
        places: patterns of paths, relative to the directory of a checked file or one above it in the same project:
            ``setup.cfg``, ``requirements/*.txt``, ``configs/**/*.yml``. Case does not matter.
        read: a function that returns what a file says, from its name and its bytes; None if it says nothing. The result
            is plain data, such as tuples of texts: findings are computed again when it changes, and the cache uses its
            ``repr``. A ValueError says in words why the file cannot be used.
        is_optional: whether a file that cannot be used is skipped without a word.
    """

    name: str
    places: tuple[str, ...]
    read: Callable[[str, bytes], T | None]
    is_optional: bool = False


@dataclass(frozen=True)
class InputFile(Generic[T]):
    """A file with facts: its path relative to the top of the project, and what it says."""

    path: str
    said: T


@dataclass(frozen=True)
class Inputs:
    """What the files of all kinds say that belong to the checked files.

    ``said``: by the name of the kind, then by the absolute path of the directory that the patterns are relative to.
    ``files``: all existing files, including those that say nothing.
    ``problems``: a sentence for each file that cannot be used.
    """

    said: Mapping[str, Mapping[str, tuple[InputFile[Any], ...]]] = field(default_factory=dict)
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    problems: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def settings(self) -> SettingFiles:
        """What the configuration files of the whole project set."""
        found = (file for files in self.said.get(SETTINGS.name, {}).values() for file in files)
        return SettingFiles({file.path: file.said for file in found})

    def around(self, kind: InputKind[T], path: str) -> Iterator[tuple[InputFile[T], ...]]:
        """The files of a kind that belong to a checked file: those of its directory, then those of each one above."""
        known = self.said.get(kind.name)
        if known:
            directory = _normal(Path(path).parent)
            yield from (known[str(place)] for place in (directory, *directory.parents) if str(place) in known)


def read_inputs(paths: Iterable[str], root: Path) -> Inputs:
    """Read the existing files of all kinds that belong to the checked files.

    The directories of the checked files and those above them are searched, up to the top of the project: the outermost
    one with a ``setup.py``, ``setup.cfg``, ``pyproject.toml`` or configuration of perflint, and never above a ``.git``.
    If there is none of these, only the directories of the files count.

    Args:
        paths: the paths of the checked files.
        root: the directory of the configuration.
    """
    listing, tops = _Listing(), dict[Path, Path]()
    for directory in dict.fromkeys(Path(path).parent for path in paths):
        above = _up_to_the_top(_normal(directory), _normal(root), listing)
        for place in above:
            tops.setdefault(place, above[-1])
    said: dict[str, dict[str, tuple[InputFile[Any], ...]]] = {}
    files: dict[Path, str] = {}
    for kind in KINDS:
        for place, top in sorted(tops.items()):
            wanted = {file for pattern in kind.places for file in listing.matching(place, pattern)}
            answers = [(file, *_answer(kind, file)) for file in sorted(wanted)]
            files |= {file: "" if kind.is_optional else problem for file, _, problem in answers}
            found = [InputFile(file.relative_to(top).as_posix(), data) for file, data, _ in answers if data is not None]
            if found:
                said.setdefault(kind.name, {})[str(place)] = tuple(found)
    problems = [f"{file} is ignored: {problem}" for file, problem in files.items() if problem]
    return Inputs(said, tuple(files), tuple(problems))


def _answer(kind: InputKind[Any], file: Path) -> tuple[Any, str]:
    """What a file says, and why it cannot be used; neither for a deleted file."""
    try:
        return _understood(kind, file.name, plain_files.read(file, _MOST_BYTES))
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, error.strerror or str(error)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _understood(kind: InputKind[Any], name: str, data: bytes) -> tuple[Any, str]:
    """What a file says, and why it cannot be used, cached by its content."""
    try:
        return kind.read(name, data), ""
    except (ValueError, RecursionError, MemoryError) as error:
        return None, str(error) or type(error).__name__


def _normal(directory: Path) -> Path:
    return Path(os.path.normpath(directory.absolute()))


def _up_to_the_top(directory: Path, root: Path, listing: _Listing) -> list[Path]:
    """A directory and those above it in the same project."""
    above: list[Path] = []
    top = 1
    for place in outwards(directory):
        above.append(place)
        names = listing.names(place)
        if place == root or not _MARKS.isdisjoint(names):
            top = len(above)
        if ".git" in names:
            break
    return above[:top]


class _Listing:
    """The contents of directories, each of which is read once."""

    def __init__(self) -> None:
        self._names: dict[Path, Mapping[str, bool]] = {}

    def names(self, directory: Path) -> Mapping[str, bool]:
        """The names in a directory, and whether each is a directory itself; links are not followed."""
        if directory not in self._names:
            try:
                with os.scandir(directory) as scan:
                    self._names[directory] = {entry.name: entry.is_dir(follow_symlinks=False) for entry in scan}
            except (OSError, ValueError):
                self._names[directory] = {}
        return self._names[directory]

    def matching(self, directory: Path, pattern: str) -> Iterator[Path]:
        """The files below a directory whose paths match a pattern, in no particular order."""
        waiting = [(directory, _parts(pattern))]
        while waiting:
            place, (first, *rest) = waiting.pop()
            names = self.names(place)
            if first is None:
                below = [name for name, is_directory in names.items() if is_directory and not name.startswith(".")]
                waiting += [(place, tuple(rest)), *((place / name, (None, *rest)) for name in below)]
                continue
            fitting = [name for name in names if first.fullmatch(name)]
            if rest:
                waiting += [(place / name, tuple(rest)) for name in fitting]
            else:
                yield from (place / name for name in fitting if not names[name])


@lru_cache
def _parts(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    """The parts of a pattern between its slashes; None: any number of directories."""
    return tuple(
        None if part == _ANY_DIRECTORIES else re.compile(fnmatch.translate(part), re.IGNORECASE)
        for part in pattern.split("/")
    )


# --- the requirements of a project (pip, setuptools, Poetry, conda)

_Rows = tuple[tuple[int, Version, bool], ...]
"""The rows of a file that require some Paddle, as returned by `stated`."""


def _read(name: str, data: bytes) -> _Rows | None:
    return tuple(stated(name, data.decode("utf-8", "replace"))) or None


REQUIREMENTS = InputKind(
    "requirements",
    (
        *("*requirement*.txt", "*requirement*.in", "requirements/*.txt"),
        *("setup.cfg", "setup.py", "pyproject.toml"),
        *("environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml"),
    ),
    _read,
)


def nearest(path: str, inputs: Inputs) -> Admitted | None:
    """The oldest Paddle that the requirements in a file's directory, or the nearest one above with any, accept."""
    files = next(inputs.around(REQUIREMENTS, path), ())
    return oldest(Admitted(version, file.path, row, excluded) for file in files for row, version, excluded in file.said)


# --- notebooks, which call functions of the project

_WORD = re.compile(r"[A-Za-z_]\w+")


def rows_of_notebook(data: bytes) -> list[tuple[int, str]]:
    """The rows of the code of a notebook, each with the number of its cell among those with code."""
    try:
        return [(cell, row) for cell, source in enumerate(_code_of(data), 1) for row in source.splitlines()]
    except (ValueError, RecursionError):
        return []


def _code_of(data: bytes) -> list[str]:
    """The source of the code cells of a notebook.

    Raises:
        ValueError: it is no notebook.
    """
    read = json.loads(data)
    cells = read.get("cells", ()) if isinstance(read, dict) else ()
    sources = [cell.get("source", "") for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return ["".join(source) if isinstance(source, list) else str(source) for source in sources]


def _words(name: str, data: bytes) -> tuple[str, ...] | None:
    del name
    return tuple(sorted({word for source in _code_of(data) for word in _WORD.findall(source)})) or None


NOTEBOOKS = InputKind("notebooks", ("*.ipynb", "*/*.ipynb"), _words, is_optional=True)


def notebooks_naming(path: str, names: Iterable[str], inputs: Inputs) -> set[str]:
    """The paths of the notebooks in the project of a file whose code has all of some words."""
    wanted, files = {*names}, (each for files in inputs.around(NOTEBOOKS, path) for each in files)
    return {notebook.path for notebook in files if wanted.issubset(notebook.said)}


# --- options for mixed precision, in lines that start programs; and what configuration files set about it

_ABOUT_AMP = (b"amp", b"AMP", b"fp16", b"bf16", b"float16", b"precision")
_AMP_NAME = r"(?:[A-Za-z]\w*_)?(?:amp|fp16|bf16|float16|bfloat16|auto_?cast|precision)(?:_\w+)?"
_AMP_OPTION = re.compile(
    rf"(?<![\w.-])(?:--?(?=[\w-])|(?=(?:\w+\.)+\w+=))((?:\w+\.)*(?:[\w-]*[_-])?{_AMP_NAME})(?:[ \t=]+(\w+))?(?!\w)",
    re.IGNORECASE,
)
_STARTS = re.compile(r"\s*(?:--|.*python|.*fleetrun|.*launch)")
_OFF_WORDS = frozenset({"false", "no", "off", "o0", "0", "none", "null", "fp32", "float32"})


@dataclass(frozen=True)
class AmpSetting:
    """A row that sets something about mixed precision: ``enable_amp: False``, or ``python train.py --amp``.

    ``key``: the name, as the code reads it. ``is_passed``: it is an option in a line that starts a program.
    """

    row: int
    key: str
    text: str
    is_on: bool
    is_passed: bool


def _amp_options(name: str, data: bytes) -> tuple[AmpSetting, ...] | None:
    if not any(word in data for word in _ABOUT_AMP):
        return None
    rows = enumerate(data.decode("utf-8", "replace").splitlines(), 1)
    is_script = name.lower().endswith(".sh")
    return tuple(each for row, text in rows if is_script or _STARTS.match(text) for each in _passed(row, text)) or None


def _passed(row: int, text: str) -> Iterator[AmpSetting]:
    for found in _AMP_OPTION.finditer(text):
        key = found[1].rpartition(".")[2].replace("-", "_")
        yield AmpSetting(row, key, found[0], _is_on(found[2] or ""), is_passed=True)


AMP_OPTIONS = InputKind("options of mixed precision", ("*.sh", "*/*.sh", "*.md"), _amp_options, is_optional=True)


def is_about_amp(key: str) -> bool:
    """Whether the key of a setting, by its name, is one of those that ``amp_settings`` knows."""
    return re.fullmatch(_AMP_NAME, key, re.IGNORECASE) is not None


def amp_settings(path: str, key: str, inputs: Inputs) -> list[tuple[str, AmpSetting]]:
    """The rows about a key of mixed precision in the project of a file, each with the path of its file."""
    if not is_about_amp(key):
        return []
    rows = (
        (each.path, AmpSetting(row.row, key, f"{key}: {row.text}", _is_on(row.text), is_passed=False))
        for files in inputs.around(SETTINGS, path)
        for each in files
        for row in each.said
        if row.keys[-1] == key
    )
    passed = (
        (each.path, option)
        for files in inputs.around(AMP_OPTIONS, path)
        for each in files
        for option in each.said
        if option.key == key
    )
    return list(dict.fromkeys([*rows, *passed]))


def _is_on(text: str) -> bool:
    return text.lower() not in _OFF_WORDS


# --- sizes of batches and numbers of workers, in lines that start programs

_NUMBER_OPTION = re.compile(
    r"(?<![\w.-])--?((?:\w+[_-])*(?:batch[_-]?size|bs|n?workers))[ \t=]+([^\s\\]+)", re.IGNORECASE
)
_PROGRAM = re.compile(r"(?:-m[ \t]+(?:\w+\.)*(\w+)|(\w+)\.py)\b")


def _passed_numbers(name: str, data: bytes) -> tuple[tuple[str, str], ...] | None:
    del name
    if not any(word in data for word in (b"batch", b"bs", b"workers")):
        return None
    text = data.decode("utf-8", "replace")
    passed = [(found[1].replace("-", "_"), found[2]) for found in _NUMBER_OPTION.finditer(text)]
    started = {found[1] or found[2]: "" for found in _PROGRAM.finditer(text)}
    return (*started.items(), *passed) if passed else None


PASSED_NUMBERS = InputKind("numbers that are passed", ("*.sh", "*/*.sh", "*.md"), _passed_numbers, is_optional=True)


def passed_numbers(path: str, program: str, key: str, inputs: Inputs) -> list[tuple[str, str]]:
    """What scripts and documents that name a program pass for an option with this name, each with the path of its file.

    Args:
        path: a file of the program.
        program: its name, without its directory.
        key: the option as the code reads it: a batch size, or a number of workers.
    """
    files = (each for found in inputs.around(PASSED_NUMBERS, path) for each in found)
    naming = (each for each in files if (program, "") in each.said)
    return [(each.path, value) for each in naming for name, value in each.said if name == key and value]


# --- all settings of configuration files


def _settings(name: str, data: bytes) -> SettingRows | None:
    del name
    return rows_of(data.decode("utf-8", "replace")) or None


SETTINGS = InputKind(
    "settings",
    ("*.yml", "*.yaml", "conf*/**/*.yml", "conf*/**/*.yaml", "conf*/*.json", "*conf*.json"),
    _settings,
    is_optional=True,
)


# --- all kinds

KINDS: tuple[InputKind[Any], ...] = (REQUIREMENTS, NOTEBOOKS, AMP_OPTIONS, PASSED_NUMBERS, SETTINGS)
"""All kinds."""


def patterns() -> list[str]:
    """Patterns for the paths of all such files, for editors to watch."""
    return [f"**/{place}" for kind in KINDS for place in kind.places]
