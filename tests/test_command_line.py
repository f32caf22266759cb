"""What a person may type who comes from another linter, or slips."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main

Output = pytest.CaptureFixture[str]
READS = """\
import paddle

model = paddle.vision.models.resnet18()
optimizer = paddle.optimizer.SGD(parameters=model.parameters())
losses = []
for x, y in loader:
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(loss.numpy())
    paddle.device.synchronize()
print(sum(losses))
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one script that has findings, and a library with one of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(READS, encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "old.py").write_text(READS, encoding="utf-8")
    return tmp_path


def printed(capsys: Output, *arguments: str) -> tuple[int, str, str]:
    """Exit status, and what was written to standard output and standard error."""
    status = main(arguments)
    return status, *capsys.readouterr()


@pytest.mark.parametrize("arguments", [["train.py"], ["-q", "train.py"], ["lib"], ["./train.py", "--quiet"]])
def test_a_path_alone_means_check(arguments: list[str], capsys: Output) -> None:
    given = printed(capsys, *arguments)
    assert given == printed(capsys, "check", *arguments)
    assert given[0] == 1


def test_explain_means_rule(capsys: Output) -> None:
    given = printed(capsys, "explain", "PPF201")
    assert given == printed(capsys, "rule", "PPF201")
    assert given[0] == 0


def test_what_other_tools_call_it(capsys: Output) -> None:
    assert printed(capsys, "rules") == printed(capsys, "rule")
    assert printed(capsys, "rule", "201") == printed(capsys, "rule", "PPF201")
    for arguments in (["help"], ["help", "bench"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(" ".join(["usage: perflint", *arguments[1:]]))


@pytest.mark.parametrize("option", ["--preview", "--disable-noqa"])
def test_no_guess_is_better_than_a_wrong_one(option: str, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["check", option])
    assert capsys.readouterr().err.endswith(f"there is no option {option}\n")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("chek", "did you mean check?"), ("rul", "did you mean rule?"), ("zzz", "the commands are bench, check, ")],
)
def test_a_word_that_is_no_command_gets_the_nearest(word: str, hint: str, capsys: Output) -> None:
    status, out, err = printed(capsys, word)
    assert (status, out) == (2, "")
    assert f"'{word}' is neither a command nor a file or directory: {hint}" in err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["check", "--show-fixes"], "there is no option --show-fixes: --fix lists what it fixed"),
        (["check", "--slect", "PPF2"], "there is no option --slect: did you mean --select?"),
        (["check", "--min-impct=low"], "there is no option --min-impct: did you mean --min-impact?"),
        (["bench", "train.py", "--step", "2", "--rond", "3"], "there is no option --rond: did you mean --rounds?"),
        (["check", "--zzz"], "there is no option --zzz\n"),
    ],
)
def test_an_option_that_is_not_there_gets_the_nearest(arguments: list[str], hint: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert hint in capsys.readouterr().err


def test_exclude_and_extend_exclude(project: Path, capsys: Output) -> None:
    (project / "perflint.toml").write_text('extend-exclude = ["train.py"]\n', encoding="utf-8")
    files = [line.strip() for line in printed(capsys, "check", "--show-files")[1].splitlines()]
    assert files == ["lib/old.py"]
    status, out, err = printed(capsys, "check", "--show-files", "--extend-exclude", "lib")
    assert (status, out) == (2, "")
    assert "no Python files" in err
    (project / "perflint.toml").write_text('exclude = ["train.py"]\n', encoding="utf-8")
    assert printed(capsys, "check", "--show-files", "--exclude", "lib,other")[1] == "train.py\n"


def test_show_files_checks_none(project: Path, capsys: Output) -> None:
    (project / "broken.py").write_text("def f(:\n", encoding="utf-8")
    assert printed(capsys, "--show-files") == (0, "broken.py\nlib/old.py\ntrain.py\n", "")


def test_fix_only_leaves_out_what_remains(project: Path, capsys: Output) -> None:
    path = project / "train.py"
    path.write_text(READS + "import os  # noqa: PPF201\n")
    arguments = ["check", "--extend-select", "PPF002", ".", "--fix-only"]
    status, out, _ = printed(capsys, *arguments)
    assert status == 0
    assert "PPF201" not in out
    assert "noqa" not in path.read_text(encoding="utf-8")
    assert printed(capsys, *arguments[:-1])[0] == 1


def test_exit_non_zero_on_fix(capsys: Output) -> None:
    arguments = ["check", "--select", "PPF201", "--fix", "--unsafe-fixes", "train.py"]
    assert printed(capsys, *arguments, "--exit-non-zero-on-fix")[0] == 1
    assert printed(capsys, *arguments, "--exit-non-zero-on-fix")[0] == 0
    assert printed(capsys, *[*arguments[:-1], "lib/old.py"])[0] == 0
