"""``perflint step --against REV``: what the working tree adds to the steps of a revision, and takes from them.

``perflint check --changed-since REV`` uses the same differences. The revision is read from git; nothing is checked out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perflint.commands import CommandError, as_command_error
from perflint.commands.read_files import STDIN, Batch, common_directory, reads_imports_only
from perflint.configuration.settings import Settings
from perflint.flow.resolving import opened
from perflint.inputs.git import FilesThen, GitError
from perflint.inputs.projects import split
from perflint.output.console import Console
from perflint.output.difference_text import difference_json, difference_text
from perflint.run.discovery import SUFFIX
from perflint.run.engine import undisturbed
from perflint.run.sources_then import RunReads, is_other_code, sources_then
from perflint.text.source import Source
from perflint.trace.difference import SeenEvent, differences
from perflint.trace.step_trace import StepTrace, reached, traces


def against(options: argparse.Namespace, batch: Batch, console: Console) -> int:
    """Show how the steps differ; return 1 with ``--fail-on-more`` if a step has more of something than before, else 0.

    Raises:
        CommandError: git cannot read the revision.
    """
    if batch.piped is not None:
        raise CommandError("--against compares files: standard input (-) has no revision")
    revision: str = options.against
    with as_command_error(GitError, place=f"--against {revision}: "):
        then = files_then(options.paths, batch.sources, revision)
        before = sources_then(reading(options, batch), then)
    with undisturbed():
        settings = batch.settings
        now = _steps(batch.sources, batch.paths.hidden, settings)
        found = differences(_steps(before.sources, before.hidden, settings), now)
    names = batch.paths.names
    if options.output_format == "json":
        shown = {"against": revision, "steps": [difference_json(each, names) for each in found]}
        console.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    else:
        console.write(difference_text(found, names, revision))
    if not found:
        console.note("No training step was found: name the files with the loop that trains, and those it calls.")
    return 1 if options.fail_on_more and any(each.is_more for each in found) else 0


def files_then(paths: Sequence[Path], sources: Iterable[str], revision: str) -> FilesThen:
    """The files around some paths, those of a run, as they were in a revision.

    Raises:
        GitError: git cannot read the revision.
    """
    start = common_directory([path for path in paths if path != STDIN] or [Path()])
    return FilesThen(start, revision, [f"*{SUFFIX}"] if all(path.endswith(SUFFIX) for path in sources) else [])


def reading(options: argparse.Namespace, batch: Batch) -> RunReads:
    """What a run reads, and why."""
    paths: list[Path] = options.paths or [options.stdin_filename or Path()]
    alone = reads_imports_only(paths, batch.settings)
    return RunReads(batch.sources, paths, batch.paths.hidden, batch.settings, alone)


def newly_met(now: RunReads, then: FilesThen) -> list[SeenEvent]:
    """The events that steps of a run meet now, or meet more often, and did not meet in a revision.

    Only projects with changes in files that their steps reach are compared.

    Raises:
        GitError: git cannot read the revision.
    """
    changed = {path for path, source in now.sources.items() if is_other_code(source, then)}
    projects = [files for files in split(now.sources).projects if not changed.isdisjoint(files)]
    found = [trace for files in projects for trace in traces(opened(files, now.settings))]
    reaching = [trace for trace in found if not changed.isdisjoint(_files_of(trace))]
    if not reaching:
        return []
    before = sources_then(now, then)
    known = [trace for files in split(before.sources).projects for trace in traces(opened(files, now.settings))]
    changes = (each for step in differences(known, found) if step.before and step.after for each in step.events)
    return [met for each in changes if each.is_more for met in each.after]


def _files_of(trace: StepTrace) -> set[str]:
    """The files with code that a step runs, as far as calls can be followed."""
    return {trace.place.file.path, *(each.function.file.path for each in reached(trace.nodes))}


def _steps(sources: Mapping[str, Source], hidden: frozenset[str], settings: Settings) -> list[StepTrace]:
    """The steps of some files, project by project."""
    projects = (opened(files, settings) for files in split(sources).projects)
    return [each for project in projects for each in traces(project) if each.place.file.path not in hidden]
