"""Emacs and eglot with the configuration of the guide, without a screen."""

from __future__ import annotations

from pathlib import Path

from tests.editors.workplace import CHARACTERS, FIXED, HERE, Workplace, snippet
from tests.tools import missing, program


def test_eglot(tmp_path: Path) -> None:
    emacs = program("emacs")
    if not any(Path("/usr/share/emacs/site-lisp/elpa").glob("eglot-*")):
        missing("Debian's elpa-eglot is not installed")
    configuration = tmp_path / "configuration.el"
    configuration.write_text(snippet("eglot"), encoding="utf-8")
    workplace = Workplace(tmp_path)
    command = [emacs, "-Q", "--batch", "-l", str(HERE / "emacs.el")]
    answers = workplace.run(command, {"PERFLINT_CONFIGURATION": str(configuration)})
    assert answers["first"] == CHARACTERS
    assert [row[4] for row in answers["broken"]] == ["PPF001"]
    assert answers["mended"] == CHARACTERS
    assert "PPF204" in answers["hover"] and "explicit-synchronize" in answers["hover"]
    assert answers["fixed"] == FIXED == workplace.fixed()
    assert workplace.script.read_text(encoding="utf-8") == FIXED
