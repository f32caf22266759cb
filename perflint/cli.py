"""The command line. The commands, and all modules that are slow to import, are imported only when they are needed."""

from __future__ import annotations

from perflint import leave_out_current_directory

if __name__ == "__main__":  # ``python -m perflint.cli``, before anything else is imported
    leave_out_current_directory()

import argparse
import atexit
import gc
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from perflint.commands import CommandError, Terminated, in_order, internal_error, is_debugging
from perflint.output.console import Console, complain
from perflint.output.formats import FORMATS
from perflint.text.visible import visible

CLEAN, FOUND, FAILED = 0, 1, 2
"""Exit status: nothing (left) to report; findings; perflint could not do its work."""

_INTERRUPTED = 130

_PLACES = {
    "version": ("perflint.commands.about", "show_version"),
    "config": ("perflint.commands.about", "show_config"),
    "clean": ("perflint.commands.about", "clean_cache"),
    "completion": ("perflint.commands.about", "print_completion"),
    "server": ("perflint.server", "run"),
}
"""The module and the function of a command; the others are ``run`` in a module of their own name."""

_OTHER_NAMES = {"explain": "rule", "rules": "rule"}
"""Names that other linters use for a command."""
_NEEDLESS = {"--show-fixes": "--fix lists what it fixed"}
"""Options of other linters that perflint needs no counterpart of."""
_OWN_OPTIONS = frozenset({"-h", "--help", "--version"})
"""Options of ``perflint`` itself, which are used without a command."""
_MAY_HAVE_VALUE = ("--add-noqa", "--write-baseline")
"""Options of ``check`` whose value, if there is one, follows a ``=``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``perflint`` with these arguments (default: those of the process) and give its exit status."""
    parser, commands = _parser()
    try:
        own, of_script = _of_script(_with_command(sys.argv[1:] if argv is None else argv, commands))
    except CommandError as error:
        complain(str(error))
        return FAILED
    options, unknown = parser.parse_known_args(_with_values(own))
    if unknown:
        _refuse(unknown, commands.get(options.command, parser))
    options.arguments = of_script
    stays = getattr(options, "watch", False) or options.command == "server"
    options.is_program = argv is None and not stays  # the process ends after one run
    if options.is_program:
        gc.disable()  # objects live until the run ends: the garbage collector would only cost a fifth of its time
    if argv is None:
        atexit.register(gc.freeze)  # nor when the process ends
    try:
        with nullcontext() if options.command == "server" else in_order():
            return _run(options)
    except CommandError as error:
        complain(str(error), error.more)
    except Terminated as error:
        return 128 + error.number
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # the last resort: show a sentence, not a traceback
        if is_debugging():
            raise
        print(internal_error(error), file=sys.stderr)
    return FAILED


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse arguments into options, for a program that runs a command without the command line."""
    options = _parser()[0].parse_args(arguments)
    options.is_program = False
    return options


def _run(options: argparse.Namespace) -> int:
    """Run a command: a function that takes the options and the console, and gives the exit status."""
    name = "version" if options.version else options.command
    if name is None:
        _parser()[0].print_help(sys.stderr)
        return FAILED
    place, function = _PLACES.get(name, (f"perflint.commands.{name}", "run"))
    with closing(Console()) as console:
        status: int = getattr(import_module(place), function)(options, console)
    return status


def _with_command(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """The arguments with the command that they mean: ``perflint train.py`` is ``perflint check train.py``.

    Raises:
        CommandError: the first word is neither a command nor a file or directory.
    """
    if not arguments or arguments[0] in _OWN_OPTIONS or arguments[0] in commands:
        return [*arguments]
    first = arguments[0]
    if first == "help" and not _looks_like_path(first):
        return [*arguments[1:2], "--help"]
    if first in _OTHER_NAMES:
        return [_OTHER_NAMES[first], *arguments[1:]]
    if first.startswith("-") or _looks_like_path(first):
        return ["check", *arguments]
    known = sorted({*commands, *_OTHER_NAMES})
    meant = _near(first, known)
    hint = f"did you mean {meant}?" if meant else f"the commands are {', '.join(known)}"
    raise CommandError(f"{first!r} is neither a command nor a file or directory: {hint}")


def _looks_like_path(word: str) -> bool:
    return os.path.lexists(word) or word.endswith((".py", ".ipynb")) or "/" in word or os.sep in word


def _no_such_option(word: str, options: Iterable[str]) -> str:
    """The error message for an option that a command does not have."""
    name = word.partition("=")[0]
    if name in _NEEDLESS:
        return f"there is no option {name}: {_NEEDLESS[name]}"
    meant = _near(name, options)
    return f"there is no option {name}" + (f": did you mean {meant}?" if meant else "")


def _near(word: str, candidates: Iterable[str]) -> str:
    """The candidate that a word most likely means; empty if none is close."""
    from difflib import get_close_matches  # importing it is slow

    found = get_close_matches(word, [*candidates], n=1, cutoff=0.7)
    return found[0] if found else ""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose error messages are safe to print: control characters in a wrong argument are escaped."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and exit."""
        super().error(visible(message))


def _refuse(unknown: Sequence[str], parser: argparse.ArgumentParser) -> NoReturn:
    """Report arguments that a command does not have, suggest what may have been meant, and exit."""
    # argparse has no public list of them
    options = [name for action in parser._actions for name in action.option_strings]
    wrong = next((word for word in unknown if word.startswith("-")), "")
    parser.error(_no_such_option(wrong, options) if wrong else f"unrecognized arguments: {' '.join(unknown)}")


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the whole command line, and the parsers of the commands by name."""
    parser = _Parser(
        prog="perflint",
        description="Find the lines of PaddlePaddle training code that cost speed, and show how to fix them.",
        epilog="A path alone means check: perflint train.py. "
        "Exit status: 0 nothing to report, 1 findings, 2 perflint could not do its work.",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_check(commands.add_parser("check", help="check files and directories"))
    _add_rule(commands.add_parser("rule", help="explain a rule, or list all rules (also: explain, rules)"))
    _add_bench(commands.add_parser("bench", help="RUN a training script without and with its fixes, and compare"))
    _add_step(commands.add_parser("step", help="show what a training step does, in order, without running it"))
    _add_instrument(commands.add_parser("instrument", help="mark the parts of a training step for a profiler"))
    _add_profile(commands.add_parser("profile", help="RUN a training script and show where the time of a step goes"))
    _add_config(commands.add_parser("config", help="show the settings and where each comes from"))
    commands.add_parser("clean", help="remove the cache of earlier runs")
    _add_server(commands.add_parser("server", help="show findings in an editor (Language Server Protocol)"))
    _add_completion(commands.add_parser("completion", help="print a script for shell completion"), parser)
    return parser, commands.choices


Add = Callable[..., None]


def _adder(parser: argparse.ArgumentParser, group: str = "") -> Add:
    """A function that adds options, by their names and their text for ``--help``, to a parser or a group of it.

    An option is a switch, unless its other arguments, which are those of argparse, say what its value is.
    """
    place = parser.add_argument_group(group) if group else parser

    def add(names: str, text: str, **more: Any) -> None:
        place.add_argument(*names.split(), help=text, **(more or {"action": "store_true"}))

    return add


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser)
    add("paths", "file or directory (default: .), or - for standard input", nargs="*", type=Path, metavar="PATH")
    add("--fix", "apply safe fixes and report what remains")
    add("--fix-only", "apply safe fixes; do not report what remains, nor exit 1 for it")
    add("--exit-non-zero-on-fix", "exit 1 if a fix was made, even if nothing remains")
    add("--unsafe-fixes", "with --fix or --diff: apply unsafe fixes too; alone: count them")
    add("--diff", "show what --fix would change without writing it; exit 1 if anything would")
    _add_settings(parser)
    _add_outputs(parser)
    add("--statistics", "show the number of findings of each rule instead of the findings")
    add("--stdin-filename", "the file name to assume for standard input", type=Path, metavar="PATH")
    add("--force-exclude", "apply the exclude patterns to files named on the command line too")
    _add_old_code(parser)
    _add_ranking(parser)
    add("--exit-zero", "exit 0 even if there are findings")
    add("-q --quiet", "show findings and errors only")
    add("-j --jobs", "projects to check at a time (default: one for each core)", type=_count(1), metavar="N")
    add("--no-cache", "neither read nor write a cache")
    add("--watch", "check again when a file or the configuration changes, until Ctrl-C")
    add("--show-files", "list the files that would be checked, without checking them")
    add("--timing", "show where the time went (uses one process and no cache)")


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser, "output")
    named = ", ".join(FORMATS)
    add("--output-format", f"how findings are shown: {named} (default: full)", choices=FORMATS, metavar="FORMAT")
    add("--output-file", "write the findings to this file instead of standard output", type=Path, metavar="FILE")
    groups = "group the findings by step, file, rule or not at all (default: step, for --output-format full)"
    add("--group-by", groups, choices=("step", "file", "rule", "none"), metavar="WHAT")
    where = "also write the findings to FILE in this format; FILE - is standard output (repeatable)"
    add("--output", where, type=_output, action="append", default=[], metavar="FORMAT:FILE")
    _add_colour(add)


def _add_colour(add: Add) -> None:
    what = "use colours: always, never, or auto (default: on a terminal; see NO_COLOR and FORCE_COLOR)"
    add("--color", what, choices=("auto", "always", "never"), default="auto", metavar="WHEN")


def _add_old_code(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser, "old code")
    comments = "add # noqa comments that silence the findings (with a reason: =REASON)"
    add("--add-noqa", comments, nargs="?", metavar="REASON")
    changed = "report only findings that involve lines changed since a git revision (or REV...)"
    add("--changed-since", changed, metavar="REV")
    add("--baseline", "do not report the findings listed in FILE", type=Path, metavar="FILE")
    add("--no-baseline", "ignore the baseline: report all findings")
    where = "write all findings to a baseline: =FILE (default: that of --baseline, or perflint-baseline.json)"
    add("--write-baseline", where, nargs="?", metavar="FILE")


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser, "profile")
    what = "sort the findings by the time they can save, from a profile (perflint, Paddle or nsys) or a training log"
    add("--profile", f"{what} (repeatable)", type=Path, action="append", default=[], metavar="FILE")
    least = "hide findings known to save less than this share of a step, such as 1%% or 0.01"
    add("--min-share", least, type=_STEP_SHARE, metavar="SHARE")


def _add_rule(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser)
    what = "a rule, a group, a Paddle call or a symptom ('reader_cost high'); default: list all rules"
    add("rule", what, nargs="*", metavar="CODE|NAME|WORDS")
    add("--all", "explain all rules")
    add("--full", "also show all examples, the evidence and the references")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _add_config(parser: argparse.ArgumentParser) -> None:
    what = "show the settings for this file or directory (default: .)"
    parser.add_argument("path", nargs="?", type=Path, default=Path(), help=what)
    _add_settings(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    add = parser.add_mutually_exclusive_group().add_argument
    add("--stdio", action="store_true", help="talk to the editor over standard input and output (the default)")
    port = "listen on this port of 127.0.0.1 (default: any)"
    add("--tcp", type=int, nargs="?", const=0, metavar="PORT", help=port)


def _add_completion(parser: argparse.ArgumentParser, whole: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a script that lets a shell complete the commands and options of perflint. For bash: "
        'eval "$(perflint completion bash)" in ~/.bashrc.'
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to print it for")
    parser.set_defaults(parser=whole)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.usage = "perflint bench [OPTIONS] SCRIPT [-- ARGS]"
    parser.description = (
        "Run a training script in copies of its project, without and with its fixes, and compare their speed. Only "
        "this command and profile RUN the code they are given. Put the arguments of the script after --."
    )
    _add_script_run(parser, "steps to measure in each run (default: 50)")
    add = _adder(parser)
    add("--rounds", "runs of each variant (default: 5, at least 3)", type=_count(3), default=5, metavar="N")
    by = "besides all fixes together, measure: each fix (default for up to 7), the fixes of each rule, or nothing"
    add("--by", by, choices=("fix", "rule", "all"))
    add("--unsafe-fixes", "apply unsafe fixes too")
    _add_bench_choice(parser)
    limit = "limit for all runs together (default: 1800); the rounds finished by then are compared"
    add("--time-limit", limit, type=_count(1), default=1800, metavar="SECONDS")
    launch = 'start the script with this module and its arguments: "paddle.distributed.launch --nproc_per_node 2"'
    add("--launch", launch, metavar="MODULE")
    tune = "compare values of an argument of the training loader (num_workers=0,2,4)"
    add("--tune", tune, metavar="NAME=VALUES")
    add("--loader", "which loader --tune changes, if there are several", metavar="FILE:LINE")
    add("--search", "find the fastest combination of fixes that does not change the losses")
    tolerance = "with --search: relative difference of losses to tolerate (1e-3)"
    add("--tolerance", tolerance, type=_TOLERANCE, metavar="PART")
    add("--no-seed", "do not set random seeds (default: fixed seeds, so that losses can be compared)")
    add("--json", "write all measured steps to this file, after each round", type=Path, metavar="FILE")
    add("--resume", "continue the measurement that --json wrote to this file", type=Path, metavar="FILE")
    add("--html", "write a page with plots to this file", type=Path, metavar="FILE")
    _add_settings(parser)


def _add_bench_choice(parser: argparse.ArgumentParser) -> None:
    """Options about what is compared, how precisely, and which exit status follows."""
    add = _adder(parser)
    add("--suggestions", "also measure suggestions: edits that --fix never makes")
    fix = "measure only this fix, whatever its level; RULE:LINE is enough if unambiguous (repeatable)"
    add("--fix", fix, action="append", default=[], metavar="RULE:FILE:LINE")
    against = "compare a git revision with the working tree, or two revisions (A..B), without fixes"
    add("--against", against, metavar="REV")
    until = "after --rounds, add rounds until all intervals are within this percentage of their ratios (5%%)"
    add("--until", until, type=_PERCENT, metavar="PERCENT")
    least = "exit 1 if the whole interval of all fixes (or of --against) is below this ratio (1.05)"
    add("--fail-under", least, type=_RATIO, metavar="RATIO")


def _add_step(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show what each training step does, in order and through all calls that can be followed: where the host waits "
        "for the device, copies, logs and saves. Steps are grouped by the programs that reach them. Nothing is run."
    )
    add = _adder(parser)
    add("paths", "program, file or directory (default: .)", nargs="*", type=Path, metavar="PATH")
    shown = "how steps are shown: text (default), json or html"
    add("--output-format", shown, choices=("text", "json", "html"), default="text", metavar="FORMAT")
    add("--unreached", "list the steps that no program reaches, and why")
    add("--against", "show what is different from this git revision (or REV...) instead", metavar="REV")
    add("--fail-on-more", "with --against: exit 1 if a step waits, copies, logs or saves more than it did")
    _add_settings(parser)
    parser.set_defaults(stdin_filename=None, force_exclude=False)


def _add_instrument(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Put ranges named reader, forward, backward and optimizer around the parts of a file's training steps, and a "
        "profiler that records a few of them. Shows the change as a diff; nothing is run."
    )
    add = _adder(parser)
    add("file", "the file with the loop that trains", type=Path, metavar="FILE")
    add("--write", "change the file (default: show the change)")
    add("--remove", "remove the ranges that perflint inserted")
    add("--nvtx", "insert NVTX ranges, for Nsight Systems, instead of ranges of Paddle's profiler")
    add("--skip", "steps to skip before recording (default: 10)", type=_count(0), default=10, metavar="N")
    add("--steps", "steps to record (default: 5)", type=_count(1), default=5, metavar="N")
    _add_colour(add)
    _add_settings(parser)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.usage = "perflint profile [OPTIONS] SCRIPT [-- ARGS]"
    parser.description = (
        "Run a training script once, in a copy of its project, and show where the time of a step goes, by file and "
        "line. Only this command and bench RUN the code they are given. Put the arguments of the script after --."
    )
    _add_script_run(parser, "steps to measure (default: 50)")
    add = _adder(parser)
    add("--top", "lines of code to show (default: 10)", type=_count(1), default=10, metavar="N")
    add("--budget", "exit 1 if a step did more than [tool.perflint.budget] or a sync-free comment allows")
    limit = "limit for the run (default: 600); nothing is reported if the steps are not finished by then"
    add("--time-limit", limit, type=_count(1), default=600, metavar="SECONDS")
    add("--json", "write all lines of code to this file", type=Path, metavar="FILE")
    add("--html", "write a page to this file", type=Path, metavar="FILE")


def _add_script_run(parser: argparse.ArgumentParser, steps: str) -> None:
    """The script to run, and the options that all commands that run a script share."""
    add = _adder(parser)
    add("script", "the script that trains", type=Path, metavar="SCRIPT")
    _add_colour(add)
    add("--steps", steps, type=_count(1), default=50, metavar="N")
    add("--warmup", "steps to run before measuring (default: 10)", type=_count(1), default=10, metavar="N")
    add("--python", "the Python interpreter that runs the script (default: that of perflint)", metavar="EXE")
    limit = "stop a run in which nothing happens for this long (default: 120 before step 1, then 30 or 20 steps)"
    add("--stall-limit", limit, type=_count(1), metavar="SECONDS")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = _adder(parser, "settings")
    for name, what in (
        ("--select", "use these rules instead of the default rules"),
        ("--ignore", "do not use these rules"),
        ("--extend-select", "use these rules in addition to the others"),
    ):
        add(name, f"{what} (codes, prefixes, names, groups)", type=_names, action="extend", metavar="RULES")
    for name, what in (
        ("--exclude", "exclude these files, instead of those in the configuration"),
        ("--extend-exclude", "exclude these files as well"),
    ):
        add(name, f"{what} (as in a .gitignore file)", type=_names, action="extend", metavar="PATTERNS")
    for kind in ("confidence", "impact"):
        add(f"--min-{kind}", f"report findings of at least this {kind}", choices=("low", "medium", "high"))
    context = "also read the files in DIR, to understand those of PATH"
    add("--context", context, type=Path, action="append", metavar="DIR")
    alone = "read only PATH, not even the modules that it imports"
    add("--no-context", alone, dest="context", action="store_const", const=[])
    config = "a pyproject.toml or perflint.toml to use, or one setting as in such a file (repeatable)"
    add("--config", config, action=_Config, metavar="FILE|KEY=VALUE")
    parser.set_defaults(config_pairs=[])
    add("--isolated", "do not read any configuration file")


class _Config(argparse.Action):
    """``--config``: the name of a file, or a setting such as ``log-interval=50``, which goes into ``config_pairs``."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: object = None
    ) -> None:
        """Take one ``--config``."""
        text = str(values)
        if "=" in text and not os.path.exists(text):  # noqa: PTH110 - which never raises
            namespace.config_pairs = [*namespace.config_pairs, text]
        elif namespace.config is not None:
            parser.error(f"argument --config: only one file can be used, not both {namespace.config} and {text}")
        else:
            namespace.config = Path(text)


def _with_values(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``=`` added to options with an optional value: argparse would take a path for the value."""
    if "check" not in arguments:  # the one command with such options; other commands have options that begin the same
        return [*arguments]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    alone = {option[:length] for option in _MAY_HAVE_VALUE for length in range(len("--x"), len(option) + 1)}
    return [f"{item}=" if item in alone else item for item in arguments[:end]] + [*arguments[end:]]


def _of_script(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments of perflint, and those after ``--``, which ``bench`` and ``profile`` pass to the script."""
    if not arguments or arguments[0] not in ("bench", "profile") or "--" not in arguments:
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
    problem = (
        f"{name} is not a format: use one of {', '.join(FORMATS)}" if name not in FORMATS else "the file is missing"
    )
    raise argparse.ArgumentTypeError(f"{text!r} should be FORMAT:FILE, such as sarif:perflint.sarif; {problem}")


def _number(
    expected: str, is_right: Callable[[float], bool], read: Callable[[str], float] = float
) -> Callable[[str], float]:
    """The type of an option whose value is a number; ``expected`` says in words what it should be."""

    def number(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = math.nan
        if not is_right(value):
            raise argparse.ArgumentTypeError(f"{text!r} {expected}")
        return value

    return number


def _count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small: at least {least}")
        return value

    return number


def _share(text: str) -> float:
    """``5%`` and ``0.05`` as 0.05."""
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def _percentage(text: str) -> float:
    """``5%`` as 0.05."""
    return _share(text) if text.endswith("%") else math.nan


_PERCENT = _number("should be a percentage above 0%, up to 100%, such as 5%", lambda value: 0 < value <= 1, _percentage)
_RATIO = _number("should be a ratio of ips above 0, such as 1.05", lambda value: 0 < value < math.inf)
_TOLERANCE = _number("should be a fraction of the loss between 0 and 1, such as 1e-3", lambda value: 0 < value < 1)
_STEP_SHARE = _number("is not a share of a step: write 5% or 0.05", lambda value: 0 <= value < 1, _share)


if __name__ == "__main__":  # ``python -m perflint.cli`` works even if another perflint has overwritten __main__
    sys.exit(main())
