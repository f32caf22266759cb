"""How a busy loop is measured without Paddle, what the table of repeats says, and what a block and an archive hold."""

from __future__ import annotations

import math
import random
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests import needed
from tests.ips import blocks, busy_loop, evidence, repeats, sweep, trials
from tests.ips.places import Place
from tests.ips.repeats import Repeats

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_work_of_a_step_comes_from_the_fastest_try() -> None:
    times = iter([0.0, 4.0, 4.0, 6.0, *[6.0, 9.0] * 7])
    assert busy_loop.work(1000.0, clock=lambda: next(times)) == 100_000  # 200,000 in two seconds


def test_a_busy_loop_is_measured_without_paddle() -> None:
    report = busy_loop.measure([4.0], 2000, rounds=3)
    assert report.versions["paddle"].endswith("made up for tests")
    assert [variant.name for variant in report.variants] == ["before", "work 4"]
    assert report.steps == len(report.variants[0].runs[0].batch_s) == 60
    # Four times the work takes longer, whatever the machine is at: the fastest steps are compared.
    before, after = (min(min(run.batch_s) for run in variant.runs) for variant in report.variants)
    assert after > before


def drawn(spread: float, count: int = 40, rounds: int = 10) -> Repeats:
    """Measurements of a step of 1 s whose runs differ by so much, against itself and one that is 10 % faster."""
    random.seed(0)
    seconds = [
        [[base * math.exp(random.gauss(0, spread)) for _ in range(rounds)] for base in (1.0, 1.0, 1 / 1.1)]
        for _ in range(count)
    ]
    return Repeats("made up", "2026-01-02T03:04:05+00:00", [1.0, 1.1], [0.0, 0.0], seconds)


def cells(found: Repeats) -> dict[str, list[str]]:
    heading, _, *rows = repeats.table(found)
    assert heading == "| rounds | a gain where there is none | a gain of 10 % | half of the intervals |"
    return {cell[0]: cell[1:] for cell in ([each.strip() for each in row.strip("|").split("|")] for row in rows)}


def test_the_table_of_repeats() -> None:
    calm, noisy = cells(drawn(0.01)), cells(drawn(0.3))
    assert list(calm) == ["3", "5", "10"]
    assert calm["10"][1] == "40 of 40"
    assert int(noisy["10"][1].split()[0]) < 20
    assert all(int(row[0].split()[0]) <= 4 for row in (calm["10"], noisy["10"]))  # 0.025 of 40 is one
    # Ten rounds, each a ratio of two runs that differ by 0.01: t is 2.262, so 2.262 * 0.01 * sqrt(2 / 10) = 1.0 %.
    assert calm["10"][2] in {"±0.9 %", "±1.0 %"}


def test_repeats_survive_their_files_and_replace_none(tmp_path: Path) -> None:
    first, second = drawn(0.01, count=2), replace(drawn(0.02, count=2), date="2026-01-03T00:00:00+00:00")
    assert [repeats.write(each, tmp_path).name for each in (first, second)] == ["repeats.json", "repeats-2.json"]
    assert repeats.committed(tmp_path) == [first, second]
    assert list(trials.committed(tmp_path)) == []


@pytest.mark.parametrize("found", repeats.committed(), ids=lambda found: found.date)
def test_the_docs_show_each_table_that_was_measured(found: Repeats) -> None:
    table = "\n".join(repeats.table(found))
    text = (DOCS / "measuring.md").read_text(encoding="utf-8")
    assert table in text, f"put this table, with the machine and its load, into docs/measuring.md:\n{table}"


def test_blocks_have_all_between_them() -> None:
    items = list("abcdefghij")
    parts = [blocks.part(items, f"{number}/4") for number in range(1, 5)]
    assert sorted(each for part in parts for each in part) == items
    assert {len(part) for part in parts} == {2, 3}


@pytest.mark.parametrize("block", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_what_is_no_block(block: str) -> None:
    with pytest.raises(ValueError, match="is no block: write 1/4 for the first of four"):
        blocks.part(["a"], block)


@pytest.mark.parametrize("name", ["all.tar", "all.tar.gz"])
def test_an_archive_has_each_file_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "evidence" / "cpu" / "PPF704.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert blocks.pack(tmp_path / name, [path, path], tmp_path) == ["evidence/cpu/PPF704.json"]
    with tarfile.open(tmp_path / name) as tar:
        assert tar.getnames() == ["evidence/cpu/PPF704.json"]
    assert not list(tmp_path.glob("*.part"))


def test_what_is_written_is_known_for_the_archive(tmp_path: Path) -> None:
    evidence.write_whole(tmp_path / "a.json", {"numbers": [1, 2]})
    assert evidence.WRITTEN[-1] == tmp_path / "a.json"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "cpu", "--rules", "PPF704"], "the script of PPF704 takes no --host-ms"),
        (["--device", "cpu", "--rules", "PPF201"], "PPF201: the gain is the wait for the GPU"),
    ],
)
def test_what_is_not_swept(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Place, "missing", lambda self: "")
    assert sweep.main(arguments) == 2
    assert f"nothing is measured: {said}" in capsys.readouterr().err


def test_what_is_missing_is_said_in_a_sentence() -> None:
    assert needed.missing(needed.PACKAGES) == ""
    assert needed.missing({"no_such_module": "no-such", "json": "json"}) == (
        "perflint needs no-such here: python -m pip install no-such"
    )
