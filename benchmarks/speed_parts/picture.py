"""The picture of ``docs/performance.md``: the wall time of each tool on the first tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from speed_parts.bars import Results
from speed_parts.page import figure

OURS, OTHERS = "#d9480f", "#868e96"


def draw(results: Results, target: Path) -> None:
    """Write an SVG file, the same for the same results. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "perflint", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    name, tree = next(iter(results["parts"]["trees"].items()))
    costs: dict[str, Any] = tree["costs"]
    slowest_first = sorted(costs, key=lambda tool: -costs[tool]["wall"])
    seconds = [costs[tool]["wall"] for tool in slowest_first]
    canvas, axes = pyplot.subplots(figsize=(8, 0.6 + 0.45 * len(seconds)))
    colours = [OURS if tool.startswith("perflint") else OTHERS for tool in slowest_first]
    bars = axes.barh(slowest_first, seconds, color=colours)
    axes.bar_label(bars, [f"{figure(value)} s" for value in seconds], padding=4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g} s")
    axes.set_xlim(min(seconds) / 2, max(seconds) * 3)
    axes.set_xlabel(f"wall time on {name} ({tree['lines']:,} lines), logarithmic")
    axes.spines[["top", "right"]].set_visible(False)
    canvas.savefig(target, metadata={"Date": None, "Creator": None}, bbox_inches="tight", facecolor="white")
    pyplot.close(canvas)
