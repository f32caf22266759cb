"""Splits the files of a run into projects: each is read as a whole, and independent of the others.

It also decides whether a run reads a whole project, since only then can nothing else lead to a finding; and finds the
files of a project that some of its files import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from perflint.files import plain_files
from perflint.files.plain_files import outwards
from perflint.stopwatch import phase
from perflint.text.source import Source

ROOT_MARKS = (
    *(".git", "setup.py", "pyproject.toml", "setup.cfg", "requirements.txt"),
    *("README.md", "README_cn.md", "README.rst", "README.txt", "README", "__init__.py"),
)
"""What the directory of one project contains, but not a directory of several projects."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+import\s*(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))",
    re.MULTILINE,
)
_ON_PATH = re.compile(r"\bsys\.path\.\w+\([^\n]*?[\"'](?:\./)?(\w+)/?[\"']")
"""A folder that a program adds to its path: ``sys.path.append("models")``."""
_WORD = re.compile(r"[\w.]+")
_COMMENT = re.compile(r"#.*")


@dataclass
class Split:
    """The projects among the files of a run, in the order of their first files.

    ``roots``: for each directory that was examined, whether it is one project.
    """

    projects: list[dict[str, Source]] = field(default_factory=list)
    roots: dict[str, bool] = field(default_factory=dict)


@phase("projects")
def split(sources: Mapping[str, Source]) -> Split:
    """Split the files of a run into projects.

    A directory with a README, a ``setup.py`` or its own repository is one project. In a directory without any of these,
    each subdirectory is a project, joined with those that it imports from, or adds to its ``sys.path``.
    """
    found = Split()
    _split(sources, found)
    return found


def _split(sources: Mapping[str, Source], found: Split) -> None:
    root = common_root(sources)
    tops = {path: at[0] if len(at) > 1 else "" for path, at in relative_parts(sources, root).items()}
    groups: dict[str, dict[str, Source]] = {}
    if len(set(tops.values())) > 1 and not found.roots.setdefault(root, is_project(root)):
        owner = _joined(sources, tops)
        for path, source in sources.items():
            groups.setdefault(owner[tops[path]], {})[path] = source
    if len(groups) > 1:
        for group in groups.values():
            _split(group, found)
    elif sources:
        found.projects.append(dict(sources))


def is_project(root: str) -> bool:
    """Whether the contents of a directory show that everything below it is one project."""
    return any(os.path.exists(os.path.join(root, name)) for name in ROOT_MARKS)


def relative_parts(paths: Iterable[str], root: str) -> dict[str, tuple[str, ...]]:
    """Each path in parts, relative to ``root``."""
    directories: dict[str, tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for path in paths:
        directory, name = os.path.split(path)
        if directory not in directories:
            absolute = os.path.abspath(directory)
            relative = os.path.relpath(absolute, root) if root else absolute
            directories[directory] = tuple(part for part in PurePath(relative).parts if part != ".")
        found[path] = (*directories[directory], name)
    return found


def common_root(paths: Mapping[str, Source]) -> str:
    """The directory that contains all files and that their module names are relative to; empty if there is none."""
    absolute = {directory: os.path.abspath(directory) for directory in set(map(os.path.dirname, paths))}
    if not absolute:
        return ""
    try:
        root = os.path.commonpath(list(absolute.values()))
    except ValueError:  # the paths are on different drives
        return ""
    packages = {absolute[os.path.dirname(path)] for path in paths if path.endswith("__init__.py")}
    while root in packages:  # a package that is checked alone is still imported by its name
        root = os.path.dirname(root)
    return root


def _joined(sources: Mapping[str, Source], tops: Mapping[str, str]) -> dict[str, str]:
    """For each directory, the representative of its group, in which directories import from one another."""
    owner = {top: top for top in tops.values()}
    names = {os.path.splitext(top)[0]: top for top in owner if top}
    names |= {os.path.splitext(os.path.basename(path))[0]: "" for path, top in tops.items() if not top}

    def find(top: str) -> str:
        while owner[top] != top:
            top = owner[top]
        return top

    for path, source in sources.items():
        named = {name.partition(".")[0] for _, name in imported_modules(source.text)}
        for first in sorted(named.union(_ON_PATH.findall(source.text) if "sys.path" in source.text else ())):
            there = names.get(first)
            if there is not None and there != tops[path]:
                owner[find(tops[path])] = find(there)
    return {top: find(top) for top in owner}


def imported_modules(text: str) -> Iterator[tuple[int, str]]:
    """The modules that a text imports: the leading dots of each, and its name.

    ``from a import b`` gives ``a`` and ``a.b``, since ``b`` may be a module; ``from ..a import b`` gives both with two
    dots.
    """
    for match in _imports(text):
        base, names, modules = match.group("base", "names", "modules")
        if modules is not None:
            yield from ((0, part.split()[0]) for part in modules.split(",") if part.strip())
            continue
        name = base.lstrip(".")
        dots = len(base) - len(name)
        yield dots, name
        listed = (part.split()[0] for part in _COMMENT.sub("", names).strip("()").split(",") if part.strip())
        yield from ((dots, f"{name}.{each}" if name else each) for each in listed if _WORD.fullmatch(each))


def _imports(text: str) -> Iterator[re.Match[str]]:
    """The imports of a text: only rows with the word are examined, which takes a tenth of the time."""
    end, at = 0, text.find("import")
    while at >= 0:
        match = _IMPORT.match(text, max(text.rfind("\n", 0, at) + 1, end))
        end = match.end() if match is not None else text.find("\n", at)
        at = text.find("import", max(end, at + 1)) if end >= 0 else -1
        if match is not None:
            yield match


# --- whole projects


def is_whole(paths: Sequence[Path], root: Path) -> bool:
    """Whether the directories among ``paths`` contain the whole projects that ``paths`` belong to.

    The outermost directory that looks like a project counts, since code there may call everything below it. The home
    directory and those above it contain projects but are not projects.

    Args:
        paths: the files and directories that are read.
        root: the directory of the configuration.
    """
    # isdir, because it does not raise where a name is too long
    directories = {Path(os.path.realpath(path)) for path in paths if os.path.isdir(path)}
    if not directories:
        return False
    # Hooks name hundreds of files, which are in few directories.
    places = directories | {Path(os.path.realpath(path.parent)) for path in paths if not os.path.isdir(path)}
    tops = {project_top(place, root.resolve()) for place in places}
    return all(any(top.is_relative_to(directory) for directory in directories) for top in tops)


def project_top(directory: Path, root: Path) -> Path:
    """The outermost project that contains a directory; the directory itself if there is none.

    Args:
        directory: its absolute path.
        root: the directory of the configuration, which is a project too; an absolute path.
    """
    projects = [place for place in outwards(directory) if place == root or is_project(str(place))]
    return projects[-1] if projects else directory


# --- imported files

_MOST = 1000
"""The most files to find: a check of one file should not take as long as one of a large repository."""


def imported_files(files: Iterable[Path], root: Path, texts: Mapping[str, str] | None = None) -> list[Path]:
    """The files that some files import, and those that these import, in the order in which they were found.

    Modules are searched for next to the file that imports them, and in the directories above it, up to the top of its
    project. Installed packages are not read, and nothing is run.

    Args:
        files: the files, relative to the current directory.
        root: the directory of the configuration, which is a project too.
        texts: by real path, what some files contain in place of what is on the disk.
    """
    waiting = [*files]
    seen = {os.path.realpath(path) for path in waiting}
    found: list[Path] = []
    tops = {path: project_top(path.parent.absolute(), root.absolute()) for path in waiting}
    for path in waiting:  # grows during the loop
        for module in _modules(path, tops[path], text=(texts or {}).get(os.path.realpath(path))):
            real = os.path.realpath(module)
            if real not in seen and len(found) < _MOST:
                seen.add(real)
                found.append(module)
                waiting.append(module)
                tops[module] = tops[path]
    return found


def importer_of(files: Iterable[Path], others: Iterable[Path], top: Path) -> Path | None:
    """The first of some other files that imports one of these files; None if there is none.

    Args:
        files: the files.
        others: the files that may import them.
        top: the absolute path of the directory that is searched for what they import.
    """
    wanted = {os.path.realpath(path): path for path in files}
    words = {(path.parent.absolute() if path.stem == "__init__" else path).stem for path in wanted.values()}
    for other in others:
        if os.path.realpath(other) not in wanted:
            for module in _modules(other, top, words):
                if os.path.realpath(module) in wanted:
                    return other
    return None


def _modules(path: Path, top: Path, words: Iterable[str] = ("import",), text: str | None = None) -> Iterator[Path]:
    """The files of the modules that a file imports, if its text (default: that on the disk) has one of these words."""
    try:
        text = plain_files.read(path).decode("utf-8", "replace") if text is None else text
    except OSError:
        return  # its errors are reported where it is checked
    if not any(word in text for word in words):
        return
    places = [*_upwards(path.parent, top)]
    for dots, name in imported_modules(text):
        steps = name.split(".") if name else []
        if dots:
            above = path.parent
            for _ in range(dots - 1):
                above = above.parent
            yield from _files(above, steps) if above.absolute().is_relative_to(top) else ()
        elif steps:
            yield from next(filter(None, ([*_files(place, steps)] for place in places)), [])


def _upwards(directory: Path, top: Path) -> Iterator[Path]:
    """A directory and those above it, up to the top, spelled like the first one."""
    here, above = directory, directory.absolute()
    while True:
        yield here
        if above == top or above == above.parent:
            return
        here = here.parent if here.name not in ("", "..") else here / ".."
        above = above.parent


def _files(place: Path, steps: list[str]) -> Iterator[Path]:
    """The files of a module below a directory, with those of the packages that contain it."""
    at = place
    for number, step in enumerate(steps):
        module = at / f"{step}.py"
        if module.is_file():
            yield module
            return
        at = at / step
        if not at.is_dir():
            return
        package = at / "__init__.py"
        if package.is_file():
            yield package
        elif number == len(steps) - 1:
            return
