"""Makes up configurations, patterns, file names, encodings and pipes in the place of files, and checks them.

``python -m tests.fuzz.inputs --seed 1 --seconds 120`` prints each failure with what made it; ``--only NUMBER`` makes
the input of that number again.  A run of ``perflint check`` fails if it raises anything, reports an internal error,
takes longer than ``--patience`` seconds, ends without an explanation, or leaves the healthy file unreported that stands
beside the made-up ones.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from encodings import aliases
from pathlib import Path
from types import FrameType, SimpleNamespace

from perflint.cli import main
from perflint.run import cache
from tests.support import in_step

HEALTHY = in_step("total += loss.item()\n")
REPORT = "train.py:12:"
CODECS = sorted({*aliases.aliases, *aliases.aliases.values(), "punycode", "idna", "undefined", "unicode_escape"})
FORMATS = ("concise", "full", "json", "json-lines", "github", "gitlab", "junit", "rdjson", "sarif")
PLACES = (
    *(
        ".gitignore",
        "below/.gitignore",
        ".git",
        ".git/info/exclude",
        "perflint.toml",
        ".perflint.toml",
        "pyproject.toml",
    ),
    *(
        "requirements.txt",
        "setup.cfg",
        "environment.yml",
        "requirements/a.txt",
        "known.json",
        "other.py",
        "below/other.py",
        "below/__init__.py",
        "setup.py",
        "README.md",
        "other",
        "nb.ipynb",
    ),
)
KEYS = (
    *("select", "ignore", "extend-select", "per-file-ignores", "exclude", "extend-exclude", "respect-gitignore"),
    *("context", "baseline", "default-workers", "log-interval", "min-confidence", "extend-safe-fixes", "loaders"),
    *("sync-calls", "checkpoint-calls", "logging-calls", "extend-unsafe-fixes", "selct", "a.b", '"x y"', "\u635f"),
)
CHANGE_WHAT_IS_FOUND = (
    "select",
    "ignore",
    "per-file-ignores",
    "min-confidence",
    "baseline",
    "context",
    "sync",
    "loaders",
)


class Hang(BaseException):
    """A run took longer than it may; no exception handler of perflint is to catch it."""


@dataclass
class Case:
    """One made-up project in the current directory, and the command line for it."""

    rng: random.Random
    arguments: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=lambda: ["train.py"])
    notes: list[str] = field(default_factory=list)
    piped: bytes | None = None
    is_plain: bool = True
    """Whether the finding in the healthy file has to be in the output."""

    def note(self, what: str) -> None:
        """Say what was made, for whoever reads of a failure."""
        self.notes.append(what if len(what) < 400 else what[:400] + "...")

    def write(self, path: str, data: bytes) -> None:
        """Write a file in place of whatever was there."""
        with suppress(OSError, ValueError):
            cleared(path).write_bytes(data)
            self.note(f"{path!r}: {data!r}")


def cleared(path: str) -> Path:
    """A place below the current directory where nothing is any more.

    Raises:
        ValueError: the path leads to that directory or out of it.
        OSError: there can be no such file.
    """
    place = Path(path)
    if place.is_absolute() or not place.parts or ".." in place.parts:
        raise ValueError(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    return place


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Some bytes with a few of them taken out, doubled, exchanged, or replaced by what is rarely meant."""
    rare = (
        b"\0",
        b"\xff",
        b"\x0c",
        b"\r",
        b"\x1b[2J",
        b"\xef\xbb\xbf",
        b"[",
        b"]",
        b"\\",
        b"'",
        b'"',
        b"\xc2\x85",
        b"9" * 5000,
    )
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 4, 40)))
        what = rng.choice((b"", data[at:end] * 2, data[at:end] * 300, rng.randbytes(3), rng.choice(rare)))
        data = data[:at] + what + data[end:]
    return data


def pattern(rng: random.Random) -> str:
    """A line of a .gitignore; seldom one that a person would write."""
    pieces = (
        "a",
        "*",
        "**",
        "?",
        "/",
        "[a-z]",
        "[z-a]",
        "[[a]",
        "[!a]",
        "[",
        "]",
        "\\",
        "!",
        "#",
        " ",
        ".py",
        "-",
        "\u635f",
    )
    if rng.random() < 0.1:
        return rng.choice(
            ("*a" * 40 + "b.py", "**/" * 40 + "b", "[[:" * 50, "*" * 2000, "a" * 5000, "(a+)+b", "[[:alpha:]]*")
        )
    return "".join(rng.choices(pieces, k=rng.randint(1, 9)))


def value(rng: random.Random) -> str:
    """A value of TOML, right or wrong."""
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(
            ("true", "false", "0", "-1", "7", "1e999", "nan", "0x" + "f" * 5000, "9" * 5000, "1979-05-27", "0b1")
        )
    if kind < 5:
        texts = [
            pattern(rng)
            if rng.random() < 0.6
            else rng.choice(("PPF1", "ALL", "a\0b", "../" * 9, "/dev/zero", "low", ""))
            for _ in range(rng.randint(0, 4))
        ]
        return "[" + ", ".join(map(_quoted, texts)) + "]"
    if kind < 7:
        return _quoted(rng.choice((pattern(rng), "known.json", "low", "medium", "x" * 5000, "a\0", "\ud800"[:0])))
    inner = ", ".join(f"{_quoted(pattern(rng))} = {value(rng)}" for _ in range(rng.randint(0, 3)))
    return "{" + inner + "}"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" if letter in '\\"\0' else letter for letter in text) + '"'


def configuration(case: Case) -> None:
    """A configuration with a few keys, right or wrong, whose bytes may be changed as well."""
    rng = case.rng
    name = rng.choice(("perflint.toml", ".perflint.toml", "pyproject.toml"))
    keys = rng.sample(KEYS, rng.randint(0, 4))
    text = "".join(f"{key} = {value(rng)}\n" for key in keys)
    if rng.random() < 0.05:
        text += rng.choice(
            (".".join("a" * 3000) + " = 1\n", "x = " + "[" * 3000, "".join(f"k{n} = 1\n" for n in range(5000)))
        )
    if name == "pyproject.toml":
        text = f"[tool.perflint]\n{text}"
    data = text.encode()
    if rng.random() < 0.4:
        data = mutated(rng, data)
    case.is_plain &= not any(word in data.decode("latin-1") for word in CHANGE_WHAT_IS_FOUND)
    case.write(name, data)


def ignore_file(case: Case) -> None:
    """A .gitignore of made-up patterns, perhaps of many."""
    rng = case.rng
    lines = [pattern(rng) for _ in range(rng.choice((1, 3, 10, 2000)))]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    case.write(
        rng.choice((".gitignore", "below/.gitignore", ".git/info/exclude")),
        mutated(rng, data) if rng.random() < 0.3 else data,
    )


def encoding(case: Case) -> None:
    """A Python file whose first lines name an encoding, in which it may not be."""
    rng = case.rng
    codec = rng.choice(CODECS) if rng.random() < 0.8 else rng.randbytes(5).decode("latin-1")
    line = rng.choice(("# coding: {}", "# -*- coding: {} -*-", "#!/usr/bin/python\n# vim: set fileencoding={} :", "{}"))
    text = (
        line.format(codec)
        + rng.choice(("\n", "\r\n", "\r", "\n\n", ""))
        + rng.choice((HEALTHY, "x = '\\u000a\u635f'\n", ""))
    )
    if rng.random() < 0.3:
        text = text.replace("\n    ", "\n" + rng.choice(("\f", "  \f", "    \f")) + "    ")
    try:
        data = text.encode(codec if rng.random() < 0.5 else "utf-8", "surrogateescape")
    except Exception:  # codecs raise anything
        data = text.encode("utf-8", "surrogateescape")
    if rng.random() < 0.4:
        data = mutated(rng, data)
    name = rng.choice(("other.py", "below/other.py"))
    case.write(name, bytes(data))
    if rng.random() < 0.2:
        case.paths.append(name)
    elif rng.random() < 0.1:
        case.piped = bytes(data)


def file_name(case: Case) -> None:
    """A file of an odd name, found or named."""
    rng = case.rng
    name = b"".join(
        rng.choices(
            (
                b"a",
                b" ",
                b"\n",
                b"\x1b[31m",
                b"::error::",
                b"\xff",
                b"\xe6\x90\x8d",
                b"-",
                b"%00",
                b"\t",
                b"'",
                b"*",
                b"{}",
                b"\\",
                b".",
                b"\xed\xa0\x80",
            ),
            k=rng.randint(1, 8),
        )
    ) + rng.choice((b".py", b".py", b".pyw", b".ipynb", b"", b".py.bak"))
    text = os.fsdecode(name)
    case.write(text, rng.choice((HEALTHY.encode(), b"", mutated(rng, HEALTHY.encode()))))
    if os.path.lexists(text) and rng.random() < 0.6:
        case.paths += [text] if text != "-" else []  # which means standard input
    elif rng.random() < 0.1:
        case.paths.append(rng.choice((text, "x" * 5000, "gone.py", "below/" * 900)))
        case.is_plain = False  # a path that does not exist ends the run, with an explanation


def no_file(case: Case) -> None:
    """A pipe, a device, a link in a circle or a directory where a file should be."""
    rng = case.rng
    with suppress(OSError):
        place = cleared(rng.choice(PLACES))
        kind = rng.choice(("a pipe", "a directory", "/dev/zero", "/dev/stdin", "/proc/self/mem", "gone", place.name))
        if kind == "a pipe":
            os.mkfifo(place)
        elif kind == "a directory":
            place.mkdir()
        else:
            place.symlink_to(kind)
        case.note(f"{place}: {kind}")
        if "." not in place.name or place.suffix in (".py", ".ipynb"):
            case.paths += [str(place)] if rng.random() < 0.5 and os.path.exists(place) else []  # noqa: PTH110


def requirements(case: Case) -> None:
    """Files that say which Paddle a project needs, damaged."""
    rng = case.rng
    texts = {
        "requirements.txt": "paddlepaddle>=2.4,<3\nnumpy\npaddlepaddle-gpu == 2.5.* ; python_version > '3.8'\n",
        "setup.cfg": "[options]\ninstall_requires =\n    paddlepaddle>=2.4\n",
        "setup.py": "from setuptools import setup\nsetup(install_requires=['paddlepaddle>=2.4', 'x' * 9])\n",
        "environment.yml": "dependencies:\n  - paddlepaddle=2.4\n  - pip:\n    - paddlepaddle>=2\n",
        "pyproject.toml": '[project]\ndependencies = ["paddlepaddle>=2.4"]\n[tool.poetry]\npaddle = "^2.4"\n',
    }
    for name in rng.sample(sorted(texts), rng.randint(1, 3)):
        case.write(name, mutated(rng, texts[name].encode()))


def baseline(case: Case) -> None:
    """A baseline that is damaged."""
    rng = case.rng
    entry = '{"path": "train.py", "code": "PPF1", "fingerprint": "x", "text": ""}'
    good = f'{{"version": 1, "about": "", "findings": [{entry}]}}'
    case.write("known.json", mutated(rng, good.encode()))
    case.arguments += ["--baseline", "known.json"]
    case.is_plain = False  # one that cannot be used ends the run, with an explanation


def cached(case: Case) -> None:
    """A cache with damaged entries, of this very input."""
    os.environ[cache.VARIABLE] = str(Path("cache").absolute())
    case.note("cache")
    run(case, patience=60)
    with suppress(OSError):
        for entry in Path("cache").iterdir():
            entry.write_bytes(mutated(case.rng, entry.read_bytes()))


def options(case: Case) -> None:
    """Options that change what is written, or where to."""
    rng = case.rng
    chosen = rng.choice(
        (
            ["--fix", "--unsafe-fixes"],
            ["--diff"],
            ["--add-noqa"],
            ["--write-baseline"],
            ["--statistics"],
            ["--quiet"],
            ["--force-exclude"],
            ["--no-context"],
            ["--context", "."],
            ["--timing"],
        )
    )
    case.arguments += chosen
    case.is_plain &= chosen[0] in ("--quiet", "--context", "--no-context")
    if rng.random() < 0.5:
        case.arguments += ["--output-format", rng.choice(FORMATS)]
        case.is_plain = False


STEPS: Sequence[Callable[[Case], None]] = (
    configuration,
    configuration,
    ignore_file,
    encoding,
    encoding,
    file_name,
    no_file,
    baseline,
    options,
    requirements,
)


def made(seed: int, number: int) -> Case:
    """The input of a number, in the current directory, which is empty."""
    case = Case(random.Random(f"{seed}:{number}"))
    Path("train.py").write_text(HEALTHY)
    for step in case.rng.sample(STEPS, case.rng.choice((1, 1, 2, 3))):
        step(case)
    if case.rng.random() < 0.7:
        case.paths.append(".")
    if not any(item == "--output-format" for item in case.arguments):
        case.arguments += ["--output-format", "concise"]
    if case.rng.random() < 0.1:
        cached(case)
    if case.piped is not None:
        case.paths, case.is_plain = ["-"], False
    return case


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(case: Case, patience: int) -> str:
    """Run the command line on an input; what is wrong with how it ended, empty if nothing is."""
    out, err = io.BytesIO(), io.BytesIO()
    streams = _text(out), _text(err)
    stdin, sys.stdin = sys.stdin, SimpleNamespace(buffer=io.BytesIO(case.piped or b""))
    arguments = ["check", "--jobs", "1", *case.arguments, "--", *case.paths]
    status: object = None
    problem = ""
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]), _alarm(patience):
            status = main(arguments)
    except Hang:
        problem = f"no end after {patience} seconds\n{traceback.format_exc()}"
    except BaseException:
        problem = traceback.format_exc()
    finally:
        sys.stdin = stdin
    said, told = (stream.getvalue().decode("utf-8", "replace") for stream in (out, err))
    problem = problem or _judged(case, status, said, told)
    return f"{problem}\n{arguments!r}\nexit status {status}\n{said[-1500:]}\n{told[-1500:]}" if problem else ""


def _text(stream: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", write_through=True)


def _judged(case: Case, status: object, out: str, err: str) -> str:
    if "internal error" in err or "Traceback" in err:
        return "an internal error"
    if status not in (0, 1, 2):
        return "an exit status that means nothing"
    if status == 2 and not err:
        return "a failure without an explanation"
    # A configuration that cannot be used ends a run, and so does a path that leads nowhere.
    is_explained = status == 2 and (".toml" in err or "leads nowhere" in err)
    if case.is_plain and not is_explained and REPORT not in out:
        return "the healthy file is not reported"
    return ""


@contextmanager
def workplace() -> Iterator[None]:
    """An empty directory as the current one, and no cache."""
    here, kept = Path.cwd(), os.environ.get(cache.VARIABLE)
    os.environ[cache.VARIABLE] = ""
    place = tempfile.mkdtemp(prefix="perflint-fuzz-")
    inside = Path(place) / "above" / "project"  # ".." as an argument must not lead to all that lies in /tmp
    inside.mkdir(parents=True)
    os.chdir(inside)
    try:
        yield
    finally:
        os.chdir(here)
        shutil.rmtree(place, ignore_errors=True)
        os.environ.pop(cache.VARIABLE)
        if kept is not None:
            os.environ[cache.VARIABLE] = kept


def tried(seed: int, number: int, patience: int) -> str:
    """What is wrong with how perflint handles one input, with all that is in it; empty if nothing is."""
    with workplace():
        case = made(seed, number)
        problem = run(case, patience)
    return f"--- input {number} of seed {seed}: {problem}\n" + "\n".join(case.notes) if problem else ""


def fuzz(seed: int, seconds: float, patience: int, most: int = sys.maxsize) -> tuple[int, list[str]]:
    """Try inputs one after the other; how many, and the failures.

    Args:
        seed: a run with the same seed tries the same inputs.
        seconds: after which no new input is tried.
        patience: how many seconds one run of perflint may take.
        most: how many inputs are tried at most.
    """
    failures = []
    number = 0
    end = time.monotonic() + seconds
    while number < most and time.monotonic() < end:
        failure = tried(seed, number, patience)
        number += 1
        if failure:
            failures.append(failure)
            print(failure, flush=True)
    return number, failures


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--patience", type=int, default=30, help="seconds that one run of perflint may take")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try this input alone")
    given = parser.parse_args()
    if given.only is not None:
        failure = tried(given.seed, given.only, given.patience)
        print(failure or "no failure")
        return bool(failure)
    started = time.monotonic()
    number, failures = fuzz(given.seed, given.seconds, given.patience)
    print(f"{number} inputs in {time.monotonic() - started:.0f} seconds, {len(failures)} failures (seed {given.seed})")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(_main())
