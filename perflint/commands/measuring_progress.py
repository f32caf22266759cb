"""How far a measurement is: a bar on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from perflint.output.console import Console
from perflint.text.visible import visible, visible_line
from perflint.text.wording import counted


class MeasuringProgress:
    """Tells about runs on standard error.  The bar is that of tqdm (in the extra ``bench``), if that is installed."""

    def __init__(self, console: Console) -> None:
        """On a console, which is the process's own."""
        self._console = console
        self._bar: Any = None
        self._seconds = 0.0
        self.resumes_with: Path | None = None  # the file that ``--resume`` could go on with by now

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def tell(self, line: str) -> None:
        """Something beside the runs: what is done before there is anything to count, or that a run does not get on."""
        if self._bar is None:
            self._console.note(line)
        else:
            self._bar.write(visible_line(line), file=sys.stderr)

    def start(
        self, runs: int, seconds: float, rounds: int = 0, limit: float = math.inf, is_least: bool = False
    ) -> None:
        """Say how long it will take.

        Args:
            runs: how many are to come.
            seconds: how long each takes, about.
            rounds: of how many rounds they are, or 0 where that is nobody's business.
            limit: after so many seconds no more is run.
            is_least: more rounds may follow.
        """
        self._seconds = seconds
        of = f" ({counted(runs // rounds, 'variant')} in {counted(rounds, 'round')})" if rounds else ""
        whole = f"{'at least ' if is_least else ''}{runs} runs{of}, about {_duration(runs * seconds)} in all"
        self._console.note(f"{whole}{_beyond(runs, seconds, rounds, limit)}; Ctrl-C stops them")
        tqdm = _tqdm() if sys.stderr.isatty() else None
        if tqdm is not None:
            self._bar = tqdm(total=runs, leave=False, unit="run", dynamic_ncols=True)

    def run(self, done: int, runs: int, name: str) -> None:
        """A run begins; ``done`` of ``runs`` are over."""
        if self._bar is None:
            left = _duration((runs - done) * self._seconds)
            self._console.note(f"run {done + 1} of {runs}: {name} (about {left} left)")
            return
        self._bar.total = runs  # which grows where rounds are added
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix_str(visible(name))


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


def _beyond(runs: int, seconds: float, rounds: int, limit: float) -> str:
    """What the time limit leaves of the rounds, if they take longer."""
    if not rounds or runs * seconds <= limit:
        return ""
    fitting = int(limit / (seconds * runs / rounds))
    return f", of which --time-limit leaves {_duration(limit)}: time for {fitting} of {counted(rounds, 'round')}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
