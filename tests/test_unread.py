"""An import that is left unused stays if a file which is not checked together with its own may take it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Fix, Level
from perflint.run.engine import Unread
from perflint.text.source import Source

STEPS = """\
import numpy as np
import paddle
import paddle.nn.functional as F


def train(model, loader, opt):
    for x, y in loader:
        z = paddle.to_tensor(np.asarray(F.relu(model(x)).numpy()))
        loss = F.cross_entropy(model(x), y) + z.mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
"""
IMPORT = "import numpy as np\n"


def keeps(files: dict[str, str], *named: str) -> bool:
    """Whether a run over the named paths leaves NumPy's import in ``steps.py``."""
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    steps = next(Path(name) for name in files if name.endswith("steps.py"))
    main(["check", "--fix", "--isolated", "--no-cache", "-q", *named])
    text = steps.read_text(encoding="utf-8")
    assert "F.relu(model(x)).detach()" in text
    return text.startswith(IMPORT)


@pytest.mark.usefixtures("real_workplace")
@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"main.py": "from steps import np\n"}, "steps.py"),
        ({"tools/main.py": "import steps\nprint(steps.np.pi)\n"}, "steps.py"),
        ({"main.py": "from lib.steps import np\n", "lib/__init__.py": ""}, "lib"),
        ({"scratch/main.py": "from steps import np\n", ".gitignore": "scratch/\n"}, "."),
        ({"build/main.py": "from steps import np\n"}, "."),
        ({"main.py": "import importlib\nimportlib.import_module('lib.' + name)\n", "lib/use.py": "x = 1\n"}, "."),
    ],
)
def test_an_import_that_an_unread_file_takes_stays(files: dict[str, str], named: str) -> None:
    steps = "lib/steps.py" if any(name.startswith("lib/") for name in files) else "steps.py"
    assert keeps({**files, steps: STEPS}, named)


@pytest.mark.usefixtures("real_workplace")
@pytest.mark.parametrize(
    "files",
    [
        {},
        {"main.py": "from steps import train\nimport numpy as np\n"},
        {"main.py": "from other import np  # not from steps\n"},
        {"env/pyvenv.cfg": "", "env/main.py": "from steps import np\n"},
    ],
)
def test_an_import_that_no_file_takes_is_removed(files: dict[str, str]) -> None:
    assert not keeps({**files, "steps.py": STEPS}, "steps.py")


@pytest.mark.parametrize("is_whole", [False, True])
def test_where_there_is_too_much_to_look_at_only_a_whole_project_is_trusted(
    is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perflint.run.engine._MOST", 2)
    for name in ("steps.py", "one.py", "two.py"):
        (tmp_path / name).write_text(STEPS, encoding="utf-8")
    path = str(tmp_path / "steps.py")
    fix = Fix("keep the values on the device", (), Level.SAFE, unneeded=("numpy as np",))
    unread = Unread({path: Source(path, STEPS)}, Settings(root=tmp_path, whole_project=is_whole))
    spared = unread.spared(Finding("PPF206", path, 0, 0, "", fix)).fix
    assert spared is not None
    assert spared.unneeded == (("numpy as np",) if is_whole else ())
