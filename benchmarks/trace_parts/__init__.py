"""The parts of ``benchmarks/traces.py``: scripts, the tracer that runs with them, and the comparison with findings."""
