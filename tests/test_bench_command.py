"""``perflint bench`` around a training: what it runs, shows and leaves behind; Paddle is made up, so this is quick."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perflint.bench.results import BenchReport
from perflint.cli import main
from tests.bench_reports import committed, git, passes_after

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
OWN_CLOCK = """\
import time

now = 0.0


def takes(seconds):
    global now
    now += seconds


time.perf_counter = lambda: now
"""
"""The beginning of a script whose steps take as long as it says, on a clock that all in its process look at.

On a real one they take longer, by as much as the machine has other work.
"""
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


def said(report: BenchReport) -> list[str]:
    """The notes but for the one about findings that were left out."""
    return [note for note in report.notes if " not measured: " not in note]


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
    assert report.notes == ["1 finding was not measured: 1 needs --unsafe-fixes (PPF101 train.py:3)."]


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
    assert said(measured(directory, "train.py")) == [
        "Linked into the copies rather than copied: data.bin, out/data.bin."
    ]
    assert (directory / file).stat().st_size == start.st_size
    project(directory, train=f"open({str(directory / file)!r}, 'ab')\n" + SCRIPT)
    assert f"perflint does not let the script change {directory / file}" in failed(directory, "train.py")


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
    assert said(report) == ["The script made 2 of the 6 steps to be measured."]


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


FAILS = "import paddle\ndef load():\n    raise RuntimeError('no data at /x')\nload()\n"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (FAILS + SCRIPT, (), "RuntimeError: no data at /x"),
        (SCRIPT, ("--warmup", "30"), "train.py made 20 steps and ended, but the first 30 are warm-up"),
        (SCRIPT, ("--warmup", "30"), "or lower --warmup (with 19 one step is measured)"),
        (SCRIPT.replace("100", "5"), ("--warmup", "2"), "made 1 step and ended, but the first 2 are warm-up"),
        (
            "import paddle\nfor (batch,) in paddle.io.DataLoader(range(4)):\n    paddle.mean(batch).backward()\n"
            "if not batch:\n" + "".join(f"    {row}\n" for row in SCRIPT.splitlines()),
            (),
            "perflint saw 4 batches and 4 calls of backward",
        ),
        ("if False:\n" + "".join(f"    {row}\n" for row in SCRIPT.splitlines()), (), "never imported paddle"),
        ("print(1)\n", (), "nothing to compare: no fix applies"),
        (SCRIPT, ("--python", "/no/such/python"), "--python /no/such/python: there is no program of this name"),
        (SCRIPT, ("--json", "/no/such/folder/report.json"), "/no/such/folder/report.json cannot be written"),
        (SCRIPT, ("--rounds", "2"), "2 is too small: at least 3"),
        (SCRIPT, ("--until", "5"), "'5' should be a percentage above 0%, up to 100%, such as 5%"),
        (SCRIPT, ("--fail-under", "-1"), "'-1' should be a ratio of ips above 0, such as 1.05"),
        (
            SCRIPT,
            ("--fix", "PPF201:12"),
            "PPF201:12: there is no finding there in the files that the script runs; near it: PPF201:",
        ),
    ],
)
def test_what_cannot_be_measured_is_said(tmp_path: Path, text: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in failed(project(tmp_path / "p", train=text), "train.py", *arguments)


REFUSES = "if {words!r} in open(__file__).read()[140:]:\n    raise RuntimeError('changed')\n"
"""The script refuses what a fix makes of it."""


def test_a_file_that_cannot_be_written_is_noticed_before_anything_runs(tmp_path: Path) -> None:
    said = failed(project(tmp_path / "p", train=SCRIPT), "train.py", "--html", "/no/such/folder/page.html")
    assert "/no/such/folder is not a directory" in said
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
    assert said(report) == [
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


def linked_interpreter(directory: Path) -> str:
    """A relative path of an interpreter, for a command that is run in ``directory``."""
    link = directory / "v" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    return str(link.relative_to(directory))


def test_an_interpreter_is_found_from_where_the_user_is(tmp_path: Path) -> None:
    project(tmp_path / "p", train=SCRIPT)
    assert measured(tmp_path, "p/train.py", "--python", linked_interpreter(tmp_path)).comparisons


Limited = Callable[..., int]


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Limited:
    """Runs ``perflint bench`` here, on a clock that stands still until the script has made ``seen`` beside its project.

    Then so many seconds pass at each look at it.
    """

    def run(script: str, *arguments: str, seconds: float) -> int:
        passes_after(tmp_path / "seen", seconds, monkeypatch)
        monkeypatch.setenv("PYTHONPATH", PATH)
        monkeypatch.chdir(project(tmp_path / "p", train=script))
        return main(["bench", *QUICK, "train.py", *arguments])

    return run


def test_the_time_limit(tmp_path: Path, limited: Limited, capsys: pytest.CaptureFixture[str]) -> None:
    hangs = f"    if 10 in batch.numbers:\n        open({str(tmp_path / 'seen')!r}, 'w')\n        time.sleep(1000)\n"
    assert limited("import time\n" + SCRIPT + hangs, "--time-limit", "100", seconds=100) == 2
    assert "train.py had made 3 of 8 steps at the time limit; allow more with --time-limit" in capsys.readouterr().err


def test_the_rounds_before_the_time_limit_count(tmp_path: Path, limited: Limited) -> None:
    """After the third round a run takes forever; what counts the runs stands outside of the project."""
    runs, file = tmp_path / "runs", tmp_path / "report.json"
    count = f"open({str(runs)!r}, 'a').write('x')\n"
    seen = f"open({str(tmp_path / 'seen')!r}, 'w')"
    hangs = f"if len(open({str(runs)!r}).read()) > 8:\n    import time; {seen}; time.sleep(1000)\n"
    arguments = ("--rounds", "9", "--time-limit", "100", "--json", str(file))
    assert limited(count + hangs + SCRIPT, *arguments, seconds=100) == 0
    report = BenchReport.from_json(json.loads(file.read_text()))
    assert report.rounds == 3
    assert said(report) == ["The time limit was reached after 3 of 9 rounds: those are compared."]


ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")


def marked(mark: str) -> list[str]:
    """The processes that have this text among their variables."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if mark.encode() in (place / "environ").read_bytes():
                found.append(place.name)
    return found


class Started:
    """A measurement whose script has a process beside it that has left its group, as a launcher's have."""

    def __init__(self, directory: Path) -> None:
        self.temporary, self.mark = directory / "tmp", str(directory)
        self.temporary.mkdir()
        self.seen = directory / "seen"
        beside = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'], start_new_session=True)"
        begin = f"import subprocess, sys, tempfile, time\ntempfile.mkdtemp()\n{beside}\nopen({str(self.seen)!r}, 'w')\n"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "perflint", "bench", "train.py"],
            cwd=project(directory / "p", train=begin + "time.sleep(100)\n" + SCRIPT),
            env={**os.environ, "PYTHONPATH": PATH, "TMPDIR": str(self.temporary), "MARK": self.mark},
            stderr=subprocess.PIPE,
        )

    def left(self) -> list[str]:
        """What is left in the end: its processes and its files; the supervisor may need a moment for that."""
        end = time.monotonic() + 20
        while (found := [*marked(self.mark), *map(str, self.temporary.iterdir())]) and time.monotonic() < end:
            time.sleep(0.02)
        return found


@pytest.mark.skipif(sys.platform != "linux", reason="where processes can be listed by /proc")
@pytest.mark.usefixtures("heeds_sighup")
@pytest.mark.parametrize("name", ENDING)
def test_a_stop_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    started = Started(tmp_path)
    while started.process.poll() is None and not started.seen.exists():
        time.sleep(0.02)
    started.process.send_signal(number)
    started.process.communicate()
    assert started.process.returncode == (-9 if name == "SIGKILL" else 128 + number)
    assert started.left() == []


@pytest.mark.skipif(sys.platform != "linux", reason="where processes can be listed by /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_stop_at_any_moment_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    """Nor does a second one, which comes while the first is heeded."""
    number = getattr(signal, name)
    started = Started(tmp_path)
    time.sleep(random.uniform(0.3, 1.5))  # the start of the interpreter is not meant
    started.process.send_signal(number)
    time.sleep(random.uniform(0, 0.05))
    started.process.send_signal(number)
    started.process.communicate()
    assert started.left() == []


HANGS = """\
import sys
import threading


def wait():
    threading.Event().wait()


def tell(main):
    while sys._current_frames()[main].f_code.co_filename != threading.__file__:
        pass
    open({seen!r}, "w")


print("nearly there")
threading.Thread(target=tell, args=(threading.get_ident(),), daemon=True).start()
wait()
"""


def test_a_script_that_hangs_is_ended_and_the_line_is_named(
    tmp_path: Path, limited: Limited, capsys: pytest.CaptureFixture[str]
) -> None:
    script = HANGS.format(seen=str(tmp_path / "seen")) + SCRIPT
    assert limited(script, "--stall-limit", "50", seconds=50) == 2
    said = capsys.readouterr().err
    assert (
        "train.py was stopped, because nothing happened for 50 s after 0 steps, 0 batches, 0 calls of backward" in said
    )
    assert re.search(r"it hangs at train\.py:6 \(wait\), in \S+threading\.py:\d+ \(wait\)", said)
    assert "  |   train.py:17 (<module>)\n" in said
    assert said.endswith("its last output:\n  |   nearly there\n")


def test_a_script_that_spawns_processes(tmp_path: Path) -> None:
    script = SCRIPT.replace("for ", "if len(range(1)):\n    paddle.distributed.spawn(print, nprocs=2)\nfor ", 1)
    said = failed(project(tmp_path / "p", train=script), "train.py")
    assert (
        "train.py starts its processes itself with paddle.distributed.spawn, at train.py:7, so perflint cannot see"
        in said
    )
    assert "--launch" in said


def test_a_script_that_only_starts_another_one(tmp_path: Path) -> None:
    main = "import subprocess, sys\n\nimport train\n\nsubprocess.run([sys.executable, 'train.py', '--fast'])\n"
    train = "if __name__ == '__main__':\n" + "".join(f"    {row}\n" for row in SCRIPT.splitlines())
    said = failed(project(tmp_path / "p", main=main, train=train), "main.py")
    assert "main.py made no step itself, but started another process, which perflint does not watch: " in said
    assert "train.py --fast (at main.py:5); name the script that trains there" in said


def test_a_measurement_goes_on_where_another_has_stopped(tmp_path: Path) -> None:
    directory = project(tmp_path / "p", train=SCRIPT)
    first = measured(directory, "train.py")
    found = bench(directory, "train.py", "--rounds", "4", "--resume", "../report.json")
    assert found.returncode == 0, found.stderr
    assert "run 2 of 2" in found.stderr
    report = BenchReport.from_json(json.loads((tmp_path / "report.json").read_text()))
    assert report.rounds == 4
    assert [variant.runs[:3] for variant in report.variants] == [variant.runs for variant in first.variants]


def test_suggestions_are_measured_on_request(tmp_path: Path) -> None:
    report = measured(project(tmp_path / "p", train=SCRIPT), "train.py", "--suggestions", "--select", "PPF101")
    assert names(report) == ["before", "PPF101 train.py:3 (unsafe)"]
    assert report.notes == []


def test_what_cannot_be_fixed_is_named_where_nothing_can(tmp_path: Path) -> None:
    found = failed(project(tmp_path / "p", train=SCRIPT), "train.py", "--select", "PPF101")
    assert "the files that it runs. 1 finding was not measured: 1 needs --unsafe-fixes (PPF101 train.py:3)\n" in found


def test_two_revisions_are_compared_and_ci_fails_where_the_newer_is_slower(tmp_path: Path) -> None:
    """What git does not know is there in both; what was not there then is not there."""
    needs = OWN_CLOCK + "from pathlib import Path\n\nassert Path('data.txt').exists()\n"
    slow = SCRIPT.replace("    loss.backward()\n", "    loss.backward()\n    takes({})\n")
    directory = committed(tmp_path / "p", train=needs + "import gone\n" + slow.format(0.01), gone="")
    (directory / "data.txt").write_text("x")
    (directory / "gone.py").unlink()
    project(directory, train=needs + "import pauses\n" + slow.format("pauses.LONG"), pauses="LONG = 0.05\n")
    git(directory, "add", "pauses.py")
    before = tree(directory)
    found = bench(directory, "train.py", "--against", "HEAD", "--fail-under", "0.9", "--json", "../report.json")
    assert found.returncode == 1, found.stderr
    assert "--fail-under 0.9: working tree, 0." in found.stderr
    assert "is below it with its whole interval" in found.stderr
    report = BenchReport.from_json(json.loads((tmp_path / "report.json").read_text()))
    assert re.fullmatch(r"HEAD \([0-9a-f]{9}\), working tree", ", ".join(names(report)))
    assert said(report) == ["3 files differ: gone.py, pauses.py, train.py."]
    assert tree(directory) == before


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
    assert named - own <= {"--fix", "--select", "--ignore", "--nproc"}
