"""``perflint rule``, ``config`` and ``--version``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from perflint import __version__
from perflint.cli import main
from tests import fake_rules
from tests.cli_runs import ROOT, Output

pytestmark = pytest.mark.usefixtures("cli_workplace")


def test_rule_explains_one_rule_by_code_or_name(capsys: Output) -> None:
    for word in ("PPF201", "ppf201", "host-sync-in-step"):
        assert main(["rule", word]) == 0
        assert capsys.readouterr().out.startswith("# PPF201 host-sync-in-step\n")


def test_rule_lists_and_explains_all(capsys: Output) -> None:
    assert main(["rule"]) == 0
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()  # below them are the groups
    assert [line.split()[0] for line in lines] == list(fake_rules.RULES)
    assert [line.split()[1] for line in lines][-1] == "off"
    assert main(["rule", "--all"]) == 0
    assert capsys.readouterr().out.count("## Why it costs") == len(fake_rules.RULES)


def test_rule_as_json(capsys: Output) -> None:
    assert main(["rule", "PPF101", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "dataloader-no-workers"
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    assert [page["code"] for page in json.loads(capsys.readouterr().out)] == list(fake_rules.RULES)


def test_an_unknown_rule_gets_a_near_match(capsys: Output) -> None:
    assert main(["rule", "host-sync-in-stp"]) == 2
    assert "did you mean host-sync-in-step?" in capsys.readouterr().err


def test_config_shows_values_and_where_they_come_from(tmp_path: Path, capsys: Output) -> None:
    Path("perflint.toml").write_text("log-interval = 50\n")
    assert main(["config", "--ignore", "PPF101"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"log-interval = 50  # {tmp_path / 'perflint.toml'}" in lines
    assert 'ignore = ["PPF101"]  # command line' in lines
    assert "default-workers = 4  # default" in lines


def test_config_of_another_directory(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "perflint.toml").write_text("log-interval = 7\n")
    assert main(["config", "other"]) == 0
    assert "log-interval = 7" in capsys.readouterr().out


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT), str(tmp_path / "missing")])
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"perflint {__version__}\n", "")


@pytest.mark.parametrize("kind", [".dist-info", ".egg-info"])
def test_version_fails_when_the_other_perflint_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / f"perflint-0.8.1{kind}"
    place.mkdir()
    text = "Metadata-Version: 2.1\nName: perflint\nVersion: 0.8.1\n"
    (place / ("METADATA" if kind == ".dist-info" else "PKG-INFO")).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["--version"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("0.8.1", "Pylint plugin", "pip uninstall -y perflint perflint-paddle", "pip install perflint-paddle"):
        assert part in err


def test_version_does_not_take_itself_or_a_leftover_for_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    (tmp_path / "perflint_paddle-0.1.0.dist-info").mkdir()
    (tmp_path / "perflint-notes.txt").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(ROOT)])
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"perflint {__version__}\n"


def test_version_fails_when_files_of_the_package_are_gone(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    import perflint

    monkeypatch.setattr(sys, "path", [str(ROOT)])
    monkeypatch.delattr(perflint, "__version__")
    assert main(["--version"]) == 2
    assert "pip install perflint-paddle" in capsys.readouterr().err
