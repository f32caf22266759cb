"""``schemas/perflint.json``: it is what its command makes, and says what the code says.

``tests/test_config.py`` and ``tests/test_declared_calls.py`` hold each configuration that they write against it.
"""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import jsonschema
import pytest

from perflint.configuration import toml_text
from perflint.configuration.config_files import load
from perflint.configuration.keys import KEYS, ConfigError
from tests.config_schema import FILE, ROOT, SCHEMAS, URL, defaults, insist_agreed, made, table, text

KNOWN = {"PPF101": ("dataloader-workers", "io")}


def test_the_file_is_what_the_command_makes() -> None:
    """If this fails: python -m tests.config_schema"""
    assert FILE.read_text(encoding="utf-8") == text()


def test_each_key_has_one() -> None:
    assert tuple(SCHEMAS) == KEYS


def test_it_is_a_schema_of_draft_7() -> None:
    jsonschema.Draft7Validator.check_schema(made())


@pytest.mark.parametrize(("page", "end"), [("settings.md", "."), ("settings_cn.md", "。")])
def test_the_pages_say_what_each_key_is_for_and_its_default(page: str, end: str) -> None:
    assert tuple(table(page)) == KEYS
    values = defaults()
    for key, (default, about) in table(page).items():
        assert about.endswith(end), key
        if key not in ("select", "exclude", "line-length", "target-paddle"):  # which are told in words
            assert toml_text.parse(f"x = {default.strip('`')}")["x"] == values[key], key


@pytest.mark.parametrize("page", ["docs/settings.md", "docs/settings_cn.md"])
def test_the_examples_of_the_pages_are_right(page: str) -> None:
    examples = re.findall(r"^```toml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    tables = [toml_text.parse(example) for example in examples]
    assert len(tables) == 4
    for read in tables:
        jsonschema.validate(read["tool"]["perflint"] if "tool" in read else read, made())
    assert f"#:schema {URL}\n" in examples[1]
    assert URL.endswith(f"/{FILE.relative_to(ROOT).as_posix()}")


def test_the_schema_knows_rules_by_all_that_selects_them() -> None:
    rules = json.loads(FILE.read_text(encoding="utf-8"))["definitions"]["rule"]["enum"]
    assert {"ALL", "PPF", "PPF2", "PPF201", "host-sync-in-step", "io"} <= set(rules)
    assert len(rules) == len(set(rules))


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ('target-paddle = "2.4.1"', True),
        ('target-paddle = ""', True),
        ('target-paddle = "0.0"', False),
        ('target-paddle = "2."', False),
        ('loaders = { "我的库.读取" = "进程数" }', True),
        ('loaders = { "a.1b" = "n" }', False),
        ('sync-calls = { "a.b" = { position = 0 } }', True),
        ('per-file-ignores = { "!a.py" = ["io"] }', True),
        ('per-file-ignores = { "! " = ["io"] }', False),
        ('min-impact = "HIGH"', False),
    ],
)
def test_schema_and_code_agree_on_what_lies_at_an_edge(line: str, is_right: bool, tmp_path: Path) -> None:
    insist_agreed(line, KNOWN, is_right)
    (tmp_path / "perflint.toml").write_text(line, encoding="utf-8")
    with nullcontext() if is_right else pytest.raises(ConfigError):
        load(tmp_path, known=KNOWN)
