"""Findings in repositories that nobody has looked at: drawn, judged twice, and counted.

    python benchmarks/blind.py draw 1 OWNER+NAME@COMMIT ...      # writes results/blind/batch-1.json
    python benchmarks/blind.py join 1 first.json second.json [third.json]
    python benchmarks/blind.py recall 1 OWNER+NAME@COMMIT ...    # says of results/blind/recall-1.json what is found
    python benchmarks/blind.py again FILE FOLDER ...     # which of these places are still reported, by rule and verdict
    python benchmarks/blind.py table                     # the tables of docs/field-notes.md

``draw`` checks each tree (a directory named OWNER+NAME, with the files of that commit) with the default settings, and
draws up to 100 of the findings, with the number of the batch as seed.  Two readers then judge each place on their own,
without knowing each other's verdicts, and write a JSON list with ``number``, ``verdict`` and ``why``; a third reader
judges the places where those two differ, and that verdict counts.  ``join`` puts the verdicts beside the places.  They
are committed before anything is changed because of them.

The verdicts: **R**, right, and a maintainer would accept the finding in review; **T**, true, but trifling, or the
advice cannot be followed; **W**, wrong; **F**, the finding is right, but its fix is not.

``results/blind/recall-1.json`` holds what should be found in training files of the same repositories.  It is written by
a reader before anyone sees what perflint says there: the rows of a place, what happens there, and the code of a rule
that describes it ("none" where none does).  ``recall`` adds whether a finding is on one of these rows, and whether
perflint has that rule at all.  In batch 6 several readers wrote them, each with its kind and cost; the rule is that of
the kind, and a row next to the written one counts.

``again`` takes any file of verdicts and the folders with the trees.  A place is still reported if there is a finding on
its row, or on the one behind it, of the same rule or of another of its hundred (one that waits, PPF2nn), to which the
place may have moved.  ``--name`` also prints the places of these verdicts.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from perflint import catalogue

RESULTS = Path(__file__).resolve().parent / "results" / "blind"
DRAWN = 100
VERDICTS = "RTWF"

Place = dict[str, Any]


def main() -> None:
    options = _options()
    if options.command == "draw":
        _write(_batch(options.batch), draw(_trees(options.trees), options.batch))
    elif options.command == "recall":
        expected = _recall(options.batch)
        seen(expected, [place for tree in _trees(options.trees) for place in _places(tree)])
        _write(RESULTS / f"recall-{options.batch}.json", expected)
    elif options.command == "join":
        drawn = _read(_batch(options.batch))
        judge(drawn["places"], *(_read(path) for path in options.verdicts))
        _write(_batch(options.batch), drawn)
    elif options.command == "again":
        judged = _judged(options.file)
        trees = {_name(tree): tree for folder in options.folders for tree in sorted(folder.iterdir())}
        found = [place for name in sorted({place["repo"] for place in judged}) for place in _places(trees[name])]
        print(again(judged, found))
        for place in (place for place in judged if place["verdict"] in options.name):
            state = "still" if _still(place, found) else "gone"
            print(f"{place['verdict']} {state} {place['repo']} {place['path']}:{place['row']} {place['code']}")
    else:
        batches = sorted(RESULTS.glob("batch-*.json"), key=_number)
        print("\n\n".join(table(_number(path), _read(path), _recall(_number(path))) for path in batches))


def draw(trees: dict[Path, str], seed: int) -> dict[str, Any]:
    """The findings drawn from these trees, each with its commit, and how many findings and lines there are in all."""
    found: list[Place] = []
    repositories = []
    for tree, commit in trees.items():
        own = _places(tree)
        found += own
        repositories.append({"repo": _name(tree), "commit": commit, "findings": len(own), "lines": _lines(tree)})
    chosen = random.Random(seed).sample(found, min(DRAWN, len(found)))
    places = sorted(chosen, key=lambda place: (place["repo"], place["path"], place["row"], place["code"]))
    for number, place in enumerate(places, 1):
        place["number"] = number
    return {"perflint": _revision(), "repositories": repositories, "places": places}


def seen(expected: list[Place], places: list[Place]) -> None:
    """Say of each place that a reader expected whether a finding is on its rows, and whether perflint has its rule."""
    rows = {(place["repo"], place["path"], row) for place in places for row in place["rows"]}
    for item in expected:
        item["rule"] = item["code"] in catalogue.shipped()
        item["found"] = any((item["repo"], item["path"], row) in rows for row in (item["row"], *item["also"]))


def again(judged: list[Place], places: list[Place]) -> str:
    """Of each rule and verdict, how many of the places are still reported, in Markdown: ``30 of 35``."""
    left = [place for place in judged if _still(place, places)]
    rows = ["| still reported | R | T | W | F |", "|---|---:|---:|---:|---:|"]
    for code in (*sorted({place["code"] for place in judged}), ""):
        counts = [Counter(p["verdict"] for p in group if p["code"].startswith(code)) for group in (left, judged)]
        cells = (f"{counts[0][verdict]} of {counts[1][verdict]}" for verdict in VERDICTS)
        rows.append(f"| {code or '**all**'} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _still(place: Place, places: list[Place]) -> bool:
    there = (other for other in places if (other["repo"], other["path"]) == (place["repo"], place["path"]))
    rows = {place["row"], place["row"] + 1}
    return any(other["code"][:4] == place["code"][:4] and not rows.isdisjoint(other["rows"]) for other in there)


def judge(places: list[Place], *readers: list[Place]) -> None:
    """Put each reader's verdict beside its place; the last reader's counts, where the first two differ.

    Raises:
        SystemExit: a place lacks a verdict, or the first two readers differ and no third one has judged it.
    """
    by_reader = [{item["number"]: item for item in reader} for reader in readers]
    for place in places:
        judged = [items[place["number"]] for items in by_reader if place["number"] in items]
        verdicts = [item["verdict"] for item in judged]
        if len(verdicts) < 2 or any(verdict not in VERDICTS for verdict in verdicts):
            raise SystemExit(f"place {place['number']}: two verdicts of {VERDICTS} are needed, there is {verdicts}")
        if len(set(verdicts[:2])) > 1 and len(verdicts) < 3:
            raise SystemExit(f"place {place['number']}: {' and '.join(verdicts)}; a third reader decides")
        place["readers"] = verdicts
        place["verdict"] = verdicts[-1] if len(set(verdicts[:2])) > 1 else verdicts[0]
        place["why"] = next(item["why"] for item in reversed(judged) if item["verdict"] == place["verdict"])


def table(batch: int, drawn: dict[str, Any], recall: list[Place]) -> str:
    """The verdicts of a batch by rule, in Markdown, with what was found of what should be."""
    places = drawn["places"]
    rows = [f"| batch {batch} | n | R | T | W | F |", "|---|---:|---:|---:|---:|---:|"]
    for code in sorted({place["code"] for place in places}):
        rows.append(_row(code, [place for place in places if place["code"] == code]))
    rows.append(_row("**all**", places))
    counts = Counter(place.get("verdict") for place in places)
    shares = ", ".join(f"{verdict} {counts[verdict] / len(places):.2f}" for verdict in VERDICTS)
    lines = sum(item["lines"] for item in drawn["repositories"])
    findings = sum(item["findings"] for item in drawn["repositories"])
    text = f"{findings} findings in {lines:,} lines ({1000 * findings / lines:.2f} per 1,000); {shares}"
    if recall:
        text += (
            f"; found {_found([item for item in recall if item['rule']])} that a reader expected from existing rules"
        )
        text += f", {_found(recall)} including those that no rule describes"
        costly = [item for item in recall if item.get("cost") == "high"]
        text += f", {_found(costly)} of high cost" if costly else ""
    return "\n".join([*rows, "", text + f"; perflint {drawn['perflint'][:8]}."])


def _found(items: list[Place]) -> str:
    found = sum(item["found"] for item in items)
    return f"{found} of {len(items)} ({found / max(len(items), 1):.2f})"


def _row(title: str, places: list[Place]) -> str:
    counts = Counter(place.get("verdict") for place in places)
    return f"| {title} | {len(places)} | " + " | ".join(str(counts[verdict]) for verdict in VERDICTS) + " |"


def _trees(named: list[str]) -> dict[Path, str]:
    """The directories, with their commits, of ``OWNER+NAME@COMMIT``."""
    return {Path(tree): commit for tree, commit in (name.rsplit("@", 1) for name in named)}


def _places(tree: Path) -> list[Place]:
    return [_place(tree, item) for item in _check(tree)]


def _place(tree: Path, item: dict[str, Any]) -> Place:
    where = item["location"]
    path = Path(item["filename"]).resolve().relative_to(tree.resolve()).as_posix()
    fix = item.get("fix") or {}
    return {
        "repo": _name(tree), "path": path, "row": where["row"], "column": where["column"], "code": item["code"],
        "rows": item["rows"], "impact": item["impact"], "message": item["message"], "fix": fix,
    }  # fmt: skip


def _check(tree: Path) -> list[dict[str, Any]]:
    options = ["--isolated", "--exit-zero", "--no-cache", "--output-format", "json"]
    command = [sys.executable, "-m", "perflint", "check", *options, "."]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tree)
    found: list[dict[str, Any]] = json.loads(run.stdout)
    return found


def _name(tree: Path) -> str:
    return tree.name.replace("+", "/", 1)


def _revision() -> str:
    command = ["git", "-C", str(RESULTS.parent), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _lines(tree: Path) -> int:
    files = (path for path in tree.rglob("*.py") if path.is_file() and not path.is_symlink())
    return sum(path.read_bytes().count(b"\n") for path in files)


def _batch(batch: int) -> Path:
    return RESULTS / f"batch-{batch}.json"


def _recall(batch: int) -> list[Place]:
    path = RESULTS / f"recall-{batch}.json"
    places: list[Place] = _read(path) if path.exists() else []
    return places


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _judged(path: Path) -> list[Place]:
    """The places of a file of verdicts: a list, or a batch; ``OWNER+NAME`` is the directory of a repository."""
    verdicts = _read(path)
    places: list[Place] = verdicts if isinstance(verdicts, list) else verdicts["places"]
    return [{**place, "repo": place["repo"].replace("+", "/", 1)} for place in places]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="draw findings of directories named OWNER+NAME@COMMIT")
    drawing.add_argument("batch", type=int)
    drawing.add_argument("trees", nargs="+", metavar="OWNER+NAME@COMMIT")
    joining = commands.add_parser("join", help="put the readers' verdicts beside the places")
    joining.add_argument("batch", type=int)
    joining.add_argument("verdicts", type=Path, nargs="+")
    recalling = commands.add_parser("recall", help="say which of the places that a reader expected are found")
    recalling.add_argument("batch", type=int)
    recalling.add_argument("trees", nargs="+", metavar="OWNER+NAME@COMMIT")
    asking = commands.add_parser("again", help="count the places that are still reported")
    asking.add_argument("file", type=Path)
    asking.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    asking.add_argument("--name", default="", metavar="VERDICTS")
    commands.add_parser("table", help="print the tables of all batches")
    return parser.parse_args()


if __name__ == "__main__":
    main()
