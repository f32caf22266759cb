"""``perflint bench`` around a training: what it runs, shows and leaves behind; Paddle is made up, so this is quick."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perflint.bench.results import BenchReport

ROOT = Path(__file__).resolve().parents[1]
PATH = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "bench_paddle")))
SCRIPT = """\
import paddle

loader = paddle.io.DataLoader(range(100), batch_size=5)
optimizer = paddle.optimizer.SGD()
total = 0.0
for (batch,) in loader:
    loss = paddle.mean(batch)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    total += loss.item()
"""
LOOP = SCRIPT[SCRIPT.index("for ") :]
QUICK = ("--steps", "6", "--warmup", "2", "--rounds", "3")


def bench(directory: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PATH, **variables}
    command = [sys.executable, "-m", "perflint", "bench", *QUICK, *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def project(directory: Path, **files: str) -> Path:
    """A directory of Python files; ``a__b`` is ``a/b.py``."""
    for name, text in files.items():
        path = directory / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def measured(directory: Path, *arguments: str) -> BenchReport:
    """The report of a run that must succeed."""
    file = directory.parent / "report.json"
    found = bench(directory, *arguments, "--json", str(file))
    assert found.returncode == 0, found.stderr
    return BenchReport.from_json(json.loads(file.read_text()))


def failed(directory: Path, *arguments: str) -> str:
    """What is said by a run that must fail, and not by a bug."""
    found = bench(directory, *arguments)
    assert found.returncode == 2, found.stdout
    assert "internal error" not in found.stderr
    return found.stderr


def names(report: BenchReport) -> list[str]:
    return [variant.name for variant in report.variants]


def test_steps_samples_and_losses_of_each_run(tmp_path: Path) -> None:
    report = measured(project(tmp_path / "p", train=SCRIPT), "train.py")
    assert names(report) == ["before", "all fixes"]
    assert (report.variants[1].codes, report.variants[1].places) == (["PPF201"], ["train.py:11"])
    assert (report.rounds, report.warmup, report.steps) == (3, 2, 6)
    for run in (run for variant in report.variants for run in variant.runs):
        assert run.samples == [5] * 6
        assert run.losses == [12.0, 17.0, 22.0, 27.0, 32.0, 37.0]  # means of 10 to 14, and so on: two were the warm-up
        assert all(0 <= reader <= batch for reader, batch in zip(run.reader_s, run.batch_s, strict=True))
    assert report.comparisons[0].same_losses is True
    assert report.versions["paddle"] == "0.0, made up for tests"
    assert report.notes == []


def test_a_gpu_is_waited_for_twice_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first and after the last measured step; each further wait would be what some fixes take away."""
    waits = tmp_path / "waits"
    monkeypatch.setenv("WAITS", str(waits))
    report = measured(project(tmp_path / "p", train=SCRIPT), "train.py")
    assert report.machine.startswith("a made-up card, ")
    assert {(run.device, run.peak_memory_mib) for variant in report.variants for run in variant.runs} == {
        ("gpu:0", 300)
    }
    assert len(waits.read_text()) == 2 * (1 + 6)  # of the first run, and of three rounds of two


def test_the_tree_stays_as_it_is(tmp_path: Path) -> None:
    """The script changes files of its project and writes new ones; each run finds what the user has."""
    writes = """
import sys
from pathlib import Path

assert sys.argv[1:] == ["--name", "out.txt"]
assert not Path("out.txt").exists()
Path(sys.argv[2]).write_text("x")
assert Path("data/log.txt").read_text() == "old"
with open("data/log.txt", "a") as file:
    file.write("new")
"""
    directory = project(tmp_path / "p", train=writes + SCRIPT)
    (directory / "data").mkdir()
    (directory / "data" / "log.txt").write_text("old")
    before = tree(directory)
    found = bench(directory, "train.py", "--html", "../page.html", "--", "--name", "out.txt")
    assert found.returncode == 0, found.stderr
    assert f"RUNS train.py, in copies of {directory}" in found.stderr
    assert "run 6 of 6: " in found.stderr
    assert "all fixes" in found.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert tree(directory) == before


@pytest.mark.parametrize("file", ["data.bin", "out/data.bin"])
def test_what_is_linked_is_not_written(tmp_path: Path, file: str) -> None:
    """In a project that is too large to be copied; by the whole path it is refused, as it would reach the original."""
    directory = project(tmp_path / "p", train=f"with open({file!r}, 'ab') as out:\n    out.write(b'x')\n" + SCRIPT)
    (directory / "out").mkdir()
    for name in ("data.bin", "out/data.bin"):
        with (directory / name).open("wb") as out:
            out.truncate(200 << 20)  # takes no room: nothing is written
    start = (directory / file).stat()
    assert measured(directory, "train.py").notes == [
        "Linked into the copies rather than copied: data.bin, out/data.bin."
    ]
    assert (directory / file).stat().st_size == start.st_size
    project(directory, train=f"open({str(directory / file)!r}, 'ab')\n" + SCRIPT)
    assert f"perflint bench keeps {directory / file} as it is" in failed(directory, "train.py")


def test_fixes_are_made_where_the_script_runs(tmp_path: Path) -> None:
    train = "def train():\n" + "".join(f"    {row}\n" for row in SCRIPT.splitlines())
    directory = project(tmp_path / "p", main="import lib.loop\n\nlib.loop.train()\n", lib__loop=train, unused=SCRIPT)
    report = measured(directory, "main.py", "--unsafe-fixes")
    assert names(report) == ["before", "PPF101 lib/loop.py:4", "PPF201 lib/loop.py:12", "all fixes"]
    assert report.notes == ["2 more fixes are in files that the script does not run."]
    assert names(measured(directory, "main.py", "--unsafe-fixes", "--by", "all")) == ["before", "all fixes"]
    assert names(measured(directory, "main.py", "--unsafe-fixes", "--ignore", "PPF101")) == ["before", "all fixes"]
    assert measured(directory, "main.py", "--select", "PPF201").variants[1].codes == ["PPF201"]


def test_many_fixes_are_measured_by_rule(tmp_path: Path) -> None:
    directory = project(tmp_path / "p", train=SCRIPT + LOOP * 7)
    report = measured(directory, "train.py", "--unsafe-fixes")
    assert names(report) == ["before", "PPF101", "PPF201", "all fixes"]
    assert report.notes == ["9 fixes are measured by rule; --by fix measures each."]


def test_a_short_script_is_compared_over_what_it_does(tmp_path: Path) -> None:
    report = measured(project(tmp_path / "p", train=SCRIPT.replace("100", "20")), "train.py")
    assert report.notes == ["The script made 2 of the 6 steps to be measured."]


def test_what_comes_after_the_steps_is_not_run(tmp_path: Path) -> None:
    assert measured(project(tmp_path / "p", train=SCRIPT + "raise RuntimeError\n"), "train.py")


def shuffled(how: str) -> str:
    """The script with its data in another order."""
    return f"import os\nimport random\n\ndata = list(range(100))\n{how}\n" + SCRIPT.replace("range(100)", "data")


def test_a_script_that_draws_anew_is_not_blamed_on_the_fix(tmp_path: Path) -> None:
    script = shuffled("random.Random(os.urandom(8)).shuffle(data)")
    report = measured(project(tmp_path / "p", train=script), "train.py")
    assert report.comparisons[0].same_losses is None
    (note,) = report.notes
    assert note.startswith("The script gives other losses each time it runs, so a fix cannot be told to change them: ")
    assert re.search(r"as it is they differ by up to [\d.]+ of the loss between runs, and with fixes by up to ", note)


def test_the_seeds_are_fixed_unless_somebody_minds(tmp_path: Path) -> None:
    directory = project(tmp_path / "p", train=shuffled("import paddle\nrandom.shuffle(data)"))
    assert measured(directory, "train.py").comparisons[0].same_losses is True
    assert measured(directory, "train.py", "--no-seed").comparisons[0].same_losses is None


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("import paddle\nraise RuntimeError('no data at /x')\n" + SCRIPT, (), "RuntimeError: no data at /x"),
        (SCRIPT, ("--warmup", "30"), "made no step after the 30 of the warm-up"),
        (SCRIPT, ("--warmup", "30"), "seen were 20 optimizer steps, 20 batches, 20 calls of backward"),
        ("if False:\n" + "".join(f"    {row}\n" for row in SCRIPT.splitlines()), (), "never imported paddle"),
        ("print(1)\n", (), "nothing to compare: no fix applies"),
        (SCRIPT, ("--python", "/no/such/python"), "could not be run"),
        (SCRIPT, ("--json", "/no/such/folder/report.json"), "/no/such/folder/report.json cannot be written"),
        (SCRIPT, ("--rounds", "2"), "2 is too small: at least 3"),
    ],
)
def test_what_cannot_be_measured_is_said(tmp_path: Path, text: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in failed(project(tmp_path / "p", train=text), "train.py", *arguments)


REFUSES = "if {words!r} in open(__file__).read()[140:]:\n    raise RuntimeError('changed')\n"
"""The script refuses what a fix makes of it."""


def test_a_file_that_cannot_be_written_is_noticed_before_anything_runs(tmp_path: Path) -> None:
    said = failed(project(tmp_path / "p", train=SCRIPT), "train.py", "--html", "/no/such/folder/page.html")
    assert "/no/such/folder is no directory" in said
    assert "RUNS" not in said


def test_what_was_measured_is_shown_also_where_it_cannot_be_kept(tmp_path: Path) -> None:
    found = bench(project(tmp_path / "p", train=SCRIPT), "train.py", "--json", str(tmp_path))
    assert found.returncode == 2
    assert f"{tmp_path} cannot be written" in found.stderr
    assert "all fixes" in found.stdout


def test_a_fix_that_fails_is_named(tmp_path: Path) -> None:
    said = failed(project(tmp_path / "p", train=REFUSES.format(words=".detach()") + SCRIPT), "train.py")
    assert "perflint: with all fixes: train.py failed (exit status 1): RuntimeError: changed\n" in said


def test_what_fails_keeps_the_others_from_nothing(tmp_path: Path) -> None:
    """Only the first of two loops may be fixed; the other one fails, alone and with all."""
    script = REFUSES.format(words="again += loss.detach()") + SCRIPT.replace("total = 0.0", "total = again = 0.0")
    report = measured(project(tmp_path / "p", train=script + LOOP.replace("total", "again")), "train.py")
    assert names(report) == ["before", "PPF201 train.py:13"]
    assert [item.variant for item in report.comparisons] == ["PPF201 train.py:13"]
    assert report.notes == [
        f"Left out: with {name}: train.py failed (exit status 1): RuntimeError: changed"
        for name in ("PPF201 train.py:19", "all fixes")
    ]


def test_the_fix_of_two_reads_of_a_loop_is_measured_once(tmp_path: Path) -> None:
    script = SCRIPT.replace("total = 0.0", "total = again = 0.0") + "    again += loss.item()\n" + LOOP
    report = measured(project(tmp_path / "p", train=script), "train.py")
    assert names(report) == ["before", "PPF201 train.py:11, train.py:12", "PPF201 train.py:18", "all fixes"]


def test_an_interpreter_without_paddle(tmp_path: Path) -> None:
    (tmp_path / "paddle.py").write_text("raise ModuleNotFoundError(\"No module named 'paddle'\", name='paddle')\n")
    found = bench(project(tmp_path / "p", train=SCRIPT), "train.py", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert f"{sys.executable} has no Paddle: name the interpreter that trains with --python" in found.stderr


def test_the_time_limit(tmp_path: Path) -> None:
    slow = SCRIPT.replace("    loss.backward()\n", "    loss.backward()\n    time.sleep(1)\n")
    directory = project(tmp_path / "p", train="import time\n" + slow)
    said = failed(directory, "train.py", "--time-limit", "3")
    assert "of 8 steps at the time limit; allow more with --time-limit" in said


def test_the_rounds_before_the_time_limit_count(tmp_path: Path) -> None:
    """After the third round a run takes for ever; the marker stands outside of the project."""
    count = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
    hangs = f"if len(open({str(tmp_path / 'runs')!r}).read()) > 8:\n    import time; time.sleep(1000)\n"
    report = measured(
        project(tmp_path / "p", train=count + hangs + SCRIPT), "train.py", *("--rounds", "9", "--time-limit", "10")
    )
    assert report.rounds == 3
    assert report.notes == ["The time limit came after 3 of 9 rounds: those are compared."]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    mark, temporary = tmp_path / "pid", tmp_path / "tmp"
    temporary.mkdir()
    writes = f"open({str(mark)!r}, 'w').write(str(os.getpid()))"
    begin = f"import os, tempfile, time\ntempfile.mkdtemp()\n{writes}\ntime.sleep(100)\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "perflint", "bench", "train.py"],
        cwd=project(tmp_path / "p", train=begin + SCRIPT),
        env={**os.environ, "PYTHONPATH": PATH, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not (mark.exists() and mark.read_text()):
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate()
    assert process.returncode == 128 + number
    assert not any(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_the_home_directory_is_not_copied(tmp_path: Path) -> None:
    found = bench(project(tmp_path, train=SCRIPT), "train.py", HOME=str(tmp_path))
    assert found.returncode == 2
    assert f"would need a copy of all of {tmp_path}" in found.stderr


def test_the_page_names_the_options_that_there_are() -> None:
    text = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    help_text = subprocess.run(
        [sys.executable, "-m", "perflint", "bench", "--help"],
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    own = set(re.findall(r"--[a-z][a-z-]+", help_text.partition("settings:")[0])) - {"--help"}
    named = set(re.findall(r"--[a-z][a-z-]+", text))
    assert own - named == set()
    assert named - own <= {"--fix", "--select", "--ignore"}
