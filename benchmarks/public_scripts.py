"""``perflint bench`` on training scripts that others have published, unchanged, with small data made here.

python benchmarks/public_scripts.py CHECKOUTS [--only NAME] [--rounds N] [--python EXE] [--html FOLDER]

CHECKOUTS holds a git checkout of each repository, by its name, at the commit that docs/public-scripts.md names.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from published_parts.public import BY_NAME, SCRIPTS, Script
from published_parts.public_page import PAGE, keep, kept, page

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5


class CheckoutError(Exception):
    """A checkout is missing, or at another commit."""


def git(checkout: Path, *arguments: str) -> str:
    """What git prints about a checkout; '' where it fails."""
    return subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, text=True, check=False).stdout


def copied(script: Script, checkouts: Path, target: Path, parts: tuple[str, ...] = ()) -> None:
    """Copy the tracked files of a checkout, or of some folders of it, and make the data in the copy.

    Raises:
        CheckoutError: it is not there, or at another commit.
    """
    source = checkouts / script.repository.split("/")[1]
    if git(source, "rev-parse", "HEAD").strip() != script.commit:
        how = f"git clone {script.address} {source} && git -C {source} checkout {script.commit}"
        raise CheckoutError(f"{source} is no checkout of {script.commit}; make one with: {how}")
    for name in filter(None, git(source, "ls-files", "-z", *parts).split("\0")):
        if (source / name).is_file():  # not so for a submodule, or a file that a partial clone has left out
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    (target / "perflint.toml").touch()  # the root of the project, now that its history is not there to say so
    script.make_data(target)


def bench(script: Script, copy: Path, options: argparse.Namespace, result: Path) -> int:
    """Run ``perflint bench`` in a copy; its exit status."""
    command = [sys.executable, "-m", "perflint", "bench", script.script, "--unsafe-fixes", "--by", "all"]
    command += ["--rounds", str(options.rounds), "--warmup", str(script.warmup), "--steps", str(script.steps)]
    command += ["--python", options.python, "--json", str(result)]
    if options.html:
        options.html.mkdir(parents=True, exist_ok=True)
        command += ["--html", str(options.html.resolve() / f"{script.name}.html")]
    path = [str(copy), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([*command, "--", *script.arguments], cwd=copy, env=environment, check=False).returncode


def main(arguments: list[str]) -> int:
    """Measure, keep the reports, and write the page; 1 if a script could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, metavar="CHECKOUTS")
    parser.add_argument("--only", choices=BY_NAME, action="append", help="measure this script (may be repeated)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each variant (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with Paddle and what the scripts need")
    parser.add_argument("--html", type=Path, metavar="FOLDER", help="write a page with plots for each there")
    parser.add_argument("--page", action="store_true", help="write the page again and measure nothing")
    options = parser.parse_args(arguments)
    chosen = [] if options.page else [script for script in SCRIPTS if not options.only or script.name in options.only]
    for script in chosen:
        with tempfile.TemporaryDirectory(prefix="public-scripts-") as folder:
            copy, result = Path(folder).resolve() / script.name, Path(folder) / "report.json"
            try:
                copied(script, options.checkouts, copy)
            except CheckoutError as error:
                print(error, file=sys.stderr)
                return 1
            if bench(script, copy, options, result):
                return 1
            keep(script, result)
    PAGE.write_text(page(kept()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
