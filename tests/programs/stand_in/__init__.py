"""A quick stand-in for Paddle, for made-up programs only: numpy arrays, a small autograd, Paddle's sharing of storage.

``modules()`` gives the modules by the names that a program imports.  What is not here raises an AttributeError that
says so, so that no program is judged by something that was only guessed.
"""

from tests.programs.stand_in.modules import modules

__all__ = ["modules"]
