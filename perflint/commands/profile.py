"""``perflint profile``: run a training script once, and show where the time of a step goes.

Only this command and ``perflint bench`` run the code that they are given.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys

from perflint.bench import notes
from perflint.bench.measure import Bench
from perflint.bench.results import BEFORE
from perflint.bench.variants import VariantFiles
from perflint.commands import script_runs
from perflint.commands.run_settings import configured
from perflint.output.console import Console
from perflint.profile.profile_page import profile_page
from perflint.profile.profile_report import ProfileReport, summed_up
from perflint.profile.profile_text import profile_table
from perflint.text.visible import palette


def run(options: argparse.Namespace) -> int:
    """Run the script and report; return 0.

    Raises:
        CommandError: the script does not exist, fails or makes no steps, or a file cannot be written.
    """
    console = Console()
    script_runs.insist_possible(options)
    plan = script_runs.plan(options, configured(options.script).root, seed=None, profile=True)
    console.note(f"perflint profile RUNS {options.script}, in a copy of {plan.root}")
    bench = Bench(plan, options.time_limit)
    with script_runs.errors_for_people():
        outcome = bench.run(VariantFiles(BEFORE))
    made = len(outcome.steps.batch_s)
    few = [f"The script made {made} of the {plan.steps} steps to be measured."] if made < plan.steps else []
    report = summed_up(plan, outcome, [*few, *notes.of_files(*bench.linked_and_written())])
    console.write(
        profile_table(report, shutil.get_terminal_size().columns, options.top, palette(sys.stdout, options.color))
    )
    console.close()
    script_runs.write(options, lambda: _as_json(report), lambda: profile_page(report, options.top))
    return 0


def _as_json(report: ProfileReport) -> str:
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"
