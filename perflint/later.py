"""Modules that are imported once something in them is asked for: LibCST takes a while, and not every run needs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A module that ``import`` finds, and that runs its code when an attribute is first asked for.

    ``importlib.util.LazyLoader`` runs it at the next ``import`` already, which asks for ``__spec__``.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]  # a module like any other, its base class, from now on
        try:
            spec.loader.exec_module(self)
        except BaseException:
            sys.modules.pop(spec.name, None)
            raise
        return getattr(self, name)


def import_later(name: str) -> None:
    """Let ``import name`` load a top-level module only when something in it is asked for.

    Does nothing where it is loaded already, or cannot be found: the ``import`` then says so.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None and spec.loader is not None:
        module = sys.modules[name] = module_from_spec(spec)
        module.__class__ = _Later
