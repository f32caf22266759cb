"""The kinds of files that facts are drawn from, besides Python: what a run reads of them, and what a watch looks at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perflint.inputs import input_files
from perflint.inputs.input_files import InputKind, Inputs
from perflint.inputs.requirements import REQUIREMENTS

KINDS: tuple[InputKind[Any], ...] = (REQUIREMENTS,)
"""All of them."""


def read_inputs(paths: Iterable[str], root: Path) -> Inputs:
    """What the files of all kinds say that belong to the checked files.

    Args:
        paths: of the files that are checked.
        root: the directory of the configuration.
    """
    return input_files.read(KINDS, paths, root)


def patterns() -> list[str]:
    """Patterns for the paths of all such files, as editors are asked to watch them."""
    return [f"**/{place}" for kind in KINDS for place in kind.places]
