"""Parts of the index: each has the memory of its project, whatever its own ``__init__`` does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perflint.index.project import Part, Project
from perflint.rules import load_checks


def _classes(base: type[Part]) -> Iterator[type[Part]]:
    for owner in base.__subclasses__():
        yield owner
        yield from _classes(owner)


def _parts() -> list[type[Part]]:
    load_checks()
    return sorted(_classes(Part), key=lambda owner: owner.__qualname__)


@pytest.mark.parametrize("part", _parts())
def test_a_part_has_the_memory_of_its_project(part: type[Part]) -> None:
    project = Project({})
    assert part.of(project).memory is project.memory
    assert part.of(project) is part.of(project)
