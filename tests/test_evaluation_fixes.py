"""PPF601: how the fix of an evaluation is written."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.findings import Level
from tests.evaluation_samples import EVALUATE, METHOD, RULE, found, only
from tests.support import fixed


def fix_of(text: str) -> tuple[str, Level]:
    fix = only(text).fix
    assert fix is not None
    return fixed(text, RULE, level=Level.UNSAFE), fix.level


def test_both_loops_of_a_function_get_one_decorator() -> None:
    text = EVALUATE + "    for x, y in loader:\n        metric.update(model(x).numpy(), y.numpy())\n"
    assert len(found(text)) == 2
    assert fixed(text, RULE) == text.replace("def evaluate", "@paddle.no_grad()\ndef evaluate")


@pytest.mark.parametrize(
    ("after", "is_decorated"),
    [
        ("    return metric.accumulate()\n", True),
        ("    return model(extra).argmax(-1).numpy()\n", True),
        ("    return len(model.state_dict())\n", True),
        ("    return model(extra)\n", False),
        ("    return forward(model, extra)\n", False),
        ("    out = model(extra)\n    return metric.accumulate(), out.sum()\n", False),
        ("    return sum((p**2).sum() for p in model.parameters())\n", False),
        ("    rest = []\n    for x, y in others:\n        rest.append(model(x))\n    return rest\n", False),
    ],
)
def test_a_decorator_is_no_substitute_if_the_function_computes_more(after: str, is_decorated: bool) -> None:
    finding = found(EVALUATE.replace("loader):", "loader, extra, others):") + after)[0]
    assert finding.fix is not None
    assert finding.fix.message.startswith("put `@" if is_decorated else "put the loop")


@pytest.mark.parametrize("decorator", ["@staticmethod", "@property", "@classmethod", "@staticmethod\n    # a note"])
def test_decorator_goes_below_others(decorator: str) -> None:
    text = METHOD.replace("    def evaluate", f"    {decorator}\n    def evaluate")
    result, level = fix_of(text)
    assert level is Level.SAFE
    assert result == text.replace("    def evaluate", "    @paddle.no_grad()\n    def evaluate")


def test_loop_is_wrapped_where_a_decorator_is_not_known() -> None:
    text = EVALUATE.replace("def evaluate", "@registry.register('eval')\ndef evaluate")
    result, level = fix_of(text)
    assert level is Level.SAFE
    assert result.endswith(
        """\
    model.eval()
    with paddle.no_grad():
        for x, y in loader:
            metric.update(model(x).numpy(), y.numpy())
"""
    )


def test_function_that_also_trains_gets_its_loop_wrapped() -> None:
    result, level = fix_of(EVALUATE + "    tuner.fit(model)\n")
    assert level is Level.SAFE
    assert "    with paddle.no_grad():\n        for x, y in loader:\n" in result
    assert "@" not in result


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import paddle", "@paddle.no_grad()"),
        ("import paddle as pd", "@pd.no_grad()"),
        ("import paddle.nn as nn\nfrom paddle import no_grad", "@no_grad()"),
        ("import paddle.nn.functional", "@paddle.no_grad()"),
    ],
)
def test_spelling_follows_the_imports(imports: str, decorator: str) -> None:
    text = EVALUATE.replace("import paddle", imports)
    assert fix_of(text)[0] == text.replace("def evaluate", f"{decorator}\ndef evaluate")


def test_missing_import_is_added() -> None:
    text = EVALUATE.replace("import paddle", "from paddle import nn")
    result = text.replace("nn\n", "nn\nimport paddle\n", 1).replace("def evaluate", "@paddle.no_grad()\ndef evaluate")
    assert fix_of(text)[0] == result


def test_import_inside_a_function_is_used_there() -> None:
    text = EVALUATE.replace("import paddle\n\n\n", "").replace(
        "    model.eval()", "    import paddle\n\n    model.eval()"
    )
    result, level = fix_of(text)
    assert "    with paddle.no_grad():\n        for" in result
    assert result.count("import paddle") == 1
    assert level is Level.SAFE


def test_name_that_is_taken_is_left_to_a_person() -> None:
    text = EVALUATE.replace("import paddle", "from paddle import nn\nfrom games import paddle")
    fix = only(text).fix
    assert fix is not None
    assert fix.level is Level.DISPLAY


def test_result_that_a_caller_differentiates_makes_the_fix_unsafe() -> None:
    text = """
        import paddle


        def predict(model, loader):
            return sum(model(x).mean() for x in loader), [model(x) for x in loader]


        def test_loss(model, loader):
            total = 0
            for x in loader:
                total = total + model(x).mean()
            return total


        def train(model, loader, optimizer):
            for batch in loader:
                loss = test_loss(model, [batch])
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    finding = only(text)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE
    assert "backward pass" in finding.fix.reason


def test_loss_of_the_loop_that_is_differentiated_after_it() -> None:
    text = """
        import paddle


        def train(model, loader, valid_loader, optimizer, criterion):
            model.eval()
            for x, y in valid_loader:
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        """
    finding = only(text)
    assert finding.fix is not None
    assert finding.fix.level is Level.UNSAFE


IN_A_ROW = """
    import paddle


    def main(model, loader, optimizer, criterion):
        for epoch in range(2):
            for x, y in loader:
                out = model(x)
                loss = criterion(out, y)
                loss.backward()
                optimizer.step()
            model.eval()
            outs, total = [], 0.0
            for x, y in loader:
                out = model(x)
                loss = criterion(out, y)
                outs.append(out)
                total += loss.item()
            {after}
    """


@pytest.mark.parametrize(
    ("after", "is_safe"),
    [
        ("print(total)", True),
        ("loss = criterion(model(x), y); loss.backward()", True),
        ("reg = out.mean(); reg.backward()", False),
        ("reg = paddle.concat(outs); both = reg * 2; both.mean().backward()", False),
        ("optimizer.minimize(sum(outs))", False),
        ("paddle.grad(loss, out)", False),
        ("model.train(); scaler.scale(loss * 2).backward()", False),
    ],
)
def test_what_the_loop_computed_goes_into_a_backward_pass(after: str, is_safe: bool) -> None:
    fixes = [item.fix for item in found(dedent(IN_A_ROW).format(after=after))]
    assert [fix.level is Level.SAFE for fix in fixes if fix is not None] == [is_safe]


def test_wrapped_loop_keeps_strings_comments_and_tabs() -> None:
    text = (
        "import paddle\n\n\ndef main(model, loader):\n\tmodel.eval()\n\tfor x, y in loader:  # all\n"
        "\t\t# a batch\n\t\tmetric.update(model(x).numpy(), '''\nleft\n\tright''')\n\n"
        "\t\t# the end\n\t# after\n\tmodel.train()\n"
    )
    assert fix_of(text) == (
        "import paddle\n\n\ndef main(model, loader):\n\tmodel.eval()\n\twith paddle.no_grad():\n"
        "\t\tfor x, y in loader:  # all\n\t\t\t# a batch\n"
        "\t\t\tmetric.update(model(x).numpy(), '''\nleft\n\tright''')\n\n\t\t\t# the end\n\t# after\n\tmodel.train()\n",
        Level.SAFE,
    )


LOOP = """\
import logging

import paddle

logger = logging.getLogger()
metric = paddle.metric.Accuracy()


def watch(name, value):
    print(name, value.is_leaf)


class Bank:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def put(self, item):
        item = item.numpy()
        self.items.append(item)


bank, kept = Bank(), []


def measure(value):
    print(f"{{value.numpy()}} {{np.round(value)}}")
    return float(value.mean())


def show(value):
    print(value)


def evaluate(model, loader, seen=None):
    model.eval()
    total, count, outputs, logs = 0.0, 0, [], {{}}
    for x, y in loader:
        p = model(x)
        {inside}
        count += len(y)
    {after}
"""


@pytest.mark.parametrize(
    ("inside", "after", "reason"),
    [
        ("if count > 3: return p", "return None", "returns"),
        ("total += p.mean()", "return total / count", "returns"),
        ("outputs.append(p)", "return outputs", "returns"),
        ("outputs += [p, y]", "return paddle.concat(outputs)", "returns"),
        ("logs['p'] = p", "return logs", "returns"),
        ("loss = paddle.mean(p - 1)", "return {'loss': loss}", "returns"),
        ("for part in p: total += part", "return total", "returns"),
        ("q, r = p, y", "return q", "returns"),
        ("with paddle.amp.auto_cast(): q = p * 2", "return q", "returns"),
        ("outputs.extend(part for part in p)", "return outputs", "returns"),
        ("model.last = p", "return None", "keeps"),
        ("float(p)", "seen['w'] = model[0].weight * 0.5", "keeps"),
        ("float(p)", "seen.extend([w * 0.5 for w in model.parameters()])", "keeps"),
        ("model.all[count] = p.mean()", "return None", "keeps"),
        ("seen.append(p)", "return None", "keeps"),
        ("seen['p'] = p", "return None", "keeps"),
        ("kept.append(p)", "return None", "keeps in `kept`"),
        ("kept['p'] = p", "return None", "keeps"),
        ("global kept; kept = p", "return None", "keeps"),
        ("bank.push(p)", "return None", "keeps"),
        ("logger.info('%s', p)", "return None", "prints"),
        ("print(p.mean())", "return None", "prints"),
        ("print('p: %s' % p)", "return None", "prints"),
        ("show_later = partial(print, 'p', p)", "show_later()", "prints"),
        ("text = f'{p}'", "return text", "prints"),
        ("print(p.mean().stop_gradient)", "return None", "`stop_gradient` of a tensor without a gradient"),
        ("p.register_hook(print)", "return None", "`register_hook` of a tensor without a gradient"),
        ("print(paddle.is_grad_enabled())", "return None", "`paddle.is_grad_enabled()`, which the code asks"),
        ("print(locals()['p'].stop_gradient)", "return None", "may ask for its graph"),
        ("assert p.is_leaf is False", "return None", "`is_leaf` of a tensor without a gradient"),
        ("show(p)", "return None", "printed"),
        ("watch('p', value=p)", "return None", "`is_leaf` of a tensor without a gradient"),
    ],
)
def test_a_tensor_that_leaves_the_loop_with_its_gradient(inside: str, after: str, reason: str) -> None:
    fix = only(LOOP.format(inside=inside, after=after)).fix
    assert fix is not None
    assert fix.level is Level.UNSAFE
    assert reason in fix.reason


@pytest.mark.parametrize(
    ("inside", "after"),
    [
        ("total += p.mean().item()", "return total / count"),
        ("total += float(p.mean())", "return total / count, count"),
        ("outputs.append(p.numpy())", "return outputs"),
        ("outputs.append(p.detach())", "return [float(part.mean()) for part in outputs]"),
        ("total += (p.argmax(-1) == y).sum()", "return total / count"),
        ("best = paddle.argmax(p, axis=-1)", "return best"),
        ("outputs.append(p)", "return len(outputs)"),
        ("outputs.append(p)", "return paddle.concat(outputs).mean().item()"),
        ("metric.update(metric.compute(p, y))", "return metric.accumulate()"),
        ("print(f'{p.mean():.3f}', float(p.mean()), p.shape)", "return count"),
        ("p = p.numpy()\n        model.last = p", "return p"),
        ("seen.append(p.shape)", "return count"),
        ("kept.append(float(p))", "return count"),
        ("bank.push(p.numpy())", "return count"),
        ("bank.put(p)", "return count"),
        ("float(p)", "return float(model(x).mean())"),
        ("count += measure(p) > 0", "return count"),
        ("count += id(p) > 0 and p is not None", "return count"),
    ],
)
def test_what_leaves_the_loop_as_a_number_is_what_it_was(inside: str, after: str) -> None:
    fix = only(LOOP.format(inside=inside, after=after)).fix
    assert fix is not None
    assert (fix.level, fix.reason) == (Level.SAFE, "")
