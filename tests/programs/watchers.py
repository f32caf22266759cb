"""Second names of what a step keeps, and what looks at it through them while the loop still runs."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines, inside

_WATCHER = """\
class Watcher:
    def __init__(self, values):
        self.values = values

    def on_step_end(self):
        {show}
"""
_HOOKS = """\
import json
import sys

KEPT = []


def watch(values):
    KEPT.append(values)


def on_step():
    {lines}
"""
_READS = ("loss.item()", "float(loss)", "loss.numpy().item()", "float(loss.detach())")
_TESTS = ("", "", "", "", "if {step} % 3 == 0:", "if {step} == 2:", "if verbose:")


def watched_list(draft: Draft) -> Lines:
    """A list of losses that has a second name, and is looked at through it, or by a function of its own."""
    name = draft.new("losses", "seen_losses", "record")
    draft.plain.add(name)
    added = draft.one((f"{name}.append({draft.one(_READS)})", f"{name} += [{draft.one(_READS)}]"))
    place = draft.start(f"{name} = []")
    draft.after += draft.one(
        ([f"print('mean', sum({name}) / max(1, len({name})))"], [f"print({name}[-2:])"], [f"state['{name}'] = {name}"])
    )
    return [added, *_looked_at(draft, place, name, _second_name(draft, place, name))]


def watched_sum(draft: Draft) -> Lines:
    """A running sum that something besides its own loop looks at."""
    name = draft.new("total_loss", "loss_so_far", "summed")
    draft.plain.add(name)
    place = draft.start(f"{name} = 0.0")
    draft.after += draft.one(
        ([f"print('sum', {name})"], [f"print(f'{{{name} / 7:.5f}}')"], [f"history.append({name})"])
    )
    return [f"{name} += {draft.one(_READS)}", *_looked_at(draft, place, name, "")]


def _second_name(draft: Draft, place: Lines, name: str) -> str:
    """Give a list that begins with the last line of ``place`` a second name; gives an expression for it."""
    other = draft.new("same", "also", "watched")
    ways = 2 * [
        ([f"{other} = {name} = []"], other),
        ([f"{name} = {other} = []"], other),
        ([f"state['{other}'] = {name} = []"], f"state['{other}']"),
        ([f"{name} = state['{other}'] = []"], f"state['{other}']"),
    ]
    ways += [
        ([f"{name} = []", f"{other} = {name}"], other),
        ([f"{name} = []", f"{other}, _ = {name}, 0"], other),
        ([f"{name} = []", f"{other} = {{'run': {name}, 'count': 0}}"], f"{other}['run']"),
        ([f"{name} = []", f"{other} = dict(run={name})"], f"{other}['run']"),
        ([f"{name} = []", f"state.update({other}={name})"], f"state['{other}']"),
        ([f"{name} = []", f"state.setdefault('{other}', {name})"], f"state['{other}']"),
        ([f"{name} = []", f"{other} = [{name}]"], f"{other}[0]"),
        ([f"{name} = []", f"{other} = ({name}, 1)"], f"{other}[0]"),
        ([f"{name} = []", f"{other} = []", f"{other}.append({name})"], f"{other}[-1]"),
        ([f"{name} = []", f"{other} = {name} if {name} is not None else None"], other),
        ([f"{name} = []", f"{other} = {name} or {name}"], other),
        ([f"{name} = []", f"({other} := {name})"], other),
        ([f"{name} = ({other} := [])"], other),
        ([f"{name} = []", f"for {other} in ({name},):\n    pass"], other),
        ([f"{name} = []", f"with nullcontext({name}) as {other}:\n    pass"], other),
        ([f"{name} = []", f"class {other.title()}:\n    kept = {name}"], f"{other.title()}.kept"),
        ([f"{name} = []", f"def {other}(values={name}):\n    return values"], f"{other}()"),
        ([f"{name} = []", f"{other} = lambda: {name}"], f"{other}()"),
        ([f"{name} = []"], name),
        ([f"{name} = []"], name),
    ]
    if draft.layout == "trainer":
        ways += 3 * [
            ([f"self.{other} = {name} = []"], f"self.{other}"),
            ([f"{name} = self.{other} = []"], f"self.{other}"),
            ([f"{name} = []", f"self.{other} = {name}"], f"self.{other}"),
        ]
    lines, expression = draft.one(ways)
    if "nullcontext" in "".join(lines):
        draft.imports.add("from contextlib import nullcontext")
    place[-1:] = ["\n".join(lines)]
    return expression


def _looked_at(draft: Draft, place: Lines, name: str, alias: str) -> Lines:
    """Lines in the step that show a list by its alias, or a sum; ``place`` is where it begins."""
    # Names that are looked up by text are those of the training's own scope.
    seen = alias or draft.one(
        (name, name, name, f"locals()['{name}']", f"eval('{name}')", f"vars()['{name}']", f"locals().get('{name}')")
    )
    if draft.layout == "script" and draft.often(0.6):
        return _from_elsewhere(draft, name, bool(alias))
    number = draft.one((f"{seen}[-1]", f"{seen}[-1]", f"max({seen})", f"sum({seen})")) if alias else seen
    show = _shown(draft, number, seen if alias else "")
    by_text = any(word in seen for word in ("locals", "vars", "eval"))
    ways = [lambda: [show]]
    if not by_text:
        ways += [lambda: _by_function(draft, place, show), lambda: _by_lambda(draft, place, number)]
    if alias:
        ways += [lambda: _by_object(draft, place, seen), lambda: _by_other_file(draft, place, seen)]
        ways += [lambda: _by_partial(draft, place, seen)]
    if draft.layout == "trainer" and seen.startswith("self."):
        ways += 3 * [lambda: _by_method(draft, show)]
    lines: Lines = draft.one(ways)()
    test = draft.one(_TESTS).format(step=draft.at())
    return inside(test, lines) if test else lines


def _shown(draft: Draft, number: str, whole: str) -> str:
    """A statement that shows a number, or all of a list."""
    draft.imports.add("import json")
    several = [f"print('all', sum({whole}))", f"print(json.dumps({whole}))", f"print(len({whole}))"] if whole else []
    return draft.one(
        (
            f"print('so far', {number})",
            f"print('so far', {number})",
            f"print(f'so far {{{number.replace(chr(39), chr(34))}:.4f}}')",
            f"print('so far %.4f' % {number})",
            f"print('so far', type({number}).__name__)",
            f"print('so far', isinstance({number}, float))",
            f"print(json.dumps({{'so far': {number}}}))",
            f"logger.info('so far %s', {number})",
            f"history.append({number})" if "self" not in number else f"print(round({number}, 4))",
            f"state['so far'] = str({number})",
            *several,
        )
    )


def _by_function(draft: Draft, place: Lines, show: str) -> Lines:
    function = draft.new("show", "on_step_end", "note")
    place.append(f"def {function}():\n    {show}")
    if draft.often(0.4):
        callbacks = draft.new("callbacks", "hooks_of_step")
        place.append(f"{callbacks} = [{function}]")
        return [f"for callback in {callbacks}:", "    callback()"]
    return [f"{function}()"]


def _by_lambda(draft: Draft, place: Lines, number: str) -> Lines:
    function = draft.new("current_of", "latest")
    place.append(f"{function} = lambda: {number}")
    return [f"print('latest', {function}())"]


def _by_object(draft: Draft, place: Lines, seen: str) -> Lines:
    draft.helper("Watcher", _WATCHER.format(show=_shown(draft, "self.values[-1]", "self.values")))
    watcher = draft.new("watcher", "callback_of_loop")
    place.append(f"{watcher} = Watcher({seen})")
    return [f"{watcher}.on_step_end()"]


def _by_partial(draft: Draft, place: Lines, seen: str) -> Lines:
    draft.imports.add("import functools")
    function = draft.new("show_all", "print_list")
    place.append(f"{function} = functools.partial(print, 'kept', {seen})")
    return [f"{function}()"]


def _by_method(draft: Draft, show: str) -> Lines:
    method = draft.new("on_batch_end", "after_step")
    draft.methods.append(f"def {method}(self):\n    {show.replace('history.append', 'print')}")
    if "state" in show:
        draft.methods[-1] = draft.methods[-1].replace("state[", "self.state[")
    return [f"self.{method}()"]


def _by_other_file(draft: Draft, place: Lines, seen: str) -> Lines:
    show = draft.one(("print('hook', KEPT[-1][-1])", "print(json.dumps(KEPT[-1]))", "print(type(KEPT[-1][-1]))"))
    draft.modules["hooks"] = _HOOKS.format(lines=show)
    draft.imports.add("import hooks")
    place.append(f"hooks.watch({seen})")
    return ["hooks.on_step()"]


def _from_elsewhere(draft: Draft, name: str, is_list: bool) -> Lines:
    """Another file, or a function by ``globals()``, looks at a name of the module while its loop runs."""
    part = "[-1]" if is_list else ""
    if draft.often(0.3):
        value = draft.one((f"globals()['{name}']", f"eval('{name}')", f"vars(sys.modules[__name__])['{name}']", name))
        draft.imports.add("import sys")
        function = draft.new("show_global", "peek")
        draft.top.append(f"def {function}():\n    print('global', {value}{part})")
        return [f"{function}()"]
    home = draft.home
    read = draft.one(
        (
            f"import {home} as training\n    print('hook', training.{name}{part})",
            f"from {home} import {name}\n    print('hook', {name}{part})",
            f"print('hook', sys.modules['{home}'].{name}{part})",
            f"training = sys.modules.get('{home}')\n    print('hook', getattr(training, '{name}'){part})",
        )
    )
    draft.modules["hooks"] = _HOOKS.format(lines=read)
    draft.imports.add("import hooks")
    return ["hooks.on_step()"]
