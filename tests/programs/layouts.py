"""Where the training stands: in a function, in a method of a trainer, at the top of the script, in a generator."""

from __future__ import annotations

import re
from textwrap import indent

from tests.programs.draft import Draft, Lines, inside

LAYOUTS = ("function",) * 5 + ("script",) * 2 + ("trainer",) * 2 + ("stepped",)
"""Where a training may stand, each as often as it is drawn."""
_NAMES = "model, loader, optimizer, valid, state"


def laid_out(draft: Draft, training: Lines) -> tuple[Lines, Lines]:
    """The training as lines of definitions, and as lines that run it and bind ``result``."""
    kept = [name for name in draft.returned if f"{name} = " in "\n".join(draft.top)]
    begin = ["history = []", "best = float('inf')", *dict.fromkeys(draft.top)]
    ending = f"{', '.join(['history', 'best', *kept])}"
    epochs = draft.one((1, 2, 2))
    if any(re.match(r"\s*yield\b", line) for line in training):
        lines = inside(f"def train({_NAMES}, epochs=2, verbose=True):", [*begin, *training])
        return lines, [f"result = list(train({_NAMES}, epochs={epochs}))"]
    if draft.layout == "script":
        return [], [f"epochs, verbose = {epochs}, True", *begin, *training, f"result = {ending}"]
    if draft.layout == "trainer":
        return _trainer(draft, [*begin, *training, f"return {ending}"], epochs)
    lines = inside(f"def train({_NAMES}, epochs=2, verbose=True):", [*begin, *training, f"return {ending}"])
    if draft.layout == "stepped":
        lines = _stepped(lines)
    return lines, [f"result = train({_NAMES}, epochs={epochs})"]


def _trainer(draft: Draft, lines: Lines, epochs: int) -> tuple[Lines, Lines]:
    names = ["model", "optimizer", "state"]
    names += [name for name in draft.running if draft.often(0.3) and name not in draft.plain]
    text = "\n".join(lines)
    for name in names:
        text = re.sub(rf"(?<![\w.'])\b{name}\b(?!['=])", f"self.{name}", text)
    begin = inside(
        "def __init__(self, model, optimizer, state):",
        ["self.model = model", "self.optimizer = optimizer", "self.state = state"],
    )
    more = [line for method in draft.methods for line in ["", *method.split("\n")]]
    method = inside("def train(self, loader, valid, epochs=2, verbose=True):", text.split("\n"))
    trainer = inside("class Trainer:", [*begin, *more, "", *method])
    return trainer, [
        "trainer = Trainer(model, optimizer, state)",
        f"result = trainer.train(loader, valid, epochs={epochs})",
    ]


def _stepped(lines: Lines) -> Lines:
    """The forward and backward pass in a function of their own, where they stand together."""
    text = "\n".join(lines)
    core = re.search(
        r"(?m)^(?P<deep> *)out = model\(x\)\n(?P=deep)loss = [^\n]*\n(?P=deep)loss\.backward\(\)\n"
        r"(?P=deep)optimizer\.step\(\)\n(?P=deep)optimizer\.clear_grad\(\)\n",
        text,
    )
    if core is None:
        return lines
    body = re.sub(rf"(?m)^{core['deep']}", "", core.group()).rstrip("\n").split("\n")
    step = inside("def train_step(model, x, y, optimizer):", [*body, "return loss, out"])
    call = indent("loss, out = train_step(model, x, y, optimizer)\n", core["deep"])
    changed = text[: core.start()] + call + text[core.end() :]
    return [*step, "", "", *changed.split("\n")]
