"""How much of what recorded runs did in a step ``perflint step`` shows, and how much of what it shows they did.

    python benchmarks/step_against_runs.py CHECKOUTS [--only NAME] [--half tuned] [--lines] [--strict]
        [--first] [--page]

CHECKOUTS holds each repository at its commit, as OWNER+NAME or NAME.  The runs are those of benchmarks/results/
traces.json and runs.json: nothing is run here.  Of each run, the lines that did something in at least every second step
are looked for in the static trace of its step loop (recall), and the lines of which the static trace says that each
step certainly has them are looked for among the recorded ones (precision).

Half of the programs are set aside: nothing is mended because of them, and their lines are not printed without
``--half aside --lines``.  ``--strict`` leaves out what a call that could not be followed may run.  ``--first`` keeps
the figures as the first ones, beside which later ones are shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from trace_parts.against import KINDS, Compared, compare, total
from trace_parts.against_page import page
from trace_parts.programs import is_set_aside

from perflint.flow.resolving import opened
from perflint.inputs.projects import split
from perflint.run.discovery import read_all
from perflint.trace.step_trace import StepTrace, traces

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
KNOWN, RUNS, RESULT = (RESULTS / name for name in ("traces.json", "runs.json", "step_against_runs.json"))
PAGE = ROOT / "docs" / "step-runs.md"
TUNED, ASIDE = HALVES = ("tuned", "aside")


def half_of(name: str) -> str:
    """The half of a program: those of docs/traces.md had been looked at before, and are not set aside."""
    return ASIDE if name in json.loads(RUNS.read_text(encoding="utf-8")) and is_set_aside(name) else TUNED


def traces_of(root: Path, parts: Iterable[str]) -> Iterator[StepTrace]:
    """The static traces of a checkout, or of some of its folders, with paths as they are seen from its root."""
    paths = [path for part in (*parts, *([] if parts else [""])) for path in sorted((root / part).rglob("*.py"))]
    sources, _ = read_all(paths)
    named = {}
    for path, source in sources.items():
        seen = str(Path(path).relative_to(root))
        named[seen] = replace(source, path=seen)
    for project in split(named).projects:
        yield from traces(opened(project))


def compared(runs: dict[str, Any], checkouts: Path, *, is_strict: bool = False) -> Iterator[tuple[str, Compared]]:
    """Each run whose repository is there, with the comparison; a checkout is read once for all its programs."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, run in runs.items():
        groups.setdefault((run["repository"], *run.get("parts", ())), []).append(name)
    for (repository, *parts), names in groups.items():
        root = _checkout(checkouts, repository)
        if root is None:
            print(f"{repository} is not there: {', '.join(names)} left out")
            continue
        project = list(traces_of(root, parts))
        for name in names:
            yield name, compare(runs[name], project, is_strict=is_strict)


def _checkout(checkouts: Path, repository: str) -> Path | None:
    names = (repository.replace("/", "+"), repository.rpartition("/")[2])
    return next((checkouts / name for name in names if (checkouts / name).is_dir()), None)


def share(counts: list[int], whole: int) -> str:
    """``3 of 4`` as it is shown; a dash where there is nothing."""
    return f"{counts[whole + 1]}/{counts[whole]}" if counts[whole] else "-"


def table(rows: dict[str, dict[str, list[int]]]) -> Iterator[str]:
    """A row for each program, and for all: of each kind what is found of what was recorded, what happened of what is
    said; then how often the times are right."""
    yield f"{'':18}" + "".join(f"{kind:>16}" for kind in KINDS) + f"{'times':>10}"
    for name, row in rows.items():
        cells = (f"{share(row[kind], 0)} {share(row[kind], 2)}" for kind in KINDS)
        yield f"{name:18}" + "".join(f"{cell:>16}" for cell in cells) + f"{share(row['times'], 0):>10}"


def rates(row: dict[str, list[int]]) -> str:
    """Recall, precision and right times of some counts."""
    all_kinds = [sum(row[kind][place] for kind in KINDS) for place in range(4)]
    pairs = (("recall", all_kinds[:2]), ("precision", all_kinds[2:]), ("times", row["times"]))
    return ", ".join(f"{what} {part / whole:.2f} ({part} of {whole})" for what, (whole, part) in pairs if whole)


def main() -> int:
    """Compare the runs, and print a row for each of the tuned ones."""
    options = _options()
    if options.page:
        PAGE.write_text(page(json.loads(RESULT.read_text(encoding="utf-8"))), encoding="utf-8")
        return 0
    runs = {
        name: run
        for file in (KNOWN, RUNS)
        for name, run in json.loads(file.read_text(encoding="utf-8")).items()
        if name in (options.only or [name]) and half_of(name) in (options.half or HALVES)
    }
    found: dict[str, dict[str, dict[str, list[int]]]] = {half: {} for half in HALVES}
    for name, each in compared(runs, options.checkouts, is_strict=options.strict):
        half = half_of(name)
        found[half][name] = each.counts()
        if options.lines and (half == TUNED or options.half == [ASIDE]):
            print(name)
            _show(each)
    for half in HALVES:
        if found[half]:
            shown = found[half] if half == TUNED or options.half == [ASIDE] else {}
            sums = total(found[half].values())
            print("\n".join([f"\n{half}: {len(found[half])} programs", *table({**shown, "all": sums}), rates(sums)]))
    if not (options.only or options.half or options.strict):
        kept = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
        kept["first" if options.first else "last"] = found
        RESULT.write_text(as_text(kept), encoding="utf-8")
    return 0


def as_text(kept: dict[str, Any]) -> str:
    """As JSON, with a row for each program."""
    moments = []
    for moment, halves in kept.items():
        parts = []
        for half, programs in halves.items():
            rows = [f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in programs.items()]
            parts.append(f"  {json.dumps(half)}: {{\n" + ",\n".join(rows) + "\n  }")
        moments.append(f" {json.dumps(moment)}: {{\n" + ",\n".join(parts) + "\n }")
    return "{\n" + ",\n".join(moments) + "\n}\n"


def _show(found: Compared) -> None:
    """Print what only one of the two has, and where the times differ."""
    for line in found.recorded:
        if not line.is_in_both:
            print(f"    not shown: {line.text}")
        elif line.times is False:
            print(f"    times: {line.text}")
    for line in found.shown:
        if not line.is_in_both:
            print(f"    not recorded: {line.text}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", action="append", help="compare this program (may be repeated)")
    parser.add_argument("--half", choices=HALVES, action="append", help="compare this half; keep no figures")
    parser.add_argument("--lines", action="store_true", help="print the lines that differ, of the tuned half")
    parser.add_argument("--strict", action="store_true", help="leave out what calls may run; keep no figures")
    parser.add_argument("--page", action="store_true", help="write docs/step-runs.md again, and compare nothing")
    parser.add_argument("--first", action="store_true", help="keep the figures as the first ones")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
