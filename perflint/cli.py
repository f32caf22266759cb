"""The command line.  Commands, and all that is heavy, are imported only when they are asked for."""

from __future__ import annotations

from perflint.search_path import leave_out_current_directory

if __name__ == "__main__":  # ``python -m perflint.cli``, before anything else is imported
    leave_out_current_directory()

import argparse
import atexit
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from perflint.commands import CommandError, internal_error, is_debugging
from perflint.commands.ending import Terminated, in_order
from perflint.output.console import complain
from perflint.output.formats import FORMATS
from perflint.text.visible import visible

CLEAN, FOUND, FAILED = 0, 1, 2
"""Exit status: nothing (left) to report; findings; perflint could not do its work."""

_INTERRUPTED = 130
_TERMINATED = 143

_MAY_HAVE_VALUE = ("--add-noqa", "--write-baseline")
"""Options of ``check`` whose value, if there is one, follows a ``=``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``perflint`` with these arguments (default: those of the process) and give its exit status."""
    own, of_script = _of_script(sys.argv[1:] if argv is None else argv)
    options = _parser().parse_args(_with_values(own))
    options.arguments = of_script
    stays = getattr(options, "watch", False) or options.command == "server"
    options.is_program = argv is None and not stays  # it ends after one run
    if options.is_program:
        gc.disable()  # what a run makes stays until it ends: looking for garbage in it costs a fifth of the run
    if argv is None:
        atexit.register(gc.freeze)  # nor at the end
    try:
        with nullcontext() if options.command == "server" else in_order():
            return _run(options)
    except CommandError as error:
        complain(str(error), error.more)
    except Terminated:
        return _TERMINATED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # the last resort: a person gets a sentence, not a traceback
        if is_debugging():
            raise
        print(internal_error(error), file=sys.stderr)
    return FAILED


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options that these arguments stand for, for a program that runs a command by itself."""
    options = _parser().parse_args(arguments)
    options.is_program = False
    return options


def _run(options: argparse.Namespace) -> int:
    """Run a command: a module with ``run(options)``, which gives the exit status."""
    name = "version" if options.version else options.command
    if name is None:
        _parser().print_help(sys.stderr)
        return FAILED
    place = "perflint.server.command" if name == "server" else f"perflint.commands.{name}"
    status: int = import_module(place).run(options)
    return status


class _Parser(argparse.ArgumentParser):
    """Shows a wrong argument, which may be the name of a file, without doing what it says to terminals."""

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, and end."""
        super().error(visible(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="perflint",
        description="Find the lines of PaddlePaddle training code that cost speed, and the edit that wins it back.",
        epilog="Exit status: 0 nothing to report, 1 findings, 2 perflint could not do its work.",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_check(commands.add_parser("check", help="check files and directories"))
    _add_rule(commands.add_parser("rule", help="explain a rule, or list all rules"))
    _add_bench(commands.add_parser("bench", help="RUN a training script before and after its fixes, and compare"))
    _add_config(commands.add_parser("config", help="show the settings of a run and where each comes from"))
    commands.add_parser("clean", help="remove what earlier runs have kept to be faster")
    _add_server(commands.add_parser("server", help="show findings in an editor (Language Server Protocol)"))
    return parser


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", type=Path, metavar="PATH", help="file or directory (default: .), or - for standard input")
    add("--fix", action="store_true", help="apply safe fixes and report what remains")
    add("--unsafe-fixes", action="store_true", help="with --fix or --diff: unsafe fixes too; alone: count them in")
    add("--diff", action="store_true", help="show what --fix would change, write nothing; exit 1 if there is a change")
    _add_settings(parser)
    _add_outputs(parser)
    add("--statistics", action="store_true", help="show how often each rule speaks instead of the findings")
    add("--stdin-filename", type=Path, metavar="PATH", help="the name that standard input goes by")
    add("--force-exclude", action="store_true", help="exclude also files that are named on the command line")
    _add_old_code(parser)
    add("--exit-zero", action="store_true", help="exit 0 even if there are findings")
    add("-q", "--quiet", action="store_true", help="show findings and errors only")
    add("-j", "--jobs", type=_positive, metavar="N", help="processes to use (default: one for each available core)")
    add("--no-cache", action="store_true", help="neither read nor write a cache")
    add("--watch", action="store_true", help="check again when a file or the configuration changes, until Ctrl-C")
    add("--timing", action="store_true", help="show where the time went (uses one process and no cache)")


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    named = ", ".join(FORMATS)
    add("--output-format", choices=FORMATS, metavar="FORMAT", help=f"how findings are shown: {named} (default: full)")
    add("--output-file", type=Path, metavar="FILE", help="write the findings there instead of standard output")
    where = "also write the findings to FILE in this format, - for standard output (repeatable)"
    add("--output", type=_output, action="append", default=[], metavar="FORMAT:FILE", help=where)


def _add_old_code(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("old code").add_argument
    add("--add-noqa", nargs="?", metavar="REASON", help="silence findings with # noqa (a reason is given as =REASON)")
    add("--changed-since", metavar="REV", help="show what the changes since a git revision (REV..., a branch) lead to")
    add("--baseline", type=Path, metavar="FILE", help="leave out the findings that FILE lists")
    add("--no-baseline", action="store_true", help="report them all the same")
    where = "list all findings in a file, given as =FILE (default: that of --baseline, or perflint-baseline.json)"
    add("--write-baseline", nargs="?", metavar="FILE", help=where)


def _add_rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", metavar="CODE|NAME", help="the rule; without it, one line for each rule")
    parser.add_argument("--all", action="store_true", help="explain all rules")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", type=Path, default=Path(), help="the code to be checked (default: .)")
    _add_settings(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--stdio", action="store_true", help="speak through standard input and output (the default)")
    group.add_argument(
        "--tcp", type=int, nargs="?", const=0, metavar="PORT", help="listen on this port of 127.0.0.1 (default: any)"
    )


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.usage = "perflint bench [OPTIONS] SCRIPT [-- ARGS]"
    parser.description = (
        "Run a training script in copies of its project, as it is and with its fixes, and compare their speed. This "
        "is the one command that RUNS the code it is given. Arguments of the script follow --."
    )
    add = parser.add_argument
    add("script", type=Path, metavar="SCRIPT", help="the script that trains")
    add("--steps", type=_count(1), default=50, metavar="N", help="steps to measure in each run (default: 50)")
    add("--warmup", type=_count(1), default=10, metavar="N", help="steps before those (default: 10)")
    add("--rounds", type=_count(3), default=5, metavar="N", help="runs of each variant (default: 5, at least 3)")
    add(
        "--by",
        choices=("fix", "rule", "all"),
        help="beside all fixes together: each fix (the default for up to 7), the fixes of each rule, or nothing else",
    )
    add("--unsafe-fixes", action="store_true", help="make unsafe fixes too")
    add(
        "--time-limit",
        type=_count(1),
        default=1800,
        metavar="SECONDS",
        help="of all runs together (default: 1800); the rounds that are over by then are compared",
    )
    add("--no-seed", action="store_true", help="leave the seeds alone (default: fixed, so that losses can be compared)")
    add("--python", metavar="EXE", help="the interpreter that runs the script (default: that of perflint)")
    add("--json", type=Path, metavar="FILE", help="write all measured steps there")
    add("--html", type=Path, metavar="FILE", help="write a page with plots there")
    _add_settings(parser)


def _count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small: at least {least}")
        return value

    return number


def _add_settings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("settings")
    for name, what in (
        ("--select", "use these rules instead of the default ones"),
        ("--ignore", "leave these rules out"),
        ("--extend-select", "use these rules besides the others"),
    ):
        group.add_argument(name, type=_names, action="extend", metavar="RULES", help=f"{what} (codes, prefixes, names)")
    group.add_argument(
        "--min-confidence", choices=("low", "medium", "high"), help="report what perflint is at least so sure of"
    )
    group.add_argument("--min-impact", choices=("low", "medium", "high"), help="report what can cost at least so much")
    group.add_argument(
        "--context", type=Path, action="append", metavar="DIR", help="read its files too, to understand those of PATH"
    )
    group.add_argument(
        "--no-context", dest="context", action="store_const", const=[], help="read nothing but PATH (undoes --context)"
    )
    group.add_argument("--config", type=Path, metavar="FILE", help="a pyproject.toml or perflint.toml to use")
    group.add_argument("--isolated", action="store_true", help="read no configuration file")


def _with_values(arguments: Sequence[str]) -> list[str]:
    """The arguments with an empty value for each option that may have one, so that it does not take a path for it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    alone = {option[:length] for option in _MAY_HAVE_VALUE for length in range(len("--x"), len(option) + 1)}
    return [f"{item}=" if item in alone else item for item in arguments[:end]] + [*arguments[end:]]


def _of_script(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments of perflint, and those behind ``--`` that ``bench`` hands to a script."""
    if not arguments or arguments[0] != "bench" or "--" not in arguments:
        return [*arguments], []
    end = arguments.index("--")
    return [*arguments[:end]], [*arguments[end + 1 :]]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _output(text: str) -> tuple[str, str]:
    """A format and a place; the place may hold colons too (``sarif:C:\\out.sarif``)."""
    name, _, place = text.partition(":")
    if name in FORMATS and place:
        return name, place
    problem = f"{name} is no format: use one of {', '.join(FORMATS)}" if name not in FORMATS else "the file is missing"
    raise argparse.ArgumentTypeError(f"{text!r} should be FORMAT:FILE, such as sarif:perflint.sarif; {problem}")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "number of processes"  # what argparse calls a wrong value

if __name__ == "__main__":  # ``python -m perflint.cli`` works even where another perflint's __main__ stands
    sys.exit(main())
