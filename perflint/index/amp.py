"""Where AMP is in use: which files of a project are trained under it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from perflint.index.names import dotted
from perflint.index.scopes import FileScopes

_AMP_CALLS = frozenset(
    {"paddle.amp.auto_cast", "paddle.amp.decorate", "paddle.amp.GradScaler", "paddle.static.amp.decorate"}
)


def turns_on_amp(scopes: FileScopes) -> bool:
    """Whether a file's own code runs something under AMP, or hands ``amp_configs`` to ``Model.prepare``."""
    for scope in scopes.scopes:
        for statement in scope.statements:
            for call in statement.calls:
                name = dotted(call.func)
                if name is not None and scopes.names.resolve(name) in _AMP_CALLS and not _disabled(call):
                    return True
                if (
                    name is not None
                    and name.endswith(".prepare")
                    and any(k.arg == "amp_configs" for k in call.keywords)
                ):
                    return True
    return False


def _disabled(call: ast.Call) -> bool:
    values = [keyword.value for keyword in call.keywords if keyword.arg == "enable"] + call.args[:1]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)


def applications(
    amp_files: Iterable[tuple[str, ...]], packages: frozenset[tuple[str, ...]]
) -> frozenset[tuple[str, ...]]:
    """The directories (as path parts) whose files are trained under AMP.

    A trainer inside a package trains that package: the whole package counts.  A script beside its models counts
    for its own directory and those below it; AMP in one application of a repository says nothing about another.

    Args:
        amp_files: path parts of the files that turn AMP on.
        packages: path parts of the directories that hold an ``__init__.py``.
    """
    found = set()
    for parts in amp_files:
        directory = parts[:-1]
        while directory[:-1] in packages and len(directory) > 1:
            directory = directory[:-1]
        if directory:
            found.add(directory)
        else:
            found.add(())
    return frozenset(found)


def is_under(parts: tuple[str, ...], directories: frozenset[tuple[str, ...]]) -> bool:
    """Whether a file lies in one of the directories or below it."""
    return any(parts[:length] in directories for length in range(len(parts)))
