"""``perflint check --profile``: the order and the words of each output, what is hidden, and what cannot be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perflint.cli import main
from perflint.output.formats import FORMATS
from perflint.server.client import EditorSettings, resolve_settings
from perflint.server.workspace import ProfileGains
from perflint.text.source import Source
from tests.cli_runs import Output
from tests.ranking_samples import TRAIN, event, recorded, trace, two_steps, write_json
from tests.test_ranking import READ

LOG = "batch_cost: 1.0 s, reader_cost: 0.5 s\n" * 4


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAIN)
    write_json(Path("own.json"), recorded(event("paddle.save", "save", 0.033), event("loss.item", "read", 0.004)))
    Path("perflint.toml").write_text("")
    yield tmp_path


def check(*options: str) -> int:
    return main(["check", "train.py", "--no-cache", "--ignore", "PPF210", *options])  # of the forward pass


def test_full(capsys: Output) -> None:
    assert check("--profile", "own.json") == 1
    out, err = capsys.readouterr()
    first, second = (part.splitlines() for part in out.split("\n\n")[:2])
    assert first[0].startswith("train.py:20:9 PPF401 [suggestion]")
    assert "profile: 3.3 % of the step (exact): at most 1.03x" in "\n".join(first)
    assert second[0].startswith("train.py:18:17 PPF201 [suggestion]")
    assert "profile: 0.4 % of the step (exact): at most 1.00x" in "\n".join(second)
    assert out.endswith(
        "Found 2 findings in 1 file. By the profile, start with: train.py:20 PPF401 (3.3 %, exact), "
        "train.py:18 PPF201 (0.4 %, exact). "
        "1 finding of low impact is not shown (--min-impact low).\nWhy, and when to ignore it: perflint rule PPF401\n"
    )
    assert err == "note: own.json is a profile of perflint, 50 steps, on a CPU\n"


def test_concise(capsys: Output) -> None:
    check("--profile", "own.json", "--output-format", "concise")
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("train.py:20:9: PPF401 [s] 3.3 % of the step (exact): at most 1.03x; `paddle.save(")
    assert second.startswith("train.py:18:17: PPF201 [s] 0.4 % of the step (exact): at most 1.00x; `loss.item()`")


def test_json(capsys: Output) -> None:
    check("--profile", "own.json", "--output-format", "json")
    first, second = json.loads(capsys.readouterr().out)
    assert (first["code"], first["profile"]) == (
        "PPF401",
        {
            "grade": "exact",
            "share": 0.033,
            "at_most": 1.0341,
            "by": "a save in line 20",
            "shared_by": 1,
            "more": None,
            "file": "own.json",
        },
    )
    assert (second["code"], second["profile"]["share"]) == ("PPF201", 0.004)
    check("--output-format", "json")
    assert all("profile" not in each for each in json.loads(capsys.readouterr().out))


def test_sarif(capsys: Output) -> None:
    Path("train.log").write_text(LOG)
    check("--profile", "own.json", "--output-format", "sarif")
    first, second = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert [(each["ruleId"], each["rank"]) for each in (first, second)] == [("PPF401", 3.3), ("PPF201", 0.4)]
    assert first["properties"]["profile"]["by"] == "a save in line 20"
    check("--profile", "train.log", "--output-format", "sarif")
    assert [each["rank"] for each in json.loads(capsys.readouterr().out)["runs"][0]["results"]] == [0.0, 0.0]


@pytest.mark.parametrize("name", ["github", "gitlab", "junit", "rdjson"])
def test_formats_that_have_no_place_for_it(name: str, capsys: Output) -> None:
    check("--profile", "own.json", "--output-format", name)
    out = capsys.readouterr().out
    said = "Profile: 3.3 %25 of the step" if name == "github" else "Profile: 3.3 % of the step (exact): at most 1.03x."
    assert said in out
    assert out.index(said) < out.index("loss.item()")
    if name == "junit":
        assert len(ElementTree.fromstring(out)) == 1


@pytest.mark.parametrize("name", ["gitlab", "sarif"])
def test_fingerprints_do_not_depend_on_the_order(name: str, capsys: Output) -> None:
    twice = TRAIN.replace("        best = loss.numpy()\n", "        step += 1\n        total = loss.item()\n")
    Path("train.py").write_text(twice)
    second = {**event("loss.numpy", "read", 0.5), "line": 20}
    write_json(Path("own.json"), recorded(second, files={"train.py": twice}))
    found = {}
    for options in ((), ("--profile", "own.json")):
        check("--output-format", name, *options)
        data = json.loads(capsys.readouterr().out)
        if name == "gitlab":
            found[options] = [(each["location"]["positions"]["begin"]["line"], each["fingerprint"]) for each in data]
        else:
            found[options] = [
                (
                    each["locations"][0]["physicalLocation"]["region"]["startLine"],
                    each["partialFingerprints"]["perflint/v1"],
                )
                for each in data["runs"][0]["results"]
            ]
    plain, ranked = found.values()
    assert ranked[0][0] == 20
    assert sorted(plain) == sorted(ranked) != ranked


def test_least_share(capsys: Output) -> None:
    assert check("--profile", "own.json", "--min-share", "1%") == 1
    out = capsys.readouterr().out
    assert "PPF201" not in out
    assert "--min-share hides 1 that can gain less than 1.0 % of the step. 1 finding of low impact" in out
    assert check("--profile", "own.json", "--min-share", "0.05") == 0
    assert capsys.readouterr().out.startswith("No findings in 1 file. --min-share hides 2")


def test_several_profiles_and_a_changed_file(capsys: Output) -> None:
    Path("trace.json").write_bytes(trace(two_steps()))
    Path("train.py").write_text(f"# new\n{TRAIN}")
    check("--profile", "own.json", "--profile", "trace.json", "--output-format", "concise")
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith(
        "train.py:21:9: PPF401 [s] 10.0 % of the step (phase gap), and it may gain more:"
    )
    notes = [line.partition(" is ")[0] for line in err.splitlines()[:2]]
    assert notes == ["note: own.json", "note: trace.json"]
    assert "\nwarning: own.json was made with another text of this file" in err
    check("--profile", "own.json", "--quiet")
    assert capsys.readouterr().err == ""


def test_what_is_left_after_fixes_is_ranked(capsys: Output) -> None:
    Path("train.py").write_text(TRAIN.replace("num_workers=0", "num_workers=2, use_shared_memory=True"))
    assert check("--profile", "own.json", "--fix") == 1
    assert "PPF401 (3.3 %, phase)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "--profile bad cannot be read: No such file or directory"),
        (b"", "--profile bad cannot be used as a profile: it is empty: profile again"),
        (b'{"traceEvents": [{}]}', "--profile bad cannot be used as a profile: it has no steps: call step()"),
        (b"\x1b]0;owned\x07", "--profile bad cannot be used as a profile: it is not a profile that perflint knows"),
    ],
)
def test_a_file_that_is_no_profile(data: bytes | None, problem: str, capsys: Output) -> None:
    if data is not None:
        Path("bad").write_bytes(data)
    assert check("--profile", "bad") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert problem in err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--min-share", "1%"], "--min-share needs a profile: name one with --profile FILE"),
        (["--profile", "own.json", "--min-share", "1%", "--fix"], "--min-share hides findings from a report"),
        (["--profile", "own.json", "--diff"], "--profile ranks the findings of a report, and --diff shows none"),
        (["--profile", "own.json", "--add-noqa"], "and --add-noqa shows none"),
        (["--profile", "own.json", "--write-baseline"], "and --write-baseline shows none"),
    ],
)
def test_options_that_leave_nothing_to_rank(options: list[str], problem: str, capsys: Output) -> None:
    assert check(*options) == 2
    assert problem in capsys.readouterr().err
    assert Path("train.py").read_text() == TRAIN


@pytest.mark.parametrize("share", ["5", "-1%", "100%", "nan", "much", "%", ""])
def test_shares_that_are_none(share: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        check("--profile", "own.json", f"--min-share={share}")
    assert caught.value.code == 2
    assert "share of a step" in capsys.readouterr().err


def test_the_configuration_may_name_a_profile(capsys: Output) -> None:
    Path("perflint.toml").write_text('profile = "own.json"\n')
    check("--output-format", "concise")
    assert capsys.readouterr().out.startswith("train.py:20:9: PPF401 [s] 3.3 % of the step (exact)")
    assert check("--diff") == 0  # which shows no findings
    Path("train.log").write_text(LOG)
    check("--profile", "train.log")
    assert "3.3 %" not in capsys.readouterr().out
    Path("own.json").unlink()
    assert check() == 1
    out, err = capsys.readouterr()
    assert out.startswith("train.py:13, a script: 2 findings\n")
    assert "\ntrain.py:18:17 PPF201" in out
    assert "own.json, which the configuration names, does not exist: findings are not ranked" in err
    Path("own.json").write_text("{}")
    assert check() == 2
    assert "perflint.toml): " in capsys.readouterr().err


def test_names_in_a_profile_cannot_steer_a_terminal(capsys: Output) -> None:
    evil = "\x1b[2J\n::error::owned ##vso[x]"
    text = TRAIN.replace(
        "        best = loss.numpy()", f"        with RecordEvent({evil!r}):\n            best = loss.numpy()"
    )
    Path("train.py").write_text(text)
    events = [{**each, "name": each["name"].replace("read the loss", evil)} for each in two_steps()]
    Path("trace\x1b.json").write_bytes(trace(events))
    hostile = {**event("loss.item", "read", 0.25), "what": evil}
    write_json(Path("own.json"), recorded(hostile, files={"train.py": text}))
    for name in FORMATS:
        for profile in ("trace\x1b.json", "own.json"):
            check("--profile", profile, "--output-format", name)
            out, err = capsys.readouterr()
            assert "\x1b" not in out + err
            assert "\n::error::owned" not in out + err
            assert "##vso[" not in out + err
    check("--profile", "trace\x1b.json", "--output-format", "concise")
    assert r"(range \x1b[2J\n::error::owned" in capsys.readouterr().out


def test_statistics_count_what_is_shown(capsys: Output) -> None:
    check("--profile", "own.json", "--min-share", "1%", "--statistics")
    out = capsys.readouterr().out
    assert "PPF401" in out
    assert "PPF201" not in out


# --- the server


class _Told:
    def __init__(self) -> None:
        self.said: list[str] = []

    def complain(self, text: str) -> None:
        self.said.append(text)

    def note(self, text: str) -> None:
        self.said.append(text)


def test_messages_in_an_editor(tmp_path: Path) -> None:
    told = _Told()
    gains = ProfileGains(told)  # type: ignore[arg-type]  # all that it needs of it
    source = Source("train.py", TRAIN)
    gains.look(None)
    assert gains.told(source, [READ]) == [READ]
    path = tmp_path / "own.json"
    gains.look(path)
    (found,) = gains.told(source, [READ])
    assert found.message == "It costs time. Profile: 0.4 % of the step (exact): at most 1.00x."
    (edited,) = gains.told(Source("train.py", TRAIN + "\n"), [READ])
    assert edited.message.endswith("Profile: 0.4 % of the step (phase read): at most 1.00x.")
    path.write_text("{}")
    for _ in range(2):
        gains.look(path)
    assert gains.told(source, [READ]) == [READ]
    assert len(told.said) == 1
    assert f"{path} cannot be used as a profile: it is not a profile that perflint knows" in told.said[0]
    path.unlink()
    gains.look(path)
    assert len(told.said) == 1


def test_the_editors_profile_is_seen_from_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    settings = resolve_settings(folder, EditorSettings(profile="own.json"))
    assert settings.root / settings.profile == folder / "own.json"
    assert resolve_settings(folder, EditorSettings()).profile == ""
