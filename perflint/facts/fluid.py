"""Handles code for ``paddle.fluid``: the Paddle that it runs on, and the names that differ there.

``paddle.fluid`` was all of Paddle 1.x, coexisted with the new names in 2.0 to 2.4, and was removed in 2.5.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perflint.query import query

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

FLUID = "paddle.fluid"
GONE = "2.5"
"""The first Paddle without it."""
NO_CLONE = "tensors have `clone` since Paddle 2.0: where nothing changes them in place, `.detach()` is enough"
"""Why no edit with ``.clone()`` is offered to code for Paddle 1.x."""
_OF_PADDLE_2 = re.compile(
    r"\b(?:paddle\.|from[ \t]+paddle[ \t]+import\b[^\n#]*?\b)"
    r"(?:nn|to_tensor|no_grad|vision|set_device|Model|io|optimizer|static|jit|amp|metric|load|save|disable_static"
    r"|enable_static|grad|DataParallel)\b"
)


@query
def imports_fluid(file: FileIndex) -> bool:
    """Whether a file imports ``paddle.fluid`` or a part of it."""
    return fluid_row(file) > 0


def fluid_row(file: FileIndex) -> int:
    """The row of the first import of ``paddle.fluid`` that does not depend on the version of Paddle; 0 without one.

    An import under ``try`` or ``if`` may belong to a program for several releases.
    """
    if not file.has_words("fluid"):
        return 0
    imports = (node for node in file.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    return next((node.lineno for node in imports if _names_fluid(node)), 0)


def _names_fluid(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    else:
        module = "" if node.level else node.module or ""
        named = [f"{module}.{alias.name}" for alias in node.names]
    return any(f"{name}.".startswith(f"{FLUID}.") for name in named)


@query
def _knows_paddle_2(file: FileIndex) -> bool:
    """Whether a file uses a name that came with Paddle 2.0, such as ``paddle.nn``."""
    return file.matches(_OF_PADDLE_2)


def is_for_paddle_1(files: Iterable[FileIndex]) -> bool:
    """Whether some files of one program are for Paddle 1.x: they import ``paddle.fluid``, and nothing of Paddle 2."""
    distinct = list(dict.fromkeys(files))
    return any(map(imports_fluid, distinct)) and not any(map(_knows_paddle_2, distinct))
