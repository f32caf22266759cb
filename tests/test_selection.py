from __future__ import annotations

from pathlib import Path

import pytest

from perflint.catalogue import Rule
from perflint.configuration.settings import Settings, closest, ignored_for, level_for, selected, specificity
from perflint.findings import Level
from perflint.inputs import patterns


def rule(code: str, name: str, default: bool = True) -> Rule:
    return Rule(
        code=code,
        name=name,
        summary="",
        bottleneck="sync",
        default=default,
        why="",
        ignore_when="",
        message="",
        fix_level=Level.DISPLAY,
        fix_title="",
        fix_reason="",
        calls=(),
        match=(),
        examples=(),
        references=(),
        evidence="",
        path=Path(f"{code}.yaml"),
    )


RULES = {
    item.code: item
    for item in (
        rule("PPF101", "dataloader-workers"),
        rule("PPF201", "host-read-in-step"),
        rule("PPF202", "print-in-step"),
        rule("PPF401", "save-in-step"),
        rule("PPF402", "save-each-epoch", default=False),
    )
}


def test_specificity_orders_selectors() -> None:
    ranks = [
        specificity(selector, "PPF101", "dataloader-workers")
        for selector in ("PPF2", "ALL", "P", "PPF", "PPF1", "PPF10", "PPF101")
    ]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)
    assert ranks[0] == -1
    assert specificity("dataloader-workers", "PPF101", "dataloader-workers") == ranks[-1]
    assert specificity("dataloader", "PPF101", "dataloader-workers") == -1
    assert specificity("ppf1", "PPF101") == -1
    assert specificity("", "PPF101") == -1
    assert specificity("PPF1011", "PPF101") == -1
    assert closest((), "PPF101") == -1
    assert closest(("PPF", "PPF2"), "PPF101") == specificity("PPF", "PPF101")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(join_lines=False), "PPF101 PPF201 PPF202 PPF401"),
        (Settings(join_lines=False, select=()), ""),
        (Settings(join_lines=False, select=("ALL",)), "PPF101 PPF201 PPF202 PPF401 PPF402"),
        (Settings(join_lines=False, select=("PPF",)), "PPF101 PPF201 PPF202 PPF401 PPF402"),
        (Settings(join_lines=False, select=("PPF2", "save-in-step")), "PPF201 PPF202 PPF401"),
        (Settings(join_lines=False, select=("PPF2",), extend_select=("PPF402",)), "PPF201 PPF202 PPF402"),
        (Settings(join_lines=False, extend_select=("PPF402",)), "PPF101 PPF201 PPF202 PPF401 PPF402"),
        (Settings(join_lines=False, ignore=("PPF2",)), "PPF101 PPF401"),
        (Settings(join_lines=False, ignore=("PPF",)), ""),
        (Settings(join_lines=False, ignore=("ALL",)), ""),
        (Settings(join_lines=False, ignore=("ALL",), extend_select=("PPF2",)), "PPF201 PPF202"),
        (Settings(join_lines=False, ignore=("print-in-step",)), "PPF101 PPF201 PPF401"),
        # The longer prefix decides, in both directions, and the ignore between equals.
        (Settings(join_lines=False, select=("PPF",), ignore=("PPF2",)), "PPF101 PPF401 PPF402"),
        (Settings(join_lines=False, select=("PPF202",), ignore=("PPF2",)), "PPF202"),
        (Settings(join_lines=False, select=("print-in-step",), ignore=("PPF2",)), "PPF202"),
        (Settings(join_lines=False, select=("PPF2",), ignore=("ALL",)), "PPF201 PPF202"),
        (Settings(join_lines=False, select=("PPF202",), ignore=("PPF202",)), ""),
        (Settings(join_lines=False, select=("PPF202",), ignore=("print-in-step",)), ""),
        (Settings(join_lines=False, select=("PPF2",), ignore=("PPF2",)), ""),
    ],
)
def test_selected(settings: Settings, expected: str) -> None:
    assert selected(settings, RULES) == frozenset(expected.split())


def silenced(path: str | Path, table: dict[str, tuple[str, ...]], root: Path) -> set[str]:
    codes = ignored_for(path, Settings(join_lines=False, root=root, per_file_ignores=table))
    return {code for code in RULES if code in codes}


def test_per_file_ignores_are_gitignore_patterns_below_the_root(tmp_path: Path) -> None:
    table: dict[str, tuple[str, ...]] = {"tests": ("PPF2",), "/tools/*.py": ("PPF101",), "conf_*.py": ("PPF40",)}
    assert silenced(tmp_path / "tests" / "deep" / "a.py", table, tmp_path) == {"PPF201", "PPF202"}
    assert silenced(tmp_path / "pkg" / "tests" / "a.py", table, tmp_path) == {"PPF201", "PPF202"}
    assert silenced(tmp_path / "tools" / "a.py", table, tmp_path) == {"PPF101"}
    assert silenced(tmp_path / "pkg" / "tools" / "a.py", table, tmp_path) == set()
    assert silenced(tmp_path / "tests" / "conf_a.py", table, tmp_path) == {"PPF201", "PPF202", "PPF401", "PPF402"}
    assert silenced(tmp_path / "train.py", table, tmp_path) == set()


def test_per_file_ignores_take_all_and_codes_that_are_no_rule_of_the_run(tmp_path: Path) -> None:
    codes = ignored_for(
        tmp_path / "a.py", Settings(join_lines=False, root=tmp_path, per_file_ignores={"*.py": ("ALL",)})
    )
    assert "PPF001" in codes
    assert "PPF999" in codes
    assert "PPF001" not in ignored_for(tmp_path / "a.py", Settings(join_lines=False, root=tmp_path))


def test_a_pattern_turned_round_holds_for_the_other_files(tmp_path: Path) -> None:
    table: dict[str, tuple[str, ...]] = {"!train/": ("ALL",)}
    assert silenced(tmp_path / "train" / "a.py", table, tmp_path) == set()
    assert silenced(tmp_path / "eval" / "a.py", table, tmp_path) == set(RULES)


def test_relative_paths_count_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    monkeypatch.chdir(tmp_path / "pkg")
    table: dict[str, tuple[str, ...]] = {"/pkg/a.py": ("PPF1",)}
    assert silenced("a.py", table, tmp_path) == {"PPF101"}
    assert silenced("../pkg/a.py", table, tmp_path) == {"PPF101"}
    assert silenced("../a.py", table, tmp_path) == set()


def test_a_root_reached_through_a_link_is_the_same_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    table: dict[str, tuple[str, ...]] = {"/a.py": ("PPF1",)}
    assert silenced(tmp_path / "link" / "a.py", table, tmp_path / "real") == {"PPF101"}
    assert silenced(tmp_path / "real" / "a.py", table, tmp_path / "link") == {"PPF101"}


def test_a_file_outside_the_root_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    table: dict[str, tuple[str, ...]] = {"a.py": ("PPF1",), "/b.py": ("PPF1",)}
    assert silenced(tmp_path / "a.py", table, tmp_path / "project") == {"PPF101"}
    assert silenced(tmp_path / "b.py", table, tmp_path / "project") == set()


@pytest.mark.parametrize(
    ("safe", "unsafe", "level", "expected"),
    [
        ((), (), Level.SAFE, Level.SAFE),
        ((), (), Level.UNSAFE, Level.UNSAFE),
        (("PPF101",), (), Level.UNSAFE, Level.SAFE),
        (("PPF1",), (), Level.UNSAFE, Level.SAFE),
        (("ALL",), (), Level.UNSAFE, Level.SAFE),
        (("PPF2",), (), Level.UNSAFE, Level.UNSAFE),
        ((), ("PPF101",), Level.SAFE, Level.UNSAFE),
        ((), ("ALL",), Level.SAFE, Level.UNSAFE),
        ((), ("PPF2",), Level.SAFE, Level.SAFE),
        # The more specific decides, and caution between equals.
        (("PPF101",), ("PPF1",), Level.UNSAFE, Level.SAFE),
        (("PPF101",), ("PPF1",), Level.SAFE, Level.SAFE),
        (("PPF1",), ("PPF101",), Level.SAFE, Level.UNSAFE),
        (("PPF1",), ("PPF1",), Level.SAFE, Level.UNSAFE),
        (("PPF1",), ("PPF1",), Level.UNSAFE, Level.UNSAFE),
        # What is only shown is not ready to be applied.
        (("ALL",), (), Level.DISPLAY, Level.DISPLAY),
        ((), ("ALL",), Level.DISPLAY, Level.DISPLAY),
    ],
)
def test_level_for(safe: tuple[str, ...], unsafe: tuple[str, ...], level: Level, expected: Level) -> None:
    settings = Settings(join_lines=False, extend_safe_fixes=safe, extend_unsafe_fixes=unsafe)
    assert level_for("PPF101", level, settings) is expected


def test_many_patterns_are_read_once_and_not_for_each_file(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    parse = patterns.parse

    def counted(line: bytes) -> patterns.Glob | None:
        read.append(line)
        return parse(line)

    monkeypatch.setattr(patterns, "parse", counted)
    names = [f"file{number}.py" for number in range(2_000)]
    settings = Settings(
        join_lines=False, root=Path("/project"), per_file_ignores=dict.fromkeys(names, ("PPF1",)) | {"!x.py": ("PPF2",)}
    )
    for name in names[:100]:
        ignored = ignored_for(f"/project/{name}", settings)
        assert "PPF101" in ignored
        assert "PPF201" in ignored
    assert "PPF201" not in ignored_for("/project/x.py", settings)
    assert len(read) == len(names) + 1
