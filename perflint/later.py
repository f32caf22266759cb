"""Imports modules on first use: LibCST takes a while to import, and not every run needs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A module whose code runs when one of its attributes is first accessed.

    ``importlib.util.LazyLoader`` would run it at the next ``import``, which reads ``__spec__``.
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
    """Make ``import name`` load a top-level module only when it is first used.

    Does nothing if the module is already loaded or cannot be found; ``import`` then reports the latter.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None and spec.loader is not None:
        module = sys.modules[name] = module_from_spec(spec)
        module.__class__ = _Later
