"""How a step is timed and compared: the version of the method, and the code that makes it.

Evidence names the method it was taken by, so that a change in timing voids it.  The method is the text of the
definitions in ``PARTS``, without comments and layout.  Other files may change as they like.
"""

from __future__ import annotations

from pathlib import Path

from tests.ips.program_text import definition, digest

ROOT = Path(__file__).resolve().parents[2]

PARTS = {
    # What a step is: from the end of one optimizer step to the end of the next.
    "perflint/bench/runner/recorder.py": (
        "Recorder.read",
        "Recorder.batch",
        "Recorder.backward",
        "Recorder.trained_on",
        "Recorder._tell",
        "Recorder.step",
        "Recorder.stepped",
        "Recorder._end",
        "Recorder._steps",
        "_size",
        "_on_gpu",
        "wait",
    ),
    "perflint/bench/runner/watched_calls.py": (
        "_hook_loader",
        "_hook_next",
        "_hook_optimizer",
        "_hook_scaler",
        "_stepping",
    ),
    # In which order the runs take turns.
    "perflint/bench/measure.py": ("Bench._round",),
    # How ips, the ratio and its interval follow from the steps.
    "perflint/bench/results.py": ("Steps.ips", "_T", "compare", "half_width", "_deviation", "_saved", "_t"),
    # With which warm-up, threads and devices.
    "tests/ips/measuring.py": ("WARMUP", "measure", "plan"),
    "tests/ips/places.py": ("_THREADS", "Place.environment"),
}
"""The definitions that decide on a measurement, by file."""

METHODS: dict[int, dict[str, str]] = {
    1: {
        "e0db53e74bf989bb": "as of aedee06, by which the rules were first measured",
        "348c27e6e9d3d9a5": "7133b77: a variant whose run fails is left out of the rounds that follow",
        "e388c4d673fd1e33": "d8752a2, 2485b40: classes have other names, and steps are rounded by perflint.bench",
        "df5caaa875580ad2": "what was one definition, `measure`, is two: `plan` says how a script is run",
        "aa6a9aa907d801db": "987d7b2, dc81606: static graphs are known, and a heartbeat takes microseconds",
        "e7aecea82810af50": "6d7abc5: wider intervals where their width decides on the rounds, which it does not here",
        "4df43d4705c67213": "the module that runs a script, which names the exception of the time limit, is script_run",
        "c6758a657f3b38f5": "what is hooked is named in one place, not by each hook",
        "89e0de8d331695fe": "the finished rounds of a measurement are one object",
        "55f427028b08f273": "the interval of the milliseconds is computed where these are",
        "f7af96596cdd7cb9": "a recorder is also told which loader has started",
        "26cf01d635476ccb": "what a script runs in is asked in the module of the recorder, not of one beside it",
    },
}
"""The text of each method, as a hash, and what is different from the text before it.

A new text under the number of the method that was there says: it measures the same.  A new number says: it does not,
and all evidence has to be measured again.
"""

CURRENT = max(METHODS)


def current_hash(root: Path = ROOT) -> str:
    """The hash of the definitions in ``PARTS``.

    Raises:
        KeyError: one of them is no longer there.
    """
    return digest("\n".join(each for file in PARTS for each in _texts(root, file)))


def unknown(root: Path = ROOT) -> str:
    """What to do where the code is none of those that ``METHODS`` has for the current method; "" where it is."""
    found = current_hash(root)
    if found in METHODS[CURRENT]:
        return ""
    return (
        f"the code that times and compares steps has changed (PARTS of tests/ips/method.py): if steps are measured as "
        f'before, add "{found}" with what is different to METHODS[{CURRENT}]; if not, add METHODS[{CURRENT + 1}], and '
        f"measure all rules again (python -m pytest -m ips)"
    )


def _texts(root: Path, file: str) -> list[str]:
    text = (root / file).read_text(encoding="utf-8")
    return [definition(text, name) for name in PARTS[file]]
