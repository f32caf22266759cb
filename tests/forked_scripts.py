"""Runs scripts that need Paddle without importing it for each of them, which takes two seconds of CPU.

One process for each worker of the tests has imported Paddle, and has computed nothing with it.  It forks a child for
each script, which runs it as ``python SCRIPT ARGUMENTS`` would.  Where there is no ``fork``, scripts are run that way.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Script(NamedTuple):
    """A script with its arguments, the directory it starts in, and the variables of its environment."""

    path: Path
    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]


class Done(NamedTuple):
    """How a script has ended, and what it has printed."""

    status: int
    output: str
    errors: str


def run_scripts(scripts: Sequence[Script]) -> list[Done]:
    """Run scripts side by side, and wait for all of them."""
    if not hasattr(os, "fork"):
        return [_alone(script) for script in scripts]
    with tempfile.TemporaryDirectory() as name:
        places = [(Path(name, f"{at}.out"), Path(name, f"{at}.err")) for at in range(len(scripts))]
        jobs = [
            {
                "script": str(script.path),
                "arguments": list(script.arguments),
                "folder": str(script.folder),
                "environment": dict(script.environment),
                "out": str(out),
                "err": str(err),
            }
            for script, (out, err) in zip(scripts, places, strict=True)
        ]
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(jobs) + "\n")
        server.stdin.flush()
        statuses: list[int] = json.loads(server.stdout.readline())
        return [
            Done(status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))
            for status, (out, err) in zip(statuses, places, strict=True)
        ]


def _alone(script: Script) -> Done:
    command = [sys.executable, str(script.path), *script.arguments]
    found = subprocess.run(
        command, cwd=script.folder, env=dict(script.environment), capture_output=True, text=True, check=False
    )
    return Done(found.returncode, found.stdout, found.stderr)


@cache
def _server() -> subprocess.Popen[str]:
    """The process that has imported Paddle; it ends with this one, whose end of the pipe closes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.forked_scripts"]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.kill)
    return server


def _serve() -> None:
    """Read a list of scripts from each row of standard input, run them, and answer with their exit statuses."""
    import paddle  # noqa: F401  # so that the children have it

    for row in sys.stdin:
        children = [_forked(job) for job in json.loads(row)]
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(statuses), flush=True)


def _forked(job: Mapping[str, Any]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for target, place in ((1, job["out"]), (2, job["err"])):
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), target)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        status = _as_main(job["script"], job["arguments"], job["environment"].get("PYTHONPATH", ""))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return 0


def _as_main(script: str, arguments: list[str], path: str) -> int:
    """Run a script as the main program; its exit status."""
    places = [str(Path(script).parent), *filter(None, path.split(os.pathsep))]
    sys.argv = [script, *arguments]
    sys.path[:0] = places
    _forget_hidden(places)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _forget_hidden(places: Sequence[str]) -> None:
    """Forget modules that Paddle has imported and that the script would find elsewhere, such as a stand-in for tqdm."""
    found = {entry.stem for place in places if Path(place).is_dir() for entry in Path(place).iterdir()}
    for name in [name for name in sys.modules if name.partition(".")[0] in found - {"__main__", "tests", "perflint"}]:
        del sys.modules[name]


if __name__ == "__main__":
    _serve()
