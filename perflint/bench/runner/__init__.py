"""Runs a training script and notes when its steps end: ``python runner PLAN.json``, in the script's interpreter.

That interpreter need not have perflint, and may be as old as Paddle allows: these modules need the standard library of
Python 3.8 and nothing else, and are known there as ``_perflint_runner``, so that none hides a module of the script.
"""
