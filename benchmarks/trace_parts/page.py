"""``docs/traces.md``: what the traced scripts do on the host in a step, and how much of it is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .matching import OFTEN
from .notes import why_false, why_missed, why_only_on_cpu
from .scripts import SCRIPTS, Traced

PAGE = Path(__file__).resolve().parents[2] / "docs" / "traces.md"

_HEAD = """# Public training scripts, traced

What {count} public training scripts do on the host in each step, traced while they ran, and how much of it perflint
predicts. They run unchanged, on small data, on a CPU with Paddle 3.3.1. A tracer on top of the recorder of `perflint
bench` records each host read of a tensor, each tensor made of host data, each wait for a loader, save and log call
between the first and the last step of the optimizer, with the innermost line of the project that led to it. One
command traces and writes this page:

```
python benchmarks/traces.py CHECKOUTS
```

`CHECKOUTS` is a folder with a git checkout of each repository at the commit below; `--python EXE` names an interpreter
that has Paddle and what the scripts need, and `--only NAME` picks a script. The scripts were chosen for what they train
and because they run, regardless of what perflint says about them.

* A line **blocks** if a step waits there: a host read, an operation whose size depends on values, a wait for a loader
  without workers, a save. It counts if it does so in at least every second step. Lines that block less often are behind
  a guard such as `step % 100 == 0`. They are listed separately, as are the end of an epoch and the evaluation. Lines
  that block only on a CPU are also listed separately, with the reason, and do not count.
* A line is **predicted** if a finding of a matching rule is on its statement or on a call that led there, or lists the
  line; all rules are on, and findings of any impact and confidence count. A wait for a loader is predicted by a finding
  where the loader is made.
* A finding whose line ran **came true** if the event that its message describes was seen there in at least every second
  step, in the phase in which the line ran. Rules about what a trace does not show, such as a graph that is kept alive,
  are left out.

A CPU shows where a program reads and waits, not how long it would wait for a GPU. With `--programs`, forty-one other
programs run under the same tracer, for [step-runs.md](step-runs.md).
"""

_BEFORE = "When these scripts were first traced, it was 28 lines, and 47 of 48 findings."


def page(kept: Mapping[str, Any]) -> str:
    """The whole page."""
    shown = [script for script in SCRIPTS if script.name in kept]
    parts = [_HEAD.format(count=len(shown)), _summary(shown, kept)]
    return "\n".join([*parts, *(_section(script, kept[script.name]) for script in shown)])


def blocking(trace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines at which the steps wait, on a GPU or only on a CPU."""
    return [line for line in trace["lines"] if line["blocks"] and line["phase"] == "step" and _often(line)]


def _on_gpu(script: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if not why_only_on_cpu(script, line)]


def _often(line: Mapping[str, Any]) -> bool:
    return float(line["share_of_steps"]) >= OFTEN


def _summary(shown: list[Traced], kept: Mapping[str, Any]) -> str:
    rows = [
        "| script | trains | steps | lines that block | predicted | only on a CPU | findings that ran | came true |"
    ]
    rows.append("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    sums = [0, 0, 0, 0, 0]
    for script in shown:
        trace = kept[script.name]
        blocks, findings = blocking(trace), trace["findings"]
        lines, did = _on_gpu(script.name, blocks), sum(each["did"] for each in findings)
        counts = [len(lines), _predicted(lines), len(blocks) - len(lines), len(findings), did]
        sums = [have + more for have, more in zip(sums, counts, strict=True)]
        cells = [f"[{script.name}](#{script.name})", script.trains, trace["steps"], *counts]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    rows.append(f"| **all** | | | {' | '.join(f'**{each}**' for each in sums)} |")
    told = (
        f"Predicted: {_share(sums[1], sums[0])} of the lines. Came true: {_share(sums[4], sums[3])} of the "
        f"findings. {_BEFORE}\n"
    )
    return "\n".join([*rows, "", told])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "none"


def _predicted(lines: list[dict[str, Any]]) -> int:
    return sum(bool(line["predicted"]) for line in lines)


def _section(script: Traced, trace: Mapping[str, Any]) -> str:
    where = "" if script.folder == "." else f" in `{script.folder}`"
    parts = [
        f"## {script.name}\n",
        f"{script.link} at `{script.commit[:8]}`{where}; needs {', '.join(script.needs)}. Data: {script.data}.\n",
        f"```\n{trace['command']}\n```\n",
    ]
    if trace["shims"]:
        parts.append("Run first: " + "; ".join(f"`{each}`" for each in trace["shims"]) + ".\n")
    blocks = blocking(trace)
    lines = _on_gpu(script.name, blocks)
    if lines:
        parts.append(_table(lines, script.name))
    else:
        parts.append("No line blocks at each step.\n")
    apart = [f"{_other(line)}: {why_only_on_cpu(script.name, line)}" for line in blocks if line not in lines]
    if apart:
        parts.append("Lines that block only on a CPU:\n\n" + "\n".join(apart) + "\n")
    others = [line for line in trace["lines"] if line not in blocks]
    if others:
        parts.append("Other lines:\n\n" + "\n".join(_other(line) for line in others) + "\n")
    return "\n".join([*parts, *_said(script, trace["findings"])])


def _table(lines: list[dict[str, Any]], script: str) -> str:
    rows = ["| line that blocks | what | times a step | predicted by |", "| --- | --- | ---: | --- |"]
    for line in lines:
        predicted = ", ".join(line["predicted"]) or f"**miss**: {why_missed(script, line)}"
        rows.append(f"| `{line['file']}:{line['line']}` | {_what(line)} | {line['times_a_step']:g} | {predicted} |")
    return "\n".join(rows) + "\n"


def _what(line: Mapping[str, Any]) -> str:
    if line["kind"] == "loader wait":
        return "wait for a loader, " + " and ".join(note.split("@")[0] for note in line["note"])
    via = f" in `{', '.join(each.rpartition('.')[2] for each in line['via'])}`" if line["via"] else ""
    return ", ".join(f"`{each}`" for each in line["what"]) + via


def _other(line: Mapping[str, Any]) -> str:
    phase = {"step": "", "evaluation": ", in evaluation", "epoch end": ", between epochs", "loader": ", in the loader"}
    said = f": {', '.join(line['predicted'])}" if line["predicted"] else ""
    return (
        f"* `{line['file']}:{line['line']}` {_what(line)}, {line['times_a_step']:g} a step{phase[line['phase']]}{said}"
    )


def _said(script: Traced, findings: list[dict[str, Any]]) -> list[str]:
    if not findings:
        return ["No finding is on a line that ran.\n"]
    right = sum(each["did"] for each in findings)
    told = f"{right} of {len(findings)} findings on lines that ran came true."
    wrong = [
        f"* {each['code']} at `{each['file']}:{each['line']}`: {each['seen']}. {why_false(script.name, each)}"
        for each in findings
        if not each["did"]
    ]
    return ["\n\n".join([told, *(["\n".join(wrong)] if wrong else [])]) + "\n"]
