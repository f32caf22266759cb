"""The page of published tables: what others have published is marked as theirs, and what is measured is as measured."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from published_parts.cited import Cited
from published_parts.measuring import Measured, read
from published_parts.page import PAGE, page
from published_parts.tables import BY_NAME, TABLES, Table
from published_tables import results

from perflint.bench.results import BenchReport, Comparison, Steps, Variant, compare

TABLE = BY_NAME["loss_read"]
CITED = [item for table in TABLES for item in table.cited]


def measured() -> Measured:
    """Batches of 8: 0.1 s each, of it 0.02 s for data, and then 0.05 s each with 0.001 s for data."""

    def runs(batch: float, reader: float) -> list[Steps]:
        return [Steps([batch, batch], [reader, reader], [8, 8], [2.5, 2.0], 300.0, "cpu") for _ in range(3)]

    names = list(TABLE.variants)
    report = BenchReport(
        script="train_loss_read.py",
        arguments=[],
        machine="A Machine, 2 cores",
        versions={"paddle": "3.3.1"},
        date="2026-11-22T08:00:00+00:00",
        warmup=1,
        steps=2,
        rounds=3,
        variants=[Variant(names[0], [], [], runs(0.1, 0.02)), Variant(names[1], [], [], runs(0.05, 0.001))],
        comparisons=[Comparison(names[1], 80.0, 160.0, 2.0, 1.5, 2.6, True)],
        notes=[],
    )
    return Measured(TABLE.name, "cpu", {"OMP_NUM_THREADS": "1"}, report)


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells, the header first."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [[row.strip("| ").split(" | ") for row in table.splitlines()] for table in found]


def marked(text: str, mark: str) -> list[list[str]]:
    """The rows of all tables whose first heading is this."""
    return [row for header, _, *rows in tables(text) if header[0] == f"**{mark}**" for row in rows]


def test_the_page_is_what_the_results_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(results()), "run: python benchmarks/published_tables.py --page"


def test_all_tables_say_whose_figures_they_hold() -> None:
    text = page({(TABLE.name, "cpu"): measured()})
    assert {header[0] for header, *_ in tables(text)} == {"**Cited**", "**Measured**"}


def test_what_is_cited_and_nothing_else_is_marked_as_cited() -> None:
    rows = marked(page({(TABLE.name, "cpu"): measured()}), "Cited")
    stated = [[item.source.link, item.source.hardware, f"{item.before} {item.unit}"] for item in CITED]
    assert [[row[0], row[1], row[3]] for row in rows] == stated


@pytest.mark.parametrize("item", CITED, ids=lambda item: item.change)
def test_a_source_can_be_found_and_names_its_hardware(item: Cited) -> None:
    assert item.source.address.startswith("https://") or re.search(r"\d{4}-\d\d-\d\d", item.source.title)
    assert item.source.hardware


def test_ratios_of_rates_and_of_times() -> None:
    ratios = [f"{item.ratio:.2f}" for table in ("cifar10", "checkpoints") for item in BY_NAME[table].cited]
    # 151.45 / 39.14, 137.31 / 71.00, 2450 / 2200, and 137 s / 102 s
    assert ratios == ["3.87", "1.93", "1.11", "1.34"]


def test_the_measured_rows_follow_from_the_steps() -> None:
    rows = marked(page({(TABLE.name, "cpu"): measured()}), "Measured")
    assert rows == [
        ["read at each step", "10", "80", "20 %", "1"],  # 0.1 s a step; 0.02 of 0.1 s
        ["read every 10 steps", "20", "160", "2 %", "2.000 (1.500 to 2.600), faster"],
    ]


def test_a_measurement_says_where_when_and_how_it_was_made() -> None:
    text = page({(TABLE.name, "cpu"): measured()})
    assert "A Machine, 2 cores; paddle 3.3.1; 2026-11-22; 3 rounds of 2 steps; `OMP_NUM_THREADS=1`" in text
    assert text.count("Not measured on a CPU yet.") == len(TABLES) - 1
    assert "On a CPU there is no device to wait for" in text


def test_a_measurement_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read(measured().write(tmp_path)) == measured()


def test_the_stated_ratios_follow_from_the_steps_that_are_kept() -> None:
    for found in results().values():
        first, *others = found.report.variants
        for stated, other in zip(found.report.comparisons, others, strict=True):
            again = compare(first.runs, other.runs)
            assert (again.ratio, again.low, again.high) == pytest.approx((stated.ratio, stated.low, stated.high))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_variants_differ_in_their_constants_alone(table: Table) -> None:
    texts = [table.text(name).splitlines() for name in table.variants]
    assert len({tuple(text) for text in texts}) == len(texts)
    changed = {
        row for text in texts for row, (one, other) in enumerate(zip(texts[0], text, strict=True)) if one != other
    }
    constants = {name for settings in table.variants.values() for name in settings}
    assert {texts[0][row].split(" = ")[0] for row in changed} <= constants


def test_a_constant_that_a_script_has_not_is_refused() -> None:
    table = Table("loss_read", "", (), {"wrong": {"NEVER": 3}}, 1, 1, "")
    with pytest.raises(ValueError, match="sets NEVER 0 times"):
        table.text("wrong")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_scripts_train(table: Table, tmp_path: Path) -> None:
    text = table.text(list(table.variants)[-1])
    short, count = re.subn(r"^STEPS = \d+$", "STEPS = 2", text, flags=re.MULTILINE)
    assert count == 1
    script = tmp_path / table.script.name
    script.write_text(short, encoding="utf-8")
    command = [sys.executable, str(script), *table.arguments.get("cpu", ())]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
