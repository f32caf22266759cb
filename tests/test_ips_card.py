"""The measurements on a lent card: their page says what the raw files hold, and the texts ask nothing unknown."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

from tests.ips.card import page, texts
from tests.ips.card.statistics_of_rounds import ratio_of
from tests.ips.places import STAND_IN

DAYS = sorted(path for path in page.FOLDER.iterdir() if path.is_dir())


def test_the_page_is_that_of_the_raw_files() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "PYTHONPATH=benchmarks python -m tests.ips.card.page"


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.name)
def test_sums_are_those_of_the_steps(day: Path) -> None:
    measured = [row for row in page.rows(day / "rules.jsonl") if row["what"] == "rule"]
    assert measured
    for row in measured:
        before, after = (page.means(side) for side in row["steps"])
        assert row["ratio"] == pytest.approx(ratio_of(before, after), abs=2e-4)
        assert row["step_ms"] == pytest.approx([statistics.fmean(before), statistics.fmean(after)], abs=1e-3)


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.name)
def test_the_trials_of_a_day_came_out_right(day: Path) -> None:
    rows = {row["name"]: row for row in page.rows(day / "rules.jsonl") if row["what"] == "rule"}
    low, high = rows["PPF201_itself"]["ratio"][1:]
    assert 0.98 <= low <= 1 <= high <= 1.02
    saved, low, high = rows["planted"]["saved_ms"]
    assert low <= texts.PLANTED_MS <= high
    assert saved == pytest.approx(texts.PLANTED_MS, rel=0.1)


def test_the_readmes_say_what_was_measured() -> None:
    """Where the card is slower than the host: with large batches; the other figures are too wide to tell."""
    dose = [row for day in DAYS for row in page.rows(day / "dose.jsonl")]
    for variant in ("1 behind the backward pass", "1 at the end"):
        (low, high), _ = page.slowed(dose, variant)
        assert low < high
        for name, between in (("README.md", "to"), ("README_cn.md", "到")):
            text = (page.ROOT / name).read_text(encoding="utf-8")
            assert f"{low:.2f} {between} {high:.2f}" in text


def defined(module: Path) -> set[str]:
    """What a module of the stand-in binds."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def asked(tree: ast.Module) -> set[str]:
    """The names under ``paddle`` that a script uses: ``io.DataLoader``, ``nn.functional.relu``."""
    bound = {"paddle": ""}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "paddle":
            inside = (node.module or "").removeprefix("paddle").strip(".")
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{inside}.{alias.name}".strip(".")
    found |= {name for name in bound.values() if name}
    for node in ast.walk(tree):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in bound:
            found.add(".".join([*filter(None, [bound[node.id]]), *parts]))
    return found


def test_the_stand_in_has_what_the_texts_ask_for(tmp_path: Path) -> None:
    written = [path for path in texts.write(tmp_path) if path.suffix == ".py"]
    assert len(written) > 20
    wanted = set().union(*(asked(ast.parse(path.read_text(encoding="utf-8"))) for path in written))
    assert "zeros_like" in wanted and "nn.Conv2D" in wanted
    missing = []
    for name in sorted(wanted):
        folder, parts = STAND_IN / "paddle", name.split(".")
        while parts and (folder / parts[0]).is_dir():
            folder /= parts.pop(0)
        module = folder / "__init__.py"
        if parts and (folder / f"{parts[0]}.py").exists():
            module = folder / f"{parts.pop(0)}.py"
        if parts and parts[0] not in defined(module):
            missing.append(name)
    # Photographs that are augmented, as only scripts about loading train on them.
    assert [name for name in missing if not name.startswith("vision.transforms.")] == []
