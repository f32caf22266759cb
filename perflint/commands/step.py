"""``perflint step``: what each training step does, in order, as far as the source shows it."""

from __future__ import annotations

import argparse
import json

from perflint.commands.read_files import read
from perflint.commands.step_against import against
from perflint.flow.resolving import opened
from perflint.inputs.projects import split
from perflint.output.console import Console
from perflint.output.step_page import step_page
from perflint.output.step_text import as_json, text
from perflint.run.engine import undisturbed
from perflint.trace.step_trace import StepTrace, traces


def run(options: argparse.Namespace, console: Console) -> int:
    """Show the steps of the files and directories that are named; return 0.

    Raises:
        CommandError: a path does not exist, or the configuration cannot be used.
    """
    batch = read(options)
    if options.against is not None:
        return against(options, batch, console)
    found: list[StepTrace] = []
    with undisturbed():
        for sources in split(batch.sources).projects:
            found += (
                each
                for each in traces(opened(sources, batch.settings))
                if each.place.file.path not in batch.paths.hidden
            )
    names = batch.paths.names
    if options.output_format == "json":
        console.write(json.dumps([as_json(trace, names) for trace in found], indent=2, ensure_ascii=False) + "\n")
    elif options.output_format == "html":
        console.write(step_page(found, names))
    else:
        console.write("\n".join(text(trace, names) for trace in found))
    if not found:
        console.note("No training step was found: name the files with the loop that trains, and those it calls.")
    return 0
