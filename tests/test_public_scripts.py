"""The page of public scripts, and the data that is made for them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from public_scripts import CheckoutError, copied
from published_parts.public import BY_NAME, SCRIPTS, Script
from published_parts.public_page import PAGE, kept, page, place

from perflint.bench.results import BenchReport, Comparison, Steps, Variant


def report() -> BenchReport:
    def runs(batch: float) -> list[Steps]:
        return [Steps([batch], [0.01], [4], [1.0], 200.0, "cpu") for _ in range(3)]

    fix = Variant("all fixes", ["PPF201"], ["core/train.py:283"], runs(0.05))
    comparison = Comparison("all fixes", 40.0, 80.0, 2.0, 0.9, 4.4, True)
    versions = {"paddle": "3.3.1"}
    before = Variant("before", [], [], runs(0.1))
    notes = ["94 more fixes are elsewhere."]
    return BenchReport(
        "tools/train.py", [], "A Machine", versions, "2026-11-22", 1, 1, 3, [before, fix], [comparison], notes
    )


def checkout(folder: Path) -> tuple[Script, Path]:
    """A repository with one file, and the script of one of ours as if it came from there."""
    source = folder / "checkouts" / "PaddleSeg"
    source.mkdir(parents=True)
    (source / "train.py").write_text("tracked", encoding="utf-8")

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *who, *arguments], cwd=source, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", "train.py")
    git("commit", "-qm", "first")
    (source / "left.txt").write_text("not tracked", encoding="utf-8")
    return replace(BY_NAME["paddleseg"], commit=git("rev-parse", "HEAD").strip()), source.parent


def test_the_page_is_what_the_reports_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept()), "run: python benchmarks/public_scripts.py . --page"


def test_a_section_has_the_command_the_places_the_figures_and_the_notes() -> None:
    text = page({"paddleseg": report()})
    assert "perflint bench tools/train.py --unsafe-fixes" in text
    assert "* all fixes: PPF201 at `core/train.py:283`\n" in text
    assert "| before | 10 | 40 | 10 % | 1 |\n" in text
    assert "| all fixes | 20 | 80 | 20 % | 2.000 (0.900 to 4.400), no difference shown |\n" in text
    assert "* 94 more fixes are elsewhere.\n" in text
    assert text.count("Not measured yet.") == len(SCRIPTS) - 1
    assert place(BY_NAME["paddleseg"]).name in text


def test_the_tracked_files_are_copied_and_the_data_is_made(tmp_path: Path) -> None:
    script, checkouts = checkout(tmp_path)
    target = tmp_path / "copy"
    copied(script, checkouts, target)
    assert (target / "train.py").read_text(encoding="utf-8") == "tracked"
    assert not (target / "left.txt").exists()
    data = target / "data" / "generated"
    rows = [row.split() for row in (data / "train.txt").read_text(encoding="utf-8").splitlines()]
    assert rows
    assert all((data / name).is_file() for row in rows for name in row)


def test_another_commit_is_refused_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    script, checkouts = checkout(tmp_path)
    with pytest.raises(CheckoutError, match=f"git clone .*checkout {'0' * 40}"):
        copied(replace(script, commit="0" * 40), checkouts, tmp_path / "copy")


def test_the_list_of_faces_names_files_that_are_there(tmp_path: Path) -> None:
    BY_NAME["mtcnn"].make_data(tmp_path)
    rows = (tmp_path / "annotations" / "imglist_anno_12_train.txt").read_text(encoding="utf-8").splitlines()
    # Batches of 1024: enough for the steps of a run within an epoch.
    assert len(rows) // 1024 >= BY_NAME["mtcnn"].warmup + BY_NAME["mtcnn"].steps
    assert all((tmp_path / name).is_file() for name in {row.split()[0] for row in rows})
    assert {len(row.split()) for row in rows} == {2, 6}
