"""Rules are found by group, by Paddle call and by what a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint import catalogue
from perflint.catalogue import BOTTLENECKS, CatalogueError
from perflint.cli import main
from perflint.commands.rule import search
from perflint.configuration.config_files import load
from perflint.configuration.settings import selected

Output = pytest.CaptureFixture[str]


def codes(wanted: str) -> set[str]:
    return {rule.code for rule in search(wanted, catalogue.shipped(), catalogue.groups())}


def of(group: str) -> set[str]:
    return {rule.code for rule in catalogue.shipped().values() if group in rule.groups}


def test_a_group_holds_the_rules_of_its_bottleneck() -> None:
    assert {group.bottleneck for group in catalogue.groups().values()} - {""} == set(BOTTLENECKS) - {"input"}
    assert {"PPF101", "PPF102"} <= of("io") == codes("io")
    assert not of("io") & of("sync")
    assert not any(rule.groups for rule in catalogue.shipped().values() if rule.bottleneck == "input")


@pytest.mark.parametrize("words", ["DataLoader", "paddle.io.DataLoader", "dataloader()"])
def test_rules_are_found_by_the_call_they_are_about(words: str) -> None:
    assert {"PPF101", "PPF102"} <= codes(words)
    assert "PPF203" not in codes(words)


@pytest.mark.parametrize(
    ("seen", "groups"),
    [
        ("reader_cost high", {"io"}),
        ("Reader_cost is high", {"io"}),
        ("GPU utilisation low", {"io", "cpu", "sync"}),
        ("low GPU utilization", {"io", "cpu", "sync"}),
        ("GPU 利用率低", {"io", "cpu", "sync"}),
        ("out of memory", {"memory"}),
        ("显存不足", {"memory"}),
        ("slow multi GPU", {"communication"}),
        ("多卡训练慢", {"communication"}),
    ],
)
def test_rules_are_found_by_what_a_user_sees(seen: str, groups: set[str]) -> None:
    assert codes(seen) == set().union(*map(of, groups))


def test_rules_are_found_by_a_part_of_their_name() -> None:
    assert codes("no workers") == {"PPF101"}


@pytest.mark.parametrize(
    ("name", "first"), [("num_workers", "PPF101"), (".item()", "PPF201"), ("meter", "PPF201"), ("float", "PPF201")]
)
def test_rules_are_found_by_a_name_in_the_lines_that_they_report(name: str, first: str) -> None:
    assert next(iter(search(name, catalogue.shipped(), catalogue.groups()))).code == first


def test_rules_that_are_on_come_first() -> None:
    defaults = [rule.default for rule in search("io", catalogue.shipped(), catalogue.groups())]
    assert defaults == sorted(defaults, reverse=True)
    assert not all(defaults)


@pytest.mark.parametrize("words", ["cost", "high", "", "zzz"])
def test_words_that_say_nothing_find_nothing(words: str) -> None:
    assert codes(words) == set()


def test_the_command_lists_what_it_finds(capsys: Output) -> None:
    assert main(["rule", "reader_cost", "high"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == of("io")
    assert main(["rule", "zzz"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "zzz" in err


def test_the_list_of_all_rules_ends_with_the_groups(capsys: Output) -> None:
    assert main(["rule"]) == 0
    ending = capsys.readouterr().out.splitlines()[-len(catalogue.groups()) :]
    assert [line.split()[0] for line in ending] == list(catalogue.groups())


def test_a_group_stands_for_its_rules_in_settings(tmp_path: Path) -> None:
    rules = catalogue.shipped()
    settings = load(tmp_path, known=catalogue.selectors(rules), isolated=True, overrides={"select": ["sync"]})
    assert selected(settings, rules) == of("sync")
    wanted = {"select": ["ALL"], "ignore": ["sync", "io"]}
    settings = load(tmp_path, known=catalogue.selectors(rules), isolated=True, overrides=wanted)
    assert selected(settings, rules) == set(rules) - of("sync") - of("io")


def test_a_rule_in_a_group_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    rule = catalogue.rules_directory() / "PPF102.yaml"
    text = rule.read_text(encoding="utf-8") + "groups: [sink]\n"
    (tmp_path / "PPF102.yaml").write_text(text, encoding="utf-8")
    for name in ("events.yaml", "groups.yaml"):
        (tmp_path / name).write_text((rule.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(CatalogueError, match="'sink', expected one of io"):
        catalogue.load(tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("memory grows", of("memory")),  # all words of a longer symptom
        ("batch_cost", of("gpu")),
        ("GPU idle", of("io") | of("cpu") | of("sync")),
        ("OOM", of("memory")),
        ("loss.item()", codes("item")),
        ("if loss", {"PPF203"}),  # what only the page says
        ("dataloader slow", codes("dataloader")),
        ("why is training slow", set()),
    ],
)
def test_rules_are_found_by_what_a_newcomer_types(words: str, expected: set[str]) -> None:
    assert codes(words) == expected


def test_slow_is_what_all_rules_are_about(capsys: Output) -> None:
    assert main(["rule", "slow"]) == 2
    assert "all rules are about slow training: run `perflint check`" in capsys.readouterr().err
