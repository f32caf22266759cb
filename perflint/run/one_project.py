"""Turns the sources of one project into findings, in this process or in several."""

from __future__ import annotations

from collections.abc import Mapping

from perflint import catalogue
from perflint.configuration import selection
from perflint.configuration.settings import Settings
from perflint.dataflow.opening import opened
from perflint.findings import Finding
from perflint.lint import messages
from perflint.run.examination import Done, Examination
from perflint.run.processes import can_fork
from perflint.text.source import Source

PARALLEL_FROM = 24
"""With fewer files, starting processes costs more than it saves."""


def examine(
    sources: Mapping[str, Source],
    settings: Settings,
    codes: frozenset[str],
    jobs: int = 1,
    gated: bool = True,
    done: Done = lambda _: None,
    last: bool = False,
) -> tuple[list[Finding], dict[str, Exception]]:
    """The findings of one project before they are filtered, and the errors of files that do not parse.

    Args:
        sources: the files of the project by path.
        jobs: the number of processes to use, including this one.
        gated: parse only what can contain a finding.
        done: called as files are finished.
        last: the process ends after this, so nothing has to be freed.
    """
    project = opened(sources, settings)
    rules = catalogue.shipped()
    examination = Examination(project, settings, selection.with_waits(codes, rules), gated)
    jobs = min(jobs, len(sources) // (PARALLEL_FROM // 2)) if can_fork() else 1
    try:
        if jobs > 1:
            from perflint.run.together import Together  # imported late: most runs have one project and one process

            drafts, broken = Together(examination, jobs - 1, done).find()
        else:
            drafts, broken = examination.find(done)
        found = messages.write(drafts, rules, settings)
        return [finding for finding in found if finding.code in codes], broken
    finally:
        if not last:
            project.close()
