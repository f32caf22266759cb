"""Rules and a checker small enough to predict, for the tests of the command line and of the outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from perflint.catalogue import Example, Reference, Rule
from perflint.configuration.settings import Settings
from perflint.findings import Checked, Edit, Finding, Fix, Level, Related
from perflint.text.source import Source

EXAMPLES = (
    Example("An epoch's sum", "total += loss.item()\n", "total += loss\n", None, (1,), Level.SAFE),
    Example("After the loop", None, None, "print(total)\n", (), None),
)


def rule(code: str, name: str, bottleneck: str, default: bool = True) -> Rule:
    """A rule with something in every field."""
    return Rule(
        code=code,
        name=name,
        summary=f"{name} in one sentence.",
        bottleneck=bottleneck,
        default=default,
        why="Because the device waits.",
        ignore_when="The loop is short.",
        message="It is so: {what}",
        fix_level=Level.UNSAFE,
        fix_title="Do it once",
        fix_reason="The order changes.",
        calls=(),
        match=(),
        examples=EXAMPLES,
        references=(
            Reference("https://example.org/a", "that it waits"),
            Reference("https://example.org/b", "how long it waits"),
        ),
        evidence="Measured: 2.0x.",
        path=Path(f"rules/{code}.yaml"),
    )


RULES = {
    made.code: made
    for made in (
        rule("PPF001", "syntax-error", "CPU"),
        rule("PPF003", "unreadable-file", "CPU"),
        rule("PPF101", "dataloader-no-workers", "I/O"),
        rule("PPF201", "host-sync-in-step", "sync"),
        rule("PPF401", "save-in-step-loop", "I/O", default=False),
    )
}

_WORDS = {
    "SAFE": ("PPF201", Level.SAFE, "sum"),
    "RISKY": ("PPF101", Level.UNSAFE, "four"),
    "SHOWN": ("PPF401", Level.DISPLAY, "<N>"),
    "BROKEN": ("PPF201", Level.SAFE, "("),
    "CHINESE": ("PPF201", Level.SAFE, "'\u635f\u5931'"),
}


def check(
    sources: Mapping[str, Source],
    settings: Settings,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Each word of ``_WORDS`` is a finding whose fix writes another word; the word CRASH is a bug in a rule."""
    findings = []
    for path, source in sources.items():
        if "CRASH" in source.text:
            raise ValueError("a rule\nfell over")
        for match in re.finditer("|".join(_WORDS), source.text):
            code, level, content = _WORDS[match.group()]
            fix = Fix(
                f"Write {content}",
                (Edit(*match.span(), content),),
                level,
                "" if level is Level.SAFE else "It is not the same.",
            )
            related = (Related(path, 1, "the step loop"),)
            if settings.select is None or code in settings.select:
                findings.append(Finding(code, path, *match.span(), f"{match.group()} costs time.", fix, related))
    return findings


def check_projects(
    projects: list[dict[str, Source]],
    settings: Settings,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **_: object,
) -> list[Checked]:
    """The same for several projects."""
    return [Checked(check(project, settings, jobs, progress), ()) for project in projects]
