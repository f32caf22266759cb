"""How fast perflint is: beside other linters, on large and on many trees, and by the number of lines.

    python benchmarks/speed.py PaddleDetection --all repositories --tools build/linters --install --scaling

Without a tree it makes one up.  ``--install`` puts TorchFix, Fixit, flake8 and Ruff into virtual environments under
``--tools``; what is not there is named with how to install it and left out.  The results go to ``--output``, and from
there to ``--page`` and the picture beside it (``pip install -e ".[plot]"`` for that); ``--render`` does only that.
``--only`` measures some parts again and keeps the others, which must be of the same machine and versions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from speed_parts import suites, trees
from speed_parts.bars import BARS, measured
from speed_parts.measure import Candidate, in_turn, sitting, summary, timed
from speed_parts.page import figure, page
from speed_parts.picture import draw
from speed_parts.tools import ROOT, RUFF, TOOLS, Tool, cold, installed_versions, perflint, split, warm

RESULTS = ROOT / "benchmarks" / "results"
EDIT = ROOT / "benchmarks" / "edit.py"
PROFILE = RESULTS / "profile.json"
NEAR_EMPTY = 41_000
SMALLEST, STEP = 10_000, 4
START_ROUNDS = 4
"""Commands of hundredths of a second run so many times as often as the others."""
SEED = 0
PARTS = ("trees", "all", "near_empty", "start", "edit", "scaling")
Part = dict[str, Any]


def main() -> None:
    options = _options()
    if options.render:
        results = json.loads(options.output.read_text(encoding="utf-8"))
    else:
        if options.install:
            _install(options.tools)
        with tempfile.TemporaryDirectory() as scratch:
            results = Sitting(options, Path(scratch)).results()
    results = with_profile(results, options.profile)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    _render(results, options.page)
    _print_bars(results)


class Sitting:
    """One run of the command: measures the parts that were asked for."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.words = shlex.split(options.perflint)
        self.there, self.missing = split(options.tools)
        for name, how in self.missing.items():
            _tell(f"{name} is not installed: {how}")

    def results(self) -> dict[str, Any]:
        """The content of the result file."""
        parts: dict[str, Callable[[], Part]] = {
            "trees": self._trees,
            "near_empty": self._near_empty,
            "start": self._start,
        }
        if self.options.all:
            parts["all"] = self._all
        if EDIT.exists():
            parts["edit"] = self._edit
        if self.options.scaling:
            parts.update(scaling=self._scaling)
        wanted = self.options.only or list(parts)
        if not set(wanted) <= set(parts):
            raise SystemExit("--only all needs --all, --only scaling --scaling, edit a benchmarks/edit.py")
        head = {
            "command": " ".join(["python", "benchmarks/speed.py", *map(shlex.quote, self._shown_arguments())]),
            "machine": machine(),
            "versions": self._versions(),
            "missing": self.missing,
        }
        kept = self._kept(head) if self.options.only else {}
        done = {name: _watched(parts[name]) for name in wanted}
        revisions = {**kept.get("revisions", {}), **{name: revision for name, (revision, _) in done.items()}}
        results = {**kept.get("parts", {}), **{name: part for name, (_, part) in done.items()}}
        return {**head, **kept, "revisions": revisions, "parts": results}

    def _shown_arguments(self) -> Iterator[str]:
        """The arguments with paths by their last name: where they lie on this machine tells nobody anything."""
        for argument in sys.argv[1:]:
            path = Path(argument)
            yield path.name if path.is_absolute() else argument

    def _kept(self, head: dict[str, Any]) -> dict[str, Any]:
        if not self.options.output.exists():
            return {}
        kept: dict[str, Any] = json.loads(self.options.output.read_text(encoding="utf-8"))
        for name in ("machine", "versions"):
            if kept[name] != head[name]:
                raise SystemExit(f"{self.options.output} has another {name}: measure all parts together")
        return kept

    def _versions(self) -> dict[str, str]:
        found = {tool.title: tool.versions(self.options.tools) for tool in self.there}
        ours = perflint("", self.words, self.scratch, ["--version"]).output().strip()
        return {"perflint": f"{ours}, {installed_versions(self.words[0], ['libcst'])}", **found}

    def _trees(self) -> Part:
        return {tree.name: self._tree(tree) for tree in self._suite()}

    def _suite(self) -> Sequence[Path]:
        named: list[Path] = self.options.trees
        if named:
            return named
        tree = self.scratch / f"generated-{self.options.lines}"
        if not tree.exists():
            suites.write_project(tree, self.options.lines, SEED)
        return [tree]

    def _tree(self, tree: Path) -> Part:
        _tell(f"{tree.name}: {trees.size([tree])}")
        with tempfile.TemporaryDirectory(dir=self.scratch) as place:
            renamed = Path(place) / tree.name
            needs_copy = any(tool.torch for tool in self.there)
            left_out = trees.copy_as_torch(tree, renamed) if needs_copy else None
            candidates = [
                *self._perflint(tree, ["."]),
                *(tool.candidate(self.options.tools, renamed if tool.torch else tree, ["."]) for tool in self.there),
            ]
            costs = self._measure(candidates)
        counts = {**trees.size([tree]), "left_out": left_out}
        return {**counts, "floor": trees.floor(tree), "costs": costs}

    def _all(self) -> Part:
        directory = self.options.all
        repositories = sorted(path.name for path in directory.iterdir() if path.is_dir())
        # Named one by one: a link to a directory is followed only where it is named.
        paths = [f"./{name}" for name in repositories]
        size = trees.size(directory / name for name in repositories)
        _tell(f"all: {len(repositories)} repositories, {size}")
        costs = self._measure([*self._perflint(directory, paths), *self._ruff(directory, paths)])
        return {"trees": len(repositories), **size, "costs": costs}

    def _near_empty(self) -> Part:
        with tempfile.TemporaryDirectory(dir=self.scratch) as place:
            suites.write_near_empty(Path(place), NEAR_EMPTY)
            costs = self._measure([*self._perflint(Path(place), ["."]), *self._ruff(Path(place), ["."])])
        return {"files": NEAR_EMPTY, "costs": costs}

    def _start(self) -> Part:
        candidates = [
            Candidate("python -c pass", [self.words[0], "-c", "pass"], self.scratch),
            perflint("perflint --version", self.words, self.scratch, ["--version"]),
        ]
        rounds = self.options.runs * START_ROUNDS
        # No memory: a command of a hundredth of a second has ended before anybody has looked.
        return {"costs": summary(in_turn(candidates, rounds, rounds, _tell), {})}

    def _edit(self) -> Part:
        tree = self._suite()[0]
        file = trees.long_trainer(tree)
        if file is None:
            raise SystemExit(f"{tree} has no file with a training step")
        edit = perflint("edit", [self.words[0], str(EDIT)], self.scratch, [str(tree.absolute()), str(file)])
        lines = (tree / file).read_bytes().count(b"\n")
        result = {"project": tree.name, **json.loads(edit.output()), "file": file.as_posix(), "file_lines": lines}
        _tell(f"edit: {result}")
        return {**result}

    def _scaling(self) -> Part:
        rows: list[Part] = []
        wanted = sizes(self.options.largest)
        for lines in wanted:
            if rows and rows[-1]["wall"] > self.options.patience:
                break
            with tempfile.TemporaryDirectory(dir=self.scratch) as place:
                size = suites.write_project(Path(place), lines, SEED)
                _tell(f"scaling: {size}")
                costs = self._measure([cold(self.words, Path(place), ["."])], self.options.scaling_runs)
                rows.append({**size, **next(iter(costs.values()))})
        return {"seed": SEED, "rows": rows, "left_out": wanted[len(rows) :]}

    def _perflint(self, directory: Path, paths: Sequence[str]) -> list[Candidate]:
        """perflint cold and warm, with a cache that is filled."""
        cache = Path(tempfile.mkdtemp(dir=self.scratch))
        filled = warm(self.words, directory, paths, cache)
        timed(filled)
        return [cold(self.words, directory, paths), filled]

    def _ruff(self, directory: Path, paths: Sequence[str]) -> list[Candidate]:
        return [RUFF.candidate(self.options.tools, directory, paths)] if RUFF in self.there else []

    def _measure(self, candidates: Sequence[Candidate], runs: int = 0) -> Part:
        return sitting(candidates, runs or self.options.runs, runs or self.options.slow_runs, _tell)


def sizes(largest: int) -> list[int]:
    """Numbers of lines to measure: 10,000, four times that and so on, at last the largest itself.

    >>> sizes(100_000)
    [10000, 40000, 100000]
    """
    result = []
    lines = SMALLEST
    while lines < largest:
        result.append(lines)
        lines *= STEP
    return [*result, largest]


def machine() -> dict[str, Any]:
    """What the figures depend on besides the programs."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _watched(measure: Callable[[], Part]) -> tuple[str, Part]:
    """The revision that was measured, and what came of it: an edit meanwhile empties the cache, and is told."""
    before = _contents()
    part = measure()
    return revision() + (" (changed while it ran)" if _contents() != before else ""), part


def _contents() -> dict[str, bytes]:
    paths = [*(ROOT / "perflint").rglob("*.py"), *(ROOT / "rules").glob("*.yaml")]
    return {str(path): path.read_bytes() for path in paths}


def revision() -> str:
    """What git calls this checkout."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() or "an unknown revision"


def with_profile(results: dict[str, Any], path: Path) -> dict[str, Any]:
    """The results with the profile of a cold run, where there is one.

    A profile is ``{"tree": name, "phases": {phase: seconds}}`` and may have ``"unit"`` (default: CPU seconds),
    ``"rules": {code: seconds}`` and ``"notes": [paragraph]``.
    """
    if not path.exists():
        return results
    return {**results, "profile": json.loads(path.read_text(encoding="utf-8"))}


def _install(tools: Path) -> None:
    for tool in _absent(tools):
        _tell(f"installing {tool.name}")
        tool.install(tools)


def _absent(tools: Path) -> list[Tool]:
    there, _ = split(tools)
    return [tool for tool in TOOLS if tool not in there]


def _render(results: dict[str, Any], target: Path) -> None:
    picture = target.with_suffix(".svg")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(results, picture.name), encoding="utf-8")
    try:
        draw(results, picture)
    except ImportError:
        _tell(f'{picture} is not drawn: pip install -e ".[plot]"')


def _print_bars(results: dict[str, Any]) -> None:
    values = measured(results)
    for bar in BARS:
        value = values[bar.key]
        shown = "-" if value is None else bar.unit.format(figure(value))
        print(f"{bar.what}: {shown} (bar {bar.bar:g}, goal {bar.goal:g}): {bar.verdict(value)}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("trees", type=Path, nargs="*", metavar="TREE", help="checkouts of Paddle code; the first is held to the bars")
    add("--lines", type=int, default=136_000, help="of the tree that is made up where none is named")
    add("--all", type=Path, metavar="DIR", help="a directory with many repositories, to be checked as one project")
    add("--tools", type=Path, metavar="DIR", default=ROOT / "build" / "linters", help="virtual environments")
    add("--install", action="store_true", help="make the environments that are missing")
    add("--runs", type=int, default=5)
    add("--slow-runs", type=int, help="of TorchFix and Fixit (default: as --runs)")
    add("--scaling", action="store_true", help="also made-up trees of growing size")
    add("--scaling-runs", type=int, default=3, help="of each made-up tree")
    add("--largest", type=int, default=4_000_000, metavar="LINES", help="of the largest made-up tree")
    add("--patience", type=float, default=300, metavar="S", help="no larger made-up tree where one takes longer")
    add("--only", nargs="+", choices=PARTS, help="measure these again, keep the rest of --output")
    add("--render", action="store_true", help="write the page from --output, measure nothing")
    add("--perflint", default=f"{sys.executable} -m perflint")
    add("--output", type=Path, default=RESULTS / "speed.json")
    add("--page", type=Path, default=ROOT / "docs" / "performance.md")
    add("--profile", type=Path, default=PROFILE)
    options = parser.parse_args()
    options.slow_runs = options.slow_runs or options.runs
    options.tools = options.tools.absolute()
    return options


if __name__ == "__main__":
    main()
