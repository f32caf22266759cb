"""Finds the oldest Paddle that the code itself accepts: ``paddle.utils.require_version("2.2")`` and similar checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from perflint.configuration.settings import Settings
from perflint.facts.programs import GONE, fluid_row
from perflint.index.imports import Imports
from perflint.inputs.input_files import Admitted, Version, hold_back, nearest, oldest, version_of
from perflint.query import query

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project
    from perflint.lint.context import Draft

_NUMBER = r"""["'](?P<version>\d+(?:\.\d+)+)["']"""
_ASKED = re.compile(
    # paddle.utils.require_version("2.2"); PaddleDetection's `def check_version(version="2.2")` and calls of it
    r"\b(?:require|check)_version\s*\(\s*(?:\w*version\s*=\s*)?" + _NUMBER + r"\s*[,)]"
    # assert paddle.__version__ >= "2.2"
    r"|\bassert\b[^\n#]{0,80}\bpaddle\.(?:__version__|version\.full_version)\b[^\n#]{0,80}>=?[^\n#\"']{0,80}"
    + _NUMBER.replace("version>", "asserted>")
    # if paddle.__version__ < "2.2": raise ...
    + r"|\bif\b[^\n#]{0,80}\bpaddle\.(?:__version__|version\.full_version)\b[^\n#]{0,80}<[^\n#\"'=]{0,80}"
    + _NUMBER.replace("version>", "refused>")
    + r"[^\n]{0,80}:\s*(?:raise\b|(?:sys\.)?exit\()"
)
_BY_NAME = re.compile(r"\brequire_version\s*\(\s*(?:min_version\s*=\s*)?(?P<name>[A-Za-z_]\w*)\s*\)")
_WORDS = ("require_version", "check_version", "__version__", "full_version")


def fitting(drafts: list[Draft], file: FileIndex, settings: Settings) -> list[Draft]:
    """The drafts of a file, without edits that need a newer Paddle than the oldest one that the project supports."""
    if not any(draft.fix is not None and draft.fix.paddle for draft in drafts):
        return drafts  # true for most files: then nothing is looked up
    admitted = oldest_for(file, settings)
    return [replace(draft, fix=hold_back(draft.fix, admitted)) if draft.fix else draft for draft in drafts]


def oldest_for(file: FileIndex, settings: Settings) -> Admitted | None:
    """The oldest Paddle that a file has to support; None if unknown.

    That is the configuration's ``target-paddle``. Without one it is the oldest that the requirements next to the file,
    or the version checks of the code, accept. A checking function applies to the whole project, and so does a check in
    a module that others import; one in a script applies to the files that the script loads. A file that imports
    ``paddle.fluid`` does not accept a Paddle without it.
    """
    target = version_of(settings.target_paddle)
    if target is not None:
        return Admitted(target, "target-paddle")
    checked = [
        Admitted(version, other.path, row)
        for other in checking(file.project)
        for version, row, is_defined in _stated_in(other)
        if is_defined or _concerns(other, file)
    ]
    required = nearest(file.path, file.project.inputs)
    row, gone = fluid_row(file), version_of(GONE)
    of_fluid = Admitted(gone, file.path, row, excluded=True) if row and gone is not None else None
    return oldest([*checked, *(said for said in (required, of_fluid) if said is not None)])


def checking(project: Project) -> tuple[FileIndex, ...]:
    """The files that hold a version check."""
    named = dict.fromkeys(file for word in _WORDS for file in project.mentions.of(word))
    return tuple(file for file in named if _stated_in(file))


@query
def _stated_in(file: FileIndex) -> tuple[tuple[Version, int, bool], ...]:
    return tuple(stated(file.source.rows_text)) if file.has("paddle") else ()


def stated(text: str) -> Iterator[tuple[Version, int, bool]]:
    """The releases that the version checks in a text ask for: each with its row, and whether it defines a function."""
    for match in _ASKED.finditer(text):
        version = version_of(match["version"] or match["asserted"] or match["refused"])
        if version is not None and not _is_comment(text, match.start()):
            yield version, _row(text, match.start()), text.endswith("def ", 0, match.start())
    for match in _BY_NAME.finditer(text):
        bound = re.search(rf"^{match['name']}\s*=\s*{_NUMBER}", text, re.MULTILINE)
        version = version_of(bound["version"]) if bound is not None else None
        if version is not None and not _is_comment(text, match.start()):
            yield version, _row(text, match.start()), False


def _is_comment(text: str, offset: int) -> bool:
    return "#" in text[text.rfind("\n", 0, offset) + 1 : offset]


def _row(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _concerns(checking_file: FileIndex, file: FileIndex) -> bool:
    is_near = checking_file is file or _is_imported(checking_file)
    return is_near or file in Imports.of(file.project).closure([checking_file])


def _is_imported(file: FileIndex) -> bool:
    """Whether another file imports this one, judging by the texts."""
    name = file.module.rpartition(".")[2]
    imported = rf"(?:from|import)\b[^\n#]*\b{name}\b|from[ \t]+[.\w]+[ \t]+import[ \t]*\([^)]*\b{name}\b"
    pattern = re.compile(rf"^[ \t]*(?:{imported})", re.MULTILINE)
    return name.isidentifier() and any(
        other is not file and other.matches(pattern) for other in file.project.mentions.of(name)
    )
