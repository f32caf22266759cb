"""The page of all measurements, docs/measured.md: what gained, what did not, what was not measured and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from perflint.bench.figures import Verdict, interval, ratio
from perflint.catalogue import PADDLE_DEVICES, Device, Rule
from perflint.output.measured import LABEL, PLACES, Measured, Measurement, explanation
from tests.ips.evidence import Earlier, Evidence
from tests.ips.trials import FOLDER, Trial

_STAND_IN: Device = "stand-in-gpu"
_INTRODUCTION = """\
# What was measured

The ips of a small training script with a rule's mistake, before and after the rule's fix: the ratio, its 95 % interval,
and the day. Each script does little besides the mistake, so the ratio is not the gain of your training; `perflint
bench` measures that. [How gains are measured](measuring.md) explains the rest. Each ratio links to the measured steps
that it is computed from. `python -m tests.ips.summary` writes this page.
"""
_GAINED = "A gain was measured"
_NONE_GAINED = "No gain was measured"
_NOT_YET = "Not yet measured"
_NOWHERE = "Not measured by this suite"
_SAVED = "Milliseconds saved each time"
_AGAIN = "Changed after a first look"


def page(measured: Measured, rules: Sequence[Rule], tried: Sequence[Trial] = (), again: Sequence[Evidence] = ()) -> str:
    """The page in Markdown.

    Args:
        measured: what was measured.
        rules: all rules.
        tried: the trials of the measurement itself.
        again: the evidence of what was changed, or measured, more than once.
    """
    groups: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        groups[_group(rule, measured.get(rule.code, {}))].append(rule)
    sections = {name: list(_table(groups[name], measured)) for name in (_GAINED, _NONE_GAINED, _NOT_YET)}
    sections[_NOWHERE] = [f"* {_link(rule)}: {rule.measuring.nowhere}." for rule in groups[_NOWHERE]]
    sections[_SAVED] = list(_saved(rules, measured))
    sections[_AGAIN] = list(_measured_again(again))
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
    again = "; the fix has changed since" if measurement.changed_since else ""
    return f"{words}[{measurement.figures}](../{measurement.path}), {measurement.date}{again}"


def _stand_ins(rules: Sequence[Rule], measured: Measured) -> Iterator[str]:
    yield "The same scripts on a GPU, with PyTorch in place of Paddle. They show what the GPU does, not Paddle."
    yield ""
    yield f"| rule | {LABEL} |"
    yield "| --- | --- |"
    for rule in rules:
        yield f"| {_link(rule)} | {_figures(measured[rule.code][_STAND_IN])} |"


def _saved(rules: Sequence[Rule], measured: Measured) -> Iterator[str]:
    """What a ratio does not say about another training: milliseconds, and for which steps they matter."""
    found = [(rule, item) for rule in rules for item in measured.get(rule.code, {}).values() if item.saved]
    if not found:
        return
    yield "A ratio depends on how short the rest of a script's step is; the milliseconds that the fix saves each time"
    yield "say more about another training. The last two columns are for a training in which it happens once per step."
    yield ""
    yield "| rule | on | each | saves | 1 % of a step of | 5 % of a step of |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for rule, item in found:
        assert item.saved is not None, "those without are left out above"
        shares = item.saved.shares if item.saved.low > 0 else ("not shown", "not shown")
        label = "" if item.device in PADDLE_DEVICES else f" ({LABEL})"
        yield (
            f"| {_link(rule)} | {PLACES[item.device]}{label} | {item.saved.what} | {item.saved.figures} | "
            f"{shares[0]} | {shares[1]} |"
        )
    yield ""
    yield from (f"* {rule.code}: {item.remark}." for rule, item in found if item.remark)


def _measured_again(again: Sequence[Evidence]) -> Iterator[str]:
    found = [item for item in again if item.earlier or item.changed_since]
    if not found:
        return
    yield "Scripts and fixes that were changed after their first run. If a script was made larger until its gain"
    yield "showed, that proves that there is a gain, but not how large it is elsewhere."
    yield ""
    for item in found:
        yield from (f"* {item.rule}{_device(item)}: {_before(each)}" for each in item.earlier)
        if item.changed_since:
            yield f"* {item.rule}{_device(item)}: to be measured again: {item.changed_since}."


def _device(item: Evidence) -> str:
    return "" if item.device == "cpu" else f" on {PLACES[item.device]}"


def _before(each: Earlier) -> str:
    if each.ratio is None or each.low is None or each.high is None:
        first = "figures of a first look were not kept"
    else:
        first = f"{each.ratio:.2f}x ({each.low:.2f} to {each.high:.2f}) on {each.date[:10]}"
    commit = f" in {each.commit}" if each.commit else ""
    return f"{first}; changed{commit}: {', '.join(each.changed) or 'nothing'}; why: {each.why}."


def _trials(tried: Sequence[Trial]) -> Iterator[str]:
    if not tried:
        return
    yield "The same script twice, and one whose steps were made longer or shorter by a known time"
    yield "([how that is judged](measuring.md#is-the-measurement-itself-right)). Each trial is written before it is"
    yield "judged, and wrong or undecided ones are kept. The load is the number of programs that compete for the cores;"
    yield "if it is larger than the number of cores, intervals are wide."
    yield ""
    yield "| trial | device | load | ratio | planted | found | verdict |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for trial in tried:
        comparison = trial.report.comparisons[0]
        found, low, high = (f"{each:.3g}" for each in trial.found_ms)
        times = f"{trial.wanted_ms:.3g} ms a step | {found} ms ({low} to {high})" if trial.wanted_ms else "nothing |"
        path = f"../evidence/{FOLDER}/{trial.device}/{trial.name}.json"
        verdict = "; ".join(trial.problems()) or "right"
        ratio_ = f"[{ratio(comparison)}x ({interval(comparison)})]({path})"
        load = f"{max(trial.load):.1f}" if trial.load else "not noted"
        yield f"| {trial.name} | {trial.device} | {load} | {ratio_} | {times} | {verdict} |"


def _machines(measured: Measured) -> Iterator[str]:
    codes: defaultdict[tuple[Device, str], list[str]] = defaultdict(list)
    for code, found in measured.items():
        for device, item in found.items():
            codes[device, item.made_with].append(code)
    for (device, made_with), named in sorted(codes.items()):
        label = "" if device in PADDLE_DEVICES else f" ({LABEL})"
        yield f"* On {PLACES[device]}{label}: {made_with}. {', '.join(named)}."


def _link(rule: Rule) -> str:
    return f"[{rule.code}](rules/{rule.code}.md) {rule.name}"
