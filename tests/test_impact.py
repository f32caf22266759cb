"""What findings can cost: the events, their figures, how often they happen, and who is shown what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perflint import catalogue
from perflint.catalogue import CatalogueError
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Impact, ImpactLevel
from perflint.output import rule_page, summary
from perflint.output.report import Report
from perflint.run import engine
from tests.support import in_step, sources

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
LOW, MEDIUM, HIGH = ImpactLevel
EVENTS = catalogue.events()


def _found(files: dict[str, str] | str, *select: str, least: ImpactLevel = LOW) -> list[Finding]:
    settings = Settings(join_lines=False, select=select or ("ALL",), min_impact=least)
    return engine.check(sources(files), settings)


def _impacts(text: str, code: str) -> list[Impact | None]:
    return [finding.impact for finding in _found(text, code)]


def _impacts_of(text: str, *codes: str) -> list[Impact | None]:
    """One impact for each rule, in the order of ``codes``."""
    found = {finding.code: finding.impact for finding in _found(text, *codes)}
    return [found[code] for code in codes]


# -- figures -----------------------------------------------------------------------------------------------------------


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ("log line", "PPF405"),
        ("metric", "PPF208"),
        ("batch", "PPF101"),
        ("pipe", "PPF102"),
        ("loader", "PPF107"),
        ("graph", "PPF601"),
        ("search", "PPF704"),
    ],
)
def test_a_figure_is_what_was_measured(event: str, code: str) -> None:
    measured = _results("per_event")["milliseconds_per_event"][code]
    assert EVENTS[event].milliseconds == pytest.approx(measured, rel=0.05)


def test_a_save_costs_what_a_usual_network_takes_to_write() -> None:
    measured = _results("checkpoint")
    per_mb = measured["milliseconds"]["paddle.save"] / measured["megabytes"]
    assert EVENTS["save"].milliseconds == pytest.approx(per_mb * 100, rel=0.05)
    assert EVENTS["whole save"].milliseconds == 3 * EVENTS["save"].milliseconds
    assert EVENTS["pretrained save"].milliseconds == pytest.approx(per_mb * 440, rel=0.05)


def test_a_wait_costs_what_the_model_says() -> None:
    model = _results("waiting")["milliseconds_by_host_work"]
    later = [ms for place, by_host in model.items() if "forward" not in place for ms in by_host.values()]
    assert min(later) <= EVENTS["wait"].milliseconds <= max(later)
    forward = next(by_host for place, by_host in model.items() if "forward" in place)
    assert EVENTS["wait"].forward <= max(forward.values())
    copy, wait = EVENTS["copy"], EVENTS["wait"]
    assert (copy.milliseconds, copy.forward) == (wait.milliseconds, wait.forward)


def test_the_waits_of_an_evaluation_cost_what_the_model_says() -> None:
    by_kernels = _results("waiting")["milliseconds_and_batch_of_an_evaluation"]
    waits = [ms for by_host in by_kernels.values() for ms, _ in by_host.values()]
    assert min(waits) * 100 <= EVENTS["evaluated waits"].milliseconds <= max(waits) * 100


def test_a_printed_line_costs_what_was_measured() -> None:
    measured = _results("printed_line")["microseconds_per_line"].values()
    assert min(measured) <= EVENTS["printed line"].milliseconds * 1000 <= max(measured)


def test_a_recorded_value_costs_what_was_measured() -> None:
    measured = _results("recorder")["microseconds_per_value"].values()
    assert min(measured) <= EVENTS["recorded value"].milliseconds * 1000 <= max(measured) * 1.05


def test_each_event_is_that_of_a_rule_or_a_check() -> None:
    named = {rule.event.name for rule in catalogue.shipped().values() if rule.event is not None}
    by_checks = {"printed line", "recorded value", "progress text"}  # which PPF405 names itself
    by_checks |= {"whole save", "pretrained save", "copy on the device"}  # which PPF401 and PPF205 do
    by_checks |= {"text wait"}  # which PPF201 does
    by_checks |= {"loss in two kernels"}  # which PPF904 does
    by_checks |= {"one-hot product beside a softmax"}  # which PPF905 does
    by_checks |= {"grown array outside of steps"}  # which PPF901 does
    by_checks |= {"tensors in workers", "sample that workers convert again"}  # which PPF106 and PPF114 do
    by_checks |= {"file that others read again"}  # which PPF108 does
    by_checks |= {"evaluated batch", "ready batch", "batch of rows", "other batch"}  # which PPF101 does
    by_checks |= {"pass through another network"}  # which PPF509 does
    by_checks |= {"float32 step that waits"}  # which PPF301 does
    by_checks |= {"evaluation of the training data"}  # which PPF603 does
    by_checks |= {"searched names"}  # which PPF508 does
    assert set(EVENTS) - named == by_checks


@pytest.mark.parametrize(
    ("milliseconds", "level"), [(0.0, LOW), (0.09, LOW), (0.1, MEDIUM), (2.49, MEDIUM), (2.5, HIGH)]
)
def test_levels_follow_from_the_time_of_a_step(milliseconds: float, level: ImpactLevel) -> None:
    assert EVENTS["wait"].level_of(milliseconds) is level


@pytest.mark.parametrize(("milliseconds", "level"), [(0.99, LOW), (1.0, MEDIUM), (2.5, HIGH)])
def test_what_people_look_at_has_to_cost_more(milliseconds: float, level: ImpactLevel) -> None:
    assert EVENTS["recorded value"].level_of(milliseconds) is level
    assert "below 1 ms a step" in rule_page.cost(EVENTS["recorded value"])


# -- how often ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "body", "level", "reason"),
    [
        ("PPF405", "print(step)", LOW, "a log line at each step"),
        ("PPF405", "for name in args.names:\n    print(name)", LOW, "a log line several times at each step"),
        ("PPF405", "writer.add_scalar('a', args.a, step)", LOW, "a value for a curve at each step"),
        ("PPF201", "total = loss.item()", MEDIUM, "a wait for the device at each step"),
        ("PPF201", "for part in (x, y):\n    part.numpy()", MEDIUM, "a wait for the device several times at each step"),
        ("PPF401", "paddle.save(model.state_dict(), 'a')", HIGH, "a save that training waits for at each step"),
    ],
)
def test_the_impact_of_an_event(code: str, body: str, level: ImpactLevel, reason: str) -> None:
    impacts = _impacts(in_step(body), code)
    assert [(impact.level, impact.reason) for impact in impacts if impact is not None] == [(level, reason)]


@pytest.mark.parametrize(
    ("above", "level"),
    [
        ("place = paddle.CPUPlace()\n", LOW),
        ("exe = paddle.static.Executor(paddle.CPUPlace())\n", LOW),
        ("place = paddle.CUDAPlace(0) if use_cuda else paddle.CPUPlace()\n", MEDIUM),
        ("mean = paddle.to_tensor([0.5], place=paddle.CPUPlace())\n", MEDIUM),
        ("loader = paddle.io.DataLoader(data, places=[paddle.CPUPlace()])\n", MEDIUM),
        ("def load(x, place=paddle.CPUPlace()):\n    return paddle.to_tensor(x, place=place)\n", MEDIUM),
        ("", MEDIUM),
    ],
)
@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("PPF201", "total = loss.item()"),
        ("PPF202", "print(loss)"),
        ("PPF205", "kept = paddle.to_tensor(np.ones(3))"),
    ],
)
def test_waits_and_copies_of_a_program_for_the_cpu(above: str, level: ImpactLevel, code: str, body: str) -> None:
    text = "import numpy as np\nimport paddle\n" + above + in_step(body)
    [impact] = _impacts(text, code)
    assert impact is not None and impact.level is level
    assert impact.reason.endswith("in a program for the CPU") is (level is LOW)


@pytest.mark.parametrize(
    ("above", "level"),
    [
        ('paddle.set_device("cpu")\n', LOW),
        ('if __name__ == "__main__":\n    paddle.set_device("cpu")\n', LOW),
        ('def on_cpu():\n    paddle.set_device("cpu")\n', MEDIUM),  # others may call the rest
        ('paddle.set_device("cpu" if args.cpu else "gpu")\n', MEDIUM),
    ],
)
def test_copies_of_a_program_that_begins_on_the_cpu(above: str, level: ImpactLevel) -> None:
    text = "import numpy as np\nimport paddle\n" + above + in_step("kept = paddle.to_tensor(np.ones(3))")
    assert [impact.level for impact in _impacts(text, "PPF205") if impact] == [level]


def test_what_only_programs_for_the_cpu_bring_in() -> None:
    fit = in_step("total = loss.item()")
    for main, other, level in (
        ("CPUPlace()", "", LOW),
        ("CPUPlace()", "import fit\n", MEDIUM),
        ("CUDAPlace(0)", "", MEDIUM),
    ):
        text = f"import fit\nimport paddle\n\nplace = paddle.{main}\nfit.train(None, None, None, None)\n"
        files = {"fit.py": fit, "main.py": text, "other.py": other}
        assert [finding.impact.level for finding in _found(files, "PPF201") if finding.impact] == [level]


def test_lines_of_one_step_are_added_up() -> None:
    for count, level in ((16, LOW), (17, MEDIUM)):  # 0.96 ms, 1.02 ms
        lines = [f"writer.add_scalar('{name}', args.{name}, step)" for name in "abcdefghijklmnopq"[:count]]
        impacts = _impacts(in_step("\n".join(lines)), "PPF405")
        assert {(impact.level, impact.reason) for impact in impacts if impact} == {
            (level, f"a value for a curve at each step, one of {count} there")
        }


def test_lines_of_two_programs_are_not_added_up() -> None:
    tell = "def tell(step):\n    print('step', step)\n"
    start = "from {name} import tell\nfrom train import train\n\ntrain(None, [], None, None, tell)\n"
    train = in_step("tell(step)").replace("optimizer, args", "optimizer, args, tell")
    files = {"train.py": train, "one.py": tell, "two.py": tell}
    files |= {f"run_{name}.py": start.format(name=name) for name in ("one", "two")}
    impacts = [finding.impact for finding in _found(files, "PPF405")]
    assert [(impact.level, impact.reason) for impact in impacts if impact] == [(LOW, "a log line at each step")] * 2


def test_a_save_is_divided_by_its_interval() -> None:
    saves = {10: HIGH, 100: MEDIUM, 200: LOW}
    for steps, level in saves.items():
        text = in_step(f"if step % {steps} == 0:\n    paddle.save(model.state_dict(), f'{{step}}')")
        [impact] = _impacts(text, "PPF401")
        assert impact == Impact(level, f"a save that training waits for every {steps} steps", 230 / steps)


def test_a_save_at_an_interval_that_is_not_known() -> None:
    saves = "paddle.save(model.state_dict(), 'a')\n    paddle.save(optimizer.state_dict(), 'b')"
    [impact] = _impacts(in_step(f"if step % args.n == 0:\n    {saves}"), "PPF401")
    reason = "a save of weights and optimizer that training waits for every `args.n` steps"
    assert impact == Impact(LOW, f"{reason} (how many, the code does not say; taken as 1000)", 0.69)


def test_a_save_beside_an_evaluation_costs_little() -> None:
    save = "paddle.save(model.state_dict(), f'{step}')"
    [impact] = _impacts(in_step(f"if step % 10 == 0:\n    evaluate(model)\n    {save}"), "PPF401")
    assert impact is not None
    assert (impact.level, impact.reason[-20:]) == (LOW, "beside an evaluation")


def test_waits_of_one_step_are_not_added_up() -> None:
    impacts = _impacts(in_step("a = x.numpy()\nb = y.numpy()\nc = loss.numpy()"), "PPF201")
    assert {impact.level for impact in impacts if impact} == {MEDIUM}
    assert len({impact.milliseconds for impact in impacts if impact}) == 1


def test_waits_right_behind_each_other_pay_off_together() -> None:
    impacts = _impacts(in_step("args.seen(x.numpy(), y.numpy())\nargs.last(loss.numpy())"), "PPF201")
    reason = "a wait for the device at each step, which pays off together with line"
    assert [(impact.level, impact.reason) for impact in impacts if impact] == [
        (MEDIUM, f"{reason} 13"),
        (MEDIUM, f"{reason} 13"),
        (MEDIUM, f"{reason} 12"),
    ]


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("one = paddle.to_tensor(1.0)\npaddle.distributed.all_reduce(one)", LOW),
        ("paddle.distributed.all_reduce(paddle.to_tensor([1.0]))", LOW),
        ("one = paddle.to_tensor(1.0)\npaddle.distributed.all_reduce(loss)\nargs.seen(one)", MEDIUM),
    ],
)
def test_a_copy_for_a_collective_costs_little_beside_it(body: str, level: ImpactLevel) -> None:
    assert [impact.level for impact in _impacts(in_step(body), "PPF205") if impact] == [level]


def test_a_loop_around_the_call_of_a_helper_counts() -> None:
    helper = "def tell(name):\n    print(name)\n\n\n"
    once, often = (helper + in_step(body) for body in ("tell(step)", "for name in args.names:\n    tell(name)"))
    assert [impact.reason for impact in _impacts(once, "PPF405") if impact] == ["a log line at each step"]
    assert [impact.reason for impact in _impacts(often, "PPF405") if impact] == [
        "a log line several times at each step"
    ]


def test_the_step_loop_itself_is_no_loop_inside_the_step() -> None:
    text = in_step("print(step)").replace("    for step", "    while args.more:\n        pass\n    for step")
    assert [impact.level for impact in _impacts(text, "PPF405") if impact] == [LOW]


def test_a_log_costs_what_the_read_costs_that_it_shows() -> None:
    text = in_step("total += loss.item()\nprint('mean', total / (step + 1))")
    text = text.replace("    for step", "    total = 0.0\n    for step")
    found = {finding.code: finding.impact for finding in _found(text, "PPF201", "PPF405")}
    assert found["PPF201"] is not None
    assert found["PPF405"] is not None
    assert found["PPF405"].level is found["PPF201"].level is MEDIUM


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("if loss.item() > 9:\n    raise ValueError(step)", LOW),
        ("assert loss.item() < 9", LOW),
        ("if loss.item() < 0.1:\n    break", LOW),
        ("if loss.item() < 0.1 and step:\n    return step", LOW),
        ("if loss.item() < 0.1:\n    continue\nelse:\n    args.seen = step", LOW),
        ("if loss.item() < 0.1:\n    args.seen = step", MEDIUM),
        ("while loss.item() > args.limit:\n    args.limit *= 2", LOW),
        ("paddle.zeros([y.max().item(), 4])", LOW),
        ("x[: y.max().item()]", LOW),
        ("for row in range(y.max().item()):\n    pass", LOW),
        ("args.sums[y.max().item()] = step", MEDIUM),
        ("['a', 'b'][y.max().item()]", LOW),
        ("{0: 'a'}[y.max().item()]", LOW),
        ("args.limit = y.max().item()", MEDIUM),
        ("n = int(y.max().item()) + 1\npaddle.zeros([n, 4])", LOW),
        ("n = y.max().item()\nn = 4\npaddle.zeros([n, 4])", MEDIUM),
        ("rows = y.numpy()\nnp.zeros([rows.shape[0], len(rows)])", MEDIUM),
        ("rows = y.numpy()\nnp.zeros([rows[0], 4])", LOW),
        ("n = F.relu(y.max().item())\npaddle.zeros([n, 4])", MEDIUM),
        ("paddle.reshape(y.numpy(), [4, -1])", MEDIUM),
        ("paddle.reshape(x, [y.max().item(), -1])", LOW),
        ("np.random.choice(4, p=y.numpy())", LOW),
        ("import pickle\npickle.dumps(y.numpy())", LOW),
    ],
)
def test_a_value_that_the_host_needs_to_go_on(body: str, level: ImpactLevel) -> None:
    found = _found(in_step(body), "PPF201", "PPF203")
    assert {finding.impact.level for finding in found if finding.impact} == {level}
    said = any(finding.impact and "that the host needs to go on" in finding.impact.reason for finding in found)
    assert said == (level is LOW)


def _reasons_in_forward(body: str) -> set[str]:
    text = f"""\
    import paddle


    class Loss(paddle.nn.Layer):
        def forward(self, x, y):
            keep = paddle.not_equal(y, x)
            loss = paddle.zeros([])
            if keep.sum() > 0:
                {body}
            return loss
    """
    return {finding.impact.reason for finding in _found(text, "PPF203") if finding.impact}


@pytest.mark.parametrize("body", ["loss = paddle.masked_select(x, keep).mean()", "loss = x[keep].mean()"])
def test_a_test_pays_off_together_with_what_its_branch_selects(body: str) -> None:
    assert _reasons_in_forward(body) == {
        "a wait for the device in each forward pass, which pays off together with line 9"
    }


def test_a_backward_pass_gives_the_device_work_before_the_next_wait() -> None:
    read, rows = "value = loss.item()", "rows = y[y > 0]"
    near = _impacts(in_step(f"y = y + 1\n{rows}\n{read}"), "PPF201")
    far = _impacts(in_step(f"y = y + 1\n{rows}\nloss.backward()\n{read}"), "PPF201")
    assert [impact.level for impact in (*near, *far) if impact] == [LOW, MEDIUM]


def test_a_large_branch_of_a_forward_pass_is_a_part_of_the_model() -> None:
    chosen = {"a wait for the device that chooses what the model does next"}
    usual = {"a wait for the device in each forward pass"}
    assert _reasons_in_forward("x = x * 2; x = x + y; y = y - x; loss = x.mean()") == chosen
    assert _reasons_in_forward("for part in self.parts: loss = loss + part(x)") == chosen
    assert _reasons_in_forward("x = x * 2; loss = x.mean()") == usual
    assert _reasons_in_forward("print(keep)") == {"a wait for the device for a message"}
    assert _reasons_in_forward("x[keep] = 0.0; loss = x.mean()") == usual


def _copy_in_forward(*before: str) -> Impact | None:
    body = "\n        ".join(before)
    return _impacts_of(
        f"""\
import paddle
from paddle import nn


class Loss(nn.Layer):
    def forward(self, x, rows, n):
        {body}
        return x.mean() * paddle.to_tensor(2.0)
""",
        "PPF205",
    )[0]


@pytest.mark.parametrize(
    ("before", "line"),
    [
        (("for row in rows:", "    if (paddle.exp(row) > 0).any():", "        x = x + row"), 8),
        (("total = 0", "for row in rows:", "    total += paddle.exp(row).sum().item()", "x = x + total"), 9),
        (("x = x + paddle.max(x).item()",), 7),
        (("x = x + 1", "if (x > 0).any():", "    x = x * 2"), 8),
        (("x = x[x > 0]",), 7),
        (("keep = paddle.nonzero(x)", "x = x.sum() + keep.sum()"), 7),
        (("count = paddle.max(x)", "x = x.sum() + paddle.zeros([count, 4]).sum()"), 8),
        (("if n:", "    x = paddle.zeros([paddle.max(x).item(), 4])"), 8),
    ],
)
def test_a_constant_pays_off_together_with_what_else_waits(before: tuple[str, ...], line: int) -> None:
    reason = f"a blocking copy to the device in each forward pass, which pays off together with line {line}"
    found = _copy_in_forward(*before)
    assert found is not None
    assert (found.level, found.reason) == (MEDIUM, reason)


@pytest.mark.parametrize(
    "before",
    [
        ("x = x + 1",),
        ("x = x + paddle.zeros([paddle.shape(x)[0], 4]).sum()",),  # which is on the host
        ("height = paddle.shape(x)[0]", "x = x + paddle.zeros([height, 4]).sum()"),
        ("for row in rows:", "    x = x + row.shape[0]"),
    ],
)
def test_a_constant_costs_a_wait_where_nothing_else_waits(before: tuple[str, ...]) -> None:
    found = _copy_in_forward(*before)
    assert found is not None
    assert (found.level, found.reason) == (MEDIUM, "a blocking copy to the device in each forward pass")


@pytest.mark.parametrize(("answer", "level"), [("return x", MEDIUM), ("raise ValueError(x)", LOW)])
def test_a_forward_pass_that_returns_early_could_choose_on_the_device(answer: str, level: ImpactLevel) -> None:
    text = f"""\
    import paddle


    class Net(paddle.nn.Layer):
        def forward(self, x):
            if paddle.all(x == 0):
                {answer}
            return x * 2
    """
    assert {finding.impact.level for finding in _found(text, "PPF203") if finding.impact} == {level}


@pytest.mark.parametrize(
    ("name", "level"), [("sample_batch", LOW), ("visualize", LOW), ("fit_statistics", MEDIUM), ("evaluate", MEDIUM)]
)
def test_a_wait_outside_of_training_costs_training_nothing(name: str, level: ImpactLevel) -> None:
    text = f"""\
    import paddle


    def {name}(count):
        chain = paddle.rand([8, count, 4])
        return [chain[:, i, :].numpy() for i in range(count)]


    def {name}_all(chain):
        for i in range(chain.shape[1]):
            print(chain[:, i, :].numpy())
    """
    assert {impact.level for impact in _impacts(text, "PPF209") if impact} == {level}


# -- who is shown what -------------------------------------------------------------------------------------------------


def test_low_is_shown_on_request_only() -> None:
    text = in_step("print(step)")
    assert not _found(text, "PPF405", least=MEDIUM)
    assert Settings(join_lines=False).min_impact is MEDIUM
    assert len(_found(text, "PPF405", least=LOW)) == 1


def test_a_file_that_is_not_python_is_always_shown() -> None:
    found = _found("def f(:\n", least=HIGH)
    assert [(finding.code, finding.impact) for finding in found] == [("PPF001", None)]


def test_a_comment_for_a_finding_of_low_impact_is_of_use() -> None:
    text = in_step("print(step)  # noqa: PPF405")
    assert not engine.check(sources(text), Settings(join_lines=False, select=("ALL",), whole_project=True))


def _finding(code: str, path: str, impact: Impact | None) -> Finding:
    return Finding(code, path, 0, 1, "message", None, (), None, Confidence.HIGH, impact)


def _closing(findings: Sequence[Finding]) -> str:
    return summary.most_to_win(Report(list(findings), sources(dict.fromkeys(("a.py", "b.py", "c.py"), "\n1\n"))))


def test_the_closing_line_names_what_matters_most() -> None:
    wait, save = Impact(MEDIUM, "a wait", 2.0), Impact(HIGH, "a save", 16.0)
    batch = Impact(HIGH, "a batch", 20.0)
    findings = [
        _finding("PPF201", "a.py", wait),
        _finding("PPF401", "b.py", save),
        _finding("PPF101", "a.py", batch),
        _finding("PPF101", "a.py", batch),
        _finding("PPF001", "c.py", None),
    ]
    said = " Start with: a.py:1 PPF101 (high), b.py:1 PPF401 (high), a.py:1 PPF201 (medium)."
    assert _closing(findings) == said
    assert not _closing(findings[:3])
    assert not _closing([findings[0]] * 5)


def test_a_rule_says_what_its_event_costs() -> None:
    page = rule_page.text(catalogue.shipped()["PPF405"])
    assert "Impact: low (a log line)" in page
    assert "A log line is taken to cost 0.07 ms." in page
    assert "high\nfrom 2.5 ms on" in page
    assert "within a forward pass" in rule_page.text(catalogue.shipped()["PPF201"])
    assert "no time says how much" in rule_page.text(catalogue.shipped()["PPF212"])
    assert rule_page.data(catalogue.shipped()["PPF001"])["event"] is None


# -- the file of events ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wait:\n  what: a wait\n  source: x\n", "milliseconds is missing"),
        ("wait:\n  what: a wait\n  milliseconds: 1\n  source: x\n", "milliseconds is 1, expected float"),
        ("wait:\n  what: a wait\n  level: big\n  source: x\n", "level is 'big'"),
        ("wait:\n  what: a wait\n  level: low\n  source: x\n  more: 1\n", "unknown key 'more'"),
        ("- wait\n", "mapping"),
    ],
)
def test_a_file_of_events_that_cannot_be_used(text: str, problem: str, tmp_path: Path) -> None:
    place = tmp_path / "events.yaml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=problem):
        catalogue.read_events(place)


def test_no_file_of_events_has_no_events(tmp_path: Path) -> None:
    assert catalogue.read_events(tmp_path / "events.yaml") == {}


# -- log lines ---------------------------------------------------------------------------------------------------------


def test_the_log_line_counts_and_not_the_reads_for_it_alone() -> None:
    text = in_step("meter.update(loss.item(), 8)\nother.update(y.item())\nprint(meter.avg, other.avg)")
    found = {finding.message.split("`")[1]: finding.impact for finding in _found(text, "PPF201", "PPF405")}
    assert {what: impact and impact.level for what, impact in found.items()} == {
        "loss.item()": LOW,
        "y.item()": LOW,
        "print(meter.avg, other.avg)": MEDIUM,
    }
    line, read = found["print(meter.avg, other.avg)"], found["loss.item()"]
    assert line and line.reason == "a wait for the device at each step, by the read for it at line 12"
    assert read and read.reason == "a wait for the device that the log at line 14 needs at each step"


def test_a_log_line_counts_that_keeps_a_read_with_other_uses() -> None:
    """The meter can hold a tensor, so that the line alone makes the step wait; a test needs the number anyway."""
    for body, level in (("meter.update(value)", MEDIUM), ("if value > 9:\n    break", LOW)):
        text = in_step(f"value = loss.item()\n{body}\nwriter.add_scalar('loss', value, step)")
        [line, read] = [impact and impact.level for impact in _impacts_of(text, "PPF405", "PPF201")]
        assert (line, read) == (level, MEDIUM)


def test_of_several_lines_that_show_one_value_the_first_counts() -> None:
    body = "value = loss.item()\nprint(value)\nif args.curves:\n    writer.add_scalar('loss', value, step)"
    levels = [impact and impact.level for impact in _impacts(in_step(body), "PPF405")]
    assert levels == [LOW, LOW]  # without PPF201 nothing is known of the read
    found = _found(in_step(body), "PPF201", "PPF405")
    assert [item.impact and item.impact.level for item in found] == [LOW, MEDIUM, LOW]


def test_lines_beside_one_that_waits_count_with_it() -> None:
    text = in_step("writer.add_scalar('a', args.a, step)\nwriter.add_scalar('loss', loss.item(), step)")
    impact, _ = _impacts_of(text, "PPF405", "PPF202")
    reason = "a value for a curve at each step, fixed together with line 13"
    assert impact and (impact.level, impact.reason) == (MEDIUM, reason)
    apart = in_step("writer.add_scalar('a', args.a, step)\ntell(step)\nwriter.add_scalar('loss', loss.item(), step)")
    assert [impact and impact.level for impact in _impacts_of(apart, "PPF405", "PPF202")] == [LOW, MEDIUM]


@pytest.mark.parametrize("select", ["PPF201", "PPF201 noqa"])
def test_a_read_counts_where_the_log_line_is_not_reported(select: str) -> None:
    comment = "  # noqa: PPF405" if "noqa" in select else ""
    text = in_step(f"meter.update(loss.item(), 8)\nprint(meter.avg){comment}")
    codes = ("PPF201", "PPF405") if comment else ("PPF201",)
    [impact] = [finding.impact for finding in _found(text, *codes) if finding.code == "PPF201"]
    assert impact and impact.level is MEDIUM


def test_texts_for_a_progress_bar_cost_little_however_many() -> None:
    text = in_step("pbar.set_description('a')\npbar.set_postfix(step=step)\npbar.set_postfix_str('b')")
    assert {impact and impact.level for impact in _impacts(text, "PPF405")} == {LOW}


def test_a_text_for_a_progress_bar_costs_little_beside_a_line_that_waits_too() -> None:
    text = in_step("pbar.set_description('a')\nwriter.add_scalar('loss', loss.item(), step)")
    assert [impact and impact.level for impact in _impacts_of(text, "PPF405", "PPF202")] == [LOW, MEDIUM]


def test_a_log_line_names_what_reads_the_device_for_it() -> None:
    text = in_step("value = loss.item()\nwriter.add_scalar('loss', value, step)\nwriter.add_scalar('a', args.a, step)")
    _, shown, plain = (item.message for item in _found(text, "PPF201", "PPF405"))
    assert "of the loop at line 7, for which line 12 reads the device; every 10 steps" in shown
    assert "of the loop at line 7; every 10 steps" in plain
