"""Every line of code that a page or a message advises runs on Paddle 3.3.1, and every name in it exists there.

Lines are what stands in backticks, and the indented blocks.  What raises by design, does not exist by design, or is no
code is listed in ``tests/page_code.py``; anything else that does not run fails here.
"""

from __future__ import annotations

import ast
import builtins
import gc
import inspect
import re
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import paddle
import pytest

from perflint import catalogue
from perflint.catalogue import ArgumentMatch, Rule
from tests import page_code

ROOT = Path(__file__).resolve().parents[1]
RULES = list(catalogue.shipped().values())
OLDER = re.compile(r"paddle\.(fluid|base|framework\.core)\b")
"""Names of older releases, and of modules that are no part of the interface."""

_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
"""What a message fills in."""
_NO_CODE = re.compile(r"#|--|/|python |perflint |.*\.py$")


def prose(rule: Rule) -> Iterator[str]:
    yield from (rule.why, rule.ignore_when, rule.message, rule.fix_title, rule.fix_reason, rule.evidence)
    yield from (match.message for match in rule.match)
    yield from rule.texts.values()
    yield from (text for fix in rule.fixes.values() for text in (fix.message, fix.reason))


def spans(text: str) -> Iterator[str]:
    """What stands in backticks, on one row."""
    yield from (" ".join(found.split()) for found in re.findall(r"(?<!`)`([^`]+)`(?!`)", text))


def blocks(text: str) -> Iterator[str]:
    """Code that is set off from the prose by a blank row and more indentation than a list item has."""
    for found in re.finditer(r"\n\n((?: {6,}\S.*\n)+)", text):
        yield inspect.cleandoc(found[1])


def messages() -> Iterator[tuple[str, str]]:
    """The texts in the checks with the name of their module: what findings and fixes say."""
    for path in sorted((ROOT / "perflint" / "rules").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documentation = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                yield path.stem, node.value


PAGES = [(rule.code, text) for rule in RULES for text in prose(rule)]
LINES = sorted({(place, span) for place, text in [*PAGES, *messages()] for span in spans(text)})
BLOCKS = [(place, block) for place, text in PAGES for block in blocks(text)]


def resolve(name: str, known: dict[str, Any]) -> Any:
    """What a dotted name stands for."""
    first, *rest = name.split(".")
    start = known[first] if first in known else getattr(builtins, first)
    return reduce(getattr, rest, start)


def parsed(line: str) -> ast.Module:
    """A line as a statement: a method without its object gets one, an opening gets a body."""
    text = f"x{line}" if line.startswith(".") else line
    text = f"{text} pass" if text.endswith(":") else text
    text = f"{text}\ndef decorated(): pass\ndecorated()" if text.startswith("@") else text
    return ast.parse(text)


def try_line(place: str, line: str) -> None:
    """Run one line, or look up what it names where it is no whole line."""
    known = page_code.names(place) | page_code.OTHER_NAMES.get(line, {})
    tree = parsed(line)
    node = tree.body[0].value if isinstance(tree.body[0], ast.Expr) else tree.body[0]
    if isinstance(node, ast.Name):
        return  # a word: the name of an argument, of a method, of a file's setting
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant):
        has_parameter(node.targets[0].id)
    elif isinstance(node, ast.Attribute):
        resolve(ast.unparse(node), known)
    elif isinstance(node, ast.Call) and any(isinstance(item, ast.Constant) and item.value is ... for item in node.args):
        has_keywords(resolve(ast.unparse(node.func), known), node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        name = node.func.id
        assert hasattr(paddle.Tensor, name) or hasattr(builtins, name) or name in known
    elif isinstance(node, ast.Call) and ast.unparse(node) in ("np.array()",):
        resolve("np.array", known)
    else:
        exec(compile(tree, line, "exec"), known)


def has_parameter(name: str) -> None:
    if name.startswith("FLAGS_"):
        assert paddle.get_flags([name])
    elif name == "refresh":
        pass  # tqdm's, which the tests do without
    elif name != "stop_gradient":
        owner = page_code.PARAMETERS.get(name, paddle.io.DataLoader)
        assert name in inspect.signature(owner).parameters


def has_keywords(function: Callable[..., Any], call: ast.Call) -> None:
    for keyword in call.keywords:
        assert keyword.arg in inspect.signature(function).parameters


def is_code(line: str) -> bool:
    return not (line in page_code.NOT_RUN or _NO_CODE.match(line) or _PLACEHOLDER.search(line))


@pytest.mark.parametrize(("place", "line"), [given for given in LINES if is_code(given[1])])
def test_a_line_of_a_page_or_message_runs(place: str, line: str) -> None:
    if line in page_code.ABSENT:
        with pytest.raises(AttributeError):
            resolve(line if "." in line else f"paddle.{line}", {"paddle": paddle})
    elif line in page_code.RAISES:
        with pytest.raises(page_code.RAISES[line]):
            try_line(place, line)
    else:
        try_line(place, line)
    gc.enable()  # one page names gc.disable()


def test_what_is_excepted_is_still_said_somewhere() -> None:
    said = {line for _, line in LINES}
    for table in (page_code.NOT_RUN, page_code.RAISES, page_code.ABSENT, page_code.OTHER_NAMES):
        assert set(table) <= said, "take out what no page says any more"


@pytest.mark.parametrize(("place", "line"), [given for given in LINES if given[1].startswith("python benchmarks/")])
def test_a_benchmark_that_a_page_names_exists(place: str, line: str) -> None:
    assert (ROOT / line.split()[1]).is_file()


@pytest.mark.parametrize(("place", "block"), BLOCKS)
def test_a_block_of_a_page_runs(place: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, place, "exec"), page_code.names(place))


def test_the_pages_have_lines_and_blocks_to_run() -> None:
    assert len([line for _, line in LINES if is_code(line)]) > 100
    assert [place for place, _ in BLOCKS] == ["PPF402"]


# --- names and signatures


def paddle_names(rule: Rule) -> Iterator[str]:
    yield from (name for name in rule.calls if name.startswith("paddle."))
    yield from (match.call for match in rule.match if match.call.startswith("paddle."))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_calls_of_a_rule_exist(rule: Rule) -> None:
    for name in paddle_names(rule):
        if not OLDER.match(name) and "()" not in name:
            assert resolve(page_code.SET_WHEN_MADE.get(name, name), {"paddle": paddle}) is not None


@pytest.mark.parametrize("name", page_code.SET_WHEN_MADE)
def test_an_optimizer_has_another_name_for_a_method(name: str) -> None:
    optimizer = paddle.optimizer.Adam(parameters=paddle.nn.Linear(2, 2).parameters())
    method, other = (each.rpartition(".")[2] for each in (name, page_code.SET_WHEN_MADE[name]))
    assert getattr(optimizer, method) == getattr(optimizer, other)


ALL_MATCHES = [match for rule in RULES for match in rule.match]
MATCHES = [
    match
    for match in ALL_MATCHES
    if match.call.startswith("paddle.") and match.parameter and not OLDER.match(match.call)
]


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: f"{match.call}({match.parameter})")
def test_a_parameter_stands_where_the_rule_looks_for_it(match: ArgumentMatch) -> None:
    name = page_code.SET_WHEN_MADE.get(match.call, match.call)
    parameters = inspect.signature(resolve(name, {"paddle": paddle})).parameters
    order = [name for name in parameters if name != "self"]
    assert match.parameter in order
    if match.position is not None:
        assert order.index(match.parameter) == match.position
        default = parameters[match.parameter].default
        assert default == match.default or (match.default is None and default is inspect.Parameter.empty)
    for name, position in match.positions.items():
        assert order.index(name) == position
    for name in (*match.needs, *match.unless, *match.unless_kind, *match.unless_value):
        assert name in order


def chains(text: str) -> Iterator[str]:
    """The qualified names of Paddle in an example, as its own imports spell them."""
    tree = ast.parse(text)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            first, _, rest = ast.unparse(node).partition(".")
            full = f"{known.get(first, '')}.{rest}".strip(".")
            if re.fullmatch(r"paddle(\.\w+)*", full):
                yield full


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_examples_name_nothing_of_paddle_that_does_not_exist(rule: Rule) -> None:
    for example in rule.examples:
        for text in (example.bad, example.fixed, example.good):
            if text is None or rule.code in ("PPF001", "PPF003"):
                continue
            for name in chains(text):
                if not OLDER.match(name):
                    assert resolve(name, {"paddle": paddle}) is not None, (example.title, name)


DOCS = sorted({(path.name, line) for path in (ROOT / "docs").glob("*.md") for line in spans(path.read_text("utf-8"))})


@pytest.mark.parametrize(("page", "line"), [given for given in DOCS if re.match(r"paddle\.[\w.]+(\(.*\))?$", given[1])])
def test_the_docs_name_nothing_of_paddle_that_does_not_exist(page: str, line: str) -> None:
    name = line.partition("(")[0]
    assert OLDER.match(name) or resolve(name, {"paddle": paddle}) is not None
