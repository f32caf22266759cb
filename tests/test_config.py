from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from perflint.configuration import keys
from perflint.configuration.config_files import DEFAULT_EXCLUDE, describe, load
from perflint.configuration.keys import KEYS, ConfigError
from perflint.configuration.settings import DeclaredCall, Settings, closest
from perflint.findings import Confidence, ImpactLevel
from tests.config_schema import insist_agreed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

KNOWN = {
    "PPF101": ("dataloader-workers", "io"),
    "PPF201": ("host-read-in-step", "sync"),
    "PPF202": ("print-in-step", "sync"),
    "PPF401": ("save-in-step", "io"),
    "PPF402": ("save-each-epoch", "io", "advice"),
    "PPF405": ("log-each-step", "io"),
}


def settings_of(directory: Path, text: str | None = None, **overrides: object) -> Settings:
    """The settings for a directory whose perflint.toml holds ``text``; ``_`` in the keys of overrides is ``-``.

    Where perflint takes the text, the JSON schema has to take it too.
    """
    if text is not None:
        (directory / "perflint.toml").write_text(text, encoding="utf-8")
    given = {key.replace("_", "-"): value for key, value in overrides.items()}
    settings = load(directory, known=KNOWN, overrides=given)
    if text is not None:
        insist_agreed(text, KNOWN, is_right=True)
    return settings


def error_of(directory: Path, text: str) -> str:
    """What is wrong with a perflint.toml, without its name; the JSON schema has to refuse it too."""
    with pytest.raises(ConfigError) as caught:
        settings_of(directory, text)
    if len(text) <= 4_000_000:  # a larger one is not read
        insist_agreed(text, KNOWN, is_right=False)
    message = str(caught.value)
    assert message.startswith(str(directory / "perflint.toml"))
    return message.removeprefix(str(directory / "perflint.toml"))


def runs(settings: Settings) -> set[str]:
    """The codes on top, with everything on by default but PPF402."""
    select = ("PPF101", "PPF20", "PPF401", "PPF405") if settings.select is None else settings.select
    wanted = (*select, *settings.extend_select)
    return {code for code in KNOWN if closest(wanted, code) > closest(settings.ignore, code)}


# --- finding a file


def test_without_a_file_everything_is_default(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    assert settings.root == tmp_path
    assert settings.select is None
    assert settings.exclude == DEFAULT_EXCLUDE
    assert settings.extend_exclude == ()
    assert settings.respect_gitignore is True
    assert settings.default_workers == 4
    assert settings.log_interval == 10
    assert settings.origins == dict.fromkeys(KEYS, "default")


def test_each_key_is_a_field_and_each_field_a_key() -> None:
    assert {key.replace("-", "_") for key in KEYS} == {field.name for field in fields(Settings)} - {
        *("root", "origins", "whole_project", "noqa", "inputs", "passed_over")
    }


def test_every_key_is_read(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
        select = ["PPF1", "PPF2"]
        ignore = ["PPF202"]
        extend-select = ["PPF402"]
        exclude = ["third_party"]
        extend-exclude = ["gen/*.py"]
        respect-gitignore = false
        context = ["src"]
        baseline = "known.json"
        profile = "train.json"
        budget = { waits = 2 }
        default-workers = 8
        log-interval = 50
        min-confidence = "high"
        min-impact = "low"
        join-lines = false
        extend-safe-fixes = ["PPF101"]
        extend-unsafe-fixes = ["PPF201"]
        loaders = { "mylib.build" = "workers" }
        sync-calls = ["mylib.mean"]
        checkpoint-calls = ["mylib.save"]
        logging-calls = ["mylib.log"]
        line-length = 100
        target-paddle = "2.4"
        per-file-ignores = { "tests/*" = ["PPF202", "ALL"] }
        """,
    )
    origin = str(tmp_path / "perflint.toml")
    assert settings == Settings(
        root=tmp_path,
        select=("PPF1", "PPF2"),
        ignore=("PPF202",),
        extend_select=("PPF402",),
        per_file_ignores={"tests/*": ("PPF202", "ALL")},
        exclude=("third_party",),
        extend_exclude=("gen/*.py",),
        respect_gitignore=False,
        context=("src",),
        baseline="known.json",
        profile="train.json",
        budget={"waits": 2},
        default_workers=8,
        log_interval=50,
        min_confidence=Confidence.HIGH,
        min_impact=ImpactLevel.LOW,
        join_lines=False,
        extend_safe_fixes=("PPF101",),
        extend_unsafe_fixes=("PPF201",),
        loaders={"mylib.build": DeclaredCall("workers")},
        sync_calls={"mylib.mean": DeclaredCall()},
        checkpoint_calls={"mylib.save": DeclaredCall()},
        logging_calls={"mylib.log": DeclaredCall()},
        line_length=100,
        target_paddle="2.4",
        origins=dict.fromkeys(KEYS, origin),
    )


def test_the_nearest_table_wins_and_a_pyproject_without_one_is_passed_over(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.perflint]\nlog-interval = 30\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    settings = settings_of(inner)
    assert (settings.log_interval, settings.root) == (30, tmp_path)
    assert settings.origins["log-interval"] == str(tmp_path / "pyproject.toml")
    assert settings.origins["default-workers"] == "default"

    (tmp_path / "a" / "pyproject.toml").write_text("[tool.perflint]\n")
    settings = settings_of(inner)
    assert (settings.log_interval, settings.root) == (10, tmp_path / "a")


def test_own_files_win_over_pyproject_beside_them(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.perflint]\nlog-interval = 30\n")
    (tmp_path / "perflint.toml").write_text("log-interval = 40\n")
    assert settings_of(tmp_path).log_interval == 40
    (tmp_path / ".perflint.toml").write_text("log-interval = 50\n")
    assert settings_of(tmp_path).log_interval == 50


def test_a_file_can_stand_for_its_directory(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "perflint.toml").write_text("log-interval = 40\n")
    settings = load(tmp_path / "train.py", known=KNOWN)
    assert (settings.log_interval, settings.root) == (40, tmp_path)


def test_config_replaces_the_file_that_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("log-interval = 40\ndefault-workers = 2\n")
    other = tmp_path / "ci" / "strict.toml"
    other.parent.mkdir()
    other.write_text("log-interval = 60\n")
    settings = load(tmp_path, known=KNOWN, config=other)
    assert (settings.log_interval, settings.default_workers, settings.root) == (60, 4, other.parent)


def test_config_must_exist_and_hold_a_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path, known=KNOWN, config=tmp_path / "none.toml")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ConfigError, match=r"there is no \[tool\.perflint\] table in it"):
        load(tmp_path, known=KNOWN, config=tmp_path / "pyproject.toml")


def test_isolated_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("not toml at all")
    settings = load(tmp_path, known=KNOWN, isolated=True, overrides={"log-interval": 5})
    assert (settings.log_interval, settings.root) == (5, tmp_path)
    with pytest.raises(ConfigError, match="--isolated"):
        load(tmp_path, known=KNOWN, isolated=True, config=tmp_path / "perflint.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_bytes(b"\xef\xbb\xbflog-interval = 40\r\ndefault-workers = 2\r\n")
    settings = settings_of(tmp_path)
    assert (settings.log_interval, settings.default_workers) == (40, 2)


# --- errors


def test_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    text = "\nper-file-ignore = {}\n"
    assert error_of(tmp_path, text) == ":2: per-file-ignore: there is no such key; did you mean per-file-ignores?"
    text = "extend_select = []\n"
    assert error_of(tmp_path, text) == ":1: extend_select: there is no such key; did you mean extend-select?"
    assert "the keys are select, ignore, extend-select" in error_of(tmp_path, "zzz = 1\n")


@pytest.mark.parametrize(
    ("line", "found", "expected"),
    [
        ('select = "PPF1"', '"PPF1" (a string)', "a list of rules"),
        ("ignore = [1]", "[1] (a list)", "a list of rules"),
        ("exclude = true", "true (a boolean)", "a list of patterns"),
        ('respect-gitignore = "no"', '"no" (a string)', "true or false"),
        ("respect-gitignore = 0", "0 (a whole number)", "true or false"),
        ("default-workers = 0", "0 (a whole number)", "a whole number of at least 1"),
        ("default-workers = true", "true (a boolean)", "a whole number of at least 1"),
        ("default-workers = 4.0", "4.0 (a decimal number)", "a whole number of at least 1"),
        ("log-interval = 1", "1 (a whole number)", "a whole number of at least 2"),
        ("target-paddle = 2.4", "2.4 (a decimal number)", "the number of a release of Paddle"),
        ('target-paddle = "develop"', '"develop" (a string)', "the number of a release of Paddle"),
        ("log-interval = 2024-01-01", "2024-01-01 (a date or time)", "a whole number of at least 2"),
        ('per-file-ignores = ["tests"]', '["tests"] (a list)', "a table from patterns to lists of rules"),
        (
            'per-file-ignores = { "a.py" = "PPF1" }',
            '{ "a.py" = "PPF1" } (a table)',
            "a table from patterns to lists of rules",
        ),
    ],
)
def test_wrong_types_say_what_was_found_and_what_is_expected(
    tmp_path: Path, line: str, found: str, expected: str
) -> None:
    message = error_of(tmp_path, f"# a comment\n{line}\n")
    key = line.split(" ")[0]
    assert message.startswith(f":2: {key}: found {found}, expected {expected}")


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("PPF109", "`perflint rule` lists the rules and the groups"),
        ("E501", "`perflint rule` lists the rules and the groups"),
        ("PF101", "did you mean PPF101?"),
        ("ppf101", "did you mean PPF101?"),
        ("all", "did you mean ALL?"),
        ("print_in_step", "did you mean print-in-step?"),
        ("", "`perflint rule` lists the rules and the groups"),
        ("E501", "`perflint rule` lists the rules and the groups"),
    ],
)
def test_a_selector_that_means_no_rule_is_an_error(tmp_path: Path, entry: str, hint: str) -> None:
    message = error_of(tmp_path, f'ignore = ["PPF1", "{entry}"]\n')
    assert message.startswith(f':1: ignore: "{entry}" is not ALL and no rule has such a code')
    assert message.endswith(hint)


def test_selectors_in_every_place_are_checked(tmp_path: Path) -> None:
    for key in ("select", "extend-select", "extend-safe-fixes", "extend-unsafe-fixes"):
        assert f": {key}: " in error_of(tmp_path, f'{key} = ["PPF99"]\n')
    message = error_of(tmp_path, 'log-interval = 20\n[per-file-ignores]\n"a.py" = ["PPF99"]\n')
    assert message.startswith(':2: per-file-ignores: "PPF99" is not ALL')


def test_patterns_are_checked(tmp_path: Path) -> None:
    assert error_of(tmp_path, 'extend-exclude = ["gen", "!"]\n').startswith(':1: extend-exclude: "!" is not a pattern')
    assert error_of(tmp_path, 'exclude = [""]\n').startswith(':1: exclude: "" is not a pattern')
    assert error_of(tmp_path, 'per-file-ignores = { "!" = [] }\n').startswith(
        ':1: per-file-ignores: "!" is not a pattern'
    )
    assert settings_of(tmp_path, 'per-file-ignores = { "!a.py" = [] }\n').per_file_ignores == {"!a.py": ()}


def test_lines_are_found_in_pyproject(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.other]\nselect = 1\n\n[tool.perflint]\n"select" = 1\n')
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path)
    assert str(caught.value).startswith(f"{path}:5: select: found 1")
    path.write_text("[tool]\nperflint.select = 1\n")
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path)
    assert str(caught.value).startswith(f"{path}: select: found 1")
    path.write_text("[tool]\nperflint = 3\n")
    with pytest.raises(ConfigError, match=r"tool\.perflint: found 3 \(a whole number\), expected a table"):
        settings_of(tmp_path)


def test_invalid_toml_names_file_and_line(tmp_path: Path) -> None:
    assert error_of(tmp_path, "select = []\nlog-interval 3\n").startswith(":2: not valid TOML: ")
    assert error_of(tmp_path, "select = []\n\nignore = [").startswith(":3: not valid TOML: ")
    assert error_of(tmp_path, "x = " + "[" * 100_000).startswith((":1: not valid TOML", ": not valid TOML"))


def test_text_that_is_no_utf8_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_bytes("select = []\n# 训练\n".encode("gbk"))
    with pytest.raises(ConfigError, match=r"perflint\.toml:2: not valid TOML: it is not UTF-8 text"):
        settings_of(tmp_path)


# --- what is not meant to be read


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# first\nlog-interval = " + "9" * 5_000, ":2: a number of 5000 digits cannot be read"),
        ("x = [1,\n" + "1" * 5_000 + "]", ":2: a number of 5000 digits cannot be read"),
        ("log-interval = 0x" + "f" * 5_000, ":1: log-interval: found a number of too many digits (a whole number)"),
        ("select = 0x" + "f" * 5_000, ":1: select: found a number of too many digits (a whole number)"),
        ("select = [0x" + "f" * 5_000 + "]", ":1: select: found too much to show (a list)"),
        ("default-workers = 10000000", ":1: default-workers: found 10000000 (a whole number), expected a whole number"),
        ('loaders = {"a.b" = {workers = "w", position = 10000000}}', ':1: loaders: "a.b": position: found 10000000'),
        ("log-interval = 1\0", ":1: not valid TOML: "),
        ("\n\nexclude = ['\0']", ":3: not valid TOML: "),
        ('baseline = "a\\u0000b"', ':1: baseline: found "a\\u0000b" (a string), which holds a null character'),
        ('context = ["a\\u0000"]', ':1: context: found ["a\\u0000"] (a list), which holds a null character'),
        ('exclude = ["a\\u0000"]', ":1: exclude: found"),
        ('per-file-ignores = { "a\\u0000" = [] }', ":1: per-file-ignores: found"),
        ("select." + "a." * 50 + "b = 1", ":1: select: found "),
        ("x = '''\x85\u2028'''\nlog-interval 3\n", ":2: not valid TOML: "),
        ("a." * 100_000 + "b = 1", ":1: a key with more than 100 parts cannot be read"),
        ("select = []\n[" + "a . " * 100_000 + "b]", ":2: a key with more than 100 parts cannot be read"),
        ("x = {" + "'a' . " * 100_000 + "b = 1}", ":1: a key with more than 100 parts cannot be read"),
        ("x = [\n[" + " " * 100_000 + "\n1]]\nlog-interval = 1", ":1: x: there is no such key"),
        ("." * 200 + '\\"' * 500_000, ":1: not valid TOML: "),
        ("y" * 1_000_000 + " = 1", ":1: yyyyyyyyyyyyyyyyy"),
        ('exclude = ["' + "[" * 1_000_000 + '"]', ":1: exclude: "),
        ("#" * 4_000_001, ": cannot be read: it is larger than 4,000,000 bytes"),
    ],
)
@pytest.mark.timeout(30)
def test_what_is_made_to_hurt_is_an_error_with_a_place(tmp_path: Path, text: str, problem: str) -> None:
    message = error_of(tmp_path, text)
    assert message.startswith(problem)
    assert len(message) < 1_000
    assert "\0" not in message


@pytest.mark.parametrize(
    "text",
    [
        "x.y.z = 1 # " + "a." * 200,
        "text = '" + "a." * 200 + "'",
        'text = """\n' + "." * 200 + '\n"""',
        "names = [" + "'a.b.c', " * 200 + "]",
    ],
)
def test_points_that_join_no_long_key_are_fine(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.perflint]\nlog-interval = 20\n[tool.other]\n{text}\n")
    assert settings_of(tmp_path).log_interval == 20


def test_many_wrong_keys_are_not_looked_for_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(word: str, candidates: Iterable[str]) -> str:
        asked.append(word)
        return ""

    monkeypatch.setattr(keys, "_suggestion", counted)
    error_of(tmp_path, "".join(f"key{number} = 1\n" for number in range(20_000)))
    assert asked == [f"key{number}" for number in range(20)]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = """\
        log-intervall = 20
        ignore = ["PPF109", "PPF2", "E501"]
        min-impact = "huge"
        default-workers = 8
        exclude = ["", "!"]

        [per-file-ignores]
        "!" = ["PPF109"]

        [loaders]
        "a.b" = { workers = 3, place = 1 }
        build = "n"
        """
    (tmp_path / "perflint.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path, min_confidence="sure")
    told = [problem.removeprefix(f"{tmp_path / 'perflint.toml'}:") for problem in caught.value.problems]
    expected = [
        "1: log-intervall: there is no such key; did you mean log-interval?",
        '2: ignore: "PPF109" is not ALL',
        '2: ignore: "E501" is not ALL',
        '3: min-impact: found "huge" (a string), expected "low", "medium" or "high"',
        '5: exclude: "" is not a pattern',
        '5: exclude: "!" is not a pattern',
        '7: per-file-ignores: "!" is not a pattern',
        '7: per-file-ignores: "PPF109" is not ALL',
        '10: loaders: "a.b": workers: found 3 (a whole number)',
        '10: loaders: "a.b": place: there is no such key',
        '10: loaders: "build" is not a qualified name',
        '--min-confidence: found "sure" (a string)',
    ]
    assert [line[: len(start)] for line, start in zip(told, expected, strict=True)] == expected
    assert str(caught.value) == "\n".join(caught.value.problems)


def test_after_twenty_mistakes_it_says_that_there_may_be_more(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("".join(f"key{number} = 1\n" for number in range(30)))
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path)
    *told, last = caught.value.problems
    assert [problem.split(":")[1] for problem in told] == [str(number) for number in range(1, 21)]
    assert last == "correct these 20 first: the rest was not checked"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.timeout(20)
def test_pipes_and_devices_are_passed_over(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "perflint.toml").write_text("log-interval = 20\n")
    os.mkfifo(below / "perflint.toml")
    (below / "pyproject.toml").symlink_to("/dev/zero")
    (below / ".perflint.toml").mkdir()  # as a mistaken mount makes it
    settings = settings_of(below)
    assert settings.log_interval == 20
    assert settings.passed_over == (below / "perflint.toml", below / "pyproject.toml")
    with pytest.raises(ConfigError, match=r"perflint\.toml: cannot be read: it is a pipe, not a file"):
        load(below, known={}, config=below / "perflint.toml")
    assert load(below, known={}, isolated=True).passed_over == ()


def test_a_path_that_is_too_long_or_leads_in_a_circle_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for start in (tmp_path / "circle", tmp_path / "circle" / "a.py", tmp_path / ("a" * 5_000)):
        assert load(start, known={}, isolated=True).log_interval == 10
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, known={}, config=tmp_path / ("a" * 5_000))


# --- the command line


def test_names_become_codes(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        'select = ["print-in-step", "PPF1", "ALL"]\nper-file-ignores = { "a.py" = ["save-in-step"] }\n',
        ignore=["log-each-step"],
    )
    assert settings.select == ("PPF202", "PPF1", "ALL")
    assert settings.per_file_ignores == {"a.py": ("PPF401",)}
    assert settings.ignore == ("PPF405",)


def test_values_that_were_not_given_change_nothing(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "log-interval = 40\n", select=None, log_interval=None)
    assert settings.select is None
    assert settings.log_interval == 40


def test_the_command_line_replaces_single_values(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, 'exclude = ["a"]\nlog-interval = 40\n', exclude=["b"], log_interval=20)
    assert (settings.exclude, settings.log_interval) == (("b",), 20)
    assert settings.origins["exclude"] == "command line"
    assert settings.origins["log-interval"] == "command line"


def test_the_command_line_adds_to_lists_that_add(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, 'ignore = ["PPF202"]\nextend-exclude = ["a"]\n', ignore=["PPF405"])
    assert settings.ignore == ("PPF202", "PPF405")
    assert settings.origins["ignore"] == f"{tmp_path / 'perflint.toml'} and command line"
    assert settings_of(tmp_path, extend_exclude=["b"]).extend_exclude == ("a", "b")
    assert settings_of(tmp_path, extend_select=["PPF402"]).origins["extend-select"] == "command line"


def test_select_on_the_command_line_starts_afresh(tmp_path: Path) -> None:
    text = 'select = ["PPF1"]\nignore = ["PPF202"]\nextend-select = ["PPF402"]\n'
    settings = settings_of(tmp_path, text, select=["PPF2"])
    assert (settings.select, settings.ignore, settings.extend_select) == (("PPF2",), (), ())
    assert settings.origins["ignore"] == "command line"
    settings = settings_of(tmp_path, text, select=["PPF2"], ignore=["PPF201"], extend_select=["PPF4"])
    assert (settings.select, settings.ignore, settings.extend_select) == (("PPF2",), ("PPF201",), ("PPF4",))


# What Ruff does with the same questions (its own rules in place of these).
@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ('ignore = ["PPF202"]', {"ignore": ["PPF405"]}, {"PPF101", "PPF201", "PPF401"}),
        ('select = ["PPF101"]', {"ignore": ["PPF1"]}, set()),
        ('select = ["PPF101"]', {"ignore": ["PPF1"], "extend-select": ["PPF101"]}, {"PPF101"}),
        ('select = ["PPF2"]\nignore = ["PPF202"]', {"extend-select": ["PPF202"]}, {"PPF201", "PPF202"}),
        ('select = ["PPF2"]\nignore = ["PPF202"]', {"extend-select": ["PPF2"]}, {"PPF201", "PPF202"}),
        ('select = ["PPF4"]\nignore = ["PPF4"]', {"extend-select": ["PPF402"]}, {"PPF402"}),
        ('select = ["PPF2"]\nextend-select = ["PPF402"]', {"ignore": ["PPF4"]}, {"PPF201", "PPF202"}),
        ('select = ["PPF4"]', {"ignore": ["PPF40"], "extend-select": ["PPF402"]}, {"PPF402"}),
    ],
)
def test_the_command_line_has_the_last_word(
    tmp_path: Path, text: str, overrides: Mapping[str, object], expected: set[str]
) -> None:
    (tmp_path / "perflint.toml").write_text(text)
    assert runs(load(tmp_path, known=KNOWN, overrides=overrides)) == expected


def test_lists_of_the_file_stay_as_written_where_nothing_conflicts(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, 'select = ["PPF"]\n', ignore=["PPF2"])
    assert (settings.select, settings.ignore) == (("PPF",), ("PPF2",))


def test_errors_of_the_command_line_name_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'^--select: "PPF109" is not ALL .* `perflint rule` lists'):
        settings_of(tmp_path, select=["PPF109"])


# --- pairs of --config


def test_a_pair_wins_over_the_file_and_an_option_over_a_pair(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text('log-interval = 40\nexclude = ["a"]\nignore = ["PPF202"]\n')
    pairs = ["log-interval=50", "default-workers = 2", 'exclude=["b"]', 'ignore=["PPF405"]', "log-interval=60"]
    settings = load(tmp_path, known=KNOWN, pairs=pairs, overrides={"exclude": ["c"], "ignore": ["PPF201"]})
    assert (settings.log_interval, settings.default_workers) == (60, 2)
    assert (settings.exclude, settings.ignore) == (("c",), ("PPF405", "PPF201"))
    pair = "command line (--config)"
    assert (settings.origins["log-interval"], settings.origins["default-workers"]) == (pair, pair)
    assert settings.origins["exclude"] == "command line"
    assert settings.origins["ignore"] == f"{pair} and command line"
    assert "log-interval = 60  # command line (--config)" in describe(settings).splitlines()


def test_a_pair_may_hold_a_table(tmp_path: Path) -> None:
    for pair in ('per-file-ignores={"a.py"=["PPF201"]}', 'per-file-ignores."a.py" = ["host-read-in-step"]'):
        settings = load(tmp_path, known=KNOWN, isolated=True, pairs=[pair])
        assert settings.per_file_ignores == {"a.py": ("PPF201",)}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("log-interval=1", "--config: log-interval: found 1 (a whole number), expected a whole number of at least 2"),
        ("log-intervall=1", "--config: log-intervall: there is no such key; did you mean log-interval?"),
        ('ignore=["PPF109"]', '--config: ignore: "PPF109" is not ALL'),
        ("min-impact=high", "--config min-impact=high: there is no such file, and as a setting it is not valid TOML: "),
        ("a=1\nb=2", "--config a=1\\nb=2: found 2 keys, expected one; give --config once for each"),
    ],
)
def test_errors_of_a_pair_name_the_option(tmp_path: Path, pair: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, known=KNOWN, pairs=[pair])
    assert str(caught.value).startswith(message)


def test_mistakes_in_the_file_in_pairs_and_in_options_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "perflint.toml").write_text("join-lines = 1\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, known=KNOWN, pairs=["zzz=1", "log-interval=0"], overrides={"select": ["PPF99"]})
    starts = [f"{tmp_path / 'perflint.toml'}:1: join-lines", "--config: zzz", "--config: log-interval", "--select"]
    assert [line.startswith(f"{start}: ") for line, start in zip(caught.value.problems, starts, strict=True)] == (
        [True] * 4
    )


# --- showing


def test_describe_is_toml_with_every_key_and_origin(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        'ignore = ["PPF202"]\n[per-file-ignores]\n"测试/\\"a\\"*.py" = ["PPF1", "ALL"]\n',
        log_interval=20,
        select=["PPF"],
    )
    text = describe(settings)
    read = tomllib.loads(text)
    assert list(read) == [key for key in KEYS if key != "line-length"]
    assert "# line-length is not set: 88, or the longest row of the file  # default" in text.splitlines()
    assert read["select"] == ["PPF"]
    assert read["per-file-ignores"] == {'测试/"a"*.py': ["PPF1", "ALL"]}
    assert read["exclude"] == list(DEFAULT_EXCLUDE)
    assert read["respect-gitignore"] is True
    assert read["log-interval"] == 20
    lines = text.splitlines()
    assert "log-interval = 20  # command line" in lines
    assert "default-workers = 4  # default" in lines
    assert f"# paths and patterns are relative to {tmp_path}" in lines
    assert any(line.endswith(f"  # {tmp_path / 'perflint.toml'}") for line in lines)


def test_describe_says_what_no_select_means() -> None:
    text = describe(Settings())
    assert "# select is not set: the rules that are on by default  # default\n" in text
    assert "select" not in tomllib.loads(text)
    assert "per-file-ignores = {}  # default\n" in text
