"""Opening a project: the one place where what is asked about it is put together."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.configuration.settings import Settings
from perflint.dataflow.resolving import Resolving
from perflint.index.project import Project
from perflint.text.source import Source


def opened(sources: Mapping[str, Source], settings: Settings | None = None) -> Project:
    """A project that questions can be asked about.

    Args:
        sources: every readable file by path.
        settings: of the run (default: those of a run without configuration).
    """
    project = Project(sources, settings)
    project.resolving = Resolving.of(project)
    return project
