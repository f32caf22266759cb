"""The extension for VS Code as its own tools see it: types, unit tests, bundle and package."""

from __future__ import annotations

import json
import subprocess
import zipfile

from tests.editors.test_vscode_manifest import VSCODE
from tests.tools import missing, program

CONTENT = {
    "LICENSE.txt",
    "changelog.md",
    "dist/NOTICES.txt",
    "dist/extension.js",
    "images/icon.png",
    "l10n/bundle.l10n.zh-cn.json",
    "package.json",
    "package.nls.json",
    "package.nls.zh-cn.json",
    "readme.md",
}


def test_extension_is_built() -> None:
    npm = program("npm")
    if not (VSCODE / "node_modules").is_dir():
        missing("the packages of the extension are not installed: npm ci --prefix editors/vscode")
    package = VSCODE / "dist" / "perflint.vsix"
    package.unlink(missing_ok=True)
    run = subprocess.run([npm, "run", "build"], cwd=VSCODE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    with zipfile.ZipFile(package) as vsix:
        names = {name.removeprefix("extension/") for name in vsix.namelist() if name.startswith("extension/")}
        assert names == CONTENT
        assert "vscode-languageclient 11" in vsix.read("extension/dist/NOTICES.txt").decode("utf-8")
        assert json.loads(vsix.read("extension/package.json"))["main"] == "./dist/extension.js"
