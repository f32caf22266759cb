"""Says whether a change of the index changes what perflint says: findings, fixes and steps of whole trees.

    python benchmarks/oracle.py benchmarks/results/oracle.json ../repos/* --write     # before the change
    python benchmarks/oracle.py benchmarks/results/oracle.json ../repos/*             # after it

Each tree is checked with all rules in one process and in two, its steps are listed, and a session makes random edits
(always the same ones) in the files that hold findings.  The file holds how many findings, edits and steps there are and
a hash of all of them for each tree.  Exits with 1 where something differs; ``--dump DIR`` writes the lines behind the
hashes, one file a tree, so that ``diff -r`` of two directories shows what.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from zlib import crc32

from edit import changed

from perflint import catalogue
from perflint.configuration.settings import Settings, selected
from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.flow.resolving import opened
from perflint.inputs.projects import split
from perflint.lint import registry
from perflint.run import engine
from perflint.run.discovery import python_files, read_all
from perflint.run.session import Session
from perflint.text.source import Source
from perflint.trace import hot_path
from perflint.training.steps import Step, points_of

ALL = Settings(select=("ALL",), min_confidence=Confidence.LOW, min_impact=ImpactLevel.LOW)
_FILES = 3
_EDITS = 4
"""Files of a tree that are edited, and edits of each."""


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")
    known = json.loads(options.results.read_text(encoding="utf-8")) if options.results.exists() else {}
    different = 0
    os.chdir(tempfile.mkdtemp())  # a README in this directory would tell which files of a tree belong together
    for tree in options.trees:
        name = tree.name
        said, lines = _said(tree)
        if options.dump:
            options.dump.mkdir(parents=True, exist_ok=True)
            (options.dump / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
        if options.write:
            known[name] = said
            options.results.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            print(name, said["findings"], "findings", flush=True)
            continue
        wrong = [what for what, value in said.items() if known.get(name, {}).get(what) != value]
        different += bool(wrong)
        print(name, "other " + ", ".join(wrong) if wrong else "same", flush=True)
    return int(different > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=_path, help="the file with the counts and hashes")
    parser.add_argument("trees", nargs="+", type=_path)
    parser.add_argument("--write", action="store_true", help="write what is there now, rather than compare")
    parser.add_argument("--dump", type=_path, help="a directory for the lines behind the hashes")
    return parser.parse_args()


def _path(text: str) -> Path:
    """A path that stays right when the directory is changed."""
    return Path(text).resolve()


def _said(tree: Path) -> tuple[dict[str, int | str], list[str]]:
    """What perflint says of a tree, in numbers and hashes, and the lines that are hashed."""
    sources = _sources(tree)
    alone, together = (list(map(_line, engine.check(sources, ALL, jobs=jobs))) for jobs in (1, 2))
    steps, edited = list(_steps(sources)), list(_after_edits(sources, tree.name))
    numbers: dict[str, int | str] = {
        "files": len(sources),
        "findings": len(alone),
        "edits": sum(len(json.loads(line)["edits"]) for line in alone),
        "steps": len(steps),
        "one process": _hash(alone),
        "two processes": _hash(together),
        "where steps lead": _hash(steps),
        "after edits": _hash(edited),
    }
    differing = [f"only in one way: {line}" for line in sorted({*alone} ^ {*together})]
    return numbers, [*alone, *differing, *steps, *edited]


def _sources(tree: Path) -> dict[str, Source]:
    """The sources of a tree, by their paths in it."""
    found, _ = read_all(python_files([tree], Settings()).files)
    inside = {Path(path).resolve().relative_to(tree).as_posix(): source for path, source in found.items()}
    return {path: Source(path, source.text, source.encoding) for path, source in sorted(inside.items())}


def _line(finding: Finding) -> str:
    """All of a finding, fix and related places too, in one line."""
    fix = finding.fix
    return json.dumps(
        {
            "place": [finding.path, finding.start, finding.end, finding.statement],
            "code": finding.code,
            "confidence": str(finding.confidence),
            "impact": None if finding.impact is None else [str(finding.impact.level), finding.impact.reason],
            "message": finding.message,
            "fix": None if fix is None else [fix.message, str(fix.level), fix.reason, fix.imports, fix.paddle],
            "edits": [] if fix is None else [[edit.start, edit.end, edit.content] for edit in fix.edits],
            "related": [[item.path, item.line, item.message] for item in finding.related],
        },
        ensure_ascii=False,
    )


def _steps(sources: Mapping[str, Source]) -> Iterator[str]:
    """Each statement that runs at each step, with the way that leads there."""
    codes = selected(ALL, catalogue.shipped())
    for group in split(sources).projects:
        project = opened(group, ALL)
        hot_path.analyse(project, registry.forward_clues_of(codes))
        for path, file in project.files.items():
            for node, point in sorted(points_of(file).items(), key=lambda item: (item[0].lineno, item[0].col_offset)):
                if point.step is not None:
                    yield f"step {path}:{node.lineno}:{node.col_offset} {_told(point.step)}"
        project.close()


def _told(step: Step) -> str:
    return (
        f"Step(path={step.path!r}, line={step.line}, via={step.via!r}, function={step.function!r}, "
        f"forward={step.forward}, sure={step.sure})"
    )


def _after_edits(sources: dict[str, Source], name: str) -> Iterator[str]:
    """The findings of a session after each of some edits, which depend on the tree's name alone."""
    chance = random.Random(crc32(name.encode()))
    session = Session(sources, ALL)
    found = session.findings()
    broken = {finding.path for finding in found if finding.code == "PPF001"}  # no edit makes Python 2 parse
    holding = sorted({finding.path for finding in found} - broken)
    for path in chance.sample(holding, min(_FILES, len(holding))):
        text = sources[path].text
        for _ in range(_EDITS):
            text = changed(text, chance)
            session.edit(path, text)
            session.catch_up()
            yield f"after an edit of {path}: {_hash(list(map(_line, session.findings())))}"


def _hash(lines: list[str]) -> str:
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
