"""``perflint step``: what each training step does, in order, by the programs that reach it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perflint.commands.read_files import Batch, read
from perflint.commands.step_against import against
from perflint.flow.resolving import opened
from perflint.inputs.launch_lines import LaunchLine, lines_by_file
from perflint.inputs.projects import common_root, project_top, split
from perflint.output.console import Console
from perflint.output.program_text import programs_json, programs_text, unreached_text
from perflint.output.step_page import step_page
from perflint.run.engine import undisturbed
from perflint.text.source import Source
from perflint.trace.started import Programs, programs_of
from perflint.trace.step_trace import traces


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
        yield programs_of(project, traces(project), _lines(sources, batch), is_whole=batch.settings.whole_project)


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
        console.note("No training step was found: name the files with the loop that trains, and those it calls.")
    elif left and not is_listed:
        console.note(
            f"No program reaches {left} more step{'s' if left > 1 else ''}: perflint step --unreached lists them."
        )
