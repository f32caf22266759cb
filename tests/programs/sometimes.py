"""Values that are a tensor at some steps and a number at others, and names that something rebinds on the way."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines

_TENSORS = ("(out ** 2).mean()", "F.mse_loss(out, y * 0.5)", "loss * 0.1", "out.mean()", "(loss * 2).detach()")
_NUMBERS = ("0.0", "0", "None", "0.5", "np.float32(0.5)", "True")
_PENALTY = """\
def penalty(out, y, loss, number):
{body}
"""
_BODIES = (
    "    if {test}:\n        return {tensor}\n    return {number}",
    "    if not {test}:\n        return {number}\n    return {tensor}",
    "    return {tensor} if {test} else {number}",
    "    value = {number}\n    if {test}:\n        value = {tensor}\n    return value",
    "    try:\n        if not {test}:\n            raise ValueError\n        return {tensor}\n"
    "    except ValueError:\n        return {number}",
    "    for _ in range(int({test})):\n        return {tensor}\n    return {number}",
    "    values = {{True: lambda: {tensor}, False: lambda: {number}}}\n    return values[bool({test})]()",
    "    def choose():\n        return {tensor} if {test} else {number}\n\n    return choose()",
    "    while {test}:\n        return {tensor}\n    else:\n        return {number}",
)


def sometimes(draft: Draft) -> Lines:
    """A value of two kinds, and what reads it."""
    name = draft.new("aux", "extra", "penalised")
    tensor, number = draft.one(_TENSORS), draft.one(_NUMBERS)
    test = draft.one((f"{draft.at()} % 2", f"{draft.at()} > 1", f"{draft.at()} == 0", "verbose"))
    return [*_made(draft, name, tensor, number, test), *_used(draft, name, number)]


def _made(draft: Draft, name: str, tensor: str, number: str, test: str) -> Lines:
    either = f"{tensor} if {test} else {number}"
    if draft.often(0.3):
        body = draft.one(_BODIES).format(tensor=tensor, number=number, test="number % 2 == 1")
        draft.helper("penalty", _PENALTY.format(body=body))
        return [f"{name} = penalty(out, y, loss, {draft.at()})"]
    ways: list[Lines] = [
        [f"{name} = {number}", f"if {test}:", f"    {name} = {tensor}"],
        [f"{name} = {tensor}", f"if {test}:", f"    {name} = {number}"],
        [f"if {test}:", f"    {name} = {tensor}", "else:", f"    {name} = {number}"],
        [f"{name} = {either}"],
        [f"({name} := {either})"],
        [f"{name}, _ = ({either}), 0"],
        ["parts = {}", f"if {test}:", f"    parts['{name}'] = {tensor}", f"{name} = parts.get('{name}', {number})"],
        [f"for {name} in ({either},):", "    pass"],
        [f"with nullcontext({either}) as {name}:", "    pass"],
        [f"{name} = [{number}, {tensor}][bool({test})]"],
        [f"{name} = next((value for value in [{tensor}] if {test}), {number})"],
        [f"{name} = (lambda: {either})()"],
        [f"{name} = {number}", f"for _ in range(int({test})):", f"    {name} = {tensor}"],
        [f"{name} = {tensor}", f"while {test}:", f"    {name} = {number}", "    break"],
        [
            "try:",
            f"    {name} = {tensor}",
            f"    if {test}:",
            "        raise ValueError",
            "except ValueError:",
            f"    {name} = {number}",
        ],
        [f"{name} = {number}", f"def choose_{name}():", f"    return {either}", f"{name} = choose_{name}()"],
        [f"class Holder_{name}:", f"    value = {either}", f"{name} = Holder_{name}.value"],
    ]
    lines: Lines = draft.one(ways)
    if "nullcontext" in "".join(lines):
        draft.imports.add("from contextlib import nullcontext")
    return lines


def _used(draft: Draft, name: str, number: str) -> Lines:
    """What reads a value: into a sum, a list, a log line."""
    read = f"float({name})"
    if number == "None":
        read = draft.one((f"float({name} or 0.0)", f"(0.0 if {name} is None else float({name}))"))
        read = read if draft.often(0.7) else f"({name}.item() if {name} is not None else 0.0)"
    elif number not in ("np.float32(0.5)", "True") and draft.often(0.2):
        read = f"({name}.item() if hasattr({name}, 'item') else {name})"
    total = draft.new("aux_total", "aux_sum")
    lines: Lines = draft.one(
        (
            [f"{total} += {read}"],
            [f"{total} += {read}"],
            [f"{total} = {total} + {read}"],
            [f"if {name} is not None:", f"    {total} += float({name})"],
            [f"{total} += {read} * 0.5"],
            [f"{total}.append({read})"],
            [f"{total}.append({read})"],
            [f"print('aux', {read})"],
        )
    )
    draft.start(f"{total} = []" if ".append" in lines[0] else f"{total} = 0.0")
    draft.after.append(f"print('{total}', {total})")
    return lines


def rebound_factor(draft: Draft) -> Lines:
    """A sum with a factor that begins as a number, and is rebound on the way to something else."""
    name, total = draft.new("weight", "ratio", "share"), draft.new("weighted", "scaled_total")
    draft.plain |= {name, total}
    kinds = ("x.mean()", "paddle.to_tensor(0.5)", "np.float64(0.5)", "np.float32(0.5)", "loss.detach()", "1", "True")
    kind = draft.one((*kinds, "0.25", "loss.item()", "y[0]", "out.mean()"))
    draft.start(f"{name} = {draft.one(('1.0', '1', '0.5'))}")
    draft.start(f"{total} = 0.0")
    # An inner function, or another iteration, may have begun anew what the sum is of.
    draft.after.append(draft.one((f"print('weighted', {total})", f"history.append({total})", f"state['w'] = {total}")))
    scope = "global" if draft.layout == "script" else "nonlocal"
    ways: list[Lines] = [
        [f"for {name} in (2.0, {kind}):", "    pass"],
        [f"for {name}, _ in zip([{kind}], x):", "    pass"],
        [f"with nullcontext({kind}) as {name}:", "    pass"],
        [f"({name} := {kind})"],
        [f"print('rebound', bool(({name} := {kind}) is None))"],
        [f"{name} = {name} * 0.5 + {kind}"],
        [f"{name} += {kind}"],
        [f"{name}, _ = {kind}, 0"],
        [f"[{name}] = [{kind}]"],
        [f"*_, {name} = (0, {kind})"],
        [f"del {name}", f"{name} = {kind}"],
        [f"def rebind_{name}():", f"    {scope} {name}", f"    {name} = {kind}", f"rebind_{name}()"],
        [f"match {kind}:", f"    case {name}:", "        pass"],
        [f"if {draft.at()} % 2:", f"    {name} = {kind}"],
        ["try:", f"    {name} = {kind}", "finally:", "    pass"],
        [f"{name} = [{name} for {name} in (0.5, 0.25)][0]"],
        [],
    ]
    if draft.layout == "script":
        ways += [[f"globals()['{name}'] = {kind}"]]
    lines: Lines = draft.one(ways)
    if "nullcontext" in "".join(lines):
        draft.imports.add("from contextlib import nullcontext")
    read = draft.one(("loss.item()", "float(loss)"))
    added = draft.one(
        (f"{total} += {read} * {name}", f"{total} += {name} * {read}", f"{total} = {total} + {read} * {name}")
    )
    return [*lines, added] if draft.often(0.8) else [added, *lines]
