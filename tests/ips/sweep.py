"""Measures scripts about waits by how much work the host has between two steps: what a wait costs depends on it.

python -m tests.ips.sweep --device gpu --stand-in --rules PPF201,PPF206 --host-ms 0.3,2,4 --out sweep.tar

``python benchmarks/waiting.py`` has the table that a model of host and card foretells; this one measures it.  Each
report is written to ``evidence/sweep/<device>/`` as soon as it is there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from perflint.bench.figures import interval, ratio
from perflint.bench.results import BenchReport
from tests.ips import blocks, cases, evidence, hashes, measuring, trials
from tests.ips.places import Place

FOLDER = "sweep"
RULES = ("PPF201", "PPF203", "PPF204", "PPF206", "PPF210")
"""The rules whose scripts take ``--host-ms``."""
HOST_MS = (0.3, 2.0, 4.0, 8.0)


def measure(
    code: str,
    host_ms: float,
    place: Place,
    rounds: int,
    layers: int | None = None,
    directory: Path = evidence.EVIDENCE,
) -> BenchReport:
    """Measure the fix of a rule with so much work for the host, and write the report.

    Args:
        code: the rule.
        host_ms: milliseconds of work for the host between two steps.
        place: where to measure.
        rounds: how often both sides are run.
        layers: convolutions of the network; as many as the script says, if not given.
        directory: where evidence is kept.

    Raises:
        perflint.bench.script_run.RunFailed: a run has not measured anything.
    """
    before = trials.load()
    arguments = ["--host-ms", f"{host_ms:g}", *(["--layers", str(layers)] if layers else [])]
    report = measuring.measure_rule(cases.cases()[code], place, rounds, arguments)
    data = {
        "rule": code,
        "device": place.device,
        "host_ms": host_ms,
        "environment": place.environment,
        "hashes": asdict(hashes.current(code)),
        "load": [before, trials.load()],
        "report": report.to_json(),
    }
    evidence.write_whole(directory / FOLDER / str(place.device) / f"{code}-host-{host_ms:g}.json", data)
    return report


def table(found: dict[str, dict[float, BenchReport]]) -> Iterator[str]:
    """The ratios by rule and by the host's work, as a table in Markdown."""
    hosts = list(next(iter(found.values())))
    yield f"| rule | {' | '.join(f'host work of {host:g} ms' for host in hosts)} |"
    yield "| --- |" + " --- |" * len(hosts)
    for code, reports in found.items():
        cells = (report.comparisons[0] for report in reports.values())
        yield f"| {code} | {' | '.join(f'{ratio(each)}x ({interval(each)})' for each in cells)} |"


def main(arguments: Sequence[str]) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.ips.sweep", description="Measures waits by the host's work.")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--stand-in", action="store_true", help="with PyTorch in place of Paddle")
    parser.add_argument("--rules", default=",".join(RULES), help="(%(default)s)")
    parser.add_argument("--host-ms", default=",".join(f"{each:g}" for each in HOST_MS), help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--layers", type=int, help="convolutions of the network, for more or less work on the card")
    parser.add_argument("--out", help="pack all reports into this tar file")
    given = parser.parse_args(arguments)
    place = Place(given.device, given.stand_in)
    codes = given.rules.split(",")
    if why := place.missing() or _refusal(codes, place):
        print(f"nothing is measured: {why}", file=sys.stderr)
        return 2
    hosts = [float(each) for each in given.host_ms.split(",")]
    found = {code: {host: measure(code, host, place, given.rounds, given.layers) for host in hosts} for code in codes}
    print("\n".join(table(found)))
    if given.out:
        blocks.pack(Path(given.out), evidence.WRITTEN, evidence.EVIDENCE.parent)
    return 0


def _refusal(codes: Sequence[str], place: Place) -> str:
    """Why these rules cannot be measured at a place, "" where they can."""
    if unknown := [code for code in codes if code not in RULES]:
        return f"the script of {unknown[0]} takes no --host-ms; {', '.join(RULES)} do"
    if place.device is None:
        return "the figures of the stand-in on a CPU are no evidence for anything"
    return next((f"{code}: {why}" for code in codes if (why := place.reason(code))), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
