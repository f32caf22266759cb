"""What a measurement was taken of is noticed when it changes, and left alone by what decides nothing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evidence_samples import CODE, changed, sample
from tests.ips import evidence, hashes, method, program_text
from tests.ips.evidence import Earlier, Evidence

SCRIPT = '''\
"""A script."""

import helper


def train(count):
    """Trains."""
    loss = helper.loss(
        count,  # samples
        2,
    )
    return loss
'''
HELPER = '''\
import math

SCALE = 3
"""A number."""
OTHER = 4


def loss(count, power):
    return SCALE * _raised(count, power)


def _raised(count, power):
    return math.pow(count, power)


def unused(count):
    return OTHER
'''


def text_of(folder: Path, script: str = SCRIPT, helper: str = HELPER) -> str:
    (folder / "helper.py").write_text(helper)
    return program_text.with_helpers(script, folder)


def test_only_what_runs_is_left_of_a_text() -> None:
    assert (
        program_text.bare(SCRIPT) == "importhelper\ndeftrain(count):\n    loss=helper.loss(count,2,)\n    returnloss\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# samples", "# others"),
        ('    """Trains."""\n', ""),
        ("        count,  # samples\n        2,\n    )", "count, 2,)"),
    ],
)
def test_words_and_layout_change_nothing(tmp_path: Path, before: str, after: str) -> None:
    assert before in SCRIPT
    assert text_of(tmp_path, SCRIPT.replace(before, after)) == text_of(tmp_path)


@pytest.mark.parametrize("before", ["OTHER = 4", "    return OTHER", '"""A number."""', "unused"])
def test_what_is_not_used_of_a_helper_changes_nothing(tmp_path: Path, before: str) -> None:
    assert before in HELPER
    after = {"OTHER = 4": "OTHER = 5", "    return OTHER": "    return 6", "unused": "idle"}.get(before, "")
    assert text_of(tmp_path, helper=HELPER.replace(before, after)) == text_of(tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [("SCALE = 3", "SCALE = 4"), ("math.pow", "math.dist"), ("import math", "import cmath as math")],
)
def test_what_a_helper_runs_changes_the_text(tmp_path: Path, before: str, after: str) -> None:
    assert before in HELPER
    assert text_of(tmp_path, helper=HELPER.replace(before, after)) != text_of(tmp_path)


def test_another_batch_size_changes_the_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, SCRIPT.replace("2,", "3,")) != text_of(tmp_path)


def test_an_indent_changes_the_text() -> None:
    inside = "for x in y:\n    f(x)\n    g(x)\n"
    assert program_text.bare(inside) != program_text.bare(inside.replace("    g", "g"))


def test_a_definition_by_its_name() -> None:
    text = "class A:\n    @cache\n    def f(self):\n        return 1  # one\n\n    def g(self): ...\n\nB: int = 2\n"
    assert program_text.definition(text, "A.f") == "@cache\ndeff(self):\n    return1\n"
    assert program_text.definition(text, "B") == "B:int=2\n"
    with pytest.raises(KeyError, match=r"A\.h"):
        program_text.definition(text, "A.h")


def today() -> Evidence:
    return replace(sample(), hashes=hashes.current(CODE))


def test_evidence_of_today() -> None:
    assert evidence.stale(today()) == []


@pytest.mark.parametrize(("field", "words"), list(hashes.WORDS.items()))
def test_each_change_is_named_with_what_to_do(field: str, words: str) -> None:
    other = replace(hashes.current(CODE), **{field: "0"})  # type: ignore[arg-type]  # one of the texts
    assert evidence.stale(replace(today(), hashes=other)) == [
        f"evidence/cpu/{CODE}.json: {words} changed since the measurement: "
        f"`python -m pytest -m ips --device cpu -k {CODE}` measures it again"
    ]


@pytest.mark.parametrize("other", [{"engine": "0"}, {"method": 0}])
def test_another_method_is_named(other: dict[str, object]) -> None:
    whole = replace(today(), hashes=replace(hashes.current(CODE), **other))  # type: ignore[arg-type]  # fields of it
    (text,) = evidence.stale(whole)
    assert "how steps are timed and compared (method " in text


def test_a_method_that_measures_the_same_voids_nothing() -> None:
    first = next(iter(method.METHODS[method.CURRENT]))
    assert first != method.current_hash()
    assert evidence.stale(replace(today(), hashes=replace(hashes.current(CODE), engine=first))) == []


def test_evidence_without_hashes() -> None:
    (text,) = evidence.stale(sample())
    assert text.startswith(f"evidence/cpu/{CODE}.json does not say what it was measured of (key `hashes`): ")


def test_a_change_that_is_owned_up_to() -> None:
    other = replace(hashes.current(CODE), fixed="0")
    assert evidence.stale(replace(today(), hashes=other, changed_since="another fix")) == []
    (text,) = evidence.stale(replace(today(), changed_since="another fix"))
    assert text.endswith("and nothing has: take it out")


def test_a_change_of_the_method_is_noticed(tmp_path: Path) -> None:
    for file in method.PARTS:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(method.ROOT / file, tmp_path / file)
    assert method.unknown(tmp_path) == ""
    path = tmp_path / "perflint/bench/results.py"
    text = path.read_text()
    path.write_text(text.replace("(Student's t, with", "(Student's distribution, with") + "\n\nUNRELATED = 1\n")
    assert path.read_text().count("Student's distribution") == 1
    assert method.unknown(tmp_path) == ""
    assert "2.447" in text
    path.write_text(text.replace("2.447", "2.5"))
    assert "METHODS[1]" in method.unknown(tmp_path)


def test_an_earlier_measurement_is_kept(tmp_path: Path) -> None:
    first = replace(changed(today(), date="2026-01-01T00:00:00Z"), hashes=replace(hashes.current(CODE), fixed="0"))
    first.write(tmp_path)
    path = today().write(tmp_path, why="the fix is another one")
    (kept,) = evidence.read(path).earlier
    stated = first.report.comparisons[0]
    assert (kept.ratio, kept.low, kept.high) == pytest.approx((stated.ratio, stated.low, stated.high), rel=1e-5)
    assert (kept.date, kept.changed) == ("2026-01-01T00:00:00Z", ["what the fix makes of the script"])
    assert kept.why == "the fix is another one"
    changed(today(), date="2026-01-03T00:00:00Z").write(tmp_path)
    assert [each.why for each in evidence.read(path).earlier] == ["the fix is another one", "nobody said why"]
    assert evidence.read(path).earlier[1].changed == []


def test_the_same_measurement_is_no_earlier_one(tmp_path: Path) -> None:
    for _ in range(2):
        path = today().write(tmp_path)
    assert evidence.read(path).earlier == []


def test_all_that_evidence_says_survives_its_file(tmp_path: Path) -> None:
    first_look = Earlier("", None, None, None, ["steps 10 to 20"], "too little showed", "0123456")
    whole = replace(today(), hashes_added="later", changed_since="x", load=[0.1, 0.4], earlier=[first_look])
    path = whole.write(tmp_path)
    assert evidence.read(path) == whole
    assert set(json.loads(path.read_text())) == {
        *("rule", "device", "environment", "hashes", "hashes_added", "changed_since", "load", "earlier", "report")
    }
