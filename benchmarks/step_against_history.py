"""Whether ``perflint step --against`` names what commits of public repositories changed in a training step.

    python benchmarks/step_against_history.py CLONES [--only NAME]

CLONES holds a clone of each repository with its history, bare or not, as OWNER+NAME. Of each commit below, the Python
files before it are committed in a new repository in a temporary directory, and those after it are put over them; then
the difference of one program is printed. Nothing of them is run. ``EXPECTED`` has what a reader of the commit's diff
finds in it; rows that are missing are named, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "step_against_history.json"


class Change(NamedTuple):
    """An event that a commit changed: how, its kind, the end of its file's name, and a part of its code."""

    change: str
    kind: str
    path: str
    code: str


class Commit(NamedTuple):
    """A commit, the program whose steps are compared, and what it changed in them."""

    repository: str
    commit: str
    program: str
    changes: tuple[Change, ...]


EXPECTED = (
    Commit(
        "PaddlePaddle/PaddleClas",
        "48afe86f68",
        "tools/program.py",
        (
            Change("removed", "read", "tools/program.py", "batch[0].numpy()"),
            Change("removed", "copy", "tools/program.py", "to_variable(batch[0]"),
        ),
    ),
    Commit(
        "PaddlePaddle/PaddleClas",
        "2e6dfa4433",
        "ppcls/engine/trainer.py",
        (
            Change("removed", "read", "ppcls/engine/trainer.py", "batch[1].numpy()"),
            Change("removed", "copy", "ppcls/engine/trainer.py", "paddle.to_tensor(batch[1]"),
        ),
    ),
    Commit(
        "PaddlePaddle/PaddleSeg",
        "d3183617ca",
        "dygraph/train.py",
        (Change("replaced", "log", "dygraph/train.py", "logging.info"),),
    ),
    Commit(
        "PaddlePaddle/PaddleSeg",
        "60c1617f75",
        "paddleseg/core/train.py",
        (Change("added", "inside", "paddleseg/core/train.py", "scaler.minimize(optimizer, scaled)"),),
    ),
    Commit(
        "yeyupiaoling/VoiceprintRecognition-PaddlePaddle",
        "351d9930a8",
        "train.py",
        (
            Change("added", "read", "modules/model.py", "length.max()"),
            Change("added", "device copy", "modules/model.py", "paddle.to_tensor(mask"),
        ),
    ),
)


def compared(commit: Commit, clone: Path) -> tuple[str, dict[str, Any]]:
    """The difference that a commit makes, as text and as JSON."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        _git("init", "-q", at=tree)
        for revision in (f"{commit.commit}^", commit.commit):
            for path in tree.rglob("*.py"):
                path.unlink()
            for name, data in _python_files(clone, revision):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes(data)
            if revision != commit.commit:
                _git("add", "-A", at=tree)
                _git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", revision, at=tree)
        shown = [_perflint(commit.program, tree, form) for form in ("text", "json")]
    return shown[0], json.loads(shown[1])


def _perflint(program: str, tree: Path, form: str) -> str:
    command = [sys.executable, "-m", "perflint", "step", "--isolated", "--against", "HEAD", "--output-format", form]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([*command, program], cwd=tree, env=environment, capture_output=True, check=True, text=True)
    return run.stdout


def _python_files(clone: Path, revision: str) -> Iterator[tuple[str, bytes]]:
    """The Python files of a revision that the clone has: a partial one may lack some."""
    listed = _git("--git-dir", str(clone), "ls-tree", "-r", "-z", revision, at=clone).split(b"\0")
    entries = [entry.partition(b"\t") for entry in listed if entry.startswith(b"100") and entry.endswith(b".py")]
    names = [os.fsdecode(name) for _, _, name in entries]
    wanted = b"".join(head.split()[2] + b"\n" for head, _, _ in entries)
    data = _git("--git-dir", str(clone), "cat-file", "--batch", at=clone, given=wanted)
    at = 0
    for name in names:
        end = data.index(b"\n", at)
        head, at = data[at:end].split(), end + 1
        if head[1] != b"missing":
            yield name, data[at : at + int(head[2])]
            at += int(head[2]) + 1


def _git(*arguments: str, at: Path, given: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=at, input=given, capture_output=True, check=True).stdout


def missing(commit: Commit, found: dict[str, Any]) -> list[Change]:
    """The expected changes that the difference does not have."""
    events = [event for step in found["steps"] for event in step["events"]]
    return [wanted for wanted in commit.changes if not any(_is(wanted, event) for event in events)]


def _is(wanted: Change, event: dict[str, Any]) -> bool:
    place = event["after"] or event["before"]
    is_there = place["path"].endswith(wanted.path) and wanted.code in place["code"]
    return is_there and (event["change"], event["kind"]) == (wanted.change, wanted.kind)


def main() -> int:
    """Print the difference of each commit whose repository is there."""
    options = _options()
    results: dict[str, Any] = {}
    for commit in EXPECTED:
        name = commit.repository.replace("/", "+")
        clone = next((each for each in _places(options.clones / name) if (each / "HEAD").is_file()), None)
        if clone is None or (options.only and options.only not in commit.repository):
            continue
        text, found = compared(commit, clone)
        lost = missing(commit, found)
        print(f"{commit.repository} {commit.commit}, {commit.program}\n\n{text}")
        for each in lost:
            print(f"MISSING: {each}")
        results[f"{commit.repository} {commit.commit}"] = {"text": text.splitlines(), "missing": len(lost)}
    if results and not options.only:
        RESULT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(not results or any(each["missing"] for each in results.values()))


def _places(clone: Path) -> tuple[Path, ...]:
    return clone, clone / ".git", clone / "repo"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clones", type=Path)
    parser.add_argument("--only")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
