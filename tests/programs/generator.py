"""Makes up training programs: the same program for the same seed."""

from __future__ import annotations

import ast
import random

from tests.programs import pieces
from tests.programs.draft import Draft, Lines, inside
from tests.programs.files import spread
from tests.programs.layouts import LAYOUTS, laid_out
from tests.programs.pieces import SAMPLES
from tests.programs.spellings import in_main
from tests.programs.texts import Program
from tests.programs.writing import written

_HOMES = {
    "script": ("__main__", "__main__", "run", "lib.run"),
    "others": ("__main__", "__main__", "__main__", "steps", "steps", "engine", "lib.steps", "lib.steps"),
}
"""The modules in which a training may stand, by what it is."""
_COUNTERS = ("step", "i", "idx", "batch_id", "it")
_BATCHES = """\
def make_batch(number):
    x = paddle.to_tensor(np.array([[0.1 * number, 0.2], [0.3, 0.05 * (number % 7)]], dtype='float32'))
    y = paddle.to_tensor(np.array([[0.2 + 0.02 * number], [0.5]], dtype='float32'))
    return x, y
"""
_NET = """\
class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(2, 3)
        self.last = paddle.nn.Linear(3, 1)
        self.register_buffer('scale', paddle.to_tensor(0.5))

    def forward(self, x):
        hidden = F.relu(self.first(x))
        return self.last(hidden * {scale})
"""
_BROKEN = """\
def broken(batches, at):
    for number, batch in enumerate(batches):
        if number == at:
            raise {error}('batch %d cannot be read' % number)
        yield batch
"""


def program(seed: int) -> Program:
    """One made-up training program."""
    draft = Draft(random.Random(seed))
    draft.layout = draft.one(LAYOUTS)
    draft.home = draft.one(_HOMES["script" if draft.layout == "script" else "others"])
    draft.is_lazy = draft.layout != "script" and draft.often(0.13)
    draft.is_guarded = not draft.is_lazy and draft.often(0.15)
    draft.wide = draft.often(0.06)
    data = _data(draft)
    open_loop, counting = _loop(draft)
    body = _body(draft, counting)
    training = _around(draft, [*draft.before, *open_loop(body)])
    definitions, calls = laid_out(draft, training)
    main = [
        *(["if paddle is None:", "    print('no Paddle')", "    raise SystemExit"] if draft.is_guarded else []),
        "paddle.seed(11)",
        *_model(draft),
        f"optimizer = {_optimizer(draft)}",
        *data,
        "state = {}",
        *_called(draft, calls),
        "print(result, state)",
        *_later(draft),
        *_environment(draft),
    ]
    texts = spread(draft, definitions, in_main(main) if draft.is_lazy else main, _known(draft))
    return Program(written(draft, texts))


def _later(draft: Draft) -> Lines:
    """Lines at the end of a program that use packages which its other files may have imported."""
    lines = [
        [],
        ["print(float(np.ones(2).sum()))"],
        ["print(np.float32(0.5), F.relu.__name__)"],
        ["print(F.relu.__name__)"],
        *([["print('freed', gc.collect())"]] * 3 if "import gc" in draft.imports else []),
    ]
    return draft.one(lines)


def _known(draft: Draft) -> dict[str, str]:
    """The imports that pieces have asked for, by the names that they bind."""
    return {
        alias.asname or alias.name: statement
        for statement in draft.imports
        for node in ast.parse(statement).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def _environment(draft: Draft) -> Lines:
    """Have a flag of Paddle set by the environment; gives what shows whether Paddle has seen it."""
    if not draft.often(0.4 if draft.is_lazy else 0.1):
        return []
    flag = draft.one(("FLAGS_max_inplace_grad_add", "FLAGS_benchmark", "FLAGS_sort_sum_gradient"))
    setting = draft.one(
        (
            f"os.environ['{flag}'] = '7'",
            f"os.environ.update({{'{flag}': '7'}})",
            f"os.putenv('{flag}', '7') or os.environ.setdefault('{flag}', '7')",
        )
    )
    draft.environment = ["import os", setting]
    return [f"print(paddle.get_flags(['{flag}']))"]


def _model(draft: Draft) -> Lines:
    if draft.wide:
        return ["model = paddle.nn.Sequential(paddle.nn.Linear(2, 250), paddle.nn.ReLU(), paddle.nn.Linear(250, 1))"]
    if "Net" in draft.helpers:
        return ["model = Net()"]
    return [
        draft.one(
            (
                "model = paddle.nn.Linear(2, 1)",
                "model = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU(), paddle.nn.Linear(3, 1))",
            )
        )
    ]


def _optimizer(draft: Draft) -> str:
    return draft.one(
        (
            "paddle.optimizer.SGD(0.1, parameters=model.parameters())",
            "paddle.optimizer.Momentum(0.05, 0.9, parameters=model.parameters())",
            "paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(0.1, step_size=5), parameters=model.parameters())",
        )
    )


def _data(draft: Draft) -> Lines:
    """The lines that make ``loader`` and ``valid``."""
    draft.helper("make_batch", _BATCHES)
    if draft.often(0.2) and draft.loads_early:
        draft.helper(
            "Net",
            _NET.format(scale=draft.one(("self.scale", "paddle.to_tensor(0.5)", "paddle.to_tensor([0.5])", "2.0"))),
        )
    count = draft.one((3, 11, 12, 21, 23))
    lines = ["valid = [make_batch(number) for number in range(3)]"]
    if draft.often(0.25) and draft.loads_early:
        draft.helper("Samples", SAMPLES)
        shuffle = ", shuffle=True" if draft.often(0.2) else ""
        lines.append(f"loader = paddle.io.DataLoader(Samples({2 * count}), batch_size=2{shuffle})")
    else:
        lines.append(f"loader = [make_batch(number) for number in range({count})]")
    if draft.often(0.2):
        draft.sized = False
        draft.helper("broken", _BROKEN.format(error=draft.one(("RuntimeError", "KeyboardInterrupt", "ValueError"))))
        lines.append(f"loader = broken(loader, {draft.one((0, 1, 5, 10))})")
    return lines


class _Loop:
    """How the step loop is written: its ``head``, what its body begins with, what it ends with, and its ``else``."""

    def __init__(self, head: str, first: Lines, final: Lines | None = None, otherwise: Lines | None = None) -> None:
        self.head, self.first, self.final, self.otherwise = head, first, final or [], otherwise or []

    def __call__(self, body: Lines) -> Lines:
        return [*inside(self.head, body), *self.otherwise]


def _loop(draft: Draft) -> tuple[_Loop, _Loop]:
    counter = draft.one(_COUNTERS)
    loader = draft.loader
    otherwise = inside("else:", ["print('all batches seen')"]) if draft.often(0.1) else []
    ways = [
        "enumerate",
        "enumerate",
        "enumerate",
        "from one",
        "counted",
        "counted",
        "counted",
        "none",
        "underscore",
        "bar",
    ]
    if draft.sized and "Samples" not in draft.helpers:
        ways += ["while", "range"]
    if draft.sized:
        ways += ["next"]
    way = draft.one(ways)
    first: Lines = []
    final: Lines = []
    if way == "none":
        head = f"for x, y in {loader}:"
    elif way == "underscore":
        head = f"for _, (x, y) in enumerate({loader}):"
    elif way == "bar":
        draft.imports.add("from tqdm import tqdm")
        head = f"for batch in tqdm({loader}):"
        first = ["x, y = batch"]
    else:
        draft.counter = counter
        if way == "enumerate":
            head = f"for {counter}, (x, y) in enumerate({loader}):"
            if draft.often(0.2):
                draft.imports.add("from tqdm import tqdm")
                head = f"for {counter}, (x, y) in enumerate(tqdm({loader})):"
            elif draft.often(0.2):
                head, first = f"for {counter}, batch in enumerate({loader}):", ["x, y = batch"]
        elif way == "from one":
            head = f"for {counter}, (x, y) in enumerate({loader}, {draft.one(('1', 'start=1', 'start=100'))}):"
        elif way == "while":
            draft.before.append(f"{counter} = 0")
            head, first, final = (
                f"while {counter} < len({loader}):",
                [f"x, y = {loader}[{counter}]"],
                [f"{counter} += 1"],
            )
        elif way == "range":
            head, first = f"for {counter} in range(len({loader})):", [f"x, y = {loader}[{counter}]"]
        elif way == "next":
            draft.before.append(f"batches = iter({loader})")
            head, first = f"for {counter} in range(len({loader})):", ["x, y = next(batches)"]
        else:
            (draft.top if draft.often(0.5) else draft.before).append(f"{counter} = {draft.one((0, 0, 1))}")
            head = f"for x, y in {loader}:"
            (first if draft.often(0.5) else final).append(f"{counter} += 1")
    loop = _Loop(head, first, final, otherwise)
    return loop, loop


def _body(draft: Draft, loop: _Loop) -> Lines:
    step: Lines = [
        "out = model(x)",
        draft.one(
            (
                "loss = F.mse_loss(out, y)",
                "loss = F.mse_loss(out, y)",
                "loss = ((out - y) ** 2).mean()",
                "loss = F.mse_loss(out, y) * paddle.to_tensor(0.5)",
                "loss = paddle.nn.MSELoss()(out, y)",
                "loss = F.mse_loss(out, y) + 0.1 * (out ** 2).mean()",
                "loss = F.mse_loss(out, y, reduction='none').mean(axis=0)",
            )
        ),
        *draft.one((["loss.backward()"], ["loss.backward()"], ["(loss / 2).backward()"])),
    ]
    update: Lines = ["optimizer.step()", "optimizer.clear_grad()"]
    if draft.often(0.7 if draft.wide else 0.05):
        step, update = _mixed(draft, step)
    elif draft.counter and draft.often(0.15):
        update = inside(f"if ({draft.counter} + 1) % 2 == 0:", update)
    names, weights = zip(*pieces.STEP, strict=True)
    chosen = draft.chance.choices(names, weights, k=draft.one((1, 2, 2, 3, 4)))
    chosen.sort(key=lambda piece: piece is pieces.changed_afterwards)  # after what reads the loss
    others: Lines = []
    early: Lines = []
    for piece in chosen:
        lines = piece(draft)
        if piece in (pieces.running_sum, pieces.list_of_losses) and draft.often(0.15):
            early += lines
        else:
            others += lines
    if draft.often(0.1) and others:
        others = [*inside("try:", others), *inside("except ValueError:", ["print('a value was wrong')"])]
    *before_backward, backward = step
    if draft.often(0.06) and draft.loads_early:
        before_backward += pieces.second_loader(draft)
    body = [*loop.first, *before_backward, *early, backward, *update, *others, *loop.final]
    if any(line.strip() == "continue" for line in others) and loop.final:
        body = [*loop.final, *loop.first, *before_backward, *early, backward, *update, *others]
        if loop.head.startswith("while"):  # the counter goes up at the top, so the batch is the one before
            body = [*loop.final, *(line.replace(f"[{draft.counter}]", f"[{draft.counter} - 1]") for line in body[1:])]
    return body


def _mixed(draft: Draft, step: Lines) -> tuple[Lines, Lines]:
    """A step in mixed precision, with a scaler."""
    draft.top.append("scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)")
    *forward, _ = step
    forward = inside("with paddle.amp.auto_cast():", forward)
    return [*forward, "scaler.scale(loss).backward()"], [
        "scaler.step(optimizer)",
        "scaler.update()",
        "optimizer.clear_grad()",
    ]


def _around(draft: Draft, loop: Lines) -> Lines:
    """What stands around the step loop: epochs, and what catches the end of them."""
    shown = [name for name in draft.running if f"{name} = " in "\n".join(draft.top)]
    show = [f"print('stopped', {draft.running[name]})" for name in shown[:1]] + [
        f"state['{name}'] = {_shown(draft, name)}" for name in shown
    ]
    last: Lines = [f"print('finally', {_shown(draft, name)})" for name in shown] or ["print('finally')"]
    is_row = "axis=0" in "\n".join(loop)
    errors = "RuntimeError" if is_row else "Exception"  # a row is no number, which NumPy says by a TypeError
    handlers = draft.one(
        (
            inside("except KeyboardInterrupt:", show or ["print('stopped')"]),
            inside(f"except {errors} as error:", [*show, "print('failed', error)", *draft.one((["raise"], []))]),
            inside("finally:", last),
            [*inside("except (KeyboardInterrupt, RuntimeError):", show), *inside("else:", ["print('whole')"])],
            [*inside("except KeyboardInterrupt:", ["pass"]), *inside("finally:", last)],
        )
    )
    share = draft.chance.random()
    epoch = [*loop, *draft.after, *draft.last]
    if share < 0.2:
        inner = [name for name in draft.running if f"{name} = " in "\n".join([*draft.top, *draft.before])]
        starts = [line for line in draft.before if loop and line in loop]
        rest = loop[len(draft.before) :]
        ends = inside("finally:", [f"print('so far', {_shown(draft, name)})" for name in inner] or ["print('so far')"])
        if draft.often(0.5):
            ends = inside(
                "except KeyboardInterrupt:",
                [f"print('cut', {_shown(draft, name)})" for name in inner] or ["print('cut')"],
            )
        epoch = [*starts, *inside("try:", rest), *ends, *draft.after, *draft.last]
    epochs = inside(f"for epoch in range({draft.one(('epochs', 'epochs', '1, epochs + 1'))}):", epoch)
    if share > 0.7:
        epochs = [*inside("try:", epochs), *handlers]
    elif share > 0.63:
        draft.imports.add("from contextlib import suppress")
        epochs = [*inside("with suppress(KeyboardInterrupt):", epochs), *draft.one(([], show))]
    return epochs


def _shown(draft: Draft, name: str) -> str:
    """What shows a running value: the name itself, or what a meter says."""
    return draft.running[name] if draft.running[name].endswith(".average") else name


def _called(draft: Draft, calls: Lines) -> Lines:
    if draft.often(0.2):
        handler = inside("except KeyboardInterrupt:", ["print('stopped from outside', state)"])
        return ["result = None", *inside("try:", calls), *handler]
    return calls
