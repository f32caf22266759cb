"""Which Paddle a project admits, and that no edit is offered which the oldest of them cannot run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Edit, Fix, Level
from perflint.flow.resolving import opened
from perflint.inputs.input_files import (
    Admitted,
    InputFile,
    hold_back,
    lower_bound,
    nearest,
    read_inputs,
    stated,
    version_of,
)
from perflint.lint.version_checks import oldest_for
from perflint.run import cache, engine
from perflint.run.session import Session
from perflint.server.client import EditorSettings
from perflint.server.workspace import Configured, Disk
from perflint.text.source import Source
from tests.support import project as project_of

# PPF205 writes `paddle.full([], 0.5)`, a tensor without dimensions, which Paddle has since 2.5.
SCRIPT = """\
import paddle


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y) * paddle.to_tensor(0.5)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("specifier", "bound"),
    [
        (">=2.2", ((2, 2), False)),
        ("==2.3.*", ((2, 3), False)),
        ("~=2.4", ((2, 4), False)),
        (">2.1,<3", ((2, 1), False)),
        ("<3,>=2.4.2", ((2, 4, 2), False)),
        ("==2.2.2.post112", ((2, 2, 2), False)),
        ("==2.5.0", ((2, 5), False)),
        ("==2.6.0rc1", ((2, 6), False)),
        ("=2.4", ((2, 4), False)),
        ("^2.4", ((2, 4), False)),
        ("<2.5", ((2, 5), True)),
        ("<=2.4.2", ((2, 4, 2), False)),
        ("!=2.4.1", None),
        ("", None),
    ],
)
def test_the_oldest_release_of_a_specifier(specifier: str, bound: tuple[tuple[int, ...], bool] | None) -> None:
    assert lower_bound(specifier) == bound


@pytest.mark.parametrize(
    ("text", "version"),
    [("2.5", (2, 5)), ("2.5.0", (2, 5)), ("2.2.2.post112", (2, 2, 2)), ("develop", None), ("0.0.0", None)],
)
def test_the_numbers_of_a_release(text: str, version: tuple[int, ...] | None) -> None:
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("name", "text", "version", "line"),
    [
        ("requirements.txt", "numpy\npaddlepaddle>=2.2\n", (2, 2), 2),
        ("requirements.txt", "paddlepaddle-gpu == 2.2.2.post112  # CUDA 11.2\n", (2, 2, 2), 1),
        ("requirements.txt", 'paddlepaddle>=2.4; python_version < "3.12"\n', (2, 4), 1),
        ("requirements-gpu.txt", "paddlepaddle_gpu[all] (>=2.3)\n", (2, 3), 1),
        ("requirements.txt", "https://x.cn/whl/paddlepaddle_gpu-2.2.1.post101-cp37-cp37m-linux.whl\n", (2, 2, 1), 1),
        ("requirements.txt", "paddlepaddle>=2.6\npaddlepaddle-gpu>=2.4\n", (2, 4), 2),
        ("requirements/base.txt", "paddlepaddle~=2.4\n", (2, 4), 1),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    paddlepaddle>=2.3\n", (2, 3), 4),
        ("setup.py", "setup(\n    install_requires=[\n        'paddlepaddle >= 1.8.5',\n    ],\n)\n", (1, 8, 5), 3),
        ("pyproject.toml", '[project]\ndependencies = ["numpy", "paddlepaddle>=2.2"]\n', (2, 2), 2),
        ("pyproject.toml", '[project.optional-dependencies]\ngpu = ["paddlepaddle-gpu>=2.3"]\n', (2, 3), 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\npaddlepaddle = "^2.4"\n', (2, 4), 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\npaddlepaddle = { version = ">=2.4,<3" }\n', (2, 4), 2),
        ("environment.yml", "dependencies:\n  - paddlepaddle=2.4\n  - pip:\n    - numpy\n", (2, 4), 2),
        ("requirements.txt", "paddlepaddle<2.5\n", (2, 5), 1),
    ],
)
def test_requirements_are_read(name: str, text: str, version: tuple[int, ...], line: int, tmp_path: Path) -> None:
    _write(tmp_path, {name: text, "train.py": ""})
    admitted = nearest(str(tmp_path / "train.py"), read_inputs([str(tmp_path / "train.py")], tmp_path))
    assert admitted is not None
    assert (admitted.version, admitted.path, admitted.line) == (version, name, line)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "paddlepaddle\nnumpy>=1.20\n"),
        ("requirements.txt", "# paddlepaddle>=2.0\nnumpy\n"),
        ("requirements.txt", "x2paddlepaddle>=1.0\n"),
        ("requirements.txt", "paddlenlp>=2.0\n"),
        ("setup.py", "setup(keywords=('segmentation paddlepaddle'))\n"),
        ("notes.txt", "paddlepaddle>=2.0\n"),
    ],
)
def test_what_says_nothing_of_paddle(name: str, text: str, tmp_path: Path) -> None:
    _write(tmp_path, {name: text, "train.py": ""})
    assert not read_inputs([str(tmp_path / "train.py")], tmp_path).said


def test_the_nearest_requirements_hold_and_none_above_the_repository(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "requirements.txt": "paddlepaddle>=1.8\n",
            "repo/.git/HEAD": "",
            "repo/requirements.txt": "paddlepaddle>=2.2\n",
            "repo/new/requirements.txt": "paddlepaddle>=2.6\n",
            "repo/new/src/train.py": "",
            "repo/old/train.py": "",
        },
    )
    paths = [str(tmp_path / "repo" / part) for part in ("new/src/train.py", "old/train.py")]
    found = read_inputs(paths, tmp_path / "repo")
    assert [nearest(path, found) for path in paths] == [
        Admitted((2, 6), "new/requirements.txt", 1),
        Admitted((2, 2), "requirements.txt", 1),
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in directories")
def test_a_pipe_a_device_and_a_large_file_say_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "requirements.txt")
    (tmp_path / "requirements-gpu.txt").symlink_to("/dev/zero")
    _write(tmp_path, {"requirements-all.txt": "#" * 1_000_001 + "\npaddlepaddle>=2.2\n", "train.py": ""})
    assert not read_inputs([str(tmp_path / "train.py")], tmp_path).said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('import paddle\npaddle.utils.require_version("2.2")\n', [((2, 2), 2)]),
        ("import paddle\npaddle.utils.require_version(min_version='2.4.0')\n", [((2, 4), 2)]),
        ("import paddle\nOLDEST = '2.3'\n\npaddle.utils.require_version(OLDEST)\n", [((2, 3), 4)]),
        ("import paddle\n\ndef check_version(version='2.2'):\n    pass\n", [((2, 2), 3)]),
        ("import paddle\ncheck.check_version('2.0')\n", [((2,), 2)]),
        ("import paddle\ncheck_version('develop')\n", []),
        ('import paddle\nassert paddle.__version__ >= "2.1", "too old"\n', [((2, 1), 2)]),
        ('import paddle\nassert Version(paddle.__version__) >= Version("2.1")\n', [((2, 1), 2)]),
        ('import paddle\nif paddle.__version__ < "2.2":\n    raise ImportError\n', [((2, 2), 2)]),
        ('import paddle\nif paddle.__version__ < "2.2":\n    print("old")\n', []),
        ('import paddle\n# paddle.utils.require_version("2.0")\n', []),
        ('import paddle\nrequire_version("datasets>=1.8.0")\n', []),
        ('import torch\nrequire_version("1.8.0")\n', []),
    ],
)
def test_version_checks_in_code(text: str, found: list[tuple[tuple[int, ...], int]]) -> None:
    project = opened({"train.py": Source("train.py", text)})
    admitted = oldest_for(project.files["train.py"], Settings(join_lines=False))
    assert [(admitted.version, admitted.line)] == found if admitted else not found


def test_a_check_in_a_shared_module_holds_for_all_and_one_in_a_script_for_what_it_loads() -> None:
    texts = {
        "lib/check.py": "import paddle\n\ndef check_version(version='2.4'):\n    pass\n",
        "train.py": "from lib import check\nimport lib.net\n",
        "lib/net.py": "import paddle\n",
        "old/infer.py": "import paddle\nimport helper\npaddle.utils.require_version('1.6.0')\n",
        "old/helper.py": "import paddle\n",
    }
    project = opened({path: Source(path, text) for path, text in texts.items()})
    versions = {path: oldest_for(project.files[path], Settings(join_lines=False)) for path in texts}
    assert {path: found and found.version for path, found in versions.items()} == {
        "lib/check.py": (2, 4),
        "train.py": (2, 4),
        "lib/net.py": (2, 4),
        "old/infer.py": (1, 6),
        "old/helper.py": (1, 6),
    }


def test_a_function_that_checks_holds_for_all_also_where_nothing_in_sight_imports_it() -> None:
    texts = {
        "lib/check.py": "import paddle\n\ndef check_version(version='2.2'):\n    pass\n",
        "lib/net.py": "import paddle\n",
    }
    project = opened({path: Source(path, text) for path, text in texts.items()})
    assert oldest_for(project.files["lib/net.py"], Settings(join_lines=False)) == Admitted((2, 2), "lib/check.py", 3)


@pytest.mark.parametrize(
    ("admitted", "kept"),
    [
        (None, True),
        (Admitted((2, 5), "requirements.txt", 3), True),
        (Admitted((2, 6), "requirements.txt", 3), True),
        (Admitted((2, 2), "requirements.txt", 3), False),
        (Admitted((2, 5), "requirements.txt", 3, excluded=True), False),
        (Admitted((3,), "requirements.txt", 3, excluded=True), True),
    ],
)
def test_an_edit_that_needs_a_newer_paddle_becomes_words(admitted: Admitted | None, kept: bool) -> None:
    fix = Fix("fill the tensor", (Edit(0, 1, "x"),), Level.SAFE, paddle="2.5", imports=("import paddle",))
    found = hold_back(fix, admitted)
    if kept:
        assert found == fix
    else:
        assert (found.edits, found.imports, found.level, found.message) == ((), (), Level.DISPLAY, "fill the tensor")
        assert found.reason.startswith("the edit needs Paddle 2.5, and requirements.txt line 3 admits ")


def test_requirements_hold_back_the_edit_of_a_run_and_the_cache_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, {"src/train.py": SCRIPT, "setup.cfg": "[metadata]\n"})
    assert _fix_of(capsys) == ("safe", "2.5", None)
    _write(tmp_path, {"requirements.txt": "numpy\npaddlepaddle>=2.2\n"})
    reason = "the edit needs Paddle 2.5, and requirements.txt line 2 admits 2.2"
    assert _fix_of(capsys) == ("display", "2.5", reason)
    _write(tmp_path, {"requirements.txt": "numpy\npaddlepaddle>=2.5\n"})
    assert _fix_of(capsys) == ("safe", "2.5", None)
    _write(tmp_path, {"perflint.toml": 'target-paddle = "2.4"\n'})
    assert _fix_of(capsys) == ("display", "2.5", "the edit needs Paddle 2.5, and target-paddle admits 2.4")
    _write(tmp_path, {"perflint.toml": 'target-paddle = "3.0"\n', "requirements.txt": "paddlepaddle>=2.2\n"})
    assert _fix_of(capsys) == ("safe", "2.5", None)


def test_a_version_check_that_is_edited_changes_the_fixes_of_other_files() -> None:
    texts = {
        "check.py": "import paddle\n\n\ndef check_version(version='2.5'):\n    pass\n",
        "train.py": "from check import check_version\n" + SCRIPT,
    }
    session = Session(
        {path: Source(path, text) for path, text in texts.items()}, Settings(join_lines=False), edited=["check.py"]
    )
    assert [item.fix and item.fix.level for item in session.findings()] == [Level.SAFE]
    texts["check.py"] = texts["check.py"].replace("2.5", "2.2")
    session.edit("check.py", texts["check.py"])
    session.catch_up()
    sources = {path: Source(path, text) for path, text in texts.items()}
    assert session.findings() == engine.check(sources, Settings(join_lines=False))
    assert [item.fix and item.fix.reason for item in session.findings()] == [
        "the edit needs Paddle 2.5, and check.py line 4 admits 2.2"
    ]


def test_an_editor_hears_of_requirements_too(tmp_path: Path) -> None:
    class Quiet:
        def note(self, text: str) -> None: ...

        def complain(self, text: str) -> None: ...

    _write(tmp_path, {"train.py": SCRIPT, "requirements.txt": "paddlepaddle>=2.2\n"})
    expected = {"requirements": {str(tmp_path): (InputFile("requirements.txt", ((1, (2, 2), False),)),)}}
    configured = Configured(tmp_path, Quiet())  # type: ignore[arg-type]  # all that it needs here
    configured.look(EditorSettings())
    assert configured.settings is not None
    assert configured.settings.inputs.said == expected
    disk = Disk(str(tmp_path), Quiet())  # type: ignore[arg-type]
    disk.look(configured.settings)
    assert disk.inputs.said == expected
    _write(tmp_path, {"requirements.txt": "paddlepaddle>=2.6\n"})
    configured.look(EditorSettings())
    assert nearest(str(tmp_path / "train.py"), configured.settings.inputs) == Admitted((2, 6), "requirements.txt", 1)


def _write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def _fix_of(capsys: pytest.CaptureFixture[str]) -> tuple[str, str, str | None]:
    """Level, release and reason of the one finding of the source; asked twice, so that the cache answers once."""
    answers = []
    for _ in range(2):
        assert main(["check", "--output-format", "json", "src"]) == 1
        [finding] = json.loads(capsys.readouterr().out)
        assert bool(finding["fix"]["edits"]) == (finding["fix"]["applicability"] == "safe")
        answers.append(tuple(finding["fix"][key] for key in ("applicability", "paddle", "reason")))
    assert answers[0] == answers[1]
    level, paddle, reason = answers[0]
    return level, paddle, reason


@pytest.mark.parametrize(("target", "level"), [("2.5", Level.DISPLAY), ("2.6", Level.UNSAFE)])
def test_saving_in_the_background_needs_paddle_2_6(target: str, level: Level) -> None:
    example = next(example.bad for example in catalogue.shipped()["PPF402"].examples if example.level is Level.UNSAFE)
    assert example is not None
    settings = Settings(join_lines=False, select=("PPF402",), target_paddle=target)
    (finding,) = engine.check({"train.py": Source("train.py", example)}, settings)
    assert finding.fix is not None
    assert (finding.fix.level, bool(finding.fix.edits)) == (level, level is Level.UNSAFE)


@pytest.mark.timeout(20)
def test_runs_of_blanks_are_read_in_one_go() -> None:
    """A pattern that tries a run of blanks in many ways takes minutes for these rows."""
    blanks = " \t" * 800
    text = f"paddlepaddle{blanks}\n" * 2_000 + f"paddlepaddle{blanks}>={blanks[:100]}2.4\n"
    assert list(stated("requirements.txt", text)) == [(2_001, (2, 4), False)]


def test_a_file_for_fluid_admits_no_paddle_that_lacks_it() -> None:
    text = "import os\nimport paddle.fluid as fluid\n"
    files = project_of(
        {"train.py": text, "either.py": "try:\n    import paddle.fluid\nexcept ImportError:\n    pass\n"}
    ).files
    admitted = oldest_for(files["train.py"], Settings(join_lines=False))
    assert admitted == Admitted((2, 5), "train.py", 2, excluded=True)
    assert admitted.lacks((2, 5)) and not admitted.lacks((2, 4))
    assert oldest_for(files["either.py"], Settings(join_lines=False)) is None
