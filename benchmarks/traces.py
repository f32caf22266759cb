"""What public training scripts do with the host in a step, and which of it perflint predicts.

python benchmarks/traces.py CHECKOUTS [--only NAME] [--python EXE] [--page]

CHECKOUTS holds a git checkout of each repository, by its name, at the commit that docs/traces.md names.  perflint
checks a copy with all rules.  Then the script runs in the copy, unchanged, on small data made there, while a tracer
notes the events of each step and their lines, and lines and findings are compared.

With ``--fixed`` all fixes of all rules are made in the copy first, the unsafe ones too, and the script has to train as
many steps as without them; benchmarks/results/fixed_scripts.json says how many fixes that were.

With ``--programs`` the programs of trace_parts/programs.py run instead, and what they did is kept in
benchmarks/results/runs.json, which ``step_against_runs.py`` compares with the static traces of their steps.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from public_scripts import CheckoutError, copied
from trace_parts.matching import Findings, Found, lines, ran
from trace_parts.page import PAGE, page
from trace_parts.programs import PROGRAMS
from trace_parts.scripts import BY_NAME, SCRIPTS, Traced

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "traces.json"
RUNS = ROOT / "benchmarks" / "results" / "runs.json"
FIXED = ROOT / "benchmarks" / "results" / "fixed_scripts.json"
LIMIT_S = 600
_ALL = ["--select", "ALL", "--min-impact", "low", "--min-confidence", "low", "--no-cache", "--exit-zero", "--quiet"]


class TraceError(Exception):
    """A script did not train."""


def check(copy: Path) -> Findings:
    """What perflint finds in a copy with all rules, however sure it is and however little it costs."""
    found = json.loads(_perflint(copy, "--output-format", "json"))
    return Findings([Found.from_json(each, copy) for each in found], copy)


def _perflint(copy: Path, *options: str) -> str:
    """What ``perflint check`` prints of a copy."""
    command = [sys.executable, "-m", "perflint", "check", *_ALL, *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=True).stdout


def trace(script: Traced, copy: Path, findings: Findings, python: str) -> dict[str, Any]:
    """Run a script in its copy, and what the tracer has seen.

    Raises:
        TraceError: it ended before it had trained two steps.
    """
    result = copy.parent / "trace.json"
    plan = {
        "copy": str(copy),
        "script": str(copy / script.script),
        "arguments": script.arguments,
        "steps": script.steps,
        "warmup": 0,
        "result": str(result),
        "watched": findings.watched(),
        "shims": script.shims,
        "before": script.before,
    }
    (copy.parent / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    path = [str(copy), str(ROOT), str(ROOT / "benchmarks"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    command = [python, "-m", "trace_parts.child", str(copy.parent / "plan.json")]
    said = copy.parent / "said.txt"
    with said.open("w", encoding="utf-8") as file:  # not a pipe, which workers that are left over would keep open
        process = subprocess.Popen(
            command, cwd=copy / script.folder, env=environment, stdout=file, stderr=file, start_new_session=True
        )
        try:
            process.wait(timeout=LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {"steps": 0}
    if found["steps"] < 2:
        raise TraceError(f"{script.name} trained {found['steps']} steps:\n{said.read_text(errors='replace')[-8000:]}")
    return found


def traced(script: Traced, checkouts: Path, python: str) -> dict[str, Any]:
    """Trace a script and compare it with what perflint says."""
    with tempfile.TemporaryDirectory(prefix="traces-") as folder:
        copy = Path(folder).resolve() / script.name
        copied(script, checkouts, copy, script.parts)
        findings = check(copy)
        seen = trace(script, copy, findings, python)
        return {
            "repository": script.repository,
            "commit": script.commit,
            "trains": script.trains,
            "command": script.command,
            "data": script.data,
            "shims": [*script.before, *script.shims],
            "steps": seen["steps"],
            "lines": lines(seen, findings),
            "findings": ran(seen, findings),
        }


def recorded(script: Traced, checkouts: Path, python: str) -> dict[str, Any]:
    """Run a program, and what it did in its steps."""
    with tempfile.TemporaryDirectory(prefix="traces-") as folder:
        copy = Path(folder).resolve() / script.name
        copied(script, checkouts, copy, script.parts)
        none = Findings([], copy)
        seen = trace(script, copy, none, python)
        kept = [{key: value for key, value in line.items() if key != "predicted"} for line in lines(seen, none)]
        return {
            "repository": script.repository,
            "commit": script.commit,
            "parts": script.parts,
            "trains": script.trains,
            "command": script.command,
            "data": script.data,
            "shims": [*script.before, *script.shims],
            "steps": seen["steps"],
            "lines": kept,
        }


def fixed(script: Traced, checkouts: Path, python: str) -> dict[str, int]:
    """Make all fixes in a copy of a script's repository, and train it: the steps, and what was changed.

    Raises:
        TraceError: it ended before it had trained two steps.
    """
    with tempfile.TemporaryDirectory(prefix="traces-") as folder:
        copy = Path(folder).resolve() / script.name
        copied(script, checkouts, copy, script.parts)
        before = {path: path.read_bytes() for path in copy.rglob("*.py")}
        found = len(json.loads(_perflint(copy, "--output-format", "json")))
        _perflint(copy, "--fix", "--unsafe-fixes")
        changed = sum(path.read_bytes() != text for path, text in before.items())
        left = check(copy)
        steps = trace(script, copy, left, python)["steps"]
        return {"steps": steps, "findings": found, "findings_left": len(left.found), "files_changed": changed}


def as_text(kept: dict[str, Any]) -> str:
    """As JSON, with a row for each line and each finding."""
    parts = []
    for name, found in kept.items():
        rows = [f"  {json.dumps(key)}: {_rows(value)}" for key, value in found.items()]
        parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _rows(value: Any) -> str:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(f"   {json.dumps(each, ensure_ascii=False)}" for each in value) + "\n  ]"


def main(arguments: list[str]) -> int:
    """Trace, keep the traces, and write the page; 1 if a script could not be traced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, metavar="CHECKOUTS")
    parser.add_argument("--only", action="append", help="trace this script (may be repeated)")
    parser.add_argument("--programs", action="store_true", help="record the programs of trace_parts/programs.py")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with Paddle and what the scripts need")
    parser.add_argument("--fixed", action="store_true", help="train with all fixes made; trace nothing")
    parser.add_argument("--page", action="store_true", help="write the page again and trace nothing")
    options = parser.parse_args(arguments)
    if options.programs:
        return _record([each for each in PROGRAMS if not options.only or each.name in options.only], options)
    if options.fixed:
        return _train_fixed([script for script in SCRIPTS if script.name in (options.only or BY_NAME)], options)
    kept: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    failed = 0
    for script in [] if options.page else SCRIPTS:
        if options.only and script.name not in options.only:
            continue
        try:
            kept[script.name] = traced(script, options.checkouts, options.python)
        except (CheckoutError, TraceError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        RESULT.write_text(as_text({name: kept[name] for name in BY_NAME if name in kept}), encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")
    return failed


def _record(programs: list[Traced], options: argparse.Namespace) -> int:
    """Run programs, and keep what they did; 1 if one did not train."""
    failed = 0
    for program in programs:
        try:
            found = recorded(program, options.checkouts, options.python)
        except (CheckoutError, TraceError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        print(program.name, f"{found['steps']} steps, {len(found['lines'])} lines", flush=True)
        kept: dict[str, Any] = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {}
        kept[program.name] = found
        ordered = {each.name: kept[each.name] for each in PROGRAMS if each.name in kept}
        RUNS.write_text(as_text(ordered), encoding="utf-8")
    return failed


def _train_fixed(scripts: list[Traced], options: argparse.Namespace) -> int:
    """Train scripts with all fixes made, and keep the counts; 1 if one does not train."""
    kept: dict[str, dict[str, int]] = json.loads(FIXED.read_text(encoding="utf-8")) if FIXED.exists() else {}
    failed = 0
    for script in scripts:
        try:
            kept[script.name] = fixed(script, options.checkouts, options.python)
        except (CheckoutError, TraceError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        print(script.name, *(f"{what}: {count}" for what, count in kept[script.name].items()), flush=True)
        FIXED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
