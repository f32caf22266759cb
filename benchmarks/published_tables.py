"""Tables that guides on training speed have published, beside a measurement of the same changes.

python benchmarks/published_tables.py [--only NAME] [--rounds N] [--device DEVICE]
"""

from __future__ import annotations

import argparse
import sys

from published_parts.measuring import Measured, place, read, run
from published_parts.page import PAGE, page
from published_parts.tables import BY_NAME, TABLES

from perflint.bench.script_run import RunFailed
from perflint.catalogue import DEVICES, Device

ROUNDS = 5


def results() -> dict[tuple[str, Device], Measured]:
    """What has been measured so far."""
    places = {(table.name, device): place(table.name, device) for table in TABLES for device in table.devices}
    return {key: read(path) for key, path in places.items() if path.exists()}


def main(arguments: list[str]) -> int:
    """Measure, keep the steps, and write the page; 1 if a script failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=BY_NAME, action="append", help="measure this table (may be repeated)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each variant (%(default)s)")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--page", action="store_true", help="write the page again and measure nothing")
    options = parser.parse_args(arguments)
    able = [table.name for table in TABLES if options.device in table.devices]
    names = [] if options.page else [name for name in able if not options.only or name in options.only]
    for name in names:
        print(f"{name}:", file=sys.stderr)
        try:
            run(BY_NAME[name], options.device, options.rounds).write()
        except RunFailed as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    PAGE.write_text(page(results()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
