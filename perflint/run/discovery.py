"""Finds the files that a run reads: those named, and the ``*.py`` files below the named directories; and reads them.

A directory is searched for ``*.py``, but any file may be named: ``perflint check *`` names notebooks and YAML too. Many
of these would even parse (``workers: 4`` is an annotation in Python), and pass as clean.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from perflint import catalogue
from perflint.catalogue import Rule
from perflint.configuration.settings import Settings
from perflint.files import plain_files, writing
from perflint.findings import Finding, Fix
from perflint.inputs.patterns import Patterns, relative
from perflint.stopwatch import phase
from perflint.text.source import Source, UnreadableSource, decode, read

# --- whether a named file is Python

SUFFIXES = (".py", ".pyi", ".pyw")
_NOTEBOOK = ".ipynb"
_RUN_BY_PYTHON = re.compile(rb"#!.*python")


def why_not_read(path: str) -> str:
    """Why perflint does not read a file as Python, and what to do; empty if it does.

    A file that cannot be opened is not judged: reading it will report what is wrong.

    Args:
        path: a file.
    """
    if path.lower().endswith(SUFFIXES):
        return ""
    try:
        data = plain_files.read(path)
    except OSError:
        return ""
    return why_not_python(path, data)


def why_not_python(path: str, data: bytes) -> str:
    """Why a file with this name and these bytes is not read as Python; empty if it is.

    Args:
        path: its name; only the end of it counts.
        data: its bytes.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix in SUFFIXES or _RUN_BY_PYTHON.match(data) or (not suffix and _parses(data)):
        return ""
    if suffix == _NOTEBOOK:
        return "it is a notebook: write its code to a file (jupyter nbconvert --to script NOTEBOOK), and check that"
    return (
        "its name does not end in .py, and its first line does not name Python: to check it anyway, pipe it in "
        "(perflint check - < FILE)"
    )


def _parses(data: bytes) -> bool:
    try:
        text = decode("", data).text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (UnreadableSource, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


SUFFIX = ".py"


class NoSuchPath(Exception):
    """A named path does not exist; ``str(error)`` says which."""


@dataclass(frozen=True)
class Found:
    """``files`` are sorted, without duplicates, spelled as they were found.

    ``problems``: a finding for each place that could not be searched, in order of occurrence. ``by_real_path`` has the
    same files by their real paths. ``skipped``: a sentence for each named file that is not Python;
    ``is_anything_excluded``: a named path is left out because the settings exclude it. ``leftovers`` look like
    temporary files of perflint.
    """

    files: list[Path]
    problems: list[Finding]
    by_real_path: Mapping[str, str] = field(default_factory=dict)
    skipped: Sequence[str] = ()
    is_anything_excluded: bool = False
    leftovers: list[Path] = field(default_factory=list)


class _Layer(NamedTuple):
    """The patterns of one ``.gitignore``, and the path from its directory to the current one ("" or ``a/b/``)."""

    patterns: Patterns
    prefix: str


class _Directory(NamedTuple):
    """A directory to search. ``shown`` and ``real`` are "" or end in a separator; ``shown`` is the path to show."""

    shown: str
    real: str
    prefix: str  # relative to the directory of the configuration, as in _Layer
    layers: tuple[_Layer, ...]  # outermost first


@phase("discovery")
def python_files(
    paths: Sequence[Path], settings: Settings, *, force_exclude: bool = False, any_name: bool = False
) -> Found:
    """Find the files to check.

    A file in ``paths`` is included whatever excludes it (unless ``force_exclude``), if it is Python by its name, its
    first line, or (without a suffix) its contents; with ``any_name`` it is always included. A directory in ``paths`` is
    searched for ``*.py``, even when it is itself ignored; below it ``exclude``, ``extend-exclude`` and (with
    ``respect-gitignore``) git's ignore files apply. Links to directories are not followed, dangling links are skipped,
    and of several paths to one file, one is kept: preferably the real path.

    Raises:
        NoSuchPath: one of ``paths`` does not exist; nothing has been searched in that case.
    """
    for path in paths:
        _insist(path)
    search = _Search(settings)
    for path in paths:
        shown = str(path)
        if force_exclude and search.exclude.covers(_entry(shown, settings)):
            search.is_anything_excluded = True
        elif path.is_dir():
            search.directory(shown)
        elif not any_name and (reason := why_not_read(shown)):
            search.skipped.append(f"{shown} was not checked: {reason}")
        else:
            search.add(shown, os.path.realpath(shown), is_link=path.is_symlink())
    return search.found()


def first_python_files(directory: Path, settings: Settings, most: int) -> list[Path]:
    """Some files below a directory that a check of it would read: all of them if neither they nor its directories are
    more than ``most``."""
    search = _Search(settings)
    search.directory(str(directory), most)
    return search.found().files


def passes_over(root: Path, parts: Sequence[str], settings: Settings) -> bool:
    """Whether a search of the directory ``root`` ignores an entry below it, whether it exists or not.

    Args:
        root: the directory, which is searched even when it is itself ignored.
        parts: the names that lead from there to a file.
        settings: what is ignored.
    """
    return _Search(settings).passes_over(str(root), parts)


def _insist(path: Path) -> None:
    if os.path.exists(path):  # noqa: PTH110 - which does not raise where a name is too long
        return
    if os.path.islink(path):  # noqa: PTH114 - as above
        raise NoSuchPath(f"{path} is a link that leads nowhere (to {path.readlink()}): repair it or leave it out")
    raise NoSuchPath(f"{path} does not exist (looked for it from {Path.cwd()}): check the spelling")


def _entry(shown: str, settings: Settings) -> str:
    """A path named by the user, relative to the patterns."""
    return relative(shown, str(settings.root)) + ("/" if Path(shown).is_dir() else "")


class _Search:
    """One search over all the paths of a run."""

    def __init__(self, settings: Settings) -> None:
        self.exclude = Patterns((*settings.exclude, *settings.extend_exclude))
        self.skipped: list[str] = []
        self.is_anything_excluded = False
        self._root = str(settings.root)
        self._gitignore = settings.respect_gitignore
        self._files: dict[str, tuple[str, bool]] = {}  # real path to the path to show, and whether that is a link
        self._problems: list[Finding] = []
        self._leftovers: list[Path] = []
        self._read: dict[Path, Patterns] = {}

    def add(self, shown: str, real: str, *, is_link: bool) -> None:
        known = self._files.get(real)
        if known is None or (known[1] and not is_link):
            self._files[real] = (shown, is_link)

    def found(self) -> Found:
        spelled = {real: shown for real, (shown, _) in self._files.items()}
        files = [Path(shown) for shown in sorted(spelled.values())]
        return Found(files, self._problems, spelled, self.skipped, self.is_anything_excluded, self._leftovers)

    def directory(self, shown: str, most: int = sys.maxsize) -> None:
        """Search a directory and those below it: at most so many, and no more when so many files are found."""
        stack = [self._start(shown)]
        while stack and most and len(self._files) < most:
            stack.extend(self._search(stack.pop()))
            most -= 1

    def passes_over(self, shown: str, parts: Sequence[str]) -> bool:
        """Whether an entry below a directory is ignored, or a directory on the way to it."""
        directory = self._start(shown)
        *above, last = parts
        for name in [*(f"{name}/" for name in above), last]:
            there = {each for each in (".git", ".gitignore") if os.path.lexists(directory.real + each)}
            directory = self._with_layers(directory, there)
            if name == ".git/" or self._ignored(directory, name):
                return True
            directory = _child(directory, name.rstrip("/"))
        return False

    def _start(self, shown: str) -> _Directory:
        real = os.path.realpath(shown)
        layers = self._layers_above(Path(real)) if self._gitignore else ()
        prefix = relative(shown, self._root)
        begin, below = (os.path.join(path, "") for path in ("" if shown == "." else shown, real))  # noqa: PTH118
        return _Directory(begin, below, prefix and prefix + "/", layers)

    def _search(self, directory: _Directory) -> list[_Directory]:
        """Collect the files of one directory; return its subdirectories that are to be searched."""
        try:
            with os.scandir(directory.shown or ".") as scan:
                entries = list(scan)
        except OSError as error:
            self._problem(Path(directory.shown), error)
            return []
        directory = self._with_layers(directory, {entry.name for entry in entries})
        below = []
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name != ".git" and not self._ignored(directory, name + "/"):
                    below.append(_child(directory, name))
            elif name.endswith(SUFFIX) and not self._ignored(directory, name) and _is_file(entry):
                self._take(directory, entry)
            elif writing.is_ours(name):
                self._leftovers.append(Path(entry.path))
        return below

    def _take(self, directory: _Directory, entry: os.DirEntry[str]) -> None:
        is_link = entry.is_symlink()
        real = os.path.realpath(entry.path) if is_link else directory.real + entry.name
        self.add(directory.shown + entry.name, real, is_link=is_link)

    def _ignored(self, directory: _Directory, name: str) -> bool:
        if self.exclude.verdict(directory.prefix + name):
            return True
        for patterns, prefix in reversed(directory.layers):
            verdict = patterns.verdict(prefix + name)
            if verdict is not None:
                return verdict
        return False

    def _layers_above(self, real: Path) -> tuple[_Layer, ...]:
        """The ignore files between a directory (not its own) and the root of its repository, if any."""
        above: list[Path] = []
        for place in (real, *real.parents):
            if place != real:
                above.append(place)
            if os.path.lexists(place / ".git"):
                break
        else:
            return ()
        return tuple(
            _Layer(patterns, real.relative_to(place).as_posix() + "/")
            for place in reversed(above)
            for patterns in self._lists(place, repository=place == above[-1])
        )

    def _with_layers(self, directory: _Directory, names: Set[str]) -> _Directory:
        """A directory with the ignore files that apply in it. A nested repository starts from nothing, as in git.

        ``names`` are those of its entries.
        """
        if not self._gitignore or names.isdisjoint((".git", ".gitignore")):
            return directory
        repository = ".git" in names
        own = tuple(_Layer(patterns, "") for patterns in self._lists(Path(directory.real), repository=repository))
        return directory._replace(layers=own if repository else directory.layers + own)

    def _lists(self, place: Path, *, repository: bool) -> list[Patterns]:
        """The patterns stored in one directory, in ascending priority."""
        own = [self._git_directory(place) / "info" / "exclude"] if repository else []
        return [patterns for path in (*own, place / ".gitignore") if (patterns := self._patterns(path))]

    def _patterns(self, path: Path) -> Patterns:
        if path not in self._read:
            self._read[path] = Patterns(self._lines(path))
        return self._read[path]

    def _lines(self, path: Path) -> list[str]:
        try:
            # File names that are no UTF-8 reach Python with surrogates; patterns for them must too.
            text = plain_files.read(path).decode("utf-8-sig", "surrogateescape")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return []
        except OSError as error:
            self._problem(path, error)
            return []
        return text.replace("\r\n", "\n").split("\n")

    def _git_directory(self, place: Path) -> Path:
        """Where the repository of a work tree stores its files: ``.git``, or the target of a file ``.git``."""
        git = place / ".git"
        pointer = self._first_line(git)
        if not pointer.startswith("gitdir:"):
            return git
        git = place / pointer.removeprefix("gitdir:").strip()
        return git / self._first_line(git / "commondir")

    def _first_line(self, path: Path) -> str:
        """The first line of a file, "" if there is none."""
        lines = self._lines(path)
        return lines[0].strip() if lines else ""

    def _problem(self, path: Path, error: OSError) -> None:
        self._problems.append(Finding("PPF003", str(path), 0, 0, f"{path} cannot be read: {error.strerror or error}"))


def _child(directory: _Directory, name: str) -> _Directory:
    layers = tuple([_Layer(patterns, f"{prefix}{name}/") for patterns, prefix in directory.layers])
    below = name + os.sep
    return _Directory(directory.shown + below, directory.real + below, f"{directory.prefix}{name}/", layers)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself, or into a directory that cannot be entered
        return False


# --- reading


@phase("read")
def read_all(paths: Iterable[Path]) -> tuple[dict[str, Source], list[Finding]]:
    """Sources by path, and a PPF003 finding for each file that cannot be read or decoded."""
    sources: dict[str, Source] = {}
    unreadable: list[Finding] = []
    for path in paths:
        try:
            sources[str(path)] = read(path)
        except UnreadableSource as error:
            unreadable.append(unreadable_file(str(path), str(error)))
    return sources, unreadable


def unreadable_file(path: str, why: str) -> Finding:
    """The finding for a file that is not readable text."""
    rule = catalogue.shipped()["PPF003"]
    return Finding("PPF003", path, 0, 0, rule.message.format(what=why), by_hand(rule))


def by_hand(rule: Rule) -> Fix:
    """The fix of a rule about files that only the user can repair."""
    return Fix(rule.fix_title, (), rule.fix_level, rule.fix_reason)
