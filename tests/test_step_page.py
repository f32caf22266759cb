"""The page of ``perflint step``: the same events as the text, folded and filtered without a script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from perflint.cli import main
from perflint.flow.resolving import opened
from perflint.output import step_page
from perflint.trace.events import EventKind
from perflint.trace.step_trace import occurrences, traces
from tests.html_pages import SVG, Page
from tests.support import sources
from tests.test_step import NET, TRAIN, in_loop

BOTH = {"train.py": TRAIN, "net.py": NET}
EVIL = "</script><script>alert(1)</script>"


def page(files: Any) -> Page:
    """The page of a program, read as a browser reads it."""
    return Page(step_page.step_page(list(traces(opened(sources(files)))), {}))


def rows(found: Page) -> list[str]:
    """The classes of the rows of its trees."""
    return [str(each["class"]) for each in found.named("li") if str(each.get("class")).startswith("row ")]


def test_each_event_is_a_row_with_its_filter() -> None:
    assert rows(page(BOTH)) == [
        "row waits",
        "row step",
        "row step",
        "row waits",
        "row waits",
        "row logs",
        "row waits",
        "row logs",
    ]
    assert len(rows(page(BOTH))) == len(occurrences(next(traces(opened(sources(BOTH))))))


def test_a_row_says_where_what_and_how_often() -> None:
    said = page(BOTH)
    assert {"train.py:8", "net.py:11"} <= {each["title"] for each in said.named("span") if "title" in each}
    assert "net.py:11" in said.inside("span")  # in another file, the row number alone would say little
    assert "decides by a tensor: waits for the device" in said.text()
    assert said.text().count("every n steps") == 2
    assert "writer.add_scalar('loss', loss, step)" in said.inside("code")


def test_the_line_on_top_counts_places() -> None:
    assert "1 training step; the host waits for the device at 4 places in 2 files." in page(BOTH).text()
    nothing = page(in_loop("args.seen = loss.shape[0]"))
    assert "1 training step; the host waits for the device nowhere." in nothing.text()
    assert nothing.pictures() == []


def test_a_copy_that_waits_is_a_place_where_the_host_waits() -> None:
    assert "at 1 place in 1 file." in page(in_loop("args.seen = paddle.to_tensor([1.0])")).text()


def test_what_waits_is_unfolded_and_the_rest_is_folded() -> None:
    found = page(in_loop("if args.a:\n    loss.item()\nelse:\n    print(1)"))
    assert ["open" in each for each in found.named("details")] == [True, False]


def test_a_function_that_was_shown_is_a_link_to_it() -> None:
    text = in_loop("show(loss)\nshow(loss)", before="\n\ndef show(loss):\n    print(loss.item())\n")
    found = page(text)
    (link,) = (each["href"] for each in found.named("a") if "-" in str(each["href"]))
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert str(link).removeprefix("#") in ids
    assert len(ids) == len(set(ids))


def test_a_function_that_is_called_with_other_arguments_is_shown_again() -> None:
    text = in_loop("show(loss, x)\nshow(loss, 1)", before="\n\ndef show(loss, more):\n    print(loss.item())\n")
    found = page(text)
    assert rows(found) == ["row unknown", "row step", "row step", *["row waits", "row logs"] * 2]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_kind_of_event_can_be_filtered() -> None:
    style = page(BOTH).inside("style")
    kinds = {step_page._kind_of({"type": "event", "kind": kind.value, "waits": kind.waits}) for kind in EventKind}
    assert kinds | {"unknown"} == step_page._FILTERS.keys()
    for kind in step_page._FILTERS:
        assert f"main:has(#show-{kind}:checked) .{kind}.row" in style
        assert f"main:has(#show-{kind}:checked) .branch.{kind}" in style


def test_the_page_runs_nothing_and_loads_nothing() -> None:
    found = page(BOTH)
    (block,) = found.named("script")
    assert block["type"] == "application/json"
    (policy,) = (each["content"] for each in found.named("meta") if "http-equiv" in each)
    digest = base64.b64encode(hashlib.sha256(found.inside("style").encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in str(policy)
    assert not [each for _, each in found.elements if {"src", "style", "onclick"} & each.keys()]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", found.markup)


def test_code_is_text_and_no_markup() -> None:
    found = page(in_loop(f"print({EVIL!r}, loss.item())"))
    assert EVIL in found.text()
    assert len(found.named("script")) == 1
    assert EVIL in json.dumps(json.loads(found.inside("script")))


def test_the_time_line_marks_the_waits_in_the_lane_of_the_host() -> None:
    for picture in page(BOTH).pictures():
        waits = [each for each in picture.iter(f"{SVG}rect") if each.get("class") == "bar wait"]
        titles = [title.text or "" for each in waits for title in each.iter(f"{SVG}title")]
        assert [each.partition(",")[0] for each in titles][:2] == ["wait at net.py:11", "wait at train.py:8"]
        assert {each.get("y") for each in waits} == {"0"}
        assert {each.text for each in picture.iter(f"{SVG}text")} >= {"host", "device", "0"}


def test_without_a_step_the_page_says_so() -> None:
    assert "No training step was found." in page("import paddle\n").text()


def test_the_command_writes_the_page(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in BOTH.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["step", "--output-format", "html", str(tmp_path)]) == 0
    assert len(rows(Page(capsys.readouterr().out))) == 8
