"""What the author of a rule owes: a script and its measurement, or the reason why there is none, in the rule's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perflint.bench.figures import Verdict
from perflint.catalogue import PADDLE_DEVICES, Device, Rule
from perflint.output.measured import Measurement


def script(rule: Rule, has_script: bool) -> list[str]:
    """What is wrong with a rule that has a script, or that has none."""
    code, file = rule.code, f"rules/{rule.code}.yaml"
    if rule.measuring.nowhere:
        return [f"{code} has a script, and {file} says that it is measured nowhere: take one out"] if has_script else []
    if not has_script:
        return [
            f"{code}: write tests/ips/scripts/{code.lower()}_<what>.py, which shows what its fix gains, or say in "
            f"{file} why it cannot be measured: `measuring: {{nowhere: <why>}}`"
        ]
    if all(rule.measuring.why_not(device) for device in PADDLE_DEVICES):
        return [f"{code} has a script that no device runs: say `nowhere` in {file}, and take the script out"]
    return []


def measurements(rule: Rule, found: Mapping[Device, Measurement]) -> list[str]:
    """What is wrong with what was measured of a rule, or was not; a GPU may be missing, which its page then says."""
    wrong = [text for device in PADDLE_DEVICES if device in found for text in claim(rule, found[device])]
    if "cpu" not in found and not rule.measuring.why_not("cpu"):
        wrong.append(
            f"{rule.code}: measure it (python -m pytest -m ips --device cpu -k {rule.code}), or say in "
            f"rules/{rule.code}.yaml why the CPU cannot show it: `measuring: {{not_on: {{cpu: <why>}}}}`"
        )
    return wrong + list(_unfounded(rule, found))


def claim(rule: Rule, measurement: Measurement) -> list[str]:
    """What is wrong with a rule that gains, or does not, on one device.

    A rule that shows no gain where it was measured says so on its page, or has to be asked for.
    """
    device, file = measurement.device, f"rules/{rule.code}.yaml"
    admitted = device in rule.measuring.no_gain_on
    if measurement.verdict is Verdict.FASTER:
        return [f"{file} says that there is no gain on the {device}, and there is: take it out"] if admitted else []
    if admitted or not rule.default:
        return []
    return [
        f"{rule.code} shows no gain on the {device}: {measurement.figures}; turn it off (`default: false`), or say in "
        f"{file} what explains it: `measuring: {{no_gain_on: {{{device}: <why>}}}}`"
    ]


def _unfounded(rule: Rule, found: Mapping[Device, Measurement]) -> Iterator[str]:
    for device in rule.measuring.no_gain_on:
        if device not in found:
            yield f"rules/{rule.code}.yaml says that there is no gain on the {device}, and nobody has measured it there"
