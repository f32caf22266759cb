"""Writes what rules' pages show of the measurements, worked out again from the measured steps in ``evidence/``.

python -m tests.ips.summary

writes ``rules/measured.json``, which comes with perflint, ``docs/measured.md``, and the comment in each rule's file.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import Device, Rule
from perflint.output import measured
from perflint.output.measured import Measured, Measurement, Saved
from tests.ips import evidence, page, remarks, trials
from tests.ips.evidence import DIGITS, EVIDENCE, Evidence
from tests.ips.trials import Trial

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path("docs", "measured.md")
FIGURES = ("ratio", "low", "high", "ips_before", "ips_after")

_HEADING = "# Measured (written by python -m tests.ips.summary):"
_COMMENT = re.compile(rf"^{re.escape(_HEADING)}\n(?:#.*\n)*(?=examples:)", re.MULTILINE)
_EXAMPLES = re.compile(r"^examples:", re.MULTILINE)
_WIDTH = 116


def collect(directory: Path = EVIDENCE) -> Measured:
    """What the files of a directory come to; nothing where there is no directory.

    Raises:
        ValueError: a file is not what it should be; the message names it.
    """
    found: dict[str, dict[Device, Measurement]] = {}
    for path in evidence.committed(directory):
        item = evidence.read(path)
        if problems := evidence.problems(item):
            raise ValueError(f"{path}: {problems[0]}")
        found.setdefault(item.rule, {})[item.device] = measurement(item)
    return dict(sorted(found.items()))


def measurement(item: Evidence) -> Measurement:
    """One measurement summed up, from its steps."""
    report = item.report
    again = evidence.compared(report)
    figures = {name: round(getattr(again, name), DIGITS) for name in FIGURES}
    return Measurement(
        rule=item.rule,
        device=item.device,
        machine=report.machine,
        versions=report.versions,
        date=report.date[:10],
        script=report.script,
        saved=saved(item),
        remark=remarks.REMARKS.get(item.rule, ""),
        changed_since=item.changed_since,
        **figures,
    )


def saved(item: Evidence) -> Saved | None:
    """What the fix saves each time that the mistake happens; None where nobody has counted how often it does."""
    if item.rule not in remarks.EVENTS:
        return None
    per_step, what = remarks.EVENTS[item.rule]
    figures = evidence.milliseconds_saved(item.report)
    milliseconds, low, high = (round(each / per_step, DIGITS) for each in figures)
    return Saved(what, round(per_step, DIGITS), milliseconds, low, high)


def outputs(
    found: Measured, rules: dict[str, Rule], tried: Sequence[Trial] = (), again: Sequence[Evidence] = ()
) -> dict[Path, str]:
    """The texts of all files that are written, by their paths from the top of the repository."""
    summed = {code: {device: item.to_json() for device, item in each.items()} for code, each in found.items()}
    texts = {
        Path("rules", measured.FILE): json.dumps(summed, indent=1) + "\n",
        PAGE: page.page(found, list(rules.values()), tried, again),
    }
    for rule in rules.values():
        texts[Path("rules", rule.path.name)] = commented(rule.path.read_text(encoding="utf-8"), rule, found)
    return texts


def commented(text: str, rule: Rule, found: Measured) -> str:
    """The text of a rule's file with what was measured in a comment above its examples.

    Why something is not measured stands in the file already.

    Raises:
        ValueError: the file has no examples.
    """
    text = _COMMENT.sub("", text)
    place = _EXAMPLES.search(text)
    if place is None:
        raise ValueError(f"{rule.path}: there is no key `examples`")
    lines = [
        f"#   {line}\n"
        for device, said in measured.sentences(rule, found)
        if device is not None and not rule.measuring.why_not(device)
        for line in textwrap.wrap(said, _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
    heading = [f"{_HEADING}\n"] if lines else []
    return "".join([text[: place.start()], *heading, *lines, text[place.start() :]])


def stale(texts: dict[Path, str], root: Path = ROOT) -> list[str]:
    """Which of the files are missing or hold another text."""
    return [
        path.as_posix()
        for path, text in texts.items()
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text
    ]


def write(root: Path = ROOT) -> list[str]:
    """Bring the files up to date, and return those that were not.

    Raises:
        ValueError: a file of evidence is not what it should be.
    """
    tried = list(trials.committed(root / EVIDENCE.name))
    again = [evidence.read(path) for path in evidence.committed(root / EVIDENCE.name)]
    texts = outputs(collect(root / EVIDENCE.name), catalogue.load(root / "rules"), tried, again)
    changed = stale(texts, root)
    for path in changed:
        (root / path).write_text(texts[Path(path)], encoding="utf-8")
    return changed


def main() -> int:
    """Write the files, and say which have changed."""
    try:
        changed = write()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(f"wrote {path}" for path in changed) or "all is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
