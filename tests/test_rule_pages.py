"""The pages in docs/rules say what the rules' files say, and lead somewhere."""

from __future__ import annotations

import re

import pytest

from perflint import catalogue
from tests.rule_pages import FOLDER, pages

RULES = catalogue.shipped()


def test_the_pages_are_those_of_the_rules() -> None:
    """If this fails: python -m tests.rule_pages"""
    found = {place.name: place.read_text(encoding="utf-8") for place in FOLDER.glob("*.md")}
    assert found == pages()


def test_each_rule_is_in_the_index_by_its_bottleneck() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8").partition("## By Paddle call")[0]
    for rule in RULES.values():
        assert f"| [{rule.code}]({rule.code}.md) | {rule.name} |" in text


@pytest.mark.parametrize("name", pages())
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    prose = re.sub(r"```.*?```", "", pages()[name], flags=re.DOTALL)
    for target in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", prose):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("code", RULES)
def test_the_link_of_a_finding_opens_its_page(code: str) -> None:
    assert RULES[code].url == f"{catalogue.HOME}/blob/main/docs/rules/{code}.md"
    assert (FOLDER / f"{code}.md").is_file()


@pytest.mark.parametrize("code", RULES)
def test_a_page_shows_what_its_fix_changes(code: str) -> None:
    rule, page = RULES[code], pages()[f"{code}.md"]
    for example in rule.examples:
        if example.fixed is not None:
            before, after = (set(text.splitlines()) for text in (example.bad or "", example.fixed))
            assert all(f"\n+{row}\n" in page for row in after - before)
            assert all(f"\n-{row}\n" in page for row in before - after)
        assert example.good is None or example.good.strip("\n") in page


@pytest.mark.parametrize("code", RULES)
def test_a_rule_that_is_off_says_why(code: str) -> None:
    off = RULES[code].off
    assert off.startswith(("left to the step: ", "advice: ")) is not RULES[code].default
    assert bool(off) is not RULES[code].default


def test_a_call_leads_to_its_rules() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `paddle.io.DataLoader` |"))
    assert {"PPF101", "PPF102"} <= set(re.findall(r"PPF\d{3}", row))
    assert "| GPU 利用率低 | `io`, `cpu`, `sync` |" in text
