"""What VS Code is told and what the guide says are the settings that the server reads, and the same fixes."""

from __future__ import annotations

import json
import re
from typing import Any

from perflint.server import client, code_actions
from tests.editors.workplace import GUIDE, ROOT

VSCODE = ROOT / "editors" / "vscode"
OF_THE_EXTENSION = {"perflint.path", "perflint.interpreter", "perflint.trace.server"}


def _properties() -> dict[str, Any]:
    manifest = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    assert isinstance(properties, dict)
    return properties


def test_settings_are_those_of_the_server() -> None:
    _, (complaint,) = client.read_settings({"nonsense": 1})
    names = {f"perflint.{name}" for name in complaint.rpartition("there are ")[2].split(", ")}
    assert set(_properties()) == names | OF_THE_EXTENSION
    table = re.findall(r"^\| `(\w+)` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"perflint.{name}" for name in table} == names


def test_the_server_takes_the_defaults_and_passes_over_those_of_the_extension() -> None:
    values: dict[str, Any] = {}
    for name, about in _properties().items():
        *outer, key = name.removeprefix("perflint.").split(".")
        place = values
        for part in outer:
            place = place.setdefault(part, {})
        place[key] = about["default"]
    assert client.read_settings(values) == (client.EditorSettings(), [])


def test_all_places_name_the_kind_of_the_action() -> None:
    for name in ("src/extension.ts", "README.md", "e2e/drive.mjs"):
        assert code_actions.FIX_ALL in (VSCODE / name).read_text(encoding="utf-8"), name
    assert GUIDE.read_text(encoding="utf-8").count(f'"{code_actions.FIX_ALL}"') >= 4


def test_licence_is_that_of_the_project() -> None:
    assert (VSCODE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_pictures_and_links_of_the_guide_exist() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", GUIDE.read_text(encoding="utf-8"))
    assert targets
    for target in targets:
        assert (GUIDE.parent / target).exists(), target
    for picture in (GUIDE.parent / "images").glob("vscode-*.png"):
        assert f"images/{picture.name}" in targets
        assert picture.stat().st_size < 150_000, picture.name
