"""The page of all measurements, docs/measured.md: what gained, what did not, what was not measured and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from perflint.bench.figures import Verdict, interval, ratio
from perflint.catalogue import Rule
from perflint.measuring import PADDLE_DEVICES, Device
from perflint.output.measured import LABEL, PLACES, Measured, Measurement, explanation
from tests.ips.trials import FOLDER, Trial

_STAND_IN: Device = "stand-in-gpu"
_INTRODUCTION = """\
# What was measured

The ips of a small training script with the mistake of a rule, before and after the rule's own fix: the ratio, its 95 %
interval, and the day. Each script does little else than the mistake, so the ratio is not what your training gains;
`perflint bench` measures that. [How gains are measured](measuring.md) explains the rest. Each ratio links to the
measured steps that it is worked out from. `python -m tests.ips.summary` writes this page.
"""
_GAINED = "A gain was measured"
_NONE_GAINED = "No gain was measured"
_NOT_YET = "Not yet measured"
_NOWHERE = "Not to be measured"


def page(measured: Measured, rules: Sequence[Rule], tried: Sequence[Trial] = ()) -> str:
    """The page in Markdown."""
    groups: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        groups[_group(rule, measured.get(rule.code, {}))].append(rule)
    sections = {name: list(_table(groups[name], measured)) for name in (_GAINED, _NONE_GAINED, _NOT_YET)}
    sections[_NOWHERE] = [f"* {_link(rule)}: {rule.measuring.nowhere}." for rule in groups[_NOWHERE]]
    stand_ins = [rule for rule in rules if _STAND_IN in measured.get(rule.code, {})]
    if stand_ins:
        sections[LABEL] = list(_stand_ins(stand_ins, measured))
    sections["Is the measurement right?"] = list(_trials(tried))
    sections["Machines"] = list(_machines(measured))
    parts = [_INTRODUCTION, *("\n".join([f"## {name}", "", *(lines or ["None."])]) for name, lines in sections.items())]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _group(rule: Rule, found: Mapping[Device, Measurement]) -> str:
    verdicts = [item.verdict for device, item in found.items() if device in PADDLE_DEVICES]
    if Verdict.FASTER in verdicts:
        return _GAINED
    if verdicts:
        return _NONE_GAINED
    return _NOWHERE if rule.measuring.nowhere else _NOT_YET


def _table(rules: Sequence[Rule], measured: Measured) -> Iterator[str]:
    if not rules:
        return
    yield "| rule | on the CPU | on a GPU |"
    yield "| --- | --- | --- |"
    for rule in rules:
        found = measured.get(rule.code, {})
        cells = [_cell(rule, device, found.get(device)) for device in PADDLE_DEVICES]
        yield f"| {_link(rule)} | {' | '.join(cells)} |"


def _cell(rule: Rule, device: Device, measurement: Measurement | None) -> str:
    if measurement is None:
        why = rule.measuring.why_not(device)
        return _escaped(f"not measured: {why}") if why else "not yet measured"
    why = explanation(rule, measurement)
    return _figures(measurement) + _escaped(f"; {why}" if why else "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _figures(measurement: Measurement) -> str:
    words = {Verdict.FASTER: "", Verdict.NO_GAIN: "no gain, ", Verdict.SLOWER: "a loss, "}[measurement.verdict]
    return f"{words}[{measurement.figures}](../{measurement.path}), {measurement.date}"


def _stand_ins(rules: Sequence[Rule], measured: Measured) -> Iterator[str]:
    yield "The same scripts on a GPU, with PyTorch in Paddle's place: what the card does, not what Paddle does."
    yield ""
    yield f"| rule | {LABEL} |"
    yield "| --- | --- |"
    for rule in rules:
        yield f"| {_link(rule)} | {_figures(measured[rule.code][_STAND_IN])} |"


def _trials(tried: Sequence[Trial]) -> Iterator[str]:
    if not tried:
        return
    yield "The same script twice, and one whose steps were made slower by a known time"
    yield "([how that is judged](measuring.md#is-the-measurement-itself-right)):"
    yield ""
    yield "| trial | device | ratio | planted | found |"
    yield "| --- | --- | --- | --- | --- |"
    for trial in tried:
        comparison = trial.report.comparisons[0]
        planted = f"{trial.planted_ms:g} ms a step | {trial.found_ms:.1f} ms" if trial.planted_ms else "nothing |"
        path = f"../evidence/{FOLDER}/{trial.device}/{trial.name}.json"
        yield f"| {trial.name} | {trial.device} | [{ratio(comparison)}x ({interval(comparison)})]({path}) | {planted} |"


def _machines(measured: Measured) -> Iterator[str]:
    codes: defaultdict[tuple[Device, str], list[str]] = defaultdict(list)
    for code, found in measured.items():
        for device, item in found.items():
            codes[device, item.made_with].append(code)
    for (device, made_with), named in sorted(codes.items()):
        label = "" if device in PADDLE_DEVICES else f" ({LABEL})"
        yield f"* On {PLACES[device]}{label}: {made_with}. {', '.join(named)}."


def _link(rule: Rule) -> str:
    return f"[{rule.code}](../rules/{rule.path.name}) {rule.name}"
