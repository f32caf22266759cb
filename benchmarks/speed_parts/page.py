"""``docs/performance.md`` from a result file: nothing in it is written by hand but the words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speed_parts.bars import BARS, Bar, Results, cost_of_lines, measured, ratio
from speed_parts.tools import COLD, FLAKE8, RUFF, TORCHFIX

MISSING = "–"
SHOWN_RULES = 10
VERDICTS = {"NOT MET": "**Not met**", "met": "Met, but not the goal", "not measured": "Not measured"}


def page(results: Results, picture: str) -> str:
    """The text of the page.

    Args:
        results: A result file of ``benchmarks/speed.py``.
        picture: File name of the picture beside the page.
    """
    parts = results["parts"]
    trees = parts.get("trees", {})
    sections = (
        _opening(results),
        _bars(results),
        _tree_by_tree(trees),
        *(_tree(name, tree, picture if name == next(iter(trees)) else "") for name, tree in trees.items()),
        *_others(parts),
        _scaling(parts.get("scaling")),
        _one_process(parts.get("processes")),
        _profile(results.get("profile")),
        _method(results["missing"]),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _opening(results: Results) -> str:
    machine = results["machine"]
    return f"""# Performance

How fast perflint is, compared with other linters on the same files. One command measures everything and writes this
page; the figures are in [its result file](../benchmarks/results/speed.json).

```
{results["command"]}
```

* Machine: {machine["cpu"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB, {machine["system"]}, \
Python {machine["python"]}. Seconds hold for this machine only; ratios are more portable.
* Versions: {_versions(results)}."""


def _versions(results: Results) -> str:
    versions = "; ".join(results["versions"].values())
    return f"{versions}; perflint at {' and '.join(sorted(set(results['revisions'].values())))}"


def _bars(results: Results) -> str:
    values = measured(results)
    table = _table(["what", "measured", "required", "goal", ""], (_bar(bar, values[bar.key]) for bar in BARS))
    tree = next(iter(results["parts"].get("trees", {})), "")
    where = f"The first four rows are on {tree}, each a ratio of wall times."
    return f"## Targets\n\n{where}\n\n{table}\n\n{_missed(values)}"


def _bar(bar: Bar, value: float | None) -> list[str]:
    return [bar.what, _amount(bar, value), _bound(bar, bar.bar), _bound(bar, bar.goal), bar.verdict(value)]


def _missed(values: Mapping[str, float | None]) -> str:
    by_verdict: dict[str, list[str]] = {}
    for bar in BARS:
        by_verdict.setdefault(bar.verdict(values[bar.key]), []).append(bar.what)
    said = (f"{words}: {'; '.join(by_verdict[key])}." for key, words in VERDICTS.items() if key in by_verdict)
    return "\n\n".join(said) or "All goals are met."


def _amount(bar: Bar, value: float | None) -> str:
    return MISSING if value is None else bar.unit.format(figure(value))


def _bound(bar: Bar, value: float) -> str:
    return ("at least " if bar.higher else "at most ") + bar.unit.format(f"{value:g}")


def _tree_by_tree(trees: Mapping[str, Results]) -> str:
    """A row for each tree: what a line costs, and how the other tools compare."""
    if len(trees) < 2:
        return ""
    rows = [
        [
            name,
            f"{tree['lines']:,}",
            *map(_figure_or_none, (tree["costs"].get(COLD, {}).get("wall"), cost_of_lines(tree))),
            *(_figure_or_none(ratio(tree["costs"], other, COLD)) for other in (FLAKE8.title, TORCHFIX.title)),
            _figure_or_none(ratio(tree["costs"], COLD, RUFF.title)),
        ]
        for name, tree in trees.items()
    ]
    head = ["", "lines", "cold s", "CPU s, 1,000 lines", "flake8", "TorchFix", "against Ruff"]
    words = (
        "The columns flake8 and TorchFix have their time divided by that of perflint cold, the last column that of "
        "perflint cold divided by Ruff's."
    )
    return f"## Tree by tree\n\n{words}\n\n{_table(head, rows)}"


def _figure_or_none(value: float | None) -> str:
    return MISSING if value is None else figure(value)


def _tree(name: str, tree: Results, picture: str) -> str:
    read, parse, left_out = figure(tree["floor"]["read"]), figure(tree["floor"]["parse"]), tree.get("left_out")
    lines = [
        f"## {name}: {tree['files']:,} files, {tree['lines']:,} lines",
        f"![Wall time of each tool on {name}, on a logarithmic scale]({picture})" if picture else "",
        _costs(tree["costs"]),
        f"The lower limit: reading the files takes {read} s of CPU and `ast.parse` of them {parse} s, in one process.",
        f"Left out for TorchFix: {left_out} of the files, which Python cannot parse." if left_out else "",
    ]
    return "\n\n".join(line for line in lines if line)


def _costs(costs: Results) -> str:
    fastest_first = sorted(costs, key=lambda name: costs[name]["wall"])
    base = costs.get(COLD, {}).get("wall")
    rows = [
        [
            name,
            figure(costs[name]["wall"]),
            figure(costs[name]["cpu"]),
            figure(costs[name]["peak"]) if "peak" in costs[name] else MISSING,
            figure(costs[name]["wall"] / base) if base else MISSING,
            str(len(costs[name]["runs"])),
        ]
        for name in fastest_first
    ]
    return _table(["", "wall s", "CPU s", "peak MiB", "wall, perflint cold = 1", "runs"], rows)


def _others(parts: Results) -> Iterator[str]:
    if "all" in parts:
        whole = parts["all"]
        size = f"{whole['trees']} repositories, {whole['files']:,} files, {whole['lines']:,} lines"
        yield f"## Many repositories as one project: {size}\n\n{_costs(whole['costs'])}"
    if "near_empty" in parts:
        yield f"## {parts['near_empty']['files']:,} near-empty files\n\n{_costs(parts['near_empty']['costs'])}"
    if "start" in parts:
        yield f"## Starting\n\n{_costs(parts['start']['costs'])}"
    if "edit" in parts:
        edit = parts["edit"]
        yield (
            f"## One edit\n\nIn `{edit['file']}` of {edit['project']} ({edit['file_lines']:,} lines), in a "
            f"running process: {figure(edit['median_ms'])} ms from the edit to the findings of the file."
        )


def _scaling(part: Results | None) -> str:
    if not part:
        return ""
    rows = [
        [
            f"{row['lines']:,}",
            f"{row['files']:,}",
            figure(row["wall"]),
            figure(row["cpu"]),
            figure(row["peak"]),
            f"{round(row['lines'] / row['wall'], -2):,.0f}",
        ]
        for row in part["rows"]
    ]
    table = _table(["lines", "files", "wall s", "CPU s", "peak MiB", "lines a second"], rows)
    text = f"## Scaling with lines\n\nCold, on projects that the command generates (seed {part['seed']}).\n\n{table}"
    if not part["left_out"]:
        return text
    return f"{text}\n\nNot measured, for lack of time: {', '.join(f'{lines:,}' for lines in part['left_out'])} lines."


def _one_process(part: Results | None) -> str:
    """Why one project is checked in one process, by results from when two could share it; others have no such part."""
    if not part:
        return ""
    one, two = part["rows"][:2]
    measured = (
        f"on {part['tree']} two were {figure(one['wall'] / two['wall'])} times as fast as one ({figure(two['wall'])} s "
        f"against {figure(one['wall'])} s) and took {figure(two['peak'])} MiB instead of {figure(one['peak'])} MiB"
    )
    text = (
        "`--jobs` is how many projects are checked at a time, each in one process. Until this was measured, processes "
        f"also shared one project: {measured}. So that was removed; the wall times and the memory of single projects "
        "above are still those of two processes."
    )
    return f"## Processes\n\n{text}"


def _profile(profile: Results | None) -> str:
    if not profile:
        return ""
    total = sum(profile["phases"].values())
    rows = [[phase, figure(seconds), f"{100 * seconds / total:.0f} %"] for phase, seconds in profile["phases"].items()]
    rows.append(["together", figure(total), ""])
    text = [
        "## Where the time goes",
        f"A cold run on {profile['tree']}, {profile.get('unit', 'CPU seconds')}, by phase:",
        _table(["phase", "s", "share"], rows),
        *_rules(profile.get("rules", {})),
        *profile.get("notes", ()),
    ]
    return "\n\n".join(text)


def _rules(seconds: Mapping[str, float]) -> list[str]:
    slowest = sorted(seconds, key=lambda code: -seconds[code])[:SHOWN_RULES]
    rows = ([code, figure(seconds[code])] for code in slowest)
    return ["The rules that take longest:", _table(["rule", "s"], rows)] if slowest else []


def _method(missing: Mapping[str, str]) -> str:
    absent = "".join(
        f"\n* {name} was not measured, because it was not installed: `{how}`." for name, how in missing.items()
    )
    return f"""## How it was measured

* Whole processes, in turn (A B C A B C ...). Wall and CPU seconds are medians of the runs; a ratio is that of two
  medians of wall time from the same session. CPU is user and system time of all processes of a command.
* Peak memory is the largest sum over all processes of a command at one moment, shared pages counted once (PSS), sampled
  continuously in separate runs. Each command has run before it is timed, so the files are in the page cache and Python
  has compiled the command's code, as after an installation.
* perflint cold is `check --isolated --exit-zero --quiet --no-cache`; warm is the same with a cache and nothing changed.
* TorchFix (`--select ALL`) gets a copy of the tree with `paddle` spelled `torch`; Fixit runs its own rules, flake8
  `--isolated --select F` with a process for each core, Ruff `check --isolated --no-cache --select F` without notebooks.
  They look for different things than perflint: the figures show what a run costs, not which linter is better.
* `python benchmarks/speed.py --help` says how to measure other trees, or only a part.{absent}"""


def figure(value: float) -> str:
    """A measured number with as many digits as it deserves: about three."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" if name else "---" for name in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
