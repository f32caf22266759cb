"""Which file of a program holds which definition, and how the others get at it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.programs.draft import Draft, Lines
from tests.programs.spellings import PACKAGES, Spelled, spelled

_PLACES = ("metrics", "data_files", "helpers")
_SIDE_EFFECTS = """\
import os

os.environ['PROGRAM_IS'] = 'registered'
print('registered')
"""


@dataclass
class File:
    """A file in the making: ``module`` is its name with dots, ``given`` what it defines, ``body`` its lines.

    ``before`` are lines that stand above its imports; ``taken`` are the names of packages that it binds itself.
    """

    module: str
    body: str
    given: set[str] = field(default_factory=set)
    before: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        return f"{self.module.replace('.', '/')}.py"

    @property
    def needs(self) -> set[str]:
        """The names that it reads and does not define."""
        return free_names(self.body) - self.given


def free_names(text: str) -> set[str]:
    """Names that a text reads, whatever binds them."""
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def spread(draft: Draft, definitions: Lines, main: Lines, known: Mapping[str, str]) -> dict[str, str]:
    """The texts of all files by their paths.

    Args:
        definitions: the training, where that is a function or a class.
        main: what sets the training up and starts it.
        known: the import statements that bind other names than those of the program and of ``PACKAGES``.
    """
    helpers = dict(draft.helpers)
    files: list[File] = []
    if draft.home != "__main__" and draft.often(0.9):
        files += _elsewhere(draft, helpers, draft.home)
    tops = ["\n\n".join(helpers.values()), "\n".join(definitions)]
    script = "\n".join(main)
    if draft.home == "__main__":
        files.append(_file("train", *tops, script))
    elif draft.layout == "script":
        files += [_file(draft.home, *tops, script), _file("train", _started(draft, draft.home))]
    else:
        files += [_file(draft.home, *tops), _file("train", script)]
    return _written(draft, files, known)


def _file(module: str, *parts: str) -> File:
    body = "\n\n\n".join(part.strip("\n") for part in parts if part)
    return File(module, body, _defined(body))


def _started(draft: Draft, home: str) -> str:
    return draft.one(
        (
            f"from {home} import model, result",
            f"import {home} as program\n\nmodel, result = program.model, program.result",
            f"from {home} import *  # all of it\n\nprint(type(result).__name__)",
        )
    )


def _elsewhere(draft: Draft, helpers: dict[str, str], home: str) -> list[File]:
    """Files that hold some of the helpers, beside the file that trains."""
    package = home.rpartition(".")[0]
    found: dict[str, File] = {}
    for name in list(helpers):
        if draft.often(0.75):
            place = draft.one(_PLACES[:2])
            module = f"{package}.{place}" if package and draft.often(0.8) else place
            file = found.setdefault(module, File(module, ""))
            file.body += f"\n\n{helpers.pop(name)}"
    # What the helpers of one file need of another's would have them import each other.
    for file in found.values():
        others = set().union(*(_defined(other.body) for other in found.values() if other is not file), helpers)
        for name in sorted(free_names(file.body) & (others - _defined(file.body))):
            if name in draft.helpers and f"{draft.helpers[name]}" not in file.body:
                file.body = f"{draft.helpers[name]}\n\n{file.body}"
    for file in found.values():
        file.given = _defined(file.body)
    return list(found.values())


def _defined(text: str) -> set[str]:
    """The functions, classes and constants at the top of a text."""
    names: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names - {"_"}


def _written(draft: Draft, files: list[File], known: Mapping[str, str]) -> dict[str, str]:
    """The files with their imports: of packages, and of each other."""
    texts = {f"{module}.py": text for module, text in draft.modules.items()}
    done: list[File] = []
    for file in files:
        lines: Lines = []
        body = file.body
        missing = file.needs
        for other in done:
            wanted = sorted(missing & (other.given | (other.taken if draft.often(0.65) else set())))
            missing -= set(wanted)
            if wanted:
                statements, body = _across(draft, file, other, wanted, body)
                lines += statements
        plain = {statement for name, statement in known.items() if name in missing}
        style = spelled(draft, body, missing & set(PACKAGES))
        file.taken = style.bound | (missing & set(known))
        if draft.often(0.05):
            texts.setdefault("registering.py", _SIDE_EFFECTS)
            plain.add("import registering  # noqa: F401  # for what it does")
        if file.module == "train":
            if draft.is_lazy and draft.often(0.5):
                lines += draft.environment  # early enough, since nothing above loads Paddle
            else:
                style.first += draft.environment
        texts[file.path] = _text(draft, lines, sorted(plain), style)
        done.append(file)
    for package in {file.module.rpartition(".")[0] for file in files} - {""}:
        texts.setdefault(f"{package}/__init__.py", _init(draft, package, done))
    return texts


def _text(draft: Draft, across: Lines, plain: Lines, style: Spelled) -> str:
    logger = ["", "logger = logging.getLogger('train')"] if re.search(r"\blogger\b", style.body) else []
    packages = [*across, *style.imports] if draft.often(0.4) else [*style.imports, *across]
    head = [*style.future, *(["import logging"] if logger else []), *plain, *style.first, *packages, *logger]
    doc = draft.one(([], [], [], ['"""Part of a made-up program."""', ""]))
    return "\n".join([*doc, *head, "", "", style.body.strip("\n"), ""])


def _across(draft: Draft, file: File, other: File, wanted: list[str], body: str) -> tuple[Lines, str]:
    """Statements by which one file takes names from another, and its body as it uses them then."""
    module, package = other.module, other.module.rpartition(".")[0]
    own = module.rpartition(".")[2]
    alias = draft.new("S", "parts", f"{own}_file")
    is_beside = bool(package) and package == file.module.rpartition(".")[0]
    base = draft.one((module, f".{own}")) if is_beside else module
    names = ", ".join(wanted)
    assigned = [f"{name} = {alias}.{name}" for name in wanted]
    taken = [f"{name} = {draft.one((f'getattr({alias}, {name!r})', f'vars({alias})[{name!r}]'))}" for name in wanted]
    import_it = f"from {'.' if base.startswith('.') else package} import {own} as {alias}" if package else ""
    as_alias = draft.one((f"import {module} as {alias}", import_it or f"import {module} as {alias}"))
    rows = [f"    {name},{draft.one(('', '', '  # from there', '  # ) here'))}" for name in wanted]
    renamed = f"{wanted[0]} as {wanted[0]}_here"
    ways: list[tuple[Lines, str]] = [
        ([f"from {base} import {names}"], body),
        ([f"from {base} import {names}"], body),
        ([f"from {base} import {name}" for name in wanted], body),
        ([f"from {base} import (", *rows, ")"], body),
        ([f"from {base} import ({names})"], body),
        ([f"from {base} import \\", f"    {names}"], body),
        (["from \\", f"    {base} import " + ", \\\n    ".join(wanted)], body),
        ([f"from {base} import *"], body),
        ([f"from   {base}   import   {names}  # several blanks"], body),
        (
            [f"from {base} import {renamed}; " + f"{wanted[0]} = {wanted[0]}_here"]
            + ([f"from {base} import {', '.join(wanted[1:])}"] if wanted[1:] else []),
            body,
        ),
        ([as_alias, *assigned], body),
        ([as_alias, *taken], body),
        ([f"import {module}", *(f"{name} = {module}.{name}" for name in wanted)], body),
        ([f"import json, {module} as {alias}", *assigned], body),
        (["try:", f"    from {base} import {names}", "except ImportError:", f"    {' = '.join(wanted)} = None"], body),
        (["if True:", f"    from {base} import {names}"], body),
        (["import importlib", f"{alias} = importlib.import_module('{module}')", *assigned], body),
        (
            ["import importlib", f"{wanted[0]} = importlib.import_module('{module}').{wanted[0]}"]
            + ([f"from {base} import {', '.join(wanted[1:])}"] if wanted[1:] else []),
            body,
        ),
        ([as_alias], _through(body, wanted, alias)),
        ([as_alias], _through(body, wanted, alias)),
        ([f"import {module}"], _through(body, wanted, module)),
    ]
    if package and draft.often(0.3):
        return [f"from {'.' if base.startswith('.') else package} import {names}"], body
    return draft.one(ways)


def _through(body: str, names: Iterable[str], module: str) -> str:
    """A text that reads names as attributes of a module."""
    rows = body.split("\n")
    skipped = {
        id(part) for node in ast.walk(ast.parse(body)) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    found = [
        (node.lineno - 1, node.col_offset)
        for node in ast.walk(ast.parse(body))
        if isinstance(node, ast.Name) and node.id in set(names) and id(node) not in skipped
    ]
    for row, column in sorted(found, reverse=True):
        rows[row] = f"{rows[row][:column]}{module}.{rows[row][column:]}"
    return "\n".join(rows)


def _init(draft: Draft, package: str, files: Iterable[File]) -> str:
    """The ``__init__`` of a package, which hands on what its modules define and take."""
    lines: Lines = []
    for file in files:
        if file.module.rpartition(".")[0] == package:
            own = file.module.rpartition(".")[2]
            names = sorted(file.given | file.taken)
            if names:
                lines += draft.one(
                    (
                        [f"from .{own} import {', '.join(names)}"],
                        [f"from .{own} import {', '.join(names)}  # noqa: F401"],
                        [f"from .{own} import (  # what others use", *(f"    {name}," for name in names), ")"],
                        [f"from {package}.{own} import *", f"from .{own} import {', '.join(names)}"],
                    )
                )
    return "\n".join([*lines, ""])
