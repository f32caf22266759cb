"""``perflint check --add-noqa``: what is found is silenced, in the files and by the rules that people have."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Fix, Level
from perflint.fix.fixer import apply
from perflint.run import engine
from perflint.suppress.noqa import noqa_edits
from perflint.text.source import Source
from tests import corpus
from tests.cli_runs import Output, pipe, write
from tests.support import in_step

pytestmark = pytest.mark.usefixtures("real_workplace")

TRAIN = in_step("total += loss.item()\nprint(loss.item())\n")
SILENT = in_step("total += loss.item()  # noqa: PPF201\nprint(loss.item())  # noqa: PPF202\n")
BROKEN = "x = (\n"


def test_a_comment_through_a_link_out_of_the_project_is_told(tmp_path: Path, capsys: Output) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere.py"
    elsewhere.write_text(TRAIN)
    Path("train.py").symlink_to(elsewhere)
    assert main(["check", "--add-noqa"]) == 0
    assert f"warning: train.py leads out of {tmp_path} through a link: {elsewhere} was" in capsys.readouterr().err
    assert elsewhere.read_text() == SILENT


def test_findings_are_silenced_and_counted(capsys: Output) -> None:
    write(train=TRAIN, other="x = 1\n")
    assert main(["check", "--add-noqa"]) == 0
    assert capsys.readouterr() == ("Silenced 2 findings in 1 of 2 files.\n", "")
    assert (Path("train.py").read_text(), Path("other.py").read_text()) == (SILENT, "x = 1\n")
    assert main(["check"]) == 0
    assert main(["check", "--add-noqa", "-q"]) == 0
    assert capsys.readouterr().out == "No findings in 2 files.\n"
    assert Path("train.py").read_text() == SILENT


@pytest.mark.parametrize("option", ["--add-noqa", "--add-noq"])
def test_a_path_behind_the_option_is_no_reason(option: str) -> None:
    write(train=TRAIN, other=TRAIN)
    assert main(["check", option, "train.py"]) == 0
    assert (Path("train.py").read_text(), Path("other.py").read_text()) == (SILENT, TRAIN)


def test_a_file_may_have_the_name_of_the_option() -> None:
    Path("--add-noqa").mkdir()
    Path("--add-noqa/train.py").write_text(TRAIN)
    assert main(["check", "--add-noqa", "--", "--add-noqa"]) == 0
    assert Path("--add-noqa/train.py").read_text() == SILENT


def test_a_reason_is_written_behind_each_list() -> None:
    write(train=TRAIN)
    assert main(["check", "--add-noqa=old code"]) == 0
    assert Path("train.py").read_text().splitlines()[-2:] == [
        "        total += loss.item()  # noqa: PPF201 - old code",
        "        print(loss.item())  # noqa: PPF202 - old code",
    ]
    assert main(["check"]) == 0


def test_files_that_could_not_be_checked_are_shown_and_left(capsys: Output) -> None:
    write(bad=BROKEN, train=TRAIN)
    Path("binary.py").write_bytes(b"\0")
    assert main(["check", "--add-noqa", "--output-format", "concise"]) == 0
    first, second, closing = capsys.readouterr().out.splitlines()
    assert first.startswith("bad.py:1:5: PPF001 ")
    assert second.startswith("binary.py:1:1: PPF003 ")
    assert closing == "Silenced 2 findings in 1 of 2 files (2 left, which no comment can silence)."
    assert Path("bad.py").read_text() == BROKEN


def test_what_a_string_keeps_from_being_silenced_is_left(capsys: Output) -> None:
    write(train=in_step("print('# noqa: E501', loss.item())\n"))
    assert main(["check", "--add-noqa", "--output-format", "concise"]) == 0
    out = capsys.readouterr().out
    assert "train.py:12:9: PPF202 " in out
    assert out.endswith("Silenced 0 findings in 0 of 1 file (1 left, which no comment can silence).\n")


def test_comments_that_silence_nothing_are_taken_out(capsys: Output) -> None:
    write(train=TRAIN.replace("loss.item()\n", "loss.item()  # noqa: PPF703\n", 1))
    assert main(["check", "--add-noqa"]) == 0
    assert capsys.readouterr().out == "Silenced 2 findings in 1 file (1 unused # noqa removed).\n"
    assert Path("train.py").read_text() == SILENT


def test_diff_shows_the_comments_and_writes_nothing(capsys: Output) -> None:
    write(train=TRAIN)
    assert main(["check", "--add-noqa", "--diff"]) == 1
    out, err = capsys.readouterr()
    assert "+        print(loss.item())  # noqa: PPF202\n" in out
    assert err == "Would silence 2 findings in 1 file.\n"
    assert Path("train.py").read_text() == TRAIN
    write(train=SILENT)
    assert main(["check", "--add-noqa", "--diff"]) == 0


def test_a_reason_that_the_encoding_cannot_hold_is_told(capsys: Output) -> None:
    data = b"# coding: latin-1\n# \xe9\n" + TRAIN.encode()
    Path("train.py").write_bytes(data)
    assert main(["check", "--add-noqa=\u65e7"]) == 2
    err = capsys.readouterr().err
    assert "train.py" in err
    assert "encoding" in err
    assert Path("train.py").read_bytes() == data
    assert main(["check", "--add-noqa=\xe9t\xe9"]) == 0
    assert b"# noqa: PPF201 - \xe9t\xe9\n" in Path("train.py").read_bytes()


def test_a_file_that_cannot_be_written_exits_2(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    write(train=TRAIN)

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("perflint.commands.write_fixes.replace_file", refuse)
    assert main(["check", "--add-noqa", "--output-format", "concise"]) == 2
    out, err = capsys.readouterr()
    assert "train.py was left unchanged" in err
    assert out.endswith("Silenced 0 findings in 0 of 1 file (2 left).\n")


def test_standard_input_comes_out_silenced(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pipe(monkeypatch, TRAIN.encode())
    assert main(["check", "--add-noqa", "--stdin-filename", "train.py"]) == 0
    assert capfdbinary.readouterr() == (SILENT.encode(), b"Silenced 2 findings in 1 file.\n")


@pytest.mark.parametrize("other", ["--fix", "--watch"])
def test_it_does_not_go_with_every_option(other: str, capsys: Output) -> None:
    write(train=TRAIN)
    assert main(["check", "--add-noqa", other]) == 2
    err = capsys.readouterr().err
    assert "--add-noqa" in err
    assert other in err
    assert Path("train.py").read_text() == TRAIN


def test_real_code_is_silent_behind_it_and_every_comment_is_of_use() -> None:
    settings = Settings(join_lines=False, select=("ALL",), whole_project=True)
    sources = {path: source for path, source in corpus.sources().items() if path.startswith("paddleseg")}
    start = "paddleseg-2.8.0/train.py"  # the wheel has no program, without which nothing trains with the code
    sources[start] = Source(
        start, "from paddleseg.core import train\n\nif __name__ == '__main__':\n    train(net, data)\n"
    )
    found = engine.check(sources, settings)
    assert len(found) > 10
    after = dict(sources)
    for path in {finding.path for finding in found}:
        edits = noqa_edits(sources[path], [finding for finding in found if finding.path == path])
        text = apply(sources[path].text, [Fix("", (edit,), Level.SAFE) for edit in edits]).text
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(sources[path].text))
        after[path] = replace(sources[path], text=text)
    assert engine.check(after, settings) == []

    path = "paddleseg-2.8.0/paddleseg/core/train.py"
    line = "            avg_loss += float(loss)  # noqa: PPF201\n"
    assert after[path].text.count(line) == 1
    after[path] = replace(after[path], text=after[path].text.replace("avg_loss += float(loss)", "avg_loss += 0.0"))
    (left,) = engine.check(after, settings)
    assert (left.code, left.path) == ("PPF002", path)
    assert after[path].lines.line(after[path].lines.position(left.start)[0]) == line.rstrip().replace(
        "float(loss)", "0.0"
    )
