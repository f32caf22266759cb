"""Runs a training script and notes when its steps end: ``python runner PLAN.json``, in the script's interpreter.

That interpreter may lack perflint, and may be as old as Paddle allows: these modules need only the standard library of
Python 3.8. They are named ``_perflint_runner`` there, so that none hides a module of the script.
"""
