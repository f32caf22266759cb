"""Writes the scripts that the stand-in measures, before and after their fixes, as plain files.

python -m tests.ips.card.texts build/card

The machine with the card then needs only PyTorch, NumPy and Pillow: the fixes are made here.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tests.ips import cases, places, stand_in_rules

PLANTED = "host_and_card_planted.py"
PLANTED_MS = 0.5
THEMSELVES = ("PPF201", "PPF306")
"""Rules whose fixed script is also compared with itself."""


def write(folder: Path) -> list[Path]:
    """Write ``<name>_before.py`` and ``<name>_after.py`` for each measurement, and what they import."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = {
        code: (case.script.read_text(encoding="utf-8"), cases.fixed(case))
        for code, case in cases.cases().items()
        if code in stand_in_rules.MEASURED
    }
    pairs |= {f"{code}_itself": (pairs[code][1], pairs[code][1]) for code in THEMSELVES}
    plain = (cases.SCRIPTS / PLANTED).read_text(encoding="utf-8")
    longer = plain.replace("EXTRA_MS = 0.0", f"EXTRA_MS = {PLANTED_MS}")
    assert longer != plain
    pairs["planted"] = longer, plain
    written = []
    for name, texts in pairs.items():
        for side, text in zip(("before", "after"), texts, strict=True):
            written.append(folder / f"{name}_{side}.py")
            written[-1].write_text(text, encoding="utf-8")
    for shared in cases.SHARED:
        written.append(folder / shared)
        shutil.copyfile(cases.SCRIPTS / shared, written[-1])
    shutil.copytree(places.STAND_IN / "paddle", folder / "paddle", dirs_exist_ok=True)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(f"{len(write(parser.parse_args().folder))} files")


if __name__ == "__main__":
    main()
