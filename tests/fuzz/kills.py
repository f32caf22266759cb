"""Kills perflint at random moments, and looks at what is left: ``python -m tests.fuzz.kills --seed 1 --seconds 120``.

Each round makes up a small tree of training code, starts a run in it (a check, fixes, a baseline, a report), and sends
SIGKILL, SIGTERM or SIGINT to it or to one of its workers.  Then it asks:

- has every file its old text or its new one, whole (a file with several names after the next run at the latest)?
- do the exit status and standard error say what has happened, without a traceback?
- does the next run of the same kind do what it would have done, and leave no temporary file?
- is what the cache answers then what a check without it finds?
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perflint.cli import main as perflint
from perflint.run import cache
from tests.support import in_step

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
REPORT, BASELINE = "report.json", "perflint-baseline.json"
COMMANDS = (
    (),
    ("--fix", "--unsafe-fixes"),
    ("--fix",),
    ("--add-noqa",),
    ("--write-baseline",),
    (f"--output=json:{REPORT}",),
)
_TEXTS = (
    in_step("total += loss.item()"),
    in_step("print(loss.item())"),
    "import paddle\nloader = paddle.io.DataLoader(data, batch_size=8)\n",
    "x = 1\n",
)
_FILLING = "# a row that makes the file long enough to be written in pieces\n"
_PACKAGE = str(Path(cache.__file__).parents[1])
_LONGEST = 60.0
"""Seconds that a run may take before it counts as one that waits forever."""

Files = dict[str, bytes]


@dataclass
class Tally:
    """What was done and found."""

    kills: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def make(root: Path, chance: random.Random) -> None:
    """Write a tree: projects of their own, or one that processes share, with files of several sizes and names."""
    together = chance.random() < 0.4
    count = chance.randint(24, 30)  # fewer are checked by one process
    for number in range(count):
        directory = root if together else root / f"p{number}"
        directory.mkdir(exist_ok=True)
        text = chance.choices(_TEXTS, (2, 1, 2, 15))[0] + _FILLING * chance.choice((0, 0, 10, 2_000))
        linked = f"import m{(number + 1) % count}\n{text}" if together else text
        path = directory / f"m{number}.py"
        path.write_bytes(linked.replace("\n", chance.choice(("\n", "\n", "\r\n"))).encode())
        if chance.random() < 0.15:
            (directory / f"twin{number}.py").hardlink_to(path)
    (root / "perflint.toml").touch()


def snapshot(root: Path) -> Files:
    """All files below a directory, by name."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def restore(root: Path, files: Mapping[str, bytes]) -> None:
    """Give all files their contents again, and remove the others; hard links stay."""
    for name in snapshot(root).keys() - files.keys():
        (root / name).unlink()
    for name, data in files.items():
        (root / name).write_bytes(data)


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory to work in, with a cache beside it."""
    before, here = os.environ.get(cache.VARIABLE), Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name)) / "tree"
        root.mkdir()
        os.environ[cache.VARIABLE] = str(root.parent / "cache")
        os.chdir(root)
        try:
            yield root
        finally:
            os.chdir(here)
            if before is None:
                del os.environ[cache.VARIABLE]
            else:
                os.environ[cache.VARIABLE] = before


def run(*arguments: str) -> tuple[int, str]:
    """perflint in this process: its exit status and standard output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return perflint(["check", "--output-format=json", *arguments]), out.getvalue()


@dataclass
class Round:
    """One run that is killed, in a tree that is there."""

    root: Path
    chance: random.Random
    arguments: tuple[str, ...]
    before: Files
    wanted: Files
    """What the files hold after a run that nobody disturbs."""
    seconds: float
    """How long that takes."""

    def play(self, tally: Tally) -> None:
        """Start, kill, and look."""
        sent = self.chance.choice(SIGNALS)
        of_worker = self.chance.random() < 0.35
        what = f"{' '.join(self.arguments) or 'check'}: {sent.name} to {'a worker' if of_worker else 'the process'}"
        status, error, hit = self._killed(sent, of_worker)
        tally.kills[f"{sent.name} {'worker' if of_worker else 'process'}" if hit else "too late"] += 1
        problems = [*self._told(status, error, sent, of_worker, hit), *self._whole(), *self._next(), *self._cached()]
        tally.failures += [f"{what}: {problem}" for problem in problems]

    def _killed(self, sent: signal.Signals, of_worker: bool) -> tuple[int, str, bool]:
        """Exit status (negative: the signal), standard error, and whether the signal reached anything."""
        arguments = [*self.arguments, f"-j{self.chance.choice((2, 2, 3))}"]
        with tempfile.TemporaryFile() as error:
            process = self._started(arguments, error.fileno())
            hit = self._send(process, sent, of_worker)
            status = _wait(process)
            error.seek(0)
            return status, error.read().decode("utf-8", "replace"), hit

    def _started(self, arguments: list[str], error: int) -> int:
        """A forked process (it begins at once), or now and then a new one (which starts as people start it)."""
        if self.chance.random() < 0.15:
            command = [sys.executable, "-m", "perflint", "check", *arguments]
            root = str(Path(__file__).resolve().parents[2])
            environment = {**os.environ, "PYTHONPATH": root}
            return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=error).pid
        process = os.fork()
        if process:
            return process
        status = 99
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(error, 2)
            with os.fdopen(1, "w") as out, os.fdopen(2, "w") as err:
                sys.stdout, sys.stderr = out, err
                status = perflint(["check", *arguments])
        except KeyboardInterrupt:
            status = 130  # before perflint has begun, or behind it
        finally:
            os._exit(status)

    def _send(self, process: int, sent: signal.Signals, of_worker: bool) -> bool:
        share = 0.5 if of_worker else 1.2
        until = time.monotonic() + self.chance.random() * self.seconds * share
        for_file = self.chance.random() < 0.5 and bool(self.arguments) and not of_worker
        until += self.seconds if for_file else 0
        while time.monotonic() < until and not (for_file and self._is_writing()):
            if _is_over(process):
                return False
        target = process
        while of_worker and target == process and not _is_over(process):
            target = self.chance.choice(_children(process) or [process])
        if _is_over(process):
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, sent)
            return True
        return False

    def _is_writing(self) -> bool:
        """Whether a temporary file is there, in one of the directories."""
        places = {self.root, *(self.root / Path(name).parent for name in self.chance.sample(sorted(self.before), 3))}
        return any(name.startswith(".perflint-") for place in places for name in os.listdir(place))  # noqa: PTH208

    # -- what is left ------------------------------------------------------------------------------------------------

    def _told(self, status: int, error: str, sent: signal.Signals, of_worker: bool, hit: bool) -> Iterator[str]:
        ended = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130, -2)}[sent]
        expected = (0, 1, 2) if hit and of_worker else (0, 1, *ended) if hit else (0, 1)
        if status not in expected:
            yield f"exit status {status}: {error}"
        if status == 2 and "a worker process was" not in error:
            yield f"a worker that was killed is not told: {error}"
        # Python tells of a Ctrl-C while it starts, before perflint can do anything: it dies of the signal, or ends
        # with 1 ("Could not import runpy module") and a traceback without a file of perflint.
        in_start = sent is signal.SIGINT and (status == -sent or _PACKAGE not in error)
        if ("Traceback" in error or "internal error" in error) and not in_start:
            yield f"exit status {status}: {error}"

    def _whole(self) -> Iterator[str]:
        for name, data in self.before.items():
            if (self.root / name).stat().st_nlink == 1 and not self._is_whole(name):
                yield f"{name} has neither its old text nor its new one ({len(data)} bytes before)"
        for name in self.wanted.keys() - self.before.keys():
            if (self.root / name).exists() and not self._is_whole(name) and not self._is_part(name):
                yield f"{name} is not whole"

    def _is_whole(self, name: str) -> bool:
        return (self.root / name).read_bytes() in (self.before.get(name), self.wanted.get(name))

    def _is_part(self, name: str) -> bool:
        """Whether this is the report of a run that has lost a worker: all that the others have found."""
        if name != REPORT:
            return False
        found, wanted = json.loads((self.root / name).read_bytes()), json.loads(self.wanted[name])
        return all(item in wanted for item in found)

    def _next(self) -> Iterator[str]:
        """The same run again, which nobody disturbs."""
        status, _ = run(*self.arguments, "-j1")
        if status not in (0, 1):
            yield f"the next run ends with {status}"
        after = snapshot(self.root)
        for name in after.keys() | self.wanted.keys():
            if after.get(name) != self.wanted.get(name):
                yield f"{name} is not what a run makes of it, but {after.get(name, b'')[:80]!r}"
        kept = self.root.parent / "cache"
        left = [path.name for place in (self.root, kept) for path in place.rglob(".perflint-*")]
        if left:
            yield f"the next run leaves {left}"

    def _cached(self) -> Iterator[str]:
        first, second = run("-j1"), run("-j1", "--no-cache")
        if first != second:
            yield "the cache answers what a check does not find"


def _children(process: int) -> list[int]:
    try:
        return [int(part) for part in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _is_over(process: int) -> bool:
    found = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return found is not None


def _wait(process: int) -> int:
    until = time.monotonic() + _LONGEST
    while time.monotonic() < until:
        if _is_over(process):
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return 98


def fuzz(seed: int, seconds: float, most: int | None = None) -> Tally:
    """Kill runs until the time is over, or ``most`` of them; every tree is used for some."""
    chance = random.Random(seed)
    tally = Tally()
    until = time.monotonic() + seconds
    while time.monotonic() < until and (most is None or tally.kills.total() < most) and not tally.failures:
        with workplace() as root:
            make(root, chance)
            before = snapshot(root)
            known: dict[tuple[str, ...], tuple[float, Files]] = {}
            for _ in range(10):
                if time.monotonic() < until:
                    _play_one(root, chance, before, known, tally)
    return tally


def _play_one(
    root: Path,
    chance: random.Random,
    before: Files,
    known: dict[tuple[str, ...], tuple[float, Files]],
    tally: Tally,
) -> None:
    arguments = chance.choice(COMMANDS)
    if arguments not in known:
        start = time.monotonic()
        run(*arguments, "-j2")
        known[arguments] = time.monotonic() - start, snapshot(root)
        restore(root, before)
    if chance.random() < 0.7:
        shutil.rmtree(root.parent / "cache", ignore_errors=True)
    took, wanted = known[arguments]
    Round(root, chance, arguments, before, wanted, took).play(tally)
    restore(root, before)


def main() -> int:
    """Fuzz, and print what came of it; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    tally = fuzz(options.seed, options.seconds)
    print(json.dumps(dict(sorted(tally.kills.items())), indent=1))
    print(f"{tally.kills.total()} runs, {len(tally.failures)} failures (seed {options.seed})")
    for failure in tally.failures:
        print(failure)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
