"""Neovim with the configuration of the guide, without a screen."""

from __future__ import annotations

from pathlib import Path

from tests.editors.workplace import BYTES, FIXED, HERE, Workplace, snippet
from tests.tools import program


def test_neovim(tmp_path: Path) -> None:
    nvim = program("nvim")
    configuration = tmp_path / "configuration.lua"
    configuration.write_text(snippet("neovim"), encoding="utf-8")
    workplace = Workplace(tmp_path)
    scripts = ["-S", str(configuration), "-S", str(HERE / "neovim.lua")]
    answers = workplace.run([nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", *scripts])
    assert answers["first"] == BYTES
    assert [row[4] for row in answers["broken"]] == ["PPF001"]
    assert answers["mended"] == BYTES
    assert "PPF205" in answers["hover"] and "to-tensor-in-hot-path" in answers["hover"]
    assert answers["fixed"] == FIXED == workplace.fixed()
    assert workplace.script.read_text(encoding="utf-8") == FIXED
