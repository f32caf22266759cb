"""The report of ``perflint profile``: its JSON, its sentences, its table and its page."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from perflint.bench.figures import width
from perflint.bench.runner.watched_calls import PHASE_OF, PHASES
from perflint.profile import profile_report
from perflint.profile.profile_page import profile_page
from perflint.profile.profile_report import PhaseTime, StepTimes, profile_table
from tests.html_pages import SVG, Page
from tests.profile_reports import event, profile, read

_EVIL = """</script><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;"""


def phases(**shares: float) -> dict[str, PhaseTime]:
    return {name: PhaseTime(20 * shares.get(name, 0.0), shares.get(name, 0.0)) for name in PHASES}


def test_what_is_written_is_read_again() -> None:
    assert read(json.loads(json.dumps(profile().to_json()))) == profile()


def test_the_keys_that_readers_rely_on() -> None:
    data = profile().to_json()
    assert (data["format"], data["version"]) == ("perflint-profile", 1)
    assert set(data) >= {
        *("made", "script", "arguments", "python", "paddle", "device", "warmup", "steps", "step_ms", "ips"),
        *("phases", "events", "files"),
    }
    assert set(data["step_ms"]) == {"mean", "median", "p95"}
    assert list(data["phases"]) == [
        "reader",
        "forward",
        "backward",
        "optimizer",
        "read",
        "copy",
        "save",
        "log",
        "other",
    ]
    assert set(data["events"][0]) >= {"path", "line", "kind", "what", "times", "ms", "share", "phase"}
    assert set(PHASE_OF.values()) == set(PHASES)


def test_the_headline_names_the_longest_phase_first_and_its_line() -> None:
    assert profile_report.headline(profile()) == (
        "40 % of a step waits for the loader (train.py:64, 0 workers, made at data.py:9); "
        "20 % saves (train.py:80: paddle.save); 15 % is the backward pass (train.py:70)"
    )


def test_the_headline_names_what_can_be_mended_even_where_computing_takes_longest() -> None:
    found = profile(phases=phases(backward=0.6, forward=0.2, optimizer=0.15, other=0.05), events=[])
    assert profile_report.headline(found) == (
        "60 % of a step is the backward pass; 20 % is the forward pass; 15 % is the optimizer; 5.0 % is other code"
    )
    code = event("train.py", 64, "other", 1.0, note="after this line")
    assert profile_report.headline(profile(phases=phases(other=1.0), events=[code])) == (
        "100 % of a step is other code (after train.py:64)"
    )


def test_how_much_there_is_to_win_on_a_cpu() -> None:
    """14 of 20 ms are beside forward, backward and optimizer, which leaves 6: 3.33 times as fast."""
    assert "takes 70 % of a step: without it training would be at most about 3.33 times" in profile_report.bound(
        profile()
    )
    assert "times" not in profile_report.bound(profile(device="gpu:0"))
    assert profile_report.bound(profile(phases=phases(other=1.0))).startswith("No forward pass, backward pass")


def test_what_a_read_means_depends_on_the_device() -> None:
    assert profile_report.about_reads(profile()).endswith("Reads a step: 2.00 at train.py:73, 1.00 at train.py:90.")
    assert profile_report.about_reads(profile()).startswith("On the CPU a host read waits for no device")
    assert "the wait for all the work that is queued there" in profile_report.about_reads(profile(device="gpu:0"))


def test_the_table_has_the_bottleneck_first() -> None:
    lines = profile_table(profile(), 120, 4).splitlines()
    assert lines[0].startswith("40 % of a step waits for the loader (train.py:64")
    first = next(at for at, line in enumerate(lines) if line.startswith("phase")) + 1
    assert [line.split()[0] for line in lines[first : first + 3]] == ["reader", "save", "backward"]
    shown = [line.split()[0] for line in lines if line.startswith(("train.py:", "lib/"))]
    assert shown == ["train.py:64", "train.py:80", "train.py:70", "lib/net.py:5"]
    assert "5 more take 3.00 ms of a step together; --top shows more." in lines


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 200])
def test_the_table_keeps_to_the_terminal_where_it_can(columns: int) -> None:
    longer = replace(profile().events[0], source="x" * 300, note="y " * 100)
    text = profile_table(profile(events=[longer, *profile().events]), columns, 10)
    assert max(map(width, text.splitlines())) <= max(columns, 50)


def test_a_terminal_is_not_steered() -> None:
    evil = replace(profile().events[0], path="a\x1b[31m.py", source="\x1b]0;title\x07", note="\x1b[2J")
    assert "\x1b" not in profile_table(profile(events=[evil], notes=["\x1b[2J"]), 100, 10)


def test_the_page_says_what_the_table_says() -> None:
    parsed = Page(profile_page(profile(), 4))
    text = parsed.text()
    assert profile_report.headline(profile()) in text
    assert "for x in loader:" in text
    assert "5 more lines, 3.00 ms of a step together" in text
    assert "perflint profile train.py -- --epochs 2" in text
    assert json.loads(parsed.inside("script")) == profile().to_json()
    assert [row for row in ("lib/net.py", "train.py") if f"<code>{row}</code>" not in parsed.markup] == []


def test_the_page_loads_nothing_and_its_policy_allows_its_style_alone() -> None:
    parsed = Page(profile_page(profile(), 4))
    digest = base64.b64encode(hashlib.sha256(parsed.inside("style").encode()).digest()).decode()
    (policy,) = [one["content"] for one in parsed.named("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    for tag, attributes in parsed.elements:
        assert not {"src", "href", "style"} & set(attributes), tag


def test_every_text_on_the_page_is_escaped() -> None:
    evil = replace(profile().events[0], path=_EVIL, what=_EVIL, note=_EVIL, via=_EVIL, source=_EVIL)
    found = profile(events=[evil], notes=[_EVIL], arguments=[_EVIL], **dict.fromkeys(("script", "machine"), _EVIL))
    parsed = Page(profile_page(found, 4))
    assert (len(parsed.named("script")), parsed.named("img")) == (1, [])
    assert json.loads(parsed.inside("script"))["events"][0]["source"] == _EVIL


def test_the_phases_lie_beside_each_other_in_the_picture() -> None:
    picture = Page(profile_page(profile(), 4)).pictures()[0]
    boxes = [(float(one.get("x", "0")), float(one.get("width", "0"))) for one in picture.iter(f"{SVG}rect")]
    assert len(boxes) == len(PHASES)
    assert boxes[0] == (0.0, 431.0)  # 40 % of 1080, less the gap of one pixel
    assert all(after[0] >= sum(before) for before, after in pairwise(boxes))


@pytest.mark.parametrize("events", [[], [event("train.py", 1, "other", 0.0)]])
def test_a_profile_with_little_in_it_is_shown(events: list[Any]) -> None:
    found = profile(step_ms=StepTimes(0.0, 0.0, 0.0), ips=0.0, phases=phases(), events=events, steps=1)
    assert "train.py" in Page(profile_page(found, 4)).text()
    assert profile_table(found, 80, 4).startswith("0 % of a step")
