"""Opening a project: the one place where what is asked about it is put together."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.configuration.settings import DeclaredCall
from perflint.dataflow.resolving import Resolving
from perflint.index.project import Project
from perflint.text.source import Source


def opened(sources: Mapping[str, Source], loaders: Mapping[str, DeclaredCall] | None = None) -> Project:
    """A project that questions can be asked about.

    Args:
        sources: every readable file by path.
        loaders: the functions that make loaders, by qualified name, as the configuration declares them.
    """
    project = Project(sources, loaders)
    project.resolving = Resolving.of(project)
    return project
