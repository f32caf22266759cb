"""A look at other data after each epoch: in many shapes, with gradients on, seen from inside and from outside."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines, inside

_BODIES = (
    ("losses.append(F.mse_loss(model(x), y).item())",),
    ("losses.append(float(((model(x) - y) ** 2).mean()))",),
    ("out = model(x)", "losses.append(int((out > y).sum()))"),
    ("# one batch of the other data", "seen = F.mse_loss(model(x), y)", "losses.append(seen.item())  # its loss"),
    ("seen = model(x)", "losses.append(F.mse_loss(seen, y).numpy().item())"),
    ("batch_loss = F.mse_loss(model(x), y)", "losses += [float(batch_loss)]"),
    ("out, want = model(x), y", "losses.append((out - want).mean().item())"),
)
_LOOKS = (
    "print('flows', {tensor}.stop_gradient)",
    "print('enabled', paddle.is_grad_enabled())",
    "looked_at({tensor})",
    "print(locals()['{tensor}'].stop_gradient)",
)
_LOOKED_AT = """\
def looked_at(tensor):
    print('looked at', tensor.stop_gradient)
    return tensor
"""
_RETURNS = ("sum(losses) / len(losses)", "losses", "max(losses), len(losses)", "{'loss': sum(losses)}")
_DECORATOR = """\
def counted(function):
    def wrapper(*arguments, **options):
        print('evaluates')
        return function(*arguments, **options)

    return wrapper
"""
_RUN_EPOCH = """\
def run_epoch(model, batches, optimizer=None):
    model.train() if optimizer is not None else model.eval()
    total = 0.0
    for x, y in batches:
        loss = F.mse_loss(model(x), y)
        if optimizer is not None:
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        total += loss.item()
    model.train()
    return total
"""


def evaluation(draft: Draft) -> Lines:
    """An evaluation at the end of each epoch."""
    way = draft.one((_function, _function, _function, _inline, _both, _generator, _class, _kept_output, _decides))
    way(draft)
    return []


def _body(draft: Draft) -> Lines:
    """What is done with a batch; now and then something looks at a tensor of it."""
    body = [*draft.one(_BODIES)]
    tensors = [line.split(" = ")[0] for line in body if " = " in line and "," not in line.split(" = ")[0]]
    if tensors and draft.often(0.25):
        look = draft.one(_LOOKS).format(tensor=tensors[-1])
        if "looked_at" in look:
            draft.helper("looked_at", _LOOKED_AT)
        body.append(look)
    return body


def _around(draft: Draft, loop: Lines) -> Lines:
    """The loop between ``eval()`` and ``train()``, in several spellings."""
    return draft.one(
        (
            ["model.eval()", *loop, "model.train()"],
            ["model.eval()", *loop, "model.train()"],
            ["model.eval()", *inside("try:", loop), *inside("finally:", ["model.train()"])],
            ["was_training = model.training", "model.eval()", *loop, *inside("if was_training:", ["model.train()"])],
            ["model.eval()", *inside("if batches is not None:", loop), "model.train()"],
        )
    )


def _evaluate(draft: Draft, name: str = "evaluate", first: str = "") -> str:
    """The text of a function that evaluates."""
    loop = inside(draft.one(("for x, y in batches:", "for number, (x, y) in enumerate(batches):")), _body(draft))
    begin = draft.one(([], [], ['"""How good the model is."""'], ["# other data"], [f'"""{name}"""', "# first"]))
    lines = [*begin, "losses = []", *_around(draft, loop), f"return {draft.one(_RETURNS)}"]
    if draft.often(0.1):
        lines = [*lines[:-1], *inside("def summary():", ["return sum(losses)"]), "return summary()"]
    decorator = []
    if draft.often(0.1):
        draft.helper("counted", _DECORATOR)
        decorator = ["@counted"]
    header = f"def {name}({first}model, batches{draft.one(('', '', ', *rest', ', scale=1.0'))}):"
    return "\n".join([*decorator, *inside(header, lines), ""])


def _function(draft: Draft) -> None:
    draft.helper("evaluate", _evaluate(draft))
    draft.last.append("print('valid', evaluate(model, valid))")


def _inline(draft: Draft) -> None:
    look = draft.one(([], ["print(seen)"], ["print(seen.stop_gradient)"], ["state['seen'] = seen"]))
    draft.last += [
        "model.eval()",
        "valid_loss = 0.0",
        "for x, y in valid:",
        "    # the batch of the other data",
        "    seen = F.mse_loss(model(x), y)",
        "    valid_loss += seen.item()",
        "model.train()",
        "print('valid', valid_loss)",
        *look,
    ]


def _both(draft: Draft) -> None:
    """One function for both: it trains where it is given an optimizer."""
    draft.helper("run_epoch", _RUN_EPOCH)
    draft.last += draft.one(
        (
            ["print('valid', run_epoch(model, valid))"],
            ["print('more', run_epoch(model, valid, optimizer))", "print('valid', run_epoch(model, valid))"],
        )
    )


def _generator(draft: Draft) -> None:
    """Predictions that are handed out one by one; what takes them may train with them."""
    draft.helper(
        "predictions",
        "def predictions(model, batches):\n    model.eval()\n    for x, y in batches:\n        yield model(x), y\n"
        "    model.train()\n",
    )
    draft.last += draft.one(
        (
            ["print('valid', sum(float(F.mse_loss(out, y)) for out, y in predictions(model, valid)))"],
            [
                "for out, y in predictions(model, valid):",
                "    F.mse_loss(out, y).backward()",
                "    optimizer.step()",
                "    optimizer.clear_grad()",
            ],
            ["print([out.stop_gradient for out, _ in predictions(model, valid)])"],
        )
    )


def _class(draft: Draft) -> None:
    method = draft.one(("evaluate", "__call__", "run"))
    text = _evaluate(draft, method, "self, ")
    static = draft.often(0.2) and method != "__call__"
    if static:
        text = "@staticmethod\n" + text.replace("(self, ", "(")
    draft.helper(
        "Evaluator", "\n".join(inside("class Evaluator:", ["kind = 'plain'", "", *text.split("\n")])).rstrip() + "\n"
    )
    call = "" if method == "__call__" else f".{method}"
    draft.last.append(f"print('valid', Evaluator(){call}(model, valid))")


def _kept_output(draft: Draft) -> None:
    """A function that gives back the tensors that it computes."""
    draft.helper(
        "predicted",
        "def predicted(model, batches):\n    model.eval()\n    kept = []\n    for x, y in batches:\n"
        "        kept.append(F.mse_loss(model(x), y))\n    model.train()\n    return kept\n",
    )
    draft.last += draft.one(
        (
            ["print('valid', float(sum(predicted(model, valid))))"],
            ["sum(predicted(model, valid)).backward()", "optimizer.step()", "optimizer.clear_grad()"],
            ["print([seen.stop_gradient for seen in predicted(model, valid)])"],
            ["state['valid'] = predicted(model, valid)"],
        )
    )


def _decides(draft: Draft) -> None:
    """A function that scores, and whose score the next epoch takes up."""
    draft.helper(
        "score",
        "def score(model, batches, keep={}):\n    model.eval()\n    right = 0\n    for x, y in batches:\n"
        "        out = model(x)\n        keep['out'] = out\n        right += (out > y).sum().item()\n"
        "    model.train()\n    return right\n",
    )
    draft.last += draft.one(
        (
            ["print('score', score(model, valid))"],
            [
                "kept_here = {}",
                "print('score', score(model, valid, kept_here))",
                "print(kept_here['out'].stop_gradient)",
            ],
            ["print('score', score(model, valid), score.__defaults__[0]['out'].stop_gradient)"],
        )
    )
