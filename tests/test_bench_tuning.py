"""``perflint bench --tune``: which loader is varied and how, and what is recommended."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from textwrap import dedent

import pytest

from perflint.bench.page import curve_section
from perflint.bench.results import BEFORE, BenchReport, compare
from perflint.bench.tuning import CannotTune, Tuned, Wanted, recommendation, said, tuned, wanted
from perflint.bench.variants import VariantFiles
from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.text.source import Source
from tests.bench_reports import report, run, variant
from tests.test_bench_command import OWN_CLOCK, PATH, SCRIPT, bench, project

assert PATH  # bench runs with the made-up Paddle of tests/bench_paddle

LOADERS = """\
    from paddle.io import BatchSampler, DataLoader


    def main(net, opt, data, workers):
        train = DataLoader(data, {arguments})
        val = DataLoader(data, batch_size=8)
        for x in train:
            net(x).backward()
            opt.step()
            opt.clear_grad()
        for x in val:
            net(x)
    """


def varied(text: str, asked: str, root: Path, at: str = "") -> Tuned:
    path = root / "train.py"
    sources = {str(path): Source(str(path), dedent(text))}
    return tuned(wanted(asked), sources, {Path("train.py")}, root, Settings(), at)


@pytest.mark.parametrize(
    ("arguments", "asked", "rows"),
    [
        ("num_workers=0, shuffle=True", "num_workers=0,2", ["DataLoader(data, num_workers=2, shuffle=True)"]),
        ("batch_size=16", "num_workers=0,2", ["DataLoader(data, batch_size=16, num_workers=2)"]),
        (
            "num_workers=workers",
            "num_workers=0,2",
            ["DataLoader(data, num_workers=0)", "DataLoader(data, num_workers=2)"],
        ),
        ("batch_size=16", "batch_size=16,32", ["DataLoader(data, batch_size=32)"]),
        (
            "batch_sampler=BatchSampler(data, batch_size=4)",
            "batch_size=8",
            ["DataLoader(data, batch_sampler=BatchSampler(data, batch_size=8))"],
        ),
        ("batch_size=16", "use_shared_memory=True,False", ["DataLoader(data, batch_size=16, use_shared_memory=False)"]),
    ],
)
def test_the_training_loader_gets_each_value(arguments: str, asked: str, rows: list[str], tmp_path: Path) -> None:
    text = LOADERS.replace("{arguments}", arguments)
    found = varied(text, asked, tmp_path)
    changed = [state.changed[Path("train.py")].decode() for state in found.states[1:]]
    before = dedent(text).splitlines()
    assert [[row for row in new.splitlines() if row not in before] for new in changed] == [
        [f"    train = {row}"] for row in rows
    ]
    assert found.place == "train.py:5"
    assert found.states[0] == VariantFiles(BEFORE)


def test_a_loader_without_keywords(tmp_path: Path) -> None:
    found = varied(LOADERS.replace("data, {arguments}", "data"), "num_workers=2", tmp_path)
    assert b"DataLoader(data, num_workers=2)\n" in found.states[1].changed[Path("train.py")]


@pytest.mark.parametrize(
    ("arguments", "asked", "at", "says"),
    [
        ("num_workers=2", "num_workers=2", "", "train.py:5 has num_workers=2 already"),
        ("**workers", "num_workers=2", "", "train.py:5 takes arguments from a dict"),
        ("batch_sampler=workers", "batch_size=2", "", "sampler that is made elsewhere"),
        (
            "num_workers=2",
            "num_workers=0",
            "train.py:7",
            "no call of paddle.io.DataLoader is there; there are train.py:5",
        ),
        ("num_workers=2", "learning_rate=1", "", "learning_rate cannot be tuned"),
        ("num_workers=2", "num_workers", "", "name the values"),
        ("num_workers=2", "num_workers=two", "", "two is not a number"),
        ("num_workers=2", "use_shared_memory=1", "", "1 is not True or False"),
    ],
)
def test_what_cannot_be_tuned(arguments: str, asked: str, at: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(CannotTune, match=says):
        varied(LOADERS.replace("{arguments}", arguments), asked, tmp_path, at)


def test_two_loaders_that_may_train_have_to_be_told_apart(tmp_path: Path) -> None:
    text = """\
        from paddle.io import DataLoader
        one = DataLoader(data)
        two = DataLoader(data)
        for a, b in zip(one, two):
            net(a, b).backward()
            opt.step()
            opt.clear_grad()
        """
    with pytest.raises(CannotTune, match=r"--loader FILE:LINE; there are train.py:2, train.py:3"):
        varied(text, "num_workers=2", tmp_path)
    assert varied(text, "num_workers=2", tmp_path, "train.py:3").place == "train.py:3"


def measured(
    name: str, values: dict[int | bool, list[float]], value: int | bool | None = 0
) -> tuple[BenchReport, Tuned]:
    """A report of runs whose steps, one a round, take so many milliseconds."""
    asked = Wanted(name, tuple(each for each in values if each != value))
    shown = Tuned(asked, "train.py:5", "", value, [VariantFiles(BEFORE)] * (len(values)))
    names = {each: BEFORE if each == value else f"{name}={each}" for each in values}
    variants = [variant(names[each], *(run([ms / 1000]) for ms in rounds)) for each, rounds in values.items()]
    comparisons = [compare(variants[0].runs, each.runs, each.name) for each in variants[1:]]
    return report(variants, comparisons, rounds=len(next(iter(values.values())))), shown


FLAT = [100.0, 101.0, 99.0, 100.0]


def faster(by: float, spread: float = 0.0) -> list[float]:
    return [step / by * (1 + spread * sign) for step, sign in zip(FLAT, (1, -1, -1, 1), strict=True)]


def test_the_least_of_the_values_that_are_as_fast() -> None:
    found = measured("num_workers", {0: FLAT, 2: faster(1.2), 4: faster(1.75), 8: faster(1.76, 0.05)})
    assert recommendation(*found).value == 4
    first = said(*found)[0]
    assert first.startswith("Recommended: 4 workers: 1.75x (1.7")
    assert first.endswith("of the ips with num_workers=0 at train.py:5; 8 is not surely faster.")


def test_the_fastest_where_it_surely_is() -> None:
    assert recommendation(*measured("num_workers", {0: FLAT, 2: faster(1.2), 4: faster(1.75)})).value == 4


def test_what_is_not_surely_faster_than_the_script_takes_no_place() -> None:
    # 2 may be as good as 4, but whether it is better than 0 is not known either.
    found = measured("num_workers", {0: FLAT, 2: faster(1.5, 0.9), 4: faster(1.75)})
    assert recommendation(*found).value == 4


def test_what_the_script_has_stays_if_nothing_is_surely_faster() -> None:
    found = measured("num_workers", {0: FLAT, 2: faster(1.01, 0.1), 4: faster(0.9)})
    assert recommendation(*found).keep
    assert said(*found)[0].startswith("Recommended: keep num_workers=0 (train.py:5)")


def test_a_switch_is_no_amount() -> None:
    found = measured("use_shared_memory", {True: FLAT, False: faster(1.3)}, True)
    assert recommendation(*found).value is False
    assert "use_shared_memory=False: 1.30x" in said(*found)[0]


def test_another_batch_size_is_another_training() -> None:
    lines = said(*measured("batch_size", {16: FLAT, 32: faster(1.3)}, 16))
    assert lines[0].startswith("Fastest: batch_size=32: 1.30x")
    assert "changes the training" in lines[1]


def test_the_curve_has_a_mark_for_each_value() -> None:
    html = curve_section(*measured("num_workers", {0: FLAT, 2: faster(1.2), 4: faster(1.75)}))
    wide = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])
    labels = [node.text for node in wide.iter() if node.get("class") == "label"]
    assert labels == ["0", "2", "4"]


@pytest.mark.parametrize(
    "arguments",
    [("--tune", "num_workers=2", "--search"), ("--loader", "a.py:1"), ("--tolerance", "1e-3"), ("--tune", "lr=2")],
)
def test_options_that_would_do_nothing(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit('it ran')\n")
    assert main(["bench", str(tmp_path / "train.py"), *arguments]) == 2
    said = capsys.readouterr().err
    assert arguments[0] in said
    assert "it ran" not in said


def test_the_command_measures_and_recommends(tmp_path: Path) -> None:
    loop = OWN_CLOCK + SCRIPT.replace("    loss =", "    takes(0.02 if loader.num_workers else 0.001)\n    loss =")
    place = project(
        tmp_path / "p", train=loop.replace("paddle.io.DataLoader(", "paddle.io.DataLoader(num_workers=2, dataset=")
    )
    found = bench(place, "train.py", "--tune", "num_workers=0,2", "--json", str(tmp_path / "r.json"))
    assert found.returncode == 0, found.stderr
    assert "Recommended: 0 workers" in " ".join(found.stdout.split())
    assert json.loads((tmp_path / "r.json").read_text())["tuned"]["recommended"] == 0
