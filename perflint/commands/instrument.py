"""``perflint instrument``: put profiler or NVTX ranges around the parts of training steps, or take them out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perflint.commands import CommandError, as_command_error
from perflint.commands.read_files import resolve_settings
from perflint.commands.write_fixes import print_diff, write_source
from perflint.files.plain_files import absolute, from_here, project_around
from perflint.fix.fixer import spliced
from perflint.flow.resolving import opened
from perflint.inputs.projects import split
from perflint.output.console import Console
from perflint.ranges.inserting import (
    TRACES,
    CannotPlace,
    CannotRemove,
    Instrumented,
    Recording,
    instrumented,
    is_instrumented,
    removal,
)
from perflint.run import discovery
from perflint.run.engine import undisturbed
from perflint.text.source import Source, UnreadableSource, read
from perflint.text.visible import listed

_SHOWN = 5


def run(options: argparse.Namespace, console: Console) -> int:
    """Show the change as a diff, or make it (``--write``); return 0.

    Raises:
        CommandError: the file cannot be read or written, or contains no training step or no ranges.
    """
    path: Path = options.file
    if not path.is_file():
        raise CommandError(f"{path} is not a file: name the file with the training loop")
    with as_command_error(UnreadableSource, place=f"{path}: "):
        source = read(path)
    text, said = _without_ranges(source) if options.remove else _with_ranges(options, source)
    after = Source(source.path, text, source.encoding, source.bom)
    if options.write:
        if not write_source(source, after, console):
            raise CommandError(f"{path} was not written")
    else:
        print_diff(options, {source.path: source}, {source.path: after}, console)
    for line in said:
        console.note(line)
    if not options.write:
        console.note("Nothing was written: --write makes this change.")
    return 0


def _without_ranges(source: Source) -> tuple[str, list[str]]:
    with as_command_error(CannotRemove, place=f"{source.path}: "):
        edits = removal(source.text)
    if not edits:
        raise CommandError(f"{source.path} contains no ranges of perflint: there is nothing to remove")
    return spliced(source.text, 0, len(source.text), edits), []


def _with_ranges(options: argparse.Namespace, source: Source) -> tuple[str, list[str]]:
    if is_instrumented(source.text):
        raise CommandError(
            f"{source.path} already contains ranges of perflint: remove them first, with --remove --write"
        )
    recording = Recording(options.skip, options.steps, options.nvtx)
    sources, path = _project(options, source)
    project = opened(sources)
    try:
        with undisturbed():
            found = instrumented(project.files[path], recording)
    except CannotPlace as error:
        broken = project.broken.get(path)
        why = f"it does not parse: {broken}" if broken is not None else str(error)
        raise CommandError(f"{source.path} was left unchanged: {why}") from error
    return found.text, _said(source.path, found, recording)


def _project(options: argparse.Namespace, source: Source) -> tuple[Mapping[str, Source], str]:
    """The files of the project by absolute path, which show what calls reach; and the absolute path of the file."""
    given = Path(source.path)
    settings = resolve_settings(options, [given])
    found = discovery.python_files([project_around(given)], settings).files
    real = given.resolve()
    path = next((str(file) for file in found if file.resolve() == real), absolute(given))
    sources, _ = discovery.read_all(file for file in found if str(file) != path)
    sources[path] = replace(source, path=path)
    return next(project for project in split(sources).projects if path in project), path


def _said(path: str, found: Instrumented, recording: Recording) -> list[str]:
    """What was inserted where, and what to do with it."""
    loops = ", ".join(f"line {row}" for row in found.loops)
    functions = ", ".join(f"line {row}" for row in found.functions)
    places = [f"the step loop of {loops}" if loops else "", f"the functions of {functions}" if functions else ""]
    lines = [f"{path}: ranges {', '.join(found.ranges)} in {' and '.join(filter(None, places))}."]
    lines += found.notes
    if found.elsewhere:
        others = [str(from_here(Path(other))) for other in found.elsewhere]
        lines.append(f"Parts of the step are in {listed(others, _SHOWN)}: instrument that too.")
    first, last = recording.skip + 1, recording.skip + recording.steps
    if not found.loops:
        lines.append("The loop that calls them is in another file, which starts the profiler: instrument that too.")
    elif recording.nvtx:
        capture = "nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi"
        lines.append(f"Record steps {first} to {last} with: {capture} python {path}")
    else:
        lines.append(f"A run records steps {first} to {last} into {TRACES}/, for chrome://tracing or ui.perfetto.dev.")
    return lines
