"""A client on Microsoft's own protocol library for Node, which pulls diagnostics as VS Code does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors.workplace import BYTES, FIXED, HERE, SCRIPT, UTF16_UNITS, Workplace
from tests.tools import missing, program

OFFERS = [(["utf-8", "utf-16"], "utf-8", BYTES), ([], "utf-16", UTF16_UNITS)]


@pytest.mark.parametrize(("encodings", "agreed", "expected"), OFFERS)
def test_node(tmp_path: Path, encodings: list[str], agreed: str, expected: list[list[Any]]) -> None:
    node = program("node")
    if not (HERE / "node" / "node_modules").is_dir():
        missing("the packages of the client are not installed: npm ci --prefix tests/editors/node")
    workplace = Workplace(tmp_path)
    answers = workplace.run([node, str(HERE / "node" / "client.mjs"), workplace.script.as_uri(), *encodings])
    assert answers["encoding"] == agreed
    assert answers["first"] == expected
    assert [row[4] for row in answers["broken"]] == ["PPF001"]
    assert answers["mended"] == expected
    assert answers["ignored"] == expected[1:]  # PPF204 is left out once the settings have changed
    assert any("fill the tensor on the device" in title for title in answers["quickfixes"])
    assert "PPF204" in answers["hover"] and "explicit-synchronize" in answers["hover"]
    assert _edited(answers["fixAll"], agreed) == FIXED == workplace.fixed()
    assert answers["messages"] == []  # neither pushed beside what is pulled, nor any complaint
    assert answers["exit"] == 0


def _edited(actions: list[dict[str, Any]], encoding: str) -> str:
    """The script after the edits of the only action."""
    assert [action["kind"] for action in actions] == ["source.fixAll.perflint"]
    codec, width = ("utf-8", 1) if encoding == "utf-8" else ("utf-16-le", 2)
    rows = [row.encode(codec) for row in SCRIPT.splitlines(keepends=True)]
    starts = [sum(map(len, rows[:number])) for number in range(len(rows) + 1)]
    text = b"".join(rows)
    (document,) = actions[0]["edit"]["documentChanges"]

    def offset(place: dict[str, int]) -> int:
        return starts[place["line"]] + place["character"] * width

    for edit in sorted(document["edits"], key=lambda each: offset(each["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"].encode(codec) + text[end:]
    return text.decode(codec)
