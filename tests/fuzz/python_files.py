"""Changes Python files at random, checks them, makes every fix, and looks at what came out.

    python -m tests.fuzz.python_files --seed 1 --seconds 300 [DIRECTORY ...]

Nothing may raise.  A fixed file compiles if it did before, pyflakes says nothing new of it, a second run changes
nothing, no fix is made that the first check only showed, and none is reported as a mistake of perflint.  Without
directories the files are the examples of all rules.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pyflakes.checker import Checker

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.fix import fixer
from perflint.run import engine
from perflint.text.source import Source
from tests.fuzz.campaign import Campaign, arguments
from tests.fuzz.mutations import mutated

ALL = Settings(join_lines=False, select=("ALL",), min_impact=ImpactLevel.LOW)


def examples() -> list[str]:
    """The examples of all rules that have something to report."""
    return [example.bad for rule in catalogue.shipped().values() for example in rule.examples if example.bad]


def attempt(seed: int, texts: list[str], counts: Counter[str]) -> str:
    """What is wrong with a project of a few changed files; empty where nothing is."""
    chance = random.Random(seed)
    names = ("train.py", "pkg/train.py", "pkg/utils.py")
    sources = {name: Source(name, _text(texts, chance)) for name in names[: chance.randint(1, 3)]}
    outcome = fixer.fix_all(sources, _check, Level.UNSAFE)
    counts["files"] += len(sources)
    counts["that compile"] += sum(_compiles(source.text) for source in sources.values())
    counts["findings"] += len(outcome.first)
    counts["fixes made"] += sum(map(len, outcome.applied))
    problems = [f"{item.codes} {item.reason}" for item in outcome.rejected if item.bug]
    problems += ["a shown fix was made"] * _is_shown_and_made(outcome, sources)
    for path, after in outcome.changed.items():
        before = sources[path]
        if _compiles(before.text) and not _compiles(after.text):
            problems.append(f"{path} no longer compiles")
        problems += [f"{path}: {message}" for message in _flakes(after.text) - _flakes(before.text)]
    if outcome.settled and fixer.fix_all({**sources, **outcome.changed}, _check, Level.UNSAFE).changed:
        problems.append("a second run changes something")
    return "; ".join(problems)


def _text(texts: list[str], chance: random.Random) -> str:
    text = chance.choice(texts)
    return mutated(text, chance) if chance.random() < 0.9 else text


def _check(sources: Mapping[str, Source]) -> list[Finding]:
    return engine.check(sources, ALL)


def _is_shown_and_made(outcome: fixer.FixOutcome, sources: Mapping[str, Source]) -> bool:
    offered: set[tuple[str, str, str]] = set()
    shown: set[tuple[str, str, str]] = set()
    for item in outcome.first:
        lines = sources[item.path].lines
        place = (item.path, item.code, lines.line(lines.position(item.start)[0]).strip())
        (offered if item.fix is not None and item.fix.level >= Level.UNSAFE else shown).add(place)
    made = {(one.finding.path, one.finding.code, one.row) for round_ in outcome.applied for one in round_}
    return bool(made & (shown - offered))


def _compiles(text: str) -> bool:
    try:
        compile(text, "<file>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _flakes(text: str) -> Counter[str]:
    try:
        found = Checker(ast.parse(text), "").messages
    except (SyntaxError, ValueError, RecursionError):
        return Counter()
    texts = (str(message.message % message.message_args) for message in found)
    # A fix may take away the last use of an import: whether that may go is for you to decide, it may do something.
    return Counter(re.sub(r"\d+", "", text) for text in texts if not text.endswith("imported but unused"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("trees", nargs="*", type=Path)
    options = parser.parse_args()
    texts = examples()
    if options.trees:
        found = [path.read_text("utf-8", "replace") for tree in options.trees for path in sorted(tree.rglob("*.py"))]
        texts = [text for text in found if len(text) < 60_000 and "paddle" in text]
    campaign = Campaign("python files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        campaign.run(lambda seed: attempt(seed, texts, campaign.counts), options.seed, options.seconds, options.count)
    print(campaign.summary())
    return int(bool(campaign.failures))


if __name__ == "__main__":
    sys.exit(main())
