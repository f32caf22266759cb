"""Counts, says where ``rules.yaml`` is wrong, and writes docs/counted.md: ``python -m tests.counted [PPF201 ...]``.

With codes, only these rules are counted, and their figures are printed in place of the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .checking import arrow, differences, figure
from .counting import count
from .report import PAGE, text
from .table import rows


def main(codes: list[str]) -> int:
    """Count; 1 if the counts are not those of ``rules.yaml``, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        counts = count(Path(folder).resolve(), codes)
    wrong = [each for code, sides in counts.items() for each in differences(rows()[code], sides)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if not codes:
        PAGE.write_text(text(counts), encoding="utf-8")
    for code in codes:
        sides = counts[code]
        for name in sorted({*sides["before"], *sides["after"]}):
            print(f"{code} {name}: {arrow(figure(sides, name))}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
