"""Writes the pages of the rules: ``python -m tests.rule_pages`` makes ``docs/rules`` of ``rules/*.yaml``."""

from __future__ import annotations

from pathlib import Path

from perflint import catalogue
from perflint.output import rule_markdown

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def pages() -> dict[str, str]:
    """All pages by the name of their file."""
    rules = catalogue.shipped()
    found = {f"{code}.md": rule_markdown.page(rule) for code, rule in rules.items()}
    return {rule_markdown.INDEX: rule_markdown.index(rules.values(), catalogue.groups()), **found}


def main() -> None:
    """Write all pages, and take those of rules that are gone away."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for place in FOLDER.glob("*.md"):
        if place.name not in wanted:
            place.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {FOLDER.name}")


if __name__ == "__main__":
    main()
