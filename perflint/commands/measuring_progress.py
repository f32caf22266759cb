"""Shows the progress of a measurement: a bar on a terminal, otherwise a line for each run."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from perflint.output.console import Console
from perflint.text.visible import counted, visible, visible_line


class MeasuringProgress:
    """Reports runs on standard error. The bar is drawn by tqdm (in the extra ``bench``), if it is installed."""

    def __init__(self, console: Console) -> None:
        """Report on this console of the process."""
        self._console = console
        self._bar: Any = None
        self._seconds = 0.0
        self.resumes_with: Path | None = None  # the file from which ``--resume`` can continue so far

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def tell(self, line: str) -> None:
        """Report something other than a run: what is being prepared, or that a run seems stuck."""
        if self._bar is None:
            self._console.note(line)
        else:
            self._bar.write(visible_line(line), file=sys.stderr)

    def start(
        self, runs: int, seconds: float, rounds: int = 0, limit: float = math.inf, is_least: bool = False
    ) -> None:
        """Report how long it will take.

        Args:
            runs: how many runs remain.
            seconds: how long each takes, approximately.
            rounds: how many rounds they form, or 0 not to mention rounds.
            limit: the number of seconds after which no run is started.
            is_least: whether more rounds may follow.
        """
        self._seconds = seconds
        of = f" ({counted(runs // rounds, 'variant')} in {counted(rounds, 'round')})" if rounds else ""
        whole = f"{'at least ' if is_least else ''}{runs} runs{of}, about {_duration(runs * seconds)} in all"
        self._console.note(f"{whole}{_beyond(runs, seconds, rounds, limit)}; Ctrl-C stops them")
        tqdm = _tqdm() if sys.stderr.isatty() else None
        if tqdm is not None:
            self._bar = tqdm(total=runs, leave=False, unit="run", dynamic_ncols=True)

    def run(self, done: int, runs: int, name: str) -> None:
        """Report the start of a run; ``done`` of ``runs`` are finished."""
        if self._bar is None:
            left = _duration((runs - done) * self._seconds)
            self._console.note(f"run {done + 1} of {runs}: {name} (about {left} left)")
            return
        self._bar.total = runs  # the total grows if rounds are added
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix_str(visible(name))


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


def _beyond(runs: int, seconds: float, rounds: int, limit: float) -> str:
    """How many rounds fit in the time limit, if not all do."""
    if not rounds or runs * seconds <= limit:
        return ""
    fitting = int(limit / (seconds * runs / rounds))
    return f", of which --time-limit leaves {_duration(limit)}: time for {fitting} of {counted(rounds, 'round')}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
