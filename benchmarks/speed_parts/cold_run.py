"""One cold check of the current directory in this process, which ``perflint check --timing`` would measure like this.

    python benchmarks/speed_parts/cold_run.py [--plain]

Prints CPU seconds as JSON: the total, and the seconds by phase and by rule, which ``--plain`` does without.
"""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import redirect_stdout

from perflint import cli

CHECK = ("check", "--isolated", "--exit-zero", "--quiet", "--no-cache", "--jobs", "1", ".")


def main() -> None:
    plain = sys.argv[1:] == ["--plain"]
    sys.argv[1:] = CHECK  # and not as an argument of main(), so that it is the run of a program that ends after it
    print(json.dumps(_plain() if plain else _measured()))


def _plain() -> dict[str, float]:
    _check()
    return {"total": time.process_time()}


def _measured() -> dict[str, object]:
    from perflint.run import timing

    with timing.measured(from_start=True) as times:
        _check()
    return {"total": times.total, "phases": times.phases, "rules": times.rules}


def _check() -> None:
    with redirect_stdout(io.StringIO()):
        status = cli.main()
    if status != cli.CLEAN:
        raise SystemExit(status)


if __name__ == "__main__":
    main()
