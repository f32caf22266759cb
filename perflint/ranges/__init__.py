"""Inserts profiler or NVTX ranges around the parts of a training step into a file, and removes them again."""
