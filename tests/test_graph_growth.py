"""PPF212: what keeps the graph of each step alive, and what only looks like it."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent, indent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, Level
from perflint.run import engine
from tests.support import expect_marked, expect_marked_in_step, fixed, sources

RULE = "PPF212"


def found(files: Mapping[str, str] | str, *also: str) -> list[Finding]:
    """The findings of the rule."""
    settings = Settings(join_lines=False, select=(RULE, *also), min_confidence=Confidence.LOW)
    return engine.check(sources(files), settings)


def script(before: str, inside: str, after: str = "return None") -> str:
    """A training function with something before its step loop, at the end of each step, and after the loop."""
    parts = [(before, 4), (inside, 8), (after, 4)]
    first, second, third = (indent(dedent(text).strip("\n"), " " * depth) for text, depth in parts)
    return f"""\
import paddle


def train(model, loader, optimizer, criterion, history, scaler):
{first}
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{second}
{third}
"""


@pytest.mark.parametrize(
    ("before", "inside", "fix"),
    [
        ("total = 0.0", "total += loss", "total += loss.detach()"),
        ("total = paddle.zeros([])", "total += loss", "total += loss.detach()"),
        ("total = 0", "total = total + loss", "total = total + loss.detach()"),
        ("total = 0", "total = loss + total", "total = loss.detach() + total"),
        ("total = 0", "total += loss * len(x)", "total += loss.detach() * len(x)"),
        ("total = 0", "total += loss / 2 + 1", "total += loss.detach() / 2 + 1"),
        ("total = 0", "total += loss.mean()", "total += loss.detach().mean()"),
        ("total = 0", "total += paddle.mean(loss)", "total += paddle.mean(loss.detach())"),
        ("total = 0", 'total += loss.astype("float64")', 'total += loss.detach().astype("float64")'),
        ("total = 0", "total += loss.cpu()", "total += loss.detach().cpu()"),
        ("losses = []", "losses.append(loss)", "losses.append(loss.detach())"),
        ("losses = []", "losses.append((step, loss))", "losses.append((step, loss.detach()))"),
        ("losses = []", "losses.extend([loss])", "losses.extend([loss.detach()])"),
        ("losses = []", "losses += [loss]", "losses += [loss.detach()]"),
        ("log = {'loss': 0}", "log['loss'] += loss", "log['loss'] += loss.detach()"),
        ("log = {'loss': []}", "log['loss'].append(loss)", "log['loss'].append(loss.detach())"),
        ("losses = set()", "losses.add(loss)", "losses.add(loss.detach())"),
        ("pass", "history.append(loss)", "history.append(loss.detach())"),
        ("pass", "history.total += loss", "history.total += loss.detach()"),
    ],
)
def test_what_grows(before: str, inside: str, fix: str) -> None:
    text = script(before, inside)
    (finding,) = found(text)
    assert finding.confidence is Confidence.HIGH
    assert "`loss`" in finding.message
    assert "loop at line 6" in finding.message
    assert finding.fix is not None
    assert finding.fix.level is Level.SAFE
    assert fixed(text, RULE) == script(before, fix)


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("total = 0", "total += loss.item()"),
        ("total = 0", "total += float(loss)"),
        ("total = 0", "total += loss.detach()"),
        ("total = 0", "total += loss.detach().mean() * 2"),
        ("total = 0", "total += loss.numpy()[0]"),
        ("total = 0", "total += loss.data"),
        ("total = 0", "total += paddle.to_tensor(loss)"),
        ("total = 0", "total += len(x)"),
        ("total = 0", "total -= step"),
        ("total = 0", "value = loss.item()\ntotal += value"),
        ("total = 0", "loss = loss.detach()\ntotal += loss"),
        ("total = 0", "with paddle.no_grad():\n    total += loss"),
        ("total = 0", "total = loss"),
        ("total = 0", "total = 0\ntotal += loss"),
        ("total = 0", "total += loss\nif step % 10 == 9:\n    total = 0"),
        ("total = 0", "if step % 10 == 0:\n    total += loss"),
        ("losses = []", "losses.append(loss)\nlosses.clear()"),
        ("losses = []", "losses.append(loss)\nif len(losses) > 9:\n    losses.pop(0)"),
        ("losses = []", "losses.append(loss)\ndel losses[:-9]"),
        ("losses = []", "losses.append(loss)\nlosses[:] = losses[-9:]"),
        ("from collections import deque\nlosses = deque(maxlen=9)", "losses.append(loss)"),
        ("losses = []", "losses = [loss]\nlosses.append(loss)"),
        ("import meters\nmeter = getattr(meters, args.meter)()", "meter.add(loss)"),
        ("losses = []", "parts = []\nparts.append(loss)"),
        ("log = {}", "log['loss'] = loss"),
        ("log = {}", "log['loss'] = 0\nlog['loss'] += loss"),
        ("pass", "print('loss', loss)"),
        ("pass", "loss += 1"),
    ],
)
def test_what_does_not_grow(before: str, inside: str) -> None:
    assert [finding.message for finding in found(script(before, inside))] == []


def test_no_grad_does_not_help_a_list() -> None:
    """What is appended is the loss itself, whose graph was made before."""
    text = script("losses = []", "with paddle.no_grad():\n    losses.append(loss)")
    assert len(found(text)) == 1


@pytest.mark.parametrize(("returned", "count"), [("float(value)", 0), ("value * 2", 1)])
def test_what_a_helper_makes_of_the_loss(returned: str, count: int) -> None:
    text = script("losses = []", "losses.append(told(loss))")
    assert len(found(f"{text}\n\ndef told(value):\n    return {returned}\n")) == count


def test_read_and_graph_are_two_rules() -> None:
    text = script("total = mean = 0.0", "total += loss.item()\nmean += loss")
    assert [finding.code for finding in found(text, "PPF201")] == ["PPF201", "PPF212"]


@pytest.mark.parametrize(
    "backward", ["total.backward()", "(total / 4).backward()", "mean = total / 4\nmean.backward()"]
)
def test_sum_that_is_differentiated(backward: str) -> None:
    text = f"""
        import paddle


        def train(model, loader, optimizer, criterion, single):
            total = 0
            for x, y in loader:
                loss = criterion(model(x), y)
                if single:
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                total += loss
{indent(backward, " " * 12)}
        """
    assert found(text) == []


def test_losses_of_tasks_are_added_up_within_a_step() -> None:
    text = """
        import paddle


        def train(model, loader, optimizer, tasks):
            for x, y in loader:
                losses, total = [], 0
                for task in tasks:
                    loss = task(model(x), y)
                    loss.backward()
                    losses.append(loss)
                    total += loss
                optimizer.step()
                optimizer.clear_grad()
                print(total)
        """
    assert found(text) == []


def test_loss_scalers_and_minimize() -> None:
    expect_marked(
        """
        import paddle


        def train(model, loader, optimizer, scaler, criterion):
            total = 0
            for x, y in loader:
                cost = criterion(model(x), y)
                scaled = scaler.scale(cost)
                scaled.backward()
                scaler.minimize(optimizer, scaled)
                total += cost  #: PPF212


        def fit(model, loader, optimizer, criterion):
            costs = []
            for x, y in loader:
                cost = criterion(model(x), y)
                cost.backward()
                optimizer.minimize(cost)
                costs.append(cost)  #: PPF212
        """,
        RULE,
    )


def test_parts_of_the_loss_may_be_plain_numbers() -> None:
    text = """
        import paddle


        def train(model, loader, optimizer, criterion, weight):
            fits = penalties = 0.0
            for x, y in loader:
                loss_fit = criterion(model(x), y)
                loss_penalty = model.penalty() if weight else 0
                loss = loss_fit * 2 + weight * loss_penalty
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                fits += loss_fit
                penalties += loss_penalty
        """
    findings = found(text)
    assert [finding.confidence for finding in findings] == [Confidence.MEDIUM]
    assert [finding.fix.level for finding in findings if finding.fix] == [Level.UNSAFE]
    assert fixed(text, RULE) == dedent(text)


METER = """\
class Meter:
    def __init__(self):
        self.sum = 0
        self.values = []

    def update(self, value, n=1):
{body}
"""
USE = """\
import paddle

from meter import Meter


def train(model, loader, optimizer, criterion):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {call}
"""


@pytest.mark.parametrize(
    "body",
    ["self.sum += value * n", "self.sum = self.sum + value", "self.values.append(value)", "self.sum += n * value"],
)
@pytest.mark.parametrize("call", ["meter.update(loss)", "meter.update(loss, n=4)", "meter.update(n=2, value=loss)"])
def test_meter_of_another_file_that_keeps_what_it_gets(body: str, call: str) -> None:
    files = {"meter.py": METER.format(body=f"        {body}"), "train.py": USE.format(call=call)}
    (finding,) = found(files)
    assert finding.path == "train.py"
    assert finding.fix is not None
    source = sources(files)["train.py"]
    (edit,) = finding.fix.edits
    assert source.text[: edit.start].endswith("loss")
    assert edit.content == ".detach()"


@pytest.mark.parametrize(
    "body",
    [
        "self.sum += value.item() * n",
        "self.sum += float(value)",
        "self.sum += value.detach()",
        "value = float(value)\n        self.sum += value",
        "self.last = value",
        "self.sum += n",
        "with paddle.no_grad():\n            self.sum += value",
        "self.values.append(value)\n        self.values.pop(0)",
        "total = 0\n        total += value",
    ],
)
def test_meter_that_does_not(body: str) -> None:
    files = {"meter.py": METER.format(body=f"        {body}"), "train.py": USE.format(call="meter.update(loss)")}
    assert found(files) == []


def test_meter_that_is_given_no_graph() -> None:
    meter = METER.format(body="        self.sum += value * n")
    assert found({"meter.py": meter, "train.py": USE.format(call="meter.update(loss.item(), x.shape[0])")}) == []
    assert found({"meter.py": meter, "train.py": USE.format(call="meter.update(loss)\n        meter.reset()")}) == []


def test_step_of_a_class() -> None:
    expect_marked(
        """
        import paddle


        class Trainer:
            def __init__(self):
                self.total = 0
                self.kept = []
                self.recent = []

            def train(self, loader, epochs):
                for epoch in range(epochs):
                    self.kept = []
                    for batch in loader:
                        self.begin()
                        self.train_step(batch)

            def begin(self):
                self.recent = []

            def train_step(self, batch):
                self.loss = self.criterion(self.model(batch[0]), batch[1])
                self.loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                self.total += self.loss  #: PPF212
                self.kept.append(self.loss)
                self.recent.append(self.loss)
                local = []
                local.append(self.loss)
        """,
        RULE,
    )


@pytest.mark.parametrize(
    ("returned", "bound", "findings"),
    [
        ("loss", "loss", 1),
        ("loss, accuracy", "loss, accuracy", 1),
        ("accuracy, loss", "loss, accuracy", 0),
        ("loss.item()", "loss", 0),
        ("loss.detach()", "loss", 0),
        ("accuracy", "loss", 0),
    ],
)
def test_loss_that_another_file_returns(returned: str, bound: str, findings: int) -> None:
    step = f"""
        def train_one(model, optimizer, x, y):
            loss = criterion(model(x), y)
            accuracy = measure(model, x)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return {returned}
        """
    train = f"""
        import paddle

        from step import train_one


        def train(model, loader, optimizer):
            total = 0
            for x, y in loader:
                {bound} = train_one(model, optimizer, x, y)
                total += loss
        """
    assert len(found({"step.py": step, "train.py": train})) == findings


def test_nothing_in_evaluation_or_without_backward() -> None:
    expect_marked_in_step("pass", RULE)
    expect_marked(
        """
        import paddle


        def evaluate(model, loader, criterion):
            total = 0
            for x, y in loader:
                loss = criterion(model(x), y)
                total += loss
            return total
        """,
        RULE,
    )


def test_static_graphs_have_no_detach() -> None:
    text = script("total = 0", "total += loss").replace(
        "import paddle\n", "import paddle\n\npaddle.enable_static()\n", 1
    )
    assert found(text) == []


def test_offsets_count_characters_where_rows_hold_others() -> None:
    text = script("总和 = 0", "总和 += loss  # 损失")
    assert fixed(text, RULE) == script("总和 = 0", "总和 += loss.detach()  # 损失")


STABILITY = """
    import paddle


    def train(model, loader, optimizer, loss_fn, metric_fn, weights):
        total_loss, total_metric = {first}, {second}
        for x, labels in loader:
            whole = 0.0
            for key, pred in model(x).items():
                loss = loss_fn(pred, labels[key])
                metric = metric_fn(pred, labels[key])
                total_loss[key].append(loss * len(x))  #: PPF212
                total_metric[key].append(metric * len(x)){mark}
                whole += loss * weights[key]
                print(key, loss.item(), metric.item())
            whole.backward()
            optimizer.step()
            optimizer.clear_grad()
        return total_loss, total_metric
    """


def test_a_metric_beside_the_loss_is_reported_and_fixed_with_it() -> None:
    """Each of the two lists keeps the graph of the model: letting one of them go wins nothing."""
    text = dedent(STABILITY.format(first="{}", second="{}", mark=""))
    expect_marked(text, RULE)
    (first,) = found(text)
    assert "(and 1 more, at line 13)" in first.message
    assert ("train.py", 13, "keeps a graph, too") in [(part.path, part.line, part.message) for part in first.related]
    assert first.fix is not None
    assert first.fix.level is Level.UNSAFE
    assert "(one fix for lines 12, 13)" in first.fix.message
    result = fixed(text, RULE, level=Level.UNSAFE)
    assert "append(loss.detach() * len(x))" in result
    assert "append(metric.detach() * len(x))" in result


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("metric = metric_fn(pred, labels[key])", "metric = accuracy(pred, labels[key])"),
        ("metric = metric_fn(pred, labels[key])", "metric = metric_fn(labels[key])"),
        ("metric = metric_fn(pred, labels[key])", "metric = metric_fn(pred, labels[key]).item()"),
        ("loss.item(), metric.item()", "loss.item(), metric"),
        ("append(loss * len(x))  #: PPF212", "append(loss.item() * len(x))"),
    ],
)
def test_a_metric_that_may_well_be_a_number(old: str, new: str) -> None:
    text = dedent(STABILITY.format(first="{}", second="{}", mark="")).replace(old, new)
    expect_marked(text, RULE)


def test_the_statements_of_a_loop_are_told_once_with_the_fix_of_all() -> None:
    text = script("total, losses, seen = 0.0, [], []", "total += loss\nlosses.append(loss)\nseen.append(loss)")
    (finding,) = found(text)
    assert finding.message.startswith("`total += loss` (and 2 more, at lines 12, 13) keeps the graph of `loss` alive")
    assert finding.fix is not None
    assert len(finding.fix.edits) == 3


def test_a_statement_that_is_left_on_purpose_takes_none_with_it() -> None:
    text = script("total, losses = 0.0, []", "total += loss  # noqa: PPF212\nlosses.append(loss)")
    (finding,) = found(text)
    assert finding.message.startswith("`losses.append(loss)` keeps the graph")


def test_two_loops_are_two_findings() -> None:
    text = script("total = 0.0", "total += loss")
    assert len(found(text + text.partition("import paddle")[2].replace("train(", "again("))) == 2


@pytest.mark.parametrize(
    ("inside", "after", "reason"),
    [
        ("total += loss", "print(total)", "stop_gradient"),
        ("total += loss", "print('%s' % (total / 2))", "stop_gradient"),
        ("total += loss\nprint(total)", "return total", "stop_gradient"),
        ("history.append(loss)", "print(history)", "stop_gradient"),
        ("total += loss\nloss.backward(retain_graph=True)", "return total", "retain_graph"),
        ("total += loss", "mean = total / 2\nprint(mean)", "stop_gradient"),
        ("history.append(loss)", "for one in history:\n    print(one)", "stop_gradient"),
        ("history.append(loss)", "print([one for one in history])", "stop_gradient"),
        ("total += loss", "return total.stop_gradient", "`stop_gradient` of a tensor without a gradient"),
        ("total += loss\nargs.leaf = total.is_leaf", "return total", "`is_leaf`"),
        ("total += loss\ntotal.register_hook(print)", "return total", "`register_hook`"),
        ("history.append(loss)", "return history[-1].grad_fn", "`grad_fn`"),
        ("history.append(loss)\nargs.same = history[-1] is loss", "return total", "another object"),
        ("history.append(loss)\nargs.last = id(history[-1])", "return total", "another object"),
        ("history.append(loss)", "paddle.save(history, 'losses')", "another object"),
        ("history.append(partial(print, loss))", "for show in history:\n    show()", "`partial` gets a tensor"),
        ("history.append(Shown(loss))", "return history", "`Shown` gets a tensor"),
    ],
)
def test_what_tells_a_tensor_without_a_graph_from_one_with(inside: str, after: str, reason: str) -> None:
    (finding,) = found(script("total = 0.0", inside, after))
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE
    assert reason in finding.fix.reason


SHOW = """

def show(values, unused=None):
    print(values)


def show_number(values):
    print(float(values[-1] if values is not None else 0))


def main(model, loader, optimizer, args):
    result = train(model, loader, optimizer, args)
    {}
"""


@pytest.mark.parametrize(
    ("inside", "after", "caller", "is_noticed"),
    [
        ("total += loss", "return total", "print(result)", True),
        ("total += loss", "return total / 2, 1", "mean, count = result\n    print(mean)", True),
        ("total += loss", "return total", "print(float(result), result is None)", False),
        ("history.append(loss)", "show(history)", "pass", True),
        ("history.append(loss)", "show_number(history)", "pass", False),
        ("history.append(loss)", "return history", "show(unused=1, values=result)", True),
    ],
)
def test_who_gets_the_kept_tensor_may_print_it(inside: str, after: str, caller: str, is_noticed: bool) -> None:
    (finding,) = found(script("total = 0.0", inside, after) + SHOW.format(caller))
    assert finding.fix is not None
    assert finding.fix.level is (Level.UNSAFE if is_noticed else Level.SAFE)


@pytest.mark.parametrize(
    ("method", "is_noticed"),
    [("print(self.total)", True), ("print(float(self.total))", False), ("print(self.total.stop_gradient)", True)],
)
def test_a_method_may_print_a_kept_attribute(method: str, is_noticed: bool) -> None:
    text = script("total = 0.0", "total += loss", "pass").replace("total", "self.total")
    head, _, body = text.partition("def train(")
    inside = "\n".join(f"    {row}" if row else row for row in f"def train(self, {body}".splitlines())
    shown = f"\n\n    def show(self):\n        {method}\n"
    (finding,) = found(f"{head}class Trainer:\n{inside}{shown}")
    assert finding.fix is not None
    assert finding.fix.level is (Level.UNSAFE if is_noticed else Level.SAFE)


@pytest.mark.parametrize("after", ["print(float(total))", "print(f'{total:.3f}')", "print(total.item() / 3)"])
def test_a_number_of_the_sum_is_printed_as_before(after: str) -> None:
    (finding,) = found(script("total = 0.0", "total += loss", after))
    assert finding.fix is not None
    assert finding.fix.level is Level.SAFE
