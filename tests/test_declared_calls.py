"""Functions of the project that the configuration declares: read, checked, shown, and reported where they cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from perflint.configuration.config_files import describe, load
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import DeclaredCall, Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.run import engine
from perflint.text.source import Source
from tests.config_schema import insist_agreed
from tests.support import in_step, sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

KNOWN = {"PPF101": ("dataloader-no-workers",), "PPF201": ("host-sync-in-step",)}


def declared(directory: Path, text: str) -> Settings:
    """The settings that a perflint.toml gives."""
    (directory / "perflint.toml").write_text(dedent(text), encoding="utf-8")
    try:
        settings = load(directory, known=KNOWN)
    except ConfigError:
        insist_agreed(dedent(text), KNOWN, is_right=False)
        raise
    insist_agreed(dedent(text), KNOWN, is_right=True)
    return settings


def found(files: Mapping[str, str] | str, *select: str, **options: object) -> list[Finding]:
    """The findings with and without the gates, which are the same."""
    given = sources(files)
    settings = Settings(join_lines=False, select=select, min_impact=ImpactLevel.LOW, **options)  # type: ignore[arg-type]
    return engine.check(given, settings)


def rows(findings: list[Finding], text: str) -> list[tuple[str, int]]:
    lines = Source("train.py", dedent(text)).lines
    return [(item.code, lines.position(item.start)[0]) for item in findings]


# --- reading


def test_the_tables_are_read(tmp_path: Path) -> None:
    settings = declared(
        tmp_path,
        """
        checkpoint-calls = ["mylib.io.save_state"]
        logging-calls = ["mylib.log.line"]

        [loaders]
        "mylib.data.build_loader" = { workers = "n_workers", position = 3, default = 2 }
        "mylib.data.make_loader" = "num_workers"

        [sync-calls]
        "mylib.meter.Meter.update" = "value"
        "mylib.dist.mean" = { tensor = "x", position = 0 }
        "mylib.dist.barrier" = {}
        """,
    )
    assert settings.loaders == {
        "mylib.data.build_loader": DeclaredCall("n_workers", 3, 2),
        "mylib.data.make_loader": DeclaredCall("num_workers", None, 0),
    }
    assert settings.sync_calls == {
        "mylib.meter.Meter.update": DeclaredCall("value"),
        "mylib.dist.mean": DeclaredCall("x", 0),
        "mylib.dist.barrier": DeclaredCall(),
    }
    assert settings.checkpoint_calls == {"mylib.io.save_state": DeclaredCall()}
    assert settings.logging_calls == {"mylib.log.line": DeclaredCall()}


def test_what_describe_shows_can_be_read_again(tmp_path: Path) -> None:
    text = """
        sync-calls = ["a.b"]
        checkpoint-calls = ["a.save"]
        [loaders]
        "a.build" = { workers = "n", position = 2, default = 1 }
        "a.make" = "workers"
        [logging-calls]
        "a.log" = "loss"
        """
    settings = declared(tmp_path, text)
    shown = describe(settings)
    assert tomllib.loads(shown)["checkpoint-calls"] == ["a.save"]
    again = tmp_path / "again"
    again.mkdir()
    assert declared(again, shown).loaders == settings.loaders
    assert declared(again, shown).sync_calls == settings.sync_calls
    assert declared(again, shown).logging_calls == settings.logging_calls


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("loaders = 3", "loaders: found 3 (a whole number), expected a table from qualified names to the parameter"),
        ('loaders = ["a.b"]', 'loaders: found ["a.b"] (a list), expected a table from qualified names'),
        ('loaders = { build = "n" }', 'loaders: "build" is not a qualified name'),
        ('loaders = { "a.b()" = "n" }', 'loaders: "a.b()" is not a qualified name'),
        ('loaders = { "a.b" = 3 }', 'loaders: "a.b": found 3 (a whole number), expected the name of a parameter, or'),
        (
            'loaders = { "a.b" = {} }',
            'loaders: "a.b": found {} (a table), expected the name of a parameter, or a table',
        ),
        ('loaders = { "a.b" = { workers = "n", place = 1 } }', 'loaders: "a.b": place: there is no such key; '),
        (
            'loaders = { "a.b" = { workers = 3 } }',
            'loaders: "a.b": workers: found 3 (a whole number), expected the name',
        ),
        ('loaders = { "a.b" = { workers = "n", position = -1 } }', 'loaders: "a.b": position: found -1'),
        ('loaders = { "a.b" = { workers = "n", default = true } }', 'loaders: "a.b": default: found true (a boolean)'),
        ('sync-calls = "a.b"', 'sync-calls: found "a.b" (a string), expected a list of qualified names, or a table'),
        ('sync-calls = ["sync"]', 'sync-calls: "sync" is not a qualified name; write it as in an import'),
        ('sync-calls = { "a.b" = { workers = "n" } }', 'sync-calls: "a.b": workers: there is no such key; '),
        ('checkpoint-calls = { "a.b" = "x" }', 'checkpoint-calls: found { "a.b" = "x" } (a table), expected a list of'),
        ("logging-calls = [1]", "logging-calls: found [1] (a list), expected a list of qualified names"),
    ],
)
def test_mistakes_name_the_file_the_key_and_what_is_expected(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        declared(tmp_path, f"# a comment\n{line}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'perflint.toml'}:2: {message}")


# --- loaders

LOADERS = {"mylib.data.build_loader": DeclaredCall("n_workers", 2)}


def test_a_declared_loader_without_workers_is_reported() -> None:
    text = """\
        from mylib.data import build_loader
        from mylib import data

        train_loader = build_loader(train_set, 32)
        train_loader = build_loader(train_set, 32, 0)
        train_loader = data.build_loader(train_set, batch_size=32, n_workers=0)
        train_loader = build_loader(train_set, 32, 4)
        train_loader = build_loader(train_set, n_workers=config.workers)
        test_loader = build_loader(test_set, 32)
        train_loader = other.build_loader(train_set, 32)
        train_loader = build_loader(train_set, **options)
        """
    findings = found(text, "PPF101", loaders=LOADERS)
    assert rows(findings, text) == [("PPF101", 4), ("PPF101", 5), ("PPF101", 6)]
    assert [edit.content for item in findings if item.fix for edit in item.fix.edits] == [", n_workers=4", "4", "4"]
    assert all(item.fix and item.fix.level is Level.UNSAFE for item in findings)
    assert found(text, "PPF101") == []


def test_a_declared_loader_with_workers_of_its_own_is_fine() -> None:
    text = "from mylib.data import build_loader\ntrain_loader = build_loader(train_set, 32)\n"
    assert found(text, "PPF101", loaders={"mylib.data.build_loader": DeclaredCall("n_workers", 2, 4)}) == []


def test_what_a_declared_loader_gives_is_batches() -> None:
    text = """\
        from mylib.data import make_stream


        def train(model, optimizer, dataset):
            stream = make_stream(dataset)
            for x in stream:
                total = x.item()
                loss = model(x)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                print(x)
        """
    text = "import paddle\n" + dedent(text)
    assert ("PPF202", 13) not in rows(found(text, "PPF202"), text)
    declared_loaders = {"mylib.data.make_stream": DeclaredCall("workers", None, 2)}
    assert ("PPF202", 13) in rows(found(text, "PPF202", loaders=declared_loaders), text)


def test_a_function_of_the_project_is_known_by_where_it_is_defined() -> None:
    files = {
        "mylib/__init__.py": "from .data import build\n",
        "mylib/data.py": "def build(dataset, n_workers=0):\n    return Pipeline(dataset, n_workers)\n",
        "train.py": "from mylib import build\n\ntrain_loader = build(train_set)\n",
    }
    findings = found(files, "PPF101", loaders={"mylib.data.build": DeclaredCall("n_workers", 1)})
    assert [(item.path, item.start) for item in findings] == [("train.py", files["train.py"].index("build(train_set)"))]


def test_the_place_of_a_parameter_is_read_off_the_function() -> None:
    """A declaration may name a parameter alone: what a call gives it by position counts all the same."""
    files = {
        "mylib/__init__.py": "",
        "mylib/data.py": "def build(dataset, n_workers=0):\n    return Pipeline(dataset, n_workers)\n",
        "train.py": "from mylib.data import build\n\nmany = build(train_set, 4)\nnone = build(train_set, 0)\n",
    }
    findings = found(files, "PPF101", loaders={"mylib.data.build": DeclaredCall("n_workers")})
    assert [(item.path, item.start) for item in findings] == [("train.py", files["train.py"].rindex("build"))]


# --- host reads, checkpoints and logs


@pytest.mark.parametrize("argument", ["loss", "value=loss"])
def test_a_declared_host_read_by_position_and_by_name(argument: str) -> None:
    text = "from mylib import dist\n\n" + in_step(f"mean = dist.mean({argument})")
    calls = {"mylib.dist.mean": DeclaredCall("value")}
    assert [item.code for item in found(text, "PPF201", sync_calls=calls)] == ["PPF201"]
    text = text.replace("loss)", "3)")
    assert found(text, "PPF201", sync_calls=calls) == []


def test_a_declared_host_read_is_reported_in_step_code() -> None:
    text = "from mylib import Meter, dist\n\nmeter = Meter()\n" + in_step(
        """
        mean = dist.mean(loss)
        meter.update(loss)
        meter.update(step)
        if step % 10 == 0:
            dist.mean(loss)
        """
    )
    calls = {"mylib.dist.mean": DeclaredCall(), "mylib.Meter.update": DeclaredCall("value", 0)}
    findings = found(text, "PPF201", sync_calls=calls)
    assert rows(findings, text) == [("PPF201", 15), ("PPF201", 16)]
    assert [item.fix.level for item in findings if item.fix] == [Level.DISPLAY, Level.DISPLAY]
    assert [item.fix.reason for item in findings if item.fix][1].startswith("no gain while the same step also reads")
    assert found(text, "PPF201") == []


def test_a_declared_host_read_is_one_finding_with_what_it_reads() -> None:
    text = "from mylib import mean\n" + in_step("mean(loss.item())")
    assert len(found(text, "PPF2", sync_calls={"mylib.mean": DeclaredCall()})) == 1


def test_a_declared_checkpoint_is_reported_in_step_code() -> None:
    text = "from mylib import save_state\n" + in_step("save_state(model)\nif step % 100 == 0:\n    save_state(model)")
    text += "    save_state(model)\n"
    findings = found(text, "PPF401", checkpoint_calls={"mylib.save_state": DeclaredCall()})
    assert rows(findings, text) == [("PPF401", 13)]
    assert found(text, "PPF401") == []


def test_declared_logging_is_told_apart_by_what_it_is_handed() -> None:
    text = "from mylib import track\n" + in_step("track(step, 3)\ntrack(step, loss)")
    findings = found(text, "PPF202", "PPF405", logging_calls={"mylib.track": DeclaredCall()})
    assert rows(findings, text) == [("PPF405", 13), ("PPF202", 14)]
    assert all(item.fix and item.fix.level is Level.UNSAFE for item in findings)
    # Only the parameter that the declaration names is looked at.
    findings = found(text, "PPF202", "PPF405", logging_calls={"mylib.track": DeclaredCall("value", 0)})
    assert rows(findings, text) == [("PPF405", 13), ("PPF405", 14)]
    assert found(text, "PPF202", "PPF405") == []
