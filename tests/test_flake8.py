"""The flake8 plugin, run by flake8: it reports what ``perflint check`` reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.cli import main
from tests import corpus
from tests.flake8_runs import Place, Told, rows, run_flake8, run_flake8_here, run_perflint

TRAIN = """\
import paddle
from sub.helpers import note


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        note(loss)
"""
HELPERS = """\
def note(loss):
    return loss.item()
"""
HOT = "helpers.py:2 PPF201"
CALL = "train.py:11 PPF201"


Flake8 = Callable[..., Told]


@pytest.fixture
def flake8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Flake8:
    """Runs flake8 in this process, without others."""
    return partial(run_flake8_here, scratch=tmp_path / "plugin", capsys=capsys)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A step loop and a helper without the word paddle that it makes hot, in the current directory."""
    place = tmp_path / "project"
    (place / "sub").mkdir(parents=True)
    (place / "train.py").write_text(TRAIN)
    (place / "sub" / "helpers.py").write_text(HELPERS)
    monkeypatch.chdir(place)
    return place


# --- all that perflint finds


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Place]]:
    """The bad examples of all rules, each in a directory of its own, and what perflint reports there."""
    place = tmp_path_factory.mktemp("examples")
    (place / "perflint.toml").write_text('select = ["ALL"]\nmin-confidence = "low"\nmin-impact = "low"\n')
    for rule in catalogue.shipped().values():
        for number, example in enumerate(rule.examples):
            if example.bad is not None:
                directory = place / f"{rule.code.lower()}_{number}"
                directory.mkdir()
                (directory / "code.py").write_text(example.bad)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        # The example of a file that does not parse is for flake8 to report.
        return place, [item for item in run_perflint(".") if item[3] != "PPF001"]


@pytest.mark.parametrize("how", ["-j1", pytest.param("-j2", marks=pytest.mark.slow), "spawn"])
def test_all_rules_speak_as_they_do_on_the_command_line(
    how: str, examples: tuple[Path, list[Place]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, expected = examples
    assert {code for *_, code, _ in expected} == set(catalogue.shipped()) - {"PPF001", "PPF003"}
    monkeypatch.chdir(place)
    told = run_flake8("--select=PPF", "-j2" if how == "spawn" else how, ".", scratch=tmp_path, spawn=how == "spawn")
    assert told.errors == ""
    assert told.places == expected
    assert told.status == 1


def test_real_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.sources()
    monkeypatch.chdir(corpus.DIRECTORY / "paddledet-2.6.0" / "ppdet")
    paths = ["engine", "utils", "modeling/architectures", "modeling/losses/ssd_loss.py"]
    expected = run_perflint("--select", "ALL", *paths)
    assert {"PPF207", "PPF601"} <= {code for *_, code, _ in expected}
    told = run_flake8("--select=PPF", "--ppf-select=ALL", "-j2", *paths, scratch=tmp_path)
    assert (told.places, told.errors) == (expected, "")


ODD = {
    "cjk": 'x = "\u635f\u5931"; loss.item()',
    "wide": '\u635f\u5931 = ["\U0001f600"]; loss.item()',
    "tabs": 'x = "\t\t"; loss.item()',
    "form_feed": 'x = "\\f"\n\x0c\n        loss.item()',
    "several_rows": "print(\n            x,\n            loss.item(),\n        )",
    "odd_line_ends": 'x = "\u2028\x85"; loss.item()',
}


@pytest.mark.parametrize("layout", ["\n", "\r\n", "BOM", "GBK"])
def test_columns_and_rows(layout: str, project: Path, flake8: Flake8) -> None:
    for name, text in ODD.items():
        code = TRAIN.replace("note(loss)", text)
        if layout == "GBK":
            data = b"# coding: gbk\n" + code.encode("gbk", "ignore")
        else:
            data = code.replace("\n", layout).encode() if layout != "BOM" else b"\xef\xbb\xbf" + code.encode()
        (project / f"{name}.py").write_bytes(data)
    expected = run_perflint("--select=PPF2", ".")
    assert {Path(path).stem for path, *_ in expected} >= ODD.keys()
    assert flake8("--select=PPF", "--ppf-select=PPF2", ".").places == expected


# --- which files are read together


def test_a_file_alone(project: Path, flake8: Flake8) -> None:
    """What it imports is read with it, and what calls it is not."""
    assert rows(flake8("--select=PPF", "train.py").places) == [CALL]
    assert rows(flake8("--select=PPF", "sub/helpers.py").places) == []


def test_without_paths_the_current_directory_is_checked(project: Path, flake8: Flake8) -> None:
    assert rows(flake8("--select=PPF").places) == [HOT, CALL]


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_several_files_are_one_run(jobs: str, project: Path, tmp_path: Path) -> None:
    assert rows(run_perflint(".")) == [HOT, CALL]
    for paths in (["."], ["./train.py", str(project / "sub/helpers.py")]):
        assert rows(run_flake8("--select=PPF", jobs, *paths, scratch=tmp_path).places) == [HOT, CALL], paths


def test_what_flake8_excludes_is_read_and_not_reported(project: Path, flake8: Flake8) -> None:
    assert rows(flake8("--select=PPF", "--exclude=train.py", ".").places) == [HOT]


def test_what_perflint_excludes_is_not_reported(project: Path, flake8: Flake8) -> None:
    (project / "perflint.toml").write_text('extend-exclude = ["sub"]\n')
    assert run_perflint(".") == []
    assert flake8("--select=PPF", ".").places == []


def test_the_context_of_the_configuration_and_of_the_option(project: Path, tmp_path: Path) -> None:
    assert rows(run_flake8("--select=PPF", "--ppf-context=.", "sub/helpers.py", scratch=tmp_path).places) == [HOT]
    (project / "perflint.toml").write_text('context = ["."]\n')
    assert rows(run_flake8("--select=PPF", "sub/helpers.py", scratch=tmp_path).places) == [HOT]
    assert rows(run_flake8("--select=PPF", "-j2", "train.py", "sub/helpers.py", scratch=tmp_path).places) == [HOT, CALL]


def test_paths_that_do_not_exist_are_for_flake8_to_report(project: Path, flake8: Flake8) -> None:
    told = flake8("--select=PPF,E9", "train.py", "sub", "gone.py")
    assert rows(told.places) == ["gone.py:0 E902", HOT, CALL]


def test_a_file_that_is_no_text(project: Path, flake8: Flake8) -> None:
    (project / "alone").mkdir()
    (project / "alone/odd.py").write_bytes(b"x = '\xff'\n")
    expected = run_perflint("alone/odd.py")
    assert rows(expected) == ["odd.py:1 PPF003"]
    assert flake8("--select=PPF", "alone/odd.py").places == expected


# --- standard input


def test_standard_input(project: Path, tmp_path: Path) -> None:
    code = TRAIN.replace("note(loss)", 'x = "\u635f\u5931"; loss.item()').replace("\n", "\r\n").encode()
    nameless = run_flake8("--select=PPF", "-", scratch=tmp_path, piped=code)
    assert [(row, column, code) for _, row, column, code, _ in nameless.places] == [(11, 19, "PPF201")]
    named = run_flake8("--select=PPF", "--stdin-display-name", "train.py", "-", scratch=tmp_path, piped=code)
    assert named.places == run_perflint("-", "--stdin-filename", "train.py", piped=code)
    assert len(named.places) == 1


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"# coding: gbk\n"])
def test_standard_input_in_other_encodings(head: bytes, project: Path, tmp_path: Path) -> None:
    text = TRAIN.replace("note(loss)", 'x = "\u635f\u5931"; loss.item()')
    piped = head + text.encode("gbk" if b"gbk" in head else "utf-8")
    expected = run_perflint("-", "--stdin-filename", "train.py", piped=piped)
    assert [column for _, _, column, *_ in expected] == [19]
    arguments = ("--select=PPF", "--stdin-display-name=train.py", "-")
    assert run_flake8(*arguments, scratch=tmp_path, piped=piped).places == expected


def test_standard_input_in_its_context(project: Path, tmp_path: Path) -> None:
    (project / "perflint.toml").write_text('context = ["."]\n')
    piped = b"# a line that is not saved yet\n" + HELPERS.encode()
    told = run_flake8("--select=PPF", "--stdin-display-name=sub/helpers.py", "-", scratch=tmp_path, piped=piped)
    assert rows(told.places) == ["helpers.py:3 PPF201"]


# --- what only flake8 has


def test_a_file_that_does_not_parse_is_for_flake8_to_report(project: Path, tmp_path: Path) -> None:
    (project / "broken.py").write_text("import paddle\ndef (\n")
    told = run_flake8("--select=PPF,E9", "-j2", ".", scratch=tmp_path)
    assert rows(told.places) == ["broken.py:2 E999", HOT, CALL]
    assert rows(run_flake8("--select=PPF", "broken.py", scratch=tmp_path).places) == []


NOQA = {
    "  # noqa": False,
    "  # noqa: PPF201": False,
    "  # noqa:PPF101,PPF201": False,
    "  # noqa: PPF2": False,
    "  # NOQA : PPF101": False,  # flake8 takes it for one that speaks of all
    "  # noqa: PPF202": True,
    "  # noqa: ppf201": True,
    "  # NOQA:PPF201": False,
}


def test_comments_silence_as_they_do_on_the_command_line(project: Path, flake8: Flake8) -> None:
    (project / "perflint.toml").write_text('join-lines = false\nmin-impact = "low"\n')  # the silenced waits stay
    body = "".join(f"        x{number} = loss.item(){comment}\n" for number, comment in enumerate(NOQA))
    many = "        x = loss.item(\n        )  # noqa: PPF201\n"
    (project / "train.py").write_text(TRAIN.replace("        note(loss)\n", body + many))
    left = [f"train.py:{row} PPF201" for row, stays in enumerate(NOQA.values(), 11) if stays]
    assert rows(run_perflint("train.py")) == left
    assert rows(flake8("--select=PPF", "train.py").places) == left
    everything = [f"train.py:{row} PPF201" for row in range(11, 11 + len(NOQA) + 1)]
    assert rows(flake8("--select=PPF", "--disable-noqa", "train.py").places) == everything


def test_codes_that_silence_nothing(project: Path, flake8: Flake8) -> None:
    for path in (project / "train.py", project / "sub/helpers.py"):
        path.write_text("x = 1  # noqa: PPF201\n")
    (project / "README.md").touch()  # this is the whole project
    assert rows(run_perflint(".")) == ["helpers.py:1 PPF002", "train.py:1 PPF002"]
    assert flake8("--select=PPF", ".").places == run_perflint(".")


def test_what_a_baseline_lists_is_left_out(project: Path, flake8: Flake8) -> None:
    (project / "perflint.toml").write_text('baseline = "known.json"\n')
    assert main(["check", "--write-baseline=known.json", "sub", "train.py"]) == 0
    (project / "more.py").write_text(TRAIN)
    expected = run_perflint(".")
    assert rows(expected) == ["more.py:11 PPF201"]
    assert flake8("--select=PPF", ".").places == expected


def test_lines_for_a_whole_file(project: Path, flake8: Flake8) -> None:
    for comment in ("# flake8: noqa", "# flake8: noqa: PPF201", "# perflint: skip-file"):
        (project / "sub/helpers.py").write_text(f"{comment}\n{HELPERS}")
        assert rows(flake8("--select=PPF", ".").places) == [CALL], comment
