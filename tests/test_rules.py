"""The rule files are their own tests: bad examples are reported, fixed ones follow, good ones are quiet."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from perflint import catalogue
from perflint.catalogue import CatalogueError, Example, Rule
from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source

RULES = catalogue.shipped()
REPORTED = [rule for rule in RULES.values() if rule.examples]
BAD = [
    pytest.param(rule, example, id=f"{rule.code}-{example.title}")
    for rule in REPORTED
    for example in rule.examples
    if example.bad is not None
]
STEPS = [given for given in BAD if given.values[0].code not in ("PPF001", "PPF002")]  # type: ignore[union-attr]
"""PPF001 has no fix, and PPF002 is about comments: ``test_unused_noqa.py`` has its own questions."""
GOOD = [
    pytest.param(rule, example, id=f"{rule.code}-{example.title}")
    for rule in REPORTED
    for example in rule.examples
    if example.good is not None
]
PATH = "train.py"
RULE_CODE = Path(__file__).resolve().parents[1] / "perflint" / "rules"
NEEDS_NO_EXAMPLE = {"PPF001", "PPF003"}


def _check(text: str, *codes: str) -> list[Finding]:
    # Whether a comment is of use is only known of rules that are on.
    select = ("ALL",) if codes == ("PPF002",) else codes
    settings = Settings(join_lines=False, select=select, whole_project=True, min_impact=ImpactLevel.LOW)
    found = engine.check({PATH: Source(PATH, text)}, settings)
    return [finding for finding in found if "ALL" in codes or finding.code in codes]


def _rows(findings: list[Finding], text: str) -> tuple[int, ...]:
    lines = Source(PATH, text).lines
    return tuple(lines.position(finding.start)[0] for finding in findings)


def _fixed(text: str, level: Level, *codes: str) -> str:
    source = Source(PATH, text)
    outcome = fixer.fix_all(
        {PATH: source},
        lambda sources: engine.check(sources, Settings(join_lines=False, select=codes, min_impact=ImpactLevel.LOW)),
        level,
    )
    assert outcome.settled, "the fixes never come to an end"
    assert not outcome.rejected, outcome.rejected
    return outcome.changed.get(PATH, source).text


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_example_is_reported_at_its_lines(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    found = _check(example.bad, rule.code)
    assert _rows(found, example.bad) == example.lines
    assert example.lines, "say which lines are reported"


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_every_finding_carries_a_fix_of_the_stated_level(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    fixes = [finding.fix for finding in _check(example.bad, rule.code)]
    for fix in fixes:
        assert fix is not None
        assert fix.message
        assert fix.level is Level.SAFE or fix.reason, "say why it is not safe"
    # A width that two layers share is padded at the first and shown at the second: the level is that of the best fix.
    assert example.level in (None, max(fix.level for fix in fixes if fix))


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_message_is_one_sentence_with_nothing_left_open(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    for finding in _check(example.bad, rule.code):
        assert finding.message[-1] in ".)", finding.message
        assert "\n" not in finding.message
        assert rule.code not in finding.message
        assert not re.search(r"\{(what|where|workers|interval|size|aligned|role|line)\}", finding.message)


@pytest.mark.parametrize(("rule", "example"), STEPS)
def test_fixed_example_is_what_the_fixes_make(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    levels = [finding.fix.level for finding in _check(example.bad, rule.code) if finding.fix]
    applied = _fixed(example.bad, Level.UNSAFE, rule.code)
    if example.fixed is None:
        assert applied == example.bad, "display fixes are never applied; give the fixed text for the others"
        assert max(levels) is Level.DISPLAY
        return
    assert applied == example.fixed
    ast.parse(applied)
    assert _fixed(applied, Level.UNSAFE, rule.code) == applied, "a second run changes something"
    assert _comments(example.bad) == _comments(applied), "a comment is lost"


@pytest.mark.parametrize(("rule", "example"), STEPS)
def test_only_safe_fixes_are_applied_without_being_asked(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    levels = {finding.fix.level for finding in _check(example.bad, rule.code) if finding.fix}
    changed = _fixed(example.bad, Level.SAFE, rule.code) != example.bad
    assert changed is (Level.SAFE in levels)


@pytest.mark.parametrize(("rule", "example"), STEPS)
def test_noqa_silences_each_finding_and_nothing_else(rule: Rule, example: Example) -> None:
    assert example.bad is not None
    source = Source(PATH, example.bad)
    for finding in _check(example.bad, rule.code):
        row = source.lines.position(finding.end)[0]
        if source.lines.line(row).endswith("\\"):
            continue
        rows = example.bad.splitlines(keepends=True)
        rows[row - 1] = rows[row - 1].rstrip("\n") + f"  # noqa: {rule.code}\n"
        left = _check("".join(rows), rule.code)
        others_told = " more, at line" in finding.message  # where one finding speaks for several, the next one does
        assert len(left) < len(example.lines) + others_told
        assert all(other.start != finding.start for other in left)


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_example_is_not_reported(rule: Rule, example: Example) -> None:
    assert example.good is not None
    found = _check(example.good, rule.code)
    assert [(finding.message, _rows([finding], example.good)) for finding in found] == []


@pytest.mark.parametrize("rule", list(RULES.values()), ids=list(RULES))
def test_rule_shows_what_it_means(rule: Rule) -> None:
    if rule.code in NEEDS_NO_EXAMPLE:
        return
    assert any(example.bad for example in rule.examples)
    assert any(example.good for example in rule.examples)
    assert rule.references
    if rule.fix_level is not Level.DISPLAY:
        assert any(example.fixed for example in rule.examples)
    if rule.fix_level is not Level.SAFE:
        assert rule.fix_reason


@pytest.mark.parametrize("rule", list(RULES.values()), ids=list(RULES))
def test_each_reference_says_what_it_is_cited_for(rule: Rule) -> None:
    assert len({reference.url for reference in rule.references}) == len(rule.references)
    for reference in rule.references:
        assert reference.url.startswith("https://")
        assert len(reference.shows.split()) > 2, "a clause that a reader can check the source for"
        assert reference.shows[-1] not in ".:", "a clause, not a sentence"


def test_a_reference_without_what_it_shows_is_refused(tmp_path: Path) -> None:
    text = RULES["PPF204"].path.read_text(encoding="utf-8")
    broken = re.sub(r"\n    shows: (.|\n)*?(?=\n  - |\n[a-z])", "", text, count=1)
    (tmp_path / "PPF204.yaml").write_text(broken, encoding="utf-8")
    with pytest.raises(CatalogueError, match="shows is missing"):
        catalogue.load(tmp_path)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("phase: reading", "phase holds 'reading', expected one of reader, forward, "),
        ("phase: [wait, reading]", "phase holds 'reading', expected one of reader, forward, "),
        ("beyond_phase: more is won", "phase is missing, but beyond_phase and beyond_line need it"),
    ],
)
def test_phase_of_a_profile_that_is_none(tmp_path: Path, written: str, problem: str) -> None:
    text = RULES["PPF204"].path.read_text(encoding="utf-8")
    (tmp_path / "PPF204.yaml").write_text(text.replace("event: wait\n", "").replace("phase: wait", written))
    with pytest.raises(CatalogueError, match=re.escape(problem)):
        catalogue.load(tmp_path)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("before: [PPF201]", "before holds 'PPF201', expected a rule with a lower code"),  # not in this directory
        ("before: [PPF204]", "before holds 'PPF204', expected a rule with a lower code"),
        ("role: log", "role is 'log', expected one of read, tensor log, plain log"),
        ("joint_fix: yes please", "joint_fix is 'yes please', expected bool"),
    ],
)
def test_what_an_engine_has_to_know_is_checked(tmp_path: Path, written: str, problem: str) -> None:
    text = RULES["PPF204"].path.read_text(encoding="utf-8")
    (tmp_path / "PPF204.yaml").write_text(text.replace("event: wait\n", f"{written}\n"))
    with pytest.raises(CatalogueError, match=re.escape(problem)):
        catalogue.load(tmp_path)


def test_rules_come_in_order_except_before_others() -> None:
    order = catalogue.order()
    assert sorted(order) == list(RULES)
    for code, rule in RULES.items():
        assert all(order.index(code) < order.index(later) for later in rule.before)
    others = [
        code for code in order if not any(code in (rule.code, *rule.before) for rule in RULES.values() if rule.before)
    ]
    assert others == sorted(others)


@pytest.mark.parametrize("codes", [("PPF201",), ("PPF202",), ("PPF201", "PPF202"), ("PPF203", "PPF207"), ("PPF208",)])
def test_what_is_selected_does_not_change_what_a_place_is_reported_for(codes: tuple[str, ...]) -> None:
    text = dedent(
        """
        import paddle
        import paddle.nn.functional as F

        def train(model, loader, optimizer):
            metric = paddle.metric.Accuracy()
            for step, (x, y) in enumerate(loader):
                out = model(x)
                loss = F.cross_entropy(out, y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                print(step, loss.item(), float(out[out > 0].sum()))
                metric.update(metric.compute(out, y).numpy())
                if loss.numpy() > max(loss, 3):
                    break
                paddle.save(loss.numpy(), "loss")
        """
    )
    every = _check(text, "ALL")
    assert {finding.code for finding in every} >= {"PPF202", "PPF203", "PPF208", "PPF401"}
    expected = [(finding.code, finding.start) for finding in every if finding.code in codes]
    assert [(finding.code, finding.start) for finding in _check(text, *codes)] == expected


@pytest.mark.parametrize("rule", list(RULES.values()), ids=list(RULES))
def test_name_reads_well_after_allow(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name), "kebab-case, as in `allow host-sync-in-step`"
    assert not re.match(r"(use|avoid|do-not|no-more)-", rule.name), "name the problem, not the remedy"


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_all_rules_together_give_one_finding_a_place(rule: Rule, example: Example) -> None:
    """Advice about a whole program is given where its edit goes: two pieces of it may begin at one call."""
    assert example.bad is not None
    found = _check(example.bad, "ALL")
    for one in found:
        for other in found:
            nested = one is not other and one.start <= other.start and other.end <= one.end
            nested = nested and not all("advice" in RULES[each.code].groups for each in (one, other))
            assert not nested, (one.message, other.message)


def _said_in_code() -> Iterator[tuple[str, str, str]]:
    """The cases of ``fixes`` and ``texts`` that the code of the rules names: code, key, case."""
    for path in sorted(RULE_CODE.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        codes = dict(re.findall(r'^(\w+) = shipped\(\)\["(PPF\d+)"\]$', text, re.MULTILINE))
        for name, code in codes.items():
            for key, case in re.findall(rf'\b{name}\.(words\(|fixes\[|texts\[)"([^"]+)"', text):
                yield code, "texts" if key == "texts[" else "fixes", case


def test_what_the_code_of_a_rule_says_stands_in_its_file() -> None:
    said = list(_said_in_code())
    assert said
    assert [each for each in said if each[2] not in getattr(RULES[each[0]], each[1])] == []
