"""PaddleDetection as published, where people meet perflint: the same codes at the same rows and columns everywhere."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from tests import corpus
from tests.flake8_runs import ROOT, run_flake8
from tests.hooks import hooks_repository, repository
from tests.server_sessions import session
from tests.tools import missing

Place = tuple[str, int, int, str]
"""Path from the root, row and column from 1 in code points, code."""

SUITE = "paddledet-2.6.0"
ENOUGH = 50


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the suite, all rules on, and a line that has more bytes and UTF-16 units than characters."""
    root = tmp_path_factory.mktemp("suite").resolve()
    for path, source in corpus.sources().items():
        if path.startswith(SUITE):
            target = root / Path(path).relative_to(SUITE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.encode(source.text))
    stats = root / "ppdet" / "utils" / "stats.py"
    read = "v.update(stats[k].numpy())"
    text = stats.read_text(encoding="utf-8")
    assert text.count(read) == 1
    stats.write_text(text.replace(read, f'"损失😀"; {read}'), encoding="utf-8")
    (root / "pyproject.toml").write_text('[tool.perflint]\nselect = ["ALL"]\nmin-impact = "low"\n')
    repository(root)
    return root


@pytest.fixture(scope="module")
def expected(suite: Path) -> list[Place]:
    """What the command line says."""
    found = json.loads(_printed(suite, "check", "--output-format", "json", "."))
    places = [
        (_below(suite, item["filename"]), item["location"]["row"], item["location"]["column"], item["code"])
        for item in found
    ]
    assert len(places) >= ENOUGH
    return sorted(places)


def test_the_line_with_wide_characters_is_among_them(suite: Path, expected: list[Place]) -> None:
    rows = (suite / "ppdet" / "utils" / "stats.py").read_text(encoding="utf-8").splitlines()
    columns = {rows[row - 1][column - 1 :] for path, row, column, _ in expected if path == "ppdet/utils/stats.py"}
    assert "stats[k].numpy())" in columns


def test_sarif(suite: Path, expected: list[Place]) -> None:
    places = []
    (run,) = json.loads(_printed(suite, "check", "--output-format", "sarif", "."))["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        places.append((place["artifactLocation"]["uri"], region["startLine"], region["startColumn"], result["ruleId"]))
    assert sorted(places) == expected


def test_flake8(suite: Path, expected: list[Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite)
    told = run_flake8("--select=PPF", ".", scratch=tmp_path)
    assert told.errors == ""
    assert sorted((_below(suite, path), row, column, code) for path, row, column, code, _ in told.places) == expected


def test_pre_commit(suite: Path, expected: list[Place], tmp_path_factory: pytest.TempPathFactory) -> None:
    hooks, revision = hooks_repository(tmp_path_factory.mktemp("hooks"))
    home = tmp_path_factory.mktemp("home")
    environ = {**os.environ, "HOME": str(home), "PRE_COMMIT_HOME": str(home / "pre-commit"), "PERFLINT_CACHE_DIR": ""}
    command = ["try-repo", str(hooks), "perflint", "--ref", revision, "--all-files"]
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", *command], cwd=suite, env=environ, capture_output=True, check=False
    )
    out = done.stdout.decode()
    if "hook id: perflint" not in out:
        missing("pip reaches no index", out + done.stderr.decode())
    found = re.findall(r"^(\S+\.py):(\d+):(\d+):? (PPF\d{3}) ", out, re.MULTILINE)
    assert sorted((path, int(row), int(column), code) for path, row, column, code in found) == expected


def test_server(suite: Path, expected: list[Place]) -> None:
    assert asyncio.run(_shown(suite, sorted({place[0] for place in expected}))) == expected


async def _shown(root: Path, paths: list[str]) -> list[Place]:
    """What an editor that counts code points shows of some files."""

    def count_code_points(capabilities: types.ClientCapabilities) -> None:
        assert capabilities.general is not None
        capabilities.general.position_encodings = [types.PositionEncodingKind.Utf32]

    places = []
    async with session(root, "neovim@0.11", change=count_code_points) as editor:
        for path in paths:
            editor.open(path)
        for path in paths:
            await editor.codes(path)
            for found in editor.shown[editor.uri(path)].diagnostics:
                start = found.range.start
                places.append((path, start.line + 1, start.character + 1, str(found.code)))
    return sorted(places)


def _printed(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "perflint", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr.decode()
    return done.stdout.decode()


def _below(root: Path, path: str) -> str:
    return Path(path).resolve().relative_to(root).as_posix()
