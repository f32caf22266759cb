"""Finds the lines that start programs: in shell scripts, documents, CI files, notebooks and package files.

``python -m paddle.distributed.launch --gpus 0,1 tools/train.py -c configs/a.yml`` starts ``tools/train.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from perflint.files import plain_files
from perflint.inputs.input_files import rows_of_notebook
from perflint.query import gathered

_MOST_FILES = 2_000
_MOST_DIRECTORIES = 5_000
_MOST_BYTES = 1_000_000
_SUFFIXES = frozenset({".sh", ".bash", ".mk", ".md", ".rst", ".ipynb"})
_NAMES = frozenset({"Makefile", "makefile", "setup.py", "setup.cfg", "pyproject.toml"})
_OF_CI = frozenset({".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml"})
_CI_DIRECTORIES = frozenset({".github", ".circleci"})
_PASSED_OVER = frozenset({"node_modules", "site-packages", "build", "dist", "venv", "env"})
_PYTHON = re.compile(
    r"(?:^|[\s;&|`!(=\"'])(?:\S*/)?(?:python[\d.]*|\$\{?\w*(?:python|PYTHON)\w*\}?|fleetrun|torchrun)[ \t]+(.*)"
)
_LAUNCHERS = re.compile(r"(?:paddle|torch)\.distributed\.\S*|cProfile|coverage|pdb|kernprof|accelerate\S*")
"""Modules of ``python -m`` that start another program."""
_CONSOLE = re.compile(r"""^\s*["']?[\w.-]+["']?\s*=\s*["']?([A-Za-z_][\w.]*):([A-Za-z_]\w*)""")
_SETTINGS = (".yml", ".yaml", ".json", ".toml", ".ini", ".cfg")
_ENDS = frozenset({";", "&&", "||", "|", "&", ">", ">>", "2>&1", "#"})
_AROUND = "\"'`()[]{},;"


class Started(Enum):
    """What a line starts."""

    SCRIPT = "script"
    MODULE = "module"
    CONSOLE = "console script"


@dataclass(frozen=True)
class LaunchLine:
    """A line that starts a program.

    ``path``: the file of the line, relative to the directory that was searched. ``target``: a path as it is written, or
    the name of a module. ``function``: of a console script. ``settings``: the configuration files that it names.
    """

    path: str
    row: int
    started: Started
    target: str
    function: str = ""
    settings: tuple[str, ...] = ()

    def paths(self) -> Iterator[str]:
        """The paths that may be meant, the likeliest first: next to the line, and in the directories above it."""
        if self.started is Started.SCRIPT:
            ends = [self.target.removeprefix("./")]
        else:
            module = self.target.replace(".", "/")
            ends = [f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py"]
        for directory in PurePosixPath(self.path).parents:
            yield from (os.path.normpath(directory / end) for end in ends)
        yield from ends


def launch_lines(root: Path) -> list[LaunchLine]:
    """The lines below a directory that start programs, those of files near its top first."""
    return [line for path in _files(root) for line in _lines(root, path)]


def lines_by_file(root: Path, paths: Iterable[str]) -> dict[str, list[LaunchLine]]:
    """The lines that start each of some files, which are named relative to the current directory or absolutely."""
    known = {os.path.relpath(path, root).replace(os.sep, "/"): path for path in paths}
    meant = ((next((path for path in line.paths() if path in known), ""), line) for line in launch_lines(root))
    return gathered((known[path], line) for path, line in meant if path in known)


def is_settings(text: str) -> bool:
    """Whether a text may be the path of a configuration file."""
    return text.endswith(_SETTINGS) and re.fullmatch(r"[\w./-]+", text) is not None


def _files(root: Path) -> list[str]:
    """The files that may have such lines, relative to the root."""
    found: list[str] = []
    for count, (directory, below, names) in enumerate(os.walk(root)):
        place = Path(directory).relative_to(root)
        is_of_ci = not _CI_DIRECTORIES.isdisjoint(place.parts)
        below[:] = sorted(name for name in below if name in _CI_DIRECTORIES or _is_searched(name))
        for name in names:
            suffix = PurePosixPath(name).suffix
            if suffix in _SUFFIXES or name in _NAMES or name in _OF_CI or (is_of_ci and suffix in (".yml", ".yaml")):
                found.append((place / name).as_posix())
        if count >= _MOST_DIRECTORIES or len(found) >= _MOST_FILES:
            break
    return sorted(found[:_MOST_FILES], key=lambda path: (path.count("/"), path))


def _is_searched(name: str) -> bool:
    return not name.startswith(".") and name not in _PASSED_OVER


def _lines(root: Path, path: str) -> Iterator[LaunchLine]:
    try:
        data = plain_files.read(root / path, _MOST_BYTES)
    except OSError:
        return
    if path.endswith(".ipynb"):
        rows = rows_of_notebook(data) if b"python" in data else []
    else:
        rows = [*enumerate(data.decode("utf-8", "replace").splitlines(), 1)]
    if PurePosixPath(path).name in _NAMES and not path.lower().endswith("makefile"):
        found = ((row, _CONSOLE.match(text)) for row, text in rows)
        yield from (
            LaunchLine(path, row, Started.CONSOLE, match.group(1), match.group(2)) for row, match in found if match
        )
        return
    for row, text in _joined(rows):
        match = _PYTHON.search(text)
        started = _started([word.strip(_AROUND) for word in match.group(1).split()]) if match else None
        if started is not None:
            kind, target, settings = started
            yield LaunchLine(path, row, kind, target, "", settings)


def _joined(rows: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines with those that continue them after a backslash."""
    first, whole = 0, ""
    for row, text in rows:
        first = first or row
        whole += text.rstrip().removesuffix("\\") + " "
        if not text.rstrip().endswith("\\"):
            yield first, whole
            first, whole = 0, ""


def _started(words: list[str]) -> tuple[Started, str, tuple[str, ...]] | None:
    """What the words after ``python`` start, and the configuration files among them; None if they start no file."""
    kind = target = None
    settings: list[str] = []
    for at, word in enumerate(words):
        if word in _ENDS:
            break
        if target is not None:
            value = word.rpartition("=")[2]
            settings += [value] if is_settings(value) else []
        elif word == "-c":
            return None
        elif word == "-m" and at + 1 < len(words) and not _LAUNCHERS.fullmatch(words[at + 1]):
            kind, target = Started.MODULE, words[at + 1]
        elif word.endswith(".py"):
            kind, target = Started.SCRIPT, word
    return (kind, target, tuple(settings)) if kind is not None and target is not None else None
