"""What check, profile and bench say of the twelve mistakes in four small trainings, and how long each takes.

python benchmarks/four_scripts.py [--rounds N] [--steps N]

The trainings are those in ``tests/profile_scripts``; a comment there marks each mistake.  Their folders are copied to a
place of their own first, so that each is a project by itself.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from profile_overhead import PLANS, SCRIPTS
from record import write

_MISTAKE = re.compile(r"# mistake (\d): (.*)")
_ALL = ("--min-impact", "low")
"""The trainings are toys, so what a mistake can cost in them is small."""


def seen(name: str, steps: int, rounds: int) -> dict[str, Any]:
    """What the three commands say of one training.

    Returns:
        For each mistake its place, what it is, the codes that ``check`` reports there, the share of a step that
        ``profile`` names there, and the ratios that ``bench`` measures for fixes there; the seconds of each command.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, name)
        shutil.copytree(SCRIPTS / name, folder, ignore=shutil.ignore_patterns("output", "__pycache__"))
        (folder / "perflint.toml").touch()
        script, arguments = PLANS[name]
        mistakes = _mistakes(folder)
        found, check_s = _ran(folder, ["check", ".", "--exit-zero", *_ALL, "--output-format", "json"])
        _, profile_s = _ran(folder, ["profile", "--steps", str(steps), "--json", "p.json", script, "--", *arguments])
        profile = json.loads((folder / "p.json").read_text(encoding="utf-8"))
        said, bench_s = _ran(folder, _bench(steps, rounds, script, arguments))
        measured = folder / "b.json"
        bench = json.loads(measured.read_text(encoding="utf-8")) if measured.exists() else {}
    for mistake in mistakes:
        where = mistake["place"]
        mistake["check"] = sorted({each["code"] for each in json.loads(found) if _is_at(each, where)})
        mistake["profile"] = round(sum(each["share"] for each in profile["events"] if _is_about(each, where)), 3)
        mistake["bench"] = _ratios(bench, where)
    return {
        "mistakes": mistakes,
        "first": _first(profile),
        "together": _ratios(bench, ""),
        "unmeasured": "" if bench else said.strip().splitlines()[-1],
        "seconds": {"check": round(check_s, 1), "profile": round(profile_s, 1), "bench": round(bench_s, 1)},
    }


def _bench(steps: int, rounds: int, script: str, arguments: Sequence[str]) -> list[str]:
    measured = ["--rounds", str(rounds), "--steps", str(steps), "--json", "b.json"]
    return ["bench", "--unsafe-fixes", "--suggestions", "--by", "fix", *_ALL, *measured, script, "--", *arguments]


def _ran(folder: Path, arguments: list[str]) -> tuple[str, float]:
    """What a command prints, and how many seconds it takes."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "perflint", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) and arguments[0] != "bench":
        raise SystemExit(f"perflint {' '.join(arguments)}: {done.stderr}")
    return done.stdout or done.stderr, time.monotonic() - start


def _mistakes(folder: Path) -> list[dict[str, Any]]:
    found = []
    for file in sorted(folder.glob("*.py")):
        for row, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if match := _MISTAKE.search(line):
                found.append({"number": int(match[1]), "what": match[2], "place": f"{file.name}:{row}"})
    return sorted(found, key=lambda mistake: mistake["number"])


def _is_at(finding: Mapping[str, Any], where: str) -> bool:
    row = finding["location"]["row"]
    return f"{Path(finding['filename']).name}:{row}" == where


def _is_about(event: Mapping[str, Any], where: str) -> bool:
    """Whether a line of a profile is that place, or waits for a loader that was made there."""
    return f"{event['path']}:{event['line']}" == where or event["note"].endswith(f"made at {where}")


def _first(profile: Mapping[str, Any]) -> dict[str, float]:
    """The phases of a step that take a tenth of it or more, by their share."""
    shares = {name: round(phase["share"], 3) for name, phase in profile["phases"].items() if phase["share"] >= 0.1}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _ratios(bench: Mapping[str, Any], where: str) -> dict[str, list[float]]:
    """The ratios of ips, with their intervals, of the variants with a fix at a place; without one, of all together."""
    found = {}
    variants = {variant["name"]: variant for variant in bench.get("variants", [])}
    for each in bench.get("comparisons", []):
        name = each["variant"]
        is_alone = len(variants[name]["fixes"]) == 1
        if where in variants[name]["places"] if is_alone else not where:
            found[name] = [round(each[key], 3) for key in ("ratio", "low", "high")]
    return found


def main() -> None:
    """Run, show and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    scripts = {name: seen(name, options.steps, options.rounds) for name in PLANS}
    write({"rounds": options.rounds, "steps": options.steps, "scripts": scripts})


if __name__ == "__main__":
    main()
