"""``docs/public-scripts.md``: the reports of ``perflint bench`` on public training scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from perflint.bench.measure import as_text, rounded
from perflint.bench.results import BenchReport
from published_parts.measuring import RESULTS
from published_parts.page import facts, measured
from published_parts.public import SCRIPTS, Script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "public-scripts.md"

_HEAD = """# Public training scripts, measured

`perflint bench` on public training scripts. The scripts run unchanged, on small data made for this purpose, so the
figures show what the fixes gain on this data and this machine, not in the training that the scripts were written for.
One command measures and writes this page:

```
python benchmarks/public_scripts.py CHECKOUTS
```

`CHECKOUTS` is a folder with a git checkout of each repository at the commit below. `--python EXE` names an interpreter
that has Paddle and the packages that a script needs, `--only NAME` picks a script, and `--html FOLDER` writes the page
with plots that `perflint bench --html` makes.

The scripts were chosen because they run on a CPU with Paddle 3.3.1 unchanged, need no download, and have findings with
fixes in code that they run, regardless of the results. Most of these fixes remove a wait for the device. On a CPU there
is nothing to wait for, so no gain is expected from them here. If a fix gives a loader workers, these draw different
random numbers for scaling and cropping, which is the only reason why the losses differ.

PaddleRec's DeepFM was left out: with Paddle 3.3.1 its weights become NaN in some runs, with the fixes and without.
"""


def place(script: Script) -> Path:
    """Where the report of a script is kept."""
    return RESULTS / f"public_{script.name}.json"


def keep(script: Script, report: Path) -> None:
    """Keep what ``perflint bench --json`` has written.

    Raises:
        KeyError: a field is missing.
    """
    found = rounded(BenchReport.from_json(json.loads(report.read_text(encoding="utf-8"))))
    place(script).write_text(as_text(found.to_json()), encoding="utf-8")


def kept() -> dict[str, BenchReport]:
    """The reports that are kept, by the names of the scripts."""
    places = {script.name: place(script) for script in SCRIPTS}
    return {
        name: BenchReport.from_json(json.loads(path.read_text(encoding="utf-8")))
        for name, path in places.items()
        if path.exists()
    }


def page(reports: Mapping[str, BenchReport]) -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_section(script, reports.get(script.name)) for script in SCRIPTS)])


def _section(script: Script, report: BenchReport | None) -> str:
    parts = [
        f"## {script.name}\n",
        f"{script.link} at `{script.commit[:8]}`; needs {', '.join(script.needs)}. Data: {script.data}.\n",
        f"```\n{_command(script)}\n```\n",
    ]
    if report is None:
        return "\n".join([*parts, "Not measured yet.\n"])
    fixes = "".join(
        f"* {variant.name}: {', '.join(variant.codes)} at {', '.join(f'`{place}`' for place in variant.places)}\n"
        for variant in report.variants[1:]
    )
    notes = "".join(f"* {note}\n" for note in report.notes)
    parts += [fixes, measured(report), facts(report, {}, place(script).name)]
    return "\n".join([*parts, *([notes] if notes else [])])


def _command(script: Script) -> str:
    options = f"--unsafe-fixes --by all --warmup {script.warmup} --steps {script.steps}"
    arguments = f" -- {' '.join(script.arguments)}" if script.arguments else ""
    return f"perflint bench {script.script} {options}{arguments}"
