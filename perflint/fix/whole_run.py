"""Tries all edits of a run together: each edit was tried alone, and one may remove what another needs.

For example, one fix removes the last use of ``import paddle``, and another one writes ``@paddle.no_grad()``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perflint.fix.parsed_text import Reading
from perflint.fix.unused_imports import imports_in
from perflint.index.imported_names import is_taken
from perflint.index.project import Project
from perflint.inputs.projects import split
from perflint.syntax.always_bound import AlwaysBound
from perflint.syntax.names import imported_name
from perflint.text.source import Source

_HARMLESS = "UnusedImport"


def broken_files(before: Mapping[str, Source], after: Mapping[str, Source]) -> dict[str, tuple[str, bool]]:
    """The changed files that must keep their old text, each with the reason, and whether it is a mistake of perflint.

    It is none if another file takes a name that an edit changes, such as the name that a loop counts with.

    Args:
        before: all files by path.
        after: the new sources of those that changed.
    """
    broken = {path: (reason, True) for path in after if (reason := _broken(before[path], after[path]))}
    lost = {path: names for path in after.keys() - broken.keys() if (names := _lost(before[path], after[path]))}
    return {**broken, **dict(_missed(before, lost))}


def _broken(before: Source, after: Source) -> str:
    """What is wrong with the new text of a file itself; empty if nothing is."""
    old, new = Reading(before.text), Reading(after.text)
    if new.tree is None or (old.compiles and not new.compiles):
        return "the result of all edits together is not valid Python"
    messages = new.new_messages(old).items()
    said = next((said for (kind, name), said in messages if kind != _HARMLESS and not _is_of_one(kind, name, old)), "")
    return f"all edits together do not fit: {said}" if said else ""


def _is_of_one(kind: str, name: str, old: Reading) -> bool:
    """Whether a message is about a name that the text never had: then it is about one edit, and no other has a part."""
    return kind == "UndefinedName" and not any(name in names for names in old.names[:2]) and name not in _imported(old)


def _imported(old: Reading) -> set[str]:
    nodes = imports_in(old.tree) if old.tree is not None else ()
    return {imported_name(alias) for node in nodes for alias in node.names}


def _lost(before: Source, after: Source) -> frozenset[str]:
    """The names that a module no longer binds."""
    old, new = Reading(before.text).tree, Reading(after.text).tree
    if old is None or new is None:
        return frozenset()
    return AlwaysBound(old).of_module - AlwaysBound(new).of_module


def _missed(before: Mapping[str, Source], lost: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The files that have lost a name which another file takes from them, each with the reason."""
    for sources in split(before).projects if lost else ():
        project = Project(sources)
        for path in lost.keys() & sources.keys():
            file = project.files[path]
            name = next((name for name in sorted(lost[path]) if is_taken(file, name)), None)
            if name is not None:
                yield path, (f"another file takes `{name}` from it", False)
