"""What is written stays in the project, unless the command line names another place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.files.plain_files import outside, project_around
from tests.cli_runs import Output, write
from tests.test_leftovers import TORN, killed

pytestmark = [
    pytest.mark.usefixtures("cli_workplace"),
    pytest.mark.skipif(os.name != "posix", reason="links of POSIX"),
]


@pytest.fixture
def elsewhere(tmp_path: Path, cli_workplace: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory outside of the repository that the tests run in."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / ".git").mkdir()
    monkeypatch.chdir(repository)
    write(a="SAFE\n")
    other = tmp_path / "elsewhere"
    other.mkdir()
    return other


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# --- baselines


@pytest.mark.parametrize(
    "name", ["../elsewhere/x", "../elsewhere/gone/x", "known.json", "sub/known.json", ".git/hooks/x"]
)
def test_a_baseline_that_the_configuration_names_is_written_in_the_project_alone(
    elsewhere: Path, capsys: Output, name: str
) -> None:
    Path("perflint.toml").write_text(f'baseline = "{name}"\n')
    Path("known.json").symlink_to("../elsewhere/x")
    Path("sub").symlink_to("../elsewhere")
    Path(".git/hooks").mkdir()
    assert main(["check", "--write-baseline"]) == 2
    error = capsys.readouterr().err
    assert "nothing was written" in error
    assert "perflint.toml" in error
    assert "--write-baseline=FILE" in error
    assert names(elsewhere) == names(Path(".git/hooks")) == []


def test_the_usual_name_that_leads_out_is_not_followed(elsewhere: Path, capsys: Output) -> None:
    Path("perflint-baseline.json").symlink_to("../elsewhere/x")
    (elsewhere / "x").touch()
    assert main(["check", "--write-baseline"]) == 2
    assert "outside of" in capsys.readouterr().err
    assert (elsewhere / "x").read_bytes() == b""
    assert main(["check", "--write-baseline", "--no-baseline"]) == 2


@pytest.mark.parametrize("arguments", [["--write-baseline=known.json"], ["--write-baseline", "--baseline=known.json"]])
def test_what_the_command_line_names_is_written(elsewhere: Path, arguments: list[str]) -> None:
    Path("known.json").symlink_to("../elsewhere/x")
    assert main(["check", *arguments]) == 0
    assert Path("known.json").is_symlink()
    assert len(json.loads((elsewhere / "x").read_text())["findings"]) == 1


def test_a_baseline_elsewhere_in_the_repository_is_the_project_s_own(elsewhere: Path) -> None:
    Path("sub").mkdir()
    Path("sub/perflint.toml").write_text('baseline = "../known.json"\n')
    Path("sub/a.py").write_text("SAFE\n")
    assert main(["check", "sub", "--write-baseline"]) == 0
    assert Path("known.json").exists()


def test_a_baseline_has_the_mode_of_other_files_and_keeps_its_own(elsewhere: Path) -> None:
    before = os.umask(0o022)
    try:
        assert main(["check", "--write-baseline"]) == 0
    finally:
        os.umask(before)
    path = Path("perflint-baseline.json")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o660)
    assert main(["check", "--write-baseline"]) == 0
    assert path.stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero"), os.mkdir])
def test_what_is_no_file_is_no_baseline(elsewhere: Path, capsys: Output, make: object) -> None:
    assert callable(make)
    make("known.json")
    for option in ("--baseline=known.json", "--write-baseline=known.json"):
        assert main(["check", option]) == 2
        assert "known.json" in capsys.readouterr().err
    Path("perflint.toml").write_text('baseline = "known.json"\n')
    assert main(["check"]) == 2


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd")
def test_a_baseline_may_come_from_a_shell(elsewhere: Path) -> None:
    assert main(["check", "--write-baseline=known.json"]) == 0
    reading, writing = os.pipe()
    os.write(writing, Path("known.json").read_bytes())
    os.close(writing)
    assert main(["check", f"--baseline=/dev/fd/{reading}"]) == 0
    os.close(reading)


# --- reports


@pytest.mark.parametrize("option", ["--output-file", "--output", "--json", "--html"])
@pytest.mark.parametrize("place", ["report", "sub/report"])
def test_a_report_follows_no_link_out_of_the_project(elsewhere: Path, capsys: Output, option: str, place: str) -> None:
    Path("report").symlink_to("../elsewhere/report")
    Path("sub").symlink_to("../elsewhere")
    (elsewhere / "report").write_text("precious")
    value = f"json:{place}" if option == "--output" else place
    command = ["check"] if "output" in option else ["bench", "a.py"]
    assert main([*command, f"{option}={value}"]) == 2
    error = capsys.readouterr().err
    assert f"{elsewhere / 'report'} itself" in error
    assert (elsewhere / "report").read_text() == "precious"
    assert main(["check", f"--output-file={elsewhere / 'report'}"]) == 1
    assert "PPF201" in (elsewhere / "report").read_text()


def test_a_link_within_the_project_is_followed(elsewhere: Path) -> None:
    Path("reports").mkdir()
    Path("report").symlink_to("reports/report")
    assert main(["check", "--output-file=report"]) == 1
    assert "PPF201" in Path("reports/report").read_text()


def test_where_a_project_ends(elsewhere: Path) -> None:
    here = Path.cwd()
    Path("sub").mkdir()
    assert project_around(Path("sub/report")) == here
    assert project_around(Path("../elsewhere/report")) == elsewhere
    (elsewhere / ".git").touch()
    (elsewhere / "a").mkdir()
    assert project_around(elsewhere / "a" / "report") == elsewhere
    assert outside(Path("sub/../../elsewhere"), here) == elsewhere
    assert outside(Path("sub"), here) is None


# --- fixes


def test_a_fix_through_a_link_out_of_the_project_is_told(elsewhere: Path, capsys: Output) -> None:
    (elsewhere / "b.py").write_text("SAFE\n")
    Path("link.py").symlink_to("../elsewhere/b.py")
    Path("near.py").symlink_to("c.txt")
    Path("c.txt").write_text("SAFE\n")
    main(["check", "--fix"])
    error = capsys.readouterr().err
    assert f"warning: link.py leads out of {Path.cwd()} through a link: {elsewhere / 'b.py'} was changed" in error
    assert "near.py" not in error
    assert Path("link.py").is_symlink()
    assert (elsewhere / "b.py").read_text() != "SAFE\n"


def test_a_fix_keeps_hard_links(elsewhere: Path) -> None:
    Path("a.py").unlink()
    (elsewhere / "c.py").write_text("SAFE\n")
    Path("a.py").hardlink_to(elsewhere / "c.py")
    Path("twin.py").hardlink_to("a.py")
    assert main(["check", "--fix"]) == 0
    assert Path("a.py").read_text() == Path("twin.py").read_text() == (elsewhere / "c.py").read_text() == "sum\n"
    assert Path("a.py").stat().st_nlink == 3
    assert names(Path()) == [".git", "a.py", "twin.py"]


@pytest.mark.parametrize("paths", [[], ["first.py"]])
def test_a_killed_fix_of_a_file_with_several_names_is_finished_before_the_next_check(
    elsewhere: Path, capsys: Output, paths: list[str]
) -> None:
    Path("a.py").rename("first.py")
    Path("second.py").hardlink_to("first.py")
    Path("first.py").write_text("SAFE\n" * 3_000)
    new = b"sum\n" * 3_000
    killed(TORN.format(part=4_096, new=new), Path.cwd())
    assert main(["check", *paths]) == 0
    assert "note: first.py: a run that was killed had left fixes half written" in capsys.readouterr().err
    assert Path("second.py").read_bytes() == new
    assert names(Path()) == [".git", "first.py", "second.py"]
