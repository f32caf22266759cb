"""Where ``perflint check`` writes its findings: standard output, files, or several of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perflint.commands import CommandError
from perflint.files.plain_files import outside, project_around
from perflint.files.writing import is_stream, write_whole
from perflint.output.formats import FOR_PEOPLE
from perflint.run import discovery

STANDARD = "-"
WITH_STATISTICS = (*FOR_PEOPLE, "json")


@dataclass(frozen=True)
class Output:
    """One report: a format, and a place to write it to (a path, or ``-`` for standard output).

    ``option`` is the option that the user gave, for error messages. One output of a run is the ``main`` one, which
    shows statistics if requested.
    """

    format: str
    place: str
    option: str
    main: bool = False

    def write(self, chunks: Iterable[str]) -> None:
        """Write the whole file, or leave the old one unchanged.

        Raises:
            CommandError: it cannot be written.
        """
        try:
            write_whole(Path(self.place), "".join(chunks).encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise CommandError(f"{self.option} cannot be written: {error.strerror or error}") from error


def wanted(options: argparse.Namespace) -> list[Output]:
    """All outputs of a run, with the one for standard output first.

    An ``--output`` to ``-`` replaces the usual report on standard output.

    Raises:
        CommandError: two outputs have the same place, a place cannot be written, or another option rules them out.
    """
    outputs = [Output(name, place, f"--output {name}:{place}") for name, place in options.output]
    taken = next((output for output in outputs if output.place == STANDARD), None)
    if taken is not None and not options.output_format and not options.output_file:
        outputs[outputs.index(taken)] = Output(taken.format, STANDARD, taken.option, main=True)
    else:
        outputs.append(_main(options))
    _refuse(options, outputs)
    return sorted(outputs, key=lambda output: output.place != STANDARD)


def _main(options: argparse.Namespace) -> Output:
    name = options.output_format or "full"
    if options.output_file:
        return Output(name, str(options.output_file), f"--output-file {options.output_file}", main=True)
    return Output(name, STANDARD, f"--output-format {name}", main=True)


def _refuse(options: argparse.Namespace, outputs: list[Output]) -> None:
    if options.diff and options.output:
        raise CommandError(
            "--diff shows what --fix would change and reports no findings, so there is nothing to write with --output: "
            "leave out one of the two"
        )
    for output in outputs:
        if options.group_by != "none" and output.main and (options.statistics or output.format not in FOR_PEOPLE):
            what = "--statistics" if options.statistics else output.option
            raise CommandError(f"{what} cannot show groups: leave out --group-by, or use {' or '.join(FOR_PEOPLE)}")
        if options.statistics and output.main and output.format not in WITH_STATISTICS:
            raise CommandError(
                f"{output.option} cannot show statistics: use {', '.join(WITH_STATISTICS[:-1])} or "
                f"{WITH_STATISTICS[-1]}; --output FORMAT:FILE writes the findings to a file as well"
            )
    _refuse_places(outputs)


def _refuse_places(outputs: list[Output]) -> None:
    seen: dict[str, Output] = {}
    for output in outputs:
        place = output.place if output.place == STANDARD else os.path.realpath(output.place)
        if place in seen:
            what = "standard output" if place == STANDARD else "one file"
            raise CommandError(f"{seen[place].option} and {output.option} both write to {what}: use different ones")
        seen[place] = output
        if output.place != STANDARD:
            _refuse_place(output)


def _refuse_place(output: Output) -> None:
    """Raise an error for a place that cannot be written, before a long check instead of after it."""
    path = Path(output.place)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # for example a name that is too long
        raise CommandError(f"{output.option} cannot be written: {error.strerror or error}") from error
    if path.is_dir():
        raise CommandError(f"{output.option} cannot be written: {path} is a directory: name a file in it")
    insist_inside(output.option, path)
    # for example --output-file train.py, where the output file was forgotten
    if path.suffix == discovery.SUFFIX and path.exists():
        raise CommandError(f"{output.option} would replace {path}, which is Python code: name another file")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{output.option} cannot be written: there is no directory {path.parent}: create it first")


def insist_inside(option: str, path: Path) -> None:
    """Raise an error if a path in a project leads out of it through a link, which anybody may have committed.

    Raises:
        CommandError: it does; the user can name the outside path directly.
    """
    elsewhere = None if is_stream(path) else outside(path, project_around(path))
    if elsewhere is not None:
        raise CommandError(
            f"{option} would write {elsewhere}, which is outside of the project: {path} leads there through a link. "
            f"Remove the link, or name {elsewhere} itself"
        )
