"""The environment that a script runs in: its device, the versions of what it uses, its files and its memory."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any


def device(paddle: Any) -> str:
    """``cpu`` or ``gpu:0``; empty before Paddle is imported."""
    return str(paddle.device.get_device()) if paddle else ""


def _on_gpu(paddle: Any) -> bool:
    return device(paddle).startswith("gpu")


def is_static(paddle: Any) -> bool:
    """Whether operators are currently added to a static graph instead of being computed."""
    dynamic = getattr(paddle, "in_dynamic_mode", None)
    return dynamic is not None and not dynamic()


def wait(paddle: Any) -> None:
    """Wait until a GPU has finished its queued work, which belongs to the steps that have queued it."""
    if _on_gpu(paddle):
        paddle.device.synchronize()


def peak_memory_mib(paddle: Any) -> float:
    """The most memory so far, in MiB: of the GPU if there is one, otherwise of the process; 0 if unknown."""
    if _on_gpu(paddle):
        return float(paddle.device.cuda.max_memory_allocated()) / 2**20
    return _peak_of_process()


def _peak_of_process() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss in a new process is that of its parent, if that was larger
        return int(re.findall(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE)[0]) / 2**10
    try:
        import resource
    except ImportError:  # does not exist on Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def versions(paddle: Any) -> dict[str, str]:
    """The versions of Python, Paddle and numpy."""
    found = {"python": platform.python_version(), "paddle": str(getattr(paddle, "__version__", ""))}
    if "numpy" in sys.modules:
        found["numpy"] = str(getattr(sys.modules["numpy"], "__version__", ""))
    return found


def machine(paddle: Any) -> str:
    """The GPU if there is one, the processor, its cores, and the system."""
    parts = [_processor(), f"{os.cpu_count()} cores", platform.system()]
    if _on_gpu(paddle):
        parts.insert(0, str(paddle.device.cuda.get_device_name()))
    return ", ".join(part for part in parts if part)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def files(root: str) -> list[str]:
    """The Python files below a directory that are imported or run, relative to it."""
    paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    real = {os.path.realpath(path) for path in paths if path}
    inside = (path for path in real if path.startswith(root + os.sep) and path.endswith(".py"))
    return sorted(os.path.relpath(path, root) for path in inside)
