"""Real Paddle code for the tests: three suites as published on PyPI, pinned by hash, unpacked as text only."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

from perflint.run import discovery
from perflint.text.source import Source

DIRECTORY = Path(__file__).parent / ".corpus"
WHEELS = {
    "paddledet==2.6.0": "a3cf717d61c771be000a7cd7f3cc6b254724aacf24db6bfcba1443c2f409deff",
    "paddleseg==2.8.0": "299e70438e5a2df08ea169dfaee828c75c67c5015e958e9970ccc4d62a90d35c",
    "paddleclas==2.6.0": "3c12fd8994d95ed1b4fd60017cdbc12bb0e77a41a7921b022e9a6fb5d287fe8a",
}


class _Unavailable(Exception):
    pass


@cache
def sources() -> dict[str, Source]:
    """The 592 Python files of the three wheels by their path in ``tests/.corpus``.

    Skips the test where the registry cannot be reached, unless PERFLINT_NEEDS_CORPUS is set (as in CI).
    """
    try:
        roots = [_unpacked(name, digest) for name, digest in WHEELS.items()]
    except _Unavailable as error:
        if os.environ.get("PERFLINT_NEEDS_CORPUS"):
            raise
        pytest.skip(f"the pinned wheels cannot be had: {error}")
    paths = sorted(path for root in roots for path in root.rglob("*.py"))
    found, unreadable = discovery.read_all(paths)
    assert not unreadable
    return {str(Path(path).relative_to(DIRECTORY)): _renamed(source) for path, source in found.items()}


def _renamed(source: Source) -> Source:
    return Source(str(Path(source.path).relative_to(DIRECTORY)), source.text, source.encoding, source.bom)


def _unpacked(requirement: str, digest: str) -> Path:
    target = DIRECTORY / requirement.replace("==", "-")
    if target.is_dir():
        return target
    wheel = _wheel(requirement, digest)
    # Unpacked under another name first: a run that is cut short leaves nothing that looks whole.
    scratch = target.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch, [name for name in archive.namelist() if name.endswith(".py")])
    try:
        scratch.rename(target)
    except OSError:  # another test process was faster
        if not target.is_dir():
            raise
    return target


def _wheel(requirement: str, digest: str) -> Path:
    DIRECTORY.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(DIRECTORY), requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    name = requirement.replace("==", "-")
    wheels = list(DIRECTORY.glob(f"{name}-*.whl"))
    if not wheels:
        raise _Unavailable(f"{requirement}: {run.stderr.strip().splitlines()[-1:]}")
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    assert found == digest, f"{wheels[0].name} has sha256 {found}, expected {digest}"
    return wheels[0]
