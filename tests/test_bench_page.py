"""The HTML page of `perflint bench`."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace

import pytest

from perflint.bench.page import page
from perflint.bench.results import BenchReport
from perflint.bench.web_page import STYLE
from tests.bench_reports import FIX, after, before, compared, degenerate, report, run, variant
from tests.html_pages import SVG, Page

_EVIL = """</script><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;"""


def _usual() -> BenchReport:
    return report([before(), after()], [compared(1.6, 2.0)])


def _rows(parsed: Page) -> list[str]:
    """The text of each row of the results."""
    table = parsed.markup[parsed.markup.index("<table") : parsed.markup.index("</table>")]
    return [re.sub(r"(<[^>]+>|\s)+", " ", row).strip() for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]


def test_the_results_as_a_table() -> None:
    assert _rows(Page(page(_usual()))) == [
        "Variant ips batch_cost reader_cost Memory Ratio (95 % interval) Saved a step (95 % interval) Losses Verdict",
        "before 35.8 32.0 to 40.0 225 ms 200 to 250 110 ms 100 to 120 49 % of the step 512 MiB",
        f"{FIX} 65.3 53.3 to 80.0 125 ms 100 to 150 20.0 ms 20.0 to 20.0 16 % of the step 512 MiB "
        "1.80 1.60 to 2.00 not known same faster",
    ]


def test_the_milliseconds_saved_have_a_column() -> None:
    comparison = compared(1.6, 2.0, saved_ms=0.541, saved_low=0.482, saved_high=0.6)
    assert (
        "1.60 to 2.00 0.541 ms 0.482 to 0.600 same" in _rows(Page(page(report([before(), after()], [comparison]))))[2]
    )


def test_what_a_measurement_could_not_have_shown_is_said() -> None:
    assert "could only have shown 1.15x or more of" in Page(page(report([before()], [compared(0.9, 1.2)]))).text()


def test_fixes_are_listed_with_their_rules() -> None:
    both = variant("all fixes", run([0.1]), places=["train.py:3"], fixes=["PPF201 train.py:3"])
    parsed = Page(page(report([variant("before", run([0.1])), both])))
    assert [data for tag, data in parsed.texts if tag == "li"][:1] == ["PPF201 train.py:3"]


def test_a_variant_of_several_fixes_lists_them() -> None:
    both = variant("all fixes", run([0.1]), places=["train.py:3", "data.py:7"])
    parsed = Page(page(report([variant("before", run([0.1]), places=["train.py:3"]), both])))
    assert [data for tag, data in parsed.texts if tag == "li"][:2] == ["train.py:3", "data.py:7"]


@pytest.mark.parametrize(
    ("low", "high", "says", "tone"),
    [
        (1.6, 2.0, "1.80 times as fast (95 % interval 1.60 to 2.00)", "faster"),
        (
            0.9,
            1.2,
            "no gain measured (ratio 1.05, 95 % interval 0.90 to 1.20): this could only have shown 1.15x or more",
            "none",
        ),
        (0.7, 0.9, "slower, 0.80 times the ips (95 % interval 0.70 to 0.90)", "slower"),
    ],
)
def test_the_headline_says_what_all_fixes_win(low: float, high: float, says: str, tone: str) -> None:
    comparisons = [compared(1.1, 1.3), compared(low, high, "all fixes")]
    for order in (comparisons, comparisons[::-1]):
        parsed = Page(page(report([before(), after(), after("all fixes")], order)))
        assert f'<p class="headline {tone}">all fixes: {says}.</p>' in parsed.markup


def test_changed_losses_are_said_at_the_top() -> None:
    warning = "The losses did not stay the same"
    assert warning in page(report([before(), after()], [compared(1.6, 2.0, same_losses=False)]))
    assert warning not in page(_usual())
    assert warning not in page(report([before(), after()], [compared(1.6, 2.0, same_losses=None)]))


def test_how_it_was_measured_is_said() -> None:
    text = Page(page(_usual())).text()
    for fact in ("perflint bench train.py -- --epochs 2", "2 cores", "paddle 3.3.1", "2026-11-22", "cpu"):
        assert fact in text
    assert "4 steps a run after 3 of warm-up, 2 rounds" in text
    assert "'my train.py'" in Page(page(report([before()], script="my train.py"))).text()


def test_nothing_is_fetched_and_no_script_runs() -> None:
    parsed = Page(page(_usual()))
    for tag, attributes in parsed.elements:
        assert not {"src", "href", "srcset", "data", "action", "poster", "style", "xlink:href"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")]
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in parsed.elements}
    assert parsed.named("script") == [{"type": "application/json", "id": "perflint-bench"}]
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert set(re.findall(r"https?://[^\s\"'<]*", parsed.markup)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_of_the_page_allows_its_own_style_and_nothing_else() -> None:
    parsed = Page(page(_usual()))
    digest = base64.b64encode(hashlib.sha256(parsed.inside("style").encode()).digest()).decode()
    (policy,) = [one["content"] for one in parsed.named("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert len(parsed.named("style")) == 1


def test_every_text_of_the_report_is_escaped() -> None:
    runs = [run([0.1, 0.2], device=_EVIL)]
    both = [
        replace(one, places=[_EVIL, _EVIL], codes=[_EVIL]) for one in (variant("before", *runs), variant(_EVIL, *runs))
    ]
    texts = dict.fromkeys(("script", "machine", "date"), _EVIL)
    measured = report(
        both, [compared(1.6, 2.0, _EVIL)], arguments=[_EVIL], versions={_EVIL: _EVIL}, notes=[_EVIL], **texts
    )
    parsed = Page(page(measured))
    assert len(parsed.named("script")) == 1
    assert not parsed.named("img")
    assert parsed.text().count(_EVIL) > 10
    assert json.loads(parsed.inside("script"))["script"] == _EVIL
    assert len(parsed.pictures()) == 8


def test_a_path_may_hold_what_no_page_can() -> None:
    measured = report([variant("a\x1b\udcff\x00.py", run([0.1]))])
    written = page(measured).encode()
    assert rb"a\x1b\xff\x00.py" in written
    assert len(Page(written.decode()).pictures()) == 6


def test_the_figures_are_there_for_machines_and_for_people() -> None:
    measured = _usual()
    parsed = Page(page(measured))
    assert json.loads(parsed.inside("script")) == json.loads(json.dumps(measured.to_json()))
    steps = re.findall(r"<tr><td>(.*?)</td></tr>", parsed.markup)
    assert len(steps) == 16
    assert steps[4].split("</td><td>") == ["before", "2", "1", "0.250000", "0.120000", "8", "1.5"]


@pytest.mark.parametrize("name", degenerate())
def test_a_report_with_little_in_it_is_shown(name: str) -> None:
    measured = degenerate()[name]
    parsed = Page(page(measured))
    json.loads(parsed.inside("script"), parse_constant=pytest.fail)
    for one in measured.variants:
        assert one.name in parsed.text()
    for picture in parsed.pictures():
        for part in picture.iter():
            for key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
                assert math.isfinite(float(part.get(key, "0"))), (part.tag, part.attrib)


def test_pictures_are_named_for_those_who_do_not_see_them() -> None:
    parsed = Page(page(_usual()))
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(parsed.pictures()) == 8
    for picture in parsed.pictures():
        title, desc = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
        assert title is not None
        assert desc is not None
        assert title.text
        assert FIX in (desc.text or "")
        assert picture.get("role") == "img"
        assert (picture.get("aria-labelledby"), picture.get("aria-describedby")) == (title.get("id"), desc.get("id"))


@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_stand_out_from_the_ground_in_light_and_in_dark(scheme: int) -> None:
    values = dict(re.findall(r"--(\w+):#(\w+)", STYLE.split("prefers-color-scheme:dark")[scheme].split("*{")[0]))
    ground = _luminance(values["ground"])
    for name in ("ink", "dim", "good", "bad", "mild"):
        assert _contrast(ground, _luminance(values[name])) >= 4.5, name  # WCAG 2.2, 1.4.3: text
    for at in range(8):
        assert _contrast(ground, _luminance(values[f"v{at}"])) >= 3, at  # WCAG 2.2, 1.4.11: graphics


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    wide = colour if len(colour) == 6 else "".join(char * 2 for char in colour)
    parts = [int(wide[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
