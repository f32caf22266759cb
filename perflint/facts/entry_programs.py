"""The programs of an entry point as a whole: the files that they load, and the words in these."""

from __future__ import annotations

from perflint.facts.entry_points import EntryPoint
from perflint.index.imports import Imports
from perflint.index.project import FileIndex
from perflint.query import query


def speaks_of(entry: EntryPoint, *words: str) -> bool:
    """Whether a file that the programs of an entry point load for training contains one of these words."""
    named = [file for file in entry.file.project.mentions.of(*words) if not (file.is_offline or file.is_quiet)]
    return bool(named) and not _loaded(entry.file, entry.driven_from).isdisjoint(named)


@query
def _loaded(file: FileIndex, driver: FileIndex) -> frozenset[FileIndex]:
    imports = Imports.of(file.project)
    return imports.closure(imports.users([file, driver]))
