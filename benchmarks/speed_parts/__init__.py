"""The parts of ``benchmarks/speed.py``: costs of processes, the tools, generated trees, the bars and the report."""
