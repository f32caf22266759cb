"""A part of the index answers one kind of question about a project, such as who calls a function."""

from __future__ import annotations

from typing import TypeVar

from perflint.index.project import Project

P = TypeVar("P", bound="Part")


class Part:
    """Answers questions about one project, cached in the project's memory. Each project has one instance of each class.

    Args:
        project: the project.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self.memory = project.memory

    @classmethod
    def of(cls: type[P], project: Project) -> P:
        """The instance of this class that belongs to a project."""
        known = project.parts.get(cls)
        if known is None:
            known = project.parts[cls] = cls(project)
        return known
