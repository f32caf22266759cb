"""How far a measurement is: a bar on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from perflint.output.console import Console
from perflint.text.visible import visible


class MeasuringProgress:
    """Tells about runs on standard error.  The bar is that of tqdm (in the extra ``bench``), if that is installed."""

    def __init__(self, console: Console) -> None:
        """On a console, which is the process's own."""
        self._console = console
        self._bar: Any = None
        self._seconds = 0.0

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def tell(self, line: str) -> None:
        """What is done before there is anything to count."""
        self._console.note(line)

    def start(self, runs: int, seconds: float) -> None:
        """So many runs are to come, of about so many seconds each."""
        self._seconds = seconds
        self._console.note(f"{runs} runs, about {_duration(runs * seconds)} in all; Ctrl-C stops them")
        tqdm = _tqdm() if sys.stderr.isatty() else None
        if tqdm is not None:
            self._bar = tqdm(total=runs, leave=False, unit="run", dynamic_ncols=True)

    def run(self, done: int, runs: int, name: str) -> None:
        """A run begins; ``done`` of ``runs`` are over."""
        if self._bar is None:
            left = _duration((runs - done) * self._seconds)
            self._console.note(f"run {done + 1} of {runs}: {name} (about {left} left)")
            return
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix_str(visible(name))


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
