"""Counts what each rule's fix removes: host reads, copies, launches, files, bytes, per step, before and after the fix.

``python -m tests.counted`` trains every script of ``tests/counted/rules.yaml`` as it stands and fixed, for a few steps,
with Paddle on the CPU, compares the counts with that file, and writes docs/counted.md.
"""
