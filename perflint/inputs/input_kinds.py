"""The kinds of files besides Python that provide facts, as read by a run and watched by ``--watch``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perflint.inputs import input_files
from perflint.inputs.input_files import InputKind, Inputs
from perflint.inputs.requirements import REQUIREMENTS

KINDS: tuple[InputKind[Any], ...] = (REQUIREMENTS,)
"""All kinds."""


def read_inputs(paths: Iterable[str], root: Path) -> Inputs:
    """Read the files of all kinds that belong to the checked files.

    Args:
        paths: the paths of the checked files.
        root: the directory of the configuration.
    """
    return input_files.read(KINDS, paths, root)


def patterns() -> list[str]:
    """Patterns for the paths of all such files, for editors to watch."""
    return [f"**/{place}" for kind in KINDS for place in kind.places]
