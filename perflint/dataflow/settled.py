"""Finds what names in the tests of a function mean: names bound once, and values that are the same for all callers.

``def stack(x, is_decoder)`` whose callers all pass ``False`` never takes the branch ``if is_decoder:``. The same holds
for a class whose objects are all created that way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING

from perflint.dataflow.constants import Constants
from perflint.dataflow.object_fields import set_alike
from perflint.dataflow.values import Values
from perflint.index.kinds import LAYER_TAG, OBJECT_TAG, Kind
from perflint.syntax.scopes import Scope

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_NO_KINDS: Mapping[str, Kind] = MappingProxyType({})


class Known(Mapping[str, ast.expr]):
    """The meaning of names in a scope: first those bound once (``own``), then those that are certain.

    Looking up the latter examines all calls of the function, so it should come last.
    """

    def __init__(self, file: FileIndex, scope: Scope, handed: Mapping[str, ast.expr] | None = None) -> None:
        own = Values.of(file.project).definitions(file, scope)
        self.own: Mapping[str, ast.expr] = {**own, **handed} if handed else own
        self._at = file, scope
        self._kinds: Mapping[str, Kind] = _NO_KINDS

    def beside(self, kinds: Mapping[str, Kind]) -> Known:
        """The same, using known kinds: each configuration that ``cfg`` may be sets ``cfg.period`` to 1."""
        found = copy(self)
        found._kinds = kinds
        return found

    def __getitem__(self, name: str) -> ast.expr:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: ast.expr | None = None) -> ast.expr | None:  # type: ignore[override]  # keys are names
        """The expression that a name means."""
        value = self.own.get(name)
        if value is not None:
            return value
        return Constants.of(self._at[0].project).certain(name, *self._at) or self._field(name) or default

    def _field(self, name: str) -> ast.expr | None:
        """The value that all possible classes of an object give an attribute."""
        receiver, _, attribute = name.rpartition(".")
        kind = self._kinds.get(receiver) if receiver and self._kinds else None
        if kind is None or kind.tag not in (OBJECT_TAG, LAYER_TAG) or not kind.type:
            return None
        return set_alike(self._at[0].project, kind.type, attribute)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)
