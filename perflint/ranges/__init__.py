"""Profiler and NVTX ranges around the parts of a training step, put into a file and taken out of it again."""
