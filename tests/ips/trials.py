"""Trials of the measurement itself: where the truth is known, does it come out?

python -m tests.ips.trials

runs a busy loop against itself, against one that takes 3 or 10 in 100 longer, and one that takes 5 in 100 less.

python -m tests.ips.trials --repeats 20 --rounds 10

counts how often a measurement of so many rounds, or fewer, finds a gain of 3 in 100, and one that is not there.

What comes out is written to ``evidence/trials/<device>/`` before it is judged, and shown in docs/measured.md whatever
it is.  Neither needs Paddle.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from perflint.bench.figures import interval, summary
from perflint.bench.results import BenchReport
from perflint.catalogue import Device
from tests.ips import busy_loop, evidence, repeats
from tests.ips.measuring import ROUNDS
from tests.ips.places import PLACES

FOLDER = "trials"
WIDEST = 1.10
"""The upper end of the interval by the lower one, above which a script against itself says nothing: 0.95 to 1.05."""
TOLERANCE = 0.1
"""The part of a planted time by which the one that is found may differ, where its interval does not hold it."""

TOO_WIDE = "the interval is too wide to tell"

PLANTED = {"busy-itself": 1.0, "busy-slower-3": 1.03, "busy-slower-10": 1.10, "busy-faster-5": 0.95}
"""The trials without Paddle: the work of the second variant, as a multiple of that of the first."""


@dataclass(frozen=True)
class Trial:
    """What was measured where the truth is known.

    ``planted_ms``: by how much a step of the second variant is longer, below 0 where it is shorter, 0 for a script
    against itself.  ``planted_part``: the same as a part of the first one's step, where that is what is known.
    ``load``: as in ``evidence.Evidence``.
    """

    name: str
    device: Device
    environment: dict[str, str]
    planted_ms: float
    report: BenchReport
    planted_part: float = 0.0
    load: list[float] = field(default_factory=list)

    @property
    def wanted_ms(self) -> float:
        """The milliseconds by which a step is truly longer."""
        before = summary(self.report.variants[0])
        assert before is not None, "a run without steps is refused before"
        return self.planted_ms or self.planted_part * before.batch_ms.mean

    @property
    def found_ms(self) -> tuple[float, float, float]:
        """The milliseconds by which a step took longer in the second variant, with the ends of their interval."""
        saved, low, high = evidence.milliseconds_saved(self.report)
        return -saved, -high, -low

    def path(self, directory: Path = evidence.EVIDENCE) -> Path:
        """Where it is kept."""
        return directory / FOLDER / self.device / f"{self.name}.json"

    def write(self, directory: Path = evidence.EVIDENCE) -> Path:
        """Write the file, beside those of earlier trials of the same name, which get numbers; where it is."""
        names = itertools.chain([self.name], (f"{self.name}-{number}" for number in itertools.count(2)))
        free = next(each for each in (replace(self, name=name) for name in names) if not each.path(directory).exists())
        data = asdict(free)
        report = data.pop("report")
        path = free.path(directory)
        evidence.write_whole(path, {**data, "report": report})
        return path

    def problems(self) -> list[str]:
        """What the measurement got wrong, or cannot tell; an empty list where it told the truth."""
        if wrong := evidence.misstated(self.report):
            return wrong
        return self._of_a_cost() if self.wanted_ms else self._of_itself()

    def _of_itself(self) -> list[str]:
        found = self.report.comparisons[0]
        if not found.low <= 1 <= found.high:
            return [f"of the same twice one is faster: {interval(found)}"]
        if found.high / found.low > WIDEST:
            return [f"{TOO_WIDE}: {interval(found)}"]
        return []

    def _of_a_cost(self) -> list[str]:
        found, low, high = self.found_ms
        wanted = self.wanted_ms
        if not low <= wanted <= high and abs(found - wanted) > TOLERANCE * abs(wanted):
            return [f"{wanted:.3g} ms were planted, and {found:.3g} ms found ({low:.3g} to {high:.3g})"]
        shown = low > 0 if wanted > 0 else high < 0
        return [] if shown else [f"{TOO_WIDE}: {low:.3g} to {high:.3g} ms"]


def read(path: Path) -> Trial:
    """The trial in a file.

    Raises:
        KeyError: a field is missing.
        json.JSONDecodeError: it is no JSON.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    return Trial(**{**data, "report": BenchReport.from_json(data["report"])})


def committed(directory: Path = evidence.EVIDENCE) -> Iterator[Trial]:
    """The trials that are kept, by device and name."""
    for path in sorted((directory / FOLDER).glob("*/*.json"), key=lambda path: (path.parent.name, path.stem)):
        if not path.stem.startswith(repeats.NAME):
            yield read(path)


def load() -> float:
    """How many programs wanted a core in the last minute; 0 where the system does not tell."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def run(rounds: int, directory: Path = evidence.EVIDENCE) -> list[str]:
    """Make the trials without Paddle, write each, and return what they got wrong."""
    wrong = []
    counted = busy_loop.work()
    for name, factor in PLANTED.items():
        before = load()
        report = busy_loop.measure([factor], counted, rounds)
        environment = PLACES["cpu"].environment
        trial = Trial(name, "cpu", environment, 0.0, report, round(factor - 1, 6), [before, load()])
        trial.write(directory)
        problems = trial.problems()
        found, low, high = trial.found_ms
        said = "; ".join(problems) or "right"
        print(f"{name}: {trial.wanted_ms:.3f} ms planted, {found:.3f} ms found ({low:.3f} to {high:.3f}): {said}")
        wrong += [f"{name}: {each}" for each in problems]
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Make the trials, or repeat measurements to count what they find."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.ips.trials", description="Tries the measurement where the truth is known."
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of a measurement (%(default)s)")
    parser.add_argument("--repeats", type=int, default=0, help="count what so many measurements find")
    given = parser.parse_args(arguments)
    if given.repeats:
        found = repeats.measure(given.repeats, given.rounds, load)
        repeats.write(found)
        print("\n".join(repeats.table(found)))
        return 0
    return 1 if run(given.rounds) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
