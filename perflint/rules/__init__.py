"""The rules: one file for each subject, with its checks, the facts that only they need, and their edits."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def load_checks() -> None:
    """Import every module of rules, which registers its functions."""
    for module in iter_modules(__path__):
        import_module(f"perflint.rules.{module.name}")
