"""Log lines that do more than log: they bind names, take from iterators, step, count, change tensors."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines
from tests.programs.guards import guarded
from tests.programs.logs import log_line

_COUNTED = """\
class Counted:
    def __init__(self):
        self.calls, self.total = 0, 0.0

    def update(self, value):
        self.calls += 1
        self.total += float(value)
        return self.total

    def __str__(self):
        return f'{self.total:.4f}'
"""
_REPORT = """\
CALLS = []


def report(value):
    CALLS.append(round(float(value), 5))
    return len(CALLS)
"""


def effect_in_log(draft: Draft) -> Lines:
    """A log line, one of whose values has an effect that something sees later."""
    shown = _effect(draft)
    lines = log_line(draft, shown=shown)
    if draft.often(0.5):  # so that the rules have a reason to look at the line
        read = draft.one(("loss.item()", "float(loss)"))
        lines = [draft.one((f"print('with loss', {shown}, {read})", f"logger.info('%s %s', {read}, {shown})"))]
    return lines if draft.often(0.7) else guarded(draft, lines)


def _effect(draft: Draft) -> str:
    """An expression with an effect; what shows the effect is added behind the loop."""
    name = draft.new("noted", "shown", "counted")
    draft.plain.add(name)
    step = draft.at()
    start, shown, after = draft.one(
        (
            ("None", f"({name} := loss.item())", f"print('noted', {name})"),
            ("None", f"({name} := {step})", f"print('noted', {name})"),
            ("0", f"({name} := {name} + 1)", f"print('noted', {name})"),
            ("iter(range(10000))", f"next({name})", f"print('next', next({name}))"),
            ("itertools.count()", f"next({name})", f"print('next', next({name}))"),
            ("(n * n for n in itertools.count())", f"next({name})", f"print('next', next({name}))"),
            ("list(range(5000))", f"{name}.pop()", f"print('left', len({name}))"),
            ("[]", f"{name}.append({step})", f"print('kept', len({name}))"),
            ("set()", f"{name}.add({step})", f"print('kept', sorted({name}))"),
            ("{}", f"{name}.setdefault({step}, {step} * 2)", f"print('kept', sorted({name}))"),
            ("Counter()", f"{name}.update(['step'])", f"print('count', {name}['step'])"),
            ("Counted()", f"{name}.update(loss.item())", f"print('calls', {name}.calls)"),
            ("Counted()", f"{name}.update(loss)", f"print('calls', {name}.calls)"),
            ("Counted()", f"{name}", f"print('calls', {name}.calls)"),
            ("[]", "report(loss)", "print('reports', len(CALLS))"),
            (
                "paddle.optimizer.lr.StepDecay(0.1, step_size=3)",
                f"{name}.step()",
                f"print('rate %.6f' % {name}.get_lr())",
            ),
            ("random.Random(3)", f"{name}.random()", f"print('chance', {name}.random())"),
            ("np.random.RandomState(3)", f"{name}.rand()", f"print('chance', {name}.rand())"),
            ("io.StringIO()", f"{name}.write('.')", f"print(len({name}.getvalue()))"),
            ("0", "loss.scale_(2.0)", "print('loss', float(loss))"),
            ("[0]", f"{name}.__setitem__(0, {step})", f"print('set', {name})"),
            ("0", f"[{name} := value for value in ({step},)]", f"print('noted', {name})"),
        )
    )
    for word, line in _NEEDED.items():
        if word in start:
            draft.imports.add(line)
    if "Counted" in start:
        draft.helper("Counted", _COUNTED)
    if "report(" in shown:
        draft.helper("CALLS", _REPORT)
    draft.start(f"{name} = {start}")
    draft.after.append(after if "float(loss)" not in after else "print('changed', 'loss' in locals())")
    if draft.often(0.15):
        return f"'{{}}'.format({shown})"
    return shown


_NEEDED = {
    "itertools": "import itertools",
    "Counter": "from collections import Counter",
    "random.Random": "import random",
    "io.": "import io",
}
"""What the first values of names need."""
