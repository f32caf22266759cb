"""Counts the kernels that Paddle launches, with Paddle's own profiler.

>>> with Launches() as launches:
...     paddle.matmul(x, y)
>>> launches.kernels
Counter({'matmul': 1})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Any

_LAUNCH, _NODE, _PYTHON = " kernel launch", " node_creation", " dygraph"


class Launches:
    """What Paddle has run between ``__enter__`` and ``__exit__``, in all threads of this process.

    Attributes:
        kernels: how often each kernel was launched in a dynamic graph, forward, backward and update.
        nodes: how many nodes each operator has put into the graph for the backward pass.
        python: how often each operator was called from Python; what a backward pass launches is not among these.
    """

    def __init__(self) -> None:
        self.kernels: Counter[str] = Counter()
        self.nodes: Counter[str] = Counter()
        self.python: Counter[str] = Counter()

    def __enter__(self) -> Launches:
        import paddle.profiler as profiler

        self._profiler = profiler.Profiler(targets=[profiler.ProfilerTarget.CPU], on_trace_ready=lambda _: None)
        self._profiler.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._profiler.stop()
        for thread in self._profiler.profiler_result.get_data().values():
            for name in _names(thread):
                for ending, counts in ((_LAUNCH, self.kernels), (_NODE, self.nodes), (_PYTHON, self.python)):
                    if name.endswith(ending):
                        counts[name.removesuffix(ending)] += 1
        del self._profiler  # Paddle has one at a time


def _names(node: Any) -> Iterator[str]:
    """The names of all events below a node of the profiler's tree."""
    waiting = [node]
    while waiting:
        event = waiting.pop()
        yield event.name
        waiting.extend(event.children_node)
