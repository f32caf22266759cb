"""What editors show about a place: the rule that speaks there, each thing once."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from perflint import catalogue
from perflint.findings import Finding, Fix, Level
from perflint.output import measured, rule_page
from perflint.server.diagnostics import summary
from tests.server_sessions import project, session
from tests.support import in_step

TEXT = in_step("total += loss.item()\nprint(loss)  # noqa: F401, PPF202")


def test_a_page_has_what_the_finding_says_and_the_rule_the_rest() -> None:
    rule = catalogue.shipped()["PPF201"]
    assert rule.event is not None
    fix = Fix("keep it", (), Level.UNSAFE, "it may differ")
    sections = dict(summary(rule, Finding("PPF201", "a.py", 0, 1, "It waits.", fix)))
    assert sections == {
        "PPF201 host-sync-in-step": rule.summary.strip(),
        "Why it costs (sync)": rule.why.strip(),
        "When to ignore it": rule.ignore_when.strip(),
        "Fix (unsafe)": "keep it. it may differ",
        "How much it costs": rule_page.cost(rule.event),
        "Measured": measured.paragraph(rule),
        "Evidence": rule.evidence.strip(),
        "References": "\n".join(rule_page.references(rule)),
    }
    assert f"- {rule.references[0].url}\n  {rule.references[0].shows[:20]}" in sections["References"]


def test_a_page_about_a_file_that_does_not_parse_has_no_bottleneck() -> None:
    for code in ("PPF001", "PPF002"):
        assert [heading for heading, _ in summary(catalogue.shipped()[code])][1] == "Why"


@pytest.mark.asyncio
async def test_hovering(tmp_path: Path) -> None:
    root = project(tmp_path, train=TEXT)
    (root / "perflint.toml").write_text('min-impact = "low"\n')  # the silenced wait stays, next to the other one
    sum_row, print_row = 11, 12
    comment = TEXT.splitlines()[print_row].index("#")
    async with session(root, "neovim@0.11") as editor:
        editor.open("train.py")
        assert await editor.codes("train.py") == ["PPF201"]
        shown = await editor.hover("train.py", sum_row, TEXT.splitlines()[sum_row].index("item"))
        assert shown is not None
        assert shown.startswith("**[PPF201 host-sync-in-step](https://")
        assert catalogue.shipped()["PPF201"].summary.strip() in shown
        shown = await editor.hover("train.py", print_row, TEXT.splitlines()[print_row].index("PPF202") + 3)
        assert shown is not None
        assert shown.startswith("**[PPF202 ")
        assert await editor.hover("train.py", print_row, TEXT.splitlines()[print_row].index("F401")) is None
        assert await editor.hover("train.py", print_row, comment) is None
        assert await editor.hover("train.py", 0, 0) is None
        editor.change("train.py", "x = 1\n")
        assert await editor.hover("train.py", 99, 99) is None


@pytest.mark.asyncio
async def test_an_editor_without_markdown(tmp_path: Path) -> None:
    def plain(capabilities: types.ClientCapabilities) -> None:
        assert capabilities.text_document is not None
        capabilities.text_document.hover = types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])

    async with session(project(tmp_path, train="x = 1  # noqa: PPF201\n"), change=plain) as editor:
        editor.open("train.py")
        shown = await editor.hover("train.py", 0, 18)
        assert shown is not None
        assert shown.startswith("PPF201 host-sync-in-step\n")
        assert "**" not in shown.split("\n")[0]
