"""The share of findings that were judged right by reading, per draw, from ``benchmarks/results/verdicts.json``.

    python benchmarks/share_right.py

``judged`` counts the findings as they were when they were read.  ``now`` leaves out those that a change made since then
has silenced, and counts as right those whose advice such a change has put right (``since`` in the file says which).
"""

from __future__ import annotations

import json
from pathlib import Path

VERDICTS = Path(__file__).resolve().parent / "results" / "verdicts.json"
GONE, OTHERWISE = "no longer reported", "says otherwise"


def main() -> None:
    verdicts: list[dict[str, object]] = json.loads(VERDICTS.read_text(encoding="utf-8"))
    for draw in dict.fromkeys(item["draw"] for item in verdicts):
        items = [item for item in verdicts if item["draw"] == draw]
        now = [item for item in items if item.get("since") != GONE]
        right = [item for item in items if item["verdict"] == "right"]
        right_now = [item for item in now if item["verdict"] == "right" or item.get("since") == OTHERWISE]
        print(f"{draw}: judged {_share(right, items)}, now {_share(right_now, now)}")


def _share(right: list[dict[str, object]], items: list[dict[str, object]]) -> str:
    return f"{len(right)} of {len(items)} right ({len(right) / len(items):.3f})"


if __name__ == "__main__":
    main()
