"""What one event costs: the milliseconds that the fix of a rule saves, for each time that the mistake happens.

    python benchmarks/per_event.py

The figures are those of ``rules/measured.json``, which ``python -m tests.ips.summary`` works out from the measured
steps in ``evidence/`` (docs/measuring.md says how those were taken), so they hold for the CPU and the sizes of those
scripts.  ``rules/events.yaml`` cites them.  How often the mistake happens in a step of a script stands in
``tests/ips/remarks.py``, and the intervals are in docs/measured.md.
"""

from __future__ import annotations

import json
from pathlib import Path

from record import write

MEASURED = Path(__file__).resolve().parents[1] / "rules" / "measured.json"


def main() -> None:
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    saved = {code: each["cpu"]["saved"] for code, each in found.items() if "saved" in each.get("cpu", {})}
    write({"milliseconds_per_event": {code: each["milliseconds"] for code, each in saved.items()}})


if __name__ == "__main__":
    main()
