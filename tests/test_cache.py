"""What earlier runs have kept: never wrong, never in the way, and enough to leave LibCST alone."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.files import writing
from perflint.findings import (
    Checked,
    Confidence,
    Finding,
    LoaderChoice,
    Possibly,
    StepEdit,
    StepPlace,
    StepReport,
    StepVerdict,
)
from perflint.inputs.projects import split
from perflint.run import cache, engine
from perflint.text.source import Source
from tests.support import in_step, sources

ROOT = Path(__file__).resolve().parents[1]
TEXT = in_step("note(loss)\ntotal = loss.item()").replace("import numpy", "from log import note\nimport numpy")
FILES = {"train.py": TEXT, "log.py": "def note(value):\n    print(value.numpy())\n"}
Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and the project as the current directory."""
    directory = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(directory))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "perflint.toml").touch()
    for name, text in FILES.items():
        (project / name).write_text(text)
    return directory


def shown(capsys: Output, *options: str) -> tuple[int, str]:
    """What a run ends with and shows."""
    status = main(["check", "--output-format", "json", *options])
    return status, capsys.readouterr().out


def entries(place: Path) -> list[Path]:
    return sorted(place.glob("perflint-*.entry"))


def whole(finding: Finding) -> list[object]:
    """All fields, those too that do not count when findings are compared."""
    return [getattr(finding, item.name) for item in fields(finding)]


def test_findings_come_back_as_they_were() -> None:
    settings = Settings(join_lines=False, select=("ALL",), min_confidence=Confidence.LOW)
    given = sources({**FILES, "data.py": "import paddle\ntrain_loader = paddle.io.DataLoader(data, batch_size=8)\n"})
    found = engine.check(given, settings)
    steps = StepReport(
        StepPlace("train.py", 5),
        ("main.py",),
        StepVerdict(
            (StepEdit("waits", (("train.py", 6),), 0.25, 0.5, 2.0),),
            (),
            (Possibly(StepEdit("loading", (), 0.5, 0.5, 8.0), LoaderChoice("a", True, ("train.py", 2))),),
            3,
            (("train.py", 9),),
            (),
        ),
    )
    cache.store("a", Checked(found, (steps,)))
    assert {item.code for item in found} >= {"PPF201", "PPF202"}
    assert any(item.fix and item.fix.edits for item in found)
    assert any(item.impact and item.impact.reason and item.impact.milliseconds for item in found)
    assert any(item.related and item.statement for item in found)
    known = cache.load("a", given)
    assert known is not None
    assert list(map(whole, known.findings)) == list(map(whole, found))
    assert known.steps == (steps,)


def test_a_second_run_shows_the_same_without_a_check(
    place: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shown(capsys)
    assert first[0] == 1
    assert len(entries(place)) == 1
    monkeypatch.setattr(engine, "check_projects", None)
    assert shown(capsys) == first
    assert shown(capsys, "--exit-zero") == (0, first[1])


def test_a_run_that_the_cache_answers_does_not_import_the_engine(capsys: Output) -> None:
    shown(capsys)
    module = "perflint.run.engine"
    program = f"import sys; from perflint.cli import main; main(['check', '-q']); print({module!r} in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for options, imported in ((["-c", program], "False"), (["-c", program.replace("'-q'", "'--no-cache'")], "True")):
        run = subprocess.run([sys.executable, *options], capture_output=True, text=True, check=True, env=environment)
        assert run.stdout.splitlines()[-1] == imported


def test_no_cache_neither_reads_nor_writes(place: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    shown(capsys, "--no-cache")
    assert entries(place) == []
    shown(capsys)
    monkeypatch.setattr(engine, "check_projects", lambda projects, *_, **__: [Checked([], ()) for _ in projects])
    assert shown(capsys)[0] == 1
    assert shown(capsys, "--no-cache")[0] == 0


def test_random_edits_are_seen(capsys: Output) -> None:
    """Cached and uncached runs over the same files agree, whatever was edited and edited back."""
    chance = random.Random(3)
    lines = {name: text.splitlines(keepends=True) for name, text in FILES.items()}
    for _ in range(25):
        name = chance.choice(sorted(lines))
        edited = list(lines[name])
        row = chance.randrange(len(edited))
        edited[row] = chance.choice([edited[row], "", edited[row].replace("loss", "x"), edited[row] + "# note\n"])
        Path(name).write_text("".join(edited))
        assert shown(capsys) == shown(capsys, "--no-cache")


def test_a_change_in_one_project_lets_the_others_be(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """Two directories that import nothing from each other are checked, and kept, by themselves."""
    for name in FILES:
        Path(name).unlink()
    for directory in ("one", "two"):
        Path(directory).mkdir()
        for name, text in FILES.items():
            (Path(directory) / name).write_text(text)
    shown(capsys)
    assert len(entries(place)) == 3
    checked: list[str] = []
    check = engine.check_projects

    def note(projects: list[dict[str, Source]], *arguments: object, **options: object) -> list[Checked]:
        checked.extend(path for project in projects for path in project)
        return check(projects, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "check_projects", note)
    Path("one/log.py").write_text("def note(value):\n    pass\n")
    assert shown(capsys) == shown(capsys, "--no-cache")
    assert checked[:2] == ["one/log.py", "one/train.py"]
    assert set(checked[2:]) == {"one/log.py", "one/train.py", "two/log.py", "two/train.py"}  # without the cache


def test_a_readme_that_makes_one_project_of_two_is_seen() -> None:
    """What decides which files belong together stands in no file that is checked."""
    files = sources({f"{directory}/{name}": text for directory in ("one", "two") for name, text in FILES.items()})
    whole = split(files)
    assert [sorted(project) for project in whole.projects] == [
        ["one/log.py", "one/train.py"],
        ["two/log.py", "two/train.py"],
    ]
    cache.store("a", Checked([]), whole.roots)
    assert cache.load("a", files) == Checked([])
    Path("README.md").touch()
    assert cache.load("a", files) is None
    assert len(split(files).projects) == 1
    Path("README.md").unlink()
    assert cache.load("a", files) == Checked([])


def test_a_helper_that_changes_changes_what_its_caller_shows(capsys: Output) -> None:
    before = shown(capsys)[1]
    Path("log.py").write_text("def note(value):\n    pass\n")
    after = shown(capsys)[1]
    assert "log.py:2" in before
    assert "log.py:2" not in after


@pytest.mark.parametrize(
    "change",
    [
        {"select": ("ALL",)},
        {"min_confidence": Confidence.LOW},
        {"log_interval": 3},
        {"root": Path("elsewhere")},
        {"logging_calls": {"log.note": None}},
    ],
)
def test_settings_are_part_of_the_question(change: dict[str, object]) -> None:
    given = sources(FILES)
    assert cache.key(given, Settings(join_lines=False)) == cache.key(
        given, Settings(join_lines=False, origins={"select": "command line"})
    )
    assert cache.key(given, Settings(join_lines=False)) != cache.key(given, Settings(join_lines=False, **change))  # type: ignore[arg-type]


def test_paths_texts_and_where_one_ends_are_part_of_the_question() -> None:
    names = [
        cache.key({path: Source(path, text) for path, text in files.items()}, Settings(join_lines=False))
        for files in ({"a.py": "xy"}, {"b.py": "xy"}, {"a.py": "x"}, {"a.py": "x", "y": ""}, {"a.py": "", "x.py": "y"})
    ]
    assert len(set(names)) == len(names)


def test_a_place_that_takes_nothing_is_no_error(place: Path, capsys: Output) -> None:
    place.write_text("a file stands here")
    assert shown(capsys)[0] == 1
    assert place.read_text() == "a file stands here"


def test_an_empty_variable_keeps_nothing(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.cwd() / "xdg"))
    shown(capsys)
    assert cache.directory() is None
    assert not Path("xdg").exists()


def test_where_entries_are_kept_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.directory() == Path("/somewhere/perflint")


def test_what_is_not_used_goes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 3)
    for number in range(3):
        cache.store(str(number), Checked([]))
        os.utime(place / f"perflint-{number}.entry", ns=(number, number))
    assert cache.load("0", {}) == Checked([])  # used again
    cache.store("3", Checked([]))
    assert [path.stem for path in entries(place)] == ["perflint-0", "perflint-2", "perflint-3"]
    size = (place / "perflint-3.entry").stat().st_size
    monkeypatch.setattr(cache, "_MOST_BYTES", 2 * size + 1)
    cache.store("4", Checked([]))
    assert len(entries(place)) == 2


def test_the_directory_is_marked_as_a_cache(place: Path, capsys: Output) -> None:
    shown(capsys)
    assert (place / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


def precious(place: Path) -> list[str]:
    """Fill a directory with what looks like entries, and is not: the names."""
    place.mkdir(exist_ok=True)
    entry = "perflint-" + "0" * 64 + ".entry"
    for name in ("thesis.json", "a.tmp", "0" * 64 + ".json", entry, "perflint-notes.entry", "perflint cache entry 2"):
        (place / name).write_text("precious")
    outside = place.parent / "outside"
    outside.write_text("perflint cache entry 2 \n")
    (place / "perflint-1.entry").symlink_to(outside)
    (place / "perflint-2.entry").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(place / "perflint-3.entry")
    (place / ".perflint-abcdefgh.tmp").write_text("precious")
    return sorted(path.name for path in place.iterdir())


def test_clean_removes_what_perflint_wrote_and_nothing_else(place: Path, capsys: Output) -> None:
    """Somebody may have named a directory with other files, such as their home."""
    before = precious(place)
    shown(capsys)
    assert len(entries(place)) == len([name for name in before if name.endswith(".entry")]) + 1
    assert not (place / "CACHEDIR.TAG").exists()  # backups would leave out the whole of it
    capsys.readouterr()
    assert main(["clean"]) == 0
    assert capsys.readouterr().err == f"Removed 1 result from {place}.\n"
    assert sorted(path.name for path in place.iterdir()) == before
    assert (place.parent / "outside").exists()
    assert main(["clean"]) == 0


def test_tidying_removes_nothing_else_either(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = precious(place)
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 1)
    monkeypatch.setattr(cache, "_MOST_BYTES", 1)
    for number in range(5):
        cache.store(f"a{number}", Checked([]))
    assert sorted(path.name for path in place.iterdir()) == before


def test_what_a_killed_run_has_left_goes_with_the_next(place: Path, capsys: Output) -> None:
    shown(capsys)
    with writing.temporary(place) as made:
        made.write(b"half")
        made.stays = True
    Path("train.py").write_text(TEXT + "\n")
    shown(capsys)
    assert sorted(path.name for path in place.iterdir()) == ["CACHEDIR.TAG", *(path.name for path in entries(place))]
    with writing.temporary(place) as made:
        made.stays = True
    assert main(["clean"]) == 0
    assert [path.name for path in place.iterdir()] == ["CACHEDIR.TAG"]


def with_digest(text: str) -> bytes:
    """An entry that somebody has made up, and whose digest is right."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"perflint cache entry 7 {digest}\n{text}".encode()


def made_up(**changes: object) -> bytes:
    """An entry with one finding, in which some values are others."""
    names = ["code", "path", "start", "end", "message", "fix", "related", "statement", "confidence", "impact"]
    names += ["places", "step"]
    values: dict[str, object] = dict.fromkeys(names)
    values |= {"code": "PPF201", "path": "train.py", "start": 0, "end": 1, "message": "m", "related": []}
    values |= {"confidence": 2, "places": [], "step": None, **changes}
    checked = [[[values[name] for name in names]], []]
    return with_digest(json.dumps({"roots": {}, "checked": checked}))


def made_up_step(kind: str) -> bytes:
    """An entry without findings, in which a step has an edit of some kind."""
    edit = [kind, [["train.py", 6]], 0.1, 0.2, 1.0, "", "", "", []]
    verdict = [[edit], [], [], 1, [], [], [], [], [], [], [], [], 0, None]
    return with_digest(json.dumps({"roots": {}, "checked": [[], [[["train.py", 5, ""], [], verdict]]]}))


FIX = ["Do it", [[0, 1, "x"]], 2, "", [], "", []]


def test_the_entry_that_the_others_differ_from_is_believed(place: Path, capsys: Output) -> None:
    shown(capsys)
    (entry,) = entries(place)
    entry.write_bytes(made_up(fix=FIX, statement=[0, 1], related=[["log.py", 1, "here"]], impact=[2, "a save", 16.0]))
    ((found),) = json.loads(shown(capsys)[1])
    assert (found["message"], found["impact"]) == ("m", {"level": "high", "reason": "a save"})
    entry.write_bytes(made_up_step("waits"))
    assert json.loads(shown(capsys)[1]) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"perflint cache entry 4 " + b"0" * 64 + b'\n{"roots":{},"findings":[]}',
        b"\x80\x04\x95\x00",  # a pickle
        with_digest(""),
        with_digest("[" * 100_000),
        with_digest("null"),
        with_digest('{"roots": {}, "checked": [[[]], []]}'),
        with_digest('{"roots": {}, "checked": {}}'),
        with_digest('{"roots": [], "checked": [[], []]}'),
        with_digest('{"roots": {"a": "b"}, "checked": [[], []]}'),
        with_digest('{"roots": {}, "checked": [' + "9" * 10_000 + "]}"),
        *(made_up(**{key: "elsewhere"}) for key in ("path", "start", "end", "fix", "related", "statement", "places")),
        *(made_up(start=start, end=end) for start, end in ((-1, 0), (1, 0), (0, 10**9), (True, 1), (0.0, 1))),
        made_up(message=["m"]),
        made_up(confidence=9),
        made_up(impact=[9, "a save", 16.0]),
        made_up(impact=[2, "a save"]),
        made_up(impact=[2, ["a save"], 16.0]),
        made_up(fix=[*FIX[:1], [[0, 10**9, "x"]], *FIX[2:]]),
        made_up(fix=[*FIX[:2], 7, *FIX[3:]]),
        made_up(fix=[*FIX[:4], "import os"]),
        made_up(related=[["log.py", -1, "m"]]),
        made_up(step=["train.py"]),
        made_up_step("magic"),
    ],
)
def test_an_entry_that_is_none_is_made_anew(place: Path, capsys: Output, data: bytes) -> None:
    first = shown(capsys)
    (entry,) = entries(place)
    kept = entry.read_bytes()
    entry.write_bytes(data)
    assert shown(capsys) == first
    assert entry.read_bytes() == kept


def test_any_cut_of_an_entry_is_seen(place: Path, capsys: Output) -> None:
    first = shown(capsys)
    (entry,) = entries(place)
    kept = entry.read_bytes()
    for size in (*range(0, len(kept), 97), len(kept) - 1):
        entry.write_bytes(kept[:size])
        assert cache.load(entry.stem.removeprefix("perflint-"), sources(FILES)) is None
    assert shown(capsys) == first


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir])
def test_what_is_no_file_is_no_entry(place: Path, capsys: Output, make: Callable[[Path], None]) -> None:
    first = shown(capsys)
    (entry,) = entries(place)
    entry.unlink()
    make(entry)
    assert shown(capsys) == first


@pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
def test_an_entry_that_another_user_could_have_written_is_not_believed(
    place: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(capsys)
    (entry,) = entries(place)
    data = made_up()
    entry.write_bytes(data)
    entry.chmod(0o620)
    assert json.loads(shown(capsys)[1])[0]["message"] != "m"
    entry.write_bytes(data)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert json.loads(shown(capsys)[1])[0]["message"] != "m"


def test_runs_side_by_side_agree(place: Path) -> None:
    command = [sys.executable, "-m", "perflint", "check", "--output-format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(4)]
    outputs = {run.communicate()[0] for run in runs}
    assert len(outputs) == 1
    assert {run.returncode for run in runs} == {1}
    assert len(entries(place)) == 1
    assert sorted(path.name for path in place.iterdir()) == ["CACHEDIR.TAG", *(path.name for path in entries(place))]
