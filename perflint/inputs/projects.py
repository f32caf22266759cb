"""Splits the files of a run into projects: each is read as a whole, and independent of the others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

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
_WORD = re.compile(r"[\w.]+")


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
    each subdirectory is a project, joined with those that it imports from.
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
    directories = {os.path.dirname(path) for path in paths}
    absolute = {directory: os.path.abspath(directory) for directory in directories}
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
    names |= {_stem(path): "" for path, top in tops.items() if not top}

    def find(top: str) -> str:
        while owner[top] != top:
            top = owner[top]
        return top

    for path, source in sources.items():
        for first in _imported(source.text):
            there = names.get(first)
            if there is not None and there != tops[path]:
                owner[find(tops[path])] = find(there)
    return {top: find(top) for top in owner}


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


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
        listed = (part.split()[0] for part in names.strip("()").split(",") if part.strip())
        yield from ((dots, f"{name}.{each}" if name else each) for each in listed if _WORD.fullmatch(each))


def _imported(text: str) -> Iterator[str]:
    """The first names of the modules that a text imports; for ``from .. import a``, all names."""
    for match in _imports(text):
        base, names, modules = match.group("base", "names", "modules")
        if modules is not None:
            yield from (part.split()[0].partition(".")[0] for part in modules.split(",") if part.strip())
        elif base.strip("."):
            yield base.strip(".").partition(".")[0]
        else:
            yield from _WORD.findall(names)


def _imports(text: str) -> Iterator[re.Match[str]]:
    """The imports of a text: only rows with the word are examined, which takes a tenth of the time."""
    end, at = 0, text.find("import")
    while at >= 0:
        match = _IMPORT.match(text, max(text.rfind("\n", 0, at) + 1, end))
        end = match.end() if match is not None else text.find("\n", at)
        at = text.find("import", max(end, at + 1)) if end >= 0 else -1
        if match is not None:
            yield match
