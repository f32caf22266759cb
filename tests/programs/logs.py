"""Log lines: to the screen, a logger, a curve, a progress bar, a file; at each step or now and then."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines
from tests.programs.guards import guarded, skipping


def log(draft: Draft) -> Lines:
    """Log lines under a test, or under none."""
    lines = [line for _ in range(draft.one((1, 1, 2))) for line in log_line(draft)]
    share = draft.chance.random()
    if share < 0.4:
        return lines
    return guarded(draft, lines) if share < 0.9 else skipping(draft, lines)


def log_line(draft: Draft, number: str = "", shown: str = "") -> Lines:
    """One statement that logs; ``number`` is what counts, if not the steps, ``shown`` what it is to show."""
    step = draft.at(number)
    tag = draft.new("loss", "train", "now", "at")
    values = ["loss.item()", "float(loss)", "loss.item()", "loss.numpy()", "loss", "round(loss.item(), 4)"]
    values += [*draft.running.values()] * 2
    values += ["optimizer.get_lr()", step, f"{step} + 1", "x.shape[0]"]
    value = shown or draft.one(values)
    quoted = value.replace("'", '"')
    number_like = value if "numpy" not in value else "loss.item()"
    family = draft.one(("print", "print", "print", "logger", "logger", "curve", "bar", "file", "write"))
    if family == "print":
        return draft.one(
            (
                [f"print('{tag}', {step}, {value})"],
                [f"print(f'{tag} {{{step}}}: {{{quoted}}}')"],
                [f"print('{tag} {{}} {{}}'.format({step}, {value}))"],
                [f"print('{tag} %s %s' % ({step}, {value}))"],
                ["print(", f"    '{tag}',", f"    {value},  # what it is now", ")"],
                [f"line = '{tag} ' + str({value})", "print(line)"],
                [f"print('{tag}', {step}, {value}, flush=True)"],
                [f"print('{tag}', {value}, end='.\\n')"],
                [f"print('{tag}', {value}) if {step} >= 0 else None"],
                [f"{step} < 0 or print('{tag}', {value})"],
                [f"[print('{tag}', seen) for seen in ({value},)]"],
            )
        )
    if family == "logger":
        method = draft.one(("info", "info", "warning", "debug"))
        return draft.one(
            (
                [f"logger.{method}('{tag} %s %s', {step}, {value})"],
                [f"logger.{method}(f'{tag} {{{step}}} {{{quoted}}}')"],
                [f"logger.{method}('{tag} {{}}'.format({value}))"],
            )
        )
    if family == "curve":
        draft.imports.add("from visualdl import LogWriter")
        if "writer = LogWriter('runs')" not in draft.top:
            draft.top.append("writer = LogWriter('runs')")
        if "[" in number_like or shown or number_like in ("logs", "stats", "scalars"):
            number_like = "loss.item()"
        return [f"writer.add_scalar('{tag}', {number_like}, {step})"]
    if family == "bar":
        draft.imports.add("from tqdm import tqdm")
        if "bar = tqdm()" not in draft.top:
            draft.top.append("bar = tqdm()")
        return draft.one(([f"bar.set_postfix({tag}=str({value}))"], [f"bar.set_description(f'{tag} {{{quoted}}}')"]))
    if family == "file":
        if "log_file = open('log.txt', 'w')" not in draft.top:
            draft.top.append("log_file = open('log.txt', 'w')")
        return [f"log_file.write(f'{tag} {{{step}}} {{{quoted}}}\\n')"]
    draft.imports.add("from tqdm import tqdm")
    return [f"tqdm.write(f'{tag} {{{quoted}}}')"]
