"""Execution as the judge of fixes: made-up training programs, run before and after each fix.

``python -m tests.programs --seed 1 --count 1000`` makes programs, fixes them, and compares what they do.
``generator`` writes a program, ``variants`` fixes it in several ways, ``runner`` runs a text and notes what it did,
``judge`` says whether the difference is one that the fix admits to, and ``shrink`` cuts a failing program down.
"""
