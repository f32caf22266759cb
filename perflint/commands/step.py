"""``perflint step``: what each training step does, in order, by the programs that reach it.

``--against REV`` shows what the working tree adds to the steps of a revision, and takes from them; ``perflint check
--changed-since REV`` uses the same differences. The revision is read from git; nothing is checked out.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perflint.commands import CommandError, as_command_error
from perflint.commands.read_files import STDIN, Batch, common_directory, read, reads_imports_only
from perflint.configuration.settings import Settings
from perflint.files.plain_files import from_here
from perflint.flow.resolving import opened
from perflint.inputs.git import FilesThen, GitError
from perflint.inputs.launch_lines import LaunchLine, lines_by_file
from perflint.inputs.patterns import Patterns, relative
from perflint.inputs.projects import common_root, imported_files, project_top, split
from perflint.output.console import Console
from perflint.output.step_page import step_page
from perflint.output.step_text import difference_json, difference_text, programs_json, programs_text, unreached_text
from perflint.run.discovery import SUFFIX
from perflint.run.engine import undisturbed
from perflint.text.source import Source, UnreadableSource, decode
from perflint.text.source import read as read_source
from perflint.trace.difference import SeenEvent, differences
from perflint.trace.hot_path import note
from perflint.trace.started import Programs, programs_of
from perflint.trace.step_trace import StepTrace, reached, traces

_NO_STEP = "No training step was found: name the files with the loop that trains, and those it calls."


def run(options: argparse.Namespace, console: Console) -> int:
    """Show the steps of the files and directories that are named; return 0.

    Raises:
        CommandError: a path does not exist, or the configuration cannot be used.
    """
    batch = read(options)
    if options.against is not None:
        return against(options, batch, console)
    with undisturbed():
        shown = [_shown(found, batch) for found in _found(batch)]
    found = Programs(
        [program for each in shown for program in each.programs], [step for each in shown for step in each.unreached]
    )
    names = batch.paths.names
    if options.output_format == "json":
        console.write(json.dumps(programs_json(found, names), indent=2, ensure_ascii=False) + "\n")
    elif options.output_format == "html":
        console.write(step_page(found.steps, names))
    else:
        console.write(unreached_text(found, names) if options.unreached else programs_text(found, names))
    _close(found, console, is_listed=options.unreached)
    return 0


def _found(batch: Batch) -> Iterator[Programs]:
    """The programs of each project that was read."""
    for sources in split(batch.sources).projects:
        project = opened(sources, batch.settings)
        found = list(traces(project))
        for trace in found:
            note(trace)
        yield programs_of(project, found, _lines(sources, batch), is_whole=batch.settings.whole_project)


def _lines(sources: Mapping[str, Source], batch: Batch) -> Mapping[str, Sequence[LaunchLine]]:
    """The lines of the project that start its files."""
    top = project_top(Path(common_root(sources) or Path.cwd()), batch.settings.root.resolve())
    return lines_by_file(top, sources)


def _shown(found: Programs, batch: Batch) -> Programs:
    """The programs in the files that were named, and the unreached steps there."""
    hidden = batch.paths.hidden
    return Programs(
        [each for each in found.programs if each.file.path not in hidden],
        [each for each in found.unreached if each[0].place.file.path not in hidden],
    )


def _close(found: Programs, console: Console, *, is_listed: bool) -> None:
    """Say what is not shown."""
    left = len(found.unreached)
    if not any(program.steps for program in found.programs) and not left:
        console.note(_NO_STEP)
    elif left and not is_listed:
        console.note(
            f"No program reaches {left} more step{'s' if left > 1 else ''}: perflint step --unreached lists them."
        )


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
        console.note(_NO_STEP)
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
    known = _steps(before.sources, frozenset(), now.settings)
    changes = (each for step in differences(known, found) if step.before and step.after for each in step.events)
    return [met for each in changes if each.is_more for met in each.after]


def _files_of(trace: StepTrace) -> set[str]:
    """The files with code that a step runs, as far as calls can be followed."""
    return {trace.place.file.path, *(each.function.file.path for each in reached(trace.nodes))}


def _steps(sources: Mapping[str, Source], hidden: frozenset[str], settings: Settings) -> list[StepTrace]:
    """The steps of some files, project by project."""
    projects = (opened(files, settings) for files in split(sources).projects)
    return [each for project in projects for each in traces(project) if each.place.file.path not in hidden]


# The files of a run as they were in a revision of git, to compare what their steps do.


@dataclass(frozen=True)
class RunReads:
    """What a run reads now, and why.

    ``paths``: those that were named. ``hidden``: files that are read, but not reported. ``imports_only``: single files
    were named, and are read together with what they import.
    """

    sources: Mapping[str, Source]
    paths: Sequence[Path]
    hidden: frozenset[str]
    settings: Settings
    imports_only: bool


@dataclass(frozen=True)
class SourcesThen:
    """The files of a run in a revision. ``changed``: the paths of the run's own files that are different now."""

    sources: Mapping[str, Source]
    hidden: frozenset[str]
    changed: frozenset[str]


def sources_then(now: RunReads, then: FilesThen) -> SourcesThen:
    """The files that the same run would have read in a revision.

    Raises:
        git.GitError: git cannot read a file.
    """
    changed = frozenset(path for path in now.sources if then.is_changed(path))
    found = {path: source for path, source in now.sources.items() if path not in changed}
    hidden = set(now.hidden)
    for path in changed:
        found |= _decoded(path, then)
    for path in _gone(now, then):
        if path not in now.sources:
            found |= _decoded(path, then)
            hidden |= {path} if now.imports_only else set()
    if now.imports_only:
        texts = {os.path.realpath(path): source.text for path, source in found.items()}
        for other in imported_files([Path(path) for path in found], now.settings.root, texts):
            if str(other) not in found and not then.is_changed(str(other)):
                found |= _on_disk(other)
                hidden.add(str(other))
    return SourcesThen({path: found[path] for path in sorted(found)}, frozenset(hidden), changed)


def is_other_code(source: Source, then: FilesThen) -> bool:
    """Whether a file had other code in a revision, and not only other comments and blank rows.

    Raises:
        git.GitError: git cannot read the file.
    """
    if not then.is_changed(source.path):
        return False
    before = _decoded(source.path, then).get(source.path)
    try:
        return before is None or ast.dump(ast.parse(before.text)) != ast.dump(ast.parse(source.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _decoded(path: str, then: FilesThen) -> dict[str, Source]:
    """A file of the revision; nothing if it did not exist, or is no text that Python can decode."""
    data = then.data(path)
    try:
        return {} if data is None else {path: decode(path, data)}
    except UnreadableSource:
        return {}


def _on_disk(path: Path) -> dict[str, Source]:
    try:
        return {str(path): read_source(path)}
    except UnreadableSource:
        return {}


def _gone(now: RunReads, then: FilesThen) -> Iterable[str]:
    """The files that a run of the revision would also have read: those below a directory that was named.

    Where only single files were named, one of them may have imported any file that is gone.
    """
    excluded = Patterns((*now.settings.exclude, *now.settings.extend_exclude))
    directories = {os.path.realpath(path): path for path in now.paths if path.is_dir()}
    for real in sorted(then.changed):
        if real.suffix != SUFFIX or real.exists() or excluded.covers(relative(str(real), str(now.settings.root))):
            continue
        around = next((each for each in directories if real.is_relative_to(each)), None)
        if around is not None:
            yield str(directories[around] / real.relative_to(around))
        elif now.imports_only:
            yield str(from_here(real))
