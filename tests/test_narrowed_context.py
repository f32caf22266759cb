"""The ways to adopt perflint where files are read for their context, and named as people like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perflint.cli import main
from tests.cli_runs import Output
from tests.git_runs import commit, start
from tests.support import in_step

HELPER = "import paddle\n\n\ndef log(loss):\n    return loss.item()\n"
TRAIN = in_step("log(loss)\n").replace("import numpy", "from pkg.helper import log\nimport numpy")
FILE = "perflint-baseline.json"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository whose loop stands in one file, and what costs time in another."""
    start(tmp_path / "repository", monkeypatch)
    Path("perflint.toml").write_text('context = ["."]\n')
    Path("pkg").mkdir()
    Path("pkg/__init__.py").touch()
    Path("pkg/helper.py").write_text(HELPER)
    Path("train.py").write_text(TRAIN)
    commit()


@pytest.mark.parametrize("name", ["pkg/helper.py", "./pkg/../pkg/helper.py", "whole", "link.py"])
def test_a_named_file_alone_is_silenced(name: str, capsys: Output) -> None:
    Path("link.py").symlink_to("pkg/helper.py")
    path = str(Path("pkg/helper.py").absolute()) if name == "whole" else name
    assert main(["check", "-q", path]) == 1
    assert main(["check", "--add-noqa", path]) == 0
    assert capsys.readouterr().out.endswith("Silenced 1 finding in 1 file.\n")
    assert Path("pkg/helper.py").read_text() == HELPER.replace("item()", "item()  # noqa: PPF201")
    assert Path("train.py").read_text() == TRAIN
    assert Path("link.py").is_symlink()
    assert main(["check", path]) == 0


def test_a_comment_is_judged_with_the_context(capsys: Output) -> None:
    Path("pkg/helper.py").write_text(HELPER.replace("item()", "item()  # noqa: PPF201, PPF703"))
    assert main(["check", "pkg/helper.py", "--output-format", "concise", "-q"]) == 1
    assert "PPF002 [*] This `# noqa` names PPF703, which" in capsys.readouterr().out
    assert main(["check", "pkg/helper.py", "--no-context", "-q"]) == 0
    assert main(["check", "pkg/helper.py", "--fix"]) == 0
    assert Path("pkg/helper.py").read_text() == HELPER.replace("item()", "item()  # noqa: PPF201")


def test_a_baseline_of_all_holds_for_one_file(capsys: Output) -> None:
    assert main(["check", "--write-baseline", "-q"]) == 0
    before = Path(FILE).read_text()
    assert {item["path"] for item in json.loads(before)["findings"]} == {"pkg/helper.py", "train.py"}
    for path in ("pkg/helper.py", str(Path("pkg/helper.py").absolute())):
        assert main(["check", path, "--baseline", FILE]) == 0
        assert capsys.readouterr() == ("No findings in 1 file. The baseline hides 1 more.\n", "")
        assert main(["check", path, "--baseline", FILE, "--write-baseline", "-q"]) == 0
        assert Path(FILE).read_text() == before


def test_a_change_of_the_loop_counts_for_a_named_helper(capsys: Output) -> None:
    assert main(["check", "pkg/helper.py", "--changed-since", "HEAD"]) == 0
    Path("train.py").write_text("import os\n\n" + TRAIN.replace("enumerate(loader)", "enumerate(loader, 1)"))
    assert main(["check", "pkg/helper.py", "--changed-since", "HEAD", "-q", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines()[1].startswith("pkg/helper.py:5:12: PPF201 ")


def test_reports_for_programs_go_with_them(capsys: Output) -> None:
    Path("broken.py").write_text("x = (\n")
    assert main(["check", "--add-noqa", "--output-format", "gitlab"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert (item["check_name"], item["location"]["path"]) == ("PPF001", "broken.py")
