"""What all fuzzers share: a seed, a time limit, and the line at the end with what was tried and what failed."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Campaign:
    """One run of a fuzzer.

    ``failures`` holds the seed of each input that failed, with what was wrong in a few words.
    ``counts`` says what the inputs held, so that a campaign that tries nothing is seen to.
    """

    name: str
    tried: int = 0
    seconds: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, attempt: Callable[[int], str], seed: int, seconds: float, count: int | None = None) -> None:
        """Try one seed after the other until the time is up.

        Args:
            attempt: tries the input of one seed; says what failed, nothing where all is well.
            seed: the first seed.
            seconds: no new input is begun after this long.
            count: at most so many inputs; None for as many as there is time for.
        """
        begin = time.monotonic()
        while time.monotonic() - begin < seconds and (count is None or self.tried < count):
            try:
                problem = attempt(seed + self.tried)
            except Exception as error:  # whatever it is: this is what a fuzzer looks for
                problem = f"{type(error).__name__}: {error}"
            if problem:
                self.failures.append((seed + self.tried, problem))
                print(f"seed {seed + self.tried}: {problem}", flush=True)
            self.tried += 1
        self.seconds = time.monotonic() - begin

    def summary(self) -> str:
        """One line: inputs, seconds, failures."""
        held = "".join(f", {count} {what}" for what, count in self.counts.items())
        return f"{self.name}: {self.tried} inputs{held}, in {self.seconds:.0f} s; {len(self.failures)} failed"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that all fuzzers have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--seconds", type=float, default=60.0, help="begin no new input after this long (default: 60)")
    parser.add_argument("--count", type=int, help="at most so many inputs")
    return parser
