"""A place: a function (or the top level) of a file, in which names have their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perflint.index.project import FileIndex
    from perflint.syntax.scopes import Scope


class Place(NamedTuple):
    """Where an expression stands: ``loss`` in ``def train()`` of ``train.py`` may be another one than elsewhere."""

    file: FileIndex
    scope: Scope
