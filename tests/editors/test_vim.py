"""Vim and ALE with the configuration of the guide, in a terminal of their own."""

from __future__ import annotations

from pathlib import Path

from tests.editors.workplace import FIXED, HERE, UTF16_UNITS, Workplace, snippet
from tests.tools import missing, program


def test_ale(tmp_path: Path) -> None:
    vim, script = program("vim"), program("script")
    if not Path("/usr/share/vim-ale").is_dir():
        missing("Debian's vim-ale is not installed")
    configuration = tmp_path / "configuration.vim"
    configuration.write_text(snippet("ale"), encoding="utf-8")
    workplace = Workplace(tmp_path)
    command = f"{vim} -N -u {HERE / 'vim.vim'} -i NONE -n train.py"
    more = {"PERFLINT_CONFIGURATION": str(configuration), "TERM": "xterm"}
    answers = workplace.run([script, "-qec", command, "/dev/null"], more)
    # ALE takes units of UTF-16 for bytes: past other characters than ASCII its marks stand too far to the left.
    assert answers["first"] == UTF16_UNITS
    assert [row[4] for row in answers["broken"]] == ["PPF001"]
    assert answers["mended"] == UTF16_UNITS
    assert answers["fixed"] == FIXED == workplace.fixed()
    assert workplace.script.read_text(encoding="utf-8") == FIXED
